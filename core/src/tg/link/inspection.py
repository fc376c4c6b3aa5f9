"""Inspection of rules call by call: types wherever a program is traced or first run, all else in debug.

A funcified program is run with each rule wrapped (`Funcified.inspected`); the wrapper is told the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import DebugError, TgError, message
from tg.link.blame import Line, mistake, result_error, rule_rows
from tg.link.declines import taken
from tg.link.linker import operand_types
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Request

    Array = np.ndarray[Any, Any]


NEW: Final = "a rule gives new memory in every call"


def check_types(request: Request) -> Callable[..., Any]:
    """The inspection of what a rule gives: as many results as the op has, of its dtype, rank and known lengths."""

    def inspect(line: Line, rule: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        graph, number = line.called
        result = taken(rule(*args, **kwargs), graph.nodes[number].op, operand_types(graph, number))
        refuse_results(request, graph, number, result)
        return result

    return inspect


def refuse_results(request: Request, graph: FrozenGraph, number: int, result: Any) -> None:
    """Raise if a rule gave something else than results of the declared types.

    Raises:
        PluginError: it did; the text names the rule, its plugin, the op and the user's line.
    """
    outputs = graph.nodes[number].outputs
    if len(outputs) > 1 and not (isinstance(result, tuple | list) and len(result) == len(outputs)):
        text = mistake(result, graph.types[outputs[0]]) or f"one {type(result).__name__}"
        raise result_error(f"{text}, needed {len(outputs)} results", request, graph, number)
    for k, value in zip(outputs, result if len(outputs) > 1 else (result,), strict=True):
        told = mistake(value, graph.types[k])
        if told is not None:
            raise result_error(f"{told}, needed {graph.types[k]}", request, graph, number)


class _Made(NamedTuple):
    """A result of a rule: the array, what was in it, and which node made it."""

    value: Any
    copy: Array
    graph: FrozenGraph
    number: int


@final
class Inspector:
    """Looks at one run of a program that runs as it is: types, writing into operands, and memory that is shared.

    Raises:
        DebugError: a rule has written into an operand that was not its own to overwrite, has given memory of an operand
            though it is not among the linker's views, or has given the same memory twice.
        PluginError: a rule gave a result of another type.
    """

    def __init__(self, request: Request, to_numpy: Callable[[Any], Array], views: frozenset[object]) -> None:
        self._request, self._to_numpy, self._views = request, to_numpy, views
        self._made: dict[int, _Made] = {}  # by the id of the array, which is kept

    def __call__(self, line: Line, rule: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        graph, number = line.called
        node = graph.nodes[number]
        sizes = node.op.size_operands(len(node.inputs))
        arguments = args[len(args) - len(node.inputs) :]
        operands = {place: v for place, v in enumerate(arguments) if place not in sizes}
        before = {place: self._copy(v) for place, v in operands.items()}
        for place, v in operands.items():
            self._refuse_overwritten(v, before[place])
        result = taken(rule(*args, **kwargs), node.op, operand_types(graph, number))
        refuse_results(self._request, graph, number, result)
        results = result if len(node.outputs) > 1 else (result,)
        self._refuse_lengths(graph, number, arguments, before, results)
        for place, v in operands.items():
            if place in line.dying:
                self._made.pop(id(v), None)
                continue
            if not _same(before[place], self._copy(v)):
                raise self._error(graph, number, f"wrote into operand {place}")
            for y in results:
                if node.op.rule_key not in self._views and (y is v or self._overlap(y, v)):
                    hint = "an op whose rule may give a view belongs into `views` of FuncifyLinker; else copy"
                    raise self._error(graph, number, f"gave the memory of operand {place}", hint)
        for y in results:
            if id(y) in self._made and not any(y is v for v in operands.values()):
                raise self._error(graph, number, "gave the same memory twice", NEW)
            self._made[id(y)] = _Made(y, self._copy(y), graph, number)
        return result

    def finish(self, outputs: Sequence[Any]) -> None:
        """Look at the outputs of the run once more."""
        for y in outputs:
            if y is not None:
                self._refuse_overwritten(y, self._copy(y))

    def _refuse_overwritten(self, value: Any, now: Array) -> None:
        entry = self._made.get(id(value))
        if entry is not None and not _same(entry.copy, now):
            text = "gave memory that was written again before its result was read"
            raise self._error(entry.graph, entry.number, text, NEW)

    def _refuse_lengths(
        self,
        graph: FrozenGraph,
        number: int,
        arguments: Sequence[Any],
        before: Mapping[int, Array],
        results: Sequence[Any],
    ) -> None:
        """Raise if a result has other lengths than follow from these operands."""
        op = graph.nodes[number].op
        types: list[Any] = [
            TensorType(graph.types[graph.nodes[number].inputs[place]].dtype, before[place].shape)
            if place in before
            else int(v)
            for place, v in enumerate(arguments)
        ]
        try:
            wanted = op.infer(*types)
        except (TgError, TypeError, ValueError):
            return
        for y, t in zip(results, wanted, strict=True):
            told = mistake(y, t)
            if told is not None:
                raise result_error(f"{told}, needed {t}", self._request, graph, number)

    def _copy(self, value: Any) -> Array:
        return np.array(self._to_numpy(value))

    def _overlap(self, a: Any, b: Any) -> bool:
        return bool(np.may_share_memory(self._to_numpy(a), self._to_numpy(b)))

    def _error(self, graph: FrozenGraph, number: int, fact: str, hint: str | None = None) -> DebugError:
        op = graph.nodes[number].op
        rows, _ = rule_rows(self._request, graph, number, op.rule_key)
        return DebugError(
            message(f"{op.spelled}: its rule for backend {self._request.backend!r} {fact}", *rows, hint=hint)
        )


def _same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
