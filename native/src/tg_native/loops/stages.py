"""A stage of a loop: what it reads is loaded, its steps run, its values are kept, reduced and scattered.

What all elements along the innermost axis share is computed once, as single elements, and the rest in lanes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

from tg.ops.indexing import Gather, WrapIndex
from tg_native.kernels.dtypes import working
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import Lanes, constant_of, in_all_lanes
from tg_native.kernels.libm import WRITTEN_OUT
from tg_native.kernels.mathematics.kernel import NARROW
from tg_native.kernels.routine import Block
from tg_native.loops.columns import Column
from tg_native.loops.folds import Fold, is_interleaved, rounds
from tg_native.loops.pointwise import NO_INVERSES, abreast, is_long, program_of, stands_there, step, uniform
from tg_native.loops.positions import Scattering, Whole, gathered, last_of, offset, whole, wrapped
from tg_native.loops.rounds import Rounds
from tg_native.loops.runs import runs_of
from tg_native.loops.signs import below_their_maxima, shifted_in_sums
from tg_native.loops.staging import bounded_by, split
from tg_native.loops.sums import sums_of
from tg_native.plan.values import is_zero

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_native.fusion.loop import Result
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.loops.divisors import Inverse
    from tg_native.loops.nest import LoopNest

    Values = dict[int, Elements]

LIGHT: Final = 8  # exact steps of a stage up to which waiting for an accumulator takes longer than they do
VECTORS: Final = 4  # that such a stage works on at once


@final
class StageWriter:
    """Writes one stage."""

    def __init__(self, nest: LoopNest, s: int) -> None:
        self.number = s
        self.nest, self.site, self.kernel, self.body = nest, nest.site, nest.kernel, nest.kernel.body
        self.stage = nest.op.stages[s]
        self.numbered = nest.staging.numbered(s)
        program = program_of(self.stage.program, below_their_maxima(self.stage, nest.staging))
        self.program = program._replace(shifted=shifted_in_sums(s, nest.staging))
        self.axes: Sequence[int | Length] = nest.body if nest.staging.is_inner(s) else ()
        self.inputs = [k for k, t in enumerate(self.stage.program.input_types) if not t.ndim]
        self.varying = {k for k in self.inputs if self._varies(k)}
        self.early, self.late = split(self.program.nodes, self.varying)
        self.kept = {j: self._value(r) for j, r in self.numbered if r.op is None}
        self.values: Values = {}  # single elements, the same for the whole loop
        self.tables: dict[int, Whole] = {}  # by inputs of the program
        self.scattered: dict[int, Scattering] = {}
        self.lasts: dict[int, Lanes] = {}  # by wrapped indices: the last position that they may be
        self.folds: dict[int, Fold] = {}
        self.columns: dict[int, Column] = {}

    def _value(self, result: Result) -> int:
        return self.program.outputs[result.value]

    def value_of(self, j: int) -> int:
        """The value of the program that a result is made of."""
        return self._value(self.nest.staging.results[j][1])

    def read(self, number: int) -> tuple[str, int] | None:
        """Place of an input of the program in memory, None if it is one number of the outer index."""
        read = self.stage.reads[number]
        if read < 0:
            return None if self.nest.staging.is_scalar(~read) else ("result", ~read)
        return ("operand", read) if ("operand", read) in self.nest.placed else None

    def _varies(self, number: int) -> bool:
        """Whether an input differs along the innermost axis."""
        where = self.read(number)
        return where is not None and bool(self.axes) and not is_zero(self.nest.placed[where].inner[-1])

    # --- before and after all loops ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Set the values that are known before the loops, and begin totals."""
        body, dtypes = self.body, self.program.dtypes
        self.values.update((k, constant_of(body, c, dtypes[k])) for k, c in self.program.constants.items())
        for k in self.inputs:
            read = self.stage.reads[k]
            scalar = uniform(self.site.inputs[read]) if read >= 0 else None
            if scalar is not None:
                self.values[k] = self.kernel.scalar(scalar)
        self._find_arrays()
        self._find_lasts()
        self.interleaved = self._is_interleaved()
        self.lanes = self._lanes()
        self.runs = runs_of(self)
        self.wrapped = [n for n in self.late if type(n.op) is WrapIndex and n.inputs[0] in self.inputs]
        self.run(self.early, self.values)
        with body.of(self.lanes):
            for j, r in self.numbered:
                if r.fn is not None and r.into is None:
                    self._reduce(j, r.fn, dtypes[self._value(r)])
            for fold in self._folds(total=True).values():
                fold.begin()
            for column in self.columns.values():
                column.begin()

    def _reduce(self, j: int, fn: Any, dtype: str) -> None:
        """Prepare the reduction that a result is."""
        rule, nest = self.site.rule(fn.op), self.nest
        if not nest.staging.is_column(j):
            self.folds[j] = Fold(self.kernel, fn, rule, dtype, self._terms(j), interleaved=self.interleaved)
        elif j in nest.stored:
            inner = nest.staging.space[nest.op.outer :]
            self.columns[j] = Column(self.kernel, fn, rule, dtype, nest.placed["column", j].place, inner)

    def end(self) -> None:
        """Store the totals, and what columns have."""
        for j, column in self.columns.items():
            with self.body.of(self.lanes):
                column.end(self.nest.column_place(j, column))
        for j, fold in self._folds(total=True).items():
            if j in self.nest.stored:
                with self.body.of(self.lanes):
                    is_part = self.kernel.share is not None or self.site.is_part
                    total = fold.whole() if is_part else fold.result()
                self._store(total, self.nest.total_place(j, fold))

    def _store(self, value: Elements, place: Pointer) -> None:
        with self.body.of(0):
            self.body.store(value, place)

    def _folds(self, *, total: bool) -> dict[int, Fold]:
        return {j: fold for j, fold in self.folds.items() if self.nest.staging.is_total(j) is total}

    def _find_arrays(self) -> None:
        """Find what is read and written at positions."""
        for k, t in enumerate(self.stage.program.input_types):
            if t.ndim:
                table = self.site.memory(self.site.inputs[self.stage.reads[k]])
                self.tables[k] = whole(self.kernel, table, self.kernel.read(table))
        for j, r in self.numbered:
            if r.into is not None and j in self.nest.stored:
                y = self.nest.stored[j]
                rule = self.site.rule(r.fn.op) if r.fn is not None else None
                base = whole(self.kernel, y, self.nest.scattered(y))
                self.scattered[j] = Scattering(self.kernel, base, r.fn, rule)

    def _find_lasts(self) -> None:
        """Wrapped indices stay inside of all arrays that they are used for, whatever length they were wrapped for."""
        written = [(self.places(j), scattering.base.lengths) for j, scattering in self.scattered.items()]
        tables = {k: table.lengths for k, table in self.tables.items()}
        bounds = bounded_by(self.program.nodes, tables, written)
        for node in self.program.nodes:
            if type(node.op) is WrapIndex:
                (out,) = node.outputs
                size: Any = self.values[node.inputs[1]]
                self.lasts[out] = last_of([Index(size.to("int64")), *bounds.get(out, ())])

    def places(self, j: int) -> list[int]:
        """The values that are the positions of a result that is scattered."""
        return [self.program.outputs[k] for k in self.nest.staging.results[j][1].at]

    def _lanes(self) -> int:
        """Number of elements along the innermost axis that are computed at once; 0 where there is no such axis."""
        if not self.axes:
            return 0
        dtypes = {self.program.dtypes[k] for k in (*self.varying, *self.program.outputs)}
        return self.kernel.lanes_for(map(working, dtypes), self._vectors(), self._along)

    def _vectors(self) -> int:
        """Number of vectors that a round works on at once."""
        if self._waits():
            return VECTORS
        if self.tables or self.scattered:
            return 1
        wanted = 1 if self.kept else abreast(self.site, self.late)
        if self.body.machine.vector_bytes > NARROW or not self._has_long():
            return wanted
        return max(wanted, self.body.long_abreast)

    def _has_long(self) -> bool:
        """Whether a long step is written in place."""
        return any(is_long(node) and stands_there(node, self.program.dtypes, self.body) for node in self.late)

    @property
    def _along(self) -> int | Length:
        """Number of elements, or of parts of interleaved ones, along the innermost axis."""
        return self.axes[-1] * (2 if self.interleaved else 1)

    def _is_interleaved(self) -> bool:
        """Whether there is nothing but sums of complex numbers as they lie in memory."""
        return bool(self.axes) and not self.late and all(self._is_sum_in_memory(j, r) for j, r in self.numbered)

    def _is_sum_in_memory(self, j: int, result: Result) -> bool:
        value = self._value(result)
        where = self.read(value) if value in self.varying else None
        if where is None or result.fn is None or result.into is not None or self.nest.staging.is_column(j):
            return False
        return is_interleaved(result.fn, self.program.dtypes[value], self.nest.placed[where].inner[-1])

    def _waits(self) -> bool:
        """Whether rounds of one vector would wait for what few reductions have found."""
        if self.kept or self.tables or self.scattered or len(self.numbered) >= VECTORS:
            return False
        if any(self.nest.staging.is_column(j) for j, _ in self.numbered):
            return False
        return len(self.late) <= LIGHT and not any(is_long(node) for node in self.late)

    def _calls(self) -> bool:
        """Whether rounds are likely to call functions."""
        long = [node for node in self.late if is_long(node)]
        return len(long) > WRITTEN_OUT or not all(stands_there(node, self.program.dtypes, self.body) for node in long)

    def _terms(self, j: int) -> int | None:
        """Number of elements that a lane of a reduction takes, if it is known."""
        if not self.axes:
            return None
        inner = (*self.axes[:-1], self._along)
        axes = (*self.nest.lead, *inner) if self.nest.staging.is_total(j) else inner
        lengths = [n for n in axes if type(n) is int]
        if len(lengths) < len(axes):
            return None
        return math.prod(lengths[:-1]) * -(-lengths[-1] // self.lanes)

    # --- at one outer index ------------------------------------------------------------------------------------------

    def write(self, outer: Sequence[Index]) -> None:
        """The stage, inside of the outer loops."""
        values, kernel, body = dict(self.values), self.kernel, self.body
        values.update((k, self.nest.rows[~r]) for k, r in enumerate(self.stage.reads) if ~r in self.nest.rows)
        with body.of(self.lanes):
            for fold in self._folds(total=False).values():
                fold.begin()
        self.is_first = not self.nest.lead  # whether the outermost of its loops is that of the kernel
        with kernel.loops(self.axes[:-1], first=self.is_first) as inner:
            indices = [*outer, *inner]
            for k in self.inputs:
                where = self.read(k)
                if where is not None and k not in self.varying:
                    values[k] = kernel.load_one(self.pointer(where, indices))
            self.run(self.early, values)
            with body.of(self.lanes):
                self._over_elements(self._spread(values), values, indices)
        with body.of(self.lanes):
            for column in self.columns.values():
                column.end_row()
        self._finish(values, outer)

    def pointer(self, where: tuple[str, int], indices: Sequence[Index]) -> Pointer:
        """Start of the elements of an array at some outer and inner indices."""
        a = self.nest.placed[where]
        strides = (*a.outer, *a.inner)[: len(indices)]
        place: Pointer = self.kernel.moved(a.place, indices, strides)
        return place

    def _spread(self, values: Values) -> Values:
        """Put what is known of a row into all lanes, and lengths besides, so that the rounds need not do it."""
        needed = {k for node in self.late for k in node.inputs} | set(self.program.outputs)
        in_lanes: Values = {}
        for k in sorted(needed & values.keys()):
            c = self.program.constants.get(k)
            in_lanes[k] = in_all_lanes(values[k]) if c is None else constant_of(self.body, c, self.program.dtypes[k])
        for last in self.lasts.values():
            in_all_lanes(last)
        for array in (*self.tables.values(), *(s.base for s in self.scattered.values())):
            for stride in array.strides:
                if stride.known not in (0, 1):
                    stride.lanes()
        return in_lanes

    def _finish(self, values: Values, outer: Sequence[Index]) -> None:
        """The numbers of this outer index, for later stages and in memory."""
        for j, r in self.numbered:
            if not self.nest.staging.is_scalar(j) or self.nest.staging.is_total(j):
                continue
            if j in self.folds:
                with self.body.of(self.lanes):
                    self.nest.rows[j] = self.folds[j].result()
            else:
                self.nest.rows[j] = values[self._value(r)]
            if j in self.nest.stored:
                self._store(self.nest.rows[j], self.pointer(("result", j), outer))

    # --- rounds ------------------------------------------------------------------------------------------------------

    def _over_elements(self, values: Values, single: Values, indices: Sequence[Index]) -> None:
        """The rounds along the innermost axis; what is known of all its elements, in lanes and as single ones."""
        way, folds = Rounds(self, values, single, indices), list(self.folds.values())
        if not self.axes:
            for fold, value in zip(folds, way.write(Block(index(self.body, 0))), strict=True):
                fold.keep(fold.taken(fold.first(), value))
            return
        if self.runs is not None:
            self.runs.begin()
        twice, sums = way.twice, sums_of(way)
        first = self.is_first and len(self.axes) == 1
        rounds(self.kernel, folds, self.axes[-1], way.write, twice=twice, calls=self._calls(), sums=sums, first=first)
        if self.runs is not None:
            self.runs.end()

    def run(
        self,
        nodes: Sequence[Node],
        values: Values,
        shared: Mapping[int, Inverse] = NO_INVERSES,
        *,
        near: bool = False,
    ) -> None:
        """Run those steps whose operands are known; their results are then known too.

        Args:
            near: indices that are wrapped are positions as they are.
        """
        for node in nodes:
            (number,) = node.outputs
            if number in values or not all(k in values or k in self.tables for k in node.inputs):
                continue
            if type(node.op) is Gather:
                table = self.tables[node.inputs[0]]
                place = self.offset(table, node.inputs[1:], values)
                values[number] = gathered(self.kernel, table, place, one_by_one=bool(self.scattered))
            elif type(node.op) is WrapIndex:
                at, length = (values[k] for k in node.inputs)
                assert isinstance(at, Lanes)
                assert isinstance(length, Lanes)
                if near:
                    values[number] = at.to("int64")
                    continue
                values[number] = wrapped(node.op, at, length, in_all_lanes(self.lasts[number]))
            else:
                step(self.site, self.program, node, values, shared)

    def offset(self, array: Whole, at: Sequence[int], values: Values) -> Lanes:
        places: Any = [values[k] for k in at]
        return offset(array, places, [k in self.lasts for k in at])
