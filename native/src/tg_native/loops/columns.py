"""Reductions over the outer axes of a loop: each row of values is combined, in memory, with what the rows before gave.

Floating sums of columns are rows of several levels in double precision. After `CHUNK` rows a level is added to the next
one, so the error of n terms is at most CHUNK · ⌈log(n) / log(CHUNK)⌉ · eps · Σ|x|, up to CHUNK ** LEVELS terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.ops.reductions import REDUCTIONS
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant_of, select
from tg_native.loops.costs import CHUNK, LEVELS
from tg_native.loops.folds import combined, is_floating_sum, narrow, wide, working_dtype
from tg_native.plan.values import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.fusion.loop import Result
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array


def rows(site: Site, result: Result, dtype: str, inner: Sequence[int | Length], parts: int) -> Array:
    """Memory for the rows of a reduction of elements of a dtype over the outer axes, all levels one after the other.

    Each of so many parts of the loop has its own, if threads share it.
    """
    levels = LEVELS if is_floating_sum(result.fn, dtype) else 1
    return site.temporary(working_dtype(result.fn, dtype), (parts, levels, count(inner)))


@final
class Column:
    """One reduction over the outer axes, of elements of `dtype`."""

    def __init__(
        self, kernel: Kernel, fn: Any, rule: Rule, dtype: str, memory: Pointer, inner: Sequence[int | Length]
    ) -> None:
        """Prepare it for as many lanes as the body has; `memory` points to the rows, which are over the inner axes."""
        self.kernel, self.fn, self.rule, self.dtype, self.memory = kernel, fn, rule, dtype, memory
        self.working = working_dtype(fn, dtype)
        self.sums = is_floating_sum(fn, dtype)
        self.length = count(inner)
        with kernel.body.of(0):
            self._rows = kernel.body.variable("int64")

    @property
    def none(self) -> Elements:
        """The identity element of the reduction."""
        return constant_of(self.kernel.body, REDUCTIONS[self.fn].identity(self.working), self.working)

    def begin(self) -> None:
        """Before all rows."""
        body = self.kernel.body
        self._rows.set(index(body, 0).value)
        self.kernel.blocks(self.length, lambda block: self.kernel.store(self.none, self.memory, 1, block))

    def take(self, value: Elements, place: Pointer, block: Block) -> None:
        """Combine the values of a block with those at the same place of the rows before."""
        body = self.kernel.body
        width = body.width_of(PARTS.get(self.working, self.working))
        value = wide(value, self.working, width)
        with body.of(width):
            before = self.kernel.load(place, 1, block)
            total = combined(self.rule, self.fn, before, value)
            self.kernel.store(total, place, 1, block)

    def end_row(self) -> None:
        """After each row: full levels are added to the next ones."""
        if self.sums:
            met = Index(self._rows.get()) + 1
            self._rows.set(met.value)
            self._add_levels(met, 1)

    def _add_levels(self, met: Index, level: int) -> None:
        """Add the level below to a level, if that is due, and that level to the next one."""
        kernel, least = self.kernel, CHUNK**level
        if level == LEVELS:
            return
        with kernel.body.when((met & (least - 1)) == 0):
            here, there = self._level(level - 1), self._level(level)
            is_reached = (met != least).lanes()

            def add(block: Block) -> None:
                below = kernel.load(here, 1, block)
                above = _if(is_reached, kernel.load(there, 1, block))
                total = combined(self.rule, self.fn, above, below)
                kernel.store(total, there, 1, block)
                kernel.store(self.none, here, 1, block)

            kernel.blocks(self.length, add)
            self._add_levels(met, level + 1)

    def _level(self, level: int) -> Pointer:
        """Place of the row of a level."""
        return self.memory.moved(self.kernel.length(self.length) * level)

    def end(self, target: Pointer | None) -> None:
        """After all rows: the results are stored, or, without a target, left in the first level to be joined."""
        kernel = self.kernel
        met = Index(self._rows.get())
        levels = range(1, LEVELS) if self.sums else ()
        above = [(self._level(k), (met >= CHUNK**k).lanes()) for k in levels]

        def finish(block: Block) -> None:
            total = kernel.load(self.memory, 1, block)
            for place, is_reached in above:
                more = _if(is_reached, kernel.load(place, 1, block))
                total = combined(self.rule, self.fn, total, more)
            if target is None:
                kernel.store(total, self.memory, 1, block)
            else:
                kernel.store(narrow(total, self.dtype), target, 1, block)

        kernel.blocks(self.length, finish)


def _if(condition: Lanes, value: Elements) -> Elements:
    """The elements if a condition holds, else 0."""
    return select(condition, value, constant_of(value.body, 0, value.dtype))
