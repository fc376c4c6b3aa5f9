"""Cases of `ops/elementwise/special/bessel`: where the exponential overflows, derivatives at 0."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.bessel import FAMILY
from tg.plugin.case import Case, any_dtype, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact

FAR: Final = 1e5


def _bessel(order: int) -> Any:
    return lambda x: mpmath.besseli(order, x) if abs(x) < 800 else mpmath.sign(x) ** order * mpmath.inf


def _scaled(order: int) -> Any:
    """e^-|x| times it, by two terms more than matter where that is all that can be computed."""

    def function(x: Any) -> Any:
        a = abs(x)
        if a < FAR:
            return mpmath.exp(-a) * mpmath.besseli(order, x)
        if mpmath.isinf(a):
            return mpmath.mpf(0)
        mu = 4 * order * order
        terms = 1 - (mu - 1) / (8 * a) + (mu - 1) * (mu - 9) / (128 * a * a)
        terms -= (mu - 1) * (mu - 9) * (mu - 25) / (3072 * a**3)
        terms += (mu - 1) * (mu - 9) * (mu - 25) * (mu - 49) / (98304 * a**4)
        return mpmath.sign(x) ** order * terms / mpmath.sqrt(2 * mpmath.pi * a)

    return function


def _finite_or_infinite(function: Any) -> Any:
    """SciPy's, which is NaN where it should be infinite."""
    return lambda x: np.where(np.isinf(x), x if function is special.i1 else np.abs(x), function(x))


I0, I1 = exact(_bessel(0), _finite_or_infinite(special.i0)), exact(_bessel(1), _finite_or_infinite(special.i1))
I0E, I1E = exact(_scaled(0), special.i0e), exact(_scaled(1), special.i1e)


def _j(order: int) -> Any:
    return lambda x: mpmath.besselj(order, x) if mpmath.isfinite(x) else mpmath.mpf(0) if mpmath.isinf(x) else x


def _by_digits(function: Any) -> Any:
    """The function in both precisions: SciPy's has lost all digits far out, where it subtracts from the argument."""
    single = np.vectorize(lambda x: float(function(mpmath.mpf(x))), [float])
    return exact(function, lambda x: single(x) if x.size else x)


J0, J1 = _by_digits(_j(0)), _by_digits(_j(1))
SMALL: Final = ((-9.0, 9.0),)


def amplitude(function: Any) -> Any:
    """The magnitude to which the rounding of J is relative: from 5 on the amplitude of its oscillation."""

    def of(x: Any) -> Any:
        y, a = np.abs(function(x)), np.abs(x.astype(float))
        return np.where(a > 5, np.maximum(y, np.sqrt(2 / np.pi / np.maximum(a, 5))), y)

    return of


FACTS: Final = {
    tg.i0: floats_only(I0, gradient=SMALL),
    tg.i1: floats_only(I1, gradient=SMALL),
    tg.i0e: floats_only(I0E, gradient=SMALL),
    tg.i1e: floats_only(I1E, gradient=SMALL),
    tg.j0: floats_only(J0, gradient=SMALL, condition=amplitude(J0)),
    tg.j1: floats_only(J1, gradient=SMALL, condition=amplitude(J1)),
}

WRITTEN: Final = (
    Case(
        lambda x: (tg.i0(x), tg.i1(x), tg.i0e(x), tg.i1e(x)),
        [fixed([0.0, 1e-300, -1e-9, 7.999, 8.001, -8.5, 699.0, 701.0, -712.0, 714.0, 1e200, -np.inf, np.nan])],
        name="from one end to the other",
        accuracy=6,
        oracle=lambda x: (I0(x), I1(x), I0E(x), I1E(x)),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.i0(x)), x), x),
        [fixed([0.0, 0.5, -2.0, 9.0])],
        name="second derivative of i0",
        accuracy=32,
        oracle=lambda x: np.diag(I0(x) - np.where(x == 0, 0.5, I1(x) / np.where(x == 0, 1, x))),
    ),
    Case(
        lambda x: (tg.grad(tg.sum(tg.i0e(x)), x), tg.grad(tg.sum(tg.i1e(x)), x)),
        [any_dtype(5, low=0.1, high=9)],
        name="grad of the scaled ones",
        dtypes=("float32", "float64"),
        accuracy=16,
        oracle=lambda x: (I1E(x) - I0E(x), I0E(x) - I1E(x) / x - I1E(x)),
        condition=lambda x: (I0E(x), I0E(x)),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
