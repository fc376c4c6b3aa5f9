"""Reads and writes at computed positions inside of loops. None leaves its array, whatever the indices are."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.ops.elementwise.arithmetic import add
from tg_native.kernels.dtypes import is_wide_float
from tg_native.kernels.lanes import Lanes, constant, in_all_lanes, lane_of, select
from tg_numba import blocks
from tg_numba.assembly import memory_cell
from tg_numba.blocks import load_one, store_one
from tg_numba.body import body_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array
    from tg_numba.body import Body
    from tg_numba.kernel import Kernel

MOST_INT64: Final = 2**63 - 1


class Whole(NamedTuple):
    """An array that is read or written at positions, which has an element for each of them.

    One without elements becomes another of lengths 1, with a place of its own: a check fails before or after the loop.
    """

    dtype: str
    pointer: str
    lengths: tuple[str, ...]
    strides: tuple[str, ...]


def whole(kernel: Kernel, array: Array, pointer: str) -> Whole:
    """An array, by its pointer in the kernel; before all loops."""
    body = kernel.body
    lengths, strides = (tuple(map(kernel.length, numbers)) for numbers in (array.shape, array.strides))
    unknown = [n for n in lengths if not n.isdecimal() or n == "0"]
    if unknown:
        some = [body.find(f"icmp sgt i64 {n}, 0") for n in unknown]
        there = functools.reduce(lambda a, b: body.find(f"and i1 {a}, {b}"), some)
        place = body.frame(memory_cell(array.dtype))
        body.do(f"store {memory_cell(array.dtype)} zeroinitializer, ptr {place}")
        pointer = body.find(f"select i1 {there}, ptr {pointer}, ptr {place}")
        lengths = tuple(body.find(f"select i1 {there}, i64 {n}, i64 1") for n in lengths)
    return Whole(array.dtype, pointer, lengths, strides)


def last_of(body: Body, lengths: Sequence[str]) -> Lanes:
    """The last position that all of some lengths have, in all lanes."""
    least = functools.reduce(lambda a, b: body.called("llvm.smin.i64", "i64", [("i64", a), ("i64", b)]), lengths)
    return in_all_lanes(Lanes(body, "int64", body.find(f"sub i64 {least}, 1")))


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
    """How many elements from the start positions are; those that are not known to be safe are clamped."""
    body = body_of(at[0])
    total: Lanes | None = None
    for index, length, stride, is_safe in zip(at, array.lengths, array.strides, safe, strict=True):
        if stride == "0":
            continue
        term = index if is_safe else clamped(index, last_of(body, [length]))
        if stride != "1":
            term = term * in_all_lanes(Lanes(body, "int64", stride))
        total = term if total is None else total + term
    return constant(body, 0, "int64") if total is None else total


def gathered(kernel: Kernel, table: Whole, place: Lanes, *, one_by_one: bool = False) -> Elements:
    """The elements of an array at some offsets, which are taken apart anyway where elements are read `one_by_one`."""
    if kernel.body.lanes:
        return blocks.gathered(kernel, table.dtype, table.pointer, place, one_by_one=one_by_one)
    return load_one(kernel, table.dtype, kernel.body.place(memory_cell(table.dtype), table.pointer, place.text))


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
        return self.fn is add and is_wide_float(self.base.dtype)

    def write(self, value: Elements, place: Lanes, mask: str | None) -> None:
        """The values of a block at their offsets, one after the other."""
        if self.kernel.body.lanes:
            self._write_each(value, place, mask)
        else:
            self.put(value, place.text)

    def _write_each(self, value: Elements, place: Lanes, mask: str | None) -> None:
        body = self.kernel.body
        for lane in range(body.lanes):
            if mask is None:
                self._write_lane(value, place, lane)
                continue
            with body.when(body.find(f"extractelement <{body.lanes} x i1> {mask}, i64 {lane}")):
                self._write_lane(value, place, lane)

    def _write_lane(self, value: Elements, place: Lanes, lane: int) -> None:
        one, at = lane_of(value, lane), lane_of(place, lane)
        with self.kernel.body.of(0):
            self.put(one, at.text)

    def put(self, value: Elements, at: str) -> None:
        """A single element at an offset."""
        kernel, dtype = self.kernel, self.base.dtype
        there = kernel.body.place(memory_cell(dtype), self.base.pointer, at)
        if self.rule is not None:
            old: Any = load_one(kernel, dtype, there)
            value = self.rule(self.fn.op, (old, value), dtype)  # type: ignore[assignment]
        store_one(kernel, value, there)
