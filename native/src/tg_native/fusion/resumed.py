"""Common subexpressions of the stages of a loop over lanes: an earlier stage has computed them in the same step.

The way back of a gradient computes each step of the way forward again, from what that had before it. In one loop, what
takes longer than to keep it for the elements of a round is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.record import Elementwise
from tg.rules.loops.steps import with_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node

    Read = int | tuple[int, int]
    """What an input of a program is: an operand, or of some stage the result of this number."""

KEPT: Final = 4.0
"""What it costs to write the elements of a round and to read them again, in additions."""


class Draft:
    """A stage in the making."""

    def __init__(
        self,
        program: FrozenGraph,
        carries: int,
        sequences: int,
        steps: tuple[int | None, int],
        reads: Sequence[Read],
        results: Sequence[int | None],
        *,
        reverse: bool,
        asks: bool,
    ) -> None:
        """Begin one.

        Args:
            steps: how many there are, or which operand says it.
            results: the values of the graph that its results are; None for what later stages alone read.
        """
        self.program, self.carries, self.sequences, self.steps = program, carries, sequences, steps
        self.reads, self.results = list(reads), list(results)
        self.reverse, self.asks = reverse, asks

    def kind(self, k: int) -> int:
        """0 for an input that is a carry, 1 for an element of a sequence, 2 for what is captured."""
        return (k >= self.carries) + (k >= self.carries + self.sequences)

    def traced(self, value: int) -> int:
        """The result that is what a value is in each step, which it becomes if there is none."""
        outputs = self.program.outputs
        for k in range(self.carries, len(outputs)):
            if outputs[k] == value:
                return k
        self.program = with_parts(self.program, range(self.program.arity), [*outputs, value])
        self.results.append(None)
        return len(outputs)


def resume(drafts: Sequence[Draft]) -> None:
    """Let stages read what those before them have computed, where that is worth it."""
    for k, later in enumerate(drafts):
        for s, first in enumerate(drafts[:k]):
            if first.steps == later.steps and not (first.asks or later.asks):
                _resume(later, first, s)


def _resume(later: Draft, first: Draft, s: int) -> None:
    program = later.program
    same = _in_both(later, first, s)
    makers = {node.outputs[0]: node for node in program.nodes if node.outputs[0] in same}
    stack = [k for node in program.nodes if node.outputs[0] not in makers for k in node.inputs]
    stack += program.outputs
    traced, taken = set(first.program.outputs[first.carries :]), dict[int, None]()
    while stack:
        k = stack.pop()
        if k not in makers or k in taken:
            continue
        if _cost(makers, k) >= (1 if same[k] in traced else KEPT):
            taken[k] = None
        else:
            stack.extend(makers[k].inputs)
    if not taken:
        return
    needed = _inputs(program, taken)
    groups: tuple[list[int], ...] = ([], [], [])
    for k in range(program.arity):
        if k < later.carries or k in needed:
            groups[later.kind(k)].append(k)
    reads = dict(enumerate(later.reads)) | {k: (s, first.traced(same[k])) for k in taken}
    order = [*groups[0], *groups[1], *taken, *groups[2]]
    later.program = with_parts(program, order, program.outputs)
    later.sequences = len(groups[1]) + len(taken)
    later.reads = [reads[k] for k in order]


def _in_both(later: Draft, first: Draft, s: int) -> dict[int, int]:
    """Of values of a program those of an earlier stage's that are the same in the same step."""
    body, inside = later.program, first.program
    inputs = {(first.kind(k), read): k for k, read in enumerate(first.reads) if first.kind(k)}
    counterparts: dict[int, int] = {}
    for k, read in enumerate(later.reads):
        kind = later.kind(k)
        if kind == 1 and isinstance(read, tuple) and read[0] == s:
            counterparts[k] = inside.outputs[read[1]]
        elif kind and (kind, read) in inputs:
            counterparts[k] = inputs[kind, read]
    numbers = {c.key: inside.arity + k for k, c in enumerate(inside.constants)}
    counterparts.update((body.arity + k, numbers[c.key]) for k, c in enumerate(body.constants) if c.key in numbers)
    table = {(node.op, node.inputs): node.outputs[0] for node in inside.nodes}
    for node in body.nodes:
        if all(k in counterparts for k in node.inputs):
            operands = tuple(counterparts[k] for k in node.inputs)
            number = table.get((node.op, operands))
            if number is None and node.op.commutes:
                number = table.get((node.op, operands[::-1]))
            if number is not None:
                counterparts[node.outputs[0]] = number
    return counterparts


def _cost(makers: Mapping[int, Node], wanted: int) -> float:
    """Cost of a value that steps before it make, in additions."""
    stack, visited, total = [wanted], set[int](), 0.0
    while stack:
        k = stack.pop()
        if k in makers and k not in visited:
            visited.add(k)
            op = makers[k].op
            total += op.fn.cost if isinstance(op, Elementwise) else 1.0
            stack.extend(makers[k].inputs)
    return total


def _inputs(program: FrozenGraph, leaves: Iterable[int]) -> set[int]:
    """The inputs that a program needs where other values are given as well."""
    makers = {number: node for node in program.nodes for number in node.outputs}
    visited = set(leaves)
    stack = list(program.outputs)
    while stack:
        number = stack.pop()
        if number not in visited:
            visited.add(number)
            stack.extend(makers[number].inputs if number in makers else ())
    return {k for k in visited if k < program.arity}
