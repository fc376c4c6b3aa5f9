"""Oracles by mpmath: functions of its numbers as functions of arrays in extended precision.

Where arrays are in double precision, since what is asked for has fewer digits, SciPy does it: mpmath takes a thousand
times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

DIGITS: Final = 30


def exact(function: Callable[..., Any], double: Callable[..., Any]) -> Callable[..., Any]:
    """A function of single numbers as one of arrays: NaN where an operand is, or where it raises ValueError.

    Args:
        double: the function of arrays in double precision.
    """

    def one(*values: Any) -> Any:
        if any(np.isnan(v) for v in values):
            return np.longdouble(np.nan)
        with mpmath.workdps(DIGITS):
            try:
                return longdouble(function(*map(exactly, values)))
            except ValueError:  # a pole
                return np.longdouble(np.nan)

    def oracle(*arrays: Any) -> Any:
        if all(a.dtype == np.float64 for a in arrays):
            return double(*arrays)
        numbers = np.frompyfunc(one, len(arrays), 1)(*(np.asarray(a, np.longdouble) for a in arrays))
        return np.asarray(numbers, np.longdouble)

    return oracle


def exactly(value: Any) -> Any:
    """A number in extended precision as one of mpmath's."""
    high = float(value)
    return mpmath.mpf(high) + (mpmath.mpf(float(value - np.longdouble(high))) if np.isfinite(high) else 0)


def longdouble(value: Any) -> Any:
    """A real number of mpmath's in extended precision."""
    return np.longdouble(mpmath.nstr(mpmath.mpf(value), 25))


# --- the normal distribution -----------------------------------------------------------------------------------------


def erfc(x: Any) -> Any:
    """The complementary error function, whatever mpmath's own does with huge arguments."""
    return mpmath.mpf(0) if x > 1e4 else mpmath.erfc(x)


def erfcx(x: Any) -> Any:
    """e^(x^2) erfc(x), by its asymptotic series where the square is large."""
    if x < -30:
        return mpmath.inf
    if x < 50:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    if mpmath.isinf(x):
        return mpmath.mpf(0)
    terms = [mpmath.fac2(2 * k - 1) / (-2 * x * x) ** k for k in range(20)]
    return mpmath.fsum(terms) / (x * mpmath.sqrt(mpmath.pi))


def erfcinv(x: Any) -> Any:
    """The inverse of erfc, by Newton's method where the inverse of erf has lost the digits."""
    if not 0 <= x <= 2:
        return mpmath.nan
    if x in (0, 2):
        return (1 - x) * mpmath.inf
    if x > 0.1:
        return mpmath.erfinv(1 - x)
    y = mpmath.sqrt(-mpmath.log(x))
    for _ in range(60):
        step = (erfc(y) - x) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
        y += step
        if abs(step) < mpmath.mpf(10) ** (3 - DIGITS):
            break
    return y


def erfinv(x: Any) -> Any:
    """The inverse of erf."""
    if not -1 <= x <= 1:
        return mpmath.nan
    return x * mpmath.inf if abs(x) == 1 else mpmath.erfinv(x)


def ndtri(p: Any) -> Any:
    """The quantile of the normal distribution."""
    return -mpmath.sqrt(2) * erfcinv(2 * p)


def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function."""
    a = x / mpmath.sqrt(2)
    return mpmath.log(erfcx(-a) / 2) - a * a if x < 0 else mpmath.log1p(-erfc(a) / 2)


def inverse_mills(x: Any) -> Any:
    """The normal density over the distribution function."""
    if x == -mpmath.inf:
        return -x
    return mpmath.npdf(x) if x > 1e6 else mpmath.sqrt(2 / mpmath.pi) / erfcx(-x / mpmath.sqrt(2))


def ndtri_exp(y: Any) -> Any:
    """The inverse of it, by Newton's method."""
    if y > -0.6:
        return mpmath.nan if y > 0 else -ndtri(-mpmath.expm1(y))
    if mpmath.isinf(y):
        return y
    x = mpmath.mpf(float(special.ndtri_exp(float(y))))
    for _ in range(6):
        x -= (log_ndtr(x) - y) * erfcx(-x / mpmath.sqrt(2)) * mpmath.sqrt(mpmath.pi / 2)
    return x
