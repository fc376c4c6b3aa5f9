"""The functions of inner graphs that rules are given: of arrays alone, their sizes and constants bound.

A loop's rule gets one of its step. Where a program is traced as a whole they are traced with it; else they run as they
are, or the library compiles each by itself, once for each tuple of the sizes that depend on values.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.link.colour import colours
from tg.link.linker import refusal
from tg.link.unit import Unit
from tg.ops.control import lower_checks
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.errors import NoRuleError
    from tg.graph.frozen import FrozenGraph, Node
    from tg.link.funcify import FuncifyLinker
    from tg.link.linker import Request

    Function = Callable[..., Any]

KEPT: Final = 256  # functions of one inner graph, by sizes that depend on values: beyond, the oldest goes


def bound(function: Function, sizes: tuple[Any, ...], constants: tuple[Any, ...]) -> Function:
    """The function as it is."""
    return functools.partial(function, sizes, constants)


def sized(function: Function, host: Function, constants: tuple[Any, ...]) -> Function:
    """The function as it is, with sizes that the host computes for each application."""

    def apply(*arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            sizes = host(*arrays)
        return function(sizes, constants, *arrays)

    return apply


@final
class CompiledInner:
    """The functions of an inner graph as the library compiles them."""

    __slots__ = ("_graph", "_linker", "_programs", "_request")

    def __init__(self, graph: FrozenGraph, linker: FuncifyLinker, request: Request) -> None:
        self._graph, self._linker, self._request = graph, linker, request
        self._programs: dict[tuple[Any, ...], Function] = {}

    def __call__(self, function: Function, sizes: tuple[Any, ...], constants: tuple[Any, ...]) -> Function:
        """The function for these sizes; the constants of a program are always the same."""
        program = self._programs.get(sizes)
        if program is None:
            if len(self._programs) >= KEPT:
                self._programs.pop(next(iter(self._programs)), None)
            program = self._programs.setdefault(sizes, self._compiled(function, sizes, constants))
        return program

    def _compiled(self, function: Function, sizes: tuple[Any, ...], constants: tuple[Any, ...]) -> Function:
        compiler, request = self._linker.inner, self._request
        assert compiler is not None
        unit = Unit(request.name, self._graph, request.options, sizes, request)
        if not constants:
            return compiler(functools.partial(function, sizes, constants), unit)
        return functools.partial(compiler(functools.partial(function, sizes), unit), constants)


def changing_size(node: Node, k: int) -> tuple[FrozenGraph, int] | None:
    """In an inner graph of a node the first node with a size that changes from one application to the next."""
    graph = lower_checks(node.op.inner_graphs()[k])
    inputs, sizes = node.op.inner_inputs(len(node.inputs))[k], colours(graph).sizes
    changing = {place for place, source in enumerate(inputs) if not source.is_same}
    for number, inner in enumerate(graph.nodes):
        positions = inner.op.size_operands(len(inner.inputs))
        if any(inner.inputs[p] in changing and inner.inputs[p] in sizes for p in positions):
            return graph, number
        if not isinstance(inner.op, AxisLength) and not changing.isdisjoint(inner.inputs):
            changing.update(inner.outputs)
    return None


def refused_size(
    request: Request, graph: FrozenGraph, number: int, inside: tuple[FrozenGraph, int] | None
) -> NoRuleError:
    """The error of a length that each application decides, where all lengths are known beforehand."""
    name = graph.nodes[number].op.spelled
    text = f"backend {request.backend!r} does not run {name}: a length inside changes from one application to the next"
    return refusal(text, *(inside or (graph, number)), hint='backend="perform" runs it')
