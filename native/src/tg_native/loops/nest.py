"""Loops of several stages as one function: outer loops, in them stage after stage, each over the inner axes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops.reductions import REDUCTIONS
from tg.types import lengths
from tg.types.dtypes import is_float
from tg_native.fusion.loop import Loop
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.lanes import constant_of
from tg_native.loops.ahead import longest_stage
from tg_native.loops.columns import rows
from tg_native.loops.joins import MOST_SHARED, join_columns, join_scattered, join_totals
from tg_native.loops.pointwise import pointwise, program_of, uniform
from tg_native.loops.repeats import form_of, once
from tg_native.loops.stages import StageWriter
from tg_native.loops.staging import Staging
from tg_native.plan.values import Array, Scalar, collapsed, count, is_zero, row_major, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Counted, Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.loops.columns import Column
    from tg_native.loops.folds import Fold
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value


LINE: Final = 128  # bytes between what different threads write: two lines, which some caches fetch together


def own_memory(site: Site, kernel: Kernel, dtype: str, shape: Sequence[int | Length]) -> Pointer:
    """Memory for the time of an op: for each thread some of its own, not closer than a line of the cache."""
    share = kernel.share
    if share is None:
        return kernel.write(site.temporary(dtype, shape))
    size = lengths.add(count(shape), LINE // item_size(dtype))
    place = kernel.write(site.temporary(dtype, (share.threads, size)))
    return place.moved(share.slot * kernel.length(size, ("shared", str(place.text))))


def loop(op: Loop, site: Site) -> list[Value]:
    """A loop: as a single pass of elementwise ops if it is no more than that."""
    stage = op.stages[0]
    program = program_of(stage.program)
    site.inputs = [v._replace(operand=k) if isinstance(v, Scalar) else v for k, v in enumerate(site.inputs)]
    if len(op.stages) == 1 and all(r.op is None for r in stage.results) and all(n.op.pointwise for n in program.nodes):
        stored = tuple(program.outputs[r.value] for r in stage.results)
        return pointwise(site, program._replace(outputs=stored), [site.inputs[k] for k in stage.reads])
    if op.is_total and not site.is_part:
        op, site.inputs = _as_they_lie(op, site.inputs)
    return LoopNest(op, site).write()


def _as_they_lie(op: Loop, inputs: list[Value]) -> tuple[Loop, list[Value]]:
    """A loop of nothing but totals with its axes in the order that they have in memory, if it is one."""
    arrays = [v for v in inputs if isinstance(v, Array) and uniform(v) is None]
    rank = len(op.extents)
    if not arrays or any(v.ndim != rank for v in arrays) or any(type(n) is not int for v in arrays for n in v.strides):
        return op, inputs
    order = sorted(range(rank), key=lambda k: arrays[0].strides[k], reverse=True)
    if any(not _descends([v.strides[k] for k in order]) for v in arrays):
        return op, inputs
    permuted = [v.viewed(*_permuted(v, order)) if isinstance(v, Array) and v.ndim == rank else v for v in inputs]
    return Loop(tuple(op.extents[k] for k in order), 0, op.stages), permuted


def _descends(strides: Sequence[Any]) -> bool:
    """Whether no axis is repeated, and each lies inside of the one before."""
    return all(strides) and all(a >= b for a, b in itertools.pairwise(strides))


def _permuted(v: Array, order: Sequence[int]) -> tuple[list[int | Length], list[int | Length]]:
    """Lengths and strides in another order of axes."""
    return [v.shape[k] for k in order], [v.strides[k] for k in order]


class Strided(NamedTuple):
    """An array over the space: where it lies, and its strides over the outer and over the inner axes."""

    place: Any  # a Pointer; of an operand it may be Counted
    outer: Sequence[int | Length]
    inner: Sequence[int | Length]


@final
class LoopNest:
    """The function of a loop in the making."""

    def __init__(self, op: Loop, site: Site) -> None:
        self.op, self.site, self.kernel = op, site, site.kernel()
        self.staging = Staging(op, site.inputs)
        self.hosts = self.staging.hosts()
        self.stored = self._allocate()
        self.columns: dict[int, Array] = {}
        self.joins: list[Callable[[], None]] = []  # what is done after all parts, where threads share the loop
        self.placed: dict[tuple[str, int], Strided] = {}  # ("operand", "result" or "column", its number)
        self._place(self._arrays())
        self.rows: dict[int, Elements] = {}  # results that are one number for each outer index, at the current one

    # --- memory ------------------------------------------------------------------------------------------------------

    def _allocate(self) -> dict[int, Array]:
        """Memory for the results, by their numbers: of the loop, or of this call for rows that are read later."""
        by_number: dict[int, Array] = {}
        stored = iter(range(len(self.site.types)))
        for j, (_, result) in enumerate(self.staging.results):
            if result.stored:
                by_number[j] = self.site.allocate(next(stored))
                if result.into is not None:
                    self.site.copy(self.site.inputs[result.into], by_number[j])
            elif self.staging.is_row(j) and j not in self.hosts:
                by_number[j] = self._row(self.staging.dtype_of(j))
        return by_number

    def _row(self, dtype: str) -> Array:
        """Memory for a row that later stages read: one for each thread, not closer than a line of the cache."""
        space, outer = self.staging.space, self.op.outer
        shape = space[outer:]
        if self._may_be_divided():
            memory = (self.site.threads, *shape[:-1], shape[-1] + LINE // item_size(dtype))
            row = self.site.temporary(dtype, memory)
        else:
            row = self.site.temporary(dtype, shape)
        return row.viewed(space, (*([0] * outer), *row_major(tuple(shape))))

    def _arrays(self) -> dict[tuple[str, int], Array]:
        """Arrays in memory over the space: operands and results."""
        arrays: dict[tuple[str, int], Array] = {}
        for k in self.staging.elements:
            v = self.site.inputs[k]
            if uniform(v) is None:
                assert isinstance(v, Array)
                arrays["operand", k] = spread(v, self.staging.space)
        for j, y in self.stored.items():
            if self.staging.results[j][1].into is None:
                arrays["result", j] = spread(y, self.staging.space)
            if self.staging.is_column(j):
                arrays["column", j] = self._rows(j, y.dtype)
        return arrays

    def _rows(self, j: int, dtype: str) -> Array:
        """Memory for what is found of columns, as one row over the space."""
        outer, space = self.op.outer, self.staging.space
        parts = self.site.most_parts if self._may_be_divided() else 1
        memory = self.columns[j] = rows(self.site, self.staging.results[j][1], dtype, space[outer:], parts)
        return memory.viewed(space, (*([0] * outer), *row_major(space[outer:])))

    def _place(self, arrays: dict[tuple[str, int], Array]) -> None:
        """Collapse outer and inner axes, and make all arrays arguments."""
        outer, space = self.op.outer, self.staging.space
        strides = [a.strides for a in arrays.values()]
        lead = collapsed(space[:outer], [s[:outer] for s in strides])
        body = collapsed(space[outer:], [s[outer:] for s in strides])
        self.lead, self.body = lead.shape, body.shape
        self._divide(arrays.values())
        for (what, k), a, o, i in zip(arrays, arrays.values(), lead.strides, body.strides, strict=True):
            place = self._placed(what, k, a)
            if place is not None:
                self.placed[what, k] = Strided(place, o, i)
        for row, host in self.hosts.items():
            self.placed["result", row] = self.placed["result", host]

    def _placed(self, what: str, k: int, a: Array) -> Pointer | Counted | None:
        """Place of an array for the part of the loop that a call runs; None where each part has its own result."""
        kernel, share, staging = self.kernel, self.kernel.share, self.staging
        if what == "operand":
            return kernel.operand(a)
        if share is None:
            return kernel.write(a)
        if what == "column":
            rows = self.columns[k]
            return kernel.write(a).moved(share.part * kernel.length(rows.strides[0]))
        if staging.is_total(k) or staging.is_column(k):
            return None
        place = kernel.write(a)
        if staging.results[k][1].stored:
            return place
        *shape, n = (kernel.length(length) for length in staging.space[self.op.outer :])
        size = n + LINE // item_size(a.dtype)
        for m in shape:
            size = size * m
        return place.moved(share.slot * size)

    # --- threads -----------------------------------------------------------------------------------------------------

    def _may_be_divided(self) -> bool:
        """Whether threads could share the loop: where elements are scattered, if that is all, and they are added."""
        results = [r for _, r in self.staging.results]
        if self.site.threads == 1 or all(r.into is None for r in results):
            return self.site.threads > 1
        into = [r for r in results if r.into is not None]
        is_row = self.staging.rank == len(self.op.stages) == 1
        return is_row and all(
            r.fn is not None and REDUCTIONS[r.fn].is_sum and is_float(self.site.inputs[r.into].dtype)
            for r in into
            if r.into is not None
        )

    def _divide(self, arrays: Iterable[Array]) -> None:
        """Let threads share the loop along the outer axes, or along all of a loop that has one stage."""
        staging, stages = self.staging, self.op.stages
        results = [r for _, r in staging.results]
        ends = (j for j, r in enumerate(results) if r.fn is not None and r.into is None)
        is_whole = len(stages) == 1 and all(map(staging.is_total, ends))
        if not self._may_be_divided() or not (self.lead or is_whole):
            return
        inner = [stage.program for s, stage in enumerate(stages) if staging.is_inner(s)]
        programs = [(program.nodes, [t.dtype for t in program.types]) for program in inner]
        moved = [a.dtype for a in arrays if not all(map(is_zero, a.strides))]
        small = [count(self.stored[j].shape) for j, r in enumerate(results) if r.into is not None and j in self.stored]
        self.site.divide(self.kernel, (*self.lead, *self.body), programs, moved, small)

    def total_place(self, j: int, fold: Fold) -> Pointer:
        """Place of a reduction over all axes, or of what a part has met, to be joined after all parts."""
        share = self.kernel.share
        if share is None:
            place: Pointer = self.placed["result", j].place
            return place
        memory = self.site.temporary(fold.working, (share.most,))
        self.joins.append(lambda: join_totals(self.site, fold.fn, fold.dtype, memory, share.parts, self.stored[j]))
        return self.kernel.write(memory).moved(share.part)

    def column_place(self, j: int, column: Column) -> Pointer | None:
        """Place of a reduction over the outer axes; None: what a part has met is joined after all parts."""
        share = self.kernel.share
        if share is None:
            place: Pointer = self.placed["result", j].place
            return place
        self.joins.append(lambda: join_columns(self.site, column, self.columns[j], share.parts, self.stored[j]))
        return None

    def scattered(self, y: Array) -> Pointer:
        """Place that is scattered into: its own for each part, where there are several."""
        share, kernel = self.kernel.share, self.kernel
        if share is None:
            return kernel.write(y)
        memory = self.site.temporary(y.dtype, (share.most, MOST_SHARED))
        self.joins.append(lambda: join_scattered(self.site, memory, share.parts, y))
        is_alone = share.high - share.low == kernel.length(self.body[-1])
        place = kernel.body.nearer(is_alone, kernel.write(y), kernel.write(memory).moved(share.part * MOST_SHARED))
        with kernel.body.when(~is_alone), kernel.body.loop(0, kernel.length(count(y.shape))) as at:
            kernel.body.store(constant_of(kernel.body, -0.0, y.dtype), place.moved(at))  # to which -0.0 adds as it is
        return place

    # --- the function ------------------------------------------------------------------------------------------------

    def write(self) -> list[Value]:
        """Write the function and call it."""
        arrays = (*self.stored.values(), *self.columns.values())
        kinds, texts = form_of((*self.site.inputs, *arrays))
        once(self.site.forms, self.kernel, ("nest", self.op, self.site.is_part, kinds), texts, self._write)
        self.site.run(self.kernel)
        for join in self.joins:
            join()
        return [self.stored[j] for j, (_, r) in enumerate(self.staging.results) if r.stored]

    def _write(self) -> None:
        """Write the body."""
        self.stages = [StageWriter(self, s) for s in range(len(self.op.stages))]
        self.longest = longest_stage(self)
        for stage in self.stages:
            stage.begin()
        with self.kernel.loops(self.lead, first=True) as outer:
            for stage in self.stages:
                stage.write(outer)
        for stage in self.stages:
            stage.end()
        self.kernel.streams = not any(stage.tables or stage.scattered for stage in self.stages)
