"""The gamma function, its logarithm, the derivatives of this, and quotients of gamma functions.

The logarithm and its derivatives are got for x >= 4 by Stirling's series with polynomials of 1/x^2 in the place of the
divergent ones; below by recurrence from an interval where a polynomial serves: for the logarithm [0.75, 2.5], where it
is (t - 1) (t - 2) R(t), and for digamma [1, 3], where it is (t - t0) R(t) with its zero t0. So they are right to the
last digits beside these zeros too. R is a constant and a quotient of polynomials from the left end of the interval on,
where nothing cancels in the denominator: interpolated at the nodes of Chebyshev in mpmath, with a relative error below
3e-17. Below 0 they are reflected; what is left of terms that cancel beside the zeros there is as exact as the terms
are. All other polynomials have the least relative error on their intervals, below 1e-17: they were found by Remez'
exchange in mpmath.

The gamma function is a polynomial on [2, 3] and follows from there below 4; from there on it is
sqrt(2 pi) x^(x - 1/2) e^(-x) S(1/x), of which the power is taken in two factors. Where an argument is below 0 it is
reflected.

Source:
    NIST Digital Library of Mathematical Functions, 5.5.1 to 5.5.4, 5.11.1, 5.11.2, 5.15.5, 5.15.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, minimum, power
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isnan, less, logical_not, logical_or, where
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.rounding import floor, rint
from tg.ops.elementwise.special.series import WIDEST, Quotient, polynomial, special
from tg.ops.elementwise.trigonometric import sin, tan
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

LOG_PI: Final = 1.1447298858494002
CONSTANT: Final = 0.41893853320467274  # log(2 pi) / 2 - 1 / 2
ZERO: Final = 1.4616321449683622  # of digamma
ZERO_REST: Final = 9.549995429965697e-17
LOG_NEAR: Final = Quotient(  # of t - 3/4
    0.375,
    (
        0.2754990445801452, 0.9153704427219238, 1.0056645299138052, 0.28083886880709563, -0.21136086123461245,
        -0.16024871223929638, -0.03659732530566763, -0.0029894497862451084, -6.290849142738113e-05,
    ),
    (
        1.0, 4.601576190530628, 8.468224628234807, 7.98678779620257, 4.118574967957917,
        1.1500209111963826, 0.16196344433439597, 0.009786797434260768, 0.0001712525360921221,
    ),
)  # fmt: skip
LOG_SERIES: Final = (
    0.08333333333333331, -0.002777777777757918, 0.000793650786476244, -0.0005952368994418683,
    0.0008416400760276712, -0.0019112430010546065, 0.006179404587993383, -0.023860893139885077,
    0.08236121030549906, -0.1616828411868063,
)  # fmt: skip
NEAR: Final = Quotient(  # of t - 1
    0.5625,
    (
        0.6878801375034054, 0.6604720776730955, 0.05045198441656678, -0.10524741856858104,
        -0.03387547942667354, -0.0034249523795018572, -9.760443073721736e-05,
    ),
    (
        1.0, 2.2026590908323467, 1.7162609419355919, 0.6087383861468263,
        0.10249367007563655, 0.007534871593824529, 0.00017771399985478889, -2.8452986885778486e-08,
    ),
)  # fmt: skip
SERIES: Final = (
    0.08333333333333234, -0.0083333333325248, 0.003968253740013798, -0.004166634522214873,
    0.007573122892986047, -0.020956333774088055, 0.07864321844811464, -0.332594996582907,
    1.191889690080066, -2.3493021785990007,
)  # fmt: skip
SECOND_SERIES: Final = (
    0.16666666666664898, -0.03333333331892377, 0.02380951972713883, -0.03333275591640139,
    0.07570998880831384, -0.25063023973309, 1.08036430880289, -5.019363260644462,
    19.019603298545817, -38.690847899917195,
)  # fmt: skip

GAMMA: Final = (  # of t - 5/2 for t in [2, 3]
    1.329340388179137, 0.9347345216260858, 0.654558577981334, 0.2538712468410861,
    0.1096732340024099, 0.028360780598075265, 0.010392403417270941, 0.0016074004025157212,
    0.0007544742781399725, 3.94289216788315e-06, 6.132853183703222e-05, -1.2810041131368559e-05,
    7.262003167641109e-06, -2.5243441811839656e-06, 1.0560059445400037e-06, -5.054154073462753e-07,
    2.1542786097443897e-07,
)  # fmt: skip
STIRLING: Final = (
    1.0, 0.08333333333333968, 0.0034722222209322717, -0.0026813270577958183,
    -0.00022947633351709057, 0.0007841430882639316, 6.81023260254663e-05, -0.0005752400307390788,
    -0.00017074455068123186, 0.0013988952364626715, -0.001591025400111294, 0.0006556176778677023,
)  # fmt: skip
ROOT_2_PI: Final = 2.5066282746310002
LAST: Final = 171.7  # beyond it the gamma function is infinite
ALL_ZERO: Final = 190.0  # so far below 0 it is 0 wherever it is no pole


def _of_positive(x: Variable, a: Variable) -> Variable:
    """The logarithm of gamma(x), for a = |x|, where x >= -1/4."""
    low, below, once, twice = a < 4, x < 0.75, x >= 2.5, x >= 3.5
    p = where(low, where(below, a, where(once, x - 1, 1.0) * where(twice, x - 2, 1.0)), a)
    of_p = log(p)
    i = 1 / where(low, 4.0, a)
    far = (a - 0.5) * (of_p - 1) + (i * polynomial(i * i, LOG_SERIES) + CONSTANT)
    steps = cast_variable(once, x.type.dtype) + cast_variable(twice, x.type.dtype)
    t = where(low, where(below, x, (x - 1) - steps), 0.0)
    return where(low, t * (t - 1) * LOG_NEAR.at(t + 0.25, polynomial) + where(below, -of_p, of_p), far)


def _gammaln(x: Variable) -> Variable:
    a = absolute(x)
    left = x < -0.25
    value = _of_positive(where(left, a, x), a)
    size = absolute(sin(np.pi * (a - rint(a))))
    reflected = LOG_PI - log(a * where(left, size, 1.0)) - value
    pole = logical_or(equal(a, np.inf), left & equal(size, 0))
    return where(pole, np.inf, where(left, reflected, value))


def _digamma(x: Variable) -> Variable:
    left = x < 0
    a = where(left, 1 - x, x)
    low, below, above = a < 4, a < 1, a >= 3
    # below 4, a is 1 more or less than the argument t of the polynomial, or t itself
    divisor = where(low, where(below, a, where(above, a - 1, 1.0)), a)
    i = 1 / divisor
    j = where(low, 0.0, i)
    far = log(where(low, 4.0, a)) - (j * j * polynomial(j * j, SERIES) + j * 0.5)
    t = where(low, where(below, a + 1, where(above, a - 1, a)), 2.0)
    step = where(below, -i, where(above, i, 0.0))
    value = where(low, ((t - ZERO) - ZERO_REST) * NEAR.at(t - 1, polynomial) + step, far)
    r = x - rint(x)
    size = absolute(r)
    beyond = size > 0.25
    u = tan(np.pi * where(beyond, 0.5 - size, size))
    slope = np.pi * copysign(where(beyond, u, 1 / where(equal(u, 0), 1.0, u)), r)
    return where(left, where(equal(r, 0), np.nan, value - slope), value)


def digamma_step(x: Variable, m: Variable) -> Variable:
    """digamma(x + m) - digamma(x) for x > 0 and m >= 0: every term has the factor m, so that small steps lose no digit.

    The sum of m / ((x + k) (x + k + m)) over k < 4, and Stirling's series at both ends, of whose polynomial in 1 / x^2
    the divided difference is taken.
    """
    low, endless = x < 4, equal(m, np.inf)
    step = where(endless, 1.0, m)
    begin = where(low, x + 4, x)
    end = begin + step
    i, j = 1 / begin, 1 / end
    s, t = i * i, j * j
    value: Any = SERIES[-1]
    divided: Any = 0.0 * s
    for c in reversed((0.0, *SERIES[:-1])):
        divided, value = divided * s + value, value * t + c
    far = log1p(step * i) + step / end * i * (0.5 + (i + j) * divided)
    a = where(low, x, 1.0)
    near: Any = 0.0
    for k in range(4):
        near = near + step / (a + k + step) / (a + k)
    return where(endless, np.inf, where(low, far + near, far))


def _trigamma(x: Variable) -> Variable:
    left = x < 0
    a = where(left, 1 - x, x)
    low = a < 4
    i = 1 / where(low, a + 4, a)
    s = i * i
    far = s * (i * polynomial(s, SECOND_SERIES) + 0.5) + i
    b, c, d = ((where(low, a, 0.0) + k) * (where(low, a, 0.0) + k) for k in (1.0, 2.0, 3.0))
    j = 1 / where(low, a, 1.0)  # whose cube is in the derivative, where that of 1 / a^2 by itself is 1 / a^4
    near = j * j + (far + (b * c + d * (b + c)) / (b * c * d))
    value = where(low, near, far)
    u = np.pi / where(left, sin(np.pi * (x - rint(x))), 1.0)
    return where(left, u * u - value, value)


def is_whole(x: Variable) -> Variable:
    """Whether a number has no fraction; an infinity has none."""
    return equal(x, floor(x))


def sign_of_gamma(x: Variable) -> Variable:
    """The sign of gamma(x), where it has one."""
    half = 0.5 * floor(x)
    odd = less(floor(half), half)
    return where(x < 0, where(odd, -1.0, 1.0), copysign(1.0, x))


def _gammasgn(x: Variable) -> Variable:
    right = logical_or(x >= 0, logical_not(logical_or(is_whole(x), isnan(x))))
    at_zero = equal(x, 0)
    return where(logical_or(right, at_zero), sign_of_gamma(x), np.nan)


def _gamma(x: Variable) -> Variable:
    a = absolute(x)
    low = a < 4
    # below 4 by one step or two from t in [2, 3]
    t = where(low, where(a < 1, a + 2, where(a < 2, a + 1, where(a < 3, a, a - 1))), 2.0)
    steps = where(a < 1, a * (a + 1), where(a < 2, a, 1.0))
    near = polynomial(t - 2.5, GAMMA) * where(a >= 3, t, 1.0)
    b = where(low, 4.0, minimum(a, ALL_ZERO))
    root = power(b, 0.5 * (b - 0.5))
    rest = exp(-b) * (ROOT_2_PI * polynomial(1 / b, STIRLING))
    right = where(
        low, near / where(low, where(equal(a, 0), x, steps), 1.0), where(a > LAST, np.inf, (root * rest) * root)
    )
    # pi / (a sin(pi a) gamma(a)), by factors that do not overflow; steps has a factor of a
    size = absolute(sin(np.pi * (a - rint(a))))
    of_a = where(low, near * where(a < 1, 1.0, a), rest * a)
    over_steps = where(low, where(a < 1, a + 1, where(a < 2, a, 1.0)), 1.0)
    whole = equal(size, 0)
    reflected = np.pi / where(whole, 1.0, size) * over_steps / of_a
    reflected = where(low, reflected, reflected / root / root)
    left = where(logical_or(whole, equal(a, np.inf)), np.nan, reflected * sign_of_gamma(x))
    return where(isnan(x), x, where(x < 0, left, right))


def _factorial(x: Variable) -> Variable:
    small = x < 1
    a = where(x < 0, 0.0, x)
    return where(x < 0, 0.0, where(small, 1.0, a) * _gamma(where(small, 1 + a, a)))


gammaln: ElementwiseFunction = special(
    "gammaln", 1, _gammaln, "The logarithm of the size of the gamma function.",
    d=(lambda x, y: digamma(x),), domain=(1e-3, 1e4), cost=13, facts=of_one(keeps=("not_nan",)),
    slope_accuracy=16,
)  # fmt: skip
digamma: ElementwiseFunction = special(
    "digamma", 1, _digamma, "The derivative of the logarithm of the gamma function; NaN at its poles below 0.",
    d=(lambda x, y: trigamma(x),), domain=(1e-3, 1e4), cost=14,
    facts=of_one(rules=((("nonnegative", "not_nan"), ("not_nan",)),)),
    slope_accuracy=64,  # the angle of the reflection is rounded
)  # fmt: skip
trigamma: ElementwiseFunction = special(
    "trigamma", 1, _trigamma, "The second derivative of the logarithm of the gamma function.",
    domain=(1e-3, 1e4), cost=8, facts=of_one("nonnegative", "no_negative_zero"),
)  # fmt: skip
gammasgn = special(
    "gammasgn", 1, _gammasgn, "The sign of the gamma function; NaN at its poles below 0.",
    d=(lambda x, y: 0,), accuracy=0, domain=(-20, 20), cost=5, facts=of_one("nonzero"),
)  # fmt: skip
gamma: ElementwiseFunction = special(
    "gamma", 1, _gamma, "The gamma function; NaN at its poles below 0.",
    d=(lambda x, y: y * digamma(x),), domain=(0.01, 170), accuracy=6, wider=WIDEST, cost=40,
    facts=of_one(rules=((("nonnegative", "not_nan", "no_negative_zero"), ("nonnegative", "not_nan")),)),
    slope_accuracy=32,
)  # fmt: skip
factorial = special(
    "factorial", 1, _factorial, "gamma(x + 1), the factorial of a whole number; 0 below 0.",
    d=(lambda x, y: where(x < 0, 0.0, y * digamma(x + 1)),), domain=(0, 169), accuracy=6, wider=WIDEST, cost=40,
    facts=of_one("nonnegative", "no_negative_zero", keeps=("not_nan",)),
    slope_accuracy=16,
)  # fmt: skip

FAMILY = Family("elementwise/special/gamma", (gammaln, digamma, trigamma, gammasgn, gamma, factorial))
