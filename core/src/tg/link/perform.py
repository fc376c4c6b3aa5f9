"""The reference backend: every node by its op's `perform`, one after the other, up to the first check that fails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import ShapeError, TgError, message
from tg.graph.frozen import FrozenGraph
from tg.graph.interpret import always_fails, failure
from tg.graph.timing import Span
from tg.link.linker import Executable, Linker, Request, Status, add_node_note, node_lines
from tg.link.memory import plan
from tg.link.schedule import Run, schedule
from tg.types.lengths import LONGEST
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.op import Op
    from tg.link.memory import Plan
    from tg.link.timed import Timed


WRITTEN_OUT: Final = 3  # arrays that functions written with others have beside their results: tanh's slope has as many
TOO_LARGE: Final = 2**63  # bytes of an array, the lengths of 0 left out: no index reaches as far


@final
class PerformExecutable(Executable):
    """A graph run node by node; intermediates are freed after their last use."""

    def __init__(self, graph: FrozenGraph) -> None:
        self.graph = graph
        self._uses = graph.last_uses()
        self._constants = [c.data for c in graph.constants]
        self._conditions = frozenset(c.condition for c in graph.checks)
        self._end = always_fails(graph)
        self._owned = _owned_outputs(graph)

    def run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Sequence[Any], Status]:
        """The outputs, or the status as soon as a check fails."""
        graph = self.graph
        values: list[Any] = [None] * len(graph.types)
        values[: graph.arity] = arrays
        values[graph.arity : graph.arity + len(self._constants)] = self._constants
        with np.errstate(all="ignore"):
            for k, node in enumerate(graph.nodes):
                if k == self._end:
                    break
                try:
                    results = node.op.perform(*[values[i] for i in node.inputs])
                except Exception as error:
                    refusal = _refusal(error, graph, k, [values[i] for i in node.inputs])
                    if refusal is not None:
                        raise refusal from error
                    add_node_note(error, graph, k)
                    raise
                for number, value in zip(node.outputs, results, strict=True):
                    values[number] = value
                    if number in self._conditions and not value:
                        return (), failure(graph, values)
                for number in self._uses[k]:
                    values[number] = None
            status = failure(graph, values)
        if status:
            return (), status
        outputs = [np.asarray(values[k]) for k in graph.outputs]
        return [v if own and v.flags.owndata else v.copy() for v, own in zip(outputs, self._owned, strict=True)], ()

    def memory(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Plan | None:
        """The values of the nodes, none of which is a view."""
        return plan(self.graph, arrays, frozenset(), _taken_inside)

    def timed(self) -> Timed:
        """The same graph, its nodes timed one by one."""
        from tg.link.timed import Clock, TimedByNode, TimedOp

        clock = Clock(self.graph)
        nodes: Any = [
            node._replace(op=TimedOp(node.op, clock.timed(k, node.op.perform, lambda results: results)))  # type: ignore[arg-type]
            for k, node in enumerate(self.graph.nodes)
        ]
        return TimedByNode(self.graph, clock, PerformExecutable(self.graph.with_nodes(nodes)))

    def source(self) -> str:
        """The graph as text, with the user's lines: `perform` has no other code."""
        from tg.graph.text.printer import to_text

        return to_text(self.graph, provenance=True)


def _taken_inside(op: Op, results: int) -> int:
    """The bytes that a function of elements takes for what it is made of; ufuncs make nothing but their results."""
    reference = getattr(getattr(op, "fn", None), "reference", None)
    return 0 if reference is None or isinstance(reference, np.ufunc) else WRITTEN_OUT * results


def _refusal(error: Exception, graph: FrozenGraph, number: int, operands: Sequence[Any]) -> ShapeError | None:
    """The error of a node whose result no array can be, as NumPy has refused it; None for any other error."""
    if isinstance(error, TgError) or not isinstance(error, ValueError | OverflowError):
        return None
    op = graph.nodes[number].op
    types: list[Any] = [TensorType(v.dtype, v.shape) for v in operands]
    for k in op.size_operands(len(operands)):
        types[k] = int(operands[k])
    try:
        results = op.infer(*types)
    except (TypeError, ValueError):
        return None
    for t in results:
        lengths = [n for n in t.shape if type(n) is int]
        size = math.prod(n for n in lengths if n) * t.numpy_dtype.itemsize
        if not all(0 <= n <= LONGEST for n in lengths) or size >= TOO_LARGE:
            text = f"{op.name}: found an array of {size} bytes, {t}, needed lengths, and fewer than 2**63"
            return ShapeError(message(text, *node_lines(graph, number)))
    return None


def explained(
    graph: FrozenGraph, arrays: Sequence[np.ndarray[Any, Any]], error: Exception | None
) -> tuple[Sequence[Any], Status]:
    """The outcome of a call that native code has refused without saying why: the status by the reference.

    Args:
        error: what to raise where the reference finds nothing wrong; its results are taken if there is none.
    Raises:
        Exception: the reference's own, or `error`.
    """
    outputs, status = PerformExecutable(_scheduled(graph)).run(arrays)
    if status or error is None:
        return outputs, status
    raise error


def _scheduled(graph: FrozenGraph) -> FrozenGraph:
    """The graph with its nodes in the order of native code: each check comes before what it guards."""
    makers = {number: k for k, node in enumerate(graph.nodes) for number in node.outputs}
    order = [step.node for step in schedule(graph, makers) if isinstance(step, Run)]
    origins = {at: graph.origins[k] for at, k in enumerate(order) if k in graph.origins}
    parts = (graph.outputs, graph.checks, graph.names, origins, graph.assumed)
    return FrozenGraph(graph.arity, graph.types, graph.constants, [graph.nodes[k] for k in order], *parts)


def _owned_outputs(graph: FrozenGraph) -> list[bool]:
    """Whether each output is a fresh array: computed, and not given out twice."""
    earlier: set[int] = set()
    flags = []
    for k in graph.outputs:
        flags.append(k >= graph.arity + len(graph.constants) and k not in earlier)
        earlier.add(k)
    return flags


@final
class PerformLinker(Linker):
    """The linker of the reference backend; it needs no rules."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """An executable that interprets the graph."""
        with Span("entry"):
            return PerformExecutable(graph)


LINKER = PerformLinker()
