"""Reductions over the outer axes of a loop: each row of values is combined, in memory, with what the rows before gave.

Floating sums of columns are rows of several levels in double precision. After `CHUNK` rows a level is added to the next
one, so the error of n terms is at most CHUNK · ⌈log(n) / log(CHUNK)⌉ · eps · Σ|x|, up to CHUNK ** LEVELS terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops.reduction import identity
from tg_native.kernels.lanes import Lanes, Pair, constant_of
from tg_native.plan.values import count
from tg_numba.blocks import load, store
from tg_numba.body import body_of
from tg_numba.folds import CHUNK, is_floating_sum, narrow, wide, working_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.fusion.loop import Result
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array
    from tg_numba.kernel import Block, Kernel
    from tg_numba.site import Site

LEVELS: Final = 4


def rows(site: Site, result: Result, dtype: str, inner: Sequence[int | Length]) -> Array:
    """Memory for the rows of a reduction of elements of a dtype over the outer axes, all levels one after the other."""
    levels = LEVELS if is_floating_sum(result.fn, dtype) else 1
    return site.temporary(working_dtype(result.fn, dtype), (levels, count(inner)))


@final
class Column:
    """One reduction over the outer axes, of elements of `dtype`."""

    def __init__(
        self, kernel: Kernel, fn: Any, rule: Rule, dtype: str, memory: str, inner: Sequence[int | Length]
    ) -> None:
        """Prepare it for as many lanes as the body has; `memory` points to the rows, which are over the inner axes."""
        self.kernel, self.fn, self.rule, self.dtype, self.memory = kernel, fn, rule, dtype, memory
        self.working = working_dtype(fn, dtype)
        self.sums = is_floating_sum(fn, dtype)
        self.length = count(inner)
        self._rows = kernel.body.frame("i64")

    def begin(self) -> None:
        """Before all rows."""
        body = self.kernel.body
        body.do(f"store i64 0, ptr {self._rows}")
        none = constant_of(body, identity(self.fn, self.working), self.working)
        self.kernel.blocks(self.length, lambda block: store(self.kernel, none, self.memory, 1, block))

    def take(self, value: Elements, pointer: str, block: Block) -> None:
        """Combine the values of a block with those at the same place of the rows before."""
        before = load(self.kernel, self.working, pointer, 1, block)
        found: Any = self.rule(self.fn.op, (before, wide(value, self.working)), self.working)
        store(self.kernel, found, pointer, 1, block)

    def end_row(self) -> None:
        """After each row: full levels are added to the next ones."""
        if self.sums:
            body = self.kernel.body
            met = body.find(f"add i64 {body.made(f'load i64, ptr {self._rows}')}, 1")
            body.do(f"store i64 {met}, ptr {self._rows}")
            self._add_levels(met, 1)

    def _add_levels(self, met: str, level: int) -> None:
        """Add the level below to a level, if that is due, and that level to the next one."""
        body, kernel, least = self.kernel.body, self.kernel, CHUNK**level
        if level == LEVELS:
            return
        with body.when(body.find(f"icmp eq i64 {body.find(f'and i64 {met}, {least - 1}')}, 0")):
            here, there = self._level(level - 1), self._level(level)
            is_reached = body.find(f"icmp ne i64 {met}, {least}")

            def add(block: Block) -> None:
                below = load(kernel, self.working, here, 1, block)
                above = _if(is_reached, load(kernel, self.working, there, 1, block))
                found: Any = self.rule(self.fn.op, (above, below), self.working)
                store(kernel, found, there, 1, block)
                store(kernel, constant_of(body, identity(self.fn, self.working), self.working), here, 1, block)

            kernel.blocks(self.length, add)
            self._add_levels(met, level + 1)

    def _level(self, level: int) -> str:
        """Where the row of a level is."""
        start = self.kernel.body.product(self.kernel.length(self.length), str(level))
        return self.kernel.moved((self.working, self.memory), [start], [1])

    def end(self, target: str) -> None:
        """After all rows: the results are stored."""
        kernel, body = self.kernel, self.kernel.body
        met = body.made(f"load i64, ptr {self._rows}")
        levels = range(1, LEVELS) if self.sums else ()
        above = [(self._level(k), body.find(f"icmp sge i64 {met}, {CHUNK**k}")) for k in levels]

        def finish(block: Block) -> None:
            found: Any = load(kernel, self.working, self.memory, 1, block)
            for place, is_reached in above:
                more = _if(is_reached, load(kernel, self.working, place, 1, block))
                found = self.rule(self.fn.op, (found, more), self.working)
            store(kernel, narrow(found, self.dtype), target, 1, block)

        kernel.blocks(self.length, finish)


def _if(condition: str, value: Elements) -> Elements:
    """The elements if a condition holds that is one for all lanes, else 0."""
    if isinstance(value, Pair):
        return Pair(*(_if(condition, part) for part in value))  # type: ignore[arg-type]
    kind = value.kind
    text = body_of(value).find(f"select i1 {condition}, {kind} {value.text}, {kind} zeroinitializer")
    return Lanes(value.body, value.dtype, text)
