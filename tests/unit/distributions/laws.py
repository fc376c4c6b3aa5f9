"""The distributions of numbers with those of SciPy, and the points where they are compared."""

from __future__ import annotations

import functools

import numpy as np
import scipy.stats as st

import tg

LAWS = {  # what makes SciPy's, and parameters
    "bernoulli": (st.bernoulli, [(0.3,), (0.0,), (1.0,)]),
    "beta": (st.beta, [(2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (1.0, 3.0), (200.0, 30.0)]),
    "betabinom": (st.betabinom, [(10, 2.0, 3.0), (20, 0.3, 0.4), (0, 1.0, 1.0), (60, 5.0, 0.5)]),
    "binomial": (st.binom, [(10, 0.3), (0, 0.3), (7, 0.0), (7, 1.0), (1000, 0.01)]),
    "cauchy": (st.cauchy, [(0.0, 1.0), (-3.0, 0.5)]),
    "chisquare": (st.chi2, [(1.2,), (2.0,), (7.5,), (60.0,)]),
    "exponential": (lambda scale: st.expon(scale=scale), [(1.0,), (0.1,)]),
    "gamma": (lambda a, scale: st.gamma(a, scale=scale), [(2.5, 1.0), (1.0, 2.0), (0.3, 0.5), (50.0, 0.1)]),
    "gengamma": (
        lambda a, c, scale: st.gengamma(a, c, scale=scale),
        [(2.5, 2.0, 1.0), (1.0, 0.5, 2.0), (3, -1.5, 0.5)],
    ),
    "geometric": (st.geom, [(0.3,), (0.9999,), (2e-3,)]),
    "gumbel": (st.gumbel_r, [(0.0, 1.0), (-3.0, 0.5)]),
    "halfcauchy": (st.halfcauchy, [(0.0, 1.0), (-3.0, 0.5)]),
    "halfnormal": (st.halfnorm, [(0.0, 1.0), (-3.0, 0.5)]),
    "hypergeometric": (lambda g, b, s: st.hypergeom(g + b, g, s), [(10, 5, 7), (5, 20, 10), (0, 5, 2), (3, 0, 2)]),
    "integers": (st.randint, [(0, 6), (-3, -2), (-5, 1000)]),
    "invgamma": (lambda a, scale: st.invgamma(a, scale=scale), [(2.5, 1.0), (1.0, 2.0), (0.3, 0.5), (60.0, 3.0)]),
    "laplace": (st.laplace, [(0.0, 1.0), (-3.0, 0.5)]),
    "logistic": (st.logistic, [(0.0, 1.0), (-3.0, 0.5)]),
    "lognormal": (lambda mean, sigma: st.lognorm(sigma, scale=np.exp(mean)), [(0.0, 1.0), (-3.0, 0.5)]),
    "nbinom": (st.nbinom, [(3.0, 0.2), (0.5, 0.6), (200.0, 0.9), (2.0, 1.0)]),
    "nbinom2": (
        lambda mu, alpha: st.nbinom(alpha, alpha / (alpha + mu)),
        [(12.0, 3.0), (0.3, 0.5), (20.0, 200.0), (0.0, 2.0)],
    ),
    "normal": (st.norm, [(0.0, 1.0), (-3.0, 0.5), (1e3, 1e-2)]),
    "pareto": (lambda a, scale: st.pareto(a, scale=scale), [(2.5, 1.0), (1.0, 2.0), (0.3, 0.5)]),
    "poisson": (st.poisson, [(3.0,), (0.0,), (1e-3,), (250.0,)]),
    "t": (st.t, [(3.0, 0.0, 1.0), (0.5, 1.0, 2.0), (30.0, 0.0, 1.0), (1.5, 0.0, 1.0), (np.inf, -1.0, 3.0)]),
    "triangular": (
        lambda low, mode, high: st.triang((mode - low) / (high - low), low, high - low),
        [(0.0, 0.3, 1.0), (-2.0, -2.0, 3.0), (1.0, 4.0, 4.0)],
    ),
    "truncexpon": (st.truncexpon, [(2.0, 0.0, 1.0), (0.3, -1.0, 2.0), (20.0, 0.0, 1.0)]),
    "uniform": (lambda low, high: st.uniform(low, high - low), [(0.0, 1.0), (-3.0, 0.5)]),
    "vonmises": (lambda mu, kappa: st.vonmises(kappa, mu), [(0.0, 1.0), (0.5, 3.0), (1.0, 0.2)]),
    "wald": (lambda mean, scale: st.invgauss(mean / scale, scale=scale), [(1.0, 1.0), (0.5, 3.0), (10.0, 1.0)]),
    "weibull": (lambda a, scale: st.weibull_min(a, scale=scale), [(2.5, 1.0), (1.0, 2.0), (0.3, 0.5)]),
}
LEVELS = np.array([0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])

DISCRETE = [name for name in LAWS if getattr(tg.distributions, name).support.whole]
CONTINUOUS = [name for name in LAWS if name not in DISCRETE]


def asked(name, of):
    return [method for method in of if getattr(tg.distributions, name).has(method)]


@functools.cache
def compiled(name, methods, of_values):
    """A function of a vector and vectors of parameters, or of parameters alone."""
    law = getattr(tg.distributions, name)
    first = [tg.vector("x")] if of_values else []
    parameters = [tg.vector(p.name) for p in law.parameters]
    found = [getattr(law, method)(*first, *parameters) for method in methods]
    return tg.function([*first, *parameters], found, backend="perform", on_unused_input="ignore")


def points(make, parameters, levels):
    """Numbers between, at, and beyond the ends."""
    theirs = make(*parameters)
    low, high = theirs.support()
    is_angle = theirs.dist.name == "vonmises"
    between = parameters[0] + 6 * (levels - 0.5) if is_angle else theirs.ppf(levels)
    ends = [v + by for v in (low, high) if np.isfinite(v) for by in (-1, -0.5, 0, 1e-3, 0.5, 1)]
    found = np.concatenate([between, between + 0.25, ends, [-np.inf, np.inf, np.nan, 12, -12]])
    if is_angle:  # beyond a turn there is no probability to have a logarithm of
        found = found[~np.isfinite(found) | (np.abs(found - parameters[0]) < np.pi)]
    return np.floor(found) if theirs.dist.name == "hypergeom" else found  # of which SciPy sums from a fraction on


def all_points(name, levels=LEVELS):
    """The points of all parameters, these beside them, and SciPy's distribution of each."""
    make, table = LAWS[name]
    xs = [points(make, p, levels) for p in table]
    given = [np.repeat(column, list(map(len, xs))).astype(float) for column in zip(*table, strict=True)]
    return xs, given, [make(*p) for p in table]
