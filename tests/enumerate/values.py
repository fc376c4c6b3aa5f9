"""The arrays that programs are tried on: ordinary ones, hostile ones by dtype, and such with infinities."""

from __future__ import annotations

import functools

import numpy as np

from tests.fuzz.noise import is_inexact, limits
from tg.types.dtypes import is_integer, numpy_dtype

TAME = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -2.0, 0.1, -3.0, 0.3, 0.7, 1.3, 3.0, -0.7)
WIDE = (9.0, -7.0, 20.0, -20.0)


@functools.cache
def tame(dtype):
    """Ordinary values, with ties and zeros."""
    if dtype == "bool":
        return np.array([True, False])
    if is_integer(dtype):
        values = (0, 1, 2, 3, 4, 5, -1, -2, -5, 7)
        return np.array([v for v in values if v >= np.iinfo(dtype).min], dtype)
    kind = numpy_dtype(dtype)
    if kind.kind == "c":
        return np.array([complex(a, b) for a in (0.0, 1.0, -1.5, 0.3) for b in (0.0, -2.0, 0.7)], kind)
    return np.array((*TAME, *(() if kind.itemsize == 2 else WIDE))).astype(kind)


@functools.cache
def hostile(dtype):
    """Finite values at which rewrites go wrong, and NaN."""
    if dtype == "bool":
        return np.array([True, False])
    if is_integer(dtype):
        info = np.iinfo(dtype)
        w = info.bits
        values = [0, 1, 2, 3, 5, 7, w // 2, w - 1, w, info.max, info.max - 1, info.max // 2 + 1, info.min, info.min + 1]
        values += [-1, -2, -3, -7, 1 << (w // 2), info.max // 3]
        return np.array(list(dict.fromkeys(v for v in values if info.min <= v <= info.max)), dtype)
    kind = numpy_dtype(dtype)
    info = limits(kind)
    if kind.kind == "c":
        root = info.largest**0.6
        parts = (0.0, -0.0, 1.0, -1.5, root, info.tiny)
        return np.array([*(complex(a, b) for a in parts for b in parts), complex(np.nan, 0)], kind)
    edges = (info.tiny, -info.tiny, info.least, -3 * info.least, info.largest, -info.largest, info.largest / 3)
    edges += (info.largest**0.97, -(info.largest**0.6), info.largest**0.4, info.tiny**0.5 / 2, info.tiny**0.3)
    edges += (90.0, -90.0, 800.0, -800.0, 2.0**31, 1 - info.eps / 2, 1 + info.eps, np.nan)
    with np.errstate(all="ignore"):
        found = np.array(edges).astype(kind)
    return found[~np.isinf(found.astype(np.float64))]


@functools.cache
def infinite(dtype):
    """What is infinite, and what it meets."""
    kind = numpy_dtype(dtype)
    if kind.kind == "c":
        return np.array([complex(a, b) for a in (np.inf, 0.0, 1.0, np.nan) for b in (-np.inf, -0.0, np.nan)], kind)
    if not is_inexact(kind):
        return hostile(dtype)
    return np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0, limits(kind).largest, limits(kind).least]).astype(
        kind
    )


def drawn(name, dtype, shape, rng):
    """An array of a dtype: of ordinary values, of hostile ones among them, or of infinities too."""
    easy = tame(dtype)
    if name == "tame":
        return rng.choice(easy, shape)
    hard = (hostile if name == "hostile" else infinite)(dtype)
    pick = rng.random(shape) < rng.choice((0.3, 0.8))
    return np.asarray(np.where(pick, rng.choice(hard, shape), rng.choice(easy, shape)), numpy_dtype(dtype))
