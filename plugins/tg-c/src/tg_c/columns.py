"""Reductions over the outer axes of a loop: each row of values is combined, in memory, with what the rows before gave.

Floating sums of columns are float64 rows of several levels. After `CHUNK` rows a level is added to the next one, so
the error of n terms is at most CHUNK · ⌈log(n) / log(CHUNK)⌉ · eps · Σ|x|, up to CHUNK ** LEVELS terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.types.lengths import multiply
from tg_c.ends import is_sum, work_dtype
from tg_c.lanes import Lane
from tg_native.kernels.dtypes import WORDS
from tg_native.loops.costs import CHUNK, LEVELS
from tg_native.plan.values import Scalar, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_c.block import Block, Place
    from tg_c.ends import Accumulator
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_native.fusion.loop import Result
    from tg_native.plan.values import Array

SPARE: Final = 64  # elements: at least as many as a vector has

# Levels that no row has reached yet hold nothing.
ADD_LEVELS: Final = """\
static __attribute__((noinline)) void tg_add_levels(f64 *x, i64 n, u64 rows) {
  u64 least = @CHUNK;
  for (int level = 1; level < @LEVELS && rows % least == 0; level++, x += n, least *= @CHUNK)
    for (i64 i = 0; i < n; i++) {
      x[n + i] = rows == least ? x[i] : x[n + i] + x[i];
      x[i] = 0;
    }
}
static __attribute__((noinline)) void tg_join_levels(f64 *x, i64 n, u64 rows) {
  u64 least = @CHUNK;
  for (int level = 1; level < @LEVELS && rows >= least; level++, least *= @CHUNK)
    for (i64 i = 0; i < n; i++) x[i] += x[level * n + i];
}"""


def rows(site: Site, result: Result, dtype: str, inner: Sequence[int | Length], parts: int) -> Array:
    """Memory for the rows of the parts of a loop, each with room behind it for a vector that begins in its last row."""
    assert result.fn is not None
    levels = LEVELS if is_sum(result.fn, dtype) else 1
    return site.temporary(work_dtype(result.fn, dtype), (parts, multiply(count(inner), levels) + SPARE))


@final
class Column:
    """One reduction over outer axes: the lines that begin, feed and end it."""

    def __init__(self, site: Site, accumulator: Accumulator, rows: str, inner: Sequence[int | Length]) -> None:
        """The reduction that an accumulator describes; `rows` is what the kernel calls its rows over the inner axes."""
        self.kernel: Kernel = accumulator.kernel
        self.site, self.of, self.rows, self.inner = site, accumulator, rows, inner
        self.size, self.met = self.kernel.length(count(inner)), f"rows{accumulator.name}"
        if accumulator.is_sum:
            text = ADD_LEVELS.replace("@CHUNK", str(CHUNK)).replace("@LEVELS", str(LEVELS))
            site.prelude.need("levels", text)

    def begin(self) -> None:
        """Before all rows."""
        self.kernel.loop_to("i", self.size, f"{self.rows}[i] = {self.of.nothing()};")
        if self.of.is_sum:
            self.kernel.line(f"u64 {self.met} = 0;")

    def feed(self, block: Block, place: Place) -> tuple[str, str]:
        """The line that takes in the values of a full block, and that for the last one of a row."""
        to, value = f"{place.pointer} + i", block.values[self.of.number]
        if block.vectors is None:
            line = f"{place.pointer}[i] = {self.of.with_element(f'{place.pointer}[i]', value)};"
            return line, line
        names = ("load", "store", "head", "tail")
        load, store, head, tail = (block.vectors.function(name, self.of.kind) for name in names)
        both, last = self.of.with_lanes("met", value), ""
        whole = f"{{ const {self.of.type} met = {load}({to}); {store}({to}, {both}); }}"
        if block.rest and self.of.is_sum:  # what else the vector has stays as it is
            last = f"{store}({to}, {load}({to}) + {self.of.first_lanes(block, value)});"
        elif block.rest:
            rest = f"1, {block.rest}"
            last = f"{{ const {self.of.type} met = {head}({to}, {rest}); {tail}({to}, {rest}, {both}); }}"
        return whole, last

    def end_row(self) -> None:
        """After each row."""
        if self.of.is_sum:
            self.kernel.line(f"if (!(++{self.met} % {CHUNK})) tg_add_levels({self.rows}, {self.size}, {self.met});")

    def end(self, target: str | None) -> None:
        """After all rows: the results are stored, or if there is no target, left to be joined."""
        if self.of.is_sum:
            self.kernel.line(f"tg_join_levels({self.rows}, {self.size}, {self.met});")
        if target is not None:
            self.kernel.loop_to("i", self.size, f"{target}[i] = {self.of.stored(f'{self.rows}[i]')};")

    def joined(self, parts: Array, number: str, target: Array) -> Kernel:
        """The loop nest that stores the results, from what so many parts have met, in the order of the parts."""
        kernel, kind = self.site.kernel(), WORDS[self.of.work]
        part, y, n = kernel.read(parts), kernel.write(target), kernel.value(Scalar("int64", number))
        stride = kernel.length(parts.strides[0])
        kernel.open(f"for (i64 i = 0; i < {kernel.length(count(self.inner))}; i++)")
        kernel.line(f"{kind} total = {part}[i];")
        met = self.of.with_element("total", Lane(f"{part}[k * {stride} + i]", self.of.work))
        kernel.line(f"for (i64 k = 1; k < {n}; k++) total = {met};")
        kernel.line(f"{y}[i] = {self.of.stored('total')};")
        kernel.close()
        return kernel
