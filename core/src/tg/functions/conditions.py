"""Conditions on which a backend runs a program: compilations to come, the host's part, accuracy; its memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.functions.gaps import find_gap
from tg.functions.verdict import Condition
from tg.link.host import host_sizes
from tg.link.hosted import Hosted
from tg.link.linker import node_loc
from tg.link.memory import is_count, plan
from tg.types.dtypes import is_complex, is_float

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.functions.compile import Examined
    from tg.functions.request import Request
    from tg.graph.frozen import FrozenGraph, Node
    from tg.link.memory import Plan
    from tg.plugin.records import Backend, Gap, General

MOST: Final = 4  # names that a sentence lists
ANY_NUMBER: Final = "subnormals"  # the word of a gap of no op alone


def conditions(
    examined: Examined, request: Request, backend: Backend, gaps: Sequence[Gap], general: General
) -> Iterator[Condition]:
    """Conditions of calls of a program that a backend runs."""
    names = [v.name or f"input {k}" for k, v in enumerate(request.variables)]
    executable = examined.executable
    if executable is not None and executable.compiles_shapes:
        reads = sizes_from(examined.linked)
        if reads:
            text = (
                f"compiled anew for each length that {_list([names[k] for k in reads])} decide{'s' * (len(reads) == 1)}"
            )
            yield Condition("sizes", text)
        unknown = [name for name, v in zip(names, request.variables, strict=True) if None in v.type.shape]
        if unknown:
            yield Condition("shapes", f"compiled at the first call with each shape of {_list(unknown)}")
    yield from _of_nodes(examined, gaps)
    words = [gap for gap in gaps if gap.op == ANY_NUMBER]
    if any(is_float(t.dtype) or is_complex(t.dtype) for t in examined.linked.types):
        yield from (Condition("accuracy", gap.reason) for gap in words)
    if general.dtype is not None and request.written is not None:
        yield Condition("precision", f"{general.dtype} in place of float64")
    if general.amp is not None:
        yield Condition("precision", f"float32 contractions in {general.amp}")
    if general.precision != "highest":
        yield Condition("precision", f"float32 contractions by {general.precision}")


def sizes_from(graph: FrozenGraph) -> list[int]:
    """The inputs, by their places, whose values decide lengths."""
    function = host_sizes(graph, "sizes", np.asarray)
    return [] if function is None else sorted(function.reads)


def _of_nodes(examined: Examined, gaps: Sequence[Gap]) -> Iterator[Condition]:
    """The conditions of single ops, each told once."""
    request = examined.request
    inaccurate = [gap for gap in gaps if gap.raises is None and not isinstance(gap.op, str)]
    told: set[object] = set()
    for graph, number, node in _nodes(examined.linked):
        op, loc = node.op, node_loc(graph, number)
        types = [graph.types[k] for k in (*node.inputs, *node.outputs)]
        gap = find_gap(inaccurate, op, types) if inaccurate else None
        if gap is not None and gap not in told:
            told.add(gap)
            by = "" if gap.accuracy in (None, math.inf) else f", by up to {gap.accuracy:g} units in the last place"
            yield Condition("accuracy", f"{op.spelled} may differ{by}: {gap.reason}", loc)
        if ("host", op.spelled) in told:
            continue
        if op.calls_python:
            told.add(("host", op.spelled))
            yield Condition("python", f"{op.spelled} calls a Python function", loc)
        elif isinstance(request.rule_for(op.rule_key), Hosted) or request.on_host(op, graph, number):
            told.add(("host", op.spelled))
            yield Condition("host", f"the host computes {op.spelled}", loc)


def _nodes(graph: FrozenGraph) -> Iterator[tuple[FrozenGraph, int, Node]]:
    """The nodes of a graph and of the graphs inside, each with its graph and its number there."""
    for number, node in enumerate(graph.nodes):
        yield graph, number, node
        for inner in node.op.inner_graphs():
            yield from _nodes(inner)


@final
class Shaped:
    """Stands for an argument of which only the shape is known, and the value of an integer scalar."""

    def __init__(self, shape: tuple[int, ...], value: int = 0) -> None:
        self.shape, self._value = shape, value

    def __int__(self) -> int:
        return self._value


def memory(examined: Examined, arguments: Sequence[Any | None]) -> Plan | None:
    """The memory of a call with arguments of such shapes; None where one that matters is not known."""
    graph = examined.graph
    reads = sizes_from(graph)
    stand_ins = []
    for k, (t, one) in enumerate(zip(graph.input_types, arguments, strict=True)):
        if one is None and not (is_count(t) and k not in reads):
            return None
        stand_ins.append(Shaped(()) if one is None else one)
    is_native = examined.executable is None  # whose results have their memory when the program begins
    return plan(graph, stand_ins, ahead=is_native)


def _list(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")
