"""Cases of `ops/elementwise/special/gamma`: poles, zeros, the negative axis, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.gamma import FAMILY
from tg.plugin.case import Case, any_dtype, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact


def _is_pole(x: Any) -> Any:
    return x <= 0 and x == mpmath.floor(x)


def _gammaln(x: Any) -> Any:
    return mpmath.inf if mpmath.isinf(x) or _is_pole(x) else mpmath.re(mpmath.loggamma(x))


def _trigamma(x: Any) -> Any:
    if mpmath.isinf(x):
        return mpmath.mpf(0) if x > 0 else mpmath.nan
    return mpmath.inf if _is_pole(x) else mpmath.polygamma(1, x)


GAMMALN = exact(_gammaln, lambda x: np.where(np.isinf(x), np.inf, special.gammaln(x)))
TRIGAMMA = exact(_trigamma, lambda x: np.where(x == -np.inf, np.nan, special.polygamma(1, x)))
_digamma = exact(lambda x: mpmath.nan if x == -mpmath.inf else mpmath.digamma(x), special.digamma)
THIRD = exact(lambda x: mpmath.polygamma(2, x), lambda x: special.polygamma(2, x))


def DIGAMMA(x: Any) -> Any:  # noqa: N802
    """Digamma, whose infinity at 0 has the other sign."""
    return np.where(x == 0, -np.copysign(x.dtype.type(np.inf), x), _digamma(x))


def _size_of_logarithm(x: Any) -> Any:
    """1 beside the zeros, and the size of the terms for what is below 0."""
    a = np.abs(np.where(np.isfinite(x), x, 1))
    return np.maximum(np.abs(GAMMALN(x)), 1 + np.where(x < 0, a * np.log1p(a), 0))


def _size_of_digamma(x: Any) -> Any:
    """The size of the terms for what is below 0."""
    with np.errstate(all="ignore"):
        terms = np.log1p(np.abs(x)) + np.pi / np.abs(np.tan(np.pi * (x - np.rint(x))))
        return np.where(x < 0, terms, np.abs(DIGAMMA(x)))


def _gamma(x: Any) -> Any:
    if x > 200:
        return mpmath.inf
    if mpmath.isinf(x) or (x < 0 and x == mpmath.floor(x)):
        return mpmath.nan
    return mpmath.mpf(0) if x < -200 else mpmath.gamma(x)


def _factorial(x: Any) -> Any:
    return mpmath.mpf(0) if x < 0 else mpmath.inf if x > 200 else mpmath.factorial(x)


_gamma_but_at_0 = exact(_gamma, special.gamma)
FACTORIAL = exact(_factorial, special.factorial)


def GAMMA(x: Any) -> Any:  # noqa: N802
    """The gamma function, whose infinity at 0 has its sign."""
    at_zero = x == 0
    return np.where(at_zero, np.copysign(x.dtype.type(np.inf), x), _gamma_but_at_0(np.where(at_zero, 1, x)))


POSITIVE: Final = ((0.3, 9.0),)

FACTS: Final = {
    tg.gammaln: floats_only(GAMMALN, condition=_size_of_logarithm, gradient=POSITIVE, traps=("T29",)),
    tg.digamma: floats_only(DIGAMMA, condition=_size_of_digamma, gradient=POSITIVE, traps=("T29",)),
    tg.trigamma: floats_only(TRIGAMMA, gradient=POSITIVE),
    tg.gammasgn: floats_only(lambda x: special.gammasgn(x.astype(float)), derivative=False),
    tg.gamma: floats_only(GAMMA, gradient=POSITIVE),
    tg.factorial: floats_only(FACTORIAL, gradient=POSITIVE),
}

EDGES: Final = [
    1e-300, 1e-20, 0.1, 0.7499, 0.75, 1.0, 1.0 + 2.0**-40, 1.4616321449683622, 1.999999, 2.0, 2.4999, 2.5, 3.0, 3.4999,
    3.5, 3.9999, 4.0, 100.0, 1e15, 1e200, 2.6e305,
]  # fmt: skip
BELOW: Final = [-1e-300, -1e-20, -0.1, -0.2499, -0.25, -0.26, -0.5, -0.9999, -1.0001, -1.5, -2.4570247382208006, -3.7,
                -10.5, -99.9, -170.5, -1000.5]  # fmt: skip

WRITTEN: Final = (
    Case(
        lambda x: (tg.gammaln(x), tg.digamma(x), tg.trigamma(x)),
        [fixed(EDGES)],
        name="where one branch follows another",
        oracle=lambda x: (GAMMALN(x), DIGAMMA(x), TRIGAMMA(x)),
        condition=lambda x: (_size_of_logarithm(x), DIGAMMA(x), TRIGAMMA(x)),
    ),
    Case(
        lambda x: (tg.gammaln(x), tg.digamma(x), tg.trigamma(x)),
        [fixed(BELOW)],
        name="below 0",
        traps=("T29",),
        accuracy=6,
        oracle=lambda x: (GAMMALN(x), DIGAMMA(x), TRIGAMMA(x)),
        condition=lambda x: (_size_of_logarithm(x), _size_of_digamma(x), TRIGAMMA(x)),
    ),
    Case(
        lambda x: (tg.gamma(x), tg.factorial(x), tg.gammasgn(x)),
        [fixed([*EDGES, 5.0, 12.0, 170.0, 171.5, 171.7])],
        name="gamma where one branch follows another",
        oracle=lambda x: (GAMMA(x), FACTORIAL(x), special.gammasgn(x.astype(float))),
    ),
    Case(
        lambda x: (tg.gamma(x), tg.gammasgn(x)),
        [fixed([*BELOW[:-1], -3.5, -30.5, -169.9, -171.0 + 2.0**-40, -1000.5])],
        name="gamma below 0",
        accuracy=8,
        oracle=lambda x: (GAMMA(x), special.gammasgn(x.astype(float))),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.gammaln(x)), x), x),
        [any_dtype(4, low=0.2, high=9)],
        name="second derivative of gammaln",
        dtypes=("float32", "float64"),
        oracle=lambda x: np.diag(TRIGAMMA(x)),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.trigamma(x)), x),
        [any_dtype("n", low=0.2, high=9)],
        name="third derivative of gammaln",
        dtypes=("float32", "float64"),
        accuracy=64,
        oracle=THIRD,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.where(x > 0, tg.gammaln(x), 0)), x),
        [fixed([-2.0, 0.0, 3.0, -np.inf])],
        name="grad of gammaln beside poles that are not chosen",
        traps=("T70",),
        oracle=lambda x: np.where(x > 0, DIGAMMA(np.where(x > 0, x, 1)), 0),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
