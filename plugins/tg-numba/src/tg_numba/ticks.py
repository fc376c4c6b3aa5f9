"""Modules that take the time of their parts: what `f.profile` compiles, beside the ordinary module that stays as it is.

A part is a node that calls a loop nest or another function, or that takes memory. At any moment one part is running;
where a node begins and ends, the clock is read and the part changes, so that a node inside an inner graph takes its
time from the node that calls the graph.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.link.timed import Part, Reading, Timed, part_of
from tg_numba.native import Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Executable

HEAD: Final = 2  # words of the table before those of the parts: when, and which part
WORDS: Final = 2  # of each part: nanoseconds, how often it ran
MOST: Final = 1 << 16  # parts: the table must be there before they are counted
WORK: Final = re.compile(r"\w\(")
tick_begin, tick_change, tick_enter = map(Word, ("tick_begin", "tick_change", "tick_enter"))


@final
class Ticks:
    """The parts of a module in the making, and the statements that tell where one begins and ends."""

    begin = "tick_begin(TICKS)"
    end = "tick_change(TICKS, 0)"

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.table = np.zeros(HEAD + WORDS * MOST, np.int64)

    @property
    def scope(self) -> dict[str, Any]:
        """What the statements use besides the address of the table."""
        return {"tick_begin": tick_begin, "tick_change": tick_change, "tick_enter": tick_enter}

    def around(self, lines: list[str | None], start: int, graph: FrozenGraph, node: int) -> None:
        """Put the clock around what a node has written, of which `start` is an empty line, if it takes time."""
        takes_time = any(line is not None and WORK.search(line) for line in lines[start:])
        if takes_time and len(self.parts) + 1 < MOST:
            self.parts.append(part_of(graph, node))
            lines[start] = f"around{start} = tick_enter(TICKS, {len(self.parts)})"
            lines.append(f"tick_change(TICKS, around{start})")


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
