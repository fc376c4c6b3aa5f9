"""The incomplete gamma and beta functions and their inverses.

The derivatives in a and b are those of the loops in `tails`, over dual numbers. The inverses are found by Newton's
method for the logarithm of the smaller tail as a function of log(x), or of log(x / (1 - x)). It is concave there, so
the method comes to the solution from one side, wherever it begins.

A value y is off by some units in the last place times 1 + |log(y)|, as the exponential is.
"""

from __future__ import annotations

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
    along,
    gammaln,
    parts_of,
    value_of,
)
from tg.ops.elementwise.special.gamma import digamma, digamma_step
from tg.ops.elementwise.special.iterated import DIGIT, in_double, iterated, until_settled
from tg.ops.elementwise.special.tails import (
    LARGEST,
    TINY,
    beta_front,
    beta_tails,
    gamma_density,
    gamma_tails,
    log_beta_tail_of,
    log_gamma_density,
    log_gamma_tails,
)
from tg.ops.family import Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction


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
    share = exp_of(log_gamma_density(a, ready) - log_of(ready) - where(inside, log_tail, 0.0))
    at_end = where(equal(x, np.inf), 0.0, _density(a, where(equal(x, np.inf), 1.0, x)))
    return where(inside, share, at_end)


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
        value, slope = tail(t)
        there = (value > 0) & logical_not(equal(slope, 0))
        rest = log_of(where(there, value, 1.0)) - goal
        move = maximum(where(there, rest * value / where(there, slope, 1.0), where(low, -0.5, 0.5)), -1.0)
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


def _ends(value: Variable, a: Variable, p: Variable, low: float, high: float) -> Variable:
    """An inverse with its values at p = 0 and p = 1."""
    return where((a >= 0) & equal(p, 0), low, where((a >= 0) & equal(p, 1), high, value))


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


def _is_inside(a: Variable, b: Variable, x: Variable) -> Variable:
    return (a > 0) & (b > 0) & (a <= LARGEST) & (b <= LARGEST) & (x > 0) & (x < 1)


def _betainc(a: Variable, b: Variable, x: Variable) -> Variable:
    inside = _is_inside(a, b, x)
    ready = where(inside, x, 0.5)
    value = beta_tails(where(inside, a, 1.0), where(inside, b, 1.0), ready, 1.0 - ready)[0]
    # where a is 0 or b infinite all is at 0, where b is 0 or a infinite all at 1
    low, high = equal(a, 0) | equal(b, np.inf), equal(b, 0) | equal(a, np.inf)
    ends = low | high | equal(x, 0) | equal(x, 1)
    is_limit = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ends & logical_not(low & high)
    top = equal(x, 1) | (low & (x > 0))
    return where(inside, value, where(is_limit, where(top, 1.0, 0.0), np.nan))


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
    value = log_beta_tail_of(*(where(inside, v, 1.0) for v in (a, b, w)))
    is_limit = _is_inside(a, b, where(w >= 0, 0.5, w))
    return where(inside, value, where(is_limit, where(w > 0, -np.inf, 0.0), np.nan))


def _slope_of_log_tail(a: Variable, b: Variable, w: Variable, *directions: tuple[Any, Any]) -> Variable:
    """The derivative of the logarithm along a direction of a and b, or along two."""
    inside = _is_inside_by_odds(a, b, w)
    p, q = (_changing(inside, v, [pair[k] for pair in directions]) for k, v in enumerate((a, b)))
    tail = log_beta_tail_of(p, q, where(inside, w, 1.0))
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
        slope = beta_front(a, b, x, y)
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
    internal=(
        gammainc_da,
        gammainc_daa,
        betainc_da,
        betainc_db,
        betainc_along_two,
        log_gamma_lower_da,
        log_gamma_lower_daa,
        log_gamma_upper_da,
        log_gamma_upper_daa,
        log_beta_tail_da,
        log_beta_tail_db,
        log_beta_tail_along_two,
    ),
)
