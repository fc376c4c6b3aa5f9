"""Dtypes, numbers and names as the text of generated Python, and what that text may use."""

from __future__ import annotations

import keyword
import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.link.shapes import LengthSyntax
from tg.types.dtypes import is_complex, is_float, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS: Final[Mapping[str, str]] = {
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
"""The name of each dtype in generated code: a Numba type, called to convert a scalar; a half is its bits. A bool in
memory is a byte."""


HALVES: Final = ("float16", "bfloat16")
"""The dtypes that are stored in 16 bits and computed with in float32."""


def kind_of(dtype: str) -> str:
    """boolean, signed, unsigned, half, floating or complex."""
    if dtype == "bool":
        return "boolean"
    if dtype in HALVES:
        return "half"
    if is_float(dtype):
        return "floating"
    if is_complex(dtype):
        return "complex"
    return "unsigned" if dtype.startswith("u") else "signed"


def item_size(dtype: str) -> int:
    """The bytes of one element."""
    return numpy_dtype(dtype).itemsize


def integer(value: int) -> str:
    """An int64 as text that can stand in any expression."""
    return f"({value})" if value < 0 else str(value)


def plain_literal(value: Any, dtype: str) -> str | None:
    """The text of an element that Numba types right by itself; None if it has to be a named constant."""
    if dtype == "bool":
        return str(bool(value))
    if dtype == "int64":
        return integer(int(value))
    if dtype == "float64" and math.isfinite(value):
        text = repr(float(value))
        return f"({text})" if text.startswith("-") else text
    return None


def constant_text(value: Any, dtype: str) -> str:
    """The Python expression of a NumPy scalar, for the head of the generated module."""
    kind = kind_of(dtype)
    if kind == "half":
        return f"np.uint16({int(np.asarray(value, numpy_dtype(dtype)).view(np.uint16))})"
    if kind == "complex":
        part = "float32" if dtype == "complex64" else "float64"
        return f"np.{dtype}(complex({_real(value.real, part)}, {_real(value.imag, part)}))"
    return f"np.{dtype}({_real(value, dtype) if kind == 'floating' else int(value)})"


def _real(value: Any, dtype: str) -> str:
    number = float(value)
    if math.isfinite(number):
        return str(np.dtype(dtype).type(value)) if dtype == "float32" else repr(number)
    return f'float("{number!r}")'


def identifier(name: str, number: int) -> str:
    """A Python name for value `number`, from the user's name for it: unique, and no word of Python."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:40]
    usable = word and not word[0].isdigit() and not keyword.iskeyword(word)
    return f"{word}_{number}" if usable else f"v{number}"


SYNTAX: Final = LengthSyntax(
    {
        "//": "length_floor",
        "%": "length_mod",
        "min": "length_min",
        "max": "length_max",
        "broadcast": "length_broadcast",
    },
    integer,
)
"""How generated code writes lengths."""
