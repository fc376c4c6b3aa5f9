"""Oracles by mpmath: functions of its numbers as functions of arrays in extended precision.

Where arrays are in double precision, since what is asked for has fewer digits, SciPy does it: mpmath takes a thousand
times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np

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
        found = np.frompyfunc(one, len(arrays), 1)(*(np.asarray(a, np.longdouble) for a in arrays))
        return np.asarray(found, np.longdouble)

    return oracle


def exactly(value: Any) -> Any:
    """A number in extended precision as one of mpmath's."""
    high = float(value)
    return mpmath.mpf(high) + (mpmath.mpf(float(value - np.longdouble(high))) if np.isfinite(high) else 0)


def longdouble(value: Any) -> Any:
    """A real number of mpmath's in extended precision."""
    return np.longdouble(mpmath.nstr(mpmath.mpf(value), 25))
