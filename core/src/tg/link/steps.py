"""The steps of a program that Python runs node by node: their order, and what is known where a rule is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.ops.elementwise.comparison import where

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op
    from tg.types.tensor_type import TensorType


class Site(NamedTuple):
    """A node as a rule for it alone may know it: the types have ints and Nones.

    `dying` are the operands, by position, that nothing reads afterwards: the rule may overwrite and return them.
    """

    op: Op
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    dying: frozenset[int]

    def reusable(self) -> Iterable[int]:
        """The operands, by position, in whose memory the result fits."""
        (result,) = self.results
        return (k for k in sorted(self.dying) if self.operands[k] == result)


class Steps(NamedTuple):
    """The nodes in their order: `rest` need not run where all `conditions` hold."""

    first: tuple[int, ...]
    rest: tuple[int, ...] = ()
    conditions: tuple[int, ...] = ()

    def last_uses(self, graph: FrozenGraph) -> dict[int, tuple[int, ...]]:
        """For each node the values that no later one reads, so that they may be freed or overwritten."""
        live: set[int] = {*range(graph.arity + len(graph.constants)), *graph.outputs}
        uses: dict[int, tuple[int, ...]] = {}
        for number in reversed((*self.first, *self.rest)):
            node = graph.nodes[number]
            uses[number] = tuple(k for k in dict.fromkeys((*node.inputs, *node.outputs)) if k not in live)
            live.update(uses[number])
        return uses


def steps_of(graph: FrozenGraph, live: Collection[int], *, has_status: bool) -> Steps:
    """The nodes that make values which are `live`; what only the message of a failing check needs comes last."""
    numbers = tuple(k for k, node in enumerate(graph.nodes) if any(n in live for n in node.outputs))
    conditions = _conditions(graph) if has_status else ()
    if not conditions:
        return Steps(numbers)
    needed = {*graph.outputs[:-1], *conditions}
    for number in reversed(numbers):
        node = graph.nodes[number]
        if any(k in needed for k in node.outputs):
            needed.update(node.inputs)
    first = tuple(k for k in numbers if any(n in needed for n in graph.nodes[k].outputs))
    return Steps(first, tuple(k for k in numbers if k not in set(first)), conditions)


def _conditions(graph: FrozenGraph) -> tuple[int, ...]:
    """The conditions of the checks in a status, which is a chain of choices that ends with a constant."""
    makers = {k: node for node in graph.nodes for k in node.outputs}
    conditions: list[int] = []
    number = graph.outputs[-1]
    while number in makers and makers[number].op.rule_key is where:
        condition, number, _ = makers[number].inputs
        conditions.append(condition)
    end = graph.constant(number)
    return tuple(conditions) if end is not None and not end.data.any() else ()
