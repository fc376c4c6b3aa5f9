"""Draws of real numbers: uniform ones of the high bits, others of these by the inverse of a distribution function.

A float with m binary places has m bits over a power of two, so that all are equally likely; a half is made in float32
of a uniform half. The formulas are those of `jax.random`: with them, uniform numbers in [0, 1) are JAX's bit for bit,
and what else is here differs by what the functions of elements differ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, final

from tg.errors import DtypeError, message
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, negative, sign
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less
from tg.ops.elementwise.exponential import log, log1p
from tg.ops.elementwise.special.error import erfinv
from tg.ops.elementwise.trigonometric import tan
from tg.ops.family import Family
from tg.ops.random.keys import of_width, own_bits
from tg.ops.random.parameters import (
    broadcast_parameters,
    floating_dtype,
    packed_key,
    parameters,
    shape_by_name,
)
from tg.ops.shape import broadcast_to
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.nodes import Variable
    from tg.ops.random.parameters import Shape
    from tg.variables.like import KeyLike, ShapeLike, TensorLike


class Format(NamedTuple):
    """Generation of uniform numbers of a dtype, and its limits.

    Args:
        bits: the dtype of the bits.
        whole: the signed dtype that holds those that are used: processors convert it faster.
        unused: how many low ones are not.
        places: how many are.
        least: the exponent of the least normal number.
    """

    bits: str
    whole: str
    unused: int
    places: int
    least: int


FORMATS: Final = {
    "float64": Format("uint64", "int64", 12, 52, -1022),
    "float32": Format("uint32", "int32", 9, 23, -126),
    "float16": Format("uint16", "int16", 6, 10, -14),
    "bfloat16": Format("uint8", "int8", 1, 7, -126),
}
WIDER: Final = {"float16": "float32", "bfloat16": "float32"}
ROOT_2: Final = math.sqrt(2)


@final
class Unit(Op):
    """Uniform numbers in [0, 1) of a dtype, of 64 random bits each; importing a program writes it out.

    Shapes:
        bits (...) -> y (...)
    Dtypes:
        uint64 in, `dtype` out.
    """

    dtype: str
    pointwise = True
    has_expansion = True
    only_types = True

    def retyped(self, dtypes: Mapping[str, str]) -> Op:
        """Numbers of the new dtype, of the bits that it uses."""
        return Unit(dtypes.get(self.dtype, self.dtype))

    def infer(self, bits: TensorType) -> tuple[TensorType, ...]:
        """The same shape with the dtype."""
        if bits.dtype != "uint64":
            raise DtypeError(message(f"Unit: found bits of {bits.dtype}, needed uint64"))
        return (TensorType(self.dtype, bits.shape),)

    def expansion(self, *inputs: Variable) -> Variable:
        """As many of the bits as the dtype has places, over a power of two."""
        form = FORMATS[self.dtype]
        whole = of_width(inputs[0], form.bits) >> form.unused
        return cast_variable(cast_variable(whole, form.whole), self.dtype) * 2.0**-form.places

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """They are finite, and none is below 0."""
        return (("finite", "nonnegative"),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: bits have no derivative."""
        return (None,)


@final
class UpFrom(Op):
    """Uniform numbers in [least, 1), of those in [0, 1); importing a program writes it out.

    `end` says the least of them by the dtype: the number that follows -1, the first one above 0 that is normal, or the
    distance between two of those in [0, 1).

    Shapes:
        u (...) -> y (...)
    """

    end: Literal["minus_one", "zero", "place"]
    pointwise = True
    has_expansion = True
    only_types = True

    def infer(self, u: TensorType) -> tuple[TensorType, ...]:
        """The type of the numbers."""
        if u.dtype not in FORMATS:
            raise DtypeError(message(f"UpFrom: found {u.dtype}, needed a real floating dtype"))
        return (u,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The numbers scaled and moved; what rounding takes below the least is the least."""
        (u,) = inputs
        form = FORMATS[u.type.dtype]
        ends = {"minus_one": 2.0 ** -(form.places + 1) - 1, "zero": 2.0**form.least, "place": 2.0**-form.places}
        least = ends[self.end]
        return maximum(u * (1 - least) + least, least)


def unit(packed: Variable, shape: Shape, dtype: str) -> Variable:
    """Uniform numbers in [0, 1), of a key that is one uint64."""
    return Unit(dtype)(own_bits(packed, shape))  # type: ignore[no-any-return]


def _symmetric(u: Variable) -> Variable:
    """Uniform numbers in (-1, 1)."""
    return UpFrom("minus_one")(u)  # type: ignore[no-any-return]


def _positive(u: Variable) -> Variable:
    """Uniform numbers in (0, 1)."""
    return UpFrom("zero")(u)  # type: ignore[no-any-return]


def _wide(u: Variable) -> Variable:
    return cast_variable(u, WIDER.get(u.type.dtype, u.type.dtype))


def standard_normal_of(u: Variable) -> Variable:
    """Of uniform numbers in [0, 1), whose low ends are left out."""
    return erfinv(_wide(_symmetric(u))) * ROOT_2


def standard_exponential_of(u: Variable) -> Variable:
    """Of uniform numbers in [0, 1)."""
    return negative(log1p(negative(_wide(u))))


def _laplace(u: Variable) -> Variable:
    t = _wide(_symmetric(u))
    return sign(t) * log1p(negative(absolute(t)))


def _logistic(u: Variable) -> Variable:
    t = _wide(_positive(u))
    return log(t) - log1p(negative(t))


def standard_gumbel_of(u: Variable) -> Variable:
    """Of uniform numbers in [0, 1), whose low ends are left out."""
    return negative(log(negative(log(_wide(_positive(u))))))


def standard_cauchy_of(u: Variable) -> Variable:
    """Of uniform numbers in [0, 1)."""
    t = UpFrom("place")(u)
    return tan(_wide(t - 0.5) * math.pi)


def standardized(
    what: str, key: Any, arguments: dict[str, Any], shape: Any, dtype: object, standard: Callable[[Variable], Variable]
) -> tuple[list[Variable], Variable]:
    """The parameters, and what a distribution makes of uniform numbers."""
    values = parameters(what, **arguments)
    wanted = floating_dtype(what, dtype, values)
    operands, lengths = broadcast_parameters(what, arguments, shape, wanted)
    return operands, cast_variable(standard(unit(packed_key(what, key), lengths, wanted)), wanted)


def _located(
    what: str, key: Any, loc: Any, scale: Any, shape: Any, dtype: object, standard: Callable[[Variable], Variable]
) -> Variable:
    """The numbers `loc + scale * z` of a distribution."""
    (at, by), z = standardized(what, key, {"loc": loc, "scale": scale}, shape, dtype, standard)
    return at + by * z


@shape_by_name
def uniform(
    key: KeyLike,
    low: TensorLike = 0.0,
    high: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers of [low, high) that are equally likely.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        a real floating one, `dtype`, or that of the parameters, float64 for integers and Python's numbers.
    Raises:
        DtypeError: another dtype; a key of another one than uint32.
        InputError: a parameter is a tuple.
        ShapeError: the parameters do not broadcast to the shape; a key of another one than (2,).
    Source:
        numpy.random.Generator.uniform; the bits are those of jax.random.uniform.
    Example:
        >>> import tg
        >>> tg.random.uniform(tg.random.key(0), shape=(2,)).eval()
        array([0.41845711, 0.21629545])
    """
    (least, most), u = standardized("uniform", key, {"low": low, "high": high}, shape, dtype, lambda u: u)
    if type(low) in (int, float) and type(high) in (int, float) and (low, high) == (0, 1):
        return u
    width = most - least
    return least + copysign(u * width, width)  # the same product, which no compiler joins with the sum and rounds once


@shape_by_name
def normal(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Normally distributed numbers of mean loc and standard deviation scale.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.normal; the formula of jax.random.normal.
    Example:
        >>> import tg
        >>> tg.random.normal(tg.random.key(0), 10.0, 2.0, shape=(2,)).eval()
        array([9.58831572, 8.43046845])
    """
    return _located("normal", key, loc, scale, shape, dtype, standard_normal_of)


@shape_by_name
def exponential(
    key: KeyLike, scale: TensorLike = 1.0, *, shape: ShapeLike | None = None, dtype: object = None
) -> Variable:
    """Exponentially distributed numbers of mean scale.

    Args:
        shape: that of the draw; that of scale unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.exponential; the formula of jax.random.exponential.
    """
    (by,), z = standardized("exponential", key, {"scale": scale}, shape, dtype, standard_exponential_of)
    return by * z


@shape_by_name
def laplace(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers of the density exp(-|x - loc| / scale) / (2 scale).

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.laplace; the formula of jax.random.laplace.
    """
    return _located("laplace", key, loc, scale, shape, dtype, _laplace)


@shape_by_name
def logistic(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers whose distribution function is the sigmoid of (x - loc) / scale.

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.logistic; the formula of jax.random.logistic.
    """
    return _located("logistic", key, loc, scale, shape, dtype, _logistic)


@shape_by_name
def gumbel(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers whose distribution function is exp(-exp(-(x - loc) / scale)).

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        numpy.random.Generator.gumbel; the formula of jax.random.gumbel in its mode "low".
    """
    return _located("gumbel", key, loc, scale, shape, dtype, standard_gumbel_of)


@shape_by_name
def cauchy(
    key: KeyLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
) -> Variable:
    """Numbers of the density 1 / (pi scale (1 + ((x - loc) / scale)^2)).

    Args:
        shape: that of the draw; what the parameters broadcast to unless given.
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        the formula of jax.random.cauchy; scipy.stats.cauchy has loc and scale.
    """
    return _located("cauchy", key, loc, scale, shape, dtype, standard_cauchy_of)


@shape_by_name
def bernoulli(key: KeyLike, p: TensorLike = 0.5, *, shape: ShapeLike | None = None) -> Variable:
    """Bools that are True with probability p.

    Args:
        shape: that of the draw; that of p unless given.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
    Source:
        jax.random.bernoulli: a uniform number in the dtype of p is below p.
    """
    (chance,), u = standardized("bernoulli", key, {"p": p}, shape, None, lambda u: u)
    return broadcast_to(less(u, chance), u.shape)


FAMILY = Family(
    "random/continuous",
    ops=(Unit, UpFrom),
    functions=(uniform, normal, exponential, laplace, logistic, gumbel, cauchy, bernoulli),
    module="random",
)
