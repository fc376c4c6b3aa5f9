"""Draws of counts: integers, computed in float64, so exact up to 2^53.

Where there is no distribution of such parameters, or one is NaN, the draw is -1, which no count is: so a draw never
fails, and is the same on every backend. They have no derivatives, as integers have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isnan, where
from tg.ops.elementwise.draws import binomial_draw, gamma_draw, hypergeometric_draw, poisson_draw, unit_of
from tg.ops.elementwise.exponential import log, log1p
from tg.ops.elementwise.random import threefry
from tg.ops.elementwise.rounding import ceil
from tg.ops.family import Family
from tg.ops.random.gammas import beta_of
from tg.ops.random.own import counts_of_own_bits
from tg.ops.random.parameters import shape_by_name
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import KeyLike, ShapeLike, TensorLike

NO_COUNT: Final = -1


def as_counts(counts: Variable, dtype: str) -> Variable:
    """Counts in float64 as integers: of what is NaN, there is none."""
    return cast_variable(where(isnan(counts), float(NO_COUNT), counts), dtype)


def _another(bits: Variable, number: int) -> Variable:
    return threefry(bits, constant(number, "uint64"))


@shape_by_name
def poisson(
    key: KeyLike, lam: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Number of events where lam are expected; -1 unless 0 <= lam < 2^63.

    Args:
        shape: that of the draw; that of lam unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.poisson
    Example:
        >>> import tg
        >>> tg.random.poisson(tg.random.key(0), 4.0, shape=(6,)).eval()
        array([3, 2, 8, 4, 4, 3])
    """
    (mean,), bits, wanted = counts_of_own_bits("poisson", key, {"lam": lam}, shape, dtype)
    return as_counts(poisson_draw(mean, bits), wanted)


@shape_by_name
def binomial(
    key: KeyLike, n: TensorLike, p: TensorLike, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Number of successes in n trials, each with probability p; -1 unless n >= 0 and 0 <= p <= 1.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.binomial
    """
    (trials, chance), bits, wanted = counts_of_own_bits("binomial", key, {"n": n, "p": p}, shape, dtype)
    return as_counts(binomial_draw(trials, chance, bits), wanted)


@shape_by_name
def betabinom(
    key: KeyLike,
    n: TensorLike,
    a: TensorLike,
    b: TensorLike,
    *,
    shape: ShapeLike | None = None,
    dtype: object = "int64",
) -> Variable:
    """Number of successes in n trials, with a probability of the beta distribution of a and b.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.betabinom
    """
    arguments = {"n": n, "a": a, "b": b}
    (trials, left, right), bits, wanted = counts_of_own_bits("betabinom", key, arguments, shape, dtype)
    return as_counts(binomial_draw(trials, beta_of(left, right, bits), _another(bits, 2)), wanted)


@shape_by_name
def nbinom(
    key: KeyLike, n: TensorLike, p: TensorLike, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Number of failures before the n-th success, of trials with success probability p; -1 unless n >= 0, 0 < p <= 1.

    The Poisson distribution of a mean that is gamma distributed: n need not be an integer.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.negative_binomial; scipy.stats.nbinom
    """
    (successes, chance), bits, wanted = counts_of_own_bits("nbinom", key, {"n": n, "p": p}, shape, dtype)
    mean = gamma_draw(successes, _another(bits, 0)) * ((1.0 - chance) / chance)
    return as_counts(poisson_draw(mean, _another(bits, 1)), wanted)


@shape_by_name
def nbinom2(
    key: KeyLike, mu: TensorLike, alpha: TensorLike, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Number of events where mu are expected, with the variance mu + mu**2 / alpha.

    The distribution of `nbinom` with n = alpha and p = alpha / (alpha + mu); of an infinite alpha that of `poisson`.
    The draw is -1 unless mu >= 0 and alpha > 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    """
    (mean, dispersion), bits, wanted = counts_of_own_bits("nbinom2", key, {"mu": mu, "alpha": alpha}, shape, dtype)
    share = where(equal(dispersion, np.inf), 1.0, gamma_draw(dispersion, _another(bits, 0)) / dispersion)
    return as_counts(poisson_draw(where(mean >= 0, share, np.nan) * mean, _another(bits, 1)), wanted)


@shape_by_name
def geometric(key: KeyLike, p: TensorLike, *, shape: ShapeLike | None = None, dtype: object = "int64") -> Variable:
    """Number of trials up to the first success, each with probability p; -1 unless 0 < p <= 1.

    Args:
        shape: that of the draw; that of p unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.geometric
    """
    (chance,), bits, wanted = counts_of_own_bits("geometric", key, {"p": p}, shape, dtype)
    trials = maximum(ceil(log(unit_of(bits)) / log1p(-chance)), 1.0)
    return as_counts(where((chance > 0) & (chance <= 1), trials, float(NO_COUNT)), wanted)


@shape_by_name
def hypergeometric(
    key: KeyLike, ngood: Any, nbad: Any, nsample: Any, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Number of good ones among nsample of ngood good and nbad bad; -1 unless there are as many, and fewer than 2^32.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.hypergeometric
    """
    arguments = {"ngood": ngood, "nbad": nbad, "nsample": nsample}
    (good, bad, chosen), bits, wanted = counts_of_own_bits("hypergeometric", key, arguments, shape, dtype)
    return as_counts(hypergeometric_draw(good, bad, chosen, bits), wanted)


FAMILY = Family(
    "random/counts",
    functions=(poisson, binomial, betabinom, nbinom, nbinom2, geometric, hypergeometric),
    module="random",
)
