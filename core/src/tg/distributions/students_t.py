"""Student's distribution: the incomplete beta function, and beside the normal distribution expansions about it.

Of df degrees of freedom, z²/(df + z²) is of a beta distribution, of which the parameter df/2 must not be large: for
df > 1e5 the tail is the normal one of Hill's expansion, and the quantile is that of Cornish and Fisher.

Source:
    G. W. Hill, "Algorithm 395: Student's t-distribution", Communications of the ACM 13 (1970), 617.
    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.distributions.shapes import HALF_LOG_2_PI
from tg.ops.control import stop_gradient
from tg.ops.elementwise.arithmetic import absolute, copysign, minimum, sqrt, square
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.special.beta import betaln
from tg.ops.elementwise.special.gamma import digamma
from tg.ops.elementwise.special.incomplete import betainc, betaincinv, log_beta_tail
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri
from tg.ops.elementwise.special.series import polynomial

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

NORMAL: Final = 1e30
"""Degrees of freedom from which on nothing but the normal distribution is left, infinity among them."""
LOG_HALF: Final = -0.6931471805599453
LARGE: Final = 1e5
BEYOND: Final = 1e4
"""The square of a normal number of which the tail is 0."""
FARTHER: Final = 1e60
"""The same, where the tail's logarithm is what is asked for."""
FAR: Final = 200.0
"""Degrees of freedom from which on the entropy is that of the normal distribution and a series."""
TAIL: Final = 0.01
MOVED: Final = 1e-17
"""In place of 0, where a square has no derivative that tells both sides apart."""
ENTROPY: Final = (1.0, 1 / 4, -1 / 6, -1 / 8, 3 / 10, 1 / 4)
"""What the entropy is more than that of the normal distribution, in powers of 1/df from the first on."""


def _off_zero(v: Variable) -> Variable:
    return where(equal(v, 0), v + MOVED, v)


def t_log_density(z: Variable, df: Variable) -> Variable:
    """The logarithm of the density of the standard distribution."""
    n = minimum(df, NORMAL)
    return -betaln(0.5 * n, 0.5) - 0.5 * log(n) - 0.5 * (n + 1) * log1p(square(z) / n)


def _as_normal(z: Variable, df: Variable, beyond: float = BEYOND) -> Variable:
    """The number that the standard normal distribution is as far below as this one is below z > 0."""
    a = df - 0.5
    b = 48 * a * a
    y = minimum(a * log1p(z * z / df), beyond)
    rest = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b)
    return sqrt(y) * (1 + (rest + y + 3) / b)


def t_lower(z: Variable, df: Variable) -> Variable:
    """The distribution function."""
    z = _off_zero(z)
    large = df > LARGE
    n, s = where(large, 1.0, df), z * z
    inner = s < minimum(n, 1.0)  # where the probability between -|z| and |z| is what is exact
    half = 0.5 * betainc(where(inner, 0.5, 0.5 * n), where(inner, 0.5 * n, 0.5), where(inner, s, n) / (n + s))
    by_beta = where(inner, 0.5 + copysign(half, z), where(z < 0, half, 1 - half))
    by_normal = ndtr(copysign(_as_normal(where(large, z, 1.0), where(large, minimum(df, NORMAL), LARGE)), z))
    return where(large, by_normal, by_beta)


def t_log_lower(z: Variable, df: Variable) -> Variable:
    """The logarithm of the distribution function."""
    z = _off_zero(z)
    large = df > LARGE
    half = 0.5 * where(large, LARGE, df)
    tail = LOG_HALF + log_beta_tail(half, 0.5, square(z) / (2 * half))
    by_beta = where(z > 0, log1p(-exp(tail)), tail)
    number = _as_normal(where(large, z, 1.0), where(large, minimum(df, NORMAL), LARGE), FARTHER)
    by_normal = where(equal(z, -np.inf), -np.inf, log_ndtr(copysign(number, z)))
    return where(large, by_normal, by_beta)


def t_quantile(q: Variable, df: Variable) -> Variable:
    """The inverse of the distribution function."""
    large = df > LARGE
    n = where(large, 1.0, df)
    off = _off_zero(q - 0.5)
    p = minimum(q, 1 - q)
    in_tail = p < TAIL
    found = betaincinv(
        where(in_tail, 0.5 * n, 0.5), where(in_tail, 0.5, 0.5 * n), where(in_tail, 2 * p, 2 * absolute(off))
    )
    other = 1 - found
    root = copysign(sqrt(n * (where(in_tail, other, found) / where(in_tail, found, other))), off)
    by_beta = root - stop_gradient(where(equal(q, 0.5), root, 0.0))
    return where(large, _from_normal(ndtri(q), 1 / where(large, minimum(df, NORMAL), LARGE)), by_beta)


def _from_normal(u: Variable, i: Variable) -> Variable:
    """The quantile for 1/i degrees of freedom of the probability of which u is the normal quantile."""
    s = u * u
    terms: tuple[Any, ...] = (
        1.0,
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return u * polynomial(i, terms)


def t_entropy(df: Variable) -> Variable:
    """The entropy of the standard distribution."""
    far = df > FAR
    n, i = where(far, 1.0, df), 1 / where(far, df, FAR)
    near = 0.5 * (n + 1) * (digamma(0.5 * (n + 1)) - digamma(0.5 * n)) + 0.5 * log(n) + betaln(0.5 * n, 0.5)
    return where(far, HALF_LOG_2_PI + 0.5 + i * polynomial(i, ENTROPY), near)
