"""`RandomStream`: draws under NumPy's names, whose keys come from a shared variable that every call renews."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.functions.shared import shared
from tg.graph.nodes import Constant
from tg.keywords import with_told_methods
from tg.members import missing
from tg.ops.inner import repeated_by
from tg.ops.random import continuous, counts, gammas, integers, transformed, vectors
from tg.ops.random.keys import fold_in
from tg.ops.random.keys import key as key_of
from tg.variables.conversion import known_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import CovarianceRoot

LAST: Final = (1 << 32) - 1  # what the key of the next call is folded in for; draws have the numbers below


@final
@with_told_methods
class RandomStream:
    """Random numbers as `numpy.random.Generator` has them: methods without keys, which give others at every call.

    The i-th draw has the key `fold_in(k, i)`, where k is a shared variable. A call of a function that has draws in it
    replaces k by `fold_in(k, 2**32 - 1)`, once. So draws of one call have nothing in common, nor have those of two; and
    functions that share a stream go on where the other has stopped. `seed` begins anew, and nothing is compiled again.

    Names and parameters are those of NumPy; distributions that it has not are as in `tg.random`.

    Args:
        seed: an integer of 64 bits; None for one that the system draws.
    Raises:
        InputError: a draw is made in the body of a loop or of `tg.vmap`: every step would have the same one.
    Example:
        >>> import tg
        >>> rng = tg.random.RandomStream(42)
        >>> roll = tg.function([], rng.integers(1, 7, size=4))
        >>> first, second = roll(), roll()
        >>> rng.seed(42)
        >>> bool((first == roll()).all()), bool((second == roll()).all())
        (True, True)
    """

    __slots__ = {"_numbers": None, "state": "The shared variable whose value is the key that draws begin with."}
    in_place_of_variables: ClassVar[str] = "rng.key() gives a key, another one at every call of a compiled function"

    def __init__(self, seed: Any = None) -> None:
        self.state = shared(_words(seed), "random_state", shape=(2,))
        self.state.default_update = fold_in(self.state, LAST)
        self._numbers = itertools.count()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

    def seed(self, seed: Any = None) -> None:
        """Begin with the key of another seed: expressions stay, and so do compiled functions."""
        self.state.set_value(_words(seed))

    def key(self) -> Variable:
        """The key of one more draw: for functions of `tg.random`, and for loops, which split it.

        Raises:
            InputError: what is traced now is the body of a loop or of `tg.vmap`.
        """
        within = repeated_by()
        if within:
            hint = "key = rng.key() before, and tg.random.split(key, n) has one for each step or element"
            text = f"RandomStream: found a draw in the body of {within}, which would be the same at each repetition"
            raise InputError(message(text, hint=hint))
        return fold_in(self.state, next(self._numbers))

    # --- uniform numbers, integers and orders ----------------------------------------------------------------------

    def random(self, size: Any = None, dtype: object = None) -> Variable:
        """Uniform numbers in [0, 1)."""
        return continuous.uniform(self.key(), shape=_shape(size), dtype=dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.uniform`."""
        return continuous.uniform(self.key(), low, high, shape=size)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: object = "int64", endpoint: bool = False
    ) -> Variable:
        """As `tg.random.integers`; with `endpoint` the last one counts."""
        low, high = (0, low) if high is None else (low, high)
        return integers.integers(self.key(), low, high + 1 if endpoint else high, shape=size, dtype=dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0) -> Variable:
        """As `tg.random.choice`."""
        return integers.choice(self.key(), a, _shape(size), replace=replace, p=p, axis=axis)

    def permutation(self, x: Any, axis: int = 0) -> Variable:
        """As `tg.random.permutation`."""
        return integers.permutation(self.key(), x, axis)

    def shuffle(self, x: Any, axis: int = 0) -> Variable:
        """As `tg.random.shuffle`: x stays as it is."""
        return integers.shuffle(self.key(), x, axis)

    # --- real numbers ----------------------------------------------------------------------------------------------

    def standard_normal(self, size: Any = None, dtype: object = None) -> Variable:
        """As `tg.random.standard_normal`."""
        return transformed.standard_normal(self.key(), shape=_shape(size), dtype=dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.normal`."""
        return continuous.normal(self.key(), loc, scale, shape=size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.lognormal`."""
        return transformed.lognormal(self.key(), mean, sigma, shape=size)

    def halfnormal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.halfnormal`."""
        return transformed.halfnormal(self.key(), loc, scale, shape=size)

    def truncnorm(self, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.truncnorm`."""
        return transformed.truncnorm(self.key(), a, b, loc, scale, shape=size)

    def standard_exponential(self, size: Any = None, dtype: object = None) -> Variable:
        """Exponentially distributed numbers of mean 1."""
        return continuous.exponential(self.key(), shape=_shape(size), dtype=dtype)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.exponential`."""
        return continuous.exponential(self.key(), scale, shape=size)

    def truncexpon(self, b: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.truncexpon`."""
        return transformed.truncexpon(self.key(), b, loc, scale, shape=size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.laplace`."""
        return continuous.laplace(self.key(), loc, scale, shape=size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.logistic`."""
        return continuous.logistic(self.key(), loc, scale, shape=size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.gumbel`."""
        return continuous.gumbel(self.key(), loc, scale, shape=size)

    def standard_cauchy(self, size: Any = None) -> Variable:
        """Numbers of the density 1 / (pi (1 + x^2))."""
        return continuous.cauchy(self.key(), shape=_shape(size))

    def cauchy(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.cauchy`."""
        return continuous.cauchy(self.key(), loc, scale, shape=size)

    def halfcauchy(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.halfcauchy`."""
        return transformed.halfcauchy(self.key(), loc, scale, shape=size)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.rayleigh`."""
        return transformed.rayleigh(self.key(), scale, shape=size)

    def weibull(self, a: Any, size: Any = None) -> Variable:
        """As `tg.random.weibull` of scale 1."""
        return transformed.weibull(self.key(), a, shape=size)

    def pareto(self, a: Any, size: Any = None) -> Variable:
        """NumPy's, which begin with 0: those of `tg.random.pareto`, less 1."""
        return transformed.pareto(self.key(), a, shape=size) - 1

    def power(self, a: Any, size: Any = None) -> Variable:
        """As `tg.random.power`."""
        return transformed.power(self.key(), a, shape=size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Variable:
        """As `tg.random.triangular`."""
        return transformed.triangular(self.key(), left, mode, right, shape=size)

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Variable:
        """As `tg.random.wald`."""
        return transformed.wald(self.key(), mean, scale, shape=size)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Variable:
        """As `tg.random.vonmises`."""
        return transformed.vonmises(self.key(), mu, kappa, shape=size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Variable:
        """As `tg.random.gamma` of scale 1; `shape` is the distribution's."""
        return gammas.gamma(self.key(), shape, shape=size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.gamma`; `shape` is the distribution's."""
        return gammas.gamma(self.key(), shape, scale, shape=size)

    def invgamma(self, a: Any, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.invgamma`."""
        return gammas.invgamma(self.key(), a, scale, shape=size)

    def gengamma(self, a: Any, c: Any, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.gengamma`."""
        return gammas.gengamma(self.key(), a, c, scale, shape=size)

    def beta(self, a: Any, b: Any, size: Any = None) -> Variable:
        """As `tg.random.beta`."""
        return gammas.beta(self.key(), a, b, shape=size)

    def chisquare(self, df: Any, size: Any = None) -> Variable:
        """As `tg.random.chisquare`."""
        return gammas.chisquare(self.key(), df, shape=size)

    def standard_t(self, df: Any, size: Any = None) -> Variable:
        """As `tg.random.t` about 0 of scale 1."""
        return gammas.t(self.key(), df, shape=size)

    def t(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.t`."""
        return gammas.t(self.key(), df, loc, scale, shape=size)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Variable:
        """As `tg.random.f`."""
        return gammas.f(self.key(), dfnum, dfden, shape=size)

    # --- counts ----------------------------------------------------------------------------------------------------

    def bernoulli(self, p: Any = 0.5, size: Any = None) -> Variable:
        """As `tg.random.bernoulli`."""
        return continuous.bernoulli(self.key(), p, shape=size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Variable:
        """As `tg.random.poisson`."""
        return counts.poisson(self.key(), lam, shape=size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Variable:
        """As `tg.random.binomial`."""
        return counts.binomial(self.key(), n, p, shape=size)

    def betabinom(self, n: Any, a: Any, b: Any, size: Any = None) -> Variable:
        """As `tg.random.betabinom`."""
        return counts.betabinom(self.key(), n, a, b, shape=size)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Variable:
        """As `tg.random.nbinom`."""
        return counts.nbinom(self.key(), n, p, shape=size)

    def geometric(self, p: Any, size: Any = None) -> Variable:
        """As `tg.random.geometric`."""
        return counts.geometric(self.key(), p, shape=size)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Variable:
        """As `tg.random.hypergeometric`."""
        return counts.hypergeometric(self.key(), ngood, nbad, nsample, shape=size)

    # --- vectors ---------------------------------------------------------------------------------------------------

    def dirichlet(self, alpha: Any, size: Any = None) -> Variable:
        """As `tg.random.dirichlet`."""
        return gammas.dirichlet(self.key(), alpha, shape=size)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, *, method: CovarianceRoot = "cholesky"
    ) -> Variable:
        """As `tg.random.multivariate_normal`."""
        return vectors.multivariate_normal(self.key(), mean, cov, shape=size, method=method)

    def categorical(self, p: Any, size: Any = None) -> Variable:
        """As `tg.random.categorical`."""
        return vectors.categorical(self.key(), p, shape=size)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Variable:
        """As `tg.random.multinomial`."""
        return vectors.multinomial(self.key(), n, pvals, shape=size)


def _shape(size: Any) -> Any:
    """The shape that a size is: None is one number."""
    return () if size is None else size


def _words(seed: Any) -> np.ndarray[Any, Any]:
    """The two words of the key of a seed.

    Raises:
        DtypeError: the seed is no integer.
        RangeError: it has more than 64 bits.
    """
    number = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if seed is None else known_integer(seed)
    key = key_of(number) if type(number) is int else None
    if not isinstance(key, Constant):
        raise DtypeError(message(f"RandomStream: seed: found {seed!r}, needed an integer"))
    return key.data
