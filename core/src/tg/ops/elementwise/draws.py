"""Draws of one element, each a function of its parameters and of 64 bits that are the element's own.

The own bits of the element at place i are T(key, i), where T is Threefry: as a key, the i-th one that the key is split
into. A draw reads the words own, T(own, 1), T(own, 2), …, as many as it takes. So each element has a loop of its own,
and a slice of draws, a batch of them, or one in a loop over elements is computed as any function of elements is.

All is computed in float64, of uniform numbers that are the midpoints of 2^52 equal parts of (0, 1): none is 0 or 1.

Source:
    G. Marsaglia and W. W. Tsang, ACM Transactions on Mathematical Software 26, 363 (2000): gamma.
    W. Hörmann, Insurance: Mathematics and Economics 12, 39 (1993): poisson, PTRS.
    W. Hörmann, Journal of Statistical Computation and Simulation 46, 101 (1993): binomial, BTRS.
    E. Stadlober, Journal of Computational and Applied Mathematics 31, 181 (1990): hypergeometric, HRUE.
    D. J. Best and N. I. Fisher, Applied Statistics 28, 152 (1979): vonmises.
    J. R. Michael, W. R. Schucany and R. W. Haas, The American Statistician 30, 88 (1976): wald.
    C. Loader, Fast and accurate computation of binomial probabilities (2000): what the logarithms of probabilities are
    made of, so that nothing cancels where counts are large.
    M. Figurnov, S. Mohamed and A. Mnih, Implicit reparameterization gradients (2018): the derivatives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, message
from tg.ops.arranging import broadcast_arrays
from tg.ops.elementwise.arithmetic import absolute, maximum, minimum, negative, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, logical_not, where
from tg.ops.elementwise.dtype_loops import real_floating
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.random import threefry
from tg.ops.elementwise.record import ElementwiseFunction
from tg.ops.elementwise.rounding import floor, trunc
from tg.ops.elementwise.special.error import erfcx, erfinv
from tg.ops.elementwise.special.gamma import digamma
from tg.ops.elementwise.special.incomplete import gammainc_da
from tg.ops.elementwise.special.iterated import until_settled
from tg.ops.elementwise.special.series import interpreted, no_derivative, polynomial
from tg.ops.elementwise.special.tails import STIRLING, gamma_density, log1p_rest
from tg.ops.elementwise.trigonometric import arctan, cos, tan
from tg.ops.family import Family
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.dtype_loops import Kind, Loop

WIDE: Final = "float64"
OWN: Final = "uint64"
UNUSED: Final = 12  # low bits of a word: 52 are left
ROOT_2: Final = math.sqrt(2)
FEW: Final = 10.0
"""From which mean on, or number of things, candidates are accepted or not; below it the quantile is searched for."""
LARGEST: Final = 2.0**63  # what an int64 does not hold
MOST_THINGS: Final = 2.0**32
"""What hypergeometric draws are made of: the sum of logarithms of factorials has an error of 1e-5 there."""
LEFT: Final = (0.0, *(math.lgamma(k + 1) - k * math.log(k) + k for k in range(1, 8)))
LEAST: Final = 1e-18  # a probability that no sum of others is changed by
MOST_TERMS: Final = 200  # of a search: the probability of 70 is below 2^-52 where the mean is 10
MOST_TRIES: Final = 400  # the rarest acceptance is one in three
TAIL: Final = -40.0  # logarithms of gamma draws below which the first term of a series is all of it


# --- what draws are made of ------------------------------------------------------------------------------------------


def _word(own: Variable, place: Any) -> Variable:
    return threefry(own, place)


def unit_of(word: Variable) -> Variable:
    """A uniform number in (0, 1); no operation rounds."""
    return cast_variable(cast_variable(word >> UNUSED, "int64"), WIDE) * 2.0**-52 + 2.0**-53


def normal_of(word: Variable) -> Variable:
    """A standard normal number, by the quantile; up to it no operation rounds."""
    return erfinv(unit_of(word) * 2.0 - 1.0) * ROOT_2


def _until_accepted(candidate: Callable[[Variable], tuple[Any, Any]], going: Variable, words: int) -> Variable:
    """The first candidate that is accepted, of those elements that go on; 0 for others.

    Args:
        candidate: gives of the place of its first word whether it is accepted, and its value.
        words: how many it reads.
    """

    def step(going: Any, place: Any, last: Any) -> tuple[Any, ...]:
        accepted, draw = candidate(place)
        return going & logical_not(accepted), place + words, where(going, draw, last)

    return until_settled(step, (going, constant(1, OWN), where(going, 0.0, 0.0)), MOST_TRIES)[2]  # type: ignore[no-any-return]


def _searched(u: Variable, first: Variable, ratio: Callable[[Any], Any], going: Variable) -> Variable:
    """The k from 0 on up to which the probabilities sum up to u.

    Args:
        first: the probability of 0.
        ratio: that of k to that of k - 1.
    """

    def step(going: Any, k: Any, p: Any, rest: Any, draw: Any) -> tuple[Any, ...]:
        rest, p = rest - p, p * ratio(k)
        on = going & (rest >= 0) & (p > LEAST)
        return on, k + 1.0, p, rest, where(on, k, draw)

    return until_settled(step, (going, 1.0, first, u, first * 0.0), MOST_TERMS)[4]  # type: ignore[no-any-return]


def _left_of_factorial(k: Any) -> Any:
    """log(k!) - (k log(k) - k) of whole numbers: 0 for 0, from 8 on by Stirling's series."""
    large = maximum(k, float(len(LEFT)))
    inverse = 1.0 / large
    series = 0.5 * log(2 * math.pi * large) + inverse * polynomial(inverse * inverse, STIRLING)
    for number, left in reversed([*enumerate(LEFT)]):
        series = where(k < number + 0.5, left, series)
    return series


def _log_factorial(k: Any) -> Any:
    return _left_of_factorial(k) + k * log(maximum(k, 1.0)) - k


def _fall(k: Any, mean: Any) -> Any:
    """k log(mean / k) + k - mean: how far the logarithm of a probability is below that at the mean."""
    ready = where(k > 0, k, 1.0)
    return where(k > 0, ready * log1p_rest((mean - ready) / ready, mean / ready), negative(mean))


def drawn(
    name: str,
    doc: str,
    parameters: int,
    draw: Callable[..., Variable],
    *,
    d: tuple[Callable[..., Any] | None, ...] | None = None,
    cost: float,
) -> ElementwiseFunction:
    """The record of a draw: a function of parameters in float64 and of the element's own bits, the last operand."""

    def expansion(*operands: Variable) -> Variable:
        return draw(*broadcast_arrays(*operands))

    reference = interpreted(expansion, of_vectors=True)
    partials = (None,) * (parameters + 1) if d is None else (*d, None)
    return ElementwiseFunction(
        name, parameters + 1, reference, _loops, doc, d=partials, accuracy=64, cost=cost, expansion=expansion
    )


def _loops(kinds: tuple[Kind, ...]) -> Loop:
    """float64 of real parameters and uint64 bits."""
    *parameters, own = kinds
    if own not in (OWN, int):
        name = own if isinstance(own, str) else own.__name__
        raise DtypeError(message(f"found own bits of {name}, needed {OWN}"))
    for kind in parameters:
        real_floating((kind,))  # which refuses complex numbers
    return (*[WIDE] * len(parameters), OWN), WIDE


# --- gamma -----------------------------------------------------------------------------------------------------------


def _of_shape_one_on(a: Variable, own: Variable) -> tuple[Variable, Variable, Variable]:
    """For finite a > 0: a draw of shape a, or of a + 1 below 1, its logarithm, and what that lacks below 1."""
    small = a < 1
    d = where(small, a + 1.0, a) - 1 / 3
    c = 1.0 / sqrt(9.0 * d)

    def candidate(place: Any) -> tuple[Any, Any]:
        x, u = normal_of(_word(own, place)), unit_of(_word(own, place + 1))
        e = c * x
        inside = e > -1
        e = where(inside, e, 0.0)
        # 1 - v + log(v) for v = (1 + e)^3
        fits = log(u) < 0.5 * x * x + d * (3.0 * log1p(e) - e * (3.0 + e * (3.0 + e)))
        return inside & fits, e

    e = _until_accepted(candidate, a > 0, 2)
    return d * (1.0 + e) * (1.0 + e) * (1.0 + e), log(d) + 3.0 * log1p(e), where(small, log(unit_of(own)) / a, 0.0)


def _shapes(a: Variable, draw: Callable[[Variable], Variable], at_zero: float) -> Variable:
    """A draw for all shapes: at the ends of them the limits, NaN for what is none."""
    inside = (a > 0) & (a < np.inf)
    ends = where(equal(a, 0), at_zero, where(equal(a, np.inf), np.inf, np.nan))
    return where(inside, draw(where(inside, a, 1.0)), ends)


def _gamma(a: Variable, own: Variable) -> Variable:
    def found(a: Variable) -> Variable:
        whole, _, lacks = _of_shape_one_on(a, own)
        return whole * exp(lacks)

    return _shapes(a, found, 0.0)


def _log_gamma(a: Variable, own: Variable) -> Variable:
    def found(a: Variable) -> Variable:
        _, whole, lacks = _of_shape_one_on(a, own)
        return whole + lacks

    return _shapes(a, found, -np.inf)


def _slope_of_log(a: Any, log_y: Any) -> Variable:
    """The derivative of log(y) in the shape where P(a, y) stays: -(dP/da) / (y dP/dy).

    Far below, P is y^a / gamma(a + 1).
    """
    tail = log_y < TAIL
    y = exp(where(tail, 0.0, log_y))
    near = -gammainc_da(a, y) / gamma_density(a, y)
    return where(tail, (digamma(a + 1.0) - log_y) / a, near)


def _slope(a: Any, y: Any) -> Variable:
    positive = y > 0
    return where(positive, y * _slope_of_log(a, log(where(positive, y, 1.0))), y * 0.0)


gamma_draw = drawn(
    "gamma_draw", "A draw of the gamma distribution of shape a >= 0, of the element's own 64 bits.", 1, _gamma,
    d=(lambda a, own, y: _slope(a, y),), cost=120,
)  # fmt: skip
log_gamma_draw = drawn(
    "log_gamma_draw", "The logarithm of gamma_draw(a, own), also where that is too small for a number.", 1, _log_gamma,
    d=(lambda a, own, y: _slope_of_log(a, y),), cost=120,
)  # fmt: skip


# --- counts ----------------------------------------------------------------------------------------------------------


def _few_events(lam: Variable, own: Variable, going: Variable) -> Variable:
    return _searched(unit_of(own), exp(-lam), lambda k: lam / k, going)


def _many_events(lam: Variable, own: Variable, going: Variable) -> Variable:
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    log_height = log(1.1239 + 1.1328 / (b - 3.4))
    surely = 0.9277 - 3.6224 / (b - 2.0)

    def candidate(place: Any) -> tuple[Any, Any]:
        u, v = unit_of(_word(own, place)) - 0.5, unit_of(_word(own, place + 1))
        us = 0.5 - absolute(u)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        there = maximum(k, 0.0)
        bound = _fall(there, lam) - _left_of_factorial(there)
        fits = log(v) + log_height - log(a / (us * us) + b) <= bound
        return (k >= 0) & (((us >= 0.07) & (v <= surely)) | (((us >= 0.013) | (v <= us)) & fits)), k

    return _until_accepted(candidate, going, 2)


def _poisson(lam: Variable, own: Variable) -> Variable:
    few, many = (lam >= 0) & (lam < FEW), (lam >= FEW) & (lam < LARGEST)
    below = _few_events(where(few, lam, 1.0), own, few)
    above = _many_events(where(many, lam, FEW), own, many)
    return where(few, below, where(many, above, np.nan))


def _few_successes(n: Variable, p: Variable, own: Variable, going: Variable) -> Variable:
    odds = p / (1.0 - p)
    return _searched(unit_of(own), exp(n * log1p(-p)), lambda k: (n - k + 1.0) / k * odds, going)


def _many_successes(n: Variable, p: Variable, own: Variable, going: Variable) -> Variable:
    q = 1.0 - p
    deviation = sqrt(n * p * q)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    log_height = log((2.83 + 5.1 / b) * deviation)
    surely = 0.92 - 4.2 / b

    def log_weight(k: Any) -> Any:
        rest = _left_of_factorial(k) + _left_of_factorial(n - k)
        return _fall(k, n * p) + _fall(n - k, n * q) - rest

    at_mode = log_weight(floor((n + 1.0) * p))

    def candidate(place: Any) -> tuple[Any, Any]:
        u, v = unit_of(_word(own, place)) - 0.5, unit_of(_word(own, place + 1))
        us = 0.5 - absolute(u)
        k = floor((2.0 * a / us + b) * u + n * p + 0.5)
        inside = (k >= 0) & (k <= n)
        fits = log(v) + log_height - log(a / (us * us) + b) <= log_weight(where(inside, k, 0.0)) - at_mode
        return inside & (((us >= 0.07) & (v <= surely)) | fits), k

    return _until_accepted(candidate, going, 2)


def _binomial(n: Variable, p: Variable, own: Variable) -> Variable:
    count = trunc(n)
    usable = (count >= 0) & (count < LARGEST) & (p >= 0) & (p <= 1)
    flipped = p > 0.5
    rarer = where(usable, where(flipped, 1.0 - p, p), 0.25)
    few, many = usable & (count * rarer < FEW), usable & (count * rarer >= FEW)
    below = _few_successes(where(few, count, 1.0), where(few, rarer, 0.25), own, few)
    above = _many_successes(where(many, count, 4 * FEW), where(many, rarer, 0.25), own, many)
    successes = where(few, below, above)
    return where(usable, where(flipped, count - successes, successes), np.nan)


def _few_chosen(n: Variable, k: Variable, s: Variable, own: Variable, going: Variable) -> Variable:
    """The number of s < 10 chosen ones among k of n things, k <= n / 2: the roles of both are the same."""

    def step(going: Any, j: Any, p: Any) -> tuple[Any, ...]:
        p = where(going, p * (n - k - j) / (n - j), p)
        return going & (j + 1.0 < s), j + 1.0, p

    none = until_settled(step, (going & (s > 0), 0.0, where(going, 1.0, 1.0)), int(FEW))[2]
    return _searched(unit_of(own), none, lambda j: (s - j + 1.0) * (k - j + 1.0) / (j * (n - k - s + j)), going)


def _many_chosen(n: Variable, k: Variable, s: Variable, own: Variable, going: Variable) -> Variable:
    """By the ratio of uniform numbers."""
    p, q = k / n, (n - k) / n
    mean = s * p + 0.5
    spread = sqrt((n - s) * s * p * q / (n - 1.0) + 0.5)
    width = 2 * math.sqrt(2 / math.e) * spread + (3 - 2 * math.sqrt(3 / math.e))

    def log_weight(j: Any) -> Any:
        return -(_log_factorial(j) + _log_factorial(k - j) + _log_factorial(s - j) + _log_factorial(n - k - s + j))

    at_mode = log_weight(floor((s + 1.0) * (k + 1.0) / (n + 2.0)))

    def candidate(place: Any) -> tuple[Any, Any]:
        u, v = unit_of(_word(own, place)), unit_of(_word(own, place + 1))
        j = floor(mean + width * (v - 0.5) / u)
        inside = (j >= 0) & (j <= minimum(k, s))
        fits = 2.0 * log(u) <= log_weight(where(inside, j, floor(mean))) - at_mode
        return inside & fits, j

    return _until_accepted(candidate, going, 2)


def _hypergeometric(good: Variable, bad: Variable, chosen: Variable, own: Variable) -> Variable:
    good, bad, chosen = trunc(good), trunc(bad), trunc(chosen)
    n = good + bad
    usable = (good >= 0) & (bad >= 0) & (chosen >= 0) & (chosen <= n) & (n < MOST_THINGS)
    rare, half = minimum(good, bad), minimum(chosen, n - chosen)
    least, most = minimum(rare, half), maximum(rare, half)
    few, many = usable & (least < FEW), usable & (least >= FEW)
    below = _few_chosen(where(few, n, 4.0), where(few, most, 1.0), where(few, least, 1.0), own, few)
    above = _many_chosen(where(many, n, 64.0), where(many, most, 16.0), where(many, least, 16.0), own, many)
    count = where(few, below, above)
    count = where(good > bad, half - count, count)  # of those chosen, or left: good ones
    return where(usable, where(half < chosen, good - count, count), np.nan)


poisson_draw = drawn(
    "poisson_draw", "A draw of the Poisson distribution of mean lam, of the element's own 64 bits.", 1, _poisson,
    cost=100,
)  # fmt: skip
binomial_draw = drawn(
    "binomial_draw", "A draw of how many of n trials succeed, of the element's own 64 bits.", 2, _binomial, cost=200
)
hypergeometric_draw = drawn(
    "hypergeometric_draw", "A draw of how many of those chosen are good, of the element's own 64 bits.", 3,
    _hypergeometric, cost=600,
)  # fmt: skip


# --- others ----------------------------------------------------------------------------------------------------------


def _vonmises(kappa: Variable, own: Variable) -> Variable:
    """An angle about 0: even for 0, and from 10^6 on as near to normal as its digits."""
    even, near = equal(kappa, 0), (kappa >= 1e6) & (kappa < np.inf)
    inside = (kappa > 0) & (kappa < 1e6)
    k = where(inside, kappa, 1.0)
    root = sqrt(1.0 + 4.0 * k * k)
    r = 1.0 + root
    sum_of_roots = r + sqrt(2.0 * r)
    rho = 2.0 * k / sum_of_roots  # (r - sqrt(2 r)) / (2 k), since r^2 - 2 r is 4 k^2
    s = (1.0 + rho * rho) / (2.0 * rho)
    narrowing = (sqrt(2.0 * r) + 1.0 + 1.0 / (root + 2.0 * k)) / sum_of_roots / (1.0 + rho)  # (1 - rho) / (1 + rho)

    def candidate(place: Any) -> tuple[Any, Any]:
        u, v = unit_of(_word(own, place)), unit_of(_word(own, place + 1))
        y = k * (s * s - 1.0) / (s + cos(math.pi * u))  # k (s - w), where w is the cosine of the angle
        return log(y / v) + 1.0 - y >= 0, u

    even_angle = math.pi * _until_accepted(candidate, inside, 2)
    u = unit_of(own)
    angle = 2.0 * arctan(narrowing * tan(0.5 * even_angle)) * where(u < 0.5, -1.0, 1.0)
    flat, peaked = (2.0 * u - 1.0) * math.pi, normal_of(own) / sqrt(where(near, kappa, 1.0))
    ends = where(even, flat, where(near, peaked, where(equal(kappa, np.inf), 0.0, np.nan)))
    return where(inside, angle, ends)


def _wald(mean: Variable, scale: Variable, own: Variable) -> Variable:
    """The smaller solution of z^2 = scale (x - mean)^2 / (mean^2 x), or the larger, whose product is mean^2."""
    z, u = normal_of(_word(own, 1)), unit_of(own)
    v = mean * z * z / (4.0 * scale)
    root = sqrt(v) + sqrt(v + 1.0)
    ratio = root * root
    draw = where(u * (1.0 + ratio) <= ratio, mean / ratio, mean * ratio)
    return where((mean > 0) & (scale > 0), draw, np.nan)


def _of_mills(mean: Any, scale: Any, x: Any) -> tuple[Any, Any]:
    """sqrt(scale / x^3), and the ratio of Mills at sqrt(scale / x) (x / mean + 1): tail over density."""
    root = sqrt(scale / x)
    return root / x, math.sqrt(math.pi / 2) * erfcx(root * (x / mean + 1.0) / ROOT_2)


def _wald_by_mean(mean: Any, scale: Any, own: Any, x: Any) -> Any:
    per_density, mills = _of_mills(mean, scale, x)
    return 2.0 * scale / (mean * mean) * mills / per_density


def _wald_by_scale(mean: Any, scale: Any, own: Any, x: Any) -> Any:
    per_density, mills = _of_mills(mean, scale, x)
    return (1.0 / sqrt(scale * x) - 2.0 / mean * mills) / per_density


vonmises_draw = drawn(
    "vonmises_draw", "A draw of the von Mises distribution about 0, of the element's own 64 bits.", 1, _vonmises,
    d=(no_derivative("vonmises", "kappa"),), cost=160,
)  # fmt: skip
wald_draw = drawn(
    "wald_draw", "A draw of the inverse Gaussian distribution, of the element's own 64 bits.", 2, _wald,
    d=(_wald_by_mean, _wald_by_scale), cost=60,
)  # fmt: skip

FAMILY = Family(
    "elementwise/draws",
    (
        gamma_draw,
        log_gamma_draw,
        poisson_draw,
        binomial_draw,
        hypergeometric_draw,
        vonmises_draw,
        wald_draw,
    ),
    internal=(
        gamma_draw,
        log_gamma_draw,
        poisson_draw,
        binomial_draw,
        hypergeometric_draw,
        vonmises_draw,
        wald_draw,
    ),
)
