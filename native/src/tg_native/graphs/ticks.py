"""Units that take the time of their parts: what `f.profile` compiles, beside the ordinary unit that stays as it is.

A part is a node of which more is left than scalars and pointers: its loops, its call of another function, its memory.
At any moment one part is running; where a node begins and ends, the clock is read and the part changes, so that a node
inside an inner graph takes its time from the node that calls the graph.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, Final, final

import numpy as np

from tg.link.timed import Part, Reading, Timed, part_of

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Executable

WORDS: Final = 2  # of each part in the table: nanoseconds, how often it ran


class Ticks(abc.ABC):
    """The parts of a unit in the making, and the statements that tell where one begins and ends.

    The code counts in a table of int64: `head` words, of which the first two are when a part began, and which one; then
    the words of what is no part, and of each part.
    """

    head: ClassVar[int]

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.table = np.zeros(0, np.int64)

    @abc.abstractmethod
    def takes_time(self, line: str) -> bool:
        """Whether a line of the function of a graph is more than scalars and pointers."""

    @abc.abstractmethod
    def entered(self, name: str, part: int) -> str:
        """The line with which a part begins; `name` is what the part that ran before is called."""

    @abc.abstractmethod
    def left(self, name: str) -> str:
        """The line with which the part that ran before goes on."""

    @property
    def peak(self) -> int | None:
        """The most bytes of intermediate results that were alive at once, if they are counted."""
        return None

    def around(self, lines: list[str | None], start: int, graph: FrozenGraph, node: int) -> None:
        """Put the clock around what a node has written, of which `start` is an empty line, if it takes time."""
        if any(line is not None and self.takes_time(line) for line in lines[start:]):
            self.parts.append(part_of(graph, node))
            lines[start] = self.entered(f"around{start}", len(self.parts))
            lines.append(self.left(f"around{start}"))

    def finish(self) -> np.ndarray:
        """The table of what is counted, when all parts are known."""
        self.table = np.zeros(self.head + WORDS * (len(self.parts) + 1), np.int64)
        return self.table


@final
class TimedUnit(Timed):
    """A unit with its table."""

    rest = "scalars, checks, and the call"
    holds_outputs = False

    def __init__(self, executable: Executable, ticks: Ticks) -> None:
        self.executable, self.parts, self._ticks = executable, tuple(ticks.parts), ticks

    def reset(self) -> None:
        self._ticks.table[:] = 0

    def read(self) -> Reading:
        counted = self._ticks.table[self._ticks.head + WORDS :].reshape(-1, WORDS)
        seconds, runs = (counted[:, 0] * 1e-9).tolist(), counted[:, 1].tolist()
        return Reading(tuple(seconds), tuple(runs), self._ticks.peak)
