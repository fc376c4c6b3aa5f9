"""The clock of units that take the time of their parts, in C."""

from __future__ import annotations

import time
from typing import Final, final

from tg_native.graphs import ticks as graphs
from tg_native.graphs.ticks import WORDS

DECLARATIONS: Final = f"""\
struct tg_moment {{ long seconds, nanoseconds; }};
int clock_gettime(int, struct tg_moment *);
static i64 *tg_ticks;
static i64 tg_change(i64 part) {{
  struct tg_moment now;
  clock_gettime({time.CLOCK_MONOTONIC}, &now);
  const i64 moment = now.seconds * 1000000000LL + now.nanoseconds, before = tg_ticks[1];
  tg_ticks[4 + {WORDS} * before] += moment - tg_ticks[0];
  tg_ticks[0] = moment;
  tg_ticks[1] = part;
  return before;
}}
static i64 tg_enter(i64 part) {{
  tg_ticks[5 + {WORDS} * part]++;
  return tg_change(part);
}}
static void tg_begin(const void *const *data) {{
  struct tg_moment now;
  tg_ticks = (i64 *)data[0];
  clock_gettime({time.CLOCK_MONOTONIC}, &now);
  tg_ticks[0] = now.seconds * 1000000000LL + now.nanoseconds;
  tg_ticks[1] = 0;
}}
/* The word before the base of a block has its size. */
static void *tg_take_counted(i64 size) {{
  void *start = tg_take(size);
  if (start && tg_ticks) {{
    ((i64 *)start)[-2] = size;
    tg_ticks[2] += size;
    if (tg_ticks[2] > tg_ticks[3]) tg_ticks[3] = tg_ticks[2];
  }}
  return start;
}}
static void tg_drop_counted(void *start) {{
  if (start && tg_ticks) tg_ticks[2] -= ((i64 *)start)[-2];
  tg_drop(start);
}}
#define tg_take tg_take_counted
#define tg_drop tg_drop_counted
"""


@final
class Ticks(graphs.Ticks):
    """The parts of a unit in the making."""

    head = 4  # of the others, one counts the bytes alive, and one the most of them
    begin = "tg_begin(data);"
    end = "tg_change(0);"

    def takes_time(self, line: str) -> bool:
        return not line.startswith("const ")

    def entered(self, name: str, part: int) -> str:
        return f"const i64 {name} = tg_enter({part});"

    def left(self, name: str) -> str:
        return f"tg_change({name});"

    @property
    def peak(self) -> int | None:
        return int(self.table[3])
