"""Cases of `ops/nn/encodings`: rows of tables and their gradients, sines, rotations in both orders."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DtypeError, InputError
from tg.ops.nn.encodings import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed, i64
from tg_conformance.cases.family import HALVES, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING

PLACES: Final = [[2, 0, 1], [1, 1, 2]]


def _sums(i: Any, w: Any, y: Any) -> Any:
    """The gradient of sum(w[i] * y), without the rows that pad."""
    gradient = np.zeros(w.shape, w.dtype)
    np.add.at(gradient, i, y * (i != 1)[..., None])
    return gradient


def _angles(p: Any, n: int, base: float = 10000.0) -> Any:
    return p[..., None] * base ** (-np.arange(0, n, 2) / n)


def _encoded(p: Any, n: int, *, interleaved: bool) -> Any:
    both = np.sin(_angles(p, n)), np.cos(_angles(p, n))
    return np.stack(both, -1).reshape(*p.shape, n) if interleaved else np.concatenate(both, -1)


def _rotated(x: Any, p: Any, n: int | None = None, *, interleaved: bool = False) -> Any:
    """By products of complex numbers."""
    n = n or x.shape[-1]
    half = n // 2
    a, b = (x[..., :n:2], x[..., 1:n:2]) if interleaved else (x[..., :half], x[..., half:n])
    z = (a + 1j * b) * np.exp(1j * _angles(p, n))
    turned = np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], n) if interleaved else None
    return np.concatenate([np.concatenate([z.real, z.imag], -1) if turned is None else turned, x[..., n:]], -1)


WRITTEN: Final = (
    Case(
        lambda i, w: tg.nn.embedding(i, w, padding_idx=1),
        [fixed(PLACES, "int32"), any_dtype(3, "n")],
        name="embedding",
        dtypes=("float32", "float64", "int64"),
        oracle=lambda i, w: w[i],
        accuracy=0,
    ),
    Case(
        lambda i, w, y: tg.grad(tg.sum(tg.nn.embedding(i, w, padding_idx=-2) * y), w),
        [fixed(PLACES, "int64"), f64(3, "n"), f64(2, 3, "n")],
        name="gradient of embedding",
        condition=lambda i, w, y: np.full(w.shape, 12.0),
        oracle=_sums,
    ),
    Case(tg.nn.embedding, [fixed([0, 3], "int64"), f64(3, 2)], name="an index behind the table", raises=BoundsError),
    Case(tg.nn.embedding, [fixed([0, -1], "int8"), f64(3, 2)], name="an index before the table", raises=BoundsError),
    Case(tg.nn.embedding, [f64(2), f64(3, 2)], name="rows at numbers", raises=DtypeError),
    Case(
        tg.nn.embedding,
        [fixed([], "int64"), f64(0, 2)],
        name="no rows of an empty table",
        oracle=lambda i, w: np.zeros((0, 2)),
    ),
    Case(
        lambda p: (tg.nn.sinusoidal_encoding(p, 6), tg.nn.sinusoidal_encoding(p, 4, interleaved=False)),
        [i64("n", values=lambda draws, dtype, shape: draws.integers(0, 500, shape))],
        name="sines of positions",
        condition=lambda p: (500, 500),
        oracle=lambda p: (
            _encoded(p.astype(float), 6, interleaved=True),
            _encoded(p.astype(float), 4, interleaved=False),
        ),
    ),
    Case(
        tg.nn.rotary,
        [any_dtype(2, "n", 6)],
        name="rotary",
        dtypes=FLOATING,
        gradient=True,
        layouts=("C", "transposed"),
        condition=lambda x: 16 * x.shape[1],
        oracle=lambda x: _rotated(x, np.arange(x.shape[1])),
    ),
    Case(
        lambda x, p: (tg.nn.rotary(x, p, interleaved=True), tg.nn.rotary(x, p, features=4)),
        [f64(2, "n", 6), f64("n", low=0.0, high=50.0)],
        name="rotary of neighbours, and of the first features",
        layouts=("C",),
        condition=lambda x, p: (500, 500),
        oracle=lambda x, p: (_rotated(x, p, interleaved=True), _rotated(x, p, 4)),
    ),
    Case(
        lambda x: tg.nn.rotary(x, interleaved=True),
        [any_dtype(50, 4)],
        name="rotary of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(lambda x: (_rotated(x, np.arange(50), interleaved=True),)),
    ),
    Case(tg.nn.rotary, [f64(2, 5, static=True)], name="rotary of an odd number", raises=InputError),
    Case(
        lambda h: h * tg.nn.alibi_slopes(6),
        [f64(6)],
        name="slopes of heads",
        oracle=lambda h: h * np.array([0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
