"""Loops over steps in two: what is one number for all elements of a step first, then what is computed with arrays.

Conditions of a derivative, a step size or a running time are carried beside arrays and are computed without them. In a
loop over lanes each element would compute them again, so such a loop has none that anybody reads afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.graph.frozen import FrozenGraph, Node
from tg.ops.loops import Scan
from tg.rules.loops.halves import division_of, halves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.frozen import Origin
    from tg.graph.op import Op
    from tg.rules.loops.halves import Division
    from tg.types.tensor_type import TensorType


def divided(frozen: FrozenGraph, chosen: Callable[[Node, Scan], bool]) -> FrozenGraph:
    """The graph with two loops in the place of each of those chosen that can be divided."""
    divisions: dict[int, tuple[Scan, Division]] = {}
    for k, node in enumerate(frozen.nodes):
        if isinstance(node.op, Scan):
            division = division_into_numbers(node.op)
            if division is not None and chosen(node, node.op):
                divisions[k] = node.op, division
    if not divisions:
        return frozen
    copy = _Copy(frozen)
    for k, node in enumerate(frozen.nodes):
        if k in divisions:
            copy.divide(k, *divisions[k])
        else:
            copy.add(k, node.op, [copy.number[v] for v in node.inputs], node.outputs, ())
    return copy.finished()


def division_into_numbers(op: Scan) -> Division | None:
    """Division of a loop; None where a number of a step depends on arrays, or none is computed."""
    body, n = op.body, op.carries
    first = body.arity + len(body.constants)
    single = [j for j, v in enumerate(body.outputs) if not body.types[v].ndim]
    if not single:
        return None
    scalars = [k for k in range(n, first) if not body.types[k].ndim]
    division = division_of(op, [j for j in single if j < n], scalars, _is_simple)
    if division is None or len(division.alone) + len(division.traces) < len(single):
        return None
    return division


def _is_simple(node: Node) -> bool:
    return node.op.pointwise and not node.op.calls_python and not node.op.has_effect


@final
class _Copy:
    """A graph with the two halves in the place of each loop that was found."""

    def __init__(self, frozen: FrozenGraph) -> None:
        first = frozen.arity + len(frozen.constants)
        self.frozen = frozen
        self.number = {k: k for k in range(first)}
        self.types = list(frozen.types[:first])
        self.nodes: list[Node] = []
        self.origins: dict[int, Origin] = {}

    def add(self, k: int, op: Op, inputs: Iterable[int], results: Sequence[int], more: Iterable[TensorType]) -> None:
        """Add a node in the place of node k that makes some of its results, and after them more."""
        first = len(self.types)
        self.types += [*(self.frozen.types[v] for v in results), *more]
        if k in self.frozen.origins:
            self.origins[len(self.nodes)] = self.frozen.origins[k]
        self.nodes.append(Node(op, tuple(inputs), tuple(range(first, len(self.types)))))
        self.number.update(zip(results, range(first, len(self.types)), strict=False))

    def divide(self, k: int, op: Scan, division: Division) -> None:
        """Add the halves of a loop."""
        node = self.frozen.nodes[k]
        lengths, operands = node.inputs[: op.first], node.inputs[op.first :]
        read = [op.body.types[v].with_shape((op.length,)) for v in division.numbers]
        traced: Sequence[int] = ()
        for half, more in zip(halves(op, division), (read, ()), strict=True):
            arguments = [self.number[operands[v]] if v >= 0 else traced[~v] for v in half.operands]
            results = [node.outputs[j] for j in half.results]
            self.add(k, half.op, [*(self.number[v] for v in lengths), *arguments], results, more)
            traced = self.nodes[-1].outputs[half.op.carries :]

    def finished(self) -> FrozenGraph:
        """The graph, once all nodes are there."""
        frozen, number = self.frozen, self.number
        checks = [
            c._replace(condition=number[c.condition], values=tuple(number[v] for v in c.values)) for c in frozen.checks
        ]
        names = {number[old]: name for old, name in frozen.names.items() if old in number}
        assumed = {number[old]: facts for old, facts in frozen.assumed.items() if old in number}
        outputs = [number[v] for v in frozen.outputs]
        parts = (frozen.arity, self.types, frozen.constants, self.nodes, outputs, checks, names, self.origins)
        return FrozenGraph(*parts, assumed)
