"""The beta function, and other quotients of gamma functions.

The logarithm of a quotient of which both arguments are large, or one, is got from Stirling's series, so that the large
terms are not there which would cancel.

Source:
    A. R. DiDonato and A. H. Morris, "Algorithm 708", ACM Transactions on Mathematical Software 18 (1992), equations 5
    to 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, maximum, minimum
from tg.ops.elementwise.comparison import equal, logical_and, logical_not, logical_or, where
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.rounding import rint
from tg.ops.elementwise.special.gamma import (
    LAST,
    LOG_SERIES,
    digamma,
    digamma_step,
    gamma,
    gammaln,
    is_whole,
    sign_of_gamma,
)
from tg.ops.elementwise.special.series import WIDEST, in_wider, polynomial, special
from tg.ops.elementwise.trigonometric import cos, sin
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

HALF_LOG_2_PI: Final = 0.9189385332046727
LARGE: Final = 4.0  # from where on Stirling's series serves
SAFE: Final = 170.0  # up to where no gamma function overflows
EXACT: Final = 1e14  # up to where a whole result is the nearest whole number


def _rest(x: Variable) -> Variable:
    """The difference between the logarithm of gamma(x) and Stirling's formula."""
    i = 1 / x
    return i * polynomial(i * i, LOG_SERIES)


def stirling_difference(x: Variable, m: Variable) -> Variable:
    """The difference between log(gamma(x + m) / gamma(x)) and Stirling's formula, for x >= 4 and m >= 0."""
    return _rest(x + m) - _rest(x)


def _log_quotient(b: Variable, m: Variable) -> Variable:
    """log(gamma(b + m) / gamma(b)), where b and b + m are large."""
    total = b + m
    return (b - 0.5) * log1p(m / b) + m * (log(total) - 1) + (_rest(total) - _rest(b))


def _log_of_both(a: Variable, b: Variable) -> Variable:
    """The logarithm of the beta function of a <= b, which are large."""
    h = a / b
    power = (a - 0.5) * log(h / (1 + h)) - b * log1p(h)
    return power - 0.5 * log(b) + HALF_LOG_2_PI + (_rest(a) + _rest(b) - _rest(a + b))


def _betaln(x: Variable, y: Variable) -> Variable:
    a, b = minimum(x, y), maximum(x, y)
    large, both = logical_and(b >= LARGE, a + b >= LARGE), a >= LARGE
    c, d = where(both, a, LARGE), where(large, b, LARGE)
    one = gammaln(a) - _log_quotient(d, where(large, minimum(a, LARGE), 1.0))
    none = gammaln(a) + gammaln(b) - gammaln(a + b)
    value = where(both, _log_of_both(c, d), where(large, one, none))
    return where(
        logical_or(_is_pole(x), _is_pole(y)), np.inf, where(logical_and(equal(b, np.inf), a > 0), -np.inf, value)
    )


def _is_pole(x: Variable) -> Variable:
    """Whether the gamma function has a pole."""
    return logical_and(x <= 0, is_whole(x))


def _reciprocal(x: Variable) -> Variable:
    """1 / gamma(x), which is 0 at the poles."""
    pole = _is_pole(x)
    return where(pole, 0.0, 1 / gamma(where(pole, 1.0, x)))


def _is_safe(x: Variable) -> Variable:
    return logical_and(absolute(x) <= SAFE, absolute(x) > 1e-300)


def _beta(x: Variable, y: Variable) -> Variable:
    safe = logical_and(logical_and(_is_safe(x), _is_safe(y)), absolute(x + y) <= SAFE)
    a, b = where(safe, x, 1.0), where(safe, y, 1.0)
    sign = sign_of_gamma(x) * sign_of_gamma(y) * sign_of_gamma(x + y)
    low, high = minimum(a, b), maximum(a, b)
    near = gamma(high) * _reciprocal(a + b) * gamma(low)  # of which no product overflows before the last
    beside = safe & (high >= LARGE) & (a + b >= LARGE) & (low < LARGE)  # where the rounding of the sum would count
    quotient = _log_quotient(where(beside, high, LARGE), where(beside, low, 1.0))
    value = where(beside, gamma(low) * exp(-quotient), where(safe, near, sign * exp(_betaln(x, y))))
    return where(logical_or(_is_pole(x), _is_pole(y)), np.inf, value)


def _parity(m: Variable) -> Variable:
    """1 for an even number, -1 for an odd one."""
    return where(equal(0.5 * m, rint(0.5 * m)), 1.0, -1.0)


def _poch(z: Variable, m: Variable) -> Variable:
    end = z + m
    safe = logical_and(absolute(z) <= SAFE, absolute(end) <= SAFE)
    a, b = where(safe, z, 1.0), where(safe, end, 1.0)
    near = gamma(b) * _reciprocal(a)
    # of z below 0 and a whole m both are reflected, which leaves no pole
    turned = logical_and(logical_and(safe, z <= 0), is_whole(m))
    reflected = _parity(m) * gamma(where(turned, 1 - a, 1.0)) * _reciprocal(where(turned, 1 - b, 1.0))
    large = logical_and(z >= LARGE, end >= LARGE)
    far = exp(_log_quotient(where(large, z, LARGE), where(large, m, 1.0)))
    other = sign_of_gamma(z) * sign_of_gamma(end) * exp(gammaln(end) - gammaln(z))
    beside = large & (absolute(m) < LARGE)  # where the rounding of the sum would count
    value = where(safe & logical_not(beside), where(turned, reflected, near), where(large, far, other))
    return where(equal(m, 0), where(equal(z, z), 1.0, z), value)


def _is_beyond(n: Variable, k: Variable) -> Variable:
    """Whether binom is B(k - n, n + 1) sin(pi (k - n)) / pi, for k > n > -1."""
    return (k > n) & (n > -1) & (k < np.inf)


def _of_beyond(n: Variable, k: Variable) -> tuple[Variable, Variable]:
    beyond = _is_beyond(n, k)
    return where(beyond, k - n, 1.0), where(beyond, n, 0.0) + 1


def _turned(n: Variable, k: Variable) -> tuple[Variable, Variable]:
    """The sine and cosine of pi (k - n): without their whole parts, of which nothing is rounded near zeros."""
    whole, other = rint(k), rint(n)
    rest = (k - whole) - (n - other)
    last = rint(rest)
    angle, sign = np.pi * (rest - last), _parity(whole) * _parity(other) * _parity(last)
    return sign * sin(angle), sign * cos(angle)


def _binom(n: Variable, k: Variable) -> Variable:
    rest = n - k
    safe = logical_and(absolute(n) < LAST - 2, logical_and(absolute(k) < LAST - 2, absolute(rest) < LAST - 2))
    a, b, c = where(safe, n, 1.0), where(safe, k, 1.0), where(safe, rest, 1.0)
    near = gamma(a + 1) * _reciprocal(b + 1) * _reciprocal(c + 1)
    sign = sign_of_gamma(n + 1) * sign_of_gamma(k + 1) * sign_of_gamma(rest + 1)
    far = sign * exp(-_betaln(rest + 1, k + 1)) / absolute(n + 1)
    whole = logical_and(is_whole(n), is_whole(k))
    low, high = minimum(k, rest), maximum(k, rest)
    beside = logical_not(whole) & safe & (high >= LARGE) & (low < LARGE) & (n >= LARGE)  # as for beta
    quotient = _log_quotient(where(beside, high, LARGE) + 1, where(beside, low, 1.0))
    near = where(beside, exp(quotient) * _reciprocal(where(beside, low, 1.0) + 1), near)
    value = where(_is_beyond(n, k), _beta(*_of_beyond(n, k)) * _turned(n, k)[0] / np.pi, where(safe, near, far))
    outside = logical_and(logical_and(whole, n >= 0), logical_or(k < 0, k > n))
    exact = logical_and(whole, absolute(value) < EXACT)
    undefined = logical_and(n < 0, is_whole(n))
    return where(undefined, np.nan, where(outside, 0.0, where(exact, rint(value), value)))


def _between(x: Variable, m: Variable) -> Variable:
    """digamma(x + m) - digamma(x), of which small steps lose no digit where both arguments are above 0."""
    end, back = x + m, m < 0
    positive = logical_and(x > 0, end > 0)
    step = digamma_step(where(positive, where(back, end, x), 1.0), where(positive, where(back, -m, m), 1.0))
    plain = digamma(where(positive, 1.0, end)) - digamma(where(positive, 1.0, x))
    return where(positive, where(back, -step, step), plain)


def _is_far_beyond(n: Variable, k: Variable) -> Variable:
    """Whether the terms of `_slope_beyond` do not cancel; nearer to n the plain formula has no pole yet."""
    return _is_beyond(n, k) & (k - n > 0.5)


def _slope_beyond(n: Variable, k: Variable, by: int) -> Variable:
    """The derivative of binom by k for 1, by n for -1, where k > n: at whole numbers n - k it has no pole."""
    over, more = _of_beyond(n, k)
    sine, cosine = _turned(n, k)
    step = digamma(over) - digamma(k + 1 if by == 1 else more)
    return beta(over, more) * (by * (step * sine / np.pi + cosine))


def _poch_slope(z: Variable, m: Variable) -> Variable:
    """The derivative of poch by z, with no pole where gamma(z) has one: from z < 1/2 to z + m > 0 it is reflected."""
    end = z + m
    crossing = (z < 0.5) & (end > 0) & (z > -SAFE) & (end < SAFE)
    a, b = where(crossing, z, 0.0), where(crossing, end, 1.0)
    whole = rint(a)
    angle = np.pi * (a - whole)
    size = gamma(b) * gamma(1 - a) * _parity(whole)
    reflected = size * ((digamma(b) - digamma(1 - a)) * sin(angle) / np.pi + cos(angle))
    below = logical_not(crossing) & (z < 0.5) & (end <= 0) & is_whole(m)  # where both are, and nothing is left of it
    other, step = where(crossing, 1.0, z), where(crossing, 1.0, m)  # of which no pole is differentiated
    between = where(below, -_between(where(below, 1 - end, 1.0), where(below, m, 1.0)), _between(other, step))
    return where(crossing, reflected, poch(other, step) * between)


# in double precision: what little is left of terms has derivatives too
_slope_of_betaln, _slope_of_beta, _poch_by_start, _poch_by_step, _binom_by_all, _binom_by_chosen = (
    in_wider(slope, WIDEST)
    for slope in (
        lambda x, y: -_between(x, y),
        lambda x, y: beta(x, y) * -_between(x, y),
        _poch_slope,
        lambda x, y: poch(x, y) * digamma(x + y),
        lambda n, k: where(_is_far_beyond(n, k), _slope_beyond(n, k, -1), binom(n, k) * _between(n - k + 1, k)),
        lambda n, k: where(_is_far_beyond(n, k), _slope_beyond(n, k, 1), binom(n, k) * _between(k + 1, n - 2 * k)),
    )
)

betaln: ElementwiseFunction = special(
    "betaln", 2, _betaln, "The logarithm of the size of the beta function.",
    d=(lambda x, y, z: _slope_of_betaln(x, y), lambda x, y, z: _slope_of_betaln(y, x)),
    commutative="signed_zero", domain=(0.1, 100), accuracy=16, wider=WIDEST, cost=100,
    slope_accuracy=16,
)  # fmt: skip
beta: ElementwiseFunction = special(
    "beta", 2, _beta, "The beta function, gamma(x) gamma(y) / gamma(x + y).",
    d=(lambda x, y, z: _slope_of_beta(x, y), lambda x, y, z: _slope_of_beta(y, x)),
    commutative="signed_zero", domain=(0.1, 8), accuracy=24, wider=WIDEST, cost=250,
    slope_accuracy=2048,  # exponentials multiply the rounding of logarithms
)  # fmt: skip
poch: ElementwiseFunction = special(
    "poch", 2, _poch, "Pochhammer's symbol, gamma(x + y) / gamma(x).",
    d=(lambda x, y, z: _poch_by_start(x, y), lambda x, y, z: _poch_by_step(x, y)),
    domain=(0.1, 8), accuracy=24, wider=WIDEST, cost=250,
    slope_accuracy=1024,  # as of beta
)  # fmt: skip
binom: ElementwiseFunction = special(
    "binom", 2, _binom, "The number of ways to choose y of x, for real numbers too.",
    d=(lambda x, y, z: _binom_by_all(x, y), lambda x, y, z: _binom_by_chosen(x, y)),
    domain=(0.1, 8), accuracy=24, wider=WIDEST, cost=300,
    slope_accuracy=1024,  # as of beta
)  # fmt: skip

FAMILY = Family("elementwise/special/beta", (beta, betaln, poch, binom))
