"""Student's distribution: its distribution function and quantile, exact in both tails and about the centre.

What is computed is the logarithm of the smaller part: of the tail beyond |t|, or of what lies between 0 and t. With
w = t²/n it is one of the incomplete beta function, of n degrees of freedom: I(1 / (1 + w); n/2, 1/2), or
I(w / (1 + w); 1/2, n/2). Beside the normal distribution, for n > 300 and w < 1/40, it is that of the normal number of
Hill's expansion, whose error falls as w^5; far out, for 1600 min(n, 1) < t², the density times the series
(1/|t| + |t|/n) F(1, 1/2; n/2 + 1; -n/t²), which for infinite n is that of Mills' ratio.

The quantile is the solution by Newton's method for that logarithm as a function of log(|t|), where it is concave; of
n > 1e5 the expansion of Cornish and Fisher.

Derivatives by t are those of the density, of every order: neither |t| nor a square root is differentiated.

Source:
    G. W. Hill, "Algorithm 395: Student's t-distribution", Communications of the ACM 13 (1970), 617.
    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.5.
    NIST Digital Library of Mathematical Functions, 5.11.13, 8.17.7, 8.17.8, 15.8.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum
from tg.ops.elementwise.arithmetic import sqrt as root
from tg.ops.elementwise.comparison import equal, logical_not, where
from tg.ops.elementwise.exponential import exp as exp_of
from tg.ops.elementwise.exponential import expm1 as expm1_of
from tg.ops.elementwise.exponential import log as log_of
from tg.ops.elementwise.special.beta import betaln
from tg.ops.elementwise.special.dual import Dual, choose, log, log1p, sqrt, value_of
from tg.ops.elementwise.special.error import erf
from tg.ops.elementwise.special.gamma import digamma_step
from tg.ops.elementwise.special.incomplete import log_beta_tail, log_beta_tail_da, log_beta_tail_db, slope_by_odds
from tg.ops.elementwise.special.iterated import in_double, iterated, until_settled
from tg.ops.elementwise.special.normal import log_ndtr, ndtri
from tg.ops.elementwise.special.series import polynomial
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

NORMAL: Final = 1e300
"""Degrees of freedom from which on nothing but the normal distribution is left, infinity among them."""
LOG_HALF: Final = -0.6931471805599453
ROOT_HALF: Final = 0.7071067811865476
PER_ROOT_2_PI: Final = 0.3989422804014327
HALF_LOG_2_PI: Final = 0.9189385332046727
HILL: Final = 300.0
NEAR: Final = 1 / 40
FAR: Final = 1600.0
BEYOND: Final = 1e8
"""|t| over the square root of n from which on log(1 + t²/n) is the logarithm of the square."""
CORNISH: Final = 1e5
WALLACE: Final = 3.0
INNER: Final = 0.25
"""The smaller probability above which a quantile is solved for by what lies between it and the centre."""
MANY: Final = 50.0
CONSTANT: Final = (-1 / 4, 1 / 24, -1 / 20, 17 / 112, -31 / 36, 691 / 88)
"""log(gamma((n + 1) / 2) / gamma(n / 2)) - log(n / 2) / 2, in odd powers of 1/n."""
TURN: Final = -0.5
TERMS: Final = 8
MOST: Final = 100
LARGEST: Final = 709.0
"""The logarithm of the largest quantile that is solved for: from there on the first term of the tail is the tail."""
HUGE: Final = 1e308
STEP: Final = 50.0
SETTLED: Final = 1e-9
"""A step after which Newton's method is exact: the next one would be as its square."""


def _constant(n: Any) -> Any:
    """The logarithm of the density at 0; n may be a dual number."""
    many = value_of(n) > MANY
    i = 1.0 / choose(many, n, MANY)
    few = choose(many, 1.0, n)
    m = value_of(few)
    near: Any = -betaln(0.5 * m, 0.5) - 0.5 * log_of(m)
    if isinstance(few, Dual):
        near = Dual(near, (0.5 * digamma_step(0.5 * m, m * 0.0 + 0.5) - 0.5 / m) * few.slope)
    return choose(many, i * polynomial(i * i, CONSTANT) - HALF_LOG_2_PI, near)


def _growth(n: Any, z: Any) -> Any:
    """log(1 + z²/n), with no |z| in it but far from 0; n may be a dual number."""
    size = absolute(z)
    beyond = size > BEYOND * root(value_of(n))
    near, far = where(beyond, 0.0, z), where(beyond, size, 1.0)
    return choose(beyond, log(1.0 / sqrt(n) * far) * 2.0, log1p(1.0 / n * (near * near)))


def _fall(n: Any, z: Any, more: float) -> Any:
    """(n + more) / 2 log(1 + z²/n), which is z²/2 of infinite n; n may be a dual number."""
    return choose(value_of(n) >= NORMAL, z * z * 0.5, (n + more) * 0.5 * _growth(n, z))


def student_log_density(n: Variable, t: Variable) -> Variable:
    """The logarithm of the density for n degrees of freedom."""
    n = minimum(n, NORMAL)
    return _constant(n) - _fall(n, t, 1.0)  # type: ignore[no-any-return]


def _log_far(n: Any, z: Variable) -> Any:
    """The logarithm of the tail far out; n may be a dual number."""
    i = 1 / (z * z)
    series: Any = 1.0
    for k in reversed(range(TERMS)):
        series = n / (n + (2.0 * k + 2.0)) * i * (-1.0 - 2.0 * k) * series + 1.0
    return _constant(n) - _fall(n, z, -1.0) - log_of(z) + log(series)


def _as_normal(n: Any, z: Variable) -> Any:
    """The number whose normal tail is that of z > 0; n may be a dual number."""
    a = n - 0.5
    b = a * a * 48.0
    y = a * log1p(1.0 / n * (z * z))
    rest = (((y * -0.4 - 3.3) * y - 24.0) * y - 85.5) / (y * y * 0.8 + b + 100.0)
    return sqrt(y) * ((rest + y + 3.0) / b + 1.0)


def _regions(n: Variable, z: Variable, inner: Variable) -> tuple[Variable, Variable]:
    """The masks of where Hill's expansion serves, and where the series far out does."""
    s = z * z
    far = logical_not(inner) & (s > FAR * minimum(n, 1.0))
    return logical_not(far) & (n > HILL) & (s < NEAR * n), far


def _of_beta(n: Variable, z: Variable, inner: Variable) -> tuple[Variable, Variable, Variable]:
    """The operands of the incomplete beta function."""
    half, w = 0.5 * n, z * z / n
    return where(inner, 0.5, half), where(inner, half, 0.5), where(inner, 1 / w, w)


def _log_part(n: Variable, z: Variable, inner: Variable) -> Variable:
    """The logarithm of what is between 0 and z, or of what is above it, for finite n and z above 0."""
    hill, far = _regions(n, z, inner)
    u = _as_normal(where(hill, n, HILL), where(hill, z, 1.0))
    by_normal = where(inner, log_of(0.5 * erf(u * ROOT_HALF)), log_ndtr(-u))
    by_series = _log_far(where(far, n, 1.0), where(far, z, FAR))
    other = hill | far
    by_beta = LOG_HALF + log_beta_tail(*_of_beta(where(other, 1.0, n), where(other, 1.0, z), inner))
    return where(hill, by_normal, where(far, by_series, by_beta))


def _is_inner(n: Variable, z: Variable) -> Variable:
    return z * z < minimum(n, 1.0)


def _stdtr(n: Variable, t: Variable) -> Variable:
    z, some = absolute(t), n > 0
    centre, finite = equal(t, 0), some & (z < np.inf)
    m = where(some, minimum(n, NORMAL), 1.0)
    y = where(finite & logical_not(centre), z, 1.0)
    inner = _is_inner(m, y)
    part = exp_of(_log_part(m, y, inner))
    value = where(inner, 0.5 + copysign(part, t), where(t < 0, part, 1 - part))
    ends = where(some & equal(z, np.inf), where(t > 0, 1.0, 0.0), np.nan)
    return where(finite, where(centre, 0.5, value), ends)


def _log_lower(n: Variable, t: Variable) -> Variable:
    low = t < TURN
    far = low & equal(t, -np.inf)
    m = where(low & (n > 0), minimum(n, NORMAL), 1.0)
    tail = _log_part(m, where(low & logical_not(far), -t, 1.0), equal(m, 0))
    normal = far & (n >= NORMAL)
    ends = where(normal, log_ndtr(where(normal, t, 0.0)), -np.inf)
    below = where(n > 0, where(far, ends, tail), np.nan)
    return where(low, below, log1p(-stdtr(n, where(low, 0.0, -t))))


def _density(n: Variable, t: Variable) -> Variable:
    """The density, of which no infinite logarithm is differentiated."""
    ends = equal(absolute(t), np.inf)
    return where(ends, 0.0, exp_of(student_log_density(n, where(ends, 0.0, t))))


def _slope_of_log_density(n: Variable, t: Variable) -> Variable:
    """The derivative of the logarithm of the density in n, of whose terms none cancel."""
    m = minimum(n, NORMAL)
    w = t * t / m
    ratio = where(w > 1, 1 / (1 + 1 / where(w > 1, w, 1.0)), w / (1 + where(w > 1, 1.0, w)))
    constant = _constant(Dual(m, m * 0.0 + 1.0)).slope
    return constant + 0.5 * (ratio / m + (ratio - _growth(m, t)))  # type: ignore[no-any-return]


def _slope_in_n(n: Variable, t: Variable) -> Variable:
    """The derivative of the distribution function in n."""
    z = absolute(t)
    finite = (n > 0) & (n < NORMAL) & (z < np.inf)
    centre = equal(t, 0)
    m, y = where(finite, n, 1.0), where(finite & logical_not(centre), z, 1.0)
    inner = _is_inner(m, y)
    part = exp_of(_log_part(m, y, inner))
    hill, far = _regions(m, y, inner)
    one = y * 0.0 + 1.0
    u = _as_normal(Dual(where(hill, m, HILL), one), where(hill, y, 1.0))
    by_normal = PER_ROOT_2_PI * exp_of(-0.5 * u.value * u.value) * u.slope
    by_series = -part * _log_far(Dual(where(far, m, 1.0), one), where(far, y, FAR)).slope
    other = hill | far
    k = where(other, 1.0, m)
    a, b, w = _of_beta(k, where(other, 1.0, y), inner)
    of_inner = log_beta_tail_db(a, b, w) * 0.5 + slope_by_odds(a, b, w) * w / k
    of_outer = log_beta_tail_da(a, b, w) * 0.5 - slope_by_odds(a, b, w) * w / k
    by_beta = part * where(inner, of_inner, -of_outer)
    value = copysign(1.0, t) * where(hill, by_normal, where(far, by_series, by_beta))
    # the derivative in t is right at the centre too
    middle = t * _density(n, t) * _slope_of_log_density(n, t)
    return where(finite, where(centre, middle, value), 0.0 * n * where(finite, t, 0.0))


def _start(n: Variable, q: Variable) -> Variable:
    """A number near the quantile of the tail q < 1/4: Wallace's of the normal one, or what it is far out."""
    many = n > WALLACE
    k, u = where(many, n, WALLACE), ndtri(q)
    y = u * u / k
    by_normal = 0.5 * (log_of(k) + y + log_of(-expm1_of(-y)))
    m = where(many, 1.0, n)
    by_power = 0.5 * log_of(m) - (log_of(q) + betaln(0.5 * m, 0.5) + log_of(m)) / m
    return where(many, by_normal, by_power)


def _solved(n: Variable, off: Variable, q: Variable) -> Variable:
    """The z > 0 beyond which there is q, as there is `off` = 1/2 - q between it and 0, for n up to CORNISH."""
    inner = (q > INNER) & (off < STEP * n)  # of few degrees of freedom nearly all is far out
    goal = log_of(where(inner, off, q))
    start = where(inner, goal - _constant(n), _start(n, where(inner, INNER, q)))
    fits = start < LARGEST

    def step(going: Any, z: Any) -> tuple[Any, ...]:
        rest = _log_part(n, z, inner) - goal
        log_part = rest + goal
        slope = exp_of(student_log_density(n, z) + log_of(z) - log_part)
        move = where(inner, rest, -rest) / where(slope > 0, slope, np.inf)
        after = where(going, minimum(z * exp_of(-maximum(minimum(move, STEP), -STEP)), HUGE), z)
        return going & (absolute(move) > SETTLED), after

    z = until_settled(step, (fits & (goal > -np.inf), exp_of(where(fits, start, 0.0))), MOST)[1]
    return where(fits, z, exp_of(start))


def _by_cornish(n: Variable, u: Variable) -> Variable:
    """The quantile of the probability of which u is the normal quantile."""
    i, s = 1 / n, u * u
    terms: tuple[Any, ...] = (
        1.0,
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return u * polynomial(i, terms)


def _stdtrit(n: Variable, p: Variable) -> Variable:
    off = p - 0.5
    inside = (n > 0) & (p > 0) & (p < 1)
    large = n > CORNISH
    q, m = where(inside, minimum(p, 1 - p), INNER), where(inside & logical_not(large), n, 1.0)
    z = _solved(m, absolute(where(inside, off, INNER)), q)
    by_normal = _by_cornish(where(inside & large, minimum(n, NORMAL), CORNISH), ndtri(where(inside, p, 0.5)))
    value = where(large, by_normal, where(equal(off, 0), 0.0, copysign(z, off)))
    ends = where((n > 0) & equal(p, 0), -np.inf, where((n > 0) & equal(p, 1), np.inf, np.nan))
    return where(inside, value, ends)


def _reciprocal_of_density(n: Variable, t: Variable) -> Variable:
    return exp_of(-student_log_density(n, t))


student_log_lower = in_double(_log_lower)
"""The logarithm of `stdtr`, right where that underflows: of the tail below TURN, above it of what is above t."""
_per_density = in_double(_reciprocal_of_density)
density = in_double(_density)

stdtr_dn: ElementwiseFunction = iterated(
    "stdtr_dn", 2, _slope_in_n, "The derivative of stdtr(x, y) in the degrees of freedom x.",
    accuracy=512, domain=(0.1, 8), cost=3000,
)  # fmt: skip
stdtr: ElementwiseFunction = iterated(
    "stdtr", 2, _stdtr, "The distribution function of Student's distribution of x degrees of freedom, at y.",
    d=(lambda n, t, y: stdtr_dn(n, t), lambda n, t, y: density(n, t)),
    accuracy=64, domain=(0.1, 8), cost=900,
    # far out that by n is a difference; the second by n is one of digammas, of which some 13 bits cancel at n = 40
    slope_accuracy=lambda n, t: np.where(np.abs(t) > 20, np.inf, 2.0**14),
)  # fmt: skip
stdtrit: ElementwiseFunction = iterated(
    "stdtrit", 2, _stdtrit, "The y of which stdtr(x, y) is a probability: the quantile of Student's distribution.",
    d=(lambda n, p, y: -stdtr_dn(n, y) / density(n, y), lambda n, p, y: _per_density(n, y)),
    accuracy=64, domain=(0.1, 0.9), cost=9000,
)  # fmt: skip

FAMILY = Family(
    "elementwise/special/students",
    (stdtr, stdtr_dn, stdtrit),
    internal=(stdtr_dn,),
)
