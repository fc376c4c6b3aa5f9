"""Distributions of positive numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.distributions.parameters import NONZERO, POSITIVE, REAL, Parameter
from tg.distributions.record import distribution
from tg.distributions.shapes import HALF_LOG_2_PI, shape_entropy
from tg.distributions.support import HALF_LINE, OPEN_HALF_LINE, Support
from tg.ops.elementwise.arithmetic import absolute, power, sqrt, square
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp, expm1, log, log1mexp, log1p, logaddexp, xlogy
from tg.ops.elementwise.special.beta import poch
from tg.ops.elementwise.special.error import erf, erfc, erfcinv, erfinv
from tg.ops.elementwise.special.gamma import gammaln
from tg.ops.elementwise.special.incomplete import (
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    log_gamma_lower,
    log_gamma_upper,
)
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri
from tg.ops.elementwise.trigonometric import arctan, arctan2, tan

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

LN2: Final = 0.6931471805599453
ROOT_2: Final = math.sqrt(2)
A: Final = Parameter("a", POSITIVE)
LOC: Final = Parameter("loc", REAL, 0.0)
SCALE: Final = Parameter("scale", POSITIVE, 1.0)
FROM_LOC: Final = Support("[loc, ∞)", lambda loc, scale: loc)


def _z(x: Any, loc: Any, scale: Any) -> Variable:
    return (x - loc) / scale  # type: ignore[no-any-return]


halfnormal: Final = distribution(
    "halfnormal", "loc and the absolute value of a normal number of mean 0.", (LOC, SCALE), FROM_LOC,
    lambda x, loc, scale: -0.5 * square(_z(x, loc, scale)) - log(scale) + (LN2 - HALF_LOG_2_PI),
    cdf=lambda x, loc, scale: erf(_z(x, loc, scale) / ROOT_2),
    sf=lambda x, loc, scale: erfc(_z(x, loc, scale) / ROOT_2),
    logsf=lambda x, loc, scale: log_ndtr(-_z(x, loc, scale)) + LN2,
    ppf=lambda q, loc, scale: loc + scale * (ROOT_2 * erfinv(q)),
    isf=lambda q, loc, scale: loc + scale * (ROOT_2 * erfcinv(q)),
    entropy=lambda loc, scale: log(scale) + (HALF_LOG_2_PI + 0.5 - LN2),
    mean=lambda loc, scale: loc + scale * math.sqrt(2 / math.pi),
    variance=lambda loc, scale: square(scale) * (1 - 2 / math.pi),
)  # fmt: skip


def _half_tangent(q: Variable, rest: Variable) -> Variable:
    """tan(pi q / 2), where rest = 1 - q."""
    low = q < rest
    root = tan((0.5 * math.pi) * where(low, q, rest))
    return where(low, root, 1 / root)


halfcauchy: Final = distribution(
    "halfcauchy", "loc and the absolute value of a number of Cauchy's distribution about 0.", (LOC, SCALE), FROM_LOC,
    lambda x, loc, scale: -log1p(square(_z(x, loc, scale))) - log(scale) + math.log(2 / math.pi),
    cdf=lambda x, loc, scale: arctan(_z(x, loc, scale)) * (2 / math.pi),
    sf=lambda x, loc, scale: arctan2(1.0, _z(x, loc, scale)) * (2 / math.pi),
    ppf=lambda q, loc, scale: loc + scale * _half_tangent(q, 1 - q),
    isf=lambda q, loc, scale: loc + scale * _half_tangent(1 - q, q),
    entropy=lambda loc, scale: log(scale) + math.log(2 * math.pi),
    mean=lambda loc, scale: np.inf,
    variance=lambda loc, scale: np.inf,
)  # fmt: skip


def _log_z(x: Any, mean: Any, sigma: Any) -> Variable:
    return (log(x) - mean) / sigma  # type: ignore[no-any-return]


lognormal: Final = distribution(
    "lognormal", "The exponential of a normal number of mean `mean` and standard deviation sigma.",
    (Parameter("mean", REAL, 0.0), Parameter("sigma", POSITIVE, 1.0)), OPEN_HALF_LINE,
    lambda x, mean, sigma: -0.5 * square(_log_z(x, mean, sigma)) - log(x) - log(sigma) - HALF_LOG_2_PI,
    cdf=lambda x, mean, sigma: ndtr(_log_z(x, mean, sigma)),
    sf=lambda x, mean, sigma: ndtr(-_log_z(x, mean, sigma)),
    logcdf=lambda x, mean, sigma: log_ndtr(_log_z(x, mean, sigma)),
    logsf=lambda x, mean, sigma: log_ndtr(-_log_z(x, mean, sigma)),
    ppf=lambda q, mean, sigma: exp(mean + sigma * ndtri(q)),
    isf=lambda q, mean, sigma: exp(mean - sigma * ndtri(q)),
    entropy=lambda mean, sigma: mean + log(sigma) + (HALF_LOG_2_PI + 0.5),
    mean=lambda mean, sigma: exp(mean + 0.5 * square(sigma)),
    variance=lambda mean, sigma: expm1(square(sigma)) * exp(2 * mean + square(sigma)),
)  # fmt: skip

exponential: Final = distribution(
    "exponential", "The exponential distribution of mean scale.", (SCALE,), HALF_LINE,
    lambda x, scale: -x / scale - log(scale),
    cdf=lambda x, scale: -expm1(-x / scale),
    sf=lambda x, scale: exp(-x / scale),
    logcdf=lambda x, scale: log1mexp(-x / scale),
    logsf=lambda x, scale: -x / scale,
    ppf=lambda q, scale: -scale * log1p(-q),
    isf=lambda q, scale: -scale * log(q),
    entropy=lambda scale: log(scale) + 1,
    mean=lambda scale: scale,
    variance=square,
)  # fmt: skip

gamma: Final = distribution(
    "gamma", "The gamma distribution of shape a and mean a scale.", (A, SCALE), HALF_LINE,
    lambda x, a, scale: xlogy(a - 1, x) - x / scale - gammaln(a) - a * log(scale),
    cdf=lambda x, a, scale: gammainc(a, x / scale),
    sf=lambda x, a, scale: gammaincc(a, x / scale),
    logcdf=lambda x, a, scale: log_gamma_lower(a, x / scale),
    logsf=lambda x, a, scale: log_gamma_upper(a, x / scale),
    ppf=lambda q, a, scale: scale * gammaincinv(a, q),
    isf=lambda q, a, scale: scale * gammainccinv(a, q),
    entropy=lambda a, scale: shape_entropy(a, 1) + log(scale),
    mean=lambda a, scale: a * scale,
    variance=lambda a, scale: a * square(scale),
)  # fmt: skip

invgamma: Final = distribution(
    "invgamma", "scale / g, where g is of the gamma distribution of shape a.", (A, SCALE), OPEN_HALF_LINE,
    lambda x, a, scale: -(a + 1) * log(x / scale) - scale / x - gammaln(a) - log(scale),
    cdf=lambda x, a, scale: gammaincc(a, scale / x),
    sf=lambda x, a, scale: gammainc(a, scale / x),
    logcdf=lambda x, a, scale: log_gamma_upper(a, scale / x),
    logsf=lambda x, a, scale: log_gamma_lower(a, scale / x),
    ppf=lambda q, a, scale: scale / gammainccinv(a, q),
    isf=lambda q, a, scale: scale / gammaincinv(a, q),
    entropy=lambda a, scale: shape_entropy(a, -1) + log(scale),
    mean=lambda a, scale: where(a > 1, scale / where(a > 1, a - 1, 1.0), np.inf),
    variance=lambda a, scale: where(
        a > 2, square(scale / where(a > 2, a - 1, 1.0)) / where(a > 2, a - 2, 1.0), np.inf
    ),
)  # fmt: skip


def _gengamma_log_density(x: Variable, a: Variable, c: Variable, scale: Variable) -> Variable:
    density = log(absolute(c)) + xlogy(c * a - 1, x) - c * a * log(scale) - power(x / scale, c) - gammaln(a)
    return where(equal(x, 0) & (c < 0), -np.inf, density)


def _gengamma_tail(
    x: Variable, a: Variable, c: Variable, scale: Variable, *, lower: bool, logarithm: bool = False
) -> Variable:
    below, above = (log_gamma_lower, log_gamma_upper) if logarithm else (gammainc, gammaincc)
    nothing, one = (-np.inf, 0.0) if logarithm else (0.0, 1.0)
    start = equal(x, 0) & (c < 0)  # where the power is infinite
    y = power(where(start, 1.0, x / scale), c)
    tail = where((c > 0) if lower else (c < 0), below(a, y), above(a, y))
    return where(start, nothing if lower else one, tail)


def _gengamma_quantile(q: Variable, a: Variable, c: Variable, scale: Variable, *, lower: bool) -> Variable:
    of_low = (c > 0) if lower else (c < 0)
    return scale * power(where(of_low, gammaincinv(a, q), gammainccinv(a, q)), 1 / c)


def _gengamma_moment(a: Variable, c: Variable, n: float) -> Variable:
    has = a + n / c > 0
    return where(has, poch(a, where(has, n / c, 1.0)), np.inf)


def _gengamma_variance(a: Variable, c: Variable) -> Variable:
    first, second = _gengamma_moment(a, c, 1.0), _gengamma_moment(a, c, 2.0)
    return where(equal(second, np.inf), np.inf, second - square(first))


gengamma: Final = distribution(
    "gengamma", "scale g^(1/c), where g is of the gamma distribution of shape a.",
    (A, Parameter("c", NONZERO), SCALE), HALF_LINE,
    _gengamma_log_density,
    cdf=lambda x, a, c, scale: _gengamma_tail(x, a, c, scale, lower=True),
    sf=lambda x, a, c, scale: _gengamma_tail(x, a, c, scale, lower=False),
    logcdf=lambda x, a, c, scale: _gengamma_tail(x, a, c, scale, lower=True, logarithm=True),
    logsf=lambda x, a, c, scale: _gengamma_tail(x, a, c, scale, lower=False, logarithm=True),
    ppf=lambda q, a, c, scale: _gengamma_quantile(q, a, c, scale, lower=True),
    isf=lambda q, a, c, scale: _gengamma_quantile(q, a, c, scale, lower=False),
    entropy=lambda a, c, scale: shape_entropy(a, 1 / c) - log(absolute(c)) + log(scale),
    mean=lambda a, c, scale: scale * _gengamma_moment(a, c, 1.0),
    variance=lambda a, c, scale: square(scale) * _gengamma_variance(a, c),
)  # fmt: skip

chisquare: Final = distribution(
    "chisquare", "The sum of the squares of df standard normal numbers.", (Parameter("df", POSITIVE),), HALF_LINE,
    lambda x, df: xlogy(0.5 * df - 1, 0.5 * x) - 0.5 * x - gammaln(0.5 * df) - LN2,
    cdf=lambda x, df: gammainc(0.5 * df, 0.5 * x),
    sf=lambda x, df: gammaincc(0.5 * df, 0.5 * x),
    logcdf=lambda x, df: log_gamma_lower(0.5 * df, 0.5 * x),
    logsf=lambda x, df: log_gamma_upper(0.5 * df, 0.5 * x),
    ppf=lambda q, df: 2 * gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2 * gammainccinv(0.5 * df, q),
    entropy=lambda df: shape_entropy(0.5 * df, 1) + LN2,
    mean=lambda df: df,
    variance=lambda df: 2 * df,
)  # fmt: skip


def _log_ratio(x: Variable, scale: Variable) -> Variable:
    """log(x / scale), exact where x is next to scale."""
    return log1p((x - scale) / scale)


pareto: Final = distribution(
    "pareto", "The classical one: a number is above x with the probability (scale / x)^a.", (A, SCALE),
    Support("[scale, ∞)", lambda a, scale: scale),
    lambda x, a, scale: log(a) - log(scale) - (a + 1) * _log_ratio(x, scale),
    cdf=lambda x, a, scale: -expm1(-a * _log_ratio(x, scale)),
    sf=lambda x, a, scale: exp(-a * _log_ratio(x, scale)),
    logcdf=lambda x, a, scale: log1mexp(-a * _log_ratio(x, scale)),
    logsf=lambda x, a, scale: -a * _log_ratio(x, scale),
    ppf=lambda q, a, scale: scale * exp(-log1p(-q) / a),
    isf=lambda q, a, scale: scale * exp(-log(q) / a),
    entropy=lambda a, scale: 1 + 1 / a - log(a) + log(scale),
    mean=lambda a, scale: where(a > 1, a * scale / where(a > 1, a - 1, 1.0), np.inf),
    variance=lambda a, scale: where(
        a > 2, a * square(scale / where(a > 2, a - 1, 1.0)) / where(a > 2, a - 2, 1.0), np.inf
    ),
)  # fmt: skip


def _weibull_variance(a: Variable) -> Variable:
    """gamma(1 + 2/a) - gamma(1 + 1/a)², without the difference of what is nearly equal for large a."""
    first = gammaln(1 + 1 / a)
    return exp(2 * first) * expm1(gammaln(1 + 2 / a) - 2 * first)


weibull: Final = distribution(
    "weibull", "scale e^(1/a), where e is exponential of mean 1.", (A, SCALE), HALF_LINE,
    lambda x, a, scale: log(a) + xlogy(a - 1, x) - a * log(scale) - power(x / scale, a),
    cdf=lambda x, a, scale: -expm1(-power(x / scale, a)),
    sf=lambda x, a, scale: exp(-power(x / scale, a)),
    logcdf=lambda x, a, scale: log1mexp(-power(x / scale, a)),
    logsf=lambda x, a, scale: -power(x / scale, a),
    ppf=lambda q, a, scale: scale * power(-log1p(-q), 1 / a),
    isf=lambda q, a, scale: scale * power(-log(q), 1 / a),
    entropy=lambda a, scale: np.euler_gamma * (1 - 1 / a) + log(scale) - log(a) + 1,
    mean=lambda a, scale: scale * exp(gammaln(1 + 1 / a)),
    variance=lambda a, scale: square(scale) * _weibull_variance(a),
)  # fmt: skip


def _wald_logs(x: Variable, mean: Variable, scale: Variable) -> tuple[Variable, Variable, Variable]:
    """The logarithms of the normal tails below and above, and of what both terms are joined by."""
    root = sqrt(scale / x)
    at = root * (x / mean - 1)
    return log_ndtr(at), log_ndtr(-at), 2 * scale / mean + log_ndtr(-root * (x / mean + 1))


def _wald_log_below(x: Variable, mean: Variable, scale: Variable) -> Variable:
    below, _, other = _wald_logs(x, mean, scale)
    return logaddexp(below, other)


def _wald_log_above(x: Variable, mean: Variable, scale: Variable) -> Variable:
    _, above, other = _wald_logs(x, mean, scale)
    return above + log1mexp(other - above)


wald: Final = distribution(
    "wald", "The inverse Gaussian distribution: when a Brownian motion with drift is first at a height.",
    (Parameter("mean", POSITIVE), Parameter("scale", POSITIVE)), OPEN_HALF_LINE,
    lambda x, mean, scale: 0.5 * log(scale) - HALF_LOG_2_PI - 1.5 * log(x)
    - 0.5 * scale * square((x - mean) / mean) / x,
    cdf=lambda x, mean, scale: exp(_wald_log_below(x, mean, scale)),
    sf=lambda x, mean, scale: exp(_wald_log_above(x, mean, scale)),
    logcdf=_wald_log_below,
    logsf=_wald_log_above,
    mean=lambda mean, scale: mean,
    variance=lambda mean, scale: mean * square(mean) / scale,
)  # fmt: skip
