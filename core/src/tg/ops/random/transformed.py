"""Draws that are functions of uniform, exponential or normal ones; derivatives go to all parameters.

Where there is no distribution of such parameters, the draw is NaN, or as the formula says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, maximum, minimum, negative, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.draws import unit_of, vonmises_draw, wald_draw
from tg.ops.elementwise.exponential import exp, expm1, log1p
from tg.ops.elementwise.rounding import rint
from tg.ops.elementwise.special.normal import log_ndtr, ndtri_exp
from tg.ops.elementwise.trigonometric import tan
from tg.ops.family import Family
from tg.ops.random.continuous import standard_exponential_of, standard_normal_of, standardized
from tg.ops.random.own import of_own_bits
from tg.ops.random.parameters import shape_by_name

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import KeyLike, ShapeLike, TensorLike


@shape_by_name
def standard_normal(key: KeyLike, *, shape: ShapeLike = (), dtype: object = None) -> Variable:
    """Normally distributed numbers of mean 0 and standard deviation 1.

    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.standard_normal; the formula of jax.random.normal.
    """
    return standardized("standard_normal", key, {}, shape, dtype, standard_normal_of)[1]


@shape_by_name
def lognormal(
    key: KeyLike,
    mean: TensorLike = 0.0,
    sigma: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers whose logarithm is normally distributed, of mean `mean` and standard deviation sigma.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.lognormal
    """
    (at, by), z = standardized("lognormal", key, {"mean": mean, "sigma": sigma}, shape, dtype, standard_normal_of)
    return exp(at + by * z)


@shape_by_name
def halfnormal(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers loc + scale abs(z) with z normally distributed.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.halfnorm
    """
    arguments = {"loc": loc, "scale": scale}
    (at, by), z = standardized("halfnormal", key, arguments, shape, dtype, lambda u: absolute(standard_normal_of(u)))
    return at + by * z


@shape_by_name
def truncnorm(
    key: KeyLike,
    a: TensorLike,
    b: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers loc + scale z with z normally distributed between a and b, however far out; NaN unless a < b.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.truncnorm: a and b are limits of z. The logarithm of the distribution function is inverted, from
        the side where it is small.
    """
    arguments = {"a": a, "b": b, "loc": loc, "scale": scale}
    (low, high, at, by), bits, wanted = of_own_bits("truncnorm", key, arguments, shape, dtype)
    is_right = low + high > 0
    near, far = where(is_right, -low, high), where(is_right, -high, low)  # near is nearer to 0, or above
    most = log_ndtr(near)
    z = ndtri_exp(most + log1p(unit_of(bits) * expm1(log_ndtr(far) - most)))
    z = maximum(minimum(z, near), far)
    z = where(low < high, where(is_right, -z, z), np.nan)
    return cast_variable(at + by * z, wanted)


@shape_by_name
def truncexpon(
    key: KeyLike,
    b: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers loc + scale e with e exponentially distributed below b; NaN unless b > 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.truncexpon
    """
    arguments = {"b": b, "loc": loc, "scale": scale}
    (most, at, by), u = standardized("truncexpon", key, arguments, shape, dtype, lambda u: u)
    e = minimum(-log1p(u * expm1(-most)), most)
    return at + by * where(most > 0, e, np.nan)


@shape_by_name
def halfcauchy(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers loc + scale abs(c) with c of the Cauchy distribution.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.halfcauchy
    """
    (at, by), u = standardized("halfcauchy", key, {"loc": loc, "scale": scale}, shape, dtype, lambda u: u)
    return at + by * tan(u * (math.pi / 2))


@shape_by_name
def rayleigh(
    key: KeyLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Lengths of vectors of two normally distributed numbers of standard deviation scale.

    Args:
        shape: that of the draw; that of scale unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.rayleigh
    """
    (by,), e = standardized("rayleigh", key, {"scale": scale}, shape, dtype, standard_exponential_of)
    return by * sqrt(2 * e)


@shape_by_name
def weibull(
    key: KeyLike, a: TensorLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers scale e^(1/a) with e exponentially distributed; NaN unless a > 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.weibull, times scale
    """
    (power, by), e = standardized("weibull", key, {"a": a, "scale": scale}, shape, dtype, standard_exponential_of)
    return by * where(power > 0, e ** (1 / power), np.nan)


@shape_by_name
def pareto(
    key: KeyLike, a: TensorLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers from scale on that are above x with probability (scale / x)^a; NaN unless a > 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        scipy.stats.pareto. Those of numpy.random.Generator.pareto begin with 0: they are these, less 1.
    """
    (power, by), e = standardized("pareto", key, {"a": a, "scale": scale}, shape, dtype, standard_exponential_of)
    return by * where(power > 0, exp(e / power), np.nan)


@shape_by_name
def power(key: KeyLike, a: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None) -> Variable:
    """Numbers in [0, 1] that are below x with probability x^a; NaN unless a > 0.

    Args:
        shape: that of the draw; that of a unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.power
    """
    (exponent,), e = standardized("power", key, {"a": a}, shape, dtype, standard_exponential_of)
    return where(exponent > 0, exp(negative(e) / exponent), np.nan)


@shape_by_name
def triangular(
    key: KeyLike,
    left: TensorLike,
    mode: Any,
    right: TensorLike,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers between left and right whose density rises up to mode, and falls; NaN unless left <= mode <= right.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.triangular
    """
    arguments = {"left": left, "mode": mode, "right": right}
    (low, top, high), u = standardized("triangular", key, arguments, shape, dtype, lambda u: u)
    width, rise, fall = high - low, top - low, high - top
    below = u * width <= rise
    root = sqrt(where(below, u * rise, (1 - u) * fall) * width)
    return where((low <= top) & (top <= high), where(below, low + root, high - root), np.nan)


@shape_by_name
def wald(
    key: KeyLike, mean: TensorLike, scale: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Numbers of the inverse Gaussian distribution; NaN unless mean and scale are above 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.wald. Derivatives are those at a fixed value of the distribution function.
    """
    (at, by), bits, wanted = of_own_bits("wald", key, {"mean": mean, "scale": scale}, shape, dtype)
    return cast_variable(wald_draw(at, by, bits), wanted)


@shape_by_name
def vonmises(
    key: KeyLike, mu: TensorLike, kappa: TensorLike, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Angles in [-pi, pi] about mu, the nearer to it the larger kappa; NaN unless kappa >= 0.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
        NotDifferentiable: a derivative in kappa is asked for.
    Source:
        numpy.random.Generator.vonmises
    """
    (at, by), bits, wanted = of_own_bits("vonmises", key, {"mu": mu, "kappa": kappa}, shape, dtype)
    angle = at + vonmises_draw(by, bits)
    return cast_variable(angle - 2 * math.pi * rint(angle / (2 * math.pi)), wanted)


FAMILY = Family(
    "random/transformed",
    functions=(
        standard_normal,
        lognormal,
        halfnormal,
        truncnorm,
        truncexpon,
        halfcauchy,
        rayleigh,
        weibull,
        pareto,
        power,
        triangular,
        wald,
        vonmises,
    ),
    module="random",
)
