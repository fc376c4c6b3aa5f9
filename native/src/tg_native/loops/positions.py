"""Reads and writes at computed positions inside of loops. None leaves its array, whatever the indices are."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.ops.reductions import REDUCTIONS
from tg_native.kernels.dtypes import is_wide_float
from tg_native.kernels.index import Condition, Index
from tg_native.kernels.lanes import constant, lane_of, select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

MOST_INT64: Final = 2**63 - 1


class Whole(NamedTuple):
    """An array that is read or written at positions, which has an element for each of them.

    One without elements becomes another of lengths 1, with a place of its own: a check fails before or after the loop.
    """

    place: Pointer
    lengths: tuple[Index, ...]
    strides: tuple[Index, ...]


def whole(kernel: Kernel, array: Array, place: Pointer) -> Whole:
    """An array, by its pointer in the kernel; before all loops."""
    body = kernel.body
    lengths, strides = (tuple(map(kernel.length, numbers)) for numbers in (array.shape, array.strides))
    unknown = [n for n in lengths if not n.known]
    if unknown:
        there = functools.reduce(operator.and_, (n > 0 for n in unknown))
        place = body.nearer(there, place, body.cell(array.dtype))
        lengths = tuple(there.choose(n, 1) for n in lengths)
    return Whole(place, lengths, strides)


def last_of(lengths: Sequence[Index]) -> Lanes:
    """The last position that all of some lengths have, in all lanes."""
    return (functools.reduce(Index.least, lengths) - 1).lanes()


def is_near(index: Lanes, last: Lanes) -> Lanes:
    """Whether indices are positions up to the last one that may be used as they are."""
    return index.to("int64").seen_as("uint64") <= last.seen_as("uint64")


def clamped(index: Lanes, last: Lanes) -> Lanes:
    """An index between 0 and the last one; 0 where that is below 0."""
    index = select(index > last, last, index)
    return select(index < 0, 0, index)


def wrapped(op: Any, index: Lanes, length: Lanes, last: Lanes) -> Lanes:
    """Indices into an axis as positions from its start, up to the last one that may be used."""
    if index.dtype == "uint64":
        index = select(index > MOST_INT64, MOST_INT64, index)
    wide = index.to("int64")
    if op.mode != "clip":
        wide = select(wide < 0, wide + length.to("int64"), wide)
    return clamped(wide, last)


def offset(array: Whole, at: Sequence[Lanes], safe: Sequence[bool]) -> Lanes:
    """Number of elements from the start to positions; those that are not known to be safe are clamped."""
    total: Lanes | None = None
    for index, length, stride, is_safe in zip(at, array.lengths, array.strides, safe, strict=True):
        if stride.known == 0:
            continue
        term = index if is_safe else clamped(index, last_of([length]))
        if stride.known != 1:
            term = term * stride.lanes()
        total = term if total is None else total + term
    return constant(at[0].body, 0, "int64") if total is None else total


def gathered(kernel: Kernel, table: Whole, place: Lanes, *, one_by_one: bool = False) -> Elements:
    """The elements of an array at some offsets, which are taken apart anyway where elements are read `one_by_one`."""
    if kernel.body.lanes:
        return kernel.body.gathered(table.place, place, one_by_one=one_by_one)
    return kernel.body.load(table.place.moved(Index(place)))


# --- writes ----------------------------------------------------------------------------------------------------------


class Scattering(NamedTuple):
    """Values that are combined into an array by `fn`, which `rule` computes; None replaces."""

    kernel: Kernel
    base: Whole
    fn: Any
    rule: Rule | None

    @property
    def is_sum(self) -> bool:
        """Whether values may be added to one another first."""
        return self.fn is not None and REDUCTIONS[self.fn].is_sum and is_wide_float(self.dtype)

    @property
    def dtype(self) -> str:
        """Dtype of the array."""
        return self.base.place.dtype

    def write(self, value: Elements, place: Lanes, mask: Lanes | None) -> None:
        """The values of a block at their offsets, one after the other."""
        if self.kernel.body.lanes:
            self._write_each(value, place, mask)
        else:
            self.put(value, Index(place))

    def _write_each(self, value: Elements, place: Lanes, mask: Lanes | None) -> None:
        body = self.kernel.body
        for lane in range(body.lanes):
            if mask is None:
                self._write_lane(value, place, lane)
                continue
            with body.when(Condition(lane_of(mask, lane))):
                self._write_lane(value, place, lane)

    def _write_lane(self, value: Elements, place: Lanes, lane: int) -> None:
        one, at = lane_of(value, lane), lane_of(place, lane)
        with self.kernel.body.of(0):
            self.put(one, Index(at))

    def put(self, value: Elements, at: Index) -> None:
        """A single element at an offset."""
        body, there = self.kernel.body, self.base.place.moved(at)
        if self.rule is not None:
            old: Any = body.load(there)
            value = self.rule(self.fn.op, (old, value), self.dtype)  # type: ignore[assignment]
        body.store(value, there)
