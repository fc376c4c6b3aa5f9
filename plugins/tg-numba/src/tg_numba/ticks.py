"""Modules that take the time of their parts: what `f.profile` compiles, beside the ordinary module that stays as it is.

A part is a node that calls a loop or another function, or that takes memory. At any moment one part is running;
where a node begins and ends, the clock is read and the part changes, so that a node inside an inner graph takes its
time from the node that calls the graph.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, final

import numpy as np

from tg.link.timed import Part, Reading, Timed, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Executable
    from tg_numba.body import Body

HEAD: Final = 2  # words of the table before those of the parts: when, and which part
WORDS: Final = 2  # of each part: nanoseconds, how often it ran
MOST: Final = 1 << 16  # parts: the table must be there before they are counted
WORK: Final = re.compile(r"\bcall .*@(?!llvm\.)")

CLOCK: Final = f"""
define internal i64 @tick_now() {{
  %moment = alloca [2 x i64]
  %read = call i32 @clock_gettime(i32 {getattr(time, "CLOCK_MONOTONIC", 1)}, ptr %moment)
  %rest_at = getelementptr i64, ptr %moment, i64 1
  %seconds = load i64, ptr %moment
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}
define internal void @tick_begin(ptr %table) {{
  %now = call i64 @tick_now()
  %which = getelementptr i64, ptr %table, i64 1
  store i64 %now, ptr %table
  store i64 0, ptr %which
  ret void
}}
define internal i64 @tick_change(ptr %table, i64 %part) {{
  %now = call i64 @tick_now()
  %which = getelementptr i64, ptr %table, i64 1
  %before = load i64, ptr %which
  %words = mul i64 %before, {WORDS}
  %place = add i64 %words, {HEAD}
  %spent_at = getelementptr i64, ptr %table, i64 %place
  %since = load i64, ptr %table
  %spent = load i64, ptr %spent_at
  %more = sub i64 %now, %since
  %all = add i64 %spent, %more
  store i64 %all, ptr %spent_at
  store i64 %now, ptr %table
  store i64 %part, ptr %which
  ret i64 %before
}}
define internal i64 @tick_enter(ptr %table, i64 %part) {{
  %words = mul i64 %part, {WORDS}
  %place = add i64 %words, {HEAD + 1}
  %runs_at = getelementptr i64, ptr %table, i64 %place
  %runs = load i64, ptr %runs_at
  %more = add i64 %runs, 1
  store i64 %more, ptr %runs_at
  %before = call i64 @tick_change(ptr %table, i64 %part)
  ret i64 %before
}}
"""
"""The first starts the clock with no part running; the others give the part that ran when another goes on or begins."""


@final
class Ticks:
    """The parts of a module in the making, and the instructions that tell where one begins and ends."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.table = np.zeros(HEAD + WORDS * MOST, np.int64)
        self.address = '@"tg.ticks"'

    def addresses(self) -> dict[str, int]:
        """The address of the table, by the name that code has for it."""
        return {"tg.ticks": self.table.ctypes.data}

    def begin(self, body: Body) -> None:
        """Start the clock."""
        body.module.declare("clock_gettime", "i32", ("i32", "ptr"))
        body.module.define("tick_begin", CLOCK)
        body.do(f"call void @tick_begin(ptr {self.address})")

    def end(self, body: Body) -> None:
        """Stop it."""
        body.made(f"call i64 @tick_change(ptr {self.address}, i64 0)")

    def around(self, body: Body, start: int, graph: FrozenGraph, node: int) -> None:
        """Put the clock around what a node has written, of which `start` is an empty line, if it takes time."""
        lines = body.lines[start + 1 :]
        takes_time = any(line is not None and WORK.search(line) for line in lines)
        if takes_time and len(self.parts) + 1 < MOST:
            self.parts.append(part_of(graph, node))
            body.lines[start] = f"  %around{start} = call i64 @tick_enter(ptr {self.address}, i64 {len(self.parts)})"
            body.made(f"call i64 @tick_change(ptr {self.address}, i64 %around{start})")


@final
class TimedModule(Timed):
    """A module with its table."""

    rest = "scalars, checks, and the call"

    def __init__(self, compile: Callable[[Ticks], Executable]) -> None:
        ticks = Ticks()
        self.executable = compile(ticks)
        self.parts, self._table = tuple(ticks.parts), ticks.table

    def reset(self) -> None:
        self._table[:] = 0

    def read(self) -> Reading:
        counted = self._table[HEAD + WORDS : HEAD + WORDS * (len(self.parts) + 1)].reshape(-1, WORDS)
        seconds, runs = (counted[:, 0] * 1e-9).tolist(), counted[:, 1].tolist()
        return Reading(tuple(seconds), tuple(runs), None)
