"""Cases of `ops/elementwise/special/error`: accuracy in the tails, derivatives that do not overflow."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.error import FAMILY
from tg.plugin.case import Case, any_dtype, fixed
from tg_conformance import multiprecision
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact

ERF = exact(mpmath.erf, special.erf)
ERFC = exact(multiprecision.erfc, special.erfc)
ERFCX = exact(multiprecision.erfcx, special.erfcx)
ERFINV = exact(multiprecision.erfinv, special.erfinv)
ERFCINV = exact(multiprecision.erfcinv, special.erfcinv)
SMALL: Final = ((-2.5, 2.5),)


def _size_of_scaled(x: Any) -> Any:
    """The size of the terms of 2 x erfcx(x) - 2/sqrt(pi), the derivative: their difference is as exact as they are."""
    return np.abs(ERFCX(x))


def _size_of_inverse(x: Any) -> Any:
    return np.maximum(np.abs(ERFCINV(x)), np.where(np.abs(x - 1) < 0.5, 1e-3, 0))


FACTS: Final = {
    tg.erf: floats_only(ERF, gradient=SMALL, signed_zero=True),
    tg.erfc: floats_only(ERFC, gradient=SMALL, traps=("T29",)),
    tg.erfcx: floats_only(ERFCX, gradient=SMALL, condition=_size_of_scaled),
    tg.erfinv: floats_only(ERFINV, gradient=((-0.9, 0.9),), signed_zero=True),
    tg.erfcinv: floats_only(ERFCINV, gradient=((0.1, 1.9),), condition=_size_of_inverse),
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
        lambda x: (tg.erfcx(x), tg.erfcx(-x)),
        [fixed([0.0, 1e-9, 0.5, 3.0, 26.6, 26.7, 1e9, 1e15, 1e200, 1.7e308, np.inf, np.nan])],
        name="erfcx from one end to the other",
        oracle=lambda x: (ERFCX(x), ERFCX(-x)),
    ),
    Case(
        lambda x: (tg.erfcinv(x), tg.erfinv(1 - x)),
        [fixed([0.0, 1e-307, 1e-300, 1e-12, 0.001, 0.1, 0.5, 1.0, 1.999, 2.0, 2.1])],
        name="erfcinv from one end to the other",
        oracle=lambda x: (ERFCINV(x), ERFINV((1 - x.astype(float)).astype(x.dtype))),
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
