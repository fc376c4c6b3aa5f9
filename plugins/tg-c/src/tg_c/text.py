"""Dtypes, numbers and names as C text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from tg.types.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

C_TYPES: Final = {
    "bool": "b8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float32": "f32",
    "float64": "f64",
}
"""The C type of each dtype that the backend has; a bool is a byte that is 0 or 1, as in NumPy."""

TYPEDEFS: Final = """\
typedef unsigned char b8, u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;
"""

I64_MIN: Final = -(2**63)


def kind_of(dtype: str) -> str:
    """boolean, signed, unsigned or floating."""
    if dtype == "bool":
        return "boolean"
    if is_float(dtype):
        return "floating"
    return "unsigned" if dtype.startswith("u") else "signed"


def item_size(dtype: str) -> int:
    """The bytes of one element."""
    return numpy_dtype(dtype).itemsize


def integer(value: int) -> str:
    """An int64 as C text that can stand in any expression."""
    if value == I64_MIN:
        return "(-9223372036854775807LL - 1)"
    text = str(value) if abs(value) < 2**31 else f"{value}LL"
    return f"({text})" if value < 0 else text


def literal(value: Any, dtype: str) -> str:
    """One element as C text, exact: the C compiler reads back the same bits (any NaN is one NaN)."""
    if dtype == "bool":
        return str(int(bool(value)))
    if not is_float(dtype):
        whole = int(value)
        return f"{whole}ULL" if dtype == "uint64" and whole >= 2**31 else integer(whole)
    number = float(value)
    if math.isnan(number):
        text = "__builtin_nan" + ('f("")' if dtype == "float32" else '("")')
    elif math.isinf(number):
        text = "__builtin_inf" + ("f()" if dtype == "float32" else "()")
    else:
        digits = str(value) if dtype == "float32" else repr(number)
        text = digits if any(mark in digits for mark in ".en") else digits + ".0"
        text += "f" if dtype == "float32" else ""
        return f"({text})" if text.startswith("-") else text
    return f"(-{text})" if math.copysign(1, number) < 0 else text


def elements(array: np.ndarray[Any, Any], dtype: str) -> str:
    """All elements in C order, as the inside of an initialiser."""
    return ", ".join(literal(value, dtype) for value in array.ravel())


def identifier(name: str, number: int) -> str:
    """A C name for value `number`, from the user's name for it: unique, and no word of C."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:40]
    return f"{word}_{number}" if word and not word[0].isdigit() else f"v{number}"


def comment(text: str) -> str:
    """Text that may stand inside a C comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")
