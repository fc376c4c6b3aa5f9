"""Types, numbers and names as C text; the C type of an element is the word of its dtype, of a half a struct."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tg.backend import is_complex, is_float, numpy_dtype
from tg_native.kernels.dtypes import PARTS, WORDS, is_half

# TG_ONCE is before variables of which a unit has one, in however many objects: of equal weak ones linkers keep one, and
# compilers do not read them. gcc 12 folds 512-bit loads from constant tables to a repetition of their first 128 bits.
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
#ifndef TG_ONCE
#define TG_ONCE __attribute__((weak, visibility("hidden")))
#endif
#ifdef __clang__ /* which knows no array of any length, and lets an asm that reads memory read all */
#define TG_ANY 1
#else
#define TG_ANY
#endif
"""

INDENT: Final = "  "
I64_MIN: Final = -(2**63)


def lane_kind(dtype: str) -> str:
    """The C type of an element in a lane, of any dtype but bool: a half is its bits there."""
    return "u16" if is_half(dtype) else WORDS[dtype]


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
        return f"(({WORDS[dtype]}){{{int(bits)}}})"
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


def initializer(array: np.ndarray[Any, Any], dtype: str) -> str:
    """All elements in C order, as the inside of an initialiser."""
    if is_half(dtype):
        return ", ".join(f"{{{bits}}}" for bits in np.ascontiguousarray(array).view(np.uint16).ravel())
    return ", ".join(literal(value, dtype) for value in array.ravel())


def comment(text: str) -> str:
    """Text that may stand inside a C comment: what takes the place of a backslash may end one, so it comes first."""
    return text.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
