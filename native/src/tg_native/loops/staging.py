"""Reads and results of the stages of a loop, whatever the language that they are written in.

A backend writes a loop as its outer axes, in them stage after stage, each over the inner axes or, where it reads
nothing that has them, once. Results are numbered through all stages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.ops.indexing import Gather
from tg_native.plan.values import Array, is_one

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_native.fusion.loop import Loop, Result, Stage
    from tg_native.kernels.index import Index
    from tg_native.plan.values import Value


@final
class Staging:
    """A loop over operands as a backend has them: its space, and where its stages find what they read."""

    def __init__(self, op: Loop, inputs: Sequence[Value]) -> None:
        self.op, self.inputs = op, inputs
        self.rank = len(op.extents)
        self.results: list[tuple[int, Result]] = [(s, r) for s, stage in enumerate(op.stages) for r in stage.results]
        self.elements = sorted({k for stage in op.stages for k in _element_operands(stage)})
        self.space = [self._length(axis) for axis in range(self.rank)]

    def _length(self, axis: int) -> int | Length:
        shapes = [v.shape for k in self.elements if isinstance(v := self.inputs[k], Array)]
        return next((s[axis] for s in shapes if not is_one(s[axis])), 1)

    def numbered(self, s: int) -> list[tuple[int, Result]]:
        """The results of a stage, with their numbers."""
        return [(j, r) for j, (stage, r) in enumerate(self.results) if stage == s]

    def is_inner(self, s: int) -> bool:
        """Whether a stage runs over the inner axes."""
        stage = self.op.stages[s]
        inputs = zip(stage.reads, stage.program.input_types, strict=True)
        return len(self.op.stages) == 1 or any(self._spans(k) for k, t in inputs if not t.ndim)

    def _spans(self, read: int) -> bool:
        """Whether what a stage reads has the inner axes."""
        if read < 0:
            s, result = self.results[~read]
            return result.fn is None and self.is_inner(s)
        v = self.inputs[read]
        return isinstance(v, Array) and any(not is_one(n) for n in v.shape[self.op.outer :])

    def is_scalar(self, j: int) -> bool:
        """Whether a result is one number for each outer index."""
        s, result = self.results[j]
        return result.into is None and not self.is_column(j) and (result.fn is not None or not self.is_inner(s))

    def is_column(self, j: int) -> bool:
        """Whether a result is reduced over the outer axes."""
        _, result = self.results[j]
        return result.into is None and result.fn is not None and result.axes[-1] < self.op.outer - self.rank

    def is_total(self, j: int) -> bool:
        """Whether a result is reduced over all axes."""
        _, result = self.results[j]
        return result.into is None and result.fn is not None and len(result.axes) == self.rank

    def is_row(self, j: int) -> bool:
        """Whether a result is not stored, but needs memory for a row that later stages read."""
        _, result = self.results[j]
        read = any(~j in stage.reads for stage in self.op.stages)
        return not result.stored and read and not self.is_scalar(j)

    def dtype_of(self, j: int) -> str:
        """The dtype of what a result is made of."""
        s, result = self.results[j]
        program = self.op.stages[s].program
        return program.types[program.outputs[result.value]].dtype

    def hosts(self) -> dict[int, int]:
        """The rows that need no memory of their own: each with a result of the last stage that reads it.

        They lie where that result is going to be, if no later stage reads anything else in memory.
        """
        by_row: dict[int, int] = {}
        for j in filter(self.is_row, range(len(self.results))):
            s, _ = self.results[j]
            last = max(t for t, stage in enumerate(self.op.stages) if ~j in stage.reads)
            hosts = [h for h, (t, r) in enumerate(self.results) if t == last and r.stored and r.op is None]
            free = (h for h in hosts if h not in by_row.values() and not self.is_scalar(h))
            host = next((h for h in free if self.dtype_of(h) == self.dtype_of(j)), None)
            if host is not None and all(map(self._reads_rows_alone, self.op.stages[s + 1 :])):
                by_row[j] = host
        return by_row

    def _reads_rows_alone(self, stage: Stage) -> bool:
        """Whether all that a stage reads in memory is what stages before it have made, or the same for a whole row."""
        inputs = zip(stage.reads, stage.program.input_types, strict=True)
        return all(k < 0 or not (t.ndim or self._spans(k)) for k, t in inputs)


def _element_operands(stage: Stage) -> list[int]:
    return [k for k, t in zip(stage.reads, stage.program.input_types, strict=True) if k >= 0 and not t.ndim]


def split(nodes: Sequence[Node], varying: set[int]) -> tuple[list[Node], list[Node]]:
    """The steps of which all elements along the inner axis are equal, and the others, whose results join `varying`."""
    early, late = [], []
    for node in nodes:
        if varying.isdisjoint(node.inputs):
            early.append(node)
        else:
            late.append(node)
            varying.update(node.outputs)
    return early, late


def roots(positions: Iterable[int], nodes: Sequence[Node], varying: set[int]) -> set[int]:
    """The inputs that differ along the inner axis and from which positions follow, by the steps that make these."""
    numbers = varying.intersection(positions)
    for node in reversed(nodes):
        if not numbers.isdisjoint(node.outputs):
            numbers.difference_update(node.outputs)
            numbers.update(varying.intersection(node.inputs))
    return numbers


def bounded_by(
    nodes: Sequence[Node],
    tables: Mapping[int, Sequence[Index]],
    written: Iterable[tuple[Sequence[int], Sequence[Index]]],
) -> dict[int, list[Index]]:
    """Of each value that is a position the lengths of the axes that it is one of.

    Args:
        tables: of each value that is gathered from the lengths.
        written: of each array that is scattered into the values that are positions, and the lengths.
    """
    bounds: dict[int, list[Index]] = {}
    for at, lengths in (*((n.inputs[1:], tables[n.inputs[0]]) for n in nodes if type(n.op) is Gather), *written):
        for number, length in zip(at, lengths, strict=True):
            bounds.setdefault(number, []).append(length)
    return bounds
