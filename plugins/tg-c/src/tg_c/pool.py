"""Open the threads that help with loops, `pool.c`: compiled when the first function asks for some."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Final

from tg_c import compiler
from tg_c.compiler import Flags

POOL: Final = Flags(level=1, libraries=("pthread", "c"))  # linked, so that each symbol is of the version in the headers


def share() -> int:
    """The address of `tg_share`, which a unit calls to have the parts of a loop run."""
    return ctypes.cast(opened().tg_share, ctypes.c_void_p).value or 0


def threads() -> int:
    """Number of threads that help in this process: none until a function has asked for them."""
    library = opened()
    library.tg_threads.restype = ctypes.c_longlong
    return int(library.tg_threads())


@functools.cache
def opened() -> ctypes.CDLL:
    """The pool of this process, which stays open as long as that lives: its threads never end."""
    source = Path(__file__).with_name("pool.c").read_text(encoding="utf-8")
    return compiler.opened(ctypes.CDLL, source, POOL)
