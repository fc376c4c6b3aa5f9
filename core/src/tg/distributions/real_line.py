"""Distributions on the real line: a standard one, moved by loc and stretched by scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.distributions.parameters import POSITIVE, REAL, Parameter
from tg.distributions.record import distribution
from tg.distributions.students_t import t_entropy
from tg.distributions.support import REAL_LINE
from tg.ops.elementwise.arithmetic import absolute, maximum, square
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp, expm1, log, log1mexp, log1p, log_sigmoid, logit, sigmoid
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri
from tg.ops.elementwise.special.students import stdtr, stdtrit, student_log_density, student_log_lower
from tg.ops.elementwise.trigonometric import arctan2, tan

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

HALF_LOG_2_PI: Final = 0.9189385332046727
LN2: Final = 0.6931471805599453
FAR: Final = 40.0
"""Where log(1 - exp(-exp(-z))) is -z."""
LOW: Final = -10.0
"""Where exp(-exp(-z)) is 0."""
LOC: Final = Parameter("loc", REAL, 0.0)
SCALE: Final = Parameter("scale", POSITIVE, 1.0)


def _z(x: Any, loc: Any, scale: Any) -> Variable:
    return (x - loc) / scale  # type: ignore[no-any-return]


normal: Final = distribution(
    "normal", "The normal distribution of mean loc and standard deviation scale.", (LOC, SCALE), REAL_LINE,
    lambda x, loc, scale: -0.5 * square(_z(x, loc, scale)) - log(scale) - HALF_LOG_2_PI,
    cdf=lambda x, loc, scale: ndtr(_z(x, loc, scale)),
    sf=lambda x, loc, scale: ndtr(-_z(x, loc, scale)),
    logcdf=lambda x, loc, scale: log_ndtr(_z(x, loc, scale)),
    logsf=lambda x, loc, scale: log_ndtr(-_z(x, loc, scale)),
    ppf=lambda q, loc, scale: loc + scale * ndtri(q),
    isf=lambda q, loc, scale: loc - scale * ndtri(q),
    entropy=lambda loc, scale: log(scale) + (HALF_LOG_2_PI + 0.5),
    mean=lambda loc, scale: loc,
    variance=lambda loc, scale: square(scale),
)  # fmt: skip


def _laplace_below(z: Variable) -> Variable:
    below = z < 0  # of whose |z| the derivative is none at 0
    return where(below, 0.5 * exp(where(below, z, 0.0)), 1 - 0.5 * exp(where(below, 0.0, -z)))


def _log_laplace_below(z: Variable) -> Variable:
    below = z < 0
    return where(below, z - LN2, log1p(-0.5 * exp(where(below, 0.0, -z))))


def _laplace_quantile(q: Variable) -> Variable:
    return where(q < 0.5, log(2 * q), -log(2 * (1 - q)))


laplace: Final = distribution(
    "laplace", "Exponential to both sides of loc.", (LOC, SCALE), REAL_LINE,
    lambda x, loc, scale: -absolute(_z(x, loc, scale)) - log(scale) - LN2,
    cdf=lambda x, loc, scale: _laplace_below(_z(x, loc, scale)),
    sf=lambda x, loc, scale: _laplace_below(-_z(x, loc, scale)),
    logcdf=lambda x, loc, scale: _log_laplace_below(_z(x, loc, scale)),
    logsf=lambda x, loc, scale: _log_laplace_below(-_z(x, loc, scale)),
    ppf=lambda q, loc, scale: loc + scale * _laplace_quantile(q),
    isf=lambda q, loc, scale: loc - scale * _laplace_quantile(q),
    entropy=lambda loc, scale: log(scale) + (1 + LN2),
    mean=lambda loc, scale: loc,
    variance=lambda loc, scale: 2 * square(scale),
)  # fmt: skip

logistic: Final = distribution(
    "logistic", "The distribution function is the sigmoid of (x - loc) / scale.", (LOC, SCALE), REAL_LINE,
    lambda x, loc, scale: log_sigmoid(_z(x, loc, scale)) + log_sigmoid(-_z(x, loc, scale)) - log(scale),
    cdf=lambda x, loc, scale: sigmoid(_z(x, loc, scale)),
    sf=lambda x, loc, scale: sigmoid(-_z(x, loc, scale)),
    logcdf=lambda x, loc, scale: log_sigmoid(_z(x, loc, scale)),
    logsf=lambda x, loc, scale: log_sigmoid(-_z(x, loc, scale)),
    ppf=lambda q, loc, scale: loc + scale * logit(q),
    isf=lambda q, loc, scale: loc - scale * logit(q),
    entropy=lambda loc, scale: log(scale) + 2,
    mean=lambda loc, scale: loc,
    variance=lambda loc, scale: square(scale) * (math.pi**2 / 3),
)  # fmt: skip


def _gumbel_log_density(z: Variable) -> Variable:
    return where(equal(z, -np.inf), -np.inf, -z - exp(-z))


def _gumbel_fall(z: Variable) -> Variable:
    """-exp(-z), which is no infinity where its exponential is 0."""
    return -exp(-maximum(z, LOW))


def _gumbel_log_above(z: Variable) -> Variable:
    far = z > FAR
    return where(far, -z, log1mexp(_gumbel_fall(where(far, 0.0, z))))


gumbel: Final = distribution(
    "gumbel", "The distribution function is exp(-exp(-(x - loc) / scale)): of largest values.", (LOC, SCALE), REAL_LINE,
    lambda x, loc, scale: _gumbel_log_density(_z(x, loc, scale)) - log(scale),
    cdf=lambda x, loc, scale: exp(_gumbel_fall(_z(x, loc, scale))),
    sf=lambda x, loc, scale: -expm1(_gumbel_fall(_z(x, loc, scale))),
    logcdf=lambda x, loc, scale: -exp(-_z(x, loc, scale)),
    logsf=lambda x, loc, scale: _gumbel_log_above(_z(x, loc, scale)),
    ppf=lambda q, loc, scale: loc - scale * log(-log(q)),
    isf=lambda q, loc, scale: loc - scale * log(-log1p(-q)),
    entropy=lambda loc, scale: log(scale) + (1 + np.euler_gamma),
    mean=lambda loc, scale: loc + np.euler_gamma * scale,
    variance=lambda loc, scale: square(scale) * (math.pi**2 / 6),
)  # fmt: skip


def cauchy_quantile(q: Variable) -> Variable:
    """tan(pi (q - 1/2)), exact towards both ends."""
    low, high = q < 0.25, q > 0.75
    end = where(high, 1 - q, q)
    beyond = 1 / tan(math.pi * where(low | high, end, 0.25))
    return where(low, -beyond, where(high, beyond, tan(math.pi * (q - 0.5))))


cauchy: Final = distribution(
    "cauchy", "The density is 1 / (pi scale (1 + z²)), z = (x - loc) / scale.", (LOC, SCALE), REAL_LINE,
    lambda x, loc, scale: -log1p(square(_z(x, loc, scale))) - log(scale) - math.log(math.pi),
    cdf=lambda x, loc, scale: arctan2(1.0, -_z(x, loc, scale)) / math.pi,
    sf=lambda x, loc, scale: arctan2(1.0, _z(x, loc, scale)) / math.pi,
    ppf=lambda q, loc, scale: loc + scale * cauchy_quantile(q),
    isf=lambda q, loc, scale: loc - scale * cauchy_quantile(q),
    entropy=lambda loc, scale: log(scale) + math.log(4 * math.pi),
    mean=lambda loc, scale: np.nan,
    variance=lambda loc, scale: np.nan,
)  # fmt: skip

t: Final = distribution(
    "t", "Student's distribution of df degrees of freedom.", (Parameter("df", POSITIVE), LOC, SCALE), REAL_LINE,
    lambda x, df, loc, scale: student_log_density(df, _z(x, loc, scale)) - log(scale),
    cdf=lambda x, df, loc, scale: stdtr(df, _z(x, loc, scale)),
    sf=lambda x, df, loc, scale: stdtr(df, -_z(x, loc, scale)),
    logcdf=lambda x, df, loc, scale: student_log_lower(df, _z(x, loc, scale)),
    logsf=lambda x, df, loc, scale: student_log_lower(df, -_z(x, loc, scale)),
    ppf=lambda q, df, loc, scale: loc + scale * stdtrit(df, q),
    isf=lambda q, df, loc, scale: loc - scale * stdtrit(df, q),
    entropy=lambda df, loc, scale: t_entropy(df) + log(scale),
    mean=lambda df, loc, scale: where(df > 1, loc, np.nan),
    variance=lambda df, loc, scale: where(
        df > 2, square(scale) * (1 + 2 / where(df > 2, df - 2, 1.0)), where(df > 1, np.inf, np.nan)
    ),
)  # fmt: skip
