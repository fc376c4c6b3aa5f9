"""Running results along an axis: the axes after it go along in the inner loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.ops import cumulative as t
from tg.types.dtypes import is_complex
from tg_native.kernels.lanes import Pair, parts
from tg_native.loops.folds import combined
from tg_native.plan.values import collapsed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Block
    from tg_native.plan.values import Array, Value

FEW_BLOCKS: Final = 6
"""Blocks of columns up to which each runs through all rows.

Sums of 100,000 rows of 3 took 427 µs on C where one row after the other took 1,187; of 10,000 rows of 8 columns, 72 and
121, of 24, 160 and 272, of 32, 423 and 333.
"""


def accumulate(op: t.Accumulate, site: Site) -> Value:
    """y[i] = fn(y[i - 1], x[i])."""
    x = site.memory(site.inputs[0])
    y = site.allocate(0)
    k = x.ndim + op.axis
    if k == x.ndim - 1:
        _along_rows(op, site, x, y)
    else:
        _by_rows(op, site, x, y, k)
    return y


def _along_rows(op: t.Accumulate, site: Site, x: Array, y: Array) -> None:
    """The running result handed on from element to element."""
    kernel, rule = site.kernel(), site.rule(op.fn.op)
    body, source, target, n = kernel.body, kernel.read(x), kernel.write(y), kernel.length(x.shape[-1])
    with kernel.loops(x.shape[:-1]) as outer:
        row = kernel.moved(source, outer, x.strides[:-1])
        result = kernel.moved(target, outer, y.strides[:-1])
        with body.when(n > 0):
            first = body.load(row)
            body.store(first, result)

            def step(at: Index, *last: Lanes) -> list[Lanes]:
                element = body.load(kernel.moved(row, [at], x.strides[-1:]))
                before = Pair(*last) if is_complex(x.dtype) else last[0]
                total = combined(rule, op.fn, before, element)
                body.store(total, kernel.moved(result, [at], y.strides[-1:]))
                return parts([total])

            body.fold(1, n, 1, parts([first]), step)
    site.run(kernel)


def _by_rows(op: t.Accumulate, site: Site, x: Array, y: Array, k: int) -> None:
    """Rows of several elements: few of these are handed on in registers, many are read of the row before."""
    rows = _Rows(op, site, x, y, k)
    kernel, body = rows.kernel, rows.kernel.body
    few, width = FEW_BLOCKS * max(body.lanes, 1), rows.inner[-1]
    with kernel.loops(x.shape[:k]) as outer:
        rows.start(outer)
        with body.when(rows.count > 0):
            if type(width) is int:
                (rows.by_columns if width <= few else rows.one_by_one)()
            else:
                with body.when(kernel.length(width) <= few):
                    rows.by_columns()
                with body.when(kernel.length(width) > few):
                    rows.one_by_one()
    site.run(kernel)


@final
class _Rows:
    """The loop over rows in the making."""

    def __init__(self, op: t.Accumulate, site: Site, x: Array, y: Array, k: int) -> None:
        self.x, self.y, self.k, self.fn = x, y, k, op.fn
        space = collapsed(x.shape[k + 1 :], [x.strides[k + 1 :], y.strides[k + 1 :]])
        self.inner: Sequence[int | Length] = space.shape or (1,)
        self.steps = [s or (1,) for s in space.strides]
        self.kernel, self.rule = site.kernel([x.dtype], length=self.inner[-1]), site.rule(op.fn.op)
        self.source, self.target = self.kernel.read(x), self.kernel.write(y)
        self.count = self.kernel.length(x.shape[k])

    def start(self, outer: Sequence[Index | int]) -> None:
        """The rows at a position along the axes before."""
        self.first = self.kernel.moved(self.source, outer, self.x.strides[: self.k])
        self.result = self.kernel.moved(self.target, outer, self.y.strides[: self.k])

    def _at(self, row: Index | int, indices: Sequence[Index | int]) -> tuple[Pointer, Pointer]:
        """The places of a row, and of its result."""
        pairs = zip((self.first, self.result), (self.x, self.y), self.steps, strict=True)
        here, there = (
            self.kernel.moved(self.kernel.moved(place, [row], a.strides[self.k : self.k + 1]), indices, s[:-1])
            for place, a, s in pairs
        )
        return here, there

    def by_columns(self) -> None:
        """All rows for a block of columns, then for the next one."""
        kernel, body = self.kernel, self.kernel.body
        with kernel.loops(self.inner[:-1]) as indices:

            def column(block: Block) -> None:
                here, there = self._at(0, indices)
                first = kernel.load(here, self.steps[0][-1], block)
                kernel.store(first, there, 1, block)

                def step(row: Index, *last: Lanes) -> list[Lanes]:
                    here, there = self._at(row, indices)
                    value = kernel.load(here, self.steps[0][-1], block)
                    total = combined(self.rule, self.fn, Pair(*last) if is_complex(self.x.dtype) else last[0], value)
                    kernel.store(total, there, 1, block)
                    return parts([total])

                body.fold(1, self.count, 1, parts([first]), step)

            kernel.blocks(self.inner[-1], column, twice=True)

    def one_by_one(self) -> None:
        """A row copied, then each row combined with the one before."""
        self._row(0, combines=False)
        with self.kernel.body.loop(1, self.count) as row:
            self._row(row, combines=True)

    def _row(self, row: Index | int, *, combines: bool) -> None:
        kernel = self.kernel
        with kernel.loops(self.inner[:-1]) as indices:
            here, there = self._at(row, indices)
            last = kernel.moved(there, [-1], self.y.strides[self.k : self.k + 1])

            def block_of(block: Block) -> None:
                value = kernel.load(here, self.steps[0][-1], block)
                if combines:
                    value = combined(self.rule, self.fn, kernel.load(last, 1, block), value)
                kernel.store(value, there, 1, block)

            kernel.blocks(self.inner[-1], block_of)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
