"""Dtypes as kernels know them: kinds, sizes, parts, and the numbers of floating formats."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

from tg.types.dtypes import is_complex, is_float, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

HALVES: Final = ("float16", "bfloat16")
"""The dtypes that are stored in 16 bits and computed with in float32."""

PARTS: Final[Mapping[str, str]] = {"complex64": "float32", "complex128": "float64"}
"""The dtype of the real and the imaginary part."""

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
"""The word for the elements of each dtype in memory, in names of generated code; a bool is a byte there."""


class Format(NamedTuple):
    """The numbers of a floating dtype.

    Args:
        whole: the signed integers of the same width.
        digits: the bits of the fraction.
        bias: of the exponent.
        rounder: what rounds to an integer when it is added.
        fine_rounder: what rounds to a multiple of 1/16.
        tiny: the least normal number.
        most: the largest finite one.
        lift: a power of 2 that makes all subnormal numbers normal, and its exponent.
    """

    whole: str
    digits: int
    bias: int
    rounder: float
    fine_rounder: float
    tiny: float
    most: float
    lift: float
    lifted: float

    @property
    def fraction(self) -> int:
        """The mask of the bits of the fraction."""
        return (1 << self.digits) - 1

    @property
    def sign_and_exponent(self) -> int:
        """The mask of all other bits."""
        return ((1 << self.size) - 1) ^ self.fraction

    @property
    def size(self) -> int:
        """The bits of a number."""
        return int(self.whole.removeprefix("int"))

    @property
    def power_rounder(self) -> float:
        """Number that rounds to an integer n when it is added, so that the last bits are the exponent of 2^n."""
        return self.rounder + self.bias

    @property
    def powers_rounder(self) -> float:
        """Number that rounds to an integer n when added, so that the last bits are both exponents of 2^n in factors."""
        return self.rounder + 2 * self.bias


FORMATS: Final[Mapping[str, Format]] = {
    "float64": Format(
        "int64", 52, 1023, 1.5 * 2.0**52, 1.5 * 2.0**48, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023, 2.0**54, 54.0
    ),
    "float32": Format(
        "int32", 23, 127, 1.5 * 2.0**23, 1.5 * 2.0**19, 2.0**-126, (2 - 2.0**-23) * 2.0**127, 2.0**25, 25.0
    ),
}


@functools.cache
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


def is_half(dtype: str) -> bool:
    """Whether a dtype is stored in 16 bits and computed with in float32."""
    return dtype in HALVES


def is_wide_float(dtype: str) -> bool:
    """Whether elements in registers are floats; halves are bits there."""
    return dtype in FORMATS


def is_signed(dtype: str) -> bool:
    """Whether a dtype of whole numbers has negative ones."""
    return dtype.startswith("int")


def working(dtype: str) -> str:
    """The dtype that is computed with: float32 for a half, else itself."""
    return "float32" if dtype in HALVES else dtype


@functools.cache
def item_size(dtype: str) -> int:
    """The bytes of one element."""
    return numpy_dtype(dtype).itemsize
