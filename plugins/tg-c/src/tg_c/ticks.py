"""Units that take the time of their parts: what `f.profile` compiles, beside the ordinary unit that stays as it is.

A part is a node of which more is left than scalars and pointers: its loop nests, its call of another function, its
memory. At any moment one part is running; where a node begins and ends, the clock is read and the part changes, so that
a node inside an inner graph takes its time from the node that calls the graph.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

import numpy as np

from tg.link.timed import Part, Reading, Timed, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Executable

HEAD: Final = 4  # words of the table before those of the parts: when, which part, bytes alive, the most of them
WORDS: Final = 2  # of each part: nanoseconds, how often it ran
DECLARATIONS: Final = f"""\
struct tg_moment {{ long seconds, nanoseconds; }};
int clock_gettime(int, struct tg_moment *);
static i64 *tg_ticks;
static i64 tg_change(i64 part) {{
  struct tg_moment now;
  clock_gettime({time.CLOCK_MONOTONIC}, &now);
  const i64 moment = now.seconds * 1000000000LL + now.nanoseconds, before = tg_ticks[1];
  tg_ticks[{HEAD} + {WORDS} * before] += moment - tg_ticks[0];
  tg_ticks[0] = moment;
  tg_ticks[1] = part;
  return before;
}}
static i64 tg_enter(i64 part) {{
  tg_ticks[{HEAD + 1} + {WORDS} * part]++;
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
class Ticks:
    """The parts of a unit in the making, and the statements that tell where one begins and ends."""

    begin = "tg_begin(data);"
    end = "tg_change(0);"

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.table = np.zeros(0, np.int64)

    def around(self, lines: list[str | None], start: int, graph: FrozenGraph, node: int) -> None:
        """Put the clock around what a node has written, of which `start` is an empty line, if it takes time."""
        if any(line is not None and not line.startswith("const ") for line in lines[start:]):
            self.parts.append(part_of(graph, node))
            lines[start] = f"const i64 around{start} = tg_enter({len(self.parts)});"
            lines.append(f"tg_change(around{start});")

    def finish(self) -> np.ndarray:
        """The table of what is counted: the first argument of the unit besides its inputs."""
        self.table = np.zeros(HEAD + WORDS * (len(self.parts) + 1), np.int64)
        return self.table


@final
class TimedUnit(Timed):
    """A unit with its table."""

    rest = "scalars, checks, and the call"
    holds_outputs = False

    def __init__(self, compile: Callable[[Ticks], Executable]) -> None:
        ticks = Ticks()
        self.executable = compile(ticks)
        self.parts, self._table = tuple(ticks.parts), ticks.table

    def reset(self) -> None:
        self._table[:] = 0

    def read(self) -> Reading:
        counted = self._table[HEAD + WORDS :].reshape(-1, WORDS)
        seconds, runs = (counted[:, 0] * 1e-9).tolist(), counted[:, 1].tolist()
        return Reading(tuple(seconds), tuple(runs), int(self._table[3]))
