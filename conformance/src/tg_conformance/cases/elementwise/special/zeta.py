"""Cases of `ops/elementwise/special/zeta`: whole orders, the negative axis, derivatives by the second operand."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special import zeta as ops
from tg.ops.elementwise.special.zeta import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact


def _zeta(s: Any, q: Any) -> Any:
    return mpmath.zeta(s, q) if s > 1 and q > 0 else mpmath.nan


def _polygamma(n: Any, x: Any) -> Any:
    return mpmath.polygamma(int(n), x) if n == mpmath.floor(n) and n >= 0 else mpmath.nan


def _slope_in_power(order: int) -> Any:
    def of(s: Any, q: Any) -> Any:
        return mpmath.zeta(s, q, order) if s > 1 and q > 0 else mpmath.nan

    def single(s: float, q: float) -> float:
        with mpmath.workdps(30):
            return float(of(mpmath.mpf(float(s)), mpmath.mpf(float(q))))

    return exact(of, np.vectorize(single, [float]))


ZETA = exact(_zeta, special.zeta)
ZETA_DS, ZETA_DSS = _slope_in_power(1), _slope_in_power(2)
POLYGAMMA = exact(_polygamma, lambda n, x: np.vectorize(_one, [float])(n, x) if np.size(n) else n + x)


def _one(n: float, x: float) -> float:
    return float(special.polygamma(int(n), x)) if n == np.floor(n) and n >= 0 else float(np.nan)


def _terms(order: int) -> Any:
    """Of a subnormal power of q all digits may be gone, and with them those of its multiple by log(q)."""

    def sizes(s: Any, q: Any) -> Any:
        wide = np.result_type(s, q)  # wider than what was computed
        kind = np.finfo("float64" if wide == np.longdouble else "float32")
        power = np.abs(q) ** (1 - s)
        return np.where(power < kind.tiny, kind.tiny * np.log(np.abs(q)) ** order / kind.eps, 0.0)

    return sizes


FACTS: Final = {
    tg.zeta: floats_only(ZETA, hostile_oracle=False, derivative=False),
    ops.zeta_ds: floats_only(ZETA_DS, condition=_terms(1), hostile_oracle=False, derivative=False),
    ops.zeta_dss: floats_only(ZETA_DSS, condition=_terms(2), hostile_oracle=False, derivative=False),
    tg.polygamma: floats_only(POLYGAMMA, hostile_oracle=False, derivative=False),
}

STEEP: Final = [1.0, 1.0 + 2.0**-30, 1.5, 2.0, 3.0, 10.0, 60.0, 300.0, 2.0, 2.0, 2.0, 5.0]
FROM: Final = [1.0, 1.0, 0.3, 1e-100, 1e5, 7.0, 9.0, 0.5, 1e200, 1e-9, 0.25, 12.0]
ORDERS: Final = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 1.0, 6.0]
POINTS: Final = [1.7, 0.2, 3.0, 1e-3, 40.0, 2.5, 1e3, 1e9, 0.7]
LEFT: Final = [-0.3, -0.8, -1.4, -2.6, -5.5, -10.25]
LEFT_ORDERS: Final = [2.0, 3.0, 2.0, 5.0, 3.0, 4.0]

WRITTEN: Final = (
    Case(
        lambda s, q: (tg.zeta(s, q), tg.grad(tg.sum(tg.zeta(s, q)), q)),
        [fixed(STEEP[1:]), fixed(FROM[1:])],
        name="zeta and its derivative by q",
        oracle=lambda s, q: (ZETA(s, q), -s * ZETA(s + 1, q)),
    ),
    Case(
        lambda n, x: (tg.polygamma(n, x), tg.grad(tg.sum(tg.polygamma(n, x)), x)),
        [fixed(ORDERS), fixed(POINTS)],
        name="polygamma and its derivative",
        oracle=lambda n, x: (POLYGAMMA(n, x), POLYGAMMA(n + 1, x)),
    ),
    Case(
        tg.polygamma,
        [fixed(LEFT_ORDERS), fixed(LEFT)],
        name="polygamma below 0",
        accuracy=64,
        oracle=POLYGAMMA,
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
