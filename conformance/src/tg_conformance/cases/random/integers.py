"""Cases of `ops/random/integers`: remainders in Python's integers, orders of every number of things."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DtypeError, ShapeError
from tg.ops.random.integers import FAMILY
from tg.plugin.case import Case, fixed
from tg.types.dtypes import INTEGERS
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number, threefry

KEY: Final = fixed([2718281828, 3141592653], "uint32")


def _integers(key: Any, low: int, high: int, shape: tuple[int, ...], dtype: str) -> Any:
    """low plus the remainder of numbers of twice the width, high words first, the last products wrapping."""
    limits = np.iinfo(dtype)
    width = max(32, limits.bits)
    low, high = (min(max(v, int(limits.min)), int(limits.max) + 1) for v in (low, high))
    span = max(high - low, 1)
    first, second = (bits(threefry(number(key), k), shape, width).astype(object) for k in range(2))
    mask = (1 << width) - 1
    weight = ((1 << width // 2) % span) ** 2 & mask
    offsets = second if span > mask else ((first % span) * (weight % span) + second % span & mask) % span
    return np.asarray(offsets + low, object).astype(dtype)


def _order(key: Any, n: int, sorts: int) -> Any:
    order, at = np.arange(n), number(key)
    for _ in range(sorts):
        at, own = threefry(at, 0), threefry(at, 1)
        order = order[np.argsort(bits(own, (n,), 32), kind="stable")]
    return order


def _units(key: Any, n: int) -> Any:
    return np.ldexp((bits(number(key), (n,), 64) >> 12).astype(np.float64), -52)


def _weighted(key: Any, p: Any, count: int) -> Any:
    """The first places up to which the weights sum up to as much."""
    return np.searchsorted(np.cumsum(p), np.sum(p) * (1 - _units(key, count)))


SPANS: Final = tuple(
    (low, high, dtype)
    for dtype in INTEGERS
    for limits in [np.iinfo(dtype)]
    for low, high in (
        (0, 10),
        (3, 3),
        (100, -100),
        (int(limits.min), int(limits.max)),
        (int(limits.min), int(limits.max) + 1),
        (int(limits.max), int(limits.max) + 1),
        (1, int(limits.max) + 1),
    )
)

WRITTEN: Final = (
    *(
        Case(
            lambda key, spans=spans: tuple(
                tg.random.integers(key, low, high, shape=(6,), dtype=dtype) for low, high, dtype in spans
            ),
            [KEY],
            name=f"integers {dtype}",
            oracle=lambda key, spans=spans: tuple(_integers(key, low, high, (6,), dtype) for low, high, dtype in spans),
        )
        for dtype in INTEGERS
        for spans in [[s for s in SPANS if s[2] == dtype]]
    ),
    Case(
        lambda key, low, high: (
            tg.random.integers(key, low, high),
            tg.random.integers(key, low, high, shape=(2, 4), dtype="int16"),
            tg.random.integers(key, low[0], high, dtype="uint64"),
        ),
        [KEY, fixed([0, -5, 7, -(1 << 63)], "int64"), fixed([10, 5, 7, (1 << 63) - 1], "int64")],
        name="integers between limits that are arrays",
        oracle=lambda key, low, high: (
            _each(key, low, high, (4,), "int64"),
            _each(key, low, high, (2, 4), "int16"),
            _each(key, np.full(4, low[0]), high, (4,), "uint64"),
        ),
    ),
    Case(
        lambda key, x: (
            tg.random.permutation(key, x),
            tg.random.permutation(key, x, axis=1),
            tg.random.permutation(key, 1),
            tg.random.permutation(key, 0),
        ),
        [KEY, fixed(np.arange(35).reshape(7, 5).tolist(), "int32")],
        name="permutation",
        oracle=lambda key, x: (
            x[_order(key, 7, 1)],
            x[:, _order(key, 5, 1)],
            np.zeros(1, np.int64),
            np.zeros(0, np.int64),
        ),
    ),
    Case(
        tg.random.permutation,
        [KEY, fixed(1700, "int64")],
        name="permutation of a length that is known late",
        oracle=lambda key, n: _order(key, int(n), 2),
    ),
    Case(
        lambda key, x: (
            tg.random.choice(key, x, (9,)),
            tg.random.choice(key, 100, (2, 3), replace=False),
            tg.random.choice(key, x, (2,), replace=False),
        ),
        [KEY, fixed([5.0, 6.0, 7.0])],
        name="choice",
        oracle=lambda key, x: (
            x[_integers(key, 0, 3, (9,), "int64")],
            _order(key, 100, 1)[:6].reshape(2, 3),
            x[_order(key, 3, 1)[:2]],
        ),
    ),
    Case(
        lambda key, x, p: (
            tg.random.choice(key, x, (9,), p=p),
            tg.random.choice(key, x, (3,), p=p, replace=False),
            tg.random.choice(key, 4, (9,), p=p),
            tg.random.shuffle(key, x),
        ),
        [KEY, fixed([5.0, 6.0, 7.0, 8.0]), fixed([0.3, 0.1, 0.05, 0.55])],
        name="choice by weights",
        oracle=lambda key, x, p: (
            x[_weighted(key, p, 9)],
            x[np.argsort(-(np.log(p) - np.log(-np.log(_units(key, 4)))), kind="stable")[:3]],
            _weighted(key, p, 9),
            x[_order(key, 4, 1)],
        ),
        layouts=("C",),
    ),
    Case(
        lambda key, n: tg.random.choice(key, n, (4,), replace=False),
        [KEY, fixed(3, "int64")],
        name="choice of more than there is",
        raises=ShapeError,
    ),
    Case(
        lambda key, n: tg.random.choice(key, n, (4,)),
        [KEY, fixed(0, "int64")],
        name="choice of nothing",
        raises=BoundsError,
    ),
    Case(lambda key: tg.random.integers(key, 0.5, 3), [KEY], name="integers from a float on", raises=DtypeError),
)


def _each(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Each element by its own limits."""
    drawn = [
        _integers(key, int(a), int(b), shape, dtype)[..., k] for k, (a, b) in enumerate(zip(low, high, strict=True))
    ]
    return np.stack(drawn, -1)


CASES: Final = of_family(FAMILY.path, WRITTEN)
