"""Units of a library: the program as text for one set of instructions, with memory from an arena or from malloc."""

from __future__ import annotations

import dataclasses
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg_c.compiler import AT_O1, COSTS, SEMANTICS, STREAMING
from tg_c.machine import Target, written_for
from tg_c.program import Unit
from tg_native.calls.blas import CBLAS, FORTRAN, NO_BLAS, Blas

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tg.backend import Lowered
    from tg_c.program import Memory

BASE: Final = "x86-64-v2"
_V3: Final = frozenset(("__AVX__", "__AVX2__", "__F16C__", "__FMA__"))
LEVELS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        BASE: frozenset(),  # vectors of 16 bytes, as all machines have them: the unit names no instruction
        "x86-64-v3": _V3,
        "x86-64-v4": _V3 | frozenset(f"__AVX512{part}__" for part in ("F", "BW", "CD", "DQ", "VL")),
    }
)
"""Levels of instructions, and the macros by which compilers name what they have beyond vectors of 16 bytes."""
LIBRARY: Final = Blas("scipy", None, MappingProxyType(dict.fromkeys((*CBLAS, *FORTRAN), 1)), 32)
"""A BLAS by Fortran's interface with 32-bit integers, which is bound when the library is linked."""


class Text(NamedTuple):
    """A unit: its text, the constants that it is given, the slots of BLAS that it calls, the compiler's flags.

    `reuses` are the outputs and inputs, in pairs, that may share memory.
    """

    text: str
    arguments: tuple[np.ndarray[Any, Any], ...]
    slots: tuple[int, ...]
    flags: tuple[str, ...]
    only_gcc: tuple[str, ...]
    reuses: tuple[tuple[int, int], ...]


def unit(lowered: Lowered, level: str, memory: Memory, *, has_blas: bool) -> Text:
    """The unit of a program for a level."""
    with written_for(Target(LEVELS[level], LIBRARY if has_blas else NO_BLAS)):
        request = dataclasses.replace(lowered.request, kept=None)
        program = Unit(request, memory=memory).program(lowered.graph)
    mentioned = {int(k) for k in re.findall(r"tg_blas\[(\d+)\]", program.text)} if has_blas else set[int]()
    slots = sorted(mentioned.intersection(range(1, len((*CBLAS, *FORTRAN)) + 1)))
    flags = (f"-O{program.level}", *SEMANTICS, "-ftree-vectorize", "-Wno-psabi")
    only_gcc = (*COSTS, *(STREAMING if program.streams else ()), *(AT_O1 if program.level == 1 else ()))
    return Text(program.text, program.arguments, tuple(slots), flags, only_gcc, program.reuses)
