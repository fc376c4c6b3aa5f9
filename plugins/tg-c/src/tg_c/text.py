"""Dtypes, numbers and names as C text."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from tg.types.dtypes import is_complex, is_float, numpy_dtype

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
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
"""The C type of each dtype; a bool is a byte that is 0 or 1, as in NumPy; of halves see `tg_c.half`."""

PARTS: Final = {"complex64": "float32", "complex128": "float64"}
"""The dtype of the real and the imaginary part."""

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
typedef struct { u16 bits; } f16;
typedef struct { u16 bits; } bf16;
typedef float _Complex c64;
typedef double _Complex c128;
"""

I64_MIN: Final = -(2**63)


def kind_of(dtype: str) -> str:
    """boolean, signed, unsigned, half, floating or complex."""
    if dtype == "bool":
        return "boolean"
    if is_half(dtype):
        return "half"
    if is_float(dtype):
        return "floating"
    if is_complex(dtype):
        return "complex"
    return "unsigned" if dtype.startswith("u") else "signed"


def is_half(dtype: str) -> bool:
    """Whether a dtype is stored in 16 bits and computed with in float32."""
    return dtype in ("float16", "bfloat16")


def working(dtype: str) -> str:
    """The dtype that is computed with: float32 for a half, else itself."""
    return "float32" if is_half(dtype) else dtype


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
    if is_half(dtype):
        bits = np.asarray(value, numpy_dtype(dtype)).view(np.uint16)
        return f"(({C_TYPES[dtype]}){{{int(bits)}}})"
    if is_complex(dtype):
        whole = np.asarray(value, numpy_dtype(dtype))
        return f"__builtin_complex({', '.join(literal(part[()], PARTS[dtype]) for part in (whole.real, whole.imag))})"
    if not is_float(dtype):
        count = int(value)
        return f"{count}ULL" if dtype == "uint64" and count >= 2**31 else integer(count)
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
    if is_half(dtype):
        return ", ".join(f"{{{bits}}}" for bits in np.ascontiguousarray(array).view(np.uint16).ravel())
    return ", ".join(literal(value, dtype) for value in array.ravel())


def identifier(name: str, number: int) -> str:
    """A C name for value `number`, from the user's name for it: unique, and no word of C."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:40]
    return f"{word}_{number}" if word and not word[0].isdigit() else f"v{number}"


def comment(text: str) -> str:
    """Text that may stand inside a C comment: what takes the place of a backslash may end one, so it comes first."""
    return text.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
