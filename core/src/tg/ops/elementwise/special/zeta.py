"""Hurwitz' zeta function, and the derivatives of digamma, which come of it.

The sum of the first terms and of what Euler and Maclaurin say of the others; of q < 0, for a whole s, the sum over all
whole numbers, which depends on the fraction of q alone, less that over those on the other side.

Source:
    NIST Digital Library of Mathematical Functions, 5.15.1, 25.11.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.comparison import equal, less, logical_and, logical_or, where
from tg.ops.elementwise.rounding import floor
from tg.ops.elementwise.special.dual import along, choose, parts_of, power_of, value_of
from tg.ops.elementwise.special.gamma import digamma, gamma, is_whole, trigamma
from tg.ops.elementwise.special.series import WIDEST, no_derivative, special
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

TERMS: Final = 10
STEEPEST: Final = 2000.0  # the power of 10 by minus this is 0
SERIES: Final = (  # Bernoulli's numbers B2, B4, ... over (2 k)!
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000, -236364091 / 1693824136731743669452800000,
)  # fmt: skip


def _of_positive(s: Any, q: Variable) -> Any:
    """The sum of (q + k)^-s over k >= 0, for s > 1 and q > 0; s may be a dual number."""
    total = power_of(q, -s)
    for k in range(1, TERMS):
        total = total + power_of(q + float(k), -s)
    a, t = q + float(TERMS), choose(value_of(s) < STEEPEST, s, STEEPEST)
    last = power_of(a, -t)
    total = total + (power_of(a, 1.0 - t) / (t - 1.0) + last * 0.5)
    step, per_square = last * t / a, 1 / (a * a)
    rest = step * SERIES[0]
    for k, c in enumerate(SERIES[1:]):
        step = step * ((t + (2 * k + 1.0)) * (t + (2 * k + 2.0)) * per_square)
        rest = rest + step * c
    return total + choose(equal(a, np.inf), 0.0, rest)


def _parity(s: Variable) -> Variable:
    """1 for an even number, -1 for an odd one."""
    half = 0.5 * s
    return where(less(floor(half), half), -1.0, 1.0)


def _zeta(s: Variable, q: Variable) -> Variable:
    left = q < 0
    part = q - floor(q)
    safe = where(s > 1, s, 2.0)
    pole = logical_and(left, equal(part, 0))
    inside = where(logical_and(left, part > 0), part, 0.5)
    first = _of_positive(safe, where(left, inside, q))
    others = _of_positive(safe, 1 - inside) - _of_positive(safe, 1 - where(left, q, 0.0))
    value = where(left, where(pole, np.inf, first + _parity(safe) * others), first)
    defined = logical_or(q >= 0, logical_or(pole, is_whole(s)))
    return where(s > 1, where(defined, value, np.nan), where(equal(s, 1), where(equal(q, q), np.inf, q), np.nan))


def _slope_in_power(s: Variable, q: Variable, order: int) -> Variable:
    """The derivative in s, of the first order or the second; of q < 0 there is none, for s has to be a whole number."""
    inside = (s > 1) & (q > 0) & (s < np.inf) & (q < np.inf)
    ready = where(inside, s, 2.0)
    sums = _of_positive(along(ready, *[ready * 0.0 + 1.0] * order), where(inside, q, 1.0))
    at_0 = where(equal(q, 0), np.inf, np.nan)  # -log(q) q^-s
    ends = where(equal(q, np.inf), 0.0, at_0)
    return where(inside, parts_of(sums)[-1], where((s > 1) & (s < np.inf), ends, np.nan))


def _polygamma(n: Variable, x: Variable) -> Variable:
    order = where(n >= 2, n, 2.0)
    size = gamma(order + 1) * _zeta(order + 1, x)
    value = where(equal(n, 0), digamma(x), where(equal(n, 1), trigamma(x), -_parity(order) * size))
    return where(logical_and(is_whole(n), n >= 0), value, np.nan)


zeta_dss = special(
    "zeta_dss", 2, lambda s, q: _slope_in_power(s, q, 2), "The second derivative of zeta(x, y) in x.",
    domain=(1.5, 8), accuracy=128, wider=WIDEST, cost=900,
)  # fmt: skip
zeta_ds: ElementwiseFunction = special(
    "zeta_ds", 2, lambda s, q: _slope_in_power(s, q, 1), "The derivative of zeta(x, y) in x, for y >= 0.",
    d=(lambda s, q, z: zeta_dss(s, q), lambda s, q, z: -zeta(s + 1, q) - s * zeta_ds(s + 1, q)),
    domain=(1.5, 8), accuracy=64, wider=WIDEST, cost=600,
)  # fmt: skip
zeta: ElementwiseFunction = special(
    "zeta", 2, _zeta,
    "Hurwitz' zeta function, the sum of (y + k)^-x over k >= 0; NaN for x < 1.",
    d=(lambda x, y, z: zeta_ds(x, y), lambda x, y, z: -x * zeta(x + 1, y)),
    domain=(1.5, 8), accuracy=16, wider=WIDEST, cost=300,
    slope_accuracy=lambda x, y: 64 + 256 * np.abs(x * np.log(y)),  # powers multiply roundings of x + 1 and y + k
)  # fmt: skip
polygamma: ElementwiseFunction = special(
    "polygamma", 2, _polygamma,
    "The derivative of order x of digamma, at y; NaN unless x is a whole number >= 0. It has no derivative by x.",
    d=(no_derivative("polygamma", "x"), lambda x, y, z: polygamma(x + 1, y)),
    domain=(1.5, 8), accuracy=24, wider=WIDEST, cost=700,
    slope_accuracy=64,
)  # fmt: skip

FAMILY = Family(
    "elementwise/special/zeta",
    (zeta, zeta_ds, zeta_dss, polygamma),
    internal=(
        zeta_ds,
        zeta_dss,
    ),
)
