"""Distributions on an interval, and on the circle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tg.distributions.parameters import NONNEGATIVE, POSITIVE, REAL, Parameter
from tg.distributions.record import distribution
from tg.distributions.shapes import shape_entropy
from tg.distributions.support import UNIT, Support
from tg.gradient.api import jvp
from tg.ops.arranging import broadcast_arrays
from tg.ops.control import stop_gradient
from tg.ops.custom import custom_jvp
from tg.ops.elementwise.arithmetic import absolute, sqrt, square
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp, expm1, log, log1p, xlog1py, xlogy
from tg.ops.elementwise.rounding import rint
from tg.ops.elementwise.special.bessel import i0e, i1e
from tg.ops.elementwise.special.beta import betaln
from tg.ops.elementwise.special.incomplete import betainc, betaincinv, log_beta_tail
from tg.ops.elementwise.special.series import polynomial
from tg.ops.elementwise.trigonometric import arcsin, sin, sinh
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import expand_dims
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

LOG_2_PI: Final = math.log(2 * math.pi)

uniform: Final = distribution(
    "uniform", "Equally likely from low to high.", (Parameter("low", REAL, 0.0), Parameter("high", REAL, 1.0)),
    Support("[low, high]", lambda low, high: low, lambda low, high: high),
    lambda x, low, high: where(equal(x, x), -log(high - low), x),
    valid=lambda low, high: high > low,
    cdf=lambda x, low, high: (x - low) / (high - low),
    sf=lambda x, low, high: (high - x) / (high - low),
    ppf=lambda q, low, high: low + q * (high - low),
    isf=lambda q, low, high: high - q * (high - low),
    entropy=lambda low, high: log(high - low),
    mean=lambda low, high: low + 0.5 * (high - low),
    variance=lambda low, high: square(high - low) / 12,
)  # fmt: skip


def _beta_variance(a: Variable, b: Variable) -> Variable:
    total = a + b
    return (a / total) * (b / total) / (total + 1)


def _beta_from_above(q: Variable, a: Variable, b: Variable) -> Variable:
    """The number of which the tail above is q, of the tail that is the smaller."""
    low = q < 0.5
    quantile = betaincinv(where(low, b, a), where(low, a, b), where(low, q, 1 - q))
    return where(low, 1 - quantile, quantile)


def log_beta_below(x: Variable, a: Variable, b: Variable) -> Variable:
    """The logarithm of betainc(a, b, x), below the mean right where that underflows too."""
    low = x * (a + b) < a
    inside = low & (x > 0)
    y = where(inside, x, 0.5)
    other = log1p(-betainc(b, a, 1 - where(low, 0.5, x)))
    return where(low, where(equal(x, 0), -np.inf, log_beta_tail(a, b, (1 - y) / y)), other)


beta: Final = distribution(
    "beta", "The density is x^(a - 1) (1 - x)^(b - 1) / B(a, b).",
    (Parameter("a", POSITIVE), Parameter("b", POSITIVE)), UNIT,
    lambda x, a, b: xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b),
    cdf=lambda x, a, b: betainc(a, b, x),
    sf=lambda x, a, b: betainc(b, a, 1 - x),
    logcdf=log_beta_below,
    logsf=lambda x, a, b: log_beta_below(1 - x, b, a),
    ppf=lambda q, a, b: betaincinv(a, b, q),
    isf=_beta_from_above,
    entropy=lambda a, b: shape_entropy(a, 1) + shape_entropy(b, 1) - shape_entropy(a + b, 2),
    mean=lambda a, b: a / (a + b),
    variance=_beta_variance,
)  # fmt: skip


def _triangle(x: Variable, left: Variable, mode: Variable, right: Variable) -> tuple[Variable, Variable, Variable]:
    """Whether x is on the rising side, its distance from the end of its side, and the length of this."""
    rises = (x < mode) | equal(mode, right)
    return rises, where(rises, x - left, right - x), where(rises, mode - left, right - mode)


def _triangular_log_density(x: Variable, left: Variable, mode: Variable, right: Variable) -> Variable:
    _, part, side = _triangle(x, left, mode, right)
    return log(2 * part / side) - log(right - left)


def _triangular_below(x: Variable, left: Variable, mode: Variable, right: Variable) -> Variable:
    rises, part, side = _triangle(x, left, mode, right)
    share = part / side * (part / (right - left))
    return where(rises, share, 1 - share)


def _triangular_above(x: Variable, left: Variable, mode: Variable, right: Variable) -> Variable:
    rises, part, side = _triangle(x, left, mode, right)
    share = part / side * (part / (right - left))
    return where(rises, 1 - share, share)


def _triangular_quantile(q: Variable, rest: Variable, left: Variable, mode: Variable, right: Variable) -> Variable:
    """The quantile of q, where rest = 1 - q."""
    width = right - left
    rises = q * width <= mode - left
    step = sqrt(where(rises, q * (mode - left), rest * (right - mode)) * width)
    return where(rises, left + step, right - step)


def _triangular_variance(left: Variable, mode: Variable, right: Variable) -> Variable:
    first, width = mode - left, right - left
    return (square(width) - first * width + square(first)) / 18


triangular: Final = distribution(
    "triangular", "The density rises in a line from left to mode, and falls in one to right.",
    (Parameter("left", REAL), Parameter("mode", REAL), Parameter("right", REAL)),
    Support("[left, right]", lambda left, mode, right: left, lambda left, mode, right: right),
    _triangular_log_density,
    valid=lambda left, mode, right: (left <= mode) & (mode <= right) & (left < right),
    cdf=_triangular_below,
    sf=_triangular_above,
    ppf=lambda q, left, mode, right: _triangular_quantile(q, 1 - q, left, mode, right),
    isf=lambda q, left, mode, right: _triangular_quantile(1 - q, q, left, mode, right),
    entropy=lambda left, mode, right: log(right - left) + (0.5 - math.log(2)),
    mean=lambda left, mode, right: left + ((mode - left) + (right - left)) / 3,
    variance=_triangular_variance,
)  # fmt: skip

SMALL: Final = 0.5
BERNOULLI: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000,
)  # fmt: skip
"""Bernoulli's numbers over factorials: b / (e^b - 1) is 1 - b/2 and these times b², b⁴ and so on."""


def _part(x: Variable, b: Variable, loc: Variable, scale: Variable) -> Variable:
    return expm1((loc - x) / scale) / expm1(-b)


def _part_above(x: Variable, b: Variable, loc: Variable, scale: Variable) -> Variable:
    z = (x - loc) / scale
    return exp(-z) * (expm1(z - b) / expm1(-b))


def _truncated_mean(b: Variable) -> Variable:
    small = b < SMALL
    near, far = where(small, b, 0.0), where(small, 1.0, b)
    series = near * (0.5 - near * polynomial(near * near, BERNOULLI))
    return where(small, series, 1 - far / expm1(far))


def _truncated_variance(b: Variable) -> Variable:
    small = b < SMALL
    near, half = square(where(small, b, 0.0)), 0.5 * where(small, 1.0, b)
    terms = tuple((2 * k + 1) * c for k, c in enumerate(BERNOULLI))
    return where(small, near * polynomial(near, terms), 1 - square(half / sinh(half)))


truncexpon: Final = distribution(
    "truncexpon", "loc + scale e, where e is exponential of mean 1, and below b.",
    (Parameter("b", POSITIVE), Parameter("loc", REAL, 0.0), Parameter("scale", POSITIVE, 1.0)),
    Support("[loc, loc + b scale]", lambda b, loc, scale: loc, lambda b, loc, scale: loc + b * scale),
    lambda x, b, loc, scale: (loc - x) / scale - log(-expm1(-b)) - log(scale),
    cdf=_part,
    sf=_part_above,
    ppf=lambda q, b, loc, scale: loc - scale * log1p(q * expm1(-b)),
    isf=lambda q, b, loc, scale: loc - scale * log1p((1 - q) * expm1(-b)),
    entropy=lambda b, loc, scale: log(-expm1(-b)) + _truncated_mean(b) + log(scale),
    mean=lambda b, loc, scale: loc + scale * _truncated_mean(b),
    variance=lambda b, loc, scale: square(scale) * _truncated_variance(b),
)  # fmt: skip

FALL: Final = 42.0
"""Where the exponent is lower by so much, the integral ends: e^-42 is below a unit of the last place."""
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def _quadrature(z: Variable, kappa: Variable, power: int) -> Variable:
    """The integral of t^power exp(kappa (cos(t) - 1)) from -pi to z <= 0, over 2 pi i0e(kappa)."""
    dtype = numpy_dtype(z.type.dtype)
    deep = square(sin(0.5 * z)) + 0.5 * FALL / kappa
    first = stop_gradient(where(deep < 1, -2 * arcsin(sqrt(where(deep < 1, deep, 0.5))), -math.pi))
    half = 0.5 * (z - first)
    t = expand_dims(z, -1) + expand_dims(half, -1) * (PLACES - 1).astype(dtype)
    top = expand_dims(z, -1)
    height = exp(-2 * expand_dims(kappa, -1) * sin(0.5 * (t + top)) * sin(0.5 * (t - top)))
    total = sum_of(height * t**power * WEIGHTS.astype(dtype), -1) * half
    return total * exp(-2 * kappa * square(sin(0.5 * z))) / (2 * math.pi * i0e(kappa))


def _vonmises_log_density(angle: Variable, kappa: Variable) -> Variable:
    return -2 * kappa * square(sin(0.5 * angle)) - LOG_2_PI - log(i0e(kappa))


def _angle_below(angle: Variable, kappa: Variable) -> Variable:
    turns = rint(angle / (2 * math.pi))
    z = angle - 2 * math.pi * turns
    half = _quadrature(-absolute(z), kappa, 0)
    return turns + where(z < 0, half, 1 - half)


_angle_distribution = custom_jvp(_angle_below)


def _pushed_angle(primals: tuple[Variable, Variable], tangents: tuple[Variable, Variable]) -> tuple[Variable, Variable]:
    """The derivative in the angle is the density, where |z| has none too."""
    angle, kappa = primals
    cdf = _angle_below(angle, kappa)
    slope = jvp(cdf, kappa, tangents[1], disconnected="zero")
    return cdf, exp(_vonmises_log_density(angle, kappa)) * tangents[0] + slope


_angle_distribution.defjvp(_pushed_angle)


def _vonmises_below(x: Variable, mu: Variable, kappa: Variable) -> Variable:
    return _angle_distribution(*broadcast_arrays(x - mu, kappa))  # type: ignore[no-any-return]


def _vonmises_entropy(mu: Variable, kappa: Variable) -> Variable:
    size = i0e(kappa)
    return LOG_2_PI + log(size) + kappa * ((size - i1e(kappa)) / size)


vonmises: Final = distribution(
    "vonmises", "An angle about mu: the density is exp(kappa cos(x - mu)) / (2 pi i0(kappa)).",
    (Parameter("mu", REAL), Parameter("kappa", NONNEGATIVE)), Support("angles", is_open=True),
    lambda x, mu, kappa: _vonmises_log_density(x - mu, kappa),
    cdf=_vonmises_below,
    entropy=_vonmises_entropy,
    mean=lambda mu, kappa: mu,
    variance=lambda mu, kappa: 2 * _quadrature(0 * kappa, kappa, 2),
)  # fmt: skip
