"""Packing of weights by group, in NumPy: the formats of 32 values give GGML's bytes.

A number is rounded half away from 0 in q8_0 and half up in the others, as GGML does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.ops.groups import format_of
from tg.quantization.parts import as_bytes, halves, pack_q4_k, pack_q6_k

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.choices import PackedFormat

    Array = np.ndarray[Any, Any]

AT_ONCE: Final = 1 << 20  # values that are packed at once: what is computed on the way stays in the cache


def quantize_groups(w: Any, format: PackedFormat) -> np.ndarray[Any, Any]:
    """An array packed by group along its last axis: the bytes that a GGUF file has for it.

    Those of q8_0, q4_0, q4_1 and q5_0 equal GGML's; for q4_k and q6_k scales are searched for that leave the least sum
    of squares.

    Args:
        w: an array of NumPy, not a variable: quantising is done before a program is made.
        format: "q8_0", "q4_0", "q4_1" or "q5_0", of 32 values, "q4_k" or "q6_k", of 256.
    Shapes:
        w (..., groups * values of one) -> (..., groups * bytes of one)
    Dtypes:
        float32 -> uint8; float64 and halves are converted first
    Raises:
        InputError: another format, or values that are not finite or beyond what a scale of float16 reaches.
        ShapeError: the last length is no multiple of a group's.
        DtypeError: no real floating dtype.
    Example:
        >>> import numpy as np, tg
        >>> tg.quantize_groups(np.ones((3, 256), "float32"), "q4_k").shape
        (3, 144)
    Source:
        gguf.quants.quantize
    """
    form, array = format_of("quantize_groups", format), np.asarray(w)
    if array.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        raise DtypeError(message(f"quantize_groups: found {array.dtype}, needed a real floating dtype"))
    if array.ndim == 0 or array.shape[-1] % form.values:
        needed = f"a last length that is a multiple of {form.values}, the groups of {form.name}"
        raise ShapeError(message(f"quantize_groups: found shape {array.shape}, needed {needed}"))
    groups = np.ascontiguousarray(array, np.float32).reshape(-1, form.values)
    if not np.isfinite(groups).all():
        raise InputError(message("quantize_groups: found NaN or infinity, needed finite values"))
    pack, step = PACK[form.name], max(1, AT_ONCE // form.values)
    packed = np.empty((len(groups), form.size), np.uint8)
    with np.errstate(all="ignore"):
        for k in range(0, len(groups), step):
            packed[k : k + step] = pack(groups[k : k + step])
    return packed.reshape(*array.shape[:-1], array.shape[-1] // form.values * form.size)


def _inverse(scale: Array) -> Array:
    """1 / scale in float32; 0 for 0."""
    return np.where(scale == 0, np.float32(0), np.float32(1) / scale)


def _numbers(x: Array, largest: int) -> Array:
    """Numbers from 0 to the largest, cut off below the point."""
    return np.clip(np.trunc(x), 0, largest).astype(np.uint8)


def _paired(numbers: Array) -> Array:
    """Numbers of 4 bits, the second half of a group in the upper halves of the bytes."""
    low, high = numbers[:, :16] & 15, numbers[:, 16:] & 15
    return low | (high << 4)


def _extreme(x: Array) -> Array:
    """The value of each group that is farthest from 0, the first of several, with its sign."""
    return np.take_along_axis(x, np.abs(x).argmax(-1, keepdims=True), -1)


def _pack_q8_0(x: Array) -> Array:
    scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    scaled = x * _inverse(scale)
    whole = np.trunc(scaled)
    away = np.abs(scaled - whole) >= 0.5  # exact: both are close
    numbers = whole + np.copysign(away.astype(np.float32), scaled)
    return np.hstack([as_bytes(halves(scale)), numbers.astype(np.int8).view(np.uint8)])


def _pack_q4_0(x: Array) -> Array:
    scale = _extreme(x) / np.float32(-8)
    numbers = _numbers(x * _inverse(scale) + np.float32(8.5), 15)
    return np.hstack([as_bytes(halves(scale)), _paired(numbers)])


def _pack_q4_1(x: Array) -> Array:
    least = x.min(-1, keepdims=True)
    scale = (x.max(-1, keepdims=True) - least) / np.float32(15)
    numbers = _numbers((x - least) * _inverse(scale) + np.float32(0.5), 15)
    return np.hstack([as_bytes(halves(scale)), as_bytes(halves(least)), _paired(numbers)])


def _pack_q5_0(x: Array) -> Array:
    scale = _extreme(x) / np.float32(-16)
    numbers = _numbers(x * _inverse(scale) + np.float32(16.5), 31)
    fifth = np.packbits(numbers >> 4, axis=-1, bitorder="little")
    return np.hstack([as_bytes(halves(scale)), fifth, _paired(numbers)])


PACK: Final[dict[str, Callable[[Array], Array]]] = {
    "q8_0": _pack_q8_0,
    "q4_0": _pack_q4_0,
    "q4_1": _pack_q4_1,
    "q5_0": _pack_q5_0,
    "q4_k": pack_q4_k,
    "q6_k": pack_q6_k,
}
