"""The vectors that the compiler makes for this machine, and the mathematics that its library has for them."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TYPE_CHECKING, Final

from tg_c.compiler import macros
from tg_native.calls.libmvec import LIBMVEC, symbol_of
from tg_native.kernels.dtypes import item_size

if TYPE_CHECKING:
    from collections.abc import Callable

    Symbol = Callable[[str, str, int, int], str | None]

WIDTHS: Final = (("__AVX512F__", 64), ("__AVX2__", 32))  # in bytes; 16 where neither is there


def vector_bytes() -> int:
    """The bytes of the widest vectors that one instruction works on."""
    names = macros()
    return next((size for name, size in WIDTHS if name in names), 16)


def has_fused() -> bool:
    """Whether x y + z is one instruction."""
    return not macros().isdisjoint(("__FMA__", "__aarch64__"))


def has_halves() -> bool:
    """Whether there are instructions that convert float16."""
    return not macros().isdisjoint(("__F16C__", "__AVX512F__"))


def masked_moves() -> str:
    """The instructions that load and store the first lanes of a vector only: "avx512", "avx2" or "" for none."""
    names = macros()
    if names.issuperset(("__AVX512VL__", "__AVX512BW__", "__AVX512DQ__")):
        return "avx512"
    return "avx2" if "__AVX2__" in names else ""


def vector_symbol(name: str, dtype: str, arity: int, count: int) -> str | None:
    """The library's function of `count` lanes for a function of libm, None if it has none."""
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
