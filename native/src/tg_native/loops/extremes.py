"""Positions of extremes: the best element so far and its position go through an axis together, in lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.elementwise.arithmetic import maximum, minimum
from tg.ops.reductions import REDUCTIONS
from tg.types.dtypes import is_complex, is_float
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.lanes import Pair, constant_of, lane_of, parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.folds import halves
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Routine
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Space


class Extreme(NamedTuple):
    """The first element that none is better than; the first NaN."""

    body: Routine
    dtype: str
    largest: bool

    def begin(self) -> list[Lanes]:
        """Before the first element: what nothing is worse than, at position 0."""
        fn = maximum if self.largest else minimum
        if is_complex(self.dtype):
            worst = complex(*[REDUCTIONS[fn].identity(PARTS[self.dtype])] * 2)
        else:
            worst = REDUCTIONS[fn].identity(self.dtype)
        start = constant_of(self.body, 0, "int64")
        return parts([constant_of(self.body, worst, self.dtype), start])

    def taken(self, last: Sequence[Lanes], value: Elements, at: Lanes, mask: Lanes | None = None) -> list[Lanes]:
        """The next best and its position, by elements at a position; those outside of a mask do not count."""
        best, place = self._given(last)
        goes = self._is_better(value, best)
        if mask is not None:
            goes = goes & mask
        return self._chosen(goes, (value, best), (at, place))

    def across(self, last: Sequence[Lanes]) -> Lanes:
        """The position of the best in all lanes, each of which began with its own number: a single element."""
        body = self.body
        best, place = self._given(last)
        if body.lanes:
            place = place + body.own_numbers()
        return self._narrowed(best, place)

    def _narrowed(self, best: Elements, place: Lanes) -> Lanes:
        """The best of both halves of the lanes, and so on; of equal ones the first."""
        body = self.body
        if body.lanes <= 1:
            return lane_of(place, 0)
        (low, high), places = halves(best), halves(place)
        with body.of(body.lanes // 2):
            first: Any = places[0]
            goes = self._is_better(high, low) | (~self._is_better(low, high) & (places[1] < first))
            return self._narrowed(*self._given(self._chosen(goes, (high, low), (places[1], first))))

    def _given(self, values: Sequence[Lanes]) -> tuple[Elements, Lanes]:
        *best, place = values
        return Pair(*best) if len(best) > 1 else best[0], place

    def _chosen(self, goes: Lanes, values: tuple[Any, Any], places: tuple[Any, Any]) -> list[Lanes]:
        return parts([select(goes, *values), select(goes, *places)])

    def _is_better(self, x: Any, y: Any) -> Lanes:
        """Whether x is to be preferred to y: NaN to all else, complex numbers by the real parts first."""
        if isinstance(x, Pair):
            order: Lanes = self._beyond(x.real, y.real) | ((x.real == y.real) & self._beyond(x.imag, y.imag))
        else:
            order = self._beyond(x, y)
        if not (is_complex(self.dtype) or is_float(self.dtype)):
            return order
        is_better: Lanes = (order | x.is_nan()) & ~y.is_nan()
        return is_better

    def _beyond(self, x: Lanes, y: Lanes) -> Lanes:
        return x > y if self.largest else x < y


def by_rows(kernel: Kernel, extreme: Extreme, axis: Space, lead: Space, source: Pointer, target: Pointer) -> None:
    """Lanes along the axis that is searched, which is the only one of `axis`."""
    (length,), step = axis.shape, axis.strides[0][0]
    body, n = kernel.body, kernel.length(length)
    whole = n & -body.lanes
    with kernel.loops(lead.shape) as indices:
        row = kernel.moved(source, indices, lead.strides[0])

        def taken(block: Block, so_far: Sequence[Lanes]) -> list[Lanes]:
            return extreme.taken(so_far, kernel.load(row, step, block), block.first.lanes(), block.mask)

        best = body.fold(0, whole, body.lanes, extreme.begin(), lambda at, *so_far: taken(Block(at), so_far))
        best = body.fold(whole, n, body.lanes, best, lambda at, *so_far: taken(kernel.partial(at, n), so_far))
        place = extreme.across(best)
        with body.of(0):
            body.store(place, kernel.moved(target, indices, lead.strides[1]))


def by_columns(kernel: Kernel, extreme: Extreme, axis: Space, lead: Space, source: Pointer, target: Pointer) -> None:
    """Lanes along the innermost of the axes that stay."""
    (length,), step = axis.shape, axis.strides[0][0]
    body, n = kernel.body, kernel.length(length)
    with kernel.loops(lead.shape[:-1]) as indices:
        start = kernel.moved(source, indices, lead.strides[0][:-1])
        result = kernel.moved(target, indices, lead.strides[1][:-1])

        def columns(block: Block) -> None:
            def taken(at: Index, *so_far: Lanes) -> list[Lanes]:
                return extreme.taken(so_far, kernel.load(kernel.moved(start, [at], [step]), 1, block), at.lanes())

            *_, place = body.fold(0, n, 1, extreme.begin(), taken)
            kernel.store(place, result, 1, block)

        kernel.blocks(lead.shape[-1], columns, twice=True)


def are_columns(axis: Space, lead: Space) -> bool:
    """Whether elements are denser along the innermost of the axes that stay."""
    dense = bool(lead.shape) and is_one(lead.strides[0][-1]) and is_one(lead.strides[1][-1])
    return dense and not is_one(axis.strides[0][0])
