"""Cases of `ops/elementwise/special/normal`: both tails, logarithms far out."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.normal import FAMILY, inverse_mills
from tg.plugin.case import Case, any_dtype, fixed
from tg_conformance import multiprecision
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact


def _ndtr(x: Any) -> Any:
    return multiprecision.erfc(-x / mpmath.sqrt(2)) / 2


NDTR = exact(_ndtr, special.ndtr)
LOG_NDTR = exact(multiprecision.log_ndtr, special.log_ndtr)
INVERSE_MILLS = exact(multiprecision.inverse_mills, lambda x: np.sqrt(2 / np.pi) / special.erfcx(-x / np.sqrt(2)))
NDTRI = exact(multiprecision.ndtri, special.ndtri)
NDTRI_EXP = exact(multiprecision.ndtri_exp, special.ndtri_exp)


def _at_least(function: Any, least: float) -> Any:
    """The size of a result, and no less than a number, below which its argument's rounding is all there is."""
    return lambda x: np.maximum(np.abs(function(x)), least)


FACTS: Final = {
    tg.ndtr: floats_only(NDTR, gradient=((-3.0, 3.0),), traps=("T29",)),
    tg.log_ndtr: floats_only(LOG_NDTR, gradient=((-9.0, 3.0),), traps=("T29",)),
    inverse_mills: floats_only(INVERSE_MILLS, gradient=((-3.0, 3.0),)),
    tg.ndtri: floats_only(NDTRI, gradient=((0.05, 0.95),)),
    tg.ndtri_exp: floats_only(NDTRI_EXP, gradient=((-9.0, -0.05),), condition=_at_least(NDTRI_EXP, 1e-2)),
}

FAR: Final = [-1e200, -1e4, -40.0, -38.4, -37.5, -10.0, -0.70001, -0.69999, 0.0, 0.7, 5.0, 8.3, 40.0, np.inf]
LOGARITHMS: Final = [-np.inf, -1.7e308, -1e31, -1e29, -601.0, -599.0, -745.0, -7.6, -0.7, -0.6931, -0.01, -1e-300, 0.0]
UNROUNDED: Final = -700.0, -0.1  # whose exponentials are neither subnormal nor next to 1: rewriting does without them

WRITTEN: Final = (
    Case(
        lambda x: (tg.ndtr(x), tg.log_ndtr(x)),
        [fixed(FAR)],
        name="both tails",
        traps=("T29",),
        oracle=lambda x: (NDTR(x), LOG_NDTR(x)),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.log_ndtr(x)), x),
        [fixed([-1e200, -1e4, -40.0, -3.0, 0.0, 3.0, 40.0, 1e200])],
        name="grad of log_ndtr in both tails",
        traps=("T70",),
        oracle=exact(
            lambda x: mpmath.sqrt(2 / mpmath.pi) / multiprecision.erfcx(-x / mpmath.sqrt(2)),
            lambda x: np.sqrt(2 / np.pi) / special.erfcx(-x / np.sqrt(2)),
        ),
        condition=lambda x: np.where(x > 0, (1 + np.minimum(x * x, 1e4)) * np.exp(-x * x / 2), 0),
    ),
    Case(
        lambda x: (tg.ndtri_exp(x), tg.ndtri(tg.exp(tg.clip(x, *UNROUNDED)))),
        [fixed(LOGARITHMS)],
        name="quantiles of logarithms",
        oracle=lambda x: (NDTRI_EXP(x), NDTRI(np.exp(np.clip(x.astype(float), *UNROUNDED)))),
        condition=lambda x: (np.maximum(np.abs(NDTRI_EXP(x)), 1e-2), np.full(x.shape, 1e3)),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.log_ndtr(x)), x), x),
        [any_dtype(4, low=-6, high=2)],
        name="second derivative of log_ndtr",
        dtypes=("float32", "float64"),
        accuracy=64,
        oracle=lambda x: np.diag(-_mills(x) * (x + _mills(x))),
        condition=lambda x: np.diag(_mills(x) * (np.abs(x) + _mills(x))),
    ),
)


def _mills(x: Any) -> Any:
    """The derivative of log_ndtr."""
    return np.exp(-x * x / 2 - LOG_NDTR(x)) / np.sqrt(2 * np.pi * np.ones_like(x))


CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
