"""Cases of `ops/statistics`: means and spreads over every axis, masks, NaN, weights, covariances."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.statistics import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, hundreds, of_family, rounded_once, twin
from tg_conformance.cases.reduction import FLOATING, Reduction, average_terms, over_axes, sum_terms

NAN: Final = float("nan")
HOLES: Final = [[1.0, NAN, 2.5, -3.0], [NAN, NAN, 0.5, 4.0], [2.0, -1.0, NAN, 7.0]]
NONE: Final = [[NAN, 1.0], [NAN, 3.0]]


def spread_terms(x: Any, axis: Any = None) -> Any:
    """The size of the squares of which a variance is made."""
    return np.sum(x * x, axis=axis) * (x.size + 1)


REDUCTIONS: Final = (
    Reduction(
        tg.mean,
        np.mean,
        ("bool", "int32", "uint8", "float16", *FLOATING, "complex128"),
        terms=average_terms,
        gradient=True,
    ),
    Reduction(tg.var, np.var, ("int32", *FLOATING), terms=spread_terms, gradient=True),
)

WRITTEN: Final = (
    Case(
        lambda x: tg.std(x, ddof=1),
        [f64("n", "m")],
        name="std ddof",
        oracle=lambda x: np.std(x, ddof=1),
        gradient=True,
        condition=lambda x: x.size,
    ),
    Case(
        lambda x: tg.var(x, 0),
        [fixed([[1e8 + 1.0, 3.0], [1e8 + 2.0, 3.0], [1e8 + 4.0, 3.0]])],
        name="var far from 0",
        oracle=lambda x: np.var(x, 0),
        condition=lambda x: np.var(x, 0) * 100,
    ),
    twin(
        "mean and var with where",
        lambda m, x: (m.mean(x, 1, where=x > -2), m.var(x, 0, where=x > -2.5), m.std(x, where=x > 0)),
        f64("n", "m"),
        condition=lambda x: (average_terms(x, 1) * x.shape[1], spread_terms(x, 0), 8 * x.size),
    ),
    twin(
        "gradient of mean and var with where",
        lambda m, x, y: (m.mean(x, 0, where=y > 0), m.std(x, where=y > 0, ddof=1)),
        f64(3, 2),
        fixed([[1.0, 1.0], [-1.0, 1.0], [2.0, -1.0]], differentiate=False),
        gradient=True,
        condition=lambda x, y: (8, 8 * x.size),
    ),
    twin(
        "var of complex",
        lambda m, x: (m.var(x, 0), m.std(x)),
        any_dtype("n", "m"),
        dtypes=("complex64", "complex128"),
        condition=lambda x: (spread_terms(abs(x), 0), 8 * x.size),
    ),
    twin("mean in a dtype", lambda m, x: m.mean(x, dtype="float32"), fixed([1, 2, 4], "int8")),
    twin(
        "var with a mean",
        lambda m, x: m.var(x, 1, mean=m.mean(x, 1, keepdims=True), correction=1),
        f64("n", "m"),
        condition=lambda x: spread_terms(x, 1),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.std(x, 1)), x),
        [fixed([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])],
        name="grad of std of constants",
        traps=("T69",),
        oracle=lambda x: np.array([[0, 0, 0], [-1, 0, 1]]) / (3 * np.sqrt(2 / 3)),
    ),
    twin(
        "without nan",
        lambda m, x: (
            m.nansum(x, 0),
            m.nanprod(x, 1),
            m.nanmax(x, 1),
            m.nanmin(x),
            m.nanmean(x, 0),
            m.nanvar(x, 1),
            m.nanstd(x),
        ),
        fixed(HOLES),
    ),
    Case(
        lambda x: (tg.nanmax(x, 0), tg.nanmin(x, 0), tg.nanmean(x, 0), tg.nansum(x, 0)),
        [fixed(NONE)],
        name="nothing but nan",
        oracle=lambda x: (np.array([NAN, 3.0]), np.array([NAN, 1.0]), np.array([NAN, 2.0]), np.array([0.0, 4.0])),
    ),
    Case(
        lambda x: tg.grad(tg.nanmean(x) + tg.nanmax(x), x),
        [fixed([1.0, NAN, 3.0])],
        name="grad without nan",
        oracle=lambda x: np.array([0.5, 0.0, 1.5]),
    ),
    twin(
        "slopes without nan",
        lambda m, x: (
            *(m.nansum(x, 0), m.nanprod(x, 1), m.nanmean(x, 0), m.nanvar(x, 1), m.nanstd(x)),
            *(m.nancumsum(x, 0), m.nancumprod(x, 1)),
        ),
        f64(3, 4),
        gradient=True,
    ),
    Case(
        lambda x, w: (
            *(tg.mean(x), tg.mean(x, 1), tg.nanmean(x), tg.average(x, 1, weights=w), tg.median(x)),
            *(tg.var(x, 0, ddof=1), tg.std(x), tg.std(x, 1), tg.nanstd(x)),
        ),
        [any_dtype(3, 700, values=hundreds), any_dtype(700, values=hundreds)],
        name="halves, whose sums and squares leave their range",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(
            lambda x, w: (
                *(np.mean(x), np.mean(x, 1), np.mean(x), np.average(x, 1, weights=w), np.median(x)),
                *(np.var(x, 0, ddof=1), np.std(x), np.std(x, 1), np.std(x)),
            )
        ),
    ),
    Case(
        lambda x: (tg.grad(1000 * tg.mean(x), x), tg.grad(1000 * tg.std(x), x)),
        [any_dtype(2000, values=hundreds)],
        name="gradients of the mean and the spread of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        condition=lambda x: (np.full(len(x), 0.5), np.full(len(x), 0.5)),
        oracle=rounded_once(lambda x: (np.full(len(x), 0.5), (x - np.mean(x)) / np.std(x) / 2)),
    ),
    Case(
        lambda x: (tg.cov(x), tg.corrcoef(x)),
        [any_dtype(3, 500, values=hundreds)],
        name="covariances of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        condition=lambda x: (np.full((3, 3), 4000), np.ones((3, 3))),
        oracle=rounded_once(lambda x: (np.cov(x), np.corrcoef(x))),
    ),
    twin(
        "average",
        lambda m, x, w: (m.average(x, 1, weights=w), *m.average(x, weights=x * x, returned=True)),
        f64("n", "m"),
        f64("m", low=0.5),
        gradient=True,
        condition=lambda x, w: (sum_terms(x, 1), sum_terms(x), sum_terms(x * x)),
    ),
    Case(
        lambda x, w: tg.average(x, 1, weights=w),
        [f64(3, 4), fixed([2.0])],
        name="average with one weight for all",
        raises=ShapeError,
    ),
    twin(
        "nanvar and nanstd of too few",
        lambda m, x: (m.nanvar(x, 1, ddof=2), m.nanstd(x, 0, ddof=1), m.nanvar(x, ddof=9)),
        fixed(HOLES),
    ),
    Case(lambda x: tg.mean(x, dtype="int8"), [f64("n")], name="mean in an integer dtype", raises=DtypeError),
    twin("average of integers", lambda m, x: m.average(x, 0), fixed([[1, 2], [4, 9]], "int32")),
    twin(
        "cov",
        lambda m, x: (m.cov(x), m.cov(x, rowvar=False, bias=True), m.cov(x[0])),
        f64("p", "m"),
        gradient=True,
        condition=lambda x: (8 * x.size, 8 * x.size, 8 * x.size),
    ),
    twin(
        "cov with weights",
        lambda m, x, y: m.cov(x, y, ddof=0, fweights=np.array([1, 2, 1, 3]), aweights=np.array([0.5, 1.0, 2.0, 0.25])),
        f64("p", 4),
        f64(4),
        condition=lambda x, y: 8 * x.size,
    ),
    twin(
        "cov of complex",
        lambda m, x: m.cov(x),
        any_dtype("p", "m"),
        dtypes=("complex128",),
        condition=lambda x: 32 * x.size,
    ),
    twin("corrcoef", lambda m, x: m.corrcoef(x), f64("p", "m"), condition=lambda x: 8 * x.size),
)

CASES: Final = of_family(FAMILY.path, over_axes(REDUCTIONS), WRITTEN)
