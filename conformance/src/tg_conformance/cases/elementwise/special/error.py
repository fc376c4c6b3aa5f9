"""Cases of `ops/elementwise/special/error`: accuracy in the tails, derivatives that do not overflow."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.error import FAMILY
from tg.plugin.case import Case, any_dtype, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact

ERF = exact(mpmath.erf, special.erf)
ERFC = exact(lambda x: mpmath.mpf(0) if x > 1e4 else mpmath.erfc(x), special.erfc)
SMALL: Final = ((-2.5, 2.5),)

FACTS: Final = {
    tg.erf: floats_only(ERF, gradient=SMALL, signed_zero=True),
    tg.erfc: floats_only(ERFC, gradient=SMALL, traps=("T29",)),
}

EDGES: Final = [0.0, 0.4999, 0.5, 0.9999, 1.0, 1.0001, 5.99, 6.0, 9.5, 26.5, 27.3, 40.0, 1e200, np.inf, np.nan]
EDGES_OF_SINGLE: Final = [0.4999, 0.5, 1.0, 1.0001, 3.92, 9.5, 10.06, 14.0, 1e30]


def _slope(x: Any) -> Any:
    return 2 / np.sqrt(np.longdouble(np.pi)) * np.exp(-x * x)


WRITTEN: Final = (
    Case(
        lambda x: (tg.erf(x), tg.erf(-x), tg.erfc(x), tg.erfc(-x)),
        [fixed(EDGES)],
        name="erf and erfc where one branch follows another",
        traps=("T29",),
        oracle=lambda x: (ERF(x), ERF(-x), ERFC(x), ERFC(-x)),
    ),
    Case(
        lambda x: (tg.erf(x), tg.erfc(x)),
        [fixed(EDGES_OF_SINGLE, "float32")],
        name="erf and erfc where one branch follows another float32",
        traps=("T29",),
        oracle=lambda x: (ERF(x), ERFC(x)),
    ),
    Case(
        lambda x: (tg.grad(tg.sum(tg.erf(x)), x), tg.grad(tg.sum(tg.erfc(x)), x)),
        [fixed([0.0, -0.5, 3.0, 30.0, 1e200, -np.inf, np.inf])],
        name="grad of erf and erfc in the tails",
        traps=("T70",),
        oracle=lambda x: (_slope(x), -_slope(x)),
        condition=lambda x: ((1 + np.minimum(x * x, 1e4)) * _slope(x),) * 2,
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.erf(x) * tg.erfc(x)), x), x),
        [any_dtype(4, low=-2.5, high=2.5)],
        name="second derivative of erf times erfc",
        dtypes=("float32", "float64"),
        accuracy=32,
        oracle=lambda x: np.diag(-2 * x * _slope(x) * (ERFC(x) - ERF(x)) - 2 * _slope(x) ** 2),
        condition=lambda x: np.full((4, 4), 3.0),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
