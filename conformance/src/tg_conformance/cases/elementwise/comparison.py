"""Cases of `ops/elementwise/comparison`: comparison, logic and choice; what is not chosen never leaks."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.comparison import FAMILY
from tg.plugin.case import Case, any_dtype, b1, f64, fixed, i32
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family


def _compared(ufunc: Any, python: Any) -> Facts:
    return Facts(Oracle(ufunc, python))


FACTS: Final = {
    tg.equal: _compared(np.equal, operator.eq),
    tg.not_equal: _compared(np.not_equal, operator.ne),
    tg.less: _compared(np.less, operator.lt),
    tg.less_equal: _compared(np.less_equal, operator.le),
    tg.greater: _compared(np.greater, operator.gt),
    tg.greater_equal: _compared(np.greater_equal, operator.ge),
    tg.logical_and: _compared(np.logical_and, lambda x, y: bool(x and y)),
    tg.logical_or: _compared(np.logical_or, lambda x, y: bool(x or y)),
    tg.logical_xor: _compared(np.logical_xor, lambda x, y: bool(x) != bool(y)),
    tg.logical_not: _compared(np.logical_not, lambda x: not x),
    tg.isnan: _compared(np.isnan, lambda x: False),
    tg.isinf: _compared(np.isinf, lambda x: False),
    tg.isfinite: _compared(np.isfinite, lambda x: True),
    tg.signbit: Facts(Oracle(np.signbit), traps=("T27",)),
    tg.where: Facts(Oracle(np.where, lambda c, x, y: x if c else y)),
}

EDGES: Final = [-1.0, 0.0, 2.0, 1e-300]


def safe_log(x: Any) -> Any:
    """Log x where x is positive, else 0."""
    return tg.where(x > 0, tg.log(x), 0.0)


WRITTEN: Final = (
    Case(
        lambda x: tg.grad(tg.sum(safe_log(x)), x),
        [fixed(EDGES)],
        name="grad of a branch not taken",
        traps=("T70",),
        oracle=lambda x: np.where(x > 0, 1 / np.where(x > 0, x, 1), 0),
    ),
    Case(safe_log, [fixed(EDGES)], name="branch not taken", oracle=lambda x: np.log(np.where(x > 0, x, 1))),
    Case(
        lambda x: tg.grad(tg.sum(tg.where(x > 0, tg.sqrt(x), x * x)), x),
        [fixed([0.0, 4.0, -1.0])],
        name="grad of sqrt not taken",
        traps=("T70",),
        oracle=lambda x: np.array([0.0, 0.25, -2.0]),
    ),
    Case(
        lambda c, x, y: tg.grad(tg.sum(tg.where(c, x, tg.cast(y, "float64"))), x),
        [b1("n"), f64("n"), i32("n")],
        name="grad of where with integers",
        traps=("T10",),
        oracle=lambda c, x, y: c.astype(float),
    ),
    Case(
        tg.where,
        [b1("n", "m"), f64("m"), f64()],
        name="where broadcast",
        traps=("T59",),
        oracle=np.where,
        gradient=True,
    ),
    Case(
        lambda x: tg.where(x, x, -1),
        [i32("n", "m")],
        name="where an integer differs from 0",
        oracle=lambda x: np.where(x != 0, x, -1),
    ),
    Case(
        lambda x, y: (tg.where(np.array([True, False, True]), x, y), tg.where(True, x, y), tg.where(False, x, y)),
        [f64("n", 3, static=True), f64(3, static=True)],
        name="where of a known condition",
        traps=("T59",),
        oracle=lambda x, y: (np.where([True, False, True], x, y), x, np.broadcast_to(y, x.shape)),
        gradient=True,
    ),
    Case(
        lambda x, y: (x == y, x < y),
        [i32("n"), f64("n")],
        name="comparing integers with floats",
        oracle=lambda x, y: (x == y, x < y),
    ),
)

NUMBERS: Final = [1.0, 1.0 + 1e-9, 1.0 + 1e-4, np.inf, -np.inf, np.inf, np.nan, 0.0, 1e-9, np.nan, 1e300]
OTHERS: Final = [1.0, 1.0, 1.0, np.inf, np.inf, 1.0, np.nan, -0.0, 0.0, 1.0, -1e300]

FUNCTIONS: Final = (
    Case(
        lambda c, x: (x * tg.where(c, np.float32(0.1), np.float32(2)), x / tg.where(c, 3, 1), tg.where(c, x, 1) * 0.1),
        [b1("n"), f64("n")],
        name="products with a choice of narrower constants",
        traps=("T17",),
        oracle=lambda c, x: (
            x * np.where(c, np.float32(0.1), 2).astype(float),
            x / np.where(c, 3, 1),
            np.where(c, x, 1) * 0.1,
        ),
    ),
    Case(
        lambda x: (
            tg.where(x > 0, np.nan, x),
            tg.where(x > 0, x, np.nan) + np.nan,
            tg.maximum(x, np.nan),
            tg.isnan(tg.constant([np.nan, 1.0])[0] * x),
            tg.minimum(x, np.inf) - tg.maximum(x, -np.inf),
        ),
        [f64("n")],
        name="constants that are NaN or infinite",
        traps=("T30",),
        oracle=lambda x: (
            np.where(x > 0, np.nan, x),
            x * np.nan,
            x * np.nan,
            np.full(x.shape, True),
            x - x,
        ),
    ),
    Case(
        lambda x, y: (tg.isclose(x, y), tg.isclose(x, y, equal_nan=True), tg.isclose(x, y, rtol=1e-12, atol=0.0)),
        [fixed(NUMBERS), fixed(OTHERS)],
        name="isclose",
        oracle=lambda x, y: (
            np.isclose(x.astype(float), y.astype(float)),
            np.isclose(x.astype(float), y.astype(float), equal_nan=True),
            np.isclose(x.astype(float), y.astype(float), rtol=1e-12, atol=0),
        ),
    ),
    Case(
        lambda x, y: (tg.isclose(x, y), tg.allclose(x, y), tg.allclose(x, x)),
        [any_dtype("n"), any_dtype("n")],
        name="isclose of dtypes",
        dtypes=("bool", "int8", "uint8", "int64", "float32", "complex64"),
        oracle=lambda x, y: (np.isclose(x * 1, y * 1), np.allclose(x * 1, y * 1), True),
    ),
    Case(
        lambda x, y, z: (
            tg.array_equal(x, y),
            tg.array_equal(x, x),
            tg.array_equal(x, z),
            tg.array_equal(z, z[:-1]),
            tg.array_equal(x, tg.sum(x)),
        ),
        [f64("n"), f64("m"), f64("n")],
        name="array_equal",
        note="arrays of different lengths are not equal, and no error",
        oracle=lambda x, y, z: tuple(map(np.asarray, (False, True, False, False, False))),
    ),
    Case(
        lambda x: (tg.array_equal(x, x), tg.array_equal(x, x, equal_nan=True)),
        [fixed([1.0, np.nan])],
        name="array_equal with NaN",
        oracle=lambda x: (np.asarray(False), np.asarray(True)),
    ),
    Case(
        lambda x: (tg.nan_to_num(x), tg.nan_to_num(x, nan=7.0, posinf=1.0, neginf=-2.0)),
        [fixed([np.nan, np.inf, -np.inf, 0.5, -0.0], None)],
        name="nan_to_num",
        dtypes=("float32", "float64", "complex64"),
        accuracy=0,
        oracle=None,
    ),
    Case(
        lambda x: (tg.nan_to_num(x), tg.grad(tg.sum(tg.nan_to_num(x) * x), x)),
        [fixed([np.nan, np.inf, -np.inf, 0.5, -2.0])],
        name="grad of nan_to_num",
        accuracy=0,
        oracle=lambda x: (
            np.nan_to_num(x.astype(float)),
            np.array([0.0, np.finfo(float).max, np.finfo(float).min, 1.0, -4.0]),
        ),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN, FUNCTIONS)
