"""Where extremes are: the best element so far and its position go through an axis together, in lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.elementwise.arithmetic import maximum, minimum
from tg.ops.reduction import identity
from tg.types.dtypes import is_complex, is_float
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.lanes import Lanes, Pair, constant_of, in_all_lanes, lane_of, of_parts, parts, select
from tg_native.plan.values import is_one
from tg_numba.blocks import load, store, store_one
from tg_numba.folds import halves
from tg_numba.kernel import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Space
    from tg_numba.body import Body
    from tg_numba.kernel import Kernel

    Values = Sequence[tuple[str, str]]  # types and operands: of what is best, then of its position


class Extreme(NamedTuple):
    """The first element that none is better than; the first NaN."""

    body: Body
    dtype: str
    largest: bool

    def begin(self) -> Values:
        """Before the first element: what nothing is worse than, at position 0."""
        fn = maximum if self.largest else minimum
        if is_complex(self.dtype):
            worst = complex(*[identity(fn, PARTS[self.dtype])] * 2)
        else:
            worst = identity(fn, self.dtype)
        start = constant_of(self.body, 0, "int64")
        return [part.operand for part in parts([constant_of(self.body, worst, self.dtype), start])]

    def taken(self, last: Sequence[str], value: Elements, at: Lanes, mask: str | None = None) -> list[str]:
        """The next best and its position, by elements at a position; those outside of a mask do not count."""
        best, place = self._given(last)
        goes = self._is_better(value, best)
        if mask is not None:
            goes = goes & Lanes(self.body, "bool", mask)
        return self._chosen(goes, (value, best), (at, place))

    def across(self, last: Sequence[str]) -> Lanes:
        """The position of the best in all lanes, each of which began with its own number: a single element."""
        body = self.body
        best, place = self._given(last)
        if body.lanes:
            own = ", ".join(f"i64 {k}" for k in range(body.lanes))
            place = Lanes(body, "int64", body.find(f"add {place.kind} {place.text}, <{own}>"))
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

    def _given(self, texts: Sequence[str]) -> tuple[Elements, Lanes]:
        *best, place = texts
        return of_parts(self.body, self.dtype, best), Lanes(self.body, "int64", place)

    def _chosen(self, goes: Lanes, values: tuple[Any, Any], places: tuple[Any, Any]) -> list[str]:
        return [part.text for part in parts([select(goes, *values), select(goes, *places)])]

    def _is_better(self, x: Any, y: Any) -> Lanes:
        """Whether x is to be preferred to y: NaN to all else, complex numbers by the real parts first."""
        if isinstance(x, Pair):
            order: Lanes = self._beyond(x.real, y.real) | ((x.real == y.real) & self._beyond(x.imag, y.imag))
        else:
            order = self._beyond(x, y)
        if not (is_complex(self.dtype) or is_float(self.dtype)):
            return order
        found: Lanes = (order | x.is_nan()) & ~y.is_nan()
        return found

    def _beyond(self, x: Lanes, y: Lanes) -> Lanes:
        return x > y if self.largest else x < y


def by_rows(kernel: Kernel, extreme: Extreme, axis: Space, lead: Space, source: str, target: str) -> None:
    """Lanes along the axis that is searched, which is the only one of `axis`."""
    (length,), step = axis.shape, axis.strides[0][0]
    body, n = kernel.body, kernel.length(length)
    whole = body.find(f"and i64 {n}, {-body.lanes}")
    with kernel.loops(lead.shape) as indices:
        row = kernel.moved((extreme.dtype, source), indices, lead.strides[0])

        def taken(block: Block, texts: Sequence[str]) -> list[str]:
            at = in_all_lanes(Lanes(body, "int64", block.first))
            return extreme.taken(texts, load(kernel, extreme.dtype, row, step, block), at, block.mask)

        first = extreme.begin()
        found = body.fold("0", whole, body.lanes, first, lambda at, *texts: taken(Block(at), texts))
        next_ = [(kind, text) for (kind, _), text in zip(first, found, strict=True)]
        found = body.fold(whole, n, body.lanes, next_, lambda at, *texts: taken(kernel.partial(at, n), texts))
        place = extreme.across(found)
        with body.of(0):
            store_one(kernel, place, kernel.moved(("int64", target), indices, lead.strides[1]))


def by_columns(kernel: Kernel, extreme: Extreme, axis: Space, lead: Space, source: str, target: str) -> None:
    """Lanes along the innermost of the axes that stay."""
    (length,), step = axis.shape, axis.strides[0][0]
    body, n = kernel.body, kernel.length(length)
    with kernel.loops(lead.shape[:-1]) as indices:
        start = kernel.moved((extreme.dtype, source), indices, lead.strides[0][:-1])
        result = kernel.moved(("int64", target), indices, lead.strides[1][:-1])

        def columns(block: Block) -> None:
            def taken(at: str, *texts: str) -> list[str]:
                row = kernel.moved((extreme.dtype, start), [at], [step])
                place = in_all_lanes(Lanes(body, "int64", at))
                return extreme.taken(texts, load(kernel, extreme.dtype, row, 1, block), place)

            *_, place = body.fold("0", n, 1, extreme.begin(), taken)
            store(kernel, Lanes(body, "int64", place), result, 1, block)

        kernel.blocks(lead.shape[-1], columns, twice=True)


def are_columns(axis: Space, lead: Space) -> bool:
    """Whether elements are denser along the innermost of the axes that stay."""
    dense = bool(lead.shape) and is_one(lead.strides[0][-1]) and is_one(lead.strides[1][-1])
    return dense and not is_one(axis.strides[0][0])
