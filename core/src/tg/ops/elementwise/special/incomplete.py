"""The incomplete gamma and beta functions and their inverses.

P(a, x) and Q(a, x) = 1 - P: below the larger of a and 1 the series of P, above it the continued fraction of Q; for x
up to 1.1, where Q is the smaller, its alternating series, in which nothing cancels; and for a > 20 and x within 0.3 a
of a, where the others need as many steps as the square root of a, Temme's expansion. I(x; a, b) is a continued fraction
for x below the mean, and 1 less that of the other side above it. What stands before them, x^a e^-x / gamma(a) and
x^a (1 - x)^b / B(a, b), is computed about its maximum, with what Stirling's formula leaves.

The derivatives in a and b are those of the same loops, over dual numbers. The inverses are found by Newton's method for
the logarithm of the smaller tail as a function of log(x), or of log(x / (1 - x)). It is concave there, so the method
comes to the solution from one side, wherever it begins.

A value y is off by some units in the last place times 1 + |log(y)|, as the exponential is.

Source:
    NIST Digital Library of Mathematical Functions, 5.11.1, 8.7.1, 8.7.3, 8.9.2, 8.12.7 to 8.12.11, 8.17.4.
    A. R. DiDonato and A. H. Morris, ACM Transactions on Mathematical Software 12, 377 (1986), and 18, 360 (1992): which
    of the ways serves where, and the continued fraction of the beta function.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, maximum, minimum
from tg.ops.elementwise.comparison import equal, isfinite, isnan, logical_not, where
from tg.ops.elementwise.exponential import exp as exp_of
from tg.ops.elementwise.exponential import log as log_of
from tg.ops.elementwise.exponential import log1p as log1p_of
from tg.ops.elementwise.exponential import sigmoid, xlog1py, xlogy
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.special.beta import betaln
from tg.ops.elementwise.special.dual import (
    Dual,
    along,
    choose,
    counts,
    erfc,
    erfcx,
    exp,
    expm1,
    gammaln,
    log,
    log1p,
    parts_of,
    sqrt,
    value_of,
)
from tg.ops.elementwise.special.gamma import digamma, digamma_step
from tg.ops.elementwise.special.iterated import DIGIT, in_double, iterated, until_settled
from tg.ops.elementwise.special.series import polynomial
from tg.ops.family import Family
from tg.ops.iteration import scan
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

HALF_LOG_2_PI: Final = 0.9189385332046727
TINY: Final = 1e-290
HUGE: Final = 1e60  # of which a product of four is no infinity
SETTLED: Final = 2e-15
"""The change of a derivative, as a part of it, up to which it has settled."""
FAR: Final = 1e30  # from where on what stands before a fraction is 0
LARGEST: Final = 1e6  # of shapes of the beta function: the steps of its fraction grow as their square root
STIRLING: Final = tuple(
    float(Fraction(n, d))
    for n, d in ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400),
                 (43867, 244188))
)  # fmt: skip
"""Bernoulli's numbers B(2 k) / (2 k (2 k - 1)): what Stirling's formula leaves, in odd powers of 1/a."""
ARCTANH: Final = tuple(1 / (2 * k + 1) for k in range(1, 19))
LOG_OF_ONE_MORE: Final = (
    0.5772156649015329, -0.24525136852258034, 0.15543426586394604, -0.11514654256344752, 0.09223900844903545,
    -0.07731816813330891, 0.06673172144127888, -0.05877785869071754, 0.05255557732506043, -0.0475379469137395,
    0.04338263398438016, -0.03981999326088455, 0.03655578502618555, -0.033188553751976255, 0.029217957174157625,
    -0.02424559953721992, 0.018324688696888334, -0.012156735226797626, 0.006813696709607099, -0.003096208334287044,
    0.00108530555479776, -0.00027355425344016747, 4.3922570667975566e-05, -3.3634106716698643e-06,
)  # fmt: skip
"""log(gamma(1 + a)) / (a (a - 1)) for a in [0, 1]: interpolated at the nodes of Chebyshev, in mpmath."""


def _temme_rows(orders: int, powers: int) -> np.ndarray[Any, Any]:
    """The coefficients of Temme's functions c_k(eta), the highest order and power first.

    With mu = x / a - 1 and eta^2 / 2 = mu - log(1 + mu), mu is the series of eta that mu mu' = eta (1 + mu) gives;
    c_0 = 1 / mu - 1 / eta and c_k = c_{k-1}' / eta + (-1)^k g_k / mu, where g_k are the coefficients of Stirling's
    series of gamma (8.12.10, 5.11.3): fractions, computed exactly.
    """
    count = powers + 2 * orders + 2
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, count + 2):
        rest = sum((mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - rest) / (n + 1))
    per_mu = [Fraction(1)]  # times eta
    for n in range(1, count):
        per_mu.append(-sum((mu[i + 1] * per_mu[n - i] for i in range(1, n + 1)), Fraction(0)))
    logs = [Fraction(0)] * (orders + 1)
    for k, b in enumerate((Fraction(1, 12), Fraction(-1, 360), Fraction(1, 1260), Fraction(-1, 1680), Fraction(1, 1188),
                           Fraction(-691, 360360))):  # fmt: skip
        if 2 * k + 1 <= orders:
            logs[2 * k + 1] = b
    gamma = [Fraction(1)]
    for n in range(1, orders + 1):
        gamma.append(sum((i * logs[i] * gamma[n - i] for i in range(1, n + 1)), Fraction(0)) / n)
    rows = [per_mu[1:]]
    for k in range(1, orders):
        g, before = (-1) ** k * gamma[k], rows[-1]
        rows.append([(n + 2) * before[n + 2] + g * per_mu[n + 1] for n in range(len(before) - 2)])
    return np.array([[float(c) for c in row[powers - 1 :: -1]] for row in rows[::-1]])


@functools.cache
def _temme_table() -> np.ndarray[Any, Any]:
    return _temme_rows(11, 18)


def log1p_rest(m: Any, ratio: Any) -> Any:
    """log(1 + m) - m, where ratio = 1 + m: near 0 by the series of the inverse hyperbolic tangent of m / (2 + m)."""
    near = absolute(value_of(m)) < 0.5
    s = choose(near, m, 0.25)
    r = s / (s + 2.0)
    square = r * r
    return choose(near, r * (square * 2.0 * polynomial(square, ARCTANH) - s), log(choose(near, 1.0, ratio)) - m)


def stirling_rest(a: Any) -> Any:
    """What is left of log(gamma(a)) over (a - 1/2) log(a) - a + log(2 pi) / 2."""
    large = value_of(a) >= 10
    i = 1.0 / choose(large, a, 10.0)
    s = choose(large, 1.0, a)
    return choose(large, i * polynomial(i * i, STIRLING), gammaln(s) - ((s - 0.5) * log(s) - s + HALF_LOG_2_PI))


def _gamma_density_in_parts(a: Any, x: Any) -> tuple[Any, Any]:
    """Of x^a e^-x / gamma(a) a factor, and the exponent of the other one; of a small a it is a x^a e^-x / gamma(1 + a).

    So no 1 / a^2 cancel in its derivatives.
    """
    small = value_of(a) < 1
    s, t = choose(small, 1.0, a), choose(small, a, 1.0)
    m = -((s - x) / s)
    of_large = s * log1p_rest(m, 1.0 / (s / x)) - stirling_rest(s)
    return choose(small, t, sqrt(s / (2 * math.pi))), choose(small, t * log(x) - x - gammaln(t + 1.0), of_large)


def gamma_density(a: Any, x: Any) -> Any:
    """x^a e^-x / gamma(a)."""
    factor, exponent = _gamma_density_in_parts(a, x)
    return factor * exp(exponent)


def _log_gamma_density(a: Any, x: Any) -> Any:
    """The logarithm of it."""
    factor, exponent = _gamma_density_in_parts(a, x)
    return exponent + log(factor)


def _quotient_has_moved(p: Any, q: Any, p_before: Any, q_before: Any) -> Any:
    """Whether a quotient p / q is another than the one before."""
    now, before = value_of(p) * value_of(q_before), value_of(p_before) * value_of(q)
    moved = absolute(now - before) > 4 * DIGIT * absolute(now)
    if isinstance(p, Dual) and isinstance(p.value, Dual):
        value, *slopes, second = parts_of(p / q)
        _, *slopes_before, second_before = parts_of(p_before / q_before)
        for slope, before in zip(slopes, slopes_before, strict=True):
            moved = moved | (absolute(slope - before) > SETTLED * absolute(slope))
        size = absolute(second) + absolute(slopes[0] * slopes[1] / value)  # which the second of a power has
        return moved | (absolute(second - second_before) > 8 * SETTLED * size)
    if isinstance(p, Dual):
        # of the derivatives p' q - p q' over q^2
        slope, last = p.slope * q.value - p.value * q.slope, p_before.slope * q_before.value
        slope_before = last - p_before.value * q_before.slope
        square, square_before = q.value * q.value, q_before.value * q_before.value
        return moved | (
            absolute(slope * square_before - slope_before * square) > SETTLED * absolute(slope * square_before)
        )
    return moved


def _series_of_p(a: Any, x: Any) -> Any:
    """The sum of x^n / ((a + 1) ... (a + n)) from n = 0 on."""

    def step(going: Any, n: Any, term: Any, total: Any) -> tuple[Any, ...]:
        term = choose(going, term * x / (a + n), 0.0)
        total = total + term
        return going & counts(term, total), n + 1.0, term, total

    one = a * 0.0 + (x * 0.0 + 1.0)
    return until_settled(step, (x > 0, 1.0, one, one))[3]


def _quotient_of_recurrence(first: tuple[Any, ...], terms: Any, going: Any) -> tuple[Any, Any, Any]:
    """Numerator and denominator of a continued fraction, by the recurrence for both, which has no division.

    Args:
        first: what `terms` is given first, and the term that the fraction begins with.
        terms: gives, of the number of a step and the rest of what it is given, the numerator and the denominator that
            the step adds to the fraction, and what it is given next.
    Returns:
        both, and which elements go on still.
    """
    *given, start = first
    zero = start * 0.0

    def step(going: Any, n: Any, p: Any, q: Any, p_before: Any, q_before: Any, *given: Any) -> tuple[Any, ...]:
        numerator, denominator, *given_next = terms(n, *given)
        p_next = p * denominator + p_before * numerator
        q_next = q * denominator + q_before * numerator
        moved = going & _quotient_has_moved(p_next, q_next, p, q)
        scale = where(absolute(value_of(p_next)) > HUGE, 1 / HUGE, 1.0)
        after = (p_next * scale, q_next * scale, p * scale, q * scale)
        kept = (choose(going, x, y) for x, y in zip(after, (p, q, p_before, q_before), strict=True))
        return moved, n + 1.0, *kept, *given_next

    ended = until_settled(step, (going, 1.0, start, zero + 1.0, zero + 1.0, zero, *given))
    return ended[2], ended[3], ended[0]


def _fraction_of_q(a: Any, x: Any, going: Any) -> Any:
    """The continued fraction of e^x x^-a times the upper incomplete gamma function."""

    def terms(n: Any, b: Any) -> tuple[Any, ...]:
        return (a - n) * n, b + 2.0, b + 2.0

    b = -(a - (x + 1.0))
    p, q, _ = _quotient_of_recurrence((b, b), terms, going)
    return q / p


def _small_q(a: Any, x: Any) -> Any:
    """Q(a, x) where it is the smaller for x <= 1.1: what the first term of the series of P leaves, and the others."""

    def step(going: Any, n: Any, power: Any, total: Any) -> tuple[Any, ...]:
        power = choose(going, power * -1.0 * x / n, 0.0)
        term = power / (a + n)
        total = total + term
        return going & counts(term, total), n + 1.0, power, total

    zero = a * 0.0 + x * 0.0
    total = until_settled(step, (x > 0, 1.0, zero + 1.0, zero), 200)[3]
    low = value_of(a) <= 1
    s = choose(low, a, 1.0)
    logarithm = choose(low, s * (s - 1.0) * polynomial(s, LOG_OF_ONE_MORE), gammaln(choose(low, 1.0, a) + 1.0))
    first = a * log(x) - logarithm
    return -expm1(first) - exp(first) * a * total


def _temme(a: Any, x: Any) -> tuple[Any, Any]:
    """z, of which the complementary error function is most of 2 Q, and what is to be added to Q, over e^-z²."""
    m = -((a - x) / a)
    square = log1p_rest(m, m + 1.0) * -2.0
    flat = value_of(square) <= 0
    root = sqrt(choose(flat, 1.0, square))
    eta = choose(flat, m - m * m / 3.0, choose(value_of(m) < 0, -root, root))
    per_a = 1.0 / a

    def order(z: Any, row: Any) -> tuple[Any, None]:
        return z * per_a + scan(lambda p, c: (p * eta + c, None), eta * 0.0, row)[0], None

    z, _ = scan(order, eta * 0.0, as_variable(_temme_table()))
    return eta * sqrt(a * 0.5), z / sqrt(a * (2 * math.pi))


def _ways(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Where Temme's expansion serves, the alternating series of Q and its continued fraction; else the series of P."""
    shape = value_of(a)
    near = (shape > 20) & (absolute(x - shape) < 0.3 * shape)
    log_low = log_of(where(x <= 0.5, x, 0.5))
    small = logical_not(near) & where(x <= 0.5, log_low * shape >= -0.4, (x <= 1.1) & (1.1 * x >= shape))
    return near, small, logical_not(near | small) & (x > 1.1) & (x >= shape)


def _sums(a: Any, x: Any, near: Any, small: Any, fraction: Any) -> tuple[Any, Any, Any]:
    """The series of P, the continued fraction and the alternating series of Q, each where it serves."""
    other, counts = fraction | near, fraction & (x < FAR)
    by_series = _series_of_p(choose(other, 1.0, a), where(other, 0.0, x))
    by_fraction = _fraction_of_q(choose(counts, a, 1.0), where(counts, x, 2.0), counts)
    return by_series, by_fraction, _small_q(choose(small, a, 1.0), where(small, x, 1.0))


def gamma_tails(a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q for finite a > 0 and x > 0; a may be a dual number."""
    near, small, fraction = _ways(a, x)
    z, more = _temme(choose(near, a, 30.0), where(near, x, 30.0))
    rest = exp(z * z * -1.0) * more
    front = gamma_density(a, x)
    by_series, by_fraction, by_small = _sums(a, x, near, small, fraction)
    by_series, by_fraction = front / a * by_series, front * by_fraction
    p = choose(near, erfc(-z) * 0.5 - rest, choose(fraction, 1.0 - by_fraction, by_series))
    q = choose(near, erfc(z) * 0.5 + rest, choose(fraction, by_fraction, choose(small, by_small, 1.0 - by_series)))
    return p, q


def log_gamma_tails(a: Any, x: Any) -> tuple[Any, Any]:
    """The logarithms of P and Q for finite a > 0 and x > 0; a may be a dual number."""
    near, small, fraction = _ways(a, x)
    z, more = _temme(choose(near, a, 30.0), where(near, x, 30.0))
    above = value_of(z) > 0
    size, rest = choose(above, z, z * -1.0), choose(above, more, more * -1.0)
    by_temme = size * size * -1.0 + log(erfcx(size) * 0.5 + rest)
    front = _log_gamma_density(a, x)
    by_series, by_fraction, by_small = _sums(a, x, near, small, fraction)
    by_series = front - log(a) + log(by_series)
    by_fraction = front + log(choose(fraction, by_fraction, 1.0))
    of_q = fraction | (near & above)
    found = choose(near, by_temme, choose(fraction, by_fraction, by_series))
    other = log1p(-exp(found))
    of_small = log(choose(small, by_small, 1.0))
    return choose(of_q, other, found), choose(of_q, found, choose(small, of_small, other))


def _gamma_tails(a: Variable, x: Variable) -> tuple[Variable, Variable, Variable]:
    """P and Q of all that there is, and where they are computed."""
    inside = (a > 0) & (x > 0) & isfinite(a) & isfinite(x)
    p, q = gamma_tails(where(inside, a, 1.0), where(inside, x, 1.0))
    of_p, of_q = _at_ends(a, x, inside, 1.0, 0.0)
    return where(inside, p, of_p), where(inside, q, of_q), inside


def _at_ends(a: Variable, x: Variable, inside: Variable, one: float, nothing: float) -> tuple[Variable, Variable]:
    """P and Q where they are not computed: at the ends one of them is 1, for x = inf or a = 0, and x = 0 or a = inf."""
    above = (x > 0) & (a >= 0) & (equal(x, np.inf) | equal(a, 0))
    below = (a > 0) & (x >= 0) & (equal(x, 0) | equal(a, np.inf))
    lost = logical_not(inside | above | below) | (above & below)
    return where(lost, np.nan, where(above, one, nothing)), where(lost, np.nan, where(above, nothing, one))


def _slope_in_shape(a: Variable, x: Variable, order: int) -> Variable:
    """The derivative of P in a, of the first order or the second."""
    inside = (a > 0) & (x > 0) & isfinite(a) & isfinite(x)
    ready = where(inside, a, 1.0)
    p, q = gamma_tails(along(ready, *[ready * 0.0 + 1.0] * order), where(inside, x, 1.0))
    # of the smaller of both, whose derivative has not lost digits
    slope = where(value_of(p) <= 0.5, parts_of(p)[-1], -parts_of(q)[-1])
    return where(inside, slope, where(isnan(a) | isnan(x), np.nan, 0.0))


def _log_gamma_tails(a: Variable, x: Variable) -> tuple[Variable, Variable]:
    """The logarithms of P and Q of all that there is."""
    inside = (a > 0) & (x > 0) & isfinite(a) & isfinite(x)
    p, q = log_gamma_tails(where(inside, a, 1.0), where(inside, x, 1.0))
    of_p, of_q = _at_ends(a, x, inside, 0.0, -np.inf)
    return where(inside, p, of_p), where(inside, q, of_q)


def _slope_of_log_in_shape(a: Variable, x: Variable, upper: int, order: int) -> Variable:
    """The derivative of the logarithm of P, or of Q, in a, of the first order or the second."""
    inside = (a > 0) & (x > 0) & isfinite(a) & isfinite(x)
    ready = where(inside, a, 1.0)
    tail = log_gamma_tails(along(ready, *[ready * 0.0 + 1.0] * order), where(inside, x, 1.0))[upper]
    return where(inside, parts_of(tail)[-1], where(isnan(a) | isnan(x), np.nan, 0.0))


def _share(a: Variable, x: Variable, log_tail: Variable) -> Variable:
    """The density of x over a tail, of which the logarithm is given."""
    inside = (x > 0) & isfinite(x)
    ready = where(inside, x, 1.0)
    found = exp_of(_log_gamma_density(a, ready) - log_of(ready) - where(inside, log_tail, 0.0))
    at_end = where(equal(x, np.inf), 0.0, _density(a, where(equal(x, np.inf), 1.0, x)))
    return where(inside, found, at_end)


def _share_of_lower(a: Variable, x: Variable) -> Variable:
    return where(equal(x, 0), np.inf, _share(a, x, log_gamma_lower(a, x)))


def _share_of_upper(a: Variable, x: Variable) -> Variable:
    return where(equal(x, np.inf), 1.0, _share(a, x, log_gamma_upper(a, x)))


def _density(a: Variable, x: Variable) -> Variable:
    """The derivative of P in x: x^(a - 1) e^-x / gamma(a)."""
    return exp_of(xlogy(a - 1.0, x) - x - gammaln(a))


def _slope_of_density_in_shape(a: Variable, x: Variable) -> Variable:
    """The derivative of it in a: it times log(x) - digamma(a)."""
    inside = (x > 0) & isfinite(x)
    ready = where(inside, x, 1.0)
    slope = _density(a, ready) * (log_of(ready) - digamma(a))
    at_0 = where(a > 1, 0.0, -np.inf)  # of x^(a - 1) log(x)
    return where(inside, slope, where(equal(x, 0), at_0, where(equal(x, np.inf), 0.0, np.nan)))


density, _density_in_shape = in_double(_density), in_double(_slope_of_density_in_shape)
_OF_TAIL: Final = of_one("nonnegative", "no_negative_zero")

gammainc_daa = iterated(
    "gammainc_daa", 2, lambda a, x: _slope_in_shape(a, x, 2), "The second derivative of gammainc(a, x) in a.",
    accuracy=4096, domain=(0.1, 30), cost=4000,
)  # fmt: skip
gammainc_da = iterated(
    "gammainc_da", 2, lambda a, x: _slope_in_shape(a, x, 1), "The derivative of gammainc(a, x) in a.",
    d=(lambda a, x, y: gammainc_daa(a, x), lambda a, x, y: _density_in_shape(a, x)),
    accuracy=512, domain=(0.1, 30), cost=2000,
)  # fmt: skip


def _slopes(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    """Powers multiply the rounding of a log(x); beside x = a Temme's expansion leaves the second one by a no digit."""
    return np.where((np.abs(x - a) < 0.01 * a) & (a >= 1), np.inf, 2.0**18)


gammainc = iterated(
    "gammainc", 2, lambda a, x: _gamma_tails(a, x)[0],
    "The part of gamma(a) that the integral from 0 to x is: P(a, x), for a >= 0 and x >= 0.",
    d=(lambda a, x, y: gammainc_da(a, x), lambda a, x, y: density(a, x)), accuracy=64, domain=(0.1, 30), cost=1000,
    slope_accuracy=_slopes,
)  # fmt: skip
gammaincc = iterated(
    "gammaincc", 2, lambda a, x: _gamma_tails(a, x)[1],
    "The part of gamma(a) that the integral from x to infinity is: Q(a, x) = 1 - P(a, x), exact where it is small.",
    d=(lambda a, x, y: -gammainc_da(a, x), lambda a, x, y: -density(a, x)), accuracy=64, domain=(0.1, 30), cost=1000,
    slope_accuracy=_slopes,
)  # fmt: skip


def _slope_of_share_in_shape(a: Variable, x: Variable, share: Variable, slope: Variable) -> Variable:
    """The derivative in a of the density over a tail, of which the logarithm has a slope."""
    inside = (x > 0) & isfinite(x)
    return where(inside, share * (log_of(where(inside, x, 1.0)) - digamma(a) - slope), np.nan)


share_of_lower, share_of_upper, _share_in_shape = (
    in_double(share) for share in (_share_of_lower, _share_of_upper, _slope_of_share_in_shape)
)
log_gamma_lower_daa = iterated(
    "log_gamma_lower_daa", 2, lambda a, x: _slope_of_log_in_shape(a, x, 0, 2),
    "The second derivative of log_gamma_lower in a.", accuracy=4096, domain=(0.1, 30), cost=5000,
)  # fmt: skip
log_gamma_lower_da: ElementwiseFunction = iterated(
    "log_gamma_lower_da", 2, lambda a, x: _slope_of_log_in_shape(a, x, 0, 1),
    "The derivative of log_gamma_lower in a.",
    d=(lambda a, x, y: log_gamma_lower_daa(a, x), lambda a, x, y: _share_in_shape(a, x, share_of_lower(a, x), y)),
    accuracy=512, domain=(0.1, 30), cost=2500,
)  # fmt: skip
log_gamma_upper_daa = iterated(
    "log_gamma_upper_daa", 2, lambda a, x: _slope_of_log_in_shape(a, x, 1, 2),
    "The second derivative of log_gamma_upper in a.", accuracy=4096, domain=(0.1, 30), cost=5000,
)  # fmt: skip
log_gamma_upper_da: ElementwiseFunction = iterated(
    "log_gamma_upper_da", 2, lambda a, x: _slope_of_log_in_shape(a, x, 1, 1),
    "The derivative of log_gamma_upper in a.",
    d=(lambda a, x, y: log_gamma_upper_daa(a, x), lambda a, x, y: -_share_in_shape(a, x, share_of_upper(a, x), y)),
    accuracy=512, domain=(0.1, 30), cost=2500,
)  # fmt: skip
log_gamma_lower: ElementwiseFunction = iterated(
    "log_gamma_lower", 2, lambda a, x: _log_gamma_tails(a, x)[0],
    "The logarithm of gammainc(a, x): right where that underflows too.",
    d=(lambda a, x, y: log_gamma_lower_da(a, x), lambda a, x, y: share_of_lower(a, x)),
    accuracy=64, domain=(0.1, 30), cost=1200,
    slope_accuracy=_slopes,
)  # fmt: skip
log_gamma_upper: ElementwiseFunction = iterated(
    "log_gamma_upper", 2, lambda a, x: _log_gamma_tails(a, x)[1],
    "The logarithm of gammaincc(a, x): right where that underflows too.",
    d=(lambda a, x, y: log_gamma_upper_da(a, x), lambda a, x, y: -share_of_upper(a, x)),
    accuracy=64, domain=(0.1, 30), cost=1200,
    slope_accuracy=_slopes,
)  # fmt: skip


def _newton(tail: Any, target: Any, start: Any, low: Any) -> Any:
    """The t whose tail is the target, by Newton's method for its logarithm.

    `tail` gives a tail and its derivative. Upwards a step is held to 1: there a tail may fall as e^(-e^t) does.
    """
    goal = log_of(target)

    def step(going: Any, t: Any) -> tuple[Any, ...]:
        found, slope = tail(t)
        there = (found > 0) & logical_not(equal(slope, 0))
        rest = log_of(where(there, found, 1.0)) - goal
        move = maximum(where(there, rest * found / where(there, slope, 1.0), where(low, -0.5, 0.5)), -1.0)
        after = where(going, t - move, t)
        exact = there & (absolute(rest) <= 8 * DIGIT * (1 + absolute(goal)))
        return going & logical_not(exact) & (absolute(move) > 4 * DIGIT * (1 + absolute(after))), after

    return until_settled(step, (isfinite(goal), start), 100)[1]


def _inverse_of_gamma(a: Variable, p: Variable, q: Variable) -> Variable:
    """The x of which P is p and Q is q = 1 - p: the smaller is solved for."""
    inside = (a > 0) & (p > 0) & (q > 0) & isfinite(a)
    a, p, q = where(inside, a, 1.0), where(inside, p, 0.5), where(inside, q, 0.5)
    low = p <= 0.5

    def tail(t: Any) -> tuple[Any, Any]:
        x = exp_of(t)
        below, above = gamma_tails(a, where(x > 0, x, TINY))
        slope = gamma_density(a, where(x > 0, x, TINY))
        return where(low, below, above), where(low, slope, -slope)

    first = (log_of(where(low, p, 0.5)) + gammaln(a + 1.0)) / a  # of the first term of the series of P
    t = _newton(tail, where(low, p, q), where(low, minimum(first, log_of(a)), log_of(a + 1.0)), low)
    x = exp_of(t)
    ready = where(x > 0, x, 1.0)
    below, above = gamma_tails(a, ready)
    slope = gamma_density(a, ready) / ready
    last = where((slope > 0) & (x > 0), where(low, below - p, q - above) / where(slope > 0, slope, 1.0), 0.0)
    return where(inside, x - last, np.nan)


def _ends(found: Variable, a: Variable, p: Variable, low: float, high: float) -> Variable:
    """What an inverse is at p = 0 and p = 1."""
    return where((a >= 0) & equal(p, 0), low, where((a >= 0) & equal(p, 1), high, found))


def _per(x: Variable) -> Variable:
    return 1.0 / x


gammaincinv = iterated(
    "gammaincinv", 2, lambda a, p: _ends(_inverse_of_gamma(a, p, 1.0 - p), a, p, 0.0, np.inf),
    "The x of which gammainc(a, x) is p.",
    d=(lambda a, p, y: -gammainc_da(a, y) / density(a, y), lambda a, p, y: _per(density(a, y))),
    accuracy=256, domain=(0.1, 0.9), cost=11_000,
)  # fmt: skip
gammainccinv = iterated(
    "gammainccinv", 2, lambda a, q: _ends(_inverse_of_gamma(a, 1.0 - q, q), a, q, np.inf, 0.0),
    "The x of which gammaincc(a, x) is q.",
    d=(lambda a, q, y: -gammainc_da(a, y) / density(a, y), lambda a, q, y: -_per(density(a, y))),
    accuracy=256, domain=(0.1, 0.9), cost=11_000,
)  # fmt: skip


def _front_in_parts(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Of x^a y^b / B(a, b) for x + y = 1, the square of a factor, and the exponent of the other one."""
    s = a + b
    d = -(a * y - b * x)  # (a + b) x - a
    exponent = a * log1p_rest(d / a, s * x / a) + b * log1p_rest(-d / b, s * y / b)
    rest = stirling_rest(s) - stirling_rest(a) - stirling_rest(b)
    return a * b / (s * (2 * math.pi)), exponent + rest


def _front(a: Any, b: Any, x: Any, y: Any) -> Any:
    """x^a y^b / B(a, b) for x + y = 1."""
    square, exponent = _front_in_parts(a, b, x, y)
    return sqrt(square) * exp(exponent)


def _fraction_of_beta(a: Any, b: Any, x: Any, y: Any) -> Any:
    """The continued fraction that x^a y^b / B(a, b) is multiplied with, of which each term is times its divisors."""

    def terms(m: Any, before: Any, even: Any) -> tuple[Any, ...]:
        """`even` is a + 2 m - 1, and `before` that of the step before, which the first has none of."""
        odd, w = even + 2.0, (b - m) * m
        numerator = (a + (m - 1.0)) * (a + b + (m - 1.0)) * w * (x * x) * (before * odd)
        denominator = (w * x + even * m) * odd + (a + m) * (a * y - b * x + 1.0 + (2.0 - x) * m) * even
        return numerator, denominator, even, odd

    start = a * (a * y - b * x + 1.0)
    p, q, going = _quotient_of_recurrence((start * 0.0 + 1.0, a + 1.0 + start * 0.0, start), terms, x > 0)
    return choose(going, start * 0.0 + np.nan, (a + 1.0) * q / p)


def beta_tails(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """I(x; a, b) and 1 - I for finite a > 0 and b > 0, and x in (0, 1), y = 1 - x; a and b may be dual numbers."""
    above, *smaller = _smaller_tail(a, b, x, y)
    found = _front(*smaller) * _fraction_of_beta(*smaller)
    return choose(above, 1.0 - found, found), choose(above, found, 1.0 - found)


def _smaller_tail(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """Whether x is above the mean, and a, b, x and y of the side where it is not."""
    above = value_of(a) * y < value_of(b) * x
    return above, choose(above, b, a), choose(above, a, b), where(above, y, x), where(above, x, y)


def _log_beta_tail(a: Any, b: Any, w: Any) -> Any:
    """The logarithm of I(1 / (1 + w); a, b) for finite a, b and w above 0; a and b may be dual numbers."""
    above, *smaller = _smaller_tail(a, b, 1.0 / (1.0 + w), w / (1.0 + w))
    square, exponent = _front_in_parts(*smaller)
    found = log(square) * 0.5 + exponent + log(_fraction_of_beta(*smaller))
    return choose(above, log1p(-exp(choose(above, found, -1.0))), found)


def _is_inside(a: Variable, b: Variable, x: Variable) -> Variable:
    return (a > 0) & (b > 0) & (a <= LARGEST) & (b <= LARGEST) & (x > 0) & (x < 1)


def _betainc(a: Variable, b: Variable, x: Variable) -> Variable:
    inside = _is_inside(a, b, x)
    ready = where(inside, x, 0.5)
    found = beta_tails(where(inside, a, 1.0), where(inside, b, 1.0), ready, 1.0 - ready)[0]
    # where a is 0 or b infinite all is at 0, where b is 0 or a infinite all at 1
    low, high = equal(a, 0) | equal(b, np.inf), equal(b, 0) | equal(a, np.inf)
    ends = low | high | equal(x, 0) | equal(x, 1)
    known = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ends & logical_not(low & high)
    top = equal(x, 1) | (low & (x > 0))
    return where(inside, found, where(known, where(top, 1.0, 0.0), np.nan))


def _slope_of_beta(a: Variable, b: Variable, x: Variable, *directions: tuple[Any, Any]) -> Variable:
    """The derivative of I along a direction of a and b, or along two."""
    inside = _is_inside(a, b, x)
    ready = where(inside, x, 0.5)
    p, q = (_changing(inside, v, [pair[k] for pair in directions]) for k, v in enumerate((a, b)))
    below, above = beta_tails(p, q, ready, 1.0 - ready)
    slope = where(value_of(below) <= 0.5, parts_of(below)[-1], -parts_of(above)[-1])
    return where(inside, slope, where(isnan(a) | isnan(b) | isnan(x), np.nan, 0.0))


def _changing(inside: Variable, x: Variable, slopes: Sequence[Any]) -> Any:
    """A number that changes along directions, or 1 where it is not inside."""
    return along(where(inside, x, 1.0), *(x * 0.0 + slope for slope in slopes))


def _beta_density(a: Variable, b: Variable, x: Variable) -> Variable:
    """The derivative of I in x: x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    return exp_of(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - (gammaln(a) + gammaln(b) - gammaln(a + b)))


def _slope_of_beta_density(a: Variable, b: Variable, x: Variable, log_x: Variable, slope: Variable) -> Variable:
    """The derivative of it in a, of which log(x) is given and that of betaln."""
    inside = (x > 0) & (x < 1)
    ready = where(inside, x, 0.5)
    return where(inside, _beta_density(a, b, ready) * (where(inside, log_x, 0.0) - slope), np.nan)


def _beta_density_by_a(a: Variable, b: Variable, x: Variable) -> Variable:
    return _slope_of_beta_density(a, b, x, log_of(x), -digamma_step(a, b))


def _beta_density_by_b(a: Variable, b: Variable, x: Variable) -> Variable:
    return _slope_of_beta_density(a, b, x, log1p_of(-x), -digamma_step(b, a))


beta_density, _density_by_a, _density_by_b = (
    in_double(slope) for slope in (_beta_density, _beta_density_by_a, _beta_density_by_b)
)

betainc_along_two = iterated(
    "betainc_along_two", 7, lambda a, b, x, da, db, ea, eb: _slope_of_beta(a, b, x, (da, db), (ea, eb)),
    "The second derivative of betainc(a, b, x) along the directions (da, db) and (ea, eb) of a and b.",
    accuracy=4096, domain=(0.05, 0.95), cost=3000,
)  # fmt: skip
betainc_da = iterated(
    "betainc_da", 3, lambda a, b, x: _slope_of_beta(a, b, x, (1.0, 0.0)), "The derivative of betainc(a, b, x) in a.",
    d=(
        lambda a, b, x, y: betainc_along_two(a, b, x, 1.0, 0.0, 1.0, 0.0),
        lambda a, b, x, y: betainc_along_two(a, b, x, 1.0, 0.0, 0.0, 1.0),
        lambda a, b, x, y: _density_by_a(a, b, x),
    ),
    accuracy=512, domain=(0.05, 0.95), cost=1000,
)  # fmt: skip
betainc_db = iterated(
    "betainc_db", 3, lambda a, b, x: _slope_of_beta(a, b, x, (0.0, 1.0)), "The derivative of betainc(a, b, x) in b.",
    d=(
        lambda a, b, x, y: betainc_along_two(a, b, x, 1.0, 0.0, 0.0, 1.0),
        lambda a, b, x, y: betainc_along_two(a, b, x, 0.0, 1.0, 0.0, 1.0),
        lambda a, b, x, y: _density_by_b(a, b, x),
    ),
    accuracy=512, domain=(0.05, 0.95), cost=1000,
)  # fmt: skip
betainc = iterated(
    "betainc", 3, _betainc,
    "The part of B(a, b) that the integral from 0 to x is, for a and b up to a million: beyond it is NaN.",
    d=(
        lambda a, b, x, y: betainc_da(a, b, x), lambda a, b, x, y: betainc_db(a, b, x),
        lambda a, b, x, y: beta_density(a, b, x),
    ),
    accuracy=64, domain=(0.05, 0.95), cost=600,
)  # fmt: skip


def _is_inside_by_odds(a: Variable, b: Variable, w: Variable) -> Variable:
    return _is_inside(a, b, where((w > 0) & (w < np.inf), 0.5, w * 0.0))


def _log_tail(a: Variable, b: Variable, w: Variable) -> Variable:
    inside = _is_inside_by_odds(a, b, w)
    found = _log_beta_tail(*(where(inside, v, 1.0) for v in (a, b, w)))
    known = _is_inside(a, b, where(w >= 0, 0.5, w))
    return where(inside, found, where(known, where(w > 0, -np.inf, 0.0), np.nan))


def _slope_of_log_tail(a: Variable, b: Variable, w: Variable, *directions: tuple[Any, Any]) -> Variable:
    """The derivative of the logarithm along a direction of a and b, or along two."""
    inside = _is_inside_by_odds(a, b, w)
    p, q = (_changing(inside, v, [pair[k] for pair in directions]) for k, v in enumerate((a, b)))
    tail = _log_beta_tail(p, q, where(inside, w, 1.0))
    return where(inside, parts_of(tail)[-1], where(isnan(a) | isnan(b) | isnan(w), np.nan, 0.0))


def _slope_by_odds(a: Variable, b: Variable, w: Variable) -> Variable:
    more = log1p_of(w)
    return -exp_of(b * (log_of(w) - more) - a * more - betaln(a, b) - log_beta_tail(a, b, w)) / w


def _odds_by_a(a: Variable, b: Variable, w: Variable, slope: Variable) -> Variable:
    """The derivative of the one by w in a, in which the logarithm has a slope."""
    return _slope_by_odds(a, b, w) * (digamma_step(a, b) - log1p_of(w) - slope)


def _odds_by_b(a: Variable, b: Variable, w: Variable, slope: Variable) -> Variable:
    return _slope_by_odds(a, b, w) * (digamma_step(b, a) + log_of(w) - log1p_of(w) - slope)


slope_by_odds, _by_odds_and_a, _by_odds_and_b = (in_double(slope) for slope in (_slope_by_odds, _odds_by_a, _odds_by_b))

log_beta_tail_along_two = iterated(
    "log_beta_tail_along_two", 7, lambda a, b, w, da, db, ea, eb: _slope_of_log_tail(a, b, w, (da, db), (ea, eb)),
    "The second derivative of log_beta_tail along the directions (da, db) and (ea, eb) of a and b.",
    accuracy=4096, domain=(0.05, 20), cost=3000,
)  # fmt: skip
log_beta_tail_da = iterated(
    "log_beta_tail_da", 3, lambda a, b, w: _slope_of_log_tail(a, b, w, (1.0, 0.0)),
    "The derivative of log_beta_tail in a.",
    d=(
        lambda a, b, w, y: log_beta_tail_along_two(a, b, w, 1.0, 0.0, 1.0, 0.0),
        lambda a, b, w, y: log_beta_tail_along_two(a, b, w, 1.0, 0.0, 0.0, 1.0),
        _by_odds_and_a,
    ),
    accuracy=512, domain=(0.05, 20), cost=1000,
)  # fmt: skip
log_beta_tail_db = iterated(
    "log_beta_tail_db", 3, lambda a, b, w: _slope_of_log_tail(a, b, w, (0.0, 1.0)),
    "The derivative of log_beta_tail in b.",
    d=(
        lambda a, b, w, y: log_beta_tail_along_two(a, b, w, 1.0, 0.0, 0.0, 1.0),
        lambda a, b, w, y: log_beta_tail_along_two(a, b, w, 0.0, 1.0, 0.0, 1.0),
        _by_odds_and_b,
    ),
    accuracy=512, domain=(0.05, 20), cost=1000,
)  # fmt: skip
log_beta_tail: ElementwiseFunction = iterated(
    "log_beta_tail", 3, _log_tail,
    "The logarithm of betainc(a, b, 1 / (1 + w)), for a and b up to a million: right where that underflows too.",
    d=(
        lambda a, b, w, y: log_beta_tail_da(a, b, w), lambda a, b, w, y: log_beta_tail_db(a, b, w),
        lambda a, b, w, y: slope_by_odds(a, b, w),
    ),
    accuracy=64, domain=(0.05, 20), cost=700,
)  # fmt: skip


def _betaincinv(a: Variable, b: Variable, p: Variable) -> Variable:
    inside = _is_inside(a, b, p)
    a, b, p = where(inside, a, 1.0), where(inside, b, 1.0), where(inside, p, 0.5)
    q = 1.0 - p
    low = p <= 0.5

    def tail(t: Any) -> tuple[Any, Any]:
        x, y = maximum(sigmoid(t), TINY), maximum(sigmoid(-t), TINY)
        below, above = beta_tails(a, b, x, y)
        slope = _front(a, b, x, y)
        return where(low, below, above), where(low, slope, -slope)

    beta = gammaln(a) + gammaln(b) - gammaln(a + b)
    mean = log_of(a) - log_of(b)
    first = (log_of(where(low, p, 1.0)) + log_of(a) + beta) / a  # of the first term of a series at each end
    last = -(log_of(where(low, 1.0, q)) + log_of(b) + beta) / b
    t = _newton(tail, where(low, p, q), where(low, minimum(mean, first), maximum(mean, last)), low)
    return where(inside, sigmoid(t), np.nan)


betaincinv = iterated(
    "betaincinv", 3,
    lambda a, b, p: where((a > 0) & (b > 0) & (equal(p, 0) | equal(p, 1)), p, _betaincinv(a, b, p)),
    "The x of which betainc(a, b, x) is p.",
    d=(
        lambda a, b, p, y: -betainc_da(a, b, y) / beta_density(a, b, y),
        lambda a, b, p, y: -betainc_db(a, b, y) / beta_density(a, b, y),
        lambda a, b, p, y: _per(beta_density(a, b, y)),
    ),
    accuracy=256, domain=(0.05, 0.95), cost=7000,
)  # fmt: skip

FAMILY = Family(
    "elementwise/special/incomplete",
    (
        gammainc,
        gammaincc,
        gammainc_da,
        gammainc_daa,
        gammaincinv,
        gammainccinv,
        betainc,
        betainc_da,
        betainc_db,
        betainc_along_two,
        betaincinv,
        log_beta_tail,
        log_gamma_lower,
        log_gamma_lower_da,
        log_gamma_lower_daa,
        log_gamma_upper,
        log_gamma_upper_da,
        log_gamma_upper_daa,
        log_beta_tail_da,
        log_beta_tail_db,
        log_beta_tail_along_two,
    ),
)
