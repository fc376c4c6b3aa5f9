"""Gauss' hypergeometric function next to a singular place of its equation, by series about that place.

With w = 1 / (1 - z), F(p, q; c; z) is the sum of two series of w, w^p (...) and w^q (...), whose coefficients have
poles where q - p is whole. With q - p = m + e, for a whole m >= 0 and |e| <= 1/2, the terms of the first from w^(p + m)
on are taken together with those of the second: they are G_n(0) w^n / e and -G_n(e) w^n / e for functions G_n without
poles, and what is computed is the divided difference of these by formulas that do not divide by e. So nothing cancels
there, nor is there another formula where e is 0: no digit is lost wherever q - p is, and dual numbers may go through.

Source:
    NIST Digital Library of Mathematical Functions, 15.8.3, 15.8.9.
    N. Michel and M. V. Stoitsov, "Fast computation of the Gauss hypergeometric function with all its parameters
    complex", Computer Physics Communications 178 (2008), 535, section 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, maximum
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.rounding import rint
from tg.ops.elementwise.special.dual import (
    Dual,
    choose,
    cos,
    counts,
    exp,
    expm1,
    gamma,
    gammaln,
    log,
    power_of,
    sin,
    value_of,
)
from tg.ops.elementwise.special.gamma import LOG_SERIES, sign_of_gamma
from tg.ops.elementwise.special.iterated import until_settled
from tg.ops.elementwise.special.series import polynomial

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

STEPS: Final = 4
"""By which an argument of the gamma function is raised: Stirling's series serves from 4 on."""
SAFE_LOG: Final = 700.0
"""Up to where an exponential is finite, and its reciprocal."""
MOST: Final = 10_000
EXPM1: Final = tuple(1 / math.factorial(k + 1) for k in range(16))
ARCTANH: Final = tuple(1 / (2 * k + 1) for k in range(8))
SINC: Final = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(9))


class Changing(NamedTuple):
    """A value that changes with e: what it is at 0 and at e, and its divided difference."""

    start: Any
    end: Any
    change: Any

    def times(self, other: Changing) -> Changing:
        """The product of both."""
        change = self.change * other.end + self.start * other.change
        return Changing(self.start * other.start, self.end * other.end, change)


def _expm1_over(x: Any) -> Any:
    """(e^x - 1) / x."""
    near = absolute(value_of(x)) < 0.5
    far = choose(near, 1.0, x)
    return choose(near, polynomial(choose(near, x, 0.0), EXPM1), expm1(far) / far)


def _log1p_over(x: Any) -> Any:
    """log(1 + x) / x for |x| <= 1/8."""
    v = x / (x + 2.0)
    return polynomial(v * v, ARCTANH) * 2.0 / (x + 2.0)


def _step_of_gammaln(x: Any, s: Any) -> Any:
    """(log gamma(x + s) - log gamma(x)) / s by Stirling's series, for x >= 5 and |s| <= 1/2."""
    i, j = 1.0 / x, 1.0 / (x + s)
    square, other = i * i, j * j
    value: Any = LOG_SERIES[-1]
    divided: Any = 0.0
    for coefficient in reversed(LOG_SERIES[:-1]):
        divided, value = square * divided + value, other * value + coefficient
    rest = i * j * (value + i * (i + j) * divided)
    return log(x) - 1.0 + (1.0 + (s - 0.5) * i) * _log1p_over(s * i) - rest


def _power(slope: Any, e: Any) -> Changing:
    """The exponential of e times a slope."""
    return Changing(1.0, exp(e * slope), slope * _expm1_over(e * slope))


def _reciprocal_gamma(number: Split, e: Any) -> tuple[Any, Any, Changing]:
    """1 / gamma(x - e) for any x, over or times gamma(y) of some y >= 1; whether it is times.

    Where 0 <= x < 1 it is that of x + 1 with a factor, and below 0 it is reflected: so nothing has a pole.
    """
    x = number.value()
    v = value_of(x)
    left, low = v < 0, (v >= 0) & (v < 1)
    y = choose(left, 1.0 - x, choose(low, x + 1.0, x))
    s = choose(left, e, -e)
    # gamma(y + s) / gamma(y) is gamma(y + 4 + s) / gamma(y + 4) over the product of 1 + s / (y + k)
    product, change = s * 0.0 + 1.0, s * 0.0
    for k in range(STEPS):
        per = 1.0 / (y + float(k))
        change = per * product + change
        product = s * per * product + product
    end, change = choose(left, 1.0 / product, product), -change / choose(left, product, 1.0)
    slope = _step_of_gammaln(y + float(STEPS), s)
    of_ratio = Changing(1.0, end, change).times(_power(slope, e))
    whole, r = number
    parity = where(equal(rint(0.5 * whole), 0.5 * whole), 1.0, -1.0)
    h = e * 0.5
    change_of_sine = cos((h - r) * math.pi) * polynomial(h * h, SINC) * -parity
    start = choose(left, sin(r * math.pi) * (parity / math.pi), choose(low, x, 1.0))
    end = choose(left, sin((r - e) * math.pi) * (parity / math.pi), choose(low, x - e, 1.0))
    factor = Changing(start, end, choose(left, change_of_sine, where(low, -1.0, 0.0)))
    return y, left, factor.times(of_ratio)


class Split(NamedTuple):
    """A number as a whole one and the rest to it: what is left beside a pole of a gamma function has all digits."""

    whole: Variable
    rest: Any

    def value(self) -> Any:
        return self.rest + self.whole

    def plus(self, n: Any) -> Any:
        """It and a whole number."""
        return self.rest + (self.whole + n)

    def minus(self, other: Split) -> Split:
        """Their difference."""
        rest = self.rest - other.rest
        over = rint(value_of(rest))
        return Split(self.whole - other.whole + over, rest - over)


def split(x: Any) -> Split:
    """A number in parts; it may be a dual one."""
    whole = rint(value_of(x))
    return Split(whole, x - whole)


def choose_split(condition: Any, x: Split, y: Split) -> Split:
    """x where a condition holds, y elsewhere."""
    return Split(where(condition, x.whole, y.whole), choose(condition, x.rest, y.rest))


class Places(NamedTuple):
    """The operands of a function next to a singular place: two exponents, what they leave of c, and their difference.

    Each is given by itself, so that what cancels in one is not needed for the others; `shift` is the exponent of w that
    stands before all.
    """

    p: Split
    q: Split
    c_p: Split
    c_q: Split
    step: Split
    shift: Any


def connected(c: Any, at: Places, w: Variable, going: Variable) -> tuple[Any, Variable]:
    """F times a power of w, for 0 < w <= 1/2 and q >= p, and how much larger the terms are of which it is the sum."""
    p, q, c_p, c_q, (m, e), shift = at
    y, y_up, of_q = _reciprocal_gamma(q, e)
    x, x_up, of_c = _reciprocal_gamma(c_p, e)
    both = of_q.times(of_c)
    per, raised = w, shift
    if not isinstance(both.start, Dual):  # where nothing of the first series is left, w^m may underflow, and F not
        alone = equal(both.start, 0)
        per, raised = where(alone, 1.0, w), where(alone, shift + m, shift)
    first, size, last = _first_terms(p, c_q, m, e, per, going)
    more, more_size = _rest_of_terms(at, m, e, both, w, going)
    total = both.start * first - last * more
    size = absolute(value_of(both.start)) * size + absolute(value_of(last)) * more_size
    value = _with_front(total, c, e + maximum(m, 1.0), (y, y_up), (x, x_up), raised, w)
    return value, loss_of(size, total)


def _with_front(
    value: Any, c: Any, z: Any, of_q: tuple[Any, Any], of_c: tuple[Any, Any], shift: Any, w: Variable
) -> Any:
    """A value times gamma(c) gamma(z) w^shift, and two more gamma functions or their reciprocals.

    The power is multiplied with in two halves: it may overflow where the product does not.
    """
    logs = [gammaln(c), gammaln(z)]
    for y, up in (of_q, of_c):
        logs.append(gammaln(y) * where(up, 1.0, -1.0))
    sizes = [absolute(value_of(v)) for v in logs]
    safe = (sizes[0] + sizes[2] < SAFE_LOG) & (sizes[1] + sizes[3] < SAFE_LOG)
    total = logs[0] + logs[1] + logs[2] + logs[3]
    safe = safe & (absolute(value_of(total)) < SAFE_LOG)
    parts = []
    for v, (y, up) in ((c, of_q), (z, of_c)):
        g, h = gamma(choose(safe, v, 1.0)), gamma(choose(safe, y, 1.0))
        parts.append(choose(up, g * h, g / h))
    front = choose(safe, parts[0] * parts[1], sign_of_gamma(value_of(c)))
    half = choose(safe, power_of(w, choose(safe, shift, 0.0) * 0.5), exp((total + shift * log(w)) * 0.5))
    return front * value * half * half


def _first_terms(p: Split, c_q: Split, m: Variable, e: Any, w: Variable, going: Variable) -> tuple[Any, Variable, Any]:
    """The sum of the terms of w^p before w^(p + m), that of their sizes, and what comes after the last of them."""
    one = p.rest * 0.0 + c_q.rest * 0.0 + e * 0.0 + (w * 0.0 + 1.0)

    def step(going: Any, k: Any, term: Any, total: Any, size: Any) -> tuple[Any, ...]:
        ratio = p.plus(k) * c_q.plus(k) / ((e + (m - 1.0 - k)) * (k + 1.0)) * -w
        term = choose(going, term * ratio, term)
        total = choose(going, total + term, total)
        size = where(going, size + absolute(value_of(term)), size)
        return going & (k + 2.0 < m), k + 1.0, term, total, size

    some = m > 0
    ended = until_settled(step, (going & (m > 1), 0.0, one, one, value_of(one)), MOST)
    k = maximum(m, 1.0) - 1.0
    last = choose(some, ended[2] * (p.plus(k) * c_q.plus(k)) * (-w / maximum(m, 1.0)), one)
    total = choose(ended[0], one * np.nan, choose(some, ended[3], one * 0.0))
    return total, where(some, ended[4], 0.0), last


def _rest_of_terms(
    at: Places, m: Variable, e: Any, both: Changing, w: Variable, going: Variable
) -> tuple[Any, Variable]:
    """The sum of the divided differences times powers of w, and that of the sizes of what these are sums of."""
    _, _, of_m = _reciprocal_gamma(Split(m + 1.0, e * 0.0), -e)
    _, _, of_one = _reciprocal_gamma(Split(m * 0.0 + 1.0, e * 0.0), e)
    back = Changing(1.0, of_m.end, -of_m.change)
    gammas = back.times(Changing(1.0, 1.0 / of_one.end, -of_one.change / of_one.end))
    rest = _power(e * 0.0 + log(w), e).times(gammas)
    parts = both.change * rest.end, both.start * rest.change
    p, q, c_p, c_q = at[:4]

    def step(going: Any, n: Any, g: Any, d: Any, total: Any, size: Any) -> tuple[Any, ...]:
        x, y, r, s = p.plus(m + n), c_q.plus(m + n), -e + (n + 1.0), m + n + 1.0
        after = (e + s) * (n + 1.0)
        ratio = x * y / (r * s)
        change = (x + y + e - ratio * (r + s + e)) / after
        part, added = d * (q.plus(n) * c_p.plus(n) / after) * w, g * change * w
        g = choose(going, g * ratio * w, 0.0)
        d = choose(going, part + added, 0.0)
        total = total + d
        size = where(going, size + absolute(value_of(part)) + absolute(value_of(added)), size)
        return going & (counts(d, total) | counts(g, total)), n + 1.0, g, d, total, size

    one = p.rest * 0.0 + q.rest * 0.0 + c_p.rest * 0.0 + c_q.rest * 0.0 + e * 0.0 + (w * 0.0 + 1.0)
    first = (parts[0] + parts[1]) * one
    size = absolute(value_of(parts[0])) + absolute(value_of(parts[1])) + w * 0.0
    ended = until_settled(step, (going, 0.0, one * both.start, first, first, size), MOST)
    return choose(ended[0], first * np.nan, ended[4]), ended[5]


def loss_of(size: Variable, total: Any) -> Variable:
    """The ratio of terms to their sum in size, of which both may be 0 or infinite."""
    left = absolute(value_of(total))
    return where(equal(size, left), 1.0, size / left)
