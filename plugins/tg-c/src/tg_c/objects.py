"""A unit as several objects that compilers make side by side: its loops are shared out, the rest is in the first.

A compiler has one thread. The unit of a Gaussian process's log-density and gradient, 1,500 lines, takes it 0.37 s; as
two objects 0.24 on two processors that are threads of one core. What it reads between the loops takes 25 ms again for
each object. Functions that loops call are shared out as loops are: of ResNet-18's training step they are as long as
the loops, and each object compiled most of them again.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST: Final = 300  # lines of an object
WHOLE: Final = """\
#ifndef TG_LOOP
#define TG_LOOP static __attribute__((noinline))
#endif
#ifdef __clang__
#define TG_PART TG_LOOP
#else
#define TG_PART TG_LOOP __attribute__((optimize("no-tree-vectorize")))
#endif
"""
SHARED: Final = '#define TG_LOOP __attribute__((noinline, visibility("hidden")))\n'
"""What stands before loops: objects know one another's, and have variables that are `TG_ONCE` in common."""


class Loop(NamedTuple):
    """Extent in a unit's text of a loop, or of a function that loops call: its begin, that of its block, its end."""

    start: int
    block: int
    end: int


def count(text: str, loops: Sequence[Loop]) -> int:
    """Of how many objects a unit is made fastest on the processors that this process may use."""
    lines = sum(_lines(text, loops)) + len(loops) - 1 + text.count("\n", loops[-1].end) if loops else 0
    return max(min(_processors(), lines // LEAST, len(loops) + 1), 1)


def divided(text: str, loops: Sequence[Loop], objects: int) -> list[str]:
    """The texts of so many objects: what most lines are is shared out first, each to the object with the fewest."""
    lines = _lines(text, loops)
    held = [text.count("\n", loops[-1].end), *(0 for _ in range(objects - 1))]
    holder: dict[Loop, int] = {}
    for k in sorted(range(len(loops)), key=lambda k: -lines[k]):
        holder[loops[k]] = at = held.index(min(held))
        held[at] += lines[k]
    between = [text[last.end : loop.start] for last, loop in itertools.pairwise((Loop(0, 0, 0), *loops))]
    rest, newline = text[loops[-1].end :], "\n"
    texts: list[str] = []
    for own in range(objects):
        parts = (
            before + (text[loop.start : loop.end] if holder[loop] == own else text[loop.start : loop.block] + ";")
            for before, loop in zip(between, loops, strict=True)
        )
        texts.append(f"{SHARED}{''.join(parts)}{rest if own == 0 else newline}")
    return texts


def _lines(text: str, loops: Sequence[Loop]) -> list[int]:
    return [text.count("\n", loop.start, loop.end) for loop in loops]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
