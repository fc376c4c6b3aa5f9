"""Fourier transforms, as products with matrices of cosines and sines, and what goes with them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg_onnx.reading.elements import element
from tg_onnx.reading.values import Value

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

LONGEST: Final = 4096  # of a transform: its matrices have the square of that


@functools.cache
def _angles(rows: int, columns: int, n: int) -> np.ndarray[Any, Any]:
    """Angles 2 pi j k / n, of products taken modulo n so that they stay exact."""
    return np.asarray(2 * np.pi / n * (np.outer(np.arange(rows), np.arange(columns)) % n))


def transformed(x: Variable, n: int, *, inverse: bool = False, onesided: bool = False) -> Variable:
    """The transform of x (..., n, 1 or 2) over the axis before the last, to (..., k, 2); in float64, as sums cancel."""
    dtype, x = x.dtype, tg.cast(x, "float64")
    count = n // 2 + 1 if onesided else n
    angles = _angles(count, n, n)
    scale, sign = (1 / n, 1.0) if inverse else (1.0, -1.0)
    cos = tg.constant(np.cos(angles) * scale)
    sin = tg.constant(sign * np.sin(angles) * scale)
    real = tg.matmul(x[..., 0], tg.transpose(cos))
    imaginary = tg.matmul(x[..., 0], tg.transpose(sin))
    if x.type.shape[-1] == 2:
        real = real - tg.matmul(x[..., 1], tg.transpose(sin))
        imaginary = imaginary + tg.matmul(x[..., 1], tg.transpose(cos))
    return tg.cast(tg.stack([real, imaginary], -1), dtype)


def _real_inverse(x: Variable, n: int) -> Variable:
    """The real signal of length n whose transform has x (..., n // 2 + 1, 2) as its first half."""
    count = n // 2 + 1
    factor = np.full(count, 2.0 / n)
    factor[0] = 1 / n
    if n % 2 == 0:
        factor[-1] = 1 / n
    angles = _angles(n, count, n)
    cos = tg.constant(np.ascontiguousarray((np.cos(angles) * factor).T))
    sin = tg.constant(np.ascontiguousarray((np.sin(angles) * factor).T))
    wide = tg.cast(x, "float64")
    return tg.cast(tg.expand_dims(tg.matmul(wide[..., 0], cos) - tg.matmul(wide[..., 1], sin), -1), x.dtype)


def _of_length(node: Node, x: Variable, n: int) -> Variable:
    """x cut or filled with zeros to a length along the axis before the last."""
    length = x.type.shape[-2]
    if not isinstance(length, int) or n > LONGEST:
        node.refuse(f"a transform of length {n} of {x.type}", f"a static length of at most {LONGEST}")
    if length >= n:
        return x[..., :n, :]
    return tg.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, n - length), (0, 0)])


def _dft(node: Node) -> Variable:
    """The axis is an attribute until version 19, and operand 2 from 20 on."""
    x = node[0]
    axis = node.attr("axis", 1) if node.since < 20 else -2
    if node.since >= 20 and node.has(2):
        (axis,) = node.ints(2, "an axis")
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    moved = tg.moveaxis(x, axis, -2)
    length: Any = moved.shape[-2]
    n: Any = 2 * (length - 1) if inverse and onesided else length
    if node.has(1):
        (n,) = node.ints(1, "a length")
    if inverse and onesided:
        y = _real_inverse(_of_length(node, moved, n // 2 + 1), n)
    else:
        y = transformed(_of_length(node, moved, n), n, inverse=inverse, onesided=onesided)
    return tg.moveaxis(y, -2, axis)


def _stft(node: Node) -> Variable:
    """Transforms of frames of a signal, each times a window."""
    x = node[0]
    (step,) = node.ints(1, "a step")
    size: Any = node[2].type.shape[0] if node.has(2) else x.type.shape[1]
    if node.has(3):
        (size,) = node.ints(3, "a length")
    if not isinstance(size, int) or size > LONGEST:
        node.refuse(f"frames of length {size}", f"a static length of at most {LONGEST}")
    count = (x.shape[1] - size) // step + 1
    places = tg.expand_dims(tg.arange(count) * step, 1) + tg.arange(size)
    frames = tg.take(x, places, 1, mode="promise")
    if node.has(2):
        frames = frames * tg.reshape(node[2], (-1, 1))
    return transformed(frames, size, onesided=bool(node.attr("onesided", 1)))


def _mel(node: Node) -> Value:
    """Triangular weights on the mel scale, from numbers that are known now."""
    bands, length, rate = (int(node.static(k, "a number").reshape(())) for k in range(3))
    low, high = (float(node.static(k, "a frequency").reshape(())) for k in (3, 4))
    kind = element(node.attr("output_datatype", 1), node.place)
    count = length // 2 + 1
    if not 0 < bands * count <= LONGEST**2:
        node.refuse(f"{bands} bands of {count}", "a matrix that fits")
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mels = ends[0] + np.arange(bands + 2) * (ends[1] - ends[0]) / (bands + 2)
    bins = ((length + 1) * 700 * (10 ** (mels / 2595) - 1) // rate).astype(int)
    place = np.arange(count)[:, None]
    left, middle, right = bins[:-2], bins[1:-1], bins[2:]
    rising = np.where(middle == left, place == middle, (place - left) / np.maximum(middle - left, 1))
    falling = (right - place) / np.maximum(right - middle, 1)
    weights = np.where((place >= left) & (place <= middle), rising, 0)
    weights = np.where((place >= middle) & (place < right), falling, weights)
    return Value(tg.cast(tg.constant(weights.astype(np.float64)), kind.dtype), kind)


RULES: Final[Rules] = {"DFT": _dft, "MelWeightMatrix": _mel, "STFT": _stft}
