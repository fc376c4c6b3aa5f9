"""Cases of `ops/elementwise/special/students`: each way of computing, the ends, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.students import FAMILY
from tg_conformance.cases.elementwise.special.incomplete import in_digits, slopes_of, values_of
from tg_conformance.cases.family import of_family

INF: Final = np.inf
NAN: Final = np.nan
# within one of the centre and beyond, beside the normal distribution, far out; the ends and what has no value
DEGREES: Final = [3.0, 0.5, 2.5, 30.0, 900.0, 1e6, 1e6, 2.0, 0.1, 4.0, 3.0, 3.0, 3.0, -1.0, 2.0]
PLACES: Final = [0.3, -0.2, -4.0, 1.5, -2.0, 0.5, -9.0, -60.0, -1e9, 0.0, INF, -INF, NAN, 1.0, 1e-9]
LEVELS: Final = [0.3, 0.01, 0.5, 0.2499, 1e-9, 0.999, 0.4, 1e-30, 0.1, 0.51, 0.0, 1.0, NAN, 0.5, 2.0]


def _below(n: Any, t: Any) -> Any:
    tail = mpmath.betainc(n / 2, mpmath.mpf(1) / 2, 0, n / (n + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def _quantile(n: Any, p: Any) -> Any:
    """By Newton's method for the logarithm, where SciPy's has lost digits."""
    if p == 0.5:
        return mpmath.mpf(0)
    q = min(p, 1 - p)
    t = mpmath.mpf(float(special.stdtrit(float(n), float(q))))
    constant = mpmath.gamma((n + 1) / 2) / (mpmath.sqrt(n * mpmath.pi) * mpmath.gamma(n / 2))
    for _ in range(4):
        below = _below(n, t)
        t -= mpmath.log(below / q) * below / (constant * (1 + t * t / n) ** (-(n + 1) / 2))
    return t if p < 0.5 else -t


def _scipy_quantile(n: Any, p: Any) -> Any:
    """SciPy's, which gives inf for 0."""
    return np.where((n > 0) & (p == 0), -INF, special.stdtrit(n, p))


WRITTEN: Final = (
    *values_of(tg.stdtr, in_digits(special.stdtr, _below), DEGREES, PLACES),
    *values_of(tg.stdtrit, in_digits(_scipy_quantile, _quantile), DEGREES[:14], LEVELS[:14]),
    slopes_of(tg.stdtr, _below, [0.7, 3.0, 20.0, 400.0, 2.0], [0.4, 2.0, -1.7, -3.0, -70.0]),
    slopes_of(tg.stdtrit, _quantile, [0.7, 3.0, 20.0, 400.0], [0.3, 0.1, 0.6, 0.05]),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
