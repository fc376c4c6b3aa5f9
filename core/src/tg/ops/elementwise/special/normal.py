"""The normal distribution: its distribution function, the logarithm of this, and the inverses of both.

The distribution function is erfc with another scale, whose argument is not rounded before it is squared; far below 0
its logarithm is -x^2/2 and that of erfcx. The inverse of it is got as `tg.ops.elementwise.special.error` says. Where a
probability is too small for a number, the inverse of its logarithm -s is found from x^2 = 2 s - log(2 pi x^2) + 2 h(x),
whose error each round of it divides by x^2; h is the logarithm of x times Mills' ratio, by its asymptotic series. The
derivative of the logarithm is the inverse of Mills' ratio, y, whose own is -y (x + y).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, minimum, sqrt
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import exp, expm1, log, log1p
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.special.error import Quantile, erfcx, near_zero, quantile, scaled, slope_of_erfcx
from tg.ops.elementwise.special.series import WIDER, exp_of_square, in_wider, of_gaussian, polynomial, special
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

ROOT_HALF: Final = 0.7071067811865476
ROOT_2_PI: Final = 2.5066282746310002
ROOT_PI: Final = 1.7724538509055161
TWO_PI: Final = 6.283185307179586
LN2: Final = 0.6931471805599453
LN2_REST: Final = 2.3190468138462996e-17
ASYMPTOTIC: Final = 30.0
ABOVE: Final = 40.0  # from where on the density is 0
PER_MILLS: Final = (1.0, -2.0, 10.0, -74.0, 706.0, -8162.0, 110410.0, -1708394.0, 29752066.0, -576037442.0)
"""Of the series of 1 / (Mills' ratio) less x, in odd powers of 1/x: r = x + 1/x - 2/x^3 + ..., for r' = r (r - x)."""
DEEP: Final = 600.0  # -log(p) beyond which an inverse is found by rounds
MOST: Final = 1e30  # from where on it is the root of 2 s
ROUNDS: Final = 5
NORMAL: Final = Quantile(
    (
        2.5066282746310007, 0.6562337477384255, 0.032666472294282156, -0.006604664825356719,
        -0.000362161106492484, 0.00013183698499588038, 5.713588024662655e-06, -2.8642860094757566e-06,
        -1.0503752761046798e-07, 6.404481603026835e-08, 2.4303806200404445e-09, -1.6317052391027649e-09,
        2.624621181832856e-12, 2.9359244405539324e-11, -3.3265829393815506e-12, 2.3581905368054906e-12,
        -1.2245347634102415e-12, 3.251708658058587e-13, -5.3695992505676775e-14, 5.9650003140867346e-15,
        -4.528354321088601e-16, 2.2773416322334964e-17, -6.890633235972716e-19, 9.547252881734897e-21,
    ),
    (
        1.2808259912763102, 0.4405961166442606, -0.7027848369676828, 0.8598481920799398,
        -0.9760747549499096, 1.0627112644405474, -1.13192623977043, 1.1883031027463768,
        -1.236296955847843, 1.277687302040812, -1.3143781555588296, 1.34731714561162,
        -1.3717530256128743, 1.3860475254651217, -1.5576359829333186, 1.744412811282909,
    ),
    (
        1.3950340774347991, 0.06669069930821808, -0.11359695894823917, 0.1478680849352115,
        -0.17637185135127856, 0.20044197877262215, -0.22140008923866164, 0.23978676759515394,
        -0.25614796316161936, 0.2707758829649804, -0.2839684295911099, 0.29591102386769863,
        -0.30681137168309497, 0.3167943282975898, -0.3256599953096506, 0.33371169785006893,
        -0.3451875214372125, 0.3562082241532711, -0.3316016756226669, 0.3146161290864147,
        -0.5037067355309451, 0.6032742788886156, 0.07893750618695772, -0.292493253492954,
        -1.215077468545542, 1.4458249437381423,
    ),
)  # fmt: skip


def _tail(a: Variable) -> Variable:
    """The distribution function at -a, for a >= 0."""
    return 0.5 * exp_of_square(a, -0.5) * scaled(minimum(a, 40.0) * ROOT_HALF)


def _ndtr(x: Variable) -> Variable:
    a = absolute(x)
    tail, b = _tail(a), where(a < 1, x, 0.0) * ROOT_HALF
    return where(a < 0.7, 0.5 + 0.5 * near_zero(b, absolute(b)), where(x < 0, tail, 1 - tail))


def _log_ndtr(x: Variable) -> Variable:
    a = absolute(x)
    below = log(0.5 * scaled(a * ROOT_HALF)) - 0.5 * a * a
    return where(x < 0, below, log1p(-_tail(a)))


def _ndtri(x: Variable) -> Variable:
    p = where(x < 0.5, x, 1 - x)
    return quantile(NORMAL, x - 0.5, p)


def _ndtri_exp(x: Variable) -> Variable:
    e = expm1(x + LN2)  # twice the probability, less 1
    q = 0.5 * (e + LN2_REST * (1 + e))
    other = -expm1(x)
    low = q < 0
    p = where(low, exp(x), other)
    near = quantile(NORMAL, q, p, size=where(low, -x, -log(other)))
    s = minimum(where(x < -DEEP, -x, DEEP), MOST)
    u = 2 * s
    for _ in range(ROUNDS):
        v = 1 / u
        u = 2 * s - log(TWO_PI * u) + 2 * log1p(-v * (1 - v * (3 - v * (15 - v * 105))))
    deep = where(x < -MOST, sqrt(where(x < -MOST, -x, 1.0)) / ROOT_HALF, sqrt(u))
    return where(x < -DEEP, -deep, near)


def _far(x: Variable) -> tuple[Variable, Variable, Variable]:
    """Whether x is far below 0; there -x, and the asymptotic series of its difference from the ratio, times it."""
    far = x < -ASYMPTOTIC
    a = where(far, -x, ASYMPTOTIC)
    i = 1 / minimum(a, MOST)  # a constant at infinity, where a derivative of 1 / a has no square
    return far, i, polynomial(i * i, PER_MILLS)


def _inverse_mills(x: Variable) -> Variable:
    a, (far, i, series) = absolute(x), _far(x)
    above = exp_of_square(a, -0.5) / (ROOT_2_PI * (1 - _tail(a)))
    near = where(x < 0, 2 / ROOT_2_PI / scaled(where(far, ASYMPTOTIC, a) * ROOT_HALF), above)
    return where(far, -x + i * series, near)


def _mills_slope(x: Variable) -> Variable:
    """The derivative of the inverse Mills ratio y, -y (x + y), of which the sum cancels below 0.

    There it is that of 1 / erfcx, whose derivative has no such sum; far below 0 one of the series.
    """
    far, i, series = _far(x)
    above, low = where((x > 0) & (x < ABOVE), x, 0.0), where((x > 0) | far, 0.0, x)
    y, z = inverse_mills(above), low * -ROOT_HALF
    tail = erfcx(z)
    below = (1 / ROOT_PI) * (slope_of_erfcx(z) / tail) / tail
    near = where(x > 0, where(x < ABOVE, -y * (above + y), 0.0), below)
    return where(far, -(1 + i * i * series) * series, near)


_slope_of_mills = in_wider(_mills_slope, WIDER)
_slope_of_quantile, _slope_of_log_quantile = (
    in_wider(slope, WIDER)
    for slope in (
        lambda p: ROOT_2_PI * exp(0.5 * (ndtri(p) * ndtri(p))),
        lambda y: ROOT_2_PI / 2 * erfcx(ndtri_exp(y) * -ROOT_HALF),
    )
)
"""In more digits, which are those of a number before its exponential."""


def _density(x: Any, y: Any) -> Variable:
    return exp(-0.5 * (x * x)) / ROOT_2_PI


ndtr = special(
    "ndtr", 1, _ndtr, "The distribution function of the standard normal distribution.",
    d=(_density,), domain=(-8, 4), cost=11,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
    slope_accuracy=of_gaussian,
)  # fmt: skip
log_ndtr = special(
    "log_ndtr", 1, _log_ndtr, "The logarithm of the standard normal distribution function.",
    d=(lambda x, y: inverse_mills(x),), domain=(-100, 5), cost=30,
    facts=of_one("nonpositive", keeps=("not_nan",)),
    # below 0 the second is the first times its difference from -x, of which x^2 units cancel
    slope_accuracy=lambda x: np.where(x > 0, of_gaussian(x), 16 + np.minimum(x * x, 400)),
)  # fmt: skip
inverse_mills: ElementwiseFunction = special(
    "inverse_mills", 1, _inverse_mills,
    "The standard normal density over the distribution function, the derivative of log_ndtr.",
    d=(lambda x, y: _slope_of_mills(x),), domain=(-100, 5), cost=35,
    facts=of_one("nonnegative", "no_negative_zero", keeps=("not_nan",)),
    # below 0 its slopes are what is left of terms that cancel: x^2 units of the first, x^4 of the second
    slope_accuracy=lambda x: np.where(x > 0, of_gaussian(x), 16 + 64 * np.minimum(x, 30) ** 4),
)  # fmt: skip
ndtri: ElementwiseFunction = special(
    "ndtri", 1, _ndtri, "The quantile of the standard normal distribution.",
    d=(lambda x, y: _slope_of_quantile(x),), domain=(1e-9, 1), cost=14, facts=of_one("no_negative_zero"),
    slope_accuracy=lambda p: 32 - 8 * np.log(np.minimum(p, 1 - p)),  # an exponential of a square that is rounded
)  # fmt: skip
ndtri_exp: ElementwiseFunction = special(
    "ndtri_exp", 1, _ndtri_exp, "The quantile of the standard normal distribution, of a logarithm of a probability.",
    d=(lambda x, y: _slope_of_log_quantile(x),), domain=(-100, 0), cost=50,
    slope_accuracy=256,  # as of ndtri
)  # fmt: skip

FAMILY = Family("elementwise/special/normal", (ndtr, ndtri, log_ndtr, ndtri_exp, inverse_mills))
