"""Draws of gamma distributed numbers, and what is made of them; derivatives go to shapes as to other parameters.

A derivative in a shape is that at a fixed value of the distribution function. A shape of 0 is the limit of small ones;
of one below 0 the draw is NaN. Quotients are those of logarithms, so that nothing is 0 / 0 where shapes are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.draws import gamma_draw, log_gamma_draw, normal_of
from tg.ops.elementwise.exponential import exp, log, sigmoid
from tg.ops.elementwise.random import threefry
from tg.ops.family import Family
from tg.ops.random.keys import own_bits
from tg.ops.random.own import WIDE, of_own_bits
from tg.ops.random.parameters import agreed_shape, floating_dtype, need_vectors, packed_key, parameters, shape_by_name
from tg.ops.shape import broadcast_to
from tg.ops.softmax import softmax
from tg.variables.conversion import constant, weakly_cast

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import KeyLike, ShapeLike, TensorLike

NORMAL: Final = 1e30
"""Degrees of freedom from which on Student's distribution is the normal one, infinity among them."""


def _pair(bits: Variable) -> tuple[Variable, Variable]:
    """Own bits for two draws, of those of one."""
    first, second = (threefry(bits, constant(k, "uint64")) for k in range(2))
    return first, second


@shape_by_name
def gamma(
    key: KeyLike, a: TensorLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers of the density x^(a - 1) e^(-x / scale), times a constant: of mean a scale.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.gamma, whose `shape` is a here.
    Example:
        >>> import tg
        >>> tg.random.gamma(tg.random.key(0), 2.5, shape=(2,)).eval()
        array([1.53272282, 5.03231644])
    """
    (power, by), bits, wanted = of_own_bits("gamma", key, {"a": a, "scale": scale}, shape, dtype)
    return cast_variable(by * gamma_draw(power, bits), wanted)


@shape_by_name
def invgamma(
    key: KeyLike, a: TensorLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers scale / g with g gamma distributed, of shape a.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.invgamma
    """
    (power, by), bits, wanted = of_own_bits("invgamma", key, {"a": a, "scale": scale}, shape, dtype)
    return cast_variable(by * exp(-log_gamma_draw(power, bits)), wanted)


@shape_by_name
def gengamma(
    key: KeyLike,
    a: TensorLike,
    c: TensorLike,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers scale g^(1/c) with g gamma distributed, of shape a.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.gengamma
    """
    (power, root, by), bits, wanted = of_own_bits("gengamma", key, {"a": a, "c": c, "scale": scale}, shape, dtype)
    return cast_variable(by * exp(log_gamma_draw(power, bits) / root), wanted)


@shape_by_name
def beta(
    key: KeyLike, a: TensorLike, b: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers of the density x^(a - 1) (1 - x)^(b - 1), times a constant.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.beta
    """
    (left, right), bits, wanted = of_own_bits("beta", key, {"a": a, "b": b}, shape, dtype)
    return cast_variable(beta_of(left, right, bits), wanted)


def beta_of(a: Variable, b: Variable, bits: Variable) -> Variable:
    """Of own bits: g / (g + h), with g and h gamma distributed."""
    first, second = _pair(bits)
    return sigmoid(log_gamma_draw(a, first) - log_gamma_draw(b, second))


@shape_by_name
def chisquare(key: KeyLike, df: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None) -> Variable:
    """Numbers distributed as sums of df squares of normally distributed numbers.

    Args:
        shape: that of the draw; that of df unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.chisquare
    """
    (degrees,), bits, wanted = of_own_bits("chisquare", key, {"df": df}, shape, dtype)
    return cast_variable(2.0 * gamma_draw(degrees / 2.0, bits), wanted)


@shape_by_name
def t(
    key: KeyLike,
    df: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers loc + scale t with t of Student's distribution of df degrees of freedom.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.t; numpy.random.Generator.standard_t
    """
    (degrees, at, by), bits, wanted = of_own_bits("t", key, {"df": df, "loc": loc, "scale": scale}, shape, dtype)
    first, second = _pair(bits)
    half = minimum(degrees, NORMAL) / 2.0
    return cast_variable(at + by * (normal_of(first) * exp(0.5 * (log(half) - log_gamma_draw(half, second)))), wanted)


@shape_by_name
def f(key: KeyLike, dfnum: Any, dfden: Any, *, shape: ShapeLike | None = None, dtype: object = None) -> Variable:
    """Quotients of numbers of chi-square distributions, each over its degrees of freedom.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.f
    """
    (above, below), bits, wanted = of_own_bits("f", key, {"dfnum": dfnum, "dfden": dfden}, shape, dtype)
    first, second = _pair(bits)
    quotient = exp(log_gamma_draw(above / 2.0, first) - log_gamma_draw(below / 2.0, second))
    return cast_variable(quotient * (below / above), wanted)


@shape_by_name
def dirichlet(key: KeyLike, alpha: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None) -> Variable:
    """Vectors whose elements sum up to 1: gamma distributed numbers of shapes alpha, over their sum.

    Args:
        shape: how many vectors; those of alpha unless given.
    Shapes:
        alpha (..., k) -> (*shape, k)
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
        ShapeError: alpha is a scalar.
    Source:
        numpy.random.Generator.dirichlet
    """
    (concentration,) = parameters("dirichlet", alpha=alpha)
    wanted = floating_dtype("dirichlet", dtype, [concentration])
    shapes = need_vectors("dirichlet: alpha", weakly_cast(concentration, WIDE))
    lengths = (*agreed_shape("dirichlet", shapes.shape[:-1], shape), shapes.shape[-1])
    logs = log_gamma_draw(shapes, own_bits(packed_key("dirichlet", key), lengths))
    return cast_variable(softmax(broadcast_to(logs, lengths), -1), wanted)


FAMILY = Family(
    "random/gammas",
    functions=(gamma, invgamma, gengamma, beta, chisquare, t, f, dirichlet),
    module="random",
)
