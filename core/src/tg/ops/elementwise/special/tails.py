"""Tails of the gamma and the beta distribution: series, continued fractions and Temme's expansion, over dual numbers.

P(a, x) and Q(a, x) = 1 - P: below the larger of a and 1 the series of P, above it the continued fraction of Q; for x
up to 1.1, where Q is the smaller, its alternating series, in which nothing cancels; and for a > 20 and x within 0.3 a
of a, where the others need as many steps as the square root of a, Temme's expansion. I(x; a, b) is a continued fraction
for x below the mean, and 1 less that of the other side above it. What stands before them, x^a e^-x / gamma(a) and
x^a (1 - x)^b / B(a, b), is computed about its maximum, with what Stirling's formula leaves.

Source:
    NIST Digital Library of Mathematical Functions, 5.11.1, 8.7.1, 8.7.3, 8.9.2, 8.12.7 to 8.12.11, 8.17.4.
    A. R. DiDonato and A. H. Morris, ACM Transactions on Mathematical Software 12, 377 (1986), and 18, 360 (1992): which
    of the ways serves where, and the continued fraction of the beta function.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.elementwise.exponential import log as log_of
from tg.ops.elementwise.special.dual import (
    Dual,
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
from tg.ops.elementwise.special.iterated import DIGIT, until_settled
from tg.ops.elementwise.special.series import polynomial
from tg.ops.iteration import scan
from tg.variables.conversion import as_variable

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
    """The excess of log(gamma(a)) over (a - 1/2) log(a) - a + log(2 pi) / 2."""
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


def log_gamma_density(a: Any, x: Any) -> Any:
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
    *state, start = first
    zero = start * 0.0

    def step(going: Any, n: Any, p: Any, q: Any, p_before: Any, q_before: Any, *state: Any) -> tuple[Any, ...]:
        numerator, denominator, *given_next = terms(n, *state)
        p_next = p * denominator + p_before * numerator
        q_next = q * denominator + q_before * numerator
        moved = going & _quotient_has_moved(p_next, q_next, p, q)
        scale = where(absolute(value_of(p_next)) > HUGE, 1 / HUGE, 1.0)
        after = (p_next * scale, q_next * scale, p * scale, q * scale)
        carries = (choose(going, x, y) for x, y in zip(after, (p, q, p_before, q_before), strict=True))
        return moved, n + 1.0, *carries, *given_next

    ended = until_settled(step, (going, 1.0, start, zero + 1.0, zero + 1.0, zero, *state))
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
    """Masks: Temme's expansion serves, the alternating series of Q, its continued fraction; else the series of P."""
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
    front = log_gamma_density(a, x)
    by_series, by_fraction, by_small = _sums(a, x, near, small, fraction)
    by_series = front - log(a) + log(by_series)
    by_fraction = front + log(choose(fraction, by_fraction, 1.0))
    of_q = fraction | (near & above)
    log_tail = choose(near, by_temme, choose(fraction, by_fraction, by_series))
    other = log1p(-exp(log_tail))
    of_small = log(choose(small, by_small, 1.0))
    return choose(of_q, other, log_tail), choose(of_q, log_tail, choose(small, of_small, other))


def _front_in_parts(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Of x^a y^b / B(a, b) for x + y = 1, the square of a factor, and the exponent of the other one."""
    s = a + b
    d = -(a * y - b * x)  # (a + b) x - a
    exponent = a * log1p_rest(d / a, s * x / a) + b * log1p_rest(-d / b, s * y / b)
    rest = stirling_rest(s) - stirling_rest(a) - stirling_rest(b)
    return a * b / (s * (2 * math.pi)), exponent + rest


def beta_front(a: Any, b: Any, x: Any, y: Any) -> Any:
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
    tail = beta_front(*smaller) * _fraction_of_beta(*smaller)
    return choose(above, 1.0 - tail, tail), choose(above, tail, 1.0 - tail)


def _smaller_tail(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """Whether x is above the mean, and a, b, x and y of the side where it is not."""
    above = value_of(a) * y < value_of(b) * x
    return above, choose(above, b, a), choose(above, a, b), where(above, y, x), where(above, x, y)


def log_beta_tail_of(a: Any, b: Any, w: Any) -> Any:
    """The logarithm of I(1 / (1 + w); a, b) for finite a, b and w above 0; a and b may be dual numbers."""
    above, *smaller = _smaller_tail(a, b, 1.0 / (1.0 + w), w / (1.0 + w))
    square, exponent = _front_in_parts(*smaller)
    log_tail = log(square) * 0.5 + exponent + log(_fraction_of_beta(*smaller))
    return choose(above, log1p(-exp(choose(above, log_tail, -1.0))), log_tail)
