"""Cases of `ops/elementwise/special/cylinder`: each way of computing, orders below 0, the ends, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.cylinder import FAMILY
from tg.plugin.case import Case
from tg_conformance.cases.elementwise.special.incomplete import in_digits, inputs, slopes_of, values_of
from tg_conformance.cases.family import of_family

INF: Final = np.inf
ORDERS: Final = [0.0, 1.0, 0.5, 2.3, 40.0, 33.3, 0.0, 3.0, 12.5, 7.0, 29.0, -1.0, -0.3, -2.5, 0.0, 1.0, 2.0, 0.5]
POINTS: Final = [0.1, 2.0, 5.0, 60.0, 3.0, 90.0, 500.0, 30.0, 20.0, 1e-3, 200.0, 2.0, 1.5, 4.0, 0.0, 0.0, -3.0, -1.0]
SINGLE: Final = [0.0, -0.0, 0.1, 1.0, -2.0, 4.5, -9.0, 24.9, 25.1, 100.0, -300.0, 1e4, np.nan]


def _size_of_j(v: Any, x: Any) -> Any:
    """The amplitude, or the value where it is below."""
    v, x = np.asarray(v, np.float64), np.asarray(x, np.float64)
    y, a = np.abs(special.jv(v, x)), np.abs(x)
    return np.where(
        a > np.abs(v), np.maximum(y, np.sqrt(2 / (np.pi * np.maximum(a, 1)))), y * (1 + np.abs(np.log(y + 1e-300)))
    )


J0, J1 = (in_digits(f, lambda x, n=n: mpmath.besselj(n, x)) for n, f in enumerate((special.j0, special.j1)))
JV, KV, IV = (
    in_digits(f, g)
    for f, g in ((special.jv, mpmath.besselj), (special.kv, mpmath.besselk), (special.iv, mpmath.besseli))
)
KVE = in_digits(special.kve, lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x))
IVE = in_digits(special.ive, lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-abs(x)))


def _slopes(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    of_i, of_j = special.ivp(1.5, x) + special.i1e(x) - special.i0e(x), special.jvp(2, x)
    return of_i + of_j + special.jvp(0, x) + special.jvp(1, x)


WRITTEN: Final = (
    *values_of(tg.iv, IV, ORDERS, POINTS),
    *values_of(tg.ive, IVE, ORDERS, POINTS),
    *values_of(tg.kv, KV, ORDERS, POINTS),
    *values_of(tg.kve, KVE, ORDERS, POINTS),
    Case(
        tg.jv,
        inputs("float64", ORDERS, POINTS),
        name="jv float64",
        layouts=("C",),
        static=(False,),
        oracle=JV,
        condition=_size_of_j,
    ),
    Case(
        lambda x: (tg.j0(x), tg.j1(x)),
        inputs("float64", SINGLE),
        name="j0 and j1",
        layouts=("C",),
        static=(False,),
        accuracy=64,
        oracle=lambda x: (J0(x), J1(x)),
        condition=lambda x: (1 / np.sqrt(1 + np.abs(x)),) * 2,
    ),
    slopes_of(tg.kv, mpmath.besselk, [0.3, 2.0, 7.5], [0.2, 3.0, 20.0]),
    Case(
        lambda x: tg.grad(tg.sum(tg.iv(1.5, x) + tg.ive(0.0, x) + tg.jv(2.0, x) + tg.j0(x) + tg.j1(x)), x),
        inputs("float64", [0.3, 2.0, 7.5]),
        name="derivatives of iv, ive, jv, j0 and j1",
        layouts=("C",),
        static=(False,),
        accuracy=512,
        oracle=_slopes,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
