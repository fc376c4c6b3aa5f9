"""Cases of `ops/elementwise/special/owens`: flat and steep slopes, far places, the ends, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.owens import FAMILY
from tg_conformance.cases.elementwise.special.incomplete import slopes_of, values_of
from tg_conformance.cases.family import of_family

HEIGHTS: Final = [0.0, 0.3, -1.2, 4.0, 9.0, 0.0, 2.0, -0.5, 30.0, np.inf, 1.0, np.nan]
SLOPES: Final = [0.5, 0.5, -0.9, 1.0, 0.6, 3.0, -40.0, np.inf, 2.0, 1.0, 0.0, 1.0]


def _t(h: Any, a: Any) -> Any:
    return mpmath.quad(lambda x: mpmath.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mpmath.pi)


WRITTEN: Final = (
    *values_of(tg.owens_t, special.owens_t, HEIGHTS, SLOPES),
    slopes_of(tg.owens_t, _t, [0.3, -1.5, 2.0], [0.4, 2.0, -0.7]),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
