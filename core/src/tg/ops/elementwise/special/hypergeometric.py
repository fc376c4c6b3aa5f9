"""Gauss' hypergeometric function.

Its series for |z| <= 1/2 and up to 1; below -1/2 that of z / (z - 1), by Pfaff; where c - a - b < 0 that of c - a and
c - b, by Euler, whose terms fall. Below -3 it is the sum of two series of 1 / z, unless a gamma function is beside a
pole: of b - a beside a whole number, where both terms are large and cancel, or of a, b, c - a or c - b beside one that
is not positive. At 1 it is Gauss' quotient of gamma functions. Next to 1, and far below 0 beside those poles, it takes
some 40 / (1 - z) steps, or 40 |z|, and is NaN where ten thousand do not serve. What cancels in the sum is lost: the
value is right as a part of its largest term.

Source:
    NIST Digital Library of Mathematical Functions, 15.2.1, 15.4.20, 15.5.1, 15.8.1, 15.8.2.
    J. W. Pearson, S. Olver and M. A. Porter, "Numerical methods for the computation of the confluent and Gauss
    hypergeometric functions", Numerical Algorithms 74 (2017), 821, section 4.6.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import equal, isfinite, isnan, logical_not, where
from tg.ops.elementwise.rounding import floor, rint
from tg.ops.elementwise.special.dual import Dual, choose, exp, gammaln, log, value_of
from tg.ops.elementwise.special.iterated import DIGIT, in_double, iterated, until_settled
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

MOST: Final = 10_000
FAR_BELOW: Final = -3.0
BESIDE: Final = 0.02
"""How near to a pole of a gamma function the series of 1 / z lose more digits than that of z / (z - 1)."""
FARTHER_BELOW: Final = -100.0
NEXT_TO: Final = 1e-5
"""The same where that of z / (z - 1) needs thousands of steps."""


def _series(a: Any, b: Any, c: Any, z: Any, going: Any) -> Any:
    """The sum of (a)_n (b)_n / ((c)_n n!) z^n."""

    def step(going: Any, n: Any, term: Any, total: Any) -> tuple[Any, ...]:
        term = choose(going, term * ((a + n) * (b + n) / ((c + n) * (n + 1.0))) * z, 0.0)
        total = total + term
        # a factor may be 0 or nearly so for one step, as long as n is less than a parameter's size
        far = absolute(value_of(term)) > DIGIT / 4 * absolute(value_of(total))
        if isinstance(term, Dual):
            far = far | (absolute(term.slope) > DIGIT / 4 * absolute(total.slope))
        return going & far, n + 1.0, term, total

    one = a * 0.0 + b * 0.0 + c * 0.0 + (z * 0.0 + 1.0)
    ended = until_settled(step, (going, 0.0, one, one), MOST)
    return choose(ended[0], ended[3] * 0.0 + np.nan, ended[3])


def _from_whole(x: Any) -> Variable:
    v: Variable = value_of(x)
    return absolute(v - rint(v))


def _is_beside_pole(x: Any, beside: Variable) -> Variable:
    """Whether the gamma function is as large as makes it lose digits."""
    v: Variable = value_of(x)
    return (v < 0.5) & (_from_whole(v) < beside)


def _part_far_below(a: Any, b: Any, c: Any, z: Variable, going: Variable) -> Any:
    """One of two terms for z < -1, that of (-z)^-a."""
    signs = _sign_of_gamma(value_of(c)) * _sign_of_gamma(value_of(b - a))
    signs = signs * _sign_of_gamma(value_of(b)) * _sign_of_gamma(value_of(c - a))
    size = gammaln(c) + gammaln(b - a) - gammaln(b) - gammaln(c - a) - a * log(-z)
    return exp(size) * signs * _series(a, a - c + 1.0, a - b + 1.0, 1.0 / z, going)


def _inside(a: Any, b: Any, c: Any, z: Variable) -> Any:
    """F for z < 1 and finite operands, of which a, b and c may be dual numbers."""
    beside = where(z < FARTHER_BELOW, NEXT_TO, BESIDE)
    poles = functools.reduce(operator.or_, (_is_beside_pole(v, beside) for v in (a, b, c - a, c - b)))
    far = (z < FAR_BELOW) & (_from_whole(b - a) >= beside) & logical_not(poles)
    pairs = ((a, 0.7), (b, 1.0), (c, 2.0))
    p, q, r = (choose(far, v, x) for v, x in pairs)
    w = where(far, z, FAR_BELOW)
    by_two = _part_far_below(p, q, r, w, far) + _part_far_below(q, p, r, w, far)
    p, q, r = (choose(far, x, v) for v, x in pairs)
    near = _near(p, q, r, where(far, 0.0, z))
    return choose(far, by_two, near)


def _near(a: Any, b: Any, c: Any, z: Variable) -> Any:
    """F by one series, of z or of z / (z - 1)."""
    below = z < -0.5
    w = where(below, z / (z - 1.0), z)
    second = choose(below, c - b, b)
    front = choose(below, exp(-a * log(1.0 - where(below, z, 0.0))), 1.0)
    rest = c - a - second
    falls = (value_of(rest) < 0) & (w > 0)
    p, q = choose(falls, c - a, a), choose(falls, c - second, second)
    front = front * choose(falls, exp(rest * log(1.0 - where(falls, w, 0.0))), 1.0)
    return front * _series(p, q, c, w, logical_not(equal(w, 0)))


def _hyp2f1(a: Variable, b: Variable, c: Variable, z: Variable) -> Variable:
    known = isfinite(a) & isfinite(b) & isfinite(c) & logical_not(equal(c, floor(c)) & (c <= 0))
    inside = known & (z < 1) & isfinite(z)
    ready = [where(inside, v, x) for v, x in ((a, 1.0), (b, 1.0), (c, 2.0), (z, 0.0))]
    found = _inside(*ready)
    rest = c - a - b
    quotient = exp(gammaln(c) + gammaln(rest) - gammaln(c - a) - gammaln(c - b))
    signs = _sign_of_gamma(c) * _sign_of_gamma(rest) * _sign_of_gamma(c - a) * _sign_of_gamma(c - b)
    at_one = where(rest > 0, signs * quotient, np.inf)
    lost = isnan(a) | isnan(b) | isnan(c) | isnan(z)
    ends = where(known & equal(z, 1), at_one, np.nan)
    return where(inside, found, where(lost, np.nan, ends))


def _sign_of_gamma(x: Variable) -> Variable:
    return where((x > 0) | equal(2 * rint(0.5 * floor(x)), floor(x)), 1.0, -1.0)


def _slope(which: int) -> Any:
    def of(a: Variable, b: Variable, c: Variable, z: Variable) -> Variable:
        ones, zeros = a * 0.0 + 1.0, a * 0.0
        duals = [Dual(v, ones if k == which else zeros) for k, v in enumerate((a, b, c))]
        found = _inside(duals[0], duals[1], duals[2], z)
        return found.slope  # type: ignore[no-any-return]

    return in_double(of)


_in_a, _in_b, _in_c = (_slope(k) for k in range(3))

hyp2f1: ElementwiseFunction = iterated(
    "hyp2f1", 4, _hyp2f1, "Gauss' hypergeometric function F(a, b; c; z), for z <= 1.",
    d=(
        lambda a, b, c, z, y: _in_a(a, b, c, z), lambda a, b, c, z, y: _in_b(a, b, c, z),
        lambda a, b, c, z, y: _in_c(a, b, c, z), lambda a, b, c, z, y: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
    ),
    accuracy=256, domain=(0.1, 0.9), cost=2000,
)  # fmt: skip

FAMILY = Family("elementwise/special/hypergeometric", (hyp2f1,))
