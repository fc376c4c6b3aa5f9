"""Cases of `ops/softmax`: no overflow, infinities, derivatives where all is -inf."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import special

import tg
from tg.ops.softmax import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING, Reduction, over_axes


def log_terms(x: Any, axis: Any = None) -> Any:
    """The logarithm of a sum is off by the sum's relative error, and by that of the shift."""
    return x.size + np.max(np.where(np.isfinite(x), abs(x), 0), axis=axis, initial=1)


def log_sum_exp(x: Any, axis: Any = None) -> Any:
    """By the formula, in extended precision."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    return np.log(np.sum(np.exp(x - top), axis=axis)) + np.squeeze(top, axis)


REDUCTIONS: Final = (
    Reduction(tg.logsumexp, log_sum_exp, FLOATING, terms=log_terms, gradient=True, layouts=(*SAME_SHAPE, "one")),
)


def slope_terms(x: Any) -> tuple[Any, Any]:
    """The sizes of the terms of 1000 times the gradients of sum(log_softmax(x)) and logsumexp(x)."""
    shares = 1000 * special.softmax(x.astype(float))
    return 1000 + len(x) * shares, shares


WRITTEN: Final = (
    Case(
        tg.softmax,
        [any_dtype("n", "m")],
        name="softmax",
        dtypes=FLOATING,
        oracle=lambda x: np.exp(x) / np.sum(np.exp(x), -1, keepdims=True),
        gradient=True,
        accuracy=16,
    ),
    Case(
        lambda x: tg.softmax(x, 0),
        [f64("n", "m")],
        name="softmax axis 0",
        gradient=True,
        accuracy=16,
        oracle=lambda x: np.exp(x) / np.sum(np.exp(x), 0),
    ),
    Case(
        tg.softmax,
        [fixed([[1000.0, 0.0, -1000.0], [-1e308, 1e308, 0.0]])],
        name="softmax of large numbers",
        oracle=lambda x: np.array([[1.0, 0, 0], [0, 1, 0]]),
    ),
    Case(
        tg.log_softmax,
        [f64("n", "m")],
        name="log_softmax",
        gradient=True,
        condition=lambda x: x.shape[-1] + 8,
        oracle=lambda x: x - np.log(np.sum(np.exp(x), -1, keepdims=True)),
    ),
    Case(
        lambda x: tg.log(tg.sum(tg.exp(x), -1)),
        [f64("n", "m")],
        name="log of sum of exp",
        gradient=True,
        condition=lambda x: x.shape[-1] + 8,
        oracle=lambda x: np.log(np.sum(np.exp(x), -1)),
    ),
    Case(
        lambda x: tg.logsumexp(x, -1),
        [fixed([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 2.0], [1000.0, 1000.0], [np.nan, 1.0]])],
        name="logsumexp of infinities",
        traps=("T28",),
        condition=lambda x: 1,
        oracle=lambda x: np.array([-np.inf, np.inf, 2.0, 1000 + np.log(2), np.nan]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.where(tg.isfinite(tg.logsumexp(x, -1)), tg.logsumexp(x, -1), 0.0)), x),
        [fixed([[-np.inf, -np.inf], [1.0, 1.0]])],
        name="grad of logsumexp of -inf",
        traps=("T28",),
        oracle=lambda x: np.array([[0, 0], [0.5, 0.5]]),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.logsumexp(x), x), x),
        [f64(5)],
        name="hessian of logsumexp",
        accuracy=32,
        oracle=lambda x: (
            np.diag(special.softmax(x.astype(float)))
            - np.outer(special.softmax(x.astype(float)), special.softmax(x.astype(float)))
        ),
        condition=lambda x: np.ones((5, 5)),
    ),
    Case(
        lambda x: (tg.logsumexp(x), tg.softmax(x[:50]), tg.log_softmax(x[:50])),
        [any_dtype(200)],
        name="sums of exponentials of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(
            lambda x: (special.logsumexp(x), special.softmax(x[:50]), special.log_softmax(x[:50])),
        ),
    ),
    Case(
        lambda x: (tg.grad(1000 * tg.sum(tg.log_softmax(x)), x), tg.grad(1000 * tg.logsumexp(x), x)),
        [any_dtype(200)],
        name="gradients of sums of exponentials of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        condition=slope_terms,
        oracle=rounded_once(lambda x: (1000 - 1000 * len(x) * special.softmax(x), 1000 * special.softmax(x))),
    ),
)

CASES: Final = of_family(FAMILY.path, over_axes(REDUCTIONS), WRITTEN)
