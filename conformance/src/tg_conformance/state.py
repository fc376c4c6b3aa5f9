"""The state of the process that a backend has to leave as it is, and memory that calls leave behind.

A snapshot is taken before programs are compiled and after they have been called. What a call leaves behind is looked
for among calls that are alike: where each of many takes a block of memory more, and collecting gives none back.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import stat
import sys
import threading
from collections import deque
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SMALLEST: Final = np.array([5e-324])
WINDOW: Final = 12  # calls between two looks at memory
PATIENCE: Final = 100  # windows through which a growth lasts until it counts: caches fill for hundreds of calls


class StateError(Exception):
    """A backend has changed the state of the process, or each call leaves memory behind."""


def snapshot() -> Mapping[str, Any]:
    """What a backend must not change, by the name under which messages tell of it."""
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
    """What differs between two snapshots, in words; None if nothing."""
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
    """How much the process has written to its standard output, where that is a file."""
    sys.stdout.flush()
    try:
        facts = os.fstat(1)
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def leak(call: Callable[[], Any]) -> str | None:
    """The memory that each call leaves behind, in words; None if it leaves none."""
    growth = None
    gc.freeze()  # what was there before: to look through that of a large process takes a second each time
    try:
        for number in range(0, PATIENCE, 3):
            growth = _growth(call, collect=number > 0)
            if growth is None:
                return None
    finally:
        gc.unfreeze()
    return f"each call leaves {growth} behind"


def _growth(call: Callable[[], Any], *, collect: bool) -> str | None:
    """How memory grows with every call of each of two windows; None if it does not in one of them."""
    sizes: list[tuple[int, int]] = []
    for _ in range(3):
        deque((call() for _ in range(WINDOW)), 0)
        if collect:
            gc.collect()
        sizes.append((sys.getallocatedblocks(), _malloced()))
    blocks, allocated = ([after - before for before, after in pairwise(n)] for n in zip(*sizes, strict=True))
    if min(blocks) >= WINDOW:
        return f"{min(blocks) / WINDOW:.3g} objects"
    if min(allocated) >= 16 * WINDOW:
        return f"{min(allocated) / WINDOW:.3g} bytes"
    return None


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
    found = tell()
    return int(found.uordblks + found.hblkhd)
