"""Arrays of weights as integers: rows along whose last axis a product sums, packed, beside what they stand for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from tg.errors import InputError, OptionError, message
from tg.functions.shared import shared
from tg.ops.elementwise.arithmetic import multiply, subtract
from tg.ops.elementwise.bitwise import bitwise_and, bitwise_xor, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.ops.groups import FORMATS, DequantizeGroups
from tg.ops.indexing import slice_axis
from tg.ops.shape import concatenate
from tg.quantization.groups import quantize_groups

if TYPE_CHECKING:
    from tg.functions.shared import Shared
    from tg.graph.nodes import Variable
    from tg.types.choices import PackedFormat

    Array = np.ndarray[Any, Any]

LEVELS: Final = {"int8": 127, "int4": 7}
"""By the name of a format with one scale for each row the largest level; the lowest is its negative."""
TRIED: Final = np.linspace(0.6, 1.0, 21)
"""Parts of the largest magnitude of a row that may be the largest level of int4: cutting a few values off may pay."""
FOR_OTHERS: Final = {"q4_k": "q5_0", "q6_k": "q8_0"}
"""For formats of 256 values those that rows of other lengths have, as in llama.cpp."""
HALF: Final = 8  # 2 to the power of the bits of int4 less 1


def checked_format(what: str, name: object) -> str:
    """The name of a format of weights, in small letters.

    Raises:
        OptionError: there is none of this name.
    """
    lower = name.lower() if isinstance(name, str) else name
    if lower not in LEVELS and lower not in FORMATS:
        choices = ", ".join((*LEVELS, *FORMATS))
        raise OptionError(message(f"{what}: weights: found {name!r}, needed one of {choices}"))
    return str(lower)


class Packed(NamedTuple):
    """Quantised rows: shared variables, and the array of what they stand for.

    Shapes:
        rows (..., r, k): packed along k, for which `row` is a length; scale (..., r, 1), None for groups
    """

    format: str
    row: int
    levels: Shared
    scale: Shared | None
    array: Array

    @property
    def nbytes(self) -> int:
        """The bytes of both."""
        return sum(v.snapshot.nbytes for v in (self.levels, self.scale) if v is not None)

    @property
    def bits(self) -> float:
        """The bits of a weight, its share of scales included."""
        return 8 * self.nbytes / max(1, self.array.size)

    @property
    def is_whole(self) -> bool:
        """Whether it is a matrix in groups, whose rows are whole ones."""
        return self.format in FORMATS and self.array.ndim == 2 and self.row % FORMATS[self.format].values == 0

    def values(self, dtype: str, levels: Variable | None = None, scale: Variable | None = None) -> Variable:
        """The weights as numbers of a dtype (..., r, k), or those of other rows of the same format."""
        packed = self.levels if levels is None else levels
        if self.scale is None:
            return cast_variable(self._cut(DequantizeGroups(self.format)(packed)), dtype)
        steps = self.scale if scale is None else scale
        return multiply(cast_variable(self.integers(packed), dtype), cast_variable(steps, dtype))

    def integers(self, packed: Variable | None = None) -> Variable:
        """The levels (..., r, k) in int8; only where rows have a scale."""
        v = self.levels if packed is None else packed
        if self.format == "int8":
            return v
        low, high = bitwise_and(v, np.uint8(15)), right_shift(v, np.uint8(4))
        both = cast_variable(bitwise_xor(concatenate([low, high], -1), np.uint8(HALF)), "int8")
        return self._cut(subtract(both, np.int8(HALF)))

    def _cut(self, v: Variable) -> Variable:
        """Values without those that fill the last group."""
        return v if v.type.shape[-1] == self.row else slice_axis(v, -1, 0, self.row)


def packed_rows(rows: Array, format: str, name: str | None) -> Packed:
    """An array (..., r, k) in a format; a last group of 32 that is not whole is filled with zeros.

    Args:
        name: of the weights, after which the shared variables are called.
    Raises:
        InputError: what is not finite, or beyond the range of float16 scales.
    """
    label, k = name or "weights", rows.shape[-1]
    if not np.isfinite(rows).all():
        raise InputError(message(f"quantized: {label}: found NaN or infinity, needed finite values"))
    if format in FORMATS:
        format = format if k % FORMATS[format].values == 0 else FOR_OTHERS.get(format, format)
        levels = quantize_groups(_filled(rows, FORMATS[format].values), cast("PackedFormat", format))
        array = DequantizeGroups(format).perform(levels)[0][..., :k]
        return Packed(format, k, _shared(levels, f"{label}.{format}"), None, array.astype(rows.dtype, copy=False))
    steps = _steps(rows, LEVELS[format])
    levels = _levels(rows, steps, LEVELS[format]).astype(np.int8)
    array = levels.astype(rows.dtype) * steps
    stored = levels if format == "int8" else _paired(_filled(levels, 2))
    return Packed(format, k, _shared(stored, f"{label}.{format}"), _shared(steps, f"{label}.scale"), array)


def _shared(array: Array, name: str) -> Shared:
    return shared(array, name, shape=array.shape)


def _filled(rows: Array, multiple: int) -> Array:
    """Rows with zeros behind, up to a multiple."""
    rest = -rows.shape[-1] % multiple
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, rest)]) if rest else rows


def _paired(levels: Array) -> Array:
    """Levels of 4 bits, the second half of a row in the upper halves of the bytes."""
    low, high = np.split(levels.astype(np.uint8) & 15, 2, axis=-1)
    packed: Array = low | (high << 4)
    return packed


def _levels(rows: Array, steps: Array, largest: int) -> Array:
    scaled = np.divide(rows, steps, out=np.zeros_like(rows), where=steps != 0)
    levels: Array = np.clip(np.rint(scaled), -largest, largest)
    return levels


def _steps(rows: Array, largest: int) -> Array:
    """The scale of each row: the largest magnitude, or for few levels the part of it that leaves the least squares."""
    top: Array = np.abs(rows).max(-1, keepdims=True, initial=0)
    if largest > LEVELS["int4"]:
        every: Array = (top / largest).astype(rows.dtype)
        return every
    best, least = top / largest, np.full(top.shape, math.inf)
    for part in TRIED:
        steps = (top * part / largest).astype(rows.dtype)
        error = np.square(_levels(rows, steps, largest) * steps - rows).sum(-1, keepdims=True)
        best, least = np.where(error < least, steps, best), np.minimum(error, least)
    return best.astype(rows.dtype)
