"""Cases of `tg.distributions`: a few expressions of many, where backends meet loops and infinities at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special, stats

import tg
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Callable

X: Final = fixed([-1.0, 0.0, 0.3, 0.5, 1.0, 2.5, 40.0])
Q: Final = fixed([0.0, 1e-5, 0.2, 0.5, 0.9, 1.0, 1.5], differentiate=False)
SHAPE: Final = f64(7, low=0.6, high=3.0)
SCALE: Final = f64(7, low=0.5, high=2.0)
FIXED: Final = f64(7, low=0.6, high=2.0, differentiate=False)
POSITIVE: Final = fixed([0.01, 0.3, 0.5, 1.0, 2.5, 9.0, 40.0])


def _log_densities(x: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    d = tg.distributions
    return (
        d.normal.logpdf(x, a, scale),
        d.t.logpdf(x, a, 0.0, scale),
        d.gamma.logpdf(x, a + 1, scale),
        d.beta.logpdf(x, a + 1, scale + 1),
        d.weibull.logpdf(x, a + 1, scale),
        d.truncexpon.logpdf(x, a, 0.0, scale),
        d.vonmises.logpdf(x, a, scale),
        d.poisson.logpmf(x, scale),
        d.nbinom.logpmf(x, a, 0.3),
        d.nbinom2.logpmf(x, scale, a),
        d.normal.logpdf(x, a, scale - scale),
    )


def _log_densities_of_scipy(x: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    return (
        stats.norm.logpdf(x, a, scale),
        stats.t.logpdf(x, a, 0.0, scale),
        stats.gamma.logpdf(x, a + 1, scale=scale),
        stats.beta.logpdf(x, a + 1, scale + 1),
        stats.weibull_min.logpdf(x, a + 1, scale=scale),
        stats.truncexpon.logpdf(x, a, 0.0, scale),
        stats.vonmises.logpdf(x, scale, a),
        stats.poisson.logpmf(x, scale),
        stats.nbinom.logpmf(x, a, 0.3),
        stats.nbinom.logpmf(x, a, a / (a + scale)),
        np.full(x.shape, np.nan),
    )


def _below(x: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    d = tg.distributions
    return (
        d.normal.logcdf(-x, a, scale),
        d.vonmises.cdf(x / 20, 0.0, a),
        d.hypergeometric.cdf(x, 30.0, 20.0, 12.0),
    )


def _below_of_scipy(x: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    return (
        stats.norm.logcdf(-x, a, scale),
        stats.vonmises.cdf(x / 20, a, 0.0),
        stats.hypergeom.cdf(np.floor(x), 50, 30, 12),
    )


def _quantiles(q: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    d = tg.distributions
    return (
        d.normal.ppf(q, a, scale),
        d.logistic.isf(q, a, scale),
        d.pareto.ppf(q, a, scale),
        d.poisson.ppf(q, scale),
        d.geometric.isf(q, 0.3),
    )


def _quantiles_of_scipy(q: Any, a: Any, scale: Any) -> tuple[Any, ...]:
    return (
        stats.norm.ppf(q, a, scale),
        stats.logistic.isf(q, a, scale),
        stats.pareto.ppf(q, a, scale=scale),
        stats.poisson.ppf(q, scale),
        stats.geom.isf(q, 0.3),
    )


def _slopes_of_gamma(x: Any, a: Any, scale: Any) -> Any:
    """By x, a and scale; 0 where x is no number of the distribution."""
    inside, z = x > 0, np.where(x > 0, x, 1.0) / scale
    by = ((a - 1) / (z * scale) - 1 / scale, np.log(z) - special.digamma(a), (z - a) / scale)
    return tuple(np.where(inside, v, 0.0) for v in by)


def _in_double(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy has no wider dtypes."""
    return lambda *arrays: oracle(*(v.astype(np.float64) for v in arrays))


def _sizes(*arrays: Any) -> Any:
    """The terms are as large as the arguments and their logarithms."""
    size = sum(2.0 + np.abs(v) for v in arrays)
    return lambda count: (size * size,) * count


WRITTEN: Final = (
    Case(
        _log_densities, [X, SHAPE, SCALE], name="log-densities", oracle=_in_double(_log_densities_of_scipy),
        condition=lambda *arrays: _sizes(*arrays)(11), accuracy=32, static=(False,),
    ),
    Case(
        lambda x, a, scale: tuple(tg.grad(tg.sum(tg.distributions.gamma.logpdf(x, a, scale)), [x, a, scale])),
        [fixed([-2.0, -1.0, 0.3, 0.5, 1.0, 2.5, 40.0]), SHAPE, SCALE], name="gradient of a log-density",
        oracle=_in_double(_slopes_of_gamma), condition=lambda *arrays: _sizes(*arrays)(3), accuracy=32, static=(False,),
    ),
    Case(
        _below, [POSITIVE, SHAPE, SCALE], name="distribution functions", oracle=_in_double(_below_of_scipy),
        condition=lambda *arrays: _sizes(*arrays)(3), accuracy=256, static=(False,),
    ),
    Case(
        _quantiles, [Q, FIXED, FIXED], name="quantiles", oracle=_in_double(_quantiles_of_scipy), accuracy=64,
        condition=lambda q, a, scale: (np.abs(a) + np.abs(scale),) * 2 + (0.0,) * 3, static=(False,),
    ),
    Case(
        lambda x, mean, scale: tg.distributions.multivariate_normal.logpdf(
            x, mean, tg.eye(3) * tg.expand_dims(scale, (-1, -2)) + 0.5
        ),
        [f64(2, 3), f64(3), f64(2, low=0.5, high=2.0)], name="a batch of normal vectors",
        oracle=_in_double(lambda x, mean, scale: np.array(
            [stats.multivariate_normal(mean, np.eye(3) * s + 0.5).logpdf(v) for v, s in zip(x, scale, strict=True)]
        )),
        condition=lambda *arrays: np.full(2, 100.0), accuracy=32, static=(False,),
    ),
)  # fmt: skip

CASES: Final = of_family("distributions", WRITTEN)
