"""MLX arrays of a stated dtype: from NumPy and back, and the kinds of dtypes that rules ask for."""

from __future__ import annotations

import functools
from typing import Any, Final

import mlx.core as mx
import numpy as np

from tg.backend import DTYPES, numpy_dtype

NATIVE: Final = {name: getattr(mx, "bool_" if name == "bool" else name) for name in DTYPES if name != "complex128"}
OF_NUMPY: Final = {numpy_dtype(name): native for name, native in NATIVE.items()}
SAME_SIZE: Final = {mx.float16: mx.int16, mx.bfloat16: mx.int16, mx.float32: mx.int32, mx.float64: mx.int64}
NAMES: Final = {native: name for name, native in NATIVE.items()}


def from_numpy(array: np.ndarray[Any, Any]) -> Any:
    """A copy as an MLX array of the same dtype; MLX alone would make float32 of float64."""
    dtype = OF_NUMPY[array.dtype]
    try:
        return mx.array(array, dtype)
    except (ValueError, RuntimeError):  # reversed, or with strides that are no multiples of an element
        return mx.array(array.copy(), dtype)


def copy(x: Any) -> Any:
    """The array in memory of its own; MLX has no copy."""
    return mx.where(mx.array(True), x, x)


def scalar(value: complex, dtype: Any) -> Any:
    """A 0-d MLX array; Python's numbers are rounded once, to the dtype."""
    return _scalar(value, dtype, "" if value else repr(value))  # 0.0 and -0.0 are equal


@functools.lru_cache(1024)
def _scalar(value: complex, dtype: Any, zero: str) -> Any:
    """A 0-d MLX array of a number, with the sign that a zero is written with."""
    with np.errstate(over="ignore"):
        return from_numpy(np.asarray(value).astype(numpy_dtype(NAMES[dtype])))


def is_integer(x: Any) -> bool:
    """Whether the elements are integers; bool is none."""
    return bool(mx.issubdtype(x.dtype, mx.integer))


def is_unsigned(x: Any) -> bool:
    """Whether the elements are integers without a sign."""
    return bool(mx.issubdtype(x.dtype, mx.unsignedinteger))


def is_floating(x: Any) -> bool:
    """Whether the elements are real floating numbers."""
    return bool(mx.issubdtype(x.dtype, mx.floating))


def is_complex(x: Any) -> bool:
    """Whether the elements are complex."""
    return bool(x.dtype == mx.complex64)


def is_half(x: Any) -> bool:
    """Whether the elements are floating numbers of 16 bits."""
    return x.dtype in (mx.float16, mx.bfloat16)
