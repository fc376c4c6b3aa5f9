"""Cases of `ops/nn/resizing`: every method at more and fewer pixels, patches, and channels as pixels.

The oracle multiplies each axis by a matrix of weights, entry by entry of which is what the method says.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.nn.resizing import FAMILY
from tg.plugin.case import Case, Input, any_dtype, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

VIEWS: Final = ("C", "reversed")
FLOATS: Final = ("float32", "float64")


def triangle(r: float) -> float:
    """1 at 0, and 0 from 1 on."""
    return max(0.0, 1 - abs(r))


def cubic(r: float, slope: float) -> float:
    """Keys's kernel."""
    r = abs(r)
    if r <= 1:
        return ((slope + 2) * r - (slope + 3)) * r * r + 1
    return (((r - 5) * r + 8) * r - 4) * slope if r < 2 else 0.0


def weights(n: int, m: int, method: str, *, antialias: bool, convention: str) -> Any:
    """The matrix (m, n) of one axis."""
    matrix = np.zeros((m, n))
    for i in range(m):
        middle = (i + 0.5) * n / m - 0.5
        if method == "nearest":
            matrix[i, i * n // m if convention == "torch" else math.floor((i + 0.5) * n / m)] = 1
            continue
        scale = max(n / m, 1.0) if antialias else 1.0
        slope = -0.5 if antialias or convention == "jax" else -0.75
        reach = range(-3, n + 3) if not antialias else range(n)
        for j in reach:
            r = (j - middle) / scale
            weight = triangle(r) if method == "bilinear" else cubic(r, slope)
            is_outside = not 0 <= j < n
            if not (is_outside and convention == "jax" and method == "bicubic"):
                matrix[i, min(max(j, 0), n - 1)] += weight
        matrix[i] /= matrix[i].sum()
    return matrix


def resized(x: Any, size: tuple[int, ...], method: str, **options: Any) -> Any:
    """Each axis multiplied by its matrix."""
    y = x.astype(np.float64) if x.dtype.kind != "c" else x
    for k, m in enumerate(size):
        matrix = weights(x.shape[k + 2], m, method, **options)
        y = np.moveaxis(np.tensordot(matrix, y, (1, k + 2)), 0, k + 2)
    return y


def sizes() -> Iterator[Case]:
    """More pixels along one axis and fewer along the other."""
    for method, antialias, convention in itertools.product(
        ("nearest", "bilinear", "bicubic"), (False, True), ("torch", "jax")
    ):
        if antialias and (method == "nearest" or convention == "jax"):
            continue
        options: dict[str, Any] = {"antialias": antialias, "convention": convention}
        yield Case(
            lambda x, method=method, options=options: tg.nn.resize(x, (7, 2), method, **options),
            [any_dtype(1, 2, 4, 5)],
            name=f"resize {method}{' antialias' * antialias} as {convention}",
            dtypes=FLOATS,
            layouts=VIEWS,
            oracle=lambda x, method=method, options=options: resized(x, (7, 2), method, **options).astype(x.dtype),
            condition=lambda x: np.full((1, 2, 7, 2), 16 * abs(x).max(initial=0)),
            accuracy=1,
            gradient=True,
            analytic=True,
        )


def columns(x: Any) -> Any:
    """The windows (2, 2) of images by 1, channel by channel."""
    h, w = x.shape[2:]
    parts = [x[:, :, i : i + h - 1, j : j + w - 1] for i in (0, 1) for j in (0, 1)]
    return np.stack(parts, 2).reshape(x.shape[0], -1, (h - 1) * (w - 1))


def counted(x: Any) -> Any:
    """Each pixel as often as windows (2, 2) read it."""
    h, w = x.shape[2:]
    rows, others = (np.minimum(np.minimum(np.arange(n) + 1, n - np.arange(n)), 2) for n in (h, w))
    return x * rows[:, None] * others


def shuffled(x: Any) -> Any:
    """Blocks of four pixels of four channels."""
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


WRITTEN: Final = (
    Case(
        lambda x: tg.nn.resize(x, (None, 5), layout="NHWC"),
        [Input("uint8", (1, 3, 4, 2))],
        name="resize of integers with channels behind",
        oracle=lambda x: x[:, :, np.arange(5) * 4 // 5],
    ),
    Case(
        lambda x: (tg.nn.unfold(x, 2), tg.nn.fold(tg.nn.unfold(x, 2), (3, 4), 2)),
        [f64(2, 2, 3, 4)],
        name="unfold and fold",
        oracle=lambda x: (columns(x), counted(x)),
        gradient=True,
    ),
    Case(
        lambda x: (tg.nn.pixel_shuffle(x, 2), tg.nn.pixel_unshuffle(tg.nn.pixel_shuffle(x, 2), 2)),
        [f64(1, 8, 2, 3)],
        name="pixel_shuffle and back",
        oracle=lambda x: (shuffled(x), x),
        gradient=True,
    ),
    Case(lambda x: tg.nn.unfold(x, 3), [f64(1, 1, 2, 4)], name="unfold of a larger window", raises=ShapeError),
    Case(lambda x: tg.nn.resize(x, 0), [f64(1, 1, 2, 4)], name="resize to nothing", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, sizes(), WRITTEN)
