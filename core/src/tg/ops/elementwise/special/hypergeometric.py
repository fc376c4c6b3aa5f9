"""Gauss' hypergeometric function.

Below -1, and next to 1, it is what `connection` computes: there nothing that cancels is lost, wherever b - a or
c - a - b are, and few steps serve for all z down to -inf and up to 1. Between, it is its series of z, that of
z / (z - 1) by Pfaff, or of the same with c - a and c - b by Euler: first the one of which the parameters say that no
term cancels another. Where terms have cancelled all the same, the others are tried, also the polynomials in z < 0, and
the one that lost least is taken; where all have lost three digits, and c > 0, the differential equation is solved in
steps from 0 to z. What is lost by all of them is lost: for c < 0 a value is right as a part of the largest term.

So beside mpmath, for parameters of either sign and up to 50, a value is off by some 1e-13 of itself at most where
c > 0; where c < 0, by 1e-12 for parameters up to 5, and of larger ones for |z| < 1/2, z < -10 and z > 0.9 as a rule;
between, no digit may be right of those of 15 and more. A derivative by z is right as F of a + 1, b + 1 and c + 1 is,
whose rounding counts where c - a or c - b is next to a whole number.

Where c is 0 or a negative whole number it is the polynomial that a or b says, and else NaN. At 1 it is Gauss' quotient
of gamma functions; where that is infinite it has the sign of values below 1. At -inf it is the limit. Above 1 it is
NaN, but for polynomials.

Source:
    NIST Digital Library of Mathematical Functions, 15.2.1, 15.2.5, 15.4.20, 15.4.24, 15.5.1, 15.8.1, 15.8.2.
    J. W. Pearson, S. Olver and M. A. Porter, "Numerical methods for the computation of the confluent and Gauss
    hypergeometric functions", Numerical Algorithms 74 (2017), 821, section 4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum
from tg.ops.elementwise.arithmetic import sqrt as root
from tg.ops.elementwise.comparison import equal, isfinite, isnan, logical_not, where
from tg.ops.elementwise.rounding import rint
from tg.ops.elementwise.special.beta import poch
from tg.ops.elementwise.special.connection import Places, choose_split, connected, loss_of, split
from tg.ops.elementwise.special.dual import Dual, along, choose, counts, exp, gammaln, parts_of, power_of, sin, value_of
from tg.ops.elementwise.special.gamma import is_whole, sign_of_gamma
from tg.ops.elementwise.special.iterated import iterated, until_settled
from tg.ops.family import Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

MOST: Final = 10_000
BELOW: Final = -1.0
ABOVE: Final = 0.5
NEXT: Final = 0.9
"""Where the series of z gives way, of terms that cancel and of others."""
LOST: Final = 16.0
"""How much larger terms are than their sum for another series to be tried."""
FARTHEST: Final = 0.97
"""The argument up to which a series is tried after the other one has lost digits."""
STEPPED: Final = 1e3
"""What steps from place to place lose at most, by and large: they are tried beyond it."""
FIRST: Final = -1000.0
"""Down to where they are tried; some thousand terms serve for parameters of 50."""
RADIANS: Final = 3.0
LEAST: Final = -1000.0
"""The c down to which a series goes on beyond -c, where its terms may grow again."""
LAST: Final = 1e300
"""What stands for infinity."""


class _Given(NamedTuple):
    """The operands, of which a <= b, and what these leave of c; a, b and c may be dual numbers."""

    a: Any
    b: Any
    c: Any
    c_a: Any
    c_b: Any
    rest: Any
    z: Variable
    at_pole: Variable


class _Found(NamedTuple):
    """A value, and how much larger the terms are that it is a sum of; NaN where there is none yet."""

    value: Any
    loss: Variable

    def is_poor(self) -> Variable:
        """Whether digits are lost, or all of them."""
        return logical_not(self.loss <= LOST)

    def or_else(self, tried: Variable, other: _Found) -> _Found:
        """The better one where another was tried."""
        better = tried & (isnan(self.loss) | (other.loss < self.loss))
        return _Found(choose(better, other.value, self.value), where(better, other.loss, self.loss))


def _series(a: Any, b: Any, c: Any, z: Any, going: Any) -> _Found:
    """The sum of (a)_n (b)_n / ((c)_n n!) z^n, which ends where a or b says so, before c does."""

    def step(going: Any, n: Any, term: Any, total: Any, size: Any) -> tuple[Any, ...]:
        down = c + n
        ratio = (a + n) * (b + n) / (choose(equal(value_of(down), 0), 1.0, down) * (n + 1.0))
        term = choose(going, term * ratio * z, 0.0)
        total = total + term
        # terms may be nothing beside the sum and grow again: up to -c, and for as long as a and b are large beside n
        grows = (n < last) | (absolute(value_of(ratio) * z) >= 1)
        size_of_term, size_of_total = absolute(value_of(term)), absolute(value_of(total))
        more = counts(term, total) | (grows & (size_of_term > 0) & (size_of_total < np.inf))
        return going & more, n + 1.0, term, total, size + size_of_term

    one = a * 0.0 + b * 0.0 + c * 0.0 + (z * 0.0 + 1.0)
    last = where(value_of(c) > LEAST, -value_of(c), 0.0)
    going, _, _, total, size = until_settled(step, (going, 0.0, one, one, value_of(one)), MOST)
    total = choose(going, total * np.nan, total)
    return _Found(total, loss_of(size, total))


def _inside(a: Any, b: Any, c: Any, z: Variable) -> Any:
    """F for z < 1, or where it is a polynomial, and finite operands, of which a, b and c may be dual numbers."""
    ordered = value_of(a) <= value_of(b)
    a, b = choose(ordered, a, b), choose(ordered, b, a)
    at = _Given(a, b, c, c - a, c - b, c - b - a, z, (value_of(c) <= 0) & is_whole(value_of(c)))
    best = _by_connection(at)
    best = _by_pair(best, at, first=True)
    best = _by_pair(best, at, first=False)
    return _by_steps(_by_z(best, at), at).value


def _by_connection(at: _Given) -> _Found:
    """F by series about 1 or infinity, of the exponents 0 and c - a - b, or a and b."""
    positive = (value_of(at.a) > 0) & (value_of(at.c) > 0)
    below, above = at.z < BELOW, (at.z > where(positive, NEXT, ABOVE)) & (at.z < 1)
    far = (below | above) & logical_not(at.at_pole)
    above = above & far
    a, b, c = (choose(far, v, x) for v, x in ((at.a, 0.7), (at.b, 1.0), (at.c, 2.0)))
    p, q, r = split(a), split(b), split(c)
    c_p, c_q = r.minus(p), r.minus(q)
    rest = c_q.minus(p)
    turned = above & (value_of(rest.value()) < 0)
    other, left = choose_split(above, c_q, q), choose_split(above, q, c_q)
    places = Places(
        choose_split(turned, other, p),
        choose_split(turned, p, other),
        choose_split(turned, left, c_p),
        choose_split(turned, c_p, left),
        choose_split(above, choose_split(turned, p.minus(c_q), rest), q.minus(p)),
        choose(above, choose(turned, rest.value(), 0.0), a),
    )
    w = where(far, where(below, 1.0 / (1.0 - at.z), 1.0 - at.z), 0.25)
    value, loss = connected(c, places, w, far)
    return _Found(value, where(far, loss, np.nan))


def _by_pair(best: _Found, at: _Given, *, first: bool) -> _Found:
    """F by one of two series of z, or of z / (z - 1), that Euler's transformation leads to; first the better one."""
    a, b, c, c_a, c_b, rest, z, at_pole = at
    below = z < 0
    up = value_of(a) > 0
    falls_too = (value_of(c_a) > 0) & (value_of(b) > 0) & logical_not(up & (value_of(c_b) > 0))
    second = where(below, falls_too, (value_of(rest) < 0) & logical_not(up & (value_of(c) > 0)))
    if not first:
        second = logical_not(second)
    p = choose(second, choose(below, b, c_b), a)
    q = choose(second, c_a, choose(below, c_b, b))
    exponent = choose(below, -p, choose(second, rest, 0.0))
    w = where(below, z / (z - 1.0), z)
    tried = best.is_poor() & (w < FARTHEST) & logical_not(at_pole)
    return _after_series(best, tried, (p, q, c, w), exponent, z)


def _by_z(best: _Found, at: _Given) -> _Found:
    """F by the series of z < 0, or one that ends, which Euler's transformation may lead to."""
    a, b, c, c_a, c_b, rest, z, at_pole = at
    ends, ends_too = (_is_pole(value_of(x)) | _is_pole(value_of(y)) for x, y in ((a, b), (c_a, c_b)))
    plain = ends | (z > BELOW)
    tried = best.is_poor() & where(z < 0, plain | ends_too, ends & (at_pole | (z >= 1)))
    operands = choose(plain, a, c_a), choose(plain, b, c_b), c, z
    return _after_series(best, tried, operands, choose(plain, 0.0, rest), z)


def _after_series(best: _Found, tried: Variable, operands: tuple[Any, ...], exponent: Any, z: Variable) -> _Found:
    """The better one of what was found and a series times a power of 1 - z."""
    a, b, c, w = (choose(tried, v, x) for v, x in zip(operands, (0.7, 1.0, 2.0, 0.0), strict=True))
    value, loss = _series(a, b, c, w, tried & logical_not(equal(w, 0)))
    power = power_of(1.0 - where(tried & (z < 1), z, 0.0), choose(tried, exponent, 0.0))
    return best.or_else(tried, _Found(power * value, loss))


def _by_steps(best: _Found, at: _Given) -> _Found:
    """F by its Taylor series from place to place, each of which is short enough for no terms to cancel.

    Their recurrence is what the differential equation says. F is stable from 0 on where c > 0: the other solution,
    which is of z^(1 - c), falls behind.
    """
    tried = logical_not(best.loss <= STEPPED) & (value_of(at.c) > 0) & (at.z > FIRST) & (at.z < FARTHEST)
    a, b, c, z = (choose(tried, v, x) for v, x in zip((at.a, at.b, at.c, at.z), (0.7, 1.0, 2.0, 0.25), strict=True))
    product, total = a * b, a + b + 1.0
    size, falls = absolute(value_of(product)), value_of(total)
    begin = copysign(minimum(absolute(z), 0.25 / maximum(1.0, size / value_of(c))), z)

    def step_from(place: Any) -> Any:
        """The distance to go: half of the way to the next singular place, or some radians of an oscillation."""
        per = absolute(place * (1.0 - place))
        fastest = maximum(root(size / per), absolute(value_of(c) - falls * place) / per)
        length = minimum(0.5 * minimum(absolute(place), 1.0 - place), RADIANS / fastest)
        return copysign(minimum(length, absolute(z - place)), z)

    def step(going: Any, n: Any, place: Any, h: Any, before: Any, last: Any, value: Any, slope: Any) -> tuple[Any, ...]:
        per = place * (1.0 - place) * (n + 2.0)
        middle = total * -place + c + n * (1.0 - 2.0 * place)
        term = (a + n) * (b + n) * before * (h * h / (per * (n + 1.0))) - middle * last * (h / per)
        value, slope = value + term, slope + term * (n + 2.0)
        size = _sizes(value, slope)
        there = logical_not(counts(last * (n + 1.0), size) | counts(term * (n + 2.0), size))
        arrives = there & equal(h, z - place)
        goes_on = there & logical_not(arrives)
        place = where(goes_on, place + h, place)
        h_next = where(goes_on, step_from(place), h)
        begun = slope / h * h_next
        before, last = choose(there, value, last), choose(there, begun, term)
        value, slope = value + choose(goes_on, begun, 0.0), choose(there, begun, slope)
        return going & logical_not(arrives), where(there, 0.0, n + 1.0), place, h_next, before, last, value, slope

    def kept(going: Any, *carry: Any) -> tuple[Any, ...]:
        after = step(going, *carry)
        return after[0], *(choose(going, x, y) for x, y in zip(after[1:], carry, strict=True))

    value = _series(a, b, c, begin, tried).value
    away = tried & logical_not(equal(begin, z))
    h = where(away, step_from(begin), 0.125)
    first = _series(a + 1.0, b + 1.0, c + 1.0, begin, tried).value * (product / c) * h
    start = (away, z * 0.0, begin, h, value, first, choose(away, value + first, value), first)
    ended = until_settled(kept, start, MOST)
    value = choose(ended[0], ended[6] * np.nan, ended[6])
    return best.or_else(tried, _Found(value, where(isnan(value_of(value)), np.inf, STEPPED)))


def _sizes(x: Any, y: Any) -> Any:
    """The size of two values together, and of their derivatives."""
    if isinstance(x, Dual):
        return Dual(_sizes(x.value, y.value), _sizes(x.slope, y.slope))
    return absolute(x) + absolute(y)


def _is_pole(x: Variable) -> Variable:
    """Whether the gamma function has a pole, and a series ends."""
    return (x <= 0) & is_whole(x)


def _is_polynomial(a: Variable, b: Variable, c: Variable) -> Variable:
    """Whether the series ends before c, if it is a negative whole number, makes a term infinite."""
    free = logical_not(_is_pole(c))
    return (_is_pole(a) & (free | (a >= c))) | (_is_pole(b) & (free | (b >= c)))


def _region(a: Variable, b: Variable, c: Variable, z: Variable) -> tuple[Variable, Variable]:
    """The masks of where operands are finite and F is defined, and of where it is computed by series."""
    ends = _is_polynomial(a, b, c)
    is_defined = isfinite(a) & isfinite(b) & isfinite(c) & (ends | logical_not(_is_pole(c)))
    return is_defined, is_defined & ((z < 1) | (ends & (z > 1))) & isfinite(z)


def _hyp2f1(a: Variable, b: Variable, c: Variable, z: Variable) -> Variable:
    is_defined, inside = _region(a, b, c, z)
    infinite = is_defined & equal(z, -np.inf)
    here = inside | infinite
    p, q, r, at = (where(here, v, x) for v, x in ((a, 1.0), (b, 1.0), (c, 2.0), (maximum(z, -LAST), 0.0)))
    at = where(inside, z, at)
    value = _inside(p, q, r, at)
    one = where(
        is_defined & equal(z, 1), _at_one(*(where(is_defined, v, x) for v, x in ((a, 0.5), (b, 0.5), (c, 2.0)))), np.nan
    )
    return where(inside, value, where(infinite, _at_infinity(p, q, r, value), one))


def _at_one(a: Variable, b: Variable, c: Variable) -> Variable:
    """F at 1, of which the infinite values have the sign of those below."""
    swapped = _is_pole(b) & (logical_not(_is_pole(a)) | (b > a))
    p, q = where(swapped, b, a), where(swapped, a, b)  # of which p says where a polynomial ends
    ends = _is_pole(p)
    finite = ends | (c - q - p > 0)
    nothing = finite & logical_not(ends) & (_is_pole(c - q) | _is_pole(c - p))
    plain = finite & logical_not(nothing)
    p, q, r = (where(plain, v, x) for v, x in ((p, 0.5), (q, 0.5), (c, 2.0)))
    quotient = poch(r - q, -p) / poch(r, -p)
    sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(c)
    return where(nothing, 0.0, where(plain, quotient, copysign(np.inf, sign)))


def _at_infinity(a: Variable, b: Variable, c: Variable, far: Variable) -> Variable:
    """The limit for z to -inf, given a value far below 0."""
    low, high = minimum(a, b), maximum(a, b)
    exponent = where(_is_pole(high) | (_is_pole(c - low) & logical_not(_is_pole(low))), high, low)
    return where(exponent > 0, 0.0, where(equal(exponent, 0), 1.0, copysign(np.inf, far)))


def _stays_polynomial(a: Variable, b: Variable, c: Variable, directions: Sequence[Sequence[Variable]]) -> Variable:
    """Whether the operand that ends the series does not change along directions."""
    free = logical_not(_is_pole(c))
    ends, ends_too = (_is_pole(v) & (free | (v >= c)) for v in (a, b))
    for da, db, _ in directions:
        ends, ends_too = ends & equal(da, 0), ends_too & equal(db, 0)
    return ends | ends_too


def _along(a: Variable, b: Variable, c: Variable, z: Variable, *slopes: Variable) -> Variable:
    """The derivative along a direction of a, b and c, or along two.

    Where c is a pole, and beyond 1, there is one only if F stays a polynomial.
    """
    directions = [slopes[k : k + 3] for k in range(0, len(slopes), 3)]
    is_defined, _ = _region(a, b, c, z)
    for slope in slopes:
        is_defined = is_defined & isfinite(slope)
    ends, free = _stays_polynomial(a, b, c, directions), logical_not(_is_pole(c))
    at_one = is_defined & free & equal(z, 1) & (c - a - b > 0)
    inside = is_defined & isfinite(z) & (ends | (free & (z < 1))) & logical_not(at_one)
    here = inside | at_one
    p, q, r = (
        along(where(here, v, x), *(where(here, direction[k], 0.0) for direction in directions))
        for k, (v, x) in enumerate(((a, 0.5), (b, 0.5), (c, 2.0)))
    )
    value = _inside(p, q, r, where(inside, z, 0.0))
    one = _gauss_quotient(*(choose(at_one, v, x) for v, x in zip((p, q, r), (0.5, 0.5, 2.0), strict=True)))
    at_infinity = where(is_defined & equal(z, -np.inf) & (minimum(a, b) > 0), 0.0, np.nan)
    return where(inside, parts_of(value)[-1], where(at_one, parts_of(one)[-1], at_infinity))


def _gauss_quotient(a: Any, b: Any, c: Any) -> Any:
    """F at 1 for c - a - b > 0: gamma(c) gamma(c - a - b) / (gamma(c - a) gamma(c - b)), of dual numbers.

    The reciprocals of gamma functions below 1/2 are reflected, which leaves no pole.
    """
    logarithm, factor = gammaln(c) + gammaln(c - a - b), c * 0.0 + sign_of_gamma(value_of(c))
    for x in (c - a, c - b):
        left = value_of(x) < 0.5
        logarithm = logarithm + gammaln(choose(left, 1.0 - x, x)) * where(left, 1.0, -1.0)
        whole = rint(value_of(x))
        parity = where(equal(rint(0.5 * whole), 0.5 * whole), 1.0, -1.0)
        factor = factor * choose(left, sin((x - whole) * math.pi) * (parity / math.pi), 1.0)
    return factor * exp(logarithm)


def _slope_in_z(
    a: Variable, b: Variable, c: Variable, z: Variable, da: Variable, db: Variable, dc: Variable
) -> Variable:
    """The derivative in z of the one along a direction: of a b / c F(a + 1, b + 1; c + 1; z)."""
    raised, factor = (a + 1, b + 1, c + 1, z), a * b / c
    of_factor = (da * b + db * a - factor * dc) / c
    return factor * hyp2f1_along(*raised, da, db, dc) + of_factor * hyp2f1(*raised)


hyp2f1_along_two = iterated(
    "hyp2f1_along_two", 10, _along,
    "The second derivative of hyp2f1(a, b, c, z) along the directions (da, db, dc) and (ea, eb, ec) of a, b and c.",
    accuracy=16384, domain=(0.1, 0.9), cost=12_000,
)  # fmt: skip
hyp2f1_along: ElementwiseFunction = iterated(
    "hyp2f1_along", 7, _along, "The derivative of hyp2f1(a, b, c, z) along the direction (da, db, dc) of a, b and c.",
    d=(
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along_two(a, b, c, z, da, db, dc, 1.0, 0.0, 0.0),
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along_two(a, b, c, z, da, db, dc, 0.0, 1.0, 0.0),
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along_two(a, b, c, z, da, db, dc, 0.0, 0.0, 1.0),
        lambda a, b, c, z, da, db, dc, y: _slope_in_z(a, b, c, z, da, db, dc),
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along(a, b, c, z, 1.0, 0.0, 0.0),
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along(a, b, c, z, 0.0, 1.0, 0.0),
        lambda a, b, c, z, da, db, dc, y: hyp2f1_along(a, b, c, z, 0.0, 0.0, 1.0),
    ),
    accuracy=1024, domain=(0.1, 0.9), cost=6000,
)  # fmt: skip
hyp2f1: ElementwiseFunction = iterated(
    "hyp2f1", 4, _hyp2f1, "Gauss' hypergeometric function F(a, b; c; z), for z <= 1.",
    d=(
        lambda a, b, c, z, y: hyp2f1_along(a, b, c, z, 1.0, 0.0, 0.0),
        lambda a, b, c, z, y: hyp2f1_along(a, b, c, z, 0.0, 1.0, 0.0),
        lambda a, b, c, z, y: hyp2f1_along(a, b, c, z, 0.0, 0.0, 1.0),
        lambda a, b, c, z, y: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
    ),
    accuracy=256, domain=(0.1, 0.9), cost=2000,
)  # fmt: skip

FAMILY = Family(
    "elementwise/special/hypergeometric",
    (hyp2f1, hyp2f1_along, hyp2f1_along_two),
    internal=(
        hyp2f1_along,
        hyp2f1_along_two,
    ),
)
