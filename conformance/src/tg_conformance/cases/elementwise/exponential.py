"""Cases of `ops/elementwise/exponential`: accuracy at the ends of the range, and what rewriting replaces."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.exponential import FAMILY
from tg.plugin.case import Case, any_dtype, f32, f64, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family


def _sigmoid(x: Any) -> Any:
    return (
        np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))
        if x.dtype.kind == "f"
        else 1 / (1 + np.exp(-x))
    )


def _softplus(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.log1p(np.exp(x))
    return np.where(np.isnan(x), x, np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def _power_size(function: Any) -> Any:
    """The condition of an exponential in the rounding of its argument, which matters where the argument is complex."""
    return lambda x: np.abs(function(x)) * (1 + np.abs(x) * (x.dtype.kind == "c"))


def _larger(x: Any, y: Any) -> Any:
    return np.maximum(np.abs(x), np.abs(y))


def _log1mexp(x: Any) -> Any:
    """log(1 - exp(x)), by the function that is exact on either side of -log(2)."""
    return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _xlogy(x: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))


def _xlogy_size(x: Any, y: Any) -> Any:
    """Beside the result what a rounding of the logarithm is times x."""
    return np.abs(x) * (1 + np.abs(np.log(np.abs(y) + (y == 0))))


def _xlog1py_size(x: Any, y: Any) -> Any:
    return _xlogy_size(x, 1 + y)


SMALL: Final = ((-5.0, 5.0),)
BELOW_0: Final = ((-4.0, -0.01),)


FACTS: Final = {
    tg.exp: floats_only(np.exp, condition=_power_size(np.exp), gradient=SMALL, analytic=True),
    tg.exp2: floats_only(np.exp2, condition=_power_size(np.exp2), gradient=SMALL),
    tg.expm1: floats_only(np.expm1, condition=_power_size(np.expm1), gradient=SMALL, analytic=True),
    tg.log: floats_only(np.log, gradient=((0.1, 9.0),), analytic=True),
    tg.log2: floats_only(np.log2, gradient=((0.1, 9.0),)),
    tg.log10: floats_only(np.log10, gradient=((0.1, 9.0),), analytic=True),
    tg.log1p: floats_only(np.log1p, gradient=((-0.8, 9.0),), analytic=True),
    tg.log1mexp: floats_only(_log1mexp, domains=BELOW_0, gradient=BELOW_0, traps=("T29",)),
    tg.logaddexp: floats_only(np.logaddexp, gradient=SMALL * 2, condition=_larger, traps=("T28",)),
    tg.sigmoid: floats_only(_sigmoid, gradient=SMALL, analytic=True, traps=("T10",)),
    tg.softplus: floats_only(_softplus, gradient=SMALL, analytic=True, traps=("T10",)),
    tg.xlogy: floats_only(_xlogy, domains=((-3.0, 3.0), (0.1, 9.0)), condition=_xlogy_size),
    tg.xlog1py: floats_only(_xlog1py, domains=((-3.0, 3.0), (-0.9, 9.0)), condition=_xlog1py_size),
    tg.matern_3_2: floats_only(
        lambda r, u: np.broadcast_arrays((1 + r) * np.exp(-r), u)[0],
        hostile_oracle=False,
        domains=((0.0, 9.0),) * 2,
        derivative=False,
    ),
    tg.matern_5_2: floats_only(
        lambda r, u: (1 + r + u / 3) * np.exp(-r), hostile_oracle=False, domains=((0.0, 9.0),) * 2, derivative=False
    ),
}

TINY: Final = [1e-20, -1e-20, 1e-9, 0.5, 3.0]
INFINITE: Final = [-np.inf, np.inf, -np.inf, 1.0, -1000.0, 1000.0]

WRITTEN: Final = (
    Case(
        lambda x: tg.log(1 + x),
        [fixed(TINY)],
        name="log of 1 + x",
        oracle=np.log1p,
        condition=lambda x: np.maximum(abs(x), 1),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.log(1 + x)), x),
        [fixed(TINY)],
        name="grad of log of 1 + x",
        oracle=lambda x: 1 / (1 + x),
    ),
    Case(
        lambda x: tg.exp(x) - 1, [fixed(TINY)], name="exp minus 1", oracle=np.expm1, condition=lambda x: np.exp(abs(x))
    ),
    Case(
        lambda x: 1 / (1 + tg.exp(-x)),
        [f64("n", "m")],
        name="sigmoid written out",
        oracle=_sigmoid,
        gradient=True,
        analytic=True,
    ),
    Case(
        lambda x: (1 / (tg.exp(x) + 2), 1 / (tg.exp(x) - 3)),
        [f64("n", high=-0.5)],
        name="sigmoid with another constant",
        traps=("T25",),
        oracle=lambda x: (1 / (np.exp(x) + 2), 1 / (np.exp(x) - 3)),
    ),
    Case(
        lambda x: tg.log(1 + tg.exp(x)),
        [f64("n", "m")],
        name="softplus written out",
        condition=np.ones_like,
        oracle=_softplus,
        gradient=True,
        analytic=True,
    ),
    Case(
        lambda x: tg.log(tg.sigmoid(x)),
        [f64("n", "m")],
        name="log of sigmoid",
        oracle=lambda x: -_softplus(-x),
        gradient=True,
        analytic=True,
        condition=lambda x: np.maximum(1, abs(x)),
    ),
    Case(
        lambda x: tg.log(tg.exp(x)),
        [f64("n", "m")],
        name="log of exp",
        oracle=lambda x: x,
        condition=lambda x: np.maximum(1, abs(x)),
    ),
    Case(
        lambda x: tg.log(tg.exp(x)),
        [fixed([1000.0, -1000.0, np.inf, -np.inf, np.nan, 0.0], None)],
        name="log of exp where it overflows",
        dtypes=("float32", "float64"),
        traps=("T24",),
        oracle=lambda x: np.array([np.inf, -np.inf, np.inf, -np.inf, np.nan, 0.0]),
    ),
    Case(
        lambda x: tg.log(x / 2),
        [fixed([2.0, 1.0, 3.0])],
        name="log of a half",
        traps=("T15",),
        oracle=lambda x: np.log(x / 2),
        condition=lambda x: np.abs(np.log(x / 2)),
    ),
    Case(
        lambda x: tg.log(x / 2),
        [fixed([2.0], "float32")],
        name="log of a half float32",
        traps=("T15",),
        accuracy=0,
        oracle=lambda x: np.zeros(1),
    ),
    Case(
        lambda x, y: (tg.logaddexp(x, y), tg.logaddexp(x, x)),
        [fixed(INFINITE), fixed(INFINITE[::-1])],
        name="logaddexp of infinities",
        traps=("T28",),
        oracle=lambda x, y: (np.logaddexp(x, y), np.logaddexp(x, x)),
    ),
    Case(
        lambda x: (tg.sigmoid(x), tg.softplus(x)),
        [any_dtype("n", values="integers", low=0, high=9)],
        name="sigmoid of integers",
        traps=("T10",),
        dtypes=("uint8", "int32"),
        oracle=None,
    ),
    Case(
        lambda x: (tg.exp(x), tg.log(x)),
        [any_dtype("n", values="integers", low=1, high=9)],
        name="exp of integers",
        dtypes=("bool", "uint8", "int8", "int32", "int64"),
        oracle=None,
    ),
    Case(
        lambda x: tg.grad(tg.sum(x * tg.log(x)), x),
        [f64("n", low=0.1)],
        name="grad of x log x",
        traps=("T69",),
        oracle=lambda x: np.log(x) + 1,
        condition=lambda x: np.abs(np.log(x)) + 1,
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.softplus(x)), x), x),
        [f64(4)],
        name="second derivative of softplus",
        accuracy=32,
        oracle=lambda x: np.diag(_sigmoid(x) * (1 - _sigmoid(x))),
        condition=lambda x: np.ones((4, 4)),
    ),
    Case(lambda x: tg.exp(x) * tg.exp(-x), [f32("n", "m")], name="exp times exp", oracle=np.ones_like, accuracy=8),
)


BELOW: Final = [-1e-300, -1e-20, -1e-9, -0.1, -0.69, -0.7, -3.0, -50.0, -800.0, -np.inf, 0.0, 1.0, np.nan]
FACTORS: Final = ([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, -1.5, np.inf], [0.0, -1.0, np.inf, np.nan, 0.0, 3.0, 0.25, 2.0])

FUNCTIONS: Final = (
    Case(
        tg.logit,
        [any_dtype("n", "m", low=0.001, high=0.999)],
        name="logit",
        dtypes=("float32", "float64"),
        oracle=lambda x: np.log(x) - np.log1p(-x),
        gradient=True,
        analytic=True,
    ),
    Case(
        lambda x: (tg.logit(x), tg.expit(tg.logit(x))),
        [fixed([0.0, 1.0, 0.5, 0.5 + 2.0**-40, 1e-300, 0.25, 0.75, -0.5, 1.5, np.nan])],
        name="logit at the ends and in the middle",
        oracle=lambda x: (np.log(x) - np.log1p(-x), np.where((x < 0) | (x > 1), np.nan, x)),
        condition=lambda x: (np.abs(np.log(x) - np.log1p(-x)), 1000 * np.abs(x)),
    ),
    Case(
        tg.log_sigmoid,
        [any_dtype("n", "m", low=-90, high=90)],
        name="log_sigmoid",
        dtypes=("float32", "float64"),
        oracle=lambda x: -_softplus(-x),
        gradient=True,
    ),
    Case(
        tg.log1mexp,
        [fixed(BELOW)],
        name="log1mexp at the ends",
        traps=("T29",),
        oracle=_log1mexp,
    ),
    Case(
        lambda x: (tg.log(1 - tg.exp(x)), tg.grad(tg.sum(tg.log(1 - tg.exp(x))), x)),
        [fixed([-1e-15, -1e-9, -0.5, -0.7, -3.0, -30.0])],
        name="log1mexp written out",
        traps=("T29",),
        oracle=lambda x: (_log1mexp(x), -1 / np.expm1(-x)),
        condition=lambda x: (np.abs(np.log(np.abs(x))) + 1 / np.abs(x), 1 / np.abs(x) ** 2),
    ),
    Case(
        lambda x, y: (tg.xlogy(x, y), *tg.grad(tg.sum(tg.xlogy(x, y)), [x, y])),
        [fixed(FACTORS[0][:7]), fixed(FACTORS[1][:7])],
        name="xlogy and its derivatives",
        note="0 where x is 0; where y is too, so is the derivative by y",
        traps=("T69",),
        oracle=lambda x, y: (
            _xlogy(x, y),
            np.log(y),
            np.where((x == 0) & (y == 0), 0, x / y),
        ),
    ),
    Case(
        lambda x, y: (tg.xlog1py(x, y), *tg.grad(tg.sum(tg.xlog1py(x, y)), [x, y])),
        [fixed([0.0, 0.0, 2.0, -1.5, 3.0]), fixed([-1.0, -2.0, 3.0, 0.25, 1e-20])],
        name="xlog1py and its derivatives",
        traps=("T69",),
        oracle=lambda x, y: (
            _xlog1py(x, y),
            np.log1p(y),
            np.where((x == 0) & (y == -1), 0, x / (1 + y)),
        ),
    ),
    Case(
        lambda x, y: (tg.xlogy(x, y), tg.xlog1py(x, y)),
        [any_dtype("n", "m", low=0.5, high=3), any_dtype("m", low=0.5, high=3)],
        name="xlogy and xlog1py",
        dtypes=("float32", "float64"),
        oracle=lambda x, y: (x * np.log(y), x * np.log1p(y)),
        gradient=True,
        analytic=True,
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN, FUNCTIONS)
