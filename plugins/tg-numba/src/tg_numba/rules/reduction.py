"""Reductions. Floating sums take several accumulators in blocks of a row, and blocks are added pairwise.

float32 is summed in double precision. Where the axis that lies densest in memory stays, rows are combined with one
another columns, floating sums apart, which go element by element along the axis that goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numba

from tg.link.values import collapsed, is_one
from tg.ops import reduction as t
from tg.ops.elementwise.arithmetic import add, maximum
from tg.types.dtypes import is_complex, is_float
from tg_numba.machine import at, compiled, frame, lesser, like, pair, parts, shift
from tg_numba.rules.elementwise.arithmetic import before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.link.values import Array, Value
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_numba.site import Site

DEEP: Final = 64  # partial sums: as many as a count has binary digits
BLOCK: Final = 128


@compiled
def sum_block(x: Any, n: Any, s: Any) -> Any:
    """The sum of a few elements, in double precision, by eight accumulators."""
    a = b = c = d = e = f = g = h = 0.0
    whole = n - n % 8
    if s == 1:
        for i in range(0, whole, 8):
            a += x[i]
            b += x[i + 1]
            c += x[i + 2]
            d += x[i + 3]
            e += x[i + 4]
            f += x[i + 5]
            g += x[i + 6]
            h += x[i + 7]
    else:
        for i in range(0, whole, 8):
            p = shift(x, i * s)
            a += p[0]
            b += p[s]
            c += p[2 * s]
            d += p[3 * s]
            e += p[4 * s]
            f += p[5 * s]
            g += p[6 * s]
            h += p[7 * s]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        total += x[i * s]
    return total


@compiled
def add_pairwise(parts: Any, count: Any, x: Any) -> Any:
    """Add a number to partial sums of equal blocks, of which there are as many as `count` has binary digits."""
    k = 0
    left = count
    while left & 1:
        x += parts[k]
        k += 1
        left >>= 1
    parts[k] = x
    return count + 1


@compiled
def total_pairwise(parts: Any, count: Any) -> Any:
    """The sum of the partial sums."""
    total = like(parts[0], 0)
    k = 0
    while count:
        if count & 1:
            total += parts[k]
        k += 1
        count >>= 1
    return total


@compiled
def sum_row(x: Any, n: Any, s: Any) -> Any:
    """The sum of a row, in double precision."""
    if n <= BLOCK:
        return sum_block(x, n, s)
    sums = at(frame(512), numba.float64)
    count = 0
    start = 0
    while start < n:
        count = add_pairwise(sums, count, sum_block(shift(x, start * s), lesser(BLOCK, n - start), s))
        start += BLOCK
    return total_pairwise(sums, count)


@compiled
def sum_row_complex(x: Any, n: Any, s: Any) -> Any:
    """The sum of a row, in double precision: both parts by themselves."""
    place = parts(x)
    return pair(sum_row(place, n, 2 * s), sum_row(shift(place, 1), n, 2 * s))


def reduce(op: t.Reduce, site: Site) -> Value:
    """Rows where the densest axis goes, columns where it stays."""
    (value,) = site.inputs
    if not op.axes:
        return value
    x = site.memory(value)
    shape = site.types[0].shape
    y = site.allocate(0) if shape else None
    axes = [k + x.ndim for k in op.axes]
    kept = [k for k in range(x.ndim) if k not in axes]
    lead = collapsed([x.shape[k] for k in kept], [[x.strides[k] for k in kept], y.strides if y else ()])
    axes.sort(key=lambda k: is_one(x.strides[k]) and not is_one(x.shape[k]))  # the densest innermost
    body = collapsed([x.shape[k] for k in axes], [[x.strides[k] for k in axes]])
    nest = _Reduction(op.fn, site, x, y, lead.shape, lead.strides, body.shape, body.strides[0])
    found = site.call(nest.nest, nest.write())
    return y if y is not None else site.scalar(found)


class _Reduction:
    """The loop nest of one reduction: `lead` axes stay, `body` axes go."""

    def __init__(
        self,
        fn: Any,
        site: Site,
        x: Array,
        y: Array | None,
        lead: Sequence[int | Length],
        lead_strides: Sequence[Sequence[int | Length]],
        body: Sequence[int | Length],
        body_strides: Sequence[int | Length],
    ) -> None:
        self.fn, self.site, self.x, self.y, self.dtype = fn, site, x, y, x.dtype
        self.lead, self.lead_strides, self.body, self.body_strides = lead, lead_strides, body, body_strides
        self.nest = site.nest()
        self.sums = fn is add and (is_float(x.dtype) or is_complex(x.dtype))

    def write(self) -> str:
        """Choose the form and write it; the expression of the result if nothing stays."""
        dense = bool(self.lead) and is_one(self.lead_strides[0][-1])
        if dense and self.body and not is_one(self.body_strides[-1]) and not self.sums:
            self._by_columns()
            return "0"
        return self._by_rows()

    def _by_rows(self) -> str:
        nest = self.nest
        indices = nest.loops(self.lead)
        start = nest.place(self.x.pointer, indices, self.lead_strides[0])
        found = self._sum(start) if self.sums else self._one_by_one(start)
        if self.y is not None:
            nest.line(f"{self.y.pointer}[{nest.offset(indices, self.lead_strides[1])}] = {found}")
        nest.close(len(indices))
        return "0" if self.y is not None else found

    def _sum(self, start: str) -> str:
        """A floating sum: rows in blocks, and several rows pairwise."""
        nest, site = self.nest, self.site
        row = site.compiled(sum_row_complex if is_complex(self.dtype) else sum_row)
        n, s = (self.body[-1], self.body_strides[-1]) if self.body else (1, 1)
        narrow = nest.word(self.dtype)
        if len(self.body) <= 1:
            return nest.local(f"{narrow}({row}({start}, {nest.length(n)}, {nest.length(s)}))")
        word = "c128" if is_complex(self.dtype) else "f64"
        sums = nest.local(f"at(frame({16 * DEEP}), {word})")
        count = nest.fresh("e")
        nest.line(f"{count} = 0")
        outer = nest.loops(self.body[:-1])
        inner = nest.place(start, outer, self.body_strides[:-1])
        part = f"{row}({inner}, {nest.length(n)}, {nest.length(s)})"
        nest.line(f"{count} = {site.compiled(add_pairwise)}({sums}, {count}, {part})")
        nest.close(len(outer))
        return nest.local(f"{narrow}({site.compiled(total_pairwise)}({sums}, {count}))")

    def _one_by_one(self, start: str) -> str:
        nest = self.nest
        total = nest.local(self._identity())
        inner = nest.loops(self.body)
        element = nest.local(nest.read(self.dtype, start, nest.offset(inner, self.body_strides)))
        nest.line(f"{total} = {self._combined(total, element)}")
        nest.close(len(inner))
        return total

    def _by_columns(self) -> None:
        """The first row copied (or the identity, if there is none), then the others combined into it."""
        nest, y = self.nest, self.y
        assert y is not None
        outer = nest.loops(self.lead[:-1])
        start = nest.place(self.x.pointer, outer, self.lead_strides[0][:-1])
        target = nest.place(y.pointer, outer, self.lead_strides[1][:-1])
        step = self.lead_strides[1][-1]
        index = nest.loop(self.lead[-1])
        nest.line(f"{target}[{nest.step(index, step)}] = {self._identity()}")
        nest.close()
        rows = nest.loops(self.body)
        here = nest.place(start, rows, self.body_strides)
        index = nest.loop(self.lead[-1])
        old = nest.local(nest.read(self.dtype, target, nest.step(index, step)))
        new = nest.local(nest.read(self.dtype, here, index))
        nest.line(f"{target}[{nest.step(index, step)}] = {self._combined(old, new)}")
        nest.close(1 + len(rows) + len(outer))

    def _identity(self) -> str:
        return self.site.unit.literal(t.identity(self.fn, self.dtype), self.dtype)

    def _combined(self, x: str, y: str) -> str:
        return self.site.combine(self.fn, self.dtype, x, y)


@compiled
def argmax(x: Any, n: Any, s: Any) -> Any:
    """The place of the first NaN, else of the first largest element; 0 if there is none."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if element > x[best * s]:
            best = i
    return best


@compiled
def argmin(x: Any, n: Any, s: Any) -> Any:
    """The place of the first NaN, else of the first least element; 0 if there is none."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if element < x[best * s]:
            best = i
    return best


@compiled
def argmax_complex(x: Any, n: Any, s: Any) -> Any:
    """As `argmax`, by the order of complex numbers."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if before(x[best * s], element):
            best = i
    return best


@compiled
def argmin_complex(x: Any, n: Any, s: Any) -> Any:
    """As `argmin`, by the order of complex numbers."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if before(element, x[best * s]):
            best = i
    return best


def arg_reduce(op: t.ArgReduce, site: Site) -> Value:
    """The first element that none is better than; the first NaN."""
    x = site.memory(site.inputs[0])
    largest, least = (argmax_complex, argmin_complex) if is_complex(x.dtype) else (argmax, argmin)
    find = site.compiled(largest if op.fn is maximum else least)
    kept = [k for k in range(x.ndim) if k - x.ndim != op.axis]
    n, s = x.shape[op.axis], x.strides[op.axis]
    if not kept:
        return site.scalar(f"{find}({x.pointer}, {site.length(n)}, {site.length(s)})")
    y = site.allocate(0)
    lead = collapsed([x.shape[k] for k in kept], [[x.strides[k] for k in kept], y.strides])
    nest = site.nest()
    indices = nest.loops(lead.shape)
    start = nest.place(x.pointer, indices, lead.strides[0])
    found = f"{find}({start}, {nest.length(n)}, {nest.length(s)})"
    nest.line(f"{y.pointer}[{nest.offset(indices, lead.strides[1])}] = {found}")
    site.call(nest)
    return y


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
