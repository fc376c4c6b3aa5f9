"""The clock of modules that take the time of their parts, in LLVM's language.

What takes time is a call of a loop, of another function, or of what takes memory.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, final

from tg_native.graphs import ticks as graphs
from tg_native.graphs.ticks import WORDS

if TYPE_CHECKING:
    from tg_numba.body import Body

TABLE: Final = '@"tg.ticks"'
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
  %place = add i64 %words, 2
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
  %place = add i64 %words, 3
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
class Ticks(graphs.Ticks):
    """The parts of a module in the making."""

    head = 2

    def addresses(self) -> dict[str, int]:
        """The address of the table, by the name that code has for it."""
        return {"tg.ticks": self.table.ctypes.data}

    def takes_time(self, line: str) -> bool:
        return WORK.search(line) is not None

    def entered(self, name: str, part: int) -> str:
        return f"  %{name} = call i64 @tick_enter(ptr {TABLE}, i64 {part})"

    def left(self, name: str) -> str:
        return f"  %{name}.end = call i64 @tick_change(ptr {TABLE}, i64 %{name})"

    def begin(self, body: Body) -> list[str]:
        """The lines with which the clock starts."""
        body.module.declare("clock_gettime", "i32", ("i32", "ptr"))
        body.module.define("tick_begin", CLOCK)
        return [f"  call void @tick_begin(ptr {TABLE})"]

    def end(self, body: Body) -> None:
        """Stop it."""
        body.made(f"call i64 @tick_change(ptr {TABLE}, i64 0)")
