"""The vectors that the compiler makes for a machine, and the mathematics that its library has for them.

Units are written for this machine, or, inside of `written_for`, for another one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from tg_c.compiler import macros
from tg_native.calls import blas as processes
from tg_native.calls.libmvec import LIBMVEC, symbol_of
from tg_native.calls.transforms import transforms
from tg_native.kernels.dtypes import item_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg_native.calls.blas import Blas

    Symbol = Callable[[str, str, int, int], str | None]

WIDTHS: Final = (("__AVX512F__", 64), ("__AVX2__", 32))  # in bytes; 16 where neither is there


class Target(NamedTuple):
    """A machine that units are written for: the macros that name its instructions, and the BLAS that it has.

    It has no vector mathematics of a library: units have their own.
    """

    macros: frozenset[str]
    blas: Blas


_TARGET: ContextVar[Target | None] = ContextVar("tg_c_target", default=None)


@contextlib.contextmanager
def written_for(target: Target) -> Iterator[None]:
    """Write units for another machine than this one."""
    token = _TARGET.set(target)
    try:
        yield
    finally:
        _TARGET.reset(token)


def instructions() -> frozenset[str]:
    """The names of the macros that say which instructions the machine has."""
    target = _TARGET.get()
    return macros() if target is None else target.macros


def has_transforms() -> bool:
    """Whether units can call the loops of `numpy.fft`: programs on other machines have no NumPy."""
    return _TARGET.get() is None and bool(transforms())


def blas() -> Blas:
    """The BLAS that units call: that of the process, or of the machine that they are written for."""
    target = _TARGET.get()
    return processes.blas() if target is None else target.blas


def vector_bytes() -> int:
    """The bytes of the widest vectors that one instruction works on."""
    names = instructions()
    return next((size for name, size in WIDTHS if name in names), 16)


def has_fused() -> bool:
    """Whether x y + z is one instruction."""
    return not instructions().isdisjoint(("__FMA__", "__aarch64__"))


def has_halves() -> bool:
    """Whether there are instructions that convert float16."""
    return not instructions().isdisjoint(("__F16C__", "__AVX512F__"))


def masked_moves() -> str:
    """The instructions that load and store the first lanes of a vector only: "avx512", "avx2" or "" for none."""
    names = instructions()
    if names.issuperset(("__AVX512VL__", "__AVX512BW__", "__AVX512DQ__")):
        return "avx512"
    return "avx2" if "__AVX2__" in names else ""


def vector_symbol(name: str, dtype: str, arity: int, count: int) -> str | None:
    """The library's function of `count` lanes for a function of libm, None if it has none."""
    if _TARGET.get() is not None:
        return None
    library, symbol = vector_library(), symbol_of(name, dtype, arity, count)
    has_one = symbol is not None and count * item_size(dtype) <= vector_bytes() and hasattr(library, symbol)
    return symbol if has_one else None


@functools.cache
def vector_library() -> ctypes.CDLL | None:
    """The vector mathematics of glibc on x86-64, if it is there."""
    if os.uname().machine != "x86_64":
        return None
    try:
        return ctypes.CDLL(LIBMVEC)
    except OSError:
        return None
