"""A graph as a pass sees it: what is computed, in order, who reads it, and what is the same in all calls."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, final

from tg.graph.nodes import Apply, Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.function_graph import FunctionGraph


@final
class View:
    """The view of a graph for a pass: what is computed, in order, and who uses it."""

    __slots__ = ("_fixed", "_fixed_inputs", "_made", "_uses", "applies", "inputs", "kinds", "outputs")

    def __init__(self, graph: FunctionGraph) -> None:
        roots = graph.roots
        self._made = graph._made
        self.inputs, self.outputs = tuple(graph.inputs), graph.outputs
        applies: list[Apply] = [results[0].apply for results in live(graph, roots)]  # type: ignore[misc]
        self.applies = tuple(applies)
        self.kinds = {node.key for node in applies}
        self.kinds.update([type(op) for op in {node.op for node in applies}])
        uses: dict[int, int] = {}
        for v in itertools.chain(itertools.chain.from_iterable([node.inputs for node in applies]), roots):
            uses[id(v)] = uses.get(id(v), 0) + 1
        self._uses = uses
        self._fixed_inputs = {id(graph.inputs[k]) for k in graph.fixed}
        self._fixed: dict[int, bool] | None = None  # of values of the graph, by id

    def is_fixed(self, v: Variable) -> bool:
        """Whether a value, of the graph or made of its values, is the same in all calls: constants and fixed inputs."""
        if self._fixed is None:
            self._fixed = {id(u): id(u) in self._fixed_inputs for u in self.inputs}
            for node in self.applies:
                is_fixed = all(map(self.is_fixed, node.inputs))
                self._fixed.update((id(u), is_fixed) for u in self._made[id(node)])
        answer = self._fixed.get(id(v))
        if answer is None:
            answer = type(v) is Constant or (v.apply is not None and all(map(self.is_fixed, v.inputs)))
        return answer

    def results(self, node: Apply) -> tuple[Variable, ...]:
        """The results of an apply of the graph."""
        return self._made[id(node)]

    def uses(self, v: Variable) -> int:
        """The number of reads of a value: as an operand, an output, or by a check."""
        return self._uses.get(id(v), 0)


def live(graph: FunctionGraph, roots: Sequence[Variable]) -> list[tuple[Variable, ...]]:
    """The results of all applies below the roots, in the order in which they were made: operands first."""
    needed = {id(v.apply) for v in roots}
    live = []
    for outputs in reversed(graph._made.values()):
        node = outputs[0].apply
        if id(node) in needed:
            live.append(outputs)
            for u in node.inputs:  # type: ignore[union-attr]
                needed.add(id(u.apply))
    live.reverse()
    return live
