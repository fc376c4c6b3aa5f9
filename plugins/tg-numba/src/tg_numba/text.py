"""Dtypes as generated code knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

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
"""The word for the elements of each dtype in memory: a half is its bits, a bool is a byte."""

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


def identifier(name: str, number: int) -> str:
    """What value `number` is called where it is shown, from the user's name for it: unique."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:40]
    return f"{word}_{number}" if word else f"v{number}"
