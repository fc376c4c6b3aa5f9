"""The state of the process that a backend has to leave as it is, and memory that calls leave behind.

A snapshot is taken before programs are compiled and after they have been called. What a call leaves behind is looked
for among calls that are alike: where each of many takes a block of memory more, and collecting gives none back.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import random
import stat
import sys
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SMALLEST: Final = np.array([5e-324])
WINDOW: Final = 12  # calls between two looks at memory
LOOKS: Final = 3  # at memory, between which are the two windows that both have to show a growth
# windows of calls before such a pair: caches fill for hundreds of calls. To look is what takes long: glibc counts every
# free block, 0.1 s for a million of them, as many as a process has that has compiled for minutes.
PAUSES: Final = (0, 8, 85)


class StateError(Exception):
    """A backend has changed the state of the process, or each call leaves memory behind."""


def snapshot() -> Mapping[str, Any]:
    """The state that a backend must not change, by the name under which messages tell of it."""
    state: Any = np.random.get_state()  # noqa: NPY002 (the one that a backend may have drawn from)
    return {
        "the random state": hash(random.getstate()),
        "NumPy's random state": (state[1].tobytes(), *state[2:]),
        "the environment": dict(os.environ),
        "the working directory": str(Path.cwd()),
        "the recursion limit": sys.getrecursionlimit(),
        "the import path": tuple(sys.path),
        "NumPy's error state": np.geterr(),
        "NumPy's print options": np.get_printoptions(),
        "subnormal numbers": bool((SMALLEST * 1.0 > 0).all()),
        "characters printed": _printed(),
    }


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """The difference between two snapshots, in words; None if there is none."""
    for name, value in before.items():
        if after[name] != value:
            return f"{name} changed{_shown(value, after[name])}"
    return None


def threads() -> frozenset[threading.Thread]:
    """The threads of Python that are alive."""
    return frozenset(threading.enumerate())


def _shown(before: Any, after: Any) -> str:
    """The values where they are short, of a mapping the keys whose values differ."""
    if isinstance(before, dict):
        return f": {', '.join(sorted(k for k in {*before, *after} if before.get(k) != after.get(k)))}"
    return f": found {after!r}, needed {before!r}" if isinstance(before, str | int) else ""


def _printed() -> int:
    """The number of bytes the process has written to its standard output, where that is a file."""
    sys.stdout.flush()
    try:
        facts = os.fstat(1)
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def leak(call: Callable[[], Any]) -> str | None:
    """The memory that each call leaves behind, in words; None if it leaves none."""
    growth = dict.fromkeys(MEASURES, 0.0)
    gc.freeze()  # what was there before: to look through that of a large process takes a second each time
    try:
        for pause in PAUSES:
            _repeat(call, pause * WINDOW)
            growth = _growth(call, growth, collect=pause > 0)
            if not growth:
                return None
    finally:
        gc.unfreeze()
    name, each = next(iter(growth.items()))
    return f"each call leaves {each:.3g} {name} behind"


def _growth(call: Callable[[], Any], names: Iterable[str], *, collect: bool) -> dict[str, float]:
    """By how much each call of two windows has some of the measures grow, of those alone that grow in both."""
    growth = dict.fromkeys(names, math.inf)
    before: dict[str, int] = {}
    for _ in range(LOOKS):
        _repeat(call, WINDOW)
        if collect:
            gc.collect()
        sizes = {name: MEASURES[name].size() for name in growth}
        if before:
            growth = {name: min(each, (sizes[name] - before[name]) / WINDOW) for name, each in growth.items()}
            growth = {name: each for name, each in growth.items() if each >= MEASURES[name].least}
        if not growth:
            break
        before = sizes
    return growth


def _repeat(call: Callable[[], Any], times: int) -> None:
    deque((call() for _ in range(times)), 0)


class _Info(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def _malloced() -> int:
    """The bytes that the C library has given out, 0 where it does not tell."""
    try:
        tell = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return 0
    tell.restype = _Info
    info = tell()
    return int(info.uordblks + info.hblkhd)


class _Measure(NamedTuple):
    """A measure of memory in use, and the least that each call has to add to it to count as a leak."""

    size: Callable[[], int]
    least: int


MEASURES: Final = {"objects": _Measure(sys.getallocatedblocks, 1), "bytes": _Measure(_malloced, 16)}
