"""`tg.random`: random numbers of explicit keys, the same on every backend.

    key = tg.random.key(42)
    x = tg.random.normal(key, shape=(1000,))

A key gives the same numbers whenever it is used: `split` and `fold_in` make others of it. A `RandomStream` has
NumPy's methods, and gives others at every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.functions.streams import RandomStream
from tg.keywords import explain
from tg.ops.random.continuous import (
    bernoulli,
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    normal,
    uniform,
)
from tg.ops.random.counts import (
    betabinom,
    binomial,
    geometric,
    hypergeometric,
    nbinom,
    nbinom2,
    poisson,
)
from tg.ops.random.gammas import (
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    gengamma,
    invgamma,
    t,
)
from tg.ops.random.integers import (
    choice,
    integers,
    permutation,
    shuffle,
)
from tg.ops.random.keys import (
    bits,
    fold_in,
    key,
    split,
)
from tg.ops.random.transformed import (
    halfcauchy,
    halfnormal,
    lognormal,
    pareto,
    power,
    rayleigh,
    standard_normal,
    triangular,
    truncexpon,
    truncnorm,
    vonmises,
    wald,
    weibull,
)
from tg.ops.random.vectors import (
    categorical,
    multinomial,
    multivariate_normal,
)
from tg.words import no_function, unknown_in

__all__ = [
    "RandomStream",
    "bernoulli",
    "beta",
    "betabinom",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "gengamma",
    "geometric",
    "gumbel",
    "halfcauchy",
    "halfnormal",
    "hypergeometric",
    "integers",
    "invgamma",
    "key",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "nbinom2",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rayleigh",
    "shuffle",
    "split",
    "standard_normal",
    "t",
    "triangular",
    "truncexpon",
    "truncnorm",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
]

explain(globals(), __all__)
no_function(__name__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)
