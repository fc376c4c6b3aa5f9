"""`tg.distributions`: densities, distribution functions, quantiles and moments of distributions, and draws of them.

    d = tg.distributions
    d.normal.logpdf(x, 0.0, 2.0)        # parameters in order or by name
    d.normal(scale=2.0).logpdf(x)       # or given before

Parameters are those of `tg.random`; what is asked of a distribution has the names of `scipy.stats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg
from tg.distributions.counts import (
    bernoulli,
    betabinom,
    binomial,
    categorical,
    geometric,
    hypergeometric,
    integers,
    nbinom,
    nbinom2,
    poisson,
)
from tg.distributions.half_line import (
    chisquare,
    exponential,
    gamma,
    gengamma,
    halfcauchy,
    halfnormal,
    invgamma,
    lognormal,
    pareto,
    wald,
    weibull,
)
from tg.distributions.intervals import beta, triangular, truncexpon, uniform, vonmises
from tg.distributions.real_line import cauchy, gumbel, laplace, logistic, normal, t
from tg.distributions.record import Distribution
from tg.distributions.vectors import dirichlet, multinomial, multivariate_normal
from tg.errors import message
from tg.hints import all_hinted
from tg.words import unknown_in

__all__ = [
    "Distribution",
    "bernoulli",
    "beta",
    "betabinom",
    "binomial",
    "categorical",
    "cauchy",
    "chisquare",
    "dirichlet",
    "exponential",
    "gamma",
    "gengamma",
    "geometric",
    "gumbel",
    "halfcauchy",
    "halfnormal",
    "hypergeometric",
    "integers",
    "invgamma",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "nbinom2",
    "normal",
    "pareto",
    "poisson",
    "t",
    "triangular",
    "truncexpon",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
]

all_hinted(globals(), __all__)

SCIPY: Final = {
    "binom": "binomial", "chi2": "chisquare", "expon": "exponential", "geom": "geometric", "gumbel_r": "gumbel",
    "halfnorm": "halfnormal", "hypergeom": "hypergeometric", "invgauss": "wald", "lognorm": "lognormal",
    "norm": "normal", "randint": "integers", "triang": "triangular", "weibull_min": "weibull",
}  # fmt: skip
"""The names of `scipy.stats` that differ."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        text = unknown_in(__name__, __all__, name, dir(tg))
        if name in SCIPY:
            hint = f"tg.distributions.{SCIPY[name]} is that of SciPy, whose parameters may differ"
            text = message(f"module {__name__!r} has no attribute {name!r}", hint=hint)
        raise AttributeError(text, name=name)
