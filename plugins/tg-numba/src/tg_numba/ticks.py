"""Modules that take the time of their parts: what `f.profile` compiles, beside the ordinary module that stays as it is.

A part is a node that calls a loop nest or another function, or that takes memory. At any moment one part is running;
where a node begins and ends, the clock is read and the part changes, so that a node inside an inner graph takes its
time from the node that calls the graph.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tg.link.timed import Part, Reading, Timed, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Executable

HEAD: Final = 2  # words of the table before those of the parts: when, and which part
WORDS: Final = 2  # of each part: nanoseconds, how often it ran
MOST: Final = 1 << 16  # parts: the table must be there before they are counted
WORK: Final = re.compile(r"\w\(")
INT: Final = ir.IntType(64)


def _now(builder: Any) -> Any:
    """The nanoseconds of the monotonic clock."""
    moment = cgutils.alloca_once(builder, ir.LiteralStructType([INT, INT]))
    declared = ir.FunctionType(ir.IntType(32), [ir.IntType(32), moment.type])
    function = cgutils.get_or_insert_function(builder.module, declared, "clock_gettime")
    builder.call(function, [ir.IntType(32)(time.CLOCK_MONOTONIC), moment])
    seconds, nanoseconds = (builder.load(cgutils.gep_inbounds(builder, moment, 0, k)) for k in (0, 1))
    return builder.add(builder.mul(seconds, INT(10**9)), nanoseconds)


def _change(builder: Any, table: Any, part: Any) -> Any:
    """Make another part the one that runs; the one that ran."""
    words = builder.inttoptr(table, INT.as_pointer())
    when, which = (builder.gep(words, [INT(k)]) for k in (0, 1))
    now, before = _now(builder), builder.load(which)
    spent = builder.gep(words, [builder.add(INT(HEAD), builder.mul(before, INT(WORDS)))])
    builder.store(builder.add(builder.load(spent), builder.sub(now, builder.load(when))), spent)
    builder.store(now, when)
    builder.store(part, which)
    return before


@intrinsic  # type: ignore[untyped-decorator]
def tick_change(typing: Any, table: Any, part: Any) -> Any:
    """The part that ran, when another goes on."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _change(builder, *arguments)

    return types.int64(types.int64, types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def tick_enter(typing: Any, table: Any, part: Any) -> Any:
    """The part that ran, when another begins."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, part = arguments
        words = builder.inttoptr(table, INT.as_pointer())
        runs = builder.gep(words, [builder.add(INT(HEAD + 1), builder.mul(part, INT(WORDS)))])
        builder.store(builder.add(builder.load(runs), INT(1)), runs)
        return _change(builder, table, part)

    return types.int64(types.int64, types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def tick_begin(typing: Any, table: Any) -> Any:
    """Start the clock, with no part running."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.inttoptr(arguments[0], INT.as_pointer())
        builder.store(_now(builder), words)
        builder.store(INT(0), builder.gep(words, [INT(1)]))
        return INT(0)

    return types.int64(types.int64), write


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
        """What the statements use."""
        functions = {"tick_begin": tick_begin, "tick_change": tick_change, "tick_enter": tick_enter}
        return {"TICKS": self.table.ctypes.data, **functions}

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
