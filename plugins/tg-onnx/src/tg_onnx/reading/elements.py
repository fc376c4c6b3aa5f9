"""Element types of ONNX, and how tg holds their values.

tg has no types of four or eight bits but int8 and uint8, so the others are storage: int4 and int2 are held as int8,
uint4 and uint2 as uint8, and the small floats as float32, which holds each of their values. `reading.small_floats` and
`reading.casting` give the arithmetic: what is cast to such a type is rounded to the values that it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import ml_dtypes
import numpy as np
from onnx import TensorProto

import tg
from tg.backend import message, numpy_dtype


@final
@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its number and name in ONNX, the dtype that tg holds it in, and NumPy's dtype for arrays."""

    number: int
    name: str
    dtype: str
    storage: Any  # NumPy's dtype of arrays that users give and get

    @property
    def is_held(self) -> bool:
        """Whether tg has no such dtype, and holds the values in another."""
        return bool(self.storage != numpy_dtype(self.dtype))

    @property
    def is_small_float(self) -> bool:
        """Whether it is a float of eight bits or fewer."""
        return self.is_held and self.dtype == "float32"

    @property
    def bits(self) -> int:
        """Bits that an element takes in a file."""
        narrow = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}
        return narrow.get(self.name, 8 * int(self.storage.itemsize))


def _own(number: int, name: str, dtype: str) -> Element:
    return Element(number, name, dtype, numpy_dtype(dtype))


def _stored(number: int, name: str, dtype: str, storage: Any) -> Element:
    return Element(number, name, dtype, np.dtype(storage))


_T = TensorProto
ELEMENTS: Final = {
    e.number: e
    for e in (
        _own(_T.FLOAT, "float32", "float32"),
        _own(_T.UINT8, "uint8", "uint8"),
        _own(_T.INT8, "int8", "int8"),
        _own(_T.UINT16, "uint16", "uint16"),
        _own(_T.INT16, "int16", "int16"),
        _own(_T.INT32, "int32", "int32"),
        _own(_T.INT64, "int64", "int64"),
        _own(_T.BOOL, "bool", "bool"),
        _own(_T.FLOAT16, "float16", "float16"),
        _own(_T.DOUBLE, "float64", "float64"),
        _own(_T.UINT32, "uint32", "uint32"),
        _own(_T.UINT64, "uint64", "uint64"),
        _own(_T.COMPLEX64, "complex64", "complex64"),
        _own(_T.COMPLEX128, "complex128", "complex128"),
        _own(_T.BFLOAT16, "bfloat16", "bfloat16"),
        _stored(_T.FLOAT8E4M3FN, "float8e4m3fn", "float32", ml_dtypes.float8_e4m3fn),
        _stored(_T.FLOAT8E4M3FNUZ, "float8e4m3fnuz", "float32", ml_dtypes.float8_e4m3fnuz),
        _stored(_T.FLOAT8E5M2, "float8e5m2", "float32", ml_dtypes.float8_e5m2),
        _stored(_T.FLOAT8E5M2FNUZ, "float8e5m2fnuz", "float32", ml_dtypes.float8_e5m2fnuz),
        _stored(_T.FLOAT8E8M0, "float8e8m0", "float32", ml_dtypes.float8_e8m0fnu),
        _stored(_T.FLOAT4E2M1, "float4e2m1", "float32", ml_dtypes.float4_e2m1fn),
        _stored(_T.UINT4, "uint4", "uint8", ml_dtypes.uint4),
        _stored(_T.INT4, "int4", "int8", ml_dtypes.int4),
        _stored(_T.UINT2, "uint2", "uint8", ml_dtypes.uint2),
        _stored(_T.INT2, "int2", "int8", ml_dtypes.int2),
    )
}
BY_DTYPE: Final = {e.dtype: e for e in ELEMENTS.values() if not e.is_held}
BY_TYPE_STRING: Final = {
    f"tensor({name})": e
    for e in ELEMENTS.values()
    for name in ({"float32": "float", "float64": "double"}.get(e.name, e.name),)
}


def element(number: int, place: str) -> Element:
    """The element type of a number.

    Raises:
        DtypeError: strings, and types that no version of ONNX has.
    """
    entry = ELEMENTS.get(number)
    if entry is None:
        names = {value: name.lower() for name, value in TensorProto.DataType.items()}
        raise tg.DtypeError(message(f"{place}: found elements of type {names.get(number, number)}, needed numbers"))
    return entry


def to_held(array: np.ndarray[Any, Any], kind: Element) -> np.ndarray[Any, Any]:
    """An array of the type as tg holds it."""
    if kind.is_held and array.dtype != kind.storage:
        array = array.astype(kind.storage)  # bytes of codes are not values: only such arrays are given
    return np.asarray(array, numpy_dtype(kind.dtype)) if array.dtype != numpy_dtype(kind.dtype) else np.asarray(array)


def from_held(array: np.ndarray[Any, Any], kind: Element) -> np.ndarray[Any, Any]:
    """An array as users get it: of ml_dtypes' types where NumPy has none."""
    return np.asarray(array).astype(kind.storage) if kind.is_held else array
