"""The dtypes of tg, their order of kinds, and promotion, which is asked of NumPy itself.

A dtype is written by its NumPy name everywhere inside tg ("float64"); `dtype_name` makes one of what names one.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from tg.errors import DtypeError, message

BOOL: Final = "bool"
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
INTEGERS: Final = (*SIGNED, *UNSIGNED)
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
DTYPES: Final = (BOOL, *INTEGERS, *FLOATS, *COMPLEX)
WIDE: Final = ("float64", "complex128")  # double precision: the dtypes that re-typing replaces

_KNOWN: Final = frozenset(DTYPES)
_FLOAT_SET: Final = frozenset(FLOATS)
_INTEGER_SET: Final = frozenset(INTEGERS)
_NAMES: Final[dict[np.dtype[Any], str]] = {}  # NumPy writes a name anew each time it is asked


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; ml_dtypes is imported for bfloat16 only."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
    dtype: np.dtype[Any] = np.dtype(name)
    return dtype


def dtype_name(dtype: object) -> str:
    """The name of a dtype given as a name, a NumPy dtype, a NumPy scalar class or a Python type.

    Raises:
        DtypeError: tg has no such dtype.
    """
    if type(dtype) is str and dtype in _KNOWN:
        return dtype
    if isinstance(dtype, np.dtype) and (entry := _NAMES.get(dtype)) is not None:
        return entry
    try:
        name = np.dtype(dtype).name  # type: ignore[call-overload]
    except (TypeError, ValueError):  # the latter of what has a dtype itself
        name = repr(dtype)
    if name not in _KNOWN:
        hint = "a shape is one tuple: tg.zeros((2, 3))" if isinstance(dtype, int) else None
        text = f"dtype: found {name}, needed one that tg has"
        raise DtypeError(message(text, ("dtypes", ", ".join(DTYPES)), hint=hint))
    if isinstance(dtype, np.dtype):
        _NAMES[dtype] = str(name)
    return str(name)


def is_float(dtype: str) -> bool:
    """Whether a dtype is a real floating one."""
    return dtype in _FLOAT_SET


def is_complex(dtype: str) -> bool:
    """Whether a dtype is a complex one."""
    return dtype in COMPLEX


def is_integer(dtype: str) -> bool:
    """Whether a dtype is a signed or unsigned integer one (bool is not)."""
    return dtype in _INTEGER_SET


def is_inexact(dtype: str) -> bool:
    """Whether a dtype is floating or complex: what a derivative can be taken of."""
    return dtype in _FLOAT_SET or dtype in COMPLEX


def is_unsigned(dtype: str) -> bool:
    """Whether a dtype is an unsigned integer one."""
    return dtype in UNSIGNED


@functools.cache
def can_cast_safely(source: str, target: str) -> bool:
    """Whether every value of `source` is a value of `target`, as NumPy's "safe" casting has it."""
    return bool(np.can_cast(numpy_dtype(source), numpy_dtype(target), "safe"))


@functools.cache
def float_limits(dtype: str) -> Any:
    """The `finfo` of a floating dtype; that of bfloat16 is ml_dtypes'."""
    if dtype == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return np.finfo(dtype)


@functools.cache
def limits(dtype: str) -> tuple[float, float]:
    """The largest and the smallest finite number of a floating dtype."""
    info = float_limits(dtype)
    return float(info.max), float(info.min)


@functools.cache
def accumulator(dtype: str) -> str:
    """The dtype in which NumPy sums a dtype: bool and small integers in 64 bits, floats in their own."""
    if dtype == BOOL or dtype in SIGNED:
        return "int64"
    return "uint64" if dtype in UNSIGNED else dtype


def in_float32(dtype: str) -> str:
    """float32 for a half, else the dtype itself: the dtype that means, norms and sums of halves are computed in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def is_plain_zeros(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array has zeros alone, none of them -0.0."""
    return not np.ascontiguousarray(array).view(np.uint8).any()


@functools.cache
def zero(dtype: str) -> np.ndarray[Any, Any]:
    """The read-only 0-d zero of a dtype."""
    value = np.zeros((), numpy_dtype(dtype))
    value.flags.writeable = False
    return value
