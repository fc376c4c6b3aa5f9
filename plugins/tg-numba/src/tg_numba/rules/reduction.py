"""Reductions. Floating sums take several accumulators in blocks of a row, and blocks are added pairwise.

float32 is summed in double precision. Where the axis that lies densest in memory stays, rows are combined with one
another, those of floating sums in strips of columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.link.values import collapsed, is_one
from tg.ops import reduction as t
from tg.ops.elementwise.arithmetic import add, maximum, minimum
from tg.types.dtypes import is_complex, is_float
from tg_numba import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.link.values import Array, Value
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_numba.site import Site

DEEP: Final = 64  # partial sums: as many as a count has binary digits


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
        if dense and self.body and not is_one(self.body_strides[-1]):
            if not self.sums:
                self._by_columns()
                return "0"
            if len(self.body) == 1 and is_float(self.dtype):
                self._by_strips()
                return "0"
        return self._by_rows()

    def _by_rows(self) -> str:
        nest = self.nest
        indices = nest.loops(self.lead)
        start = nest.place(self.x.pointer, indices, self.lead_strides[0])
        found = self._sum(start) if self.sums else self._extreme(start) or self._one_by_one(start)
        if self.y is not None:
            nest.line(f"{self.y.pointer}[{nest.offset(indices, self.lead_strides[1])}] = {found}")
        nest.close(len(indices))
        return "0" if self.y is not None else found

    def _sum(self, start: str) -> str:
        """A floating sum: rows in blocks, and several rows pairwise."""
        nest, site = self.nest, self.site
        row = site.compiled(rows.sum_row_complex if is_complex(self.dtype) else rows.sum_row)
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
        nest.line(f"{count} = {site.compiled(rows.add_pairwise)}({sums}, {count}, {part})")
        nest.close(len(outer))
        return nest.local(f"{narrow}({site.compiled(rows.total_pairwise)}({sums}, {count}))")

    def _extreme(self, start: str) -> str | None:
        """The maximum or minimum of a row of floats; None for what is none."""
        if not is_float(self.dtype) or len(self.body) != 1 or self.fn not in (maximum, minimum):
            return None
        row = self.site.compiled(rows.max_row if self.fn is maximum else rows.min_row)
        n, s = self.nest.length(self.body[0]), self.nest.length(self.body_strides[0])
        return self.nest.local(f"{row}({start}, {n}, {s})")

    def _by_strips(self) -> None:
        """Floating sums of some columns at a time."""
        nest, y = self.nest, self.y
        assert y is not None
        outer = nest.loops(self.lead[:-1])
        start = nest.place(self.x.pointer, outer, self.lead_strides[0][:-1])
        target = nest.place(y.pointer, outer, self.lead_strides[1][:-1])
        n, rows_, step = (nest.length(v) for v in (self.lead[-1], self.body[0], self.body_strides[0]))
        sums = nest.local(f"at(frame({8 * rows.STRIP}), f64)")
        first = nest.fresh("k")
        nest.open(f"for {first} in range(0, {n}, {rows.STRIP})")
        width = nest.local(f"lesser({rows.STRIP}, {n} - {first})")
        columns = self.site.compiled(rows.sum_columns)
        nest.line(f"{columns}(shift({start}, {first}), {rows_}, {step}, {width}, {sums})")
        index = nest.fresh("k")
        nest.open(f"for {index} in range({width})")
        place = nest.step(f"({first} + {index})", self.lead_strides[1][-1])
        nest.line(f"{target}[{place}] = {nest.word(self.dtype)}({sums}[{index}])")
        nest.close(2 + len(outer))

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
        over = nest.loops(self.body)
        here = nest.place(start, over, self.body_strides)
        index = nest.loop(self.lead[-1])
        old = nest.local(nest.read(self.dtype, target, nest.step(index, step)))
        new = nest.local(nest.read(self.dtype, here, index))
        nest.line(f"{target}[{nest.step(index, step)}] = {self._combined(old, new)}")
        nest.close(1 + len(over) + len(outer))

    def _identity(self) -> str:
        return self.site.unit.literal(t.identity(self.fn, self.dtype), self.dtype)

    def _combined(self, x: str, y: str) -> str:
        return self.site.combine(self.fn, self.dtype, x, y)


def arg_reduce(op: t.ArgReduce, site: Site) -> Value:
    """The first element that none is better than; the first NaN."""
    x = site.memory(site.inputs[0])
    find = site.compiled(_position(op.fn is maximum, x.dtype))
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


def _position(largest: bool, dtype: str) -> Any:
    """The function that finds the place of an extreme."""
    if is_complex(dtype):
        return rows.argmax_complex if largest else rows.argmin_complex
    if is_float(dtype):
        return rows.argmax_floating if largest else rows.argmin_floating
    return rows.argmax if largest else rows.argmin


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
