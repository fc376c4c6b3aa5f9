"""Distributions of integers: without an upper end, of n trials, of what is drawn from an urn, and of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.distributions.intervals import log_beta_below
from tg.distributions.parameters import (
    CHANCE,
    COUNT,
    NONNEGATIVE,
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    WHOLE,
    Parameter,
)
from tg.distributions.record import distribution
from tg.distributions.sums import entropy
from tg.distributions.support import COUNTS, Support
from tg.distributions.urns import betabinom_below, hypergeometric_below, log_betabinom, log_hypergeometric
from tg.ops.arranging import broadcast_shapes
from tg.ops.creation import arange
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import clip, maximum, minimum, square
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, logical_not, where
from tg.ops.elementwise.exponential import exp, expm1, log, log1p, xlog1py, xlogy
from tg.ops.elementwise.rounding import ceil
from tg.ops.elementwise.special.beta import betaln, stirling_difference
from tg.ops.elementwise.special.gamma import gammaln
from tg.ops.elementwise.special.incomplete import betainc, gammainc, gammaincc, log_gamma_lower, log_gamma_upper
from tg.ops.elementwise.special.tails import log1p_rest
from tg.ops.places import take_along_axis
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, expand_dims
from tg.types.dtypes import float_limits

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

P: Final = Parameter("p", PROBABILITY)
N: Final = Parameter("n", COUNT)
UP_TO_N: Final = Support("0 … n", 0.0, lambda n, *_: n, whole=True)


def _log_poisson(x: Variable, lam: Variable) -> Variable:
    return xlogy(x, lam) - gammaln(x + 1) - lam


poisson: Final = distribution(
    "poisson", "How many events there are where lam are expected.", (Parameter("lam", NONNEGATIVE, 1.0),), COUNTS,
    _log_poisson,
    cdf=lambda x, lam: gammaincc(x + 1, lam),
    sf=lambda x, lam: gammainc(x + 1, lam),
    logcdf=lambda x, lam: log_gamma_upper(x + 1, lam),
    logsf=lambda x, lam: log_gamma_lower(x + 1, lam),
    entropy=entropy(_log_poisson, lambda lam: (0.0, np.inf), lambda lam: (lam, lam)),
    mean=lambda lam: lam,
    variance=lambda lam: lam,
)  # fmt: skip

geometric: Final = distribution(
    "geometric", "How many trials of probability p there are up to the first success.", (Parameter("p", CHANCE),),
    Support("1, 2, 3 …", 1.0, whole=True),
    lambda x, p: xlog1py(x - 1, -p) + log(p),
    cdf=lambda x, p: -expm1(xlog1py(x, -p)),
    sf=lambda x, p: exp(xlog1py(x, -p)),
    logsf=lambda x, p: xlog1py(x, -p),
    ppf=lambda q, p: maximum(ceil(log1p(-q) / log1p(-p)), 1.0),
    isf=lambda q, p: maximum(ceil(log(q) / log1p(-p)), 1.0),
    entropy=lambda p: -log(p) - xlog1py(1 - p, -p) / p,
    mean=lambda p: 1 / p,
    variance=lambda p: (1 - p) / square(p),
)  # fmt: skip


def _log_nbinom(x: Variable, n: Variable, p: Variable) -> Variable:
    return -betaln(n, x + 1) - log(n + x) + n * log(p) + xlog1py(x, -p)


def _nbinom_moments(n: Variable, p: Variable) -> tuple[Variable, Variable]:
    mean = n * (1 - p) / p
    return mean, mean / p


nbinom: Final = distribution(
    "nbinom", "How many failures there are before the n-th success, n being any positive number.",
    (Parameter("n", POSITIVE), Parameter("p", CHANCE)), COUNTS,
    _log_nbinom,
    cdf=lambda x, n, p: betainc(n, x + 1, p),
    sf=lambda x, n, p: betainc(x + 1, n, 1 - p),
    logcdf=lambda x, n, p: log_beta_below(p, n, x + 1),
    logsf=lambda x, n, p: log_beta_below(1 - p, x + 1, n),
    entropy=entropy(_log_nbinom, lambda n, p: (0.0, np.inf), _nbinom_moments),
    mean=lambda n, p: _nbinom_moments(n, p)[0],
    variance=lambda n, p: _nbinom_moments(n, p)[1],
)  # fmt: skip

NEAR: Final = 4.0  # from where on Stirling's series serves


def _log_nbinom2(x: Variable, mu: Variable, alpha: Variable) -> Variable:
    """log(gamma(x + a) / (gamma(a) x! a^x)) + x log(mu) - (a + x) log(1 + mu / a) with a = alpha.

    The Poisson distribution's logarithm is x log(mu) - log(x!) - mu, and all else is small for a large a: terms of the
    size of log(a), or of a, are not there to cancel, neither in the value nor in the slope by a, which falls as 1/a^2.
    """
    a = minimum(alpha, float(float_limits(alpha.type.dtype).max) ** 0.5)  # beyond it is the Poisson distribution
    is_first, is_small = x <= 1, mu <= a
    is_rare = is_first | ((a >= NEAR) & (x <= a))
    series = is_rare & logical_not(is_first)
    few = _log_rising_share(where(series, x, 0.0), where(series, a, NEAR)) - gammaln(x + 1)
    ways = -betaln(a, x + 1) - log(a + x)
    s = where(is_small, mu / a, 0.0)  # -(a + x) log(1 + s) is -mu - s x and what is left of the logarithm
    rest = -where(is_small, mu, 0.0) - s * x - (a + x) * log1p_rest(s, 1 + s)
    small = where(is_rare, few, ways - xlogy(x, a)) + xlogy(x, mu) + rest
    share = where(is_small, 1.0, a / where(is_small, 1.0, mu))
    large = where(is_rare, few + xlogy(x, a), ways) + a * (log(share) - log1p(share)) - xlog1py(x, share)
    return where(is_small, small, large)


def _log_rising_share(x: Variable, a: Variable) -> Variable:
    """log(gamma(a + x) / gamma(a)) - x log(a) for 0 <= x <= a and a >= 4; it is about x (x - 1) / (2 a)."""
    t = x / a
    share: Variable = (x - 0.5) * t + (a + x - 0.5) * log1p_rest(t, 1 + t) + stirling_difference(a, x)
    return share


def _nbinom2_variance(mu: Variable, alpha: Variable) -> Variable:
    return mu + mu * (mu / alpha)


def _chances(mu: Variable, alpha: Variable) -> tuple[Variable, Variable]:
    """alpha / (alpha + mu) and mu / (alpha + mu)."""
    return 1 / (1 + mu / alpha), mu / (alpha + mu)


def _below_nbinom2(x: Variable, mu: Variable, alpha: Variable) -> Variable:
    return betainc(alpha, x + 1, _chances(mu, alpha)[0])


nbinom2: Final = distribution(
    "nbinom2", "How many events there are where mu are expected, with the variance mu + mu² / alpha.",
    (Parameter("mu", NONNEGATIVE), Parameter("alpha", POSITIVE)), COUNTS,
    _log_nbinom2,
    cdf=_below_nbinom2,
    sf=lambda x, mu, alpha: betainc(x + 1, alpha, _chances(mu, alpha)[1]),
    logcdf=lambda x, mu, alpha: log_beta_below(_chances(mu, alpha)[0], alpha, x + 1),
    logsf=lambda x, mu, alpha: log_beta_below(_chances(mu, alpha)[1], x + 1, alpha),
    entropy=entropy(
        _log_nbinom2, lambda mu, alpha: (0.0, np.inf), lambda mu, alpha: (mu, _nbinom2_variance(mu, alpha))
    ),
    mean=lambda mu, alpha: mu,
    variance=_nbinom2_variance,
)  # fmt: skip

bernoulli: Final = distribution(
    "bernoulli", "1 with probability p, else 0.", (Parameter("p", PROBABILITY, 0.5),),
    Support("0, 1", 0.0, 1.0, whole=True),
    lambda x, p: xlogy(x, p) + xlog1py(1 - x, -p),
    cdf=lambda x, p: where(equal(x, x), 1 - p, x),
    sf=lambda x, p: where(equal(x, x), p, x),
    ppf=lambda q, p: where(q <= 1 - p, 0.0, 1.0),
    isf=lambda q, p: where(q >= p, 0.0, 1.0),
    entropy=lambda p: -xlogy(p, p) - xlog1py(1 - p, -p),
    mean=lambda p: p,
    variance=lambda p: p * (1 - p),
)  # fmt: skip


def _log_choices(n: Variable, k: Variable) -> Variable:
    """The logarithm of the number of ways to choose k of n."""
    return -log(n + 1) - betaln(n - k + 1, k + 1)


def _log_binomial(x: Variable, n: Variable, p: Variable) -> Variable:
    return _log_choices(n, x) + xlogy(x, p) + xlog1py(n - x, -p)


binomial: Final = distribution(
    "binomial", "How many of n trials of probability p are successes.", (N, P), UP_TO_N,
    _log_binomial,
    cdf=lambda x, n, p: betainc(n - x, x + 1, 1 - p),
    sf=lambda x, n, p: betainc(x + 1, n - x, p),
    logcdf=lambda x, n, p: log_beta_below(1 - p, n - x, x + 1),
    logsf=lambda x, n, p: log_beta_below(p, x + 1, n - x),
    entropy=entropy(_log_binomial, lambda n, p: (0.0, n), lambda n, p: (n * p, n * p * (1 - p))),
    mean=lambda n, p: n * p,
    variance=lambda n, p: n * p * (1 - p),
)  # fmt: skip


def _betabinom_moments(n: Variable, a: Variable, b: Variable) -> tuple[Variable, Variable]:
    share, rest = a / (a + b), b / (a + b)
    return n * share, n * share * rest * ((a + b + n) / (a + b + 1))


betabinom: Final = distribution(
    "betabinom", "How many of n trials are successes, whose probability is of the beta distribution of a and b.",
    (N, Parameter("a", POSITIVE), Parameter("b", POSITIVE)), UP_TO_N,
    log_betabinom,
    cdf=lambda x, n, a, b: betabinom_below(x, n, a, b)[0],
    sf=lambda x, n, a, b: betabinom_below(x, n, a, b)[1],
    entropy=entropy(
        log_betabinom, lambda n, a, b: (0.0, n), _betabinom_moments, lambda n, a, b: (a >= 1) & (b >= 1)
    ),
    mean=lambda n, a, b: _betabinom_moments(n, a, b)[0],
    variance=lambda n, a, b: _betabinom_moments(n, a, b)[1],
)  # fmt: skip


def _hypergeometric_ends(ngood: Variable, nbad: Variable, nsample: Variable) -> tuple[Variable, Variable]:
    return maximum(nsample - nbad, 0.0), minimum(ngood, nsample)


def _hypergeometric_moments(ngood: Variable, nbad: Variable, nsample: Variable) -> tuple[Variable, Variable]:
    total = ngood + nbad
    mean = nsample * (ngood / total)
    return mean, mean * (nbad / total) * ((total - nsample) / maximum(total - 1, 1.0))


hypergeometric: Final = distribution(
    "hypergeometric", "How many of nsample that are drawn are good, of ngood and nbad, none of which is put back.",
    (Parameter("ngood", COUNT), Parameter("nbad", COUNT), Parameter("nsample", COUNT)),
    Support(
        "max(0, nsample - nbad) … min(ngood, nsample)",
        lambda *urn: _hypergeometric_ends(*urn)[0],
        lambda *urn: _hypergeometric_ends(*urn)[1],
        whole=True,
    ),
    log_hypergeometric,
    valid=lambda ngood, nbad, nsample: nsample <= ngood + nbad,
    cdf=lambda x, *urn: hypergeometric_below(x, *urn)[0],
    sf=lambda x, *urn: hypergeometric_below(x, *urn)[1],
    entropy=entropy(log_hypergeometric, _hypergeometric_ends, _hypergeometric_moments),
    mean=lambda *urn: _hypergeometric_moments(*urn)[0],
    variance=lambda *urn: _hypergeometric_moments(*urn)[1],
)  # fmt: skip

integers: Final = distribution(
    "integers", "Equally likely integers from low on, below high.",
    (Parameter("low", WHOLE), Parameter("high", WHOLE)),
    Support("low … high - 1", lambda low, high: low, lambda low, high: high - 1, whole=True),
    lambda x, low, high: where(equal(x, x), -log(high - low), x),
    valid=lambda low, high: high > low,
    cdf=lambda x, low, high: (x - low + 1) / (high - low),
    sf=lambda x, low, high: (high - 1 - x) / (high - low),
    ppf=lambda q, low, high: clip(ceil(low + q * (high - low)) - 1, low, high - 1),
    isf=lambda q, low, high: clip(ceil(high - q * (high - low)) - 1, low, high - 1),
    entropy=lambda low, high: log(high - low),
    mean=lambda low, high: 0.5 * (low + high - 1),
    variance=lambda low, high: (square(high - low) - 1) / 12,
)  # fmt: skip


def _at(table: Variable, x: Variable) -> Variable:
    """The element of the last axis whose number x is, of the one that is nearest."""
    count = table.shape[-1]
    lengths = broadcast_shapes(table.shape[:-1], x.shape)
    valid = equal(x, x)
    places = broadcast_to(cast_variable(where(valid, clip(x, 0, count - 1), 0), "int64"), lengths)
    elements = take_along_axis(broadcast_to(table, (*lengths, count)), expand_dims(places, -1), -1, mode="clip")
    return where(valid, elements[..., 0], np.nan)


def _numbers(p: Variable) -> Variable:
    return cast_variable(arange(p.shape[-1]), p.type.dtype)


def _how_many(conditions: Variable, p: Variable) -> Variable:
    return cast_variable(sum_of(conditions, -1), p.type.dtype)


def _categorical_variance(p: Variable) -> Variable:
    middle = sum_of(p * _numbers(p), -1)
    return sum_of(p * square(_numbers(p) - expand_dims(middle, -1)), -1)


categorical: Final = distribution(
    "categorical", "The number of a category, of which the vector p has the probabilities.", (Parameter("p", SIMPLEX),),
    Support("0 … k - 1", 0.0, lambda p: p.shape[-1] - 1, whole=True),
    lambda x, p: log(_at(p, x)),
    cdf=lambda x, p: _at(cumsum(p, -1), x),
    sf=lambda x, p: _at(1 - cumsum(p, -1), x),
    ppf=lambda q, p: _how_many(cumsum(p, -1) < expand_dims(q, -1), p),
    isf=lambda q, p: _how_many(1 - cumsum(p, -1) > expand_dims(q, -1), p),
    entropy=lambda p: -sum_of(xlogy(p, p), -1),
    mean=lambda p: sum_of(p * _numbers(p), -1),
    variance=_categorical_variance,
)  # fmt: skip
