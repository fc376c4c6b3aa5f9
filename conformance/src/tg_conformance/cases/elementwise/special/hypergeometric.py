"""Cases of `ops/elementwise/special/hypergeometric`: each way of computing, ends, polynomials, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np

import tg
from tg.ops.elementwise.special.hypergeometric import FAMILY
from tg_conformance.cases.elementwise.special.incomplete import slopes_of, values_of
from tg_conformance.cases.family import of_family

FIRST: Final = [0.5, 2.0, -3.0, 1.5, 0.3, 4.0, 0.5, 2.5, 1.0]
SECOND: Final = [1.0, 0.7, 2.0, 2.5, 5.0, 1.2, 0.5, 0.0, 1.0]
THIRD: Final = [1.5, 3.0, 1.3, 2.0, 2.2, 7.0, 2.5, 1.0, 0.8]
POINTS: Final = [0.3, -0.4, 0.8, 0.95, -7.0, 0.99, 1.0, 0.5, -0.9]
# of exponents that differ by a whole number, or nearly, far below 0 and next to 1
LARGE: Final = [0.5, 2.25, 1.0, -1.5, 3.25, 0.5, 2.0, 0.75, 1.5]
OTHERS: Final = [2.5, 2.25, 1.0, 2.5, 1.25, 1.5 + 1e-9, 5.0, 1.25, 1.5]
THIRDS: Final = [1.25, 0.75, 2.0, 0.5, 7.25, 3.5, 3.5, 3.0, 0.5]
FAR: Final = [-40.0, -3e4, -1e9, -450.0, -6.0, -1e3, -1e6, 1 - 2**-14, 0.996]
ENDS: Final = (
    [1.0, -1.5, 0.0, 2.0, -2.5, -2.0, -2.0, 1.0, -2.0, -2.0, 1.0],
    [2.0, 2.0, 1.0, 5.0, 3.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    [3.0, 3.0, 2.0, 3.0, 0.5, 3.0, 3.0, -1.0, -1.0, -3.0, 2.0],
    [-np.inf, -np.inf, -np.inf, 1.0, 1.0, 1.0, 5.0, 0.5, 0.5, 0.5, 2.0],
)
AT_ENDS: Final = [0, np.inf, 1, np.inf, -np.inf, 1 / 6, 11 / 6, np.nan, np.nan, 17 / 12, np.nan]


PLACES: Final = tuple(
    a + b + c for a, b, c in zip((FIRST, SECOND, THIRD, POINTS), (LARGE, OTHERS, THIRDS, FAR), ENDS, strict=True)
)
SLOPES: Final = ([0.5, 2.0, 1.5], [1.0, 0.7, 2.5], [1.5, 3.0, 4.2], [0.3, -0.4, 0.8])


def _right(*arrays: Any) -> Any:
    with mpmath.workdps(30):
        rows = [map(mpmath.mpf, map(float, v)) for v in zip(*arrays, strict=True)][: -len(AT_ENDS)]
        return np.array([float(mpmath.hyp2f1(*row)) for row in rows] + AT_ENDS)


WRITTEN: Final = (
    *values_of(tg.hyp2f1, _right, *PLACES),
    slopes_of(
        tg.hyp2f1, mpmath.hyp2f1, *(v + w[:9] for v, w in zip(SLOPES, (LARGE, OTHERS, THIRDS, FAR), strict=True))
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
