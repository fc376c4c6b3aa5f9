"""Large parameters and far tails, where SciPy loses digits: mpmath is the oracle."""

from __future__ import annotations

import functools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import tg
from tg import plugin

d = tg.distributions


def _student(df):
    df = mp.mpf(df)
    return lambda z: (
        mp.gamma((df + 1) / 2) / (mp.sqrt(df * mp.pi) * mp.gamma(df / 2)) * (1 + z * z / df) ** (-(df + 1) / 2)
    )


def _t_below(z, df):
    df, z = mp.mpf(df), mp.mpf(z)
    return mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + z * z), regularized=True) / 2


def _log_t_below(z, df):
    """By the series in which nothing cancels."""
    a, b, x = mp.mpf(df) / 2, mp.mpf(1) / 2, df / (df + mp.mpf(z) ** 2)
    front = a * mp.log(x) + b * mp.log1p(-x) - mp.log(a) - mp.log(mp.beta(a, b)) - mp.log(2)
    return front + mp.log(mp.hyp2f1(a + b, 1, a + 1, x))


def _log_t_far(z, df):
    """The first term, beside which the others are nothing."""
    df = mp.mpf(df)
    return -df * mp.log(mp.mpf(z) / mp.sqrt(df)) - mp.log(df) - mp.log(mp.beta(df / 2, mp.mpf(1) / 2))


def _log_t_above(z, df):
    """By the integral, of many degrees of freedom."""
    z, df = mp.mpf(z), mp.mpf(df)
    logs = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2
    log_density = lambda t: logs - (df + 1) / 2 * mp.log1p(t * t / df)  # noqa: E731
    rest = mp.quad(lambda v: mp.exp(log_density(z + v / z) - log_density(z)), [0, 10, 40, 100])
    return log_density(z) + mp.log(rest / z)


def _gamma_entropy(a):
    a = mp.mpf(a)
    return a + mp.loggamma(a) + (1 - a) * mp.digamma(a)


def _vonmises(power, low, high, kappa):
    kappa = mp.mpf(kappa)
    total = mp.quad(lambda t: t**power * mp.exp(kappa * (mp.cos(t) - 1)), mp.linspace(low, high, 8))
    return total / (2 * mp.pi * mp.besseli(0, kappa) * mp.exp(-kappa))


def _t_entropy(df):
    df = mp.mpf(df)
    return (df + 1) / 2 * (mp.digamma((df + 1) / 2) - mp.digamma(df / 2)) + mp.log(mp.sqrt(df) * mp.beta(df / 2, 0.5))


def _beta_entropy(a, b):
    a, b = mp.mpf(a), mp.mpf(b)
    logs = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return logs - (a - 1) * mp.digamma(a) - (b - 1) * mp.digamma(b) + (a + b - 2) * mp.digamma(a + b)


def _poisson_entropy(lam):
    logs = [k * mp.log(lam) - lam - mp.loggamma(k + 1) for k in range(1000)]
    return -mp.fsum(mp.exp(v) * v for v in logs)


def _hypergeometric(ks, g, b, s):
    ways = lambda n, k: mp.binomial(n, k)  # noqa: E731
    return sum(ways(g, k) * ways(b, s - k) for k in ks) / ways(g + b, s)


def _log_normal_tail(x):
    return mp.log(mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2)


CASES = {  # what is asked, what is right, and how far off it may be: relatively, or as terms of a size cancel
    "normal.logsf": (
        lambda: d.normal.logsf([8.0, 40.0, 1e5]),
        lambda: [_log_normal_tail(x) for x in (8, 40, 1e5)],
        1e-14,
    ),
    "normal.isf": (lambda: d.normal.sf(d.normal.isf(1e-300)), lambda: 1e-300, 1e-12),
    "lognormal.logcdf": (
        lambda: d.lognormal.logcdf(1e-20, 0.0, 1.0),
        lambda: _log_normal_tail(-mp.log(mp.mpf("1e-20"))),
        1e-14,
    ),
    "gumbel.logsf": (lambda: d.gumbel.logsf([45.0, 1e3]), lambda: [-45, -1e3], 1e-14),
    "cauchy.cdf": (lambda: d.cauchy.cdf(-1e300), lambda: mp.mpf("1e-300") / mp.pi, 1e-14),
    "cauchy.ppf": (lambda: d.cauchy.ppf([1e-200, 0.25]), lambda: [-mp.mpf("1e200") / mp.pi, -1], 1e-14),
    "t.logpdf": (
        lambda: d.t.logpdf([0.3, 20.0], [1e4, 1e10]),
        lambda: [mp.log(_student(1e4)(mp.mpf(0.3))), mp.log(_student(1e10)(mp.mpf(20)))],
        1e-14,
    ),
    "t.cdf": (
        lambda: d.t.cdf([-1e-9, -3.0, -20.0, -2.0, -9.0], [3.0, 9e4, 1.5e5, 1e6, 1e7]),
        lambda: (
            [0.5 - mp.mpf("1e-9") * _student(3)(mp.mpf(0))]
            + [_t_below(*p) for p in ((3, 9e4), (20, 1.5e5), (2, 1e6), (9, 1e7))]
        ),
        1e-13,
    ),
    "t.ppf": (
        lambda: d.t.cdf(d.t.ppf([0.009, 0.011, 1e-80], [9e4, 9e4, 2e5]), [9e4, 9e4, 2e5]),
        lambda: [0.009, 0.011, 1e-80],
        1e-12,
    ),
    "t.logcdf": (
        lambda: d.t.logcdf([-60.0, -1e3, 3.0, -8.0], [1.1e5, np.inf, np.inf, 5.0]),
        lambda: [
            mp.log(_t_below(60, 1.1e5)),
            _log_normal_tail(1e3),
            mp.log1p(-mp.exp(_log_normal_tail(3))),
            mp.log(_t_below(8, 5)),
        ],
        1e-14,
    ),
    "t far out": (
        lambda: tg.concatenate(
            [d.t.logcdf([-1e200, -1e300, -1e160], [2.0, 0.5, 1e6]), d.t.logpdf([1e200], 2.0), d.t.logsf([1e3], 1e9)]
        ),
        lambda: (
            [_log_t_far(*p) for p in ((1e200, 2), (1e300, 0.5), (1e160, 1e6))]
            + [mp.log(mp.mpf(1e200)) * -3, _log_t_above(1e3, 1e9)]
        ),
        1e-14,
    ),
    "t.logcdf of what underflows": (
        lambda: d.t.logcdf([-300.0, -1e3, -1e100, -40.0, 1e-3], [5e4, 100.0, 2.0, 1e5, 7.0]),
        lambda: [
            *(_log_t_below(*p) for p in ((300, 5e4), (1e3, 100), (1e100, 2), (40, 1e5))),
            mp.log1p(-_t_below(1e-3, 7)),
        ],
        1e-14,
    ),
    "t of infinite df": (
        lambda: tg.concatenate([d.t.ppf([0.01, 0.7], np.inf), d.t.logpdf([3.0], np.inf), d.t.sf([5.0], np.inf)]),
        lambda: (
            [mp.sqrt(2) * mp.erfinv(2 * mp.mpf(q) - 1) for q in (0.01, 0.7)]
            + [-mp.mpf(4.5) - mp.log(2 * mp.pi) / 2, mp.exp(_log_normal_tail(5))]
        ),
        1e-14,
    ),
    "t.entropy": (lambda: d.t.entropy([150.0, 300.0, 1e9]), lambda: [_t_entropy(v) for v in (150, 300, 1e9)], 1e-13),
    "gamma.entropy": (
        lambda: d.gamma.entropy([39.0, 41.0, 1e9]),
        lambda: [_gamma_entropy(a) for a in (39, 41, 1e9)],
        2e-14,
    ),
    "beta.logpdf": (
        lambda: d.beta.logpdf(0.33, 1e4, 2e4),
        lambda: mp.log(mp.mpf(0.33)) * 9999 + mp.log(1 - mp.mpf(0.33)) * 19999 - mp.log(mp.beta(10**4, 2 * 10**4)),
        1e-11,
    ),
    "beta.entropy": (
        lambda: d.beta.entropy([1e4, 0.5], [2e6, 1e5]),
        lambda: [_beta_entropy(1e4, 2e6), _beta_entropy(0.5, 1e5)],
        1e-13,
    ),
    "vonmises.cdf": (
        lambda: d.vonmises.cdf([-1.0, -0.01, -3.0], 0.0, [200.0, 1e4, 8.0]),
        lambda: [_vonmises(0, *p) for p in ((-2, -1, 200), (-0.1, -0.01, 1e4), (-mp.pi, -3, 8))],
        1e-12,
    ),
    "vonmises.variance": (
        lambda: d.vonmises.variance(0.3, [0.5, 40.0, 1e5]),
        lambda: [2 * _vonmises(2, *p) for p in ((-mp.pi, 0, 0.5), (-mp.pi / 2, 0, 40), (-0.05, 0, 1e5))],
        1e-13,
    ),
    "poisson.logpmf": (
        lambda: d.poisson.logpmf(100_003_000, 1e8),
        lambda: 100_003_000 * mp.log(10**8) - 10**8 - mp.loggamma(100_003_001),
        1e-7,
    ),
    "poisson.entropy": (lambda: d.poisson.entropy(400.0), lambda: _poisson_entropy(400), 1e-12),
    "poisson.sf": (
        lambda: d.poisson.sf(1006004, 1e6),
        lambda: mp.gammainc(1006005, 0, 10**6, regularized=True),
        1e-11,
    ),
    "geometric.logsf": (lambda: d.geometric.logsf(1e6, 1e-3), lambda: 10**6 * mp.log1p(-mp.mpf(1e-3)), 1e-14),
    "hypergeometric.sf": (
        lambda: d.hypergeometric.sf(70, 200, 300, 100),
        lambda: _hypergeometric(range(71, 101), 200, 300, 100),
        1e-12,
    ),
    "truncexpon.mean": (
        lambda: d.truncexpon.mean([1e-8, 0.49]),
        lambda: [1 - b / mp.expm1(b) for b in map(mp.mpf, (1e-8, 0.49))],
        1e-14,
    ),
    "truncexpon.variance": (
        lambda: d.truncexpon.variance([1e-8, 0.49]),
        lambda: [1 - (b / 2 / mp.sinh(b / 2)) ** 2 for b in map(mp.mpf, (1e-8, 0.49))],
        1e-14,
    ),
    "weibull.variance": (
        lambda: d.weibull.variance(1e4),
        lambda: mp.gamma(1 + mp.mpf("2e-4")) - mp.gamma(1 + mp.mpf("1e-4")) ** 2,
        1e-7,
    ),
    "wald.logsf": (
        lambda: d.wald.logsf(400.0, 1.0, 2.0),
        lambda: mp.log(mp.quad(lambda x: mp.exp(-((x - 1) ** 2) / x) / mp.sqrt(mp.pi * x**3), [400, 410, 430, 500])),
        1e-9,
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_large_parameters_and_far_tails(name):
    asked, right, tolerance = CASES[name]
    with mp.workdps(60):
        wanted = np.array(right()).astype(float)
    np.testing.assert_allclose(asked().eval(), wanted, rtol=tolerance)


def _nbinom2(k, mu, alpha):
    """The logarithm of the probability, and its slopes by mu and alpha."""
    k, mu, a = map(mp.mpf, (k, mu, alpha))
    ways = mp.loggamma(k + a) - mp.loggamma(a) - mp.loggamma(k + 1)
    value = ways - a * mp.log1p(mu / a) + k * mp.log(mu / (a + mu))
    by_alpha = mp.digamma(k + a) - mp.digamma(a) - mp.log1p(mu / a) + (mu - k) / (a + mu)
    return value, k / mu - (a + k) / (a + mu), by_alpha


@functools.cache
def _nbinom2_table(dtype):
    """Points, the values and slopes there, and bounds of their errors."""
    sizes = [1e-8, 1e-3, 0.3, 1, 3, 5, 50, 1e3, 1e5, 1e8, 1e12, 1e15, 1e18]
    means = [1e-12, 1e-3, 0.5, 3, 40, 1e4]
    points = np.array([(k, mu, a) for a in sizes for mu in means for k in (0, 1, 2, 7, 60, 9000)], dtype)
    with mp.workdps(80):
        exact = np.array([list(map(float, _nbinom2(*point))) for point in points.tolist()]).T
        terms = [float(abs(k * mp.log(mu)) + mp.loggamma(k + 1) + mu) for k, mu, _ in points.tolist()]
    eps, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)
    bounds = 600 * eps * np.abs(exact) + tiny
    bounds[0] += 4 * eps * np.array(terms)  # those of the Poisson distribution's logarithm, which cancel
    alpha = points[:, 2].astype(float)
    bounds[2] += 4 * eps * np.where(alpha < 4, 1 / alpha, 0.0)
    return points, exact, bounds


@pytest.mark.sampled(4)
@pytest.mark.parametrize("backend", [one.name for one in plugin.registry().backends() if one.is_available])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_negative_binomial_by_its_mean_goes_over_to_the_poisson_distribution(backend, dtype):
    points, exact, bounds = _nbinom2_table(dtype)
    k, mu, alpha = (tg.vector(name, dtype=dtype) for name in ("k", "mu", "alpha"))
    y = d.nbinom2.logpmf(k, mu, alpha)
    results = tg.function([k, mu, alpha], [y, *tg.grad(tg.sum(y), [mu, alpha])], backend=backend)(*points.T)
    assert (np.abs(np.array(results, float) - exact) <= bounds).all()


def test_the_negative_binomial_of_an_infinite_alpha_is_the_poisson_distribution():
    k = np.array([0.0, 1.0, 7.0, 60.0])
    value = d.nbinom2.logpmf(k, 4.0, np.inf).eval()
    np.testing.assert_allclose(value, scipy.stats.poisson.logpmf(k, 4.0), rtol=1e-14)
    mu, alpha = tg.scalar("mu"), tg.scalar("alpha")
    slopes = tg.function([mu, alpha], tg.grad(d.nbinom2.logpmf(3, mu, alpha), [mu, alpha]), backend="perform")
    np.testing.assert_array_equal(slopes(4.0, np.inf), [3 / 4 - 1, 0.0])
    np.testing.assert_array_equal(d.nbinom2.logpmf([0, 1, 2.5], [0.0, 0.0, 1.0], 2.0).eval(), [0, -np.inf, -np.inf])
    assert np.isnan(d.nbinom2.logpmf(1, [-1.0, 1.0, np.nan], [1.0, 0.0, 1.0]).eval()).all()
