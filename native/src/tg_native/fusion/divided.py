"""Loops over steps in two: what is one number for all elements of a step first, then what is computed with arrays.

Conditions of a derivative, a step size or a running time are carried beside arrays and are computed without them. In a
loop over lanes each element would compute them again, so such a loop has none that anybody reads afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from tg.graph.frozen import FrozenGraph, Node
from tg.ops.loops import Scan
from tg.rewrite.rules.loops.steps import ancestors, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.frozen import Origin
    from tg.graph.op import Op
    from tg.types.tensor_type import TensorType


class Division(NamedTuple):
    """The parts of the body of a loop.

    Args:
        alone: which carries are numbers that are computed without arrays.
        numbers: what else the loop with arrays reads of the other in each step, values of the body.
        traces: which results of a step are numbers of the first loop.
    """

    alone: tuple[int, ...]
    numbers: tuple[int, ...]
    traces: tuple[int, ...]


def divided(frozen: FrozenGraph, chosen: Callable[[Node, Scan], bool]) -> FrozenGraph:
    """The graph with two loops in the place of each of those chosen that can be divided."""
    found: dict[int, tuple[Scan, Division]] = {}
    for k, node in enumerate(frozen.nodes):
        if isinstance(node.op, Scan):
            division = division_of(node.op)
            if division is not None and chosen(node, node.op):
                found[k] = node.op, division
    if not found:
        return frozen
    copy = _Copy(frozen)
    for k, node in enumerate(frozen.nodes):
        if k in found:
            copy.divide(k, *found[k])
        else:
            copy.add(k, node.op, [copy.number[v] for v in node.inputs], node.outputs, ())
    return copy.finished()


def division_of(op: Scan) -> Division | None:
    """How a loop is divided; None where a number of a step depends on arrays, or none is computed."""
    body, n = op.body, op.carries
    alone = {j for j in range(n) if not body.types[j].ndim}
    while True:
        numbers = _without_arrays(body, n, alone)
        kept = {j for j in alone if body.outputs[j] in numbers}
        if kept == alone:
            break
        alone = kept
    single = [j for j, v in enumerate(body.outputs) if not body.types[v].ndim]
    traces = tuple(j for j in single if j >= n)
    if not all(j in alone if j < n else body.outputs[j] in numbers for j in single) or not single:
        return None
    inner = {v for v in numbers if v in alone or v >= body.arity + len(body.constants)}
    read = {v for node in body.nodes if numbers.isdisjoint(node.outputs) for v in node.inputs}
    return Division(tuple(sorted(alone)), tuple(sorted(read & inner)), traces)


def _without_arrays(body: FrozenGraph, carries: int, alone: set[int]) -> set[int]:
    """The values of a step that are numbers computed of numbers, if these carries are."""
    first = body.arity + len(body.constants)
    found = {k for k in range(first) if not body.types[k].ndim and (k >= carries or k in alone)}
    for node in body.nodes:
        is_simple = node.op.pointwise and not node.op.calls_python and not node.op.has_effect
        if is_simple and found.issuperset(node.inputs):
            found.update(node.outputs)
    return found


class _Half(NamedTuple):
    """A loop that computes a part of what another does."""

    op: Scan
    operands: list[int]
    """Of the other's operands from the first carry on, or ~k for trace k of the first half."""
    results: list[int]
    """Which of the other's results its first ones are."""


def _halves(op: Scan, division: Division) -> tuple[_Half, _Half]:
    """The loop of numbers, which traces what the other reads after its own results, and that of arrays."""
    alone, numbers, traces = division
    others = [j for j in range(op.carries) if j not in alone]
    arrays = [j for j in range(op.carries, len(op.body.outputs)) if j not in traces]
    made = {v: ~(len(traces) + k) for k, v in enumerate(numbers)}
    return _half(op, alone, traces, dict.fromkeys(numbers)), _half(op, others, arrays, made)


def _half(op: Scan, carries: Sequence[int], traces: Sequence[int], numbers: Mapping[int, int | None]) -> _Half:
    """A loop of some carries and traces: of numbers it traces those without a place, and reads others from there."""
    body, n = op.body, op.carries
    given = {v: place for v, place in numbers.items() if place is not None}
    outputs = [*(body.outputs[j] for j in (*carries, *traces)), *(v for v in numbers if v not in given)]
    needed = _needed(body, outputs, given)
    sequences = [k for k in range(n, n + op.sequences) if k in needed]
    captured = [k for k in range(n + op.sequences, body.arity) if k in needed]
    part = with_parts(body, [*carries, *sequences, *given, *captured], outputs)
    loop = Scan(part, len(carries), len(sequences) + len(given), op.length, op.reverse, op.told)
    return _Half(loop, [*carries, *sequences, *given.values(), *captured], [*carries, *traces])


def _needed(body: FrozenGraph, outputs: Iterable[int], given: Mapping[int, int]) -> set[int]:
    """What outputs are computed of where some values are given."""
    makers = {number: node for node in body.nodes for number in node.outputs if number not in given}
    return ancestors(makers, outputs)


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
        for half, more in zip(_halves(op, division), (read, ()), strict=True):
            given = [self.number[operands[v]] if v >= 0 else traced[~v] for v in half.operands]
            results = [node.outputs[j] for j in half.results]
            self.add(k, half.op, [*(self.number[v] for v in lengths), *given], results, more)
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
