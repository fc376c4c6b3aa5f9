"""Cases of `ops/elementwise/special/hypergeometric`: each transformation, the end at 1, polynomials, derivatives."""

from __future__ import annotations

from typing import Final

import mpmath
from scipy import special

import tg
from tg.ops.elementwise.special.hypergeometric import FAMILY
from tg_conformance.cases.elementwise.special.incomplete import slopes_of, values_of
from tg_conformance.cases.family import of_family

FIRST: Final = [0.5, 2.0, -3.0, 1.5, 0.3, 4.0, 0.5, 2.5, 1.0]
SECOND: Final = [1.0, 0.7, 2.0, 2.5, 5.0, 1.2, 0.5, 0.0, 1.0]
THIRD: Final = [1.5, 3.0, 1.3, 2.0, 2.2, 7.0, 2.5, 1.0, 0.8]
POINTS: Final = [0.3, -0.4, 0.8, 0.95, -7.0, 0.99, 1.0, 0.5, -0.9]

WRITTEN: Final = (
    *values_of(tg.hyp2f1, special.hyp2f1, FIRST, SECOND, THIRD, POINTS),
    slopes_of(tg.hyp2f1, mpmath.hyp2f1, [0.5, 2.0, 1.5], [1.0, 0.7, 2.5], [1.5, 3.0, 4.2], [0.3, -0.4, 0.8]),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
