"""Draws of integers, and orders: those of `jax.random`, bit for bit."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.creation import iota
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import clip, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.exponential import log
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.iteration import cond
from tg.ops.random.continuous import standard_gumbel_of, unit
from tg.ops.random.keys import drawn_bits, split_packed
from tg.ops.random.parameters import (
    common_shape,
    drawn_shape,
    floating_dtype,
    packed_key,
    parameters,
    shape_by_name,
)
from tg.ops.shape import reshape, specify_shape
from tg.ops.sorting import along, argsort, searchsorted
from tg.types.dtypes import dtype_name, is_integer
from tg.types.lengths import Length, product
from tg.variables.conversion import as_variable, axis_from_end, constant, known_integer, weakly_cast

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.random.parameters import Shape
    from tg.variables.like import KeyLike, ShapeLike, TensorLike

BITS: Final = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
SORTS: Final = (2, 1626, 2642246, 1 << 32)
"""From each of these numbers on one more sort, so that words of 32 bits that are equal in all sorts are unlikely."""


@shape_by_name
def integers(
    key: KeyLike,
    low: TensorLike,
    high: TensorLike | None = None,
    *,
    shape: ShapeLike | None = None,
    dtype: object = "int64",
) -> Variable:
    """Integers in [low, high) that are equally likely; low where there are none.

    The remainder of 64 bits, or of 128 for dtypes of 64: with n numbers to choose from, one of them is at most n / 2^64
    or n / 2^128 likelier than another.

    Args:
        low, high: integers; with one of them, [0, low). A Python integer may be beyond the dtype, as 256 for uint8.
        shape: that of the draw; what the limits broadcast to unless given.
    Raises:
        DtypeError: dtype, or that of a limit, is no integer; a key of another one than uint32.
        InputError: a limit is a tuple.
        ShapeError: the limits do not broadcast to the shape; a key of another one than (2,).
    Source:
        numpy.random.Generator.integers; the bits are those of jax.random.randint.
    Example:
        >>> import tg
        >>> tg.random.integers(tg.random.key(0), 1, 7, shape=(8,)).eval()
        array([4, 6, 6, 6, 4, 2, 3, 1])
    """
    low, high = parameters("integers", **({"low": 0, "high": low} if high is None else {"low": low, "high": high}))
    wanted = dtype_name(dtype)
    if not is_integer(wanted):
        raise DtypeError(message(f"integers: dtype: found {wanted}, needed an integer"))
    limits, sampled = np.iinfo(wanted), wanted if wanted in BITS else "int32"
    least, _ = _limited("low", low, sampled, limits.min, limits.max)
    most, beyond = _limited("high", high, sampled, limits.min, int(limits.max) + (sampled != wanted))
    lengths = common_shape("integers", (least, most), shape)
    first, second = (
        drawn_bits(half, lengths, f"uint{BITS[sampled]}") for half in split_packed(packed_key("integers", key))
    )
    return cast_variable(least + cast_variable(_remainder(first, second, least, most, beyond), sampled), wanted)


def _limited(which: str, value: Any, dtype: str, smallest: int, largest: int) -> tuple[Variable, Variable]:
    """A limit in a dtype, no further out than the numbers drawn, and whether it was beyond what the dtype holds."""
    limit, is_last = known_integer(value), largest == np.iinfo(dtype).max
    if type(limit) is int:
        return constant(min(max(limit, smallest), largest), dtype), constant(is_last and limit > largest)
    variable = as_variable(limit)
    if not is_integer(variable.type.dtype):
        raise DtypeError(message(f"integers: {which}: found {variable.type}, needed integers"))
    own = np.iinfo(variable.type.dtype)
    inside = clip(variable, max(smallest, int(own.min)), min(largest, int(own.max)))
    beyond = greater(variable, largest) if is_last and own.max > largest else constant(False)
    return cast_variable(inside, dtype), beyond


def _remainder(high: Variable, low: Variable, least: Variable, most: Variable, beyond: Variable) -> Variable:
    """The remainder of the number high * 2^width + low by how many numbers there are.

    Where that is 2^width, which the dtype does not hold, low is left.
    """
    unsigned = low.type.dtype
    is_some = greater(most, least)
    span = where(is_some, cast_variable(most, unsigned) - cast_variable(least, unsigned), 1)
    span = span + cast_variable(beyond & is_some, unsigned)
    is_all = equal(span, 0)
    divisor = where(is_all, 1, span)
    half = (1 << BITS[unsigned] // 2) % divisor
    weight = half * half % divisor  # 2^width, of which the product wraps where it is 0
    return where(is_all, low, (high % divisor * weight + low % divisor) % divisor)


def permutation(key: KeyLike, x: TensorLike, axis: int = 0) -> Variable:
    """The elements of x along an axis in a random order; of a number n, those of `arange(n)`.

    Args:
        x: an array; or an integer, a length or an integer scalar.
    Raises:
        DtypeError, ShapeError: a key that is none.
        ShapeError: `axis` is not an axis of x.
    Source:
        jax.random.permutation
    Example:
        >>> import tg
        >>> tg.random.permutation(tg.random.key(0), 5).eval()
        array([0, 1, 4, 3, 2])
    """
    packed = packed_key("permutation", key)
    n, values, axis = _population("permutation", x, axis)
    order = _order(packed, n)
    return order if values is None else take(values, order, axis, mode="promise")


def _population(what: str, x: Any, axis: int) -> tuple[int | Length, Variable | None, int]:
    """Number of things, and the things themselves unless they are the numbers from 0 on."""
    value = known_integer(x)
    array = None if isinstance(value, int | Length) else as_variable(value)
    if array is None or array.type.ndim == 0:
        (n,) = drawn_shape(value)
        return n, None, 0
    axis = axis_from_end(axis, array.type.ndim, what)
    return array.shape[axis], array, axis


def _order(packed: Variable, n: int | Length) -> Variable:
    """The positions of n things in a random order: sorted by random words, again and again."""
    order = iota(n)
    for least in SORTS:
        packed, own = split_packed(packed)
        if isinstance(n, int) and n < least:
            break
        if isinstance(n, int) or least == SORTS[0]:  # which changes nothing where there is but one
            order = _sorted_by(own, order)
        else:
            order = cond(as_size_variable(n) >= least, functools.partial(_sorted_by, own), lambda v: v, order)
    return order


def _sorted_by(packed: Variable, order: Variable) -> Variable:
    return along(order, argsort(drawn_bits(packed, order.shape, "uint32")))


def shuffle(key: KeyLike, x: TensorLike, axis: int = 0) -> Variable:
    """The elements of an array along an axis in a random order, as `permutation` gives them.

    Raises:
        DtypeError, ShapeError: a key that is none.
        ShapeError: x is a scalar, or has no such axis.
    Source:
        numpy.random.Generator.shuffle, which overwrites x.
    """
    array = as_variable(x)
    if not array.type.ndim:
        hint = "tg.random.permutation(key, n) is an order of the numbers from 0 on"
        raise ShapeError(message(f"shuffle: found {array.type}, needed an array", hint=hint))
    return permutation(key, array, axis)


def choice(
    key: KeyLike,
    x: TensorLike,
    shape: ShapeLike = (),
    *,
    replace: bool = True,
    p: TensorLike | None = None,
    axis: int = 0,
) -> Variable:
    """Elements of x along an axis, equally likely unless there are weights; of a number n, those of `arange(n)`.

    Args:
        x: an array; or an integer, a length or an integer scalar.
        replace: whether an element can be chosen more than once; if not, the first ones of `permutation`.
        p: how likely each is, relative to the sum of all.
    Shapes:
        x (..., n, ...) -> (..., *shape, ...)
    Raises:
        BoundsError: there is nothing to choose from.
        DtypeError: p is not real.
        ShapeError: without replacement, more is to be chosen than there is; p has not the shape (n,); checks where that
            is known at run time only.
    Source:
        jax.random.choice
    """
    packed = packed_key("choice", key)
    n, values, axis = _population("choice", x, axis)
    lengths = drawn_shape(shape)
    count = product(lengths)
    if not replace and isinstance(count, int) and isinstance(n, int) and count > n:
        raise ShapeError(message(f"choice: found {n} elements, needed at least {count}, as none is chosen twice"))
    if p is not None:
        weights = specify_shape(weakly_cast(p, floating_dtype("choice", None, [p])), (n,), "choice: p")
        positions = _weighted(packed, weights, lengths) if replace else _weighted_order(packed, weights, n)
    elif replace:
        positions = integers(key, 0, as_size_variable(n), shape=lengths)
    else:
        positions = _order(packed, n)
    if not replace:
        positions = reshape(specify_shape(positions[:count], (count,), "choice"), lengths)
    if values is None:
        return take(iota(n), positions, 0) if replace else positions
    return take(values, positions, axis, mode="raise" if replace else "promise")


def _weighted(packed: Variable, weights: Variable, shape: Shape) -> Variable:
    """Positions, each as likely as its weight: where the running sum is above a part of the sum."""
    sums = cumsum(weights)
    return searchsorted(sums, sums[-1] * (1 - unit(packed, shape, weights.type.dtype)))


def _weighted_order(packed: Variable, weights: Variable, n: int | Length) -> Variable:
    """All positions, as if each next one was chosen by the weights of those that are left.

    Source:
        T. Vieira, Gumbel-max trick and weighted reservoir sampling (2014)
    """
    dtype = weights.type.dtype
    scores = cast_variable(standard_gumbel_of(unit(packed, (n,), dtype)), dtype) + log(weights)
    return argsort(negative(scores))


FAMILY = Family("random/integers", functions=(integers, permutation, shuffle, choice), module="random")
