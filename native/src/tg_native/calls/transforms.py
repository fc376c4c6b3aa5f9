"""The loops of `numpy.fft`, as a table of addresses for generated code.

NumPy transforms by loops of universal functions, which need neither Python nor the GIL: pocketfft, for any length. They
are where `numpy.ufunc` objects of this process say, whose layout NumPy's C interface fixes (`numpy/ufuncobject.h`). The
first use computes a transform by each and compares it with what the universal function gives; a process where they
differ, or that has no such functions, has none.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LETTERS: Final = {"float64": "d", "float32": "s"}  # of the real dtype
LOOPS: Final = {"fft": "fft", "ifft": "ifft", "rfft": "rfft_n_even", "rfft_odd": "rfft_n_odd", "irfft": "irfft"}
TABLE: Final = tuple(f"{letter}{name}{part}" for letter in "ds" for name in LOOPS for part in ("", "_data"))
"""Names: a loop, and what it gets as its last argument."""
CODES: Final = {"d": "d", "s": "f"}  # NumPy's letters of the factor's dtype
POINTS: Final = 6
_NOTHING: Final = ctypes.c_byte()  # for loops that get no data: linkers take the address 0 for a name that is missing


class _Ufunc(ctypes.Structure):
    """The head of a universal function."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


_LOOP: Final = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


@functools.cache
def transforms() -> Mapping[str, int]:
    """The addresses by the names of `TABLE`, looked for and tried once; empty where there are none."""
    try:
        module = importlib.import_module("numpy.fft._pocketfft_umath")
        table = {}
        for letter, code in CODES.items():
            for name, own in LOOPS.items():
                table[letter + name], table[f"{letter}{name}_data"] = _loop_of(getattr(module, own), code)
    except (ImportError, AttributeError, ValueError):
        return MappingProxyType({})
    works = all(_works(table, letter, name, getattr(module, LOOPS[name])) for letter in CODES for name in LOOPS)
    return MappingProxyType(table if works else {})


def pointers() -> tuple[int, ...]:
    """The table as a unit gets it: 0 where there is none."""
    return tuple(transforms().get(name, 0) for name in TABLE)


def _loop_of(ufunc: np.ufunc, code: str) -> tuple[int, int]:
    """The loop of a ufunc for a dtype of the factor, and what it gets as its last argument.

    Raises:
        ValueError: there is none, or the object has another layout.
    """
    kinds = [signature[ufunc.nin - 1] for signature in ufunc.types]
    head = _Ufunc.from_address(id(ufunc))
    if (head.nin, head.nout, head.ntypes) != (2, 1, len(kinds)) or code not in kinds:
        raise ValueError(ufunc)
    place = kinds.index(code)
    return int(head.functions[place] or 0), int((head.data[place] if head.data else None) or ctypes.addressof(_NOTHING))


def _works(table: Mapping[str, int], letter: str, name: str, ufunc: Callable[..., Any]) -> bool:
    """Whether a loop computes what its function does, two rows at a time."""
    real = np.dtype(CODES[letter])
    wide = np.result_type(real, np.complex64)
    is_real, half = name.startswith("rfft"), POINTS // 2 + 1
    n = POINTS + (name == "rfft_odd")
    x = (np.arange(2 * n).reshape(2, n) ** 2 % 7 - 2.5).astype(real if is_real else wide)
    x = x[:, :half].copy() if name == "irfft" else x
    factor = np.ones((), real)
    expected = np.empty((2, half if is_real else n), real if name == "irfft" else wide)
    y = np.zeros_like(expected)
    ufunc(x, factor, out=expected)
    places = (ctypes.c_void_p * 3)(*(array.ctypes.data for array in (x, factor, y)))
    counts = (ctypes.c_ssize_t * 3)(2, x.shape[1], y.shape[1])
    steps = (ctypes.c_ssize_t * 5)(x.strides[0], 0, y.strides[0], x.itemsize, y.itemsize)
    _LOOP(table[letter + name])(places, counts, steps, table[f"{letter}{name}_data"])
    return np.array_equal(y, expected)
