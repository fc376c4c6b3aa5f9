"""Arrays with elements replaced or repeated, or assembled of parts: functions of NumPy, with new results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.contraction import vecdot
from tg.ops.creation import iota, zeros
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import maximum, remainder
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where as choose
from tg.ops.family import Family
from tg.ops.index_updates import value_like
from tg.ops.indexing import Scatter, take, wrap_index
from tg.ops.linalg.products import cross as cross_products
from tg.ops.reduction import all
from tg.ops.selection import as_condition
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, moveaxis, ravel, reshape
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import product
from tg.variables.conversion import as_variable, axis_from_end, known_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import Casting, IndexMode
    from tg.variables.like import TensorLike


def _repeated(values: Variable, places: Variable) -> Variable:
    """Elements of a vector at places, counted on from its end to its start again."""
    count = maximum(as_size_variable(values.shape[0]), 1)
    return take(values, remainder(places, count), mode="promise")


def put(x: TensorLike, ind: Any, v: TensorLike, mode: IndexMode = "raise") -> Variable:
    """A new array: x with values at places in C order, repeated if there are fewer than places.

    Args:
        mode: "raise", "clip" or "wrap".
    Raises:
        BoundsError: mode "raise" and a place outside x.
        DtypeError: x cannot hold the values.
    Source:
        numpy.put, which writes into x
    """
    x = as_variable(x)
    values, places = ravel(value_like(x, v)), ravel(as_variable(ind, "int64") if isinstance(ind, list) else ind)
    flat = ravel(x)
    if values.type.shape[0] == 0:
        return x
    repeated = _repeated(values, iota(places.shape[0]))
    return reshape(Scatter((-1,))(flat, repeated, wrap_index(places, flat.shape[0], mode)), x.shape)


def place(x: TensorLike, mask: TensorLike, vals: Any) -> Variable:
    """A new array: x with values where a mask holds, one after the other, repeated if there are fewer.

    Raises:
        DtypeError: x cannot hold the values.
    Source:
        numpy.place, which writes into x
    """
    x = as_variable(x)
    chosen = broadcast_to(as_condition(mask), x.shape)
    rank = cumsum(cast_variable(ravel(chosen), "int64")) - 1
    new = _repeated(ravel(value_like(x, vals)), maximum(rank, 0))
    return choose(chosen, reshape(new, x.shape), x)


def putmask(x: TensorLike, mask: TensorLike, values: TensorLike) -> Variable:
    """A new array: x with the values at the same places in C order where a mask holds, repeated if there are fewer.

    Raises:
        DtypeError: x cannot hold the values.
    Source:
        numpy.putmask, which writes into x
    """
    x = as_variable(x)
    new = _repeated(ravel(value_like(x, values)), iota(product(x.shape)))
    return choose(broadcast_to(as_condition(mask), x.shape), reshape(new, x.shape), x)


def copyto(dst: Any, src: Any, casting: Casting = "same_kind", where: TensorLike = True) -> Variable:
    """A new array: `dst` with the elements of `src`, which broadcasts, where a mask holds.

    Args:
        casting: as in `tg.can_cast`.
    Raises:
        DtypeError: the dtype of `src` cannot be cast so.
    Source:
        numpy.copyto, which writes into dst
    """
    dst, source = as_variable(dst), src if isinstance(src, bool | int | float | complex) else as_variable(src)
    if isinstance(source, bool | int | float | complex):
        new = value_like(dst, source)
    else:
        dtypes = numpy_dtype(source.type.dtype), numpy_dtype(dst.type.dtype)
        if not np.can_cast(*dtypes, casting=casting):
            text = f"copyto: found {source.type.dtype} for {dst.type.dtype}, needed what {casting!r} allows"
            raise DtypeError(message(text))
        new = cast_variable(source, dst.type.dtype)
    return choose(broadcast_to(as_condition(where), dst.shape), broadcast_to(new, dst.shape), dst)


def resize(x: TensorLike, new_shape: Any) -> Variable:
    """The elements in C order under a new shape, repeated if it has more; zeros of no elements.

    Source:
        numpy.resize
    """
    x = as_variable(x)
    wanted = tuple(new_shape) if isinstance(new_shape, tuple | list) else (new_shape,)
    if x.type.ndim and 0 in x.type.shape:
        return zeros(wanted, x.type.dtype)
    return reshape(_repeated(ravel(x), iota(product(wanted))), wanted)


def block(arrays: Any) -> Variable:
    """Arrays in nested lists joined: the innermost lists along the last axis, those around them along the one before.

    Raises:
        InputError: lists are empty, or nested to different depths.
    Example:
        >>> import tg
        >>> tg.block([[tg.eye(2), tg.zeros((2, 1))], [tg.ones((1, 3))]]).eval()
        array([[1., 0., 0.],
               [0., 1., 0.],
               [1., 1., 1.]])
    Source:
        numpy.block
    """
    depth = _depth(arrays)
    leaves = [as_variable(v) for v in _leaves(arrays)]
    rank = max([depth, *(v.type.ndim for v in leaves)])
    return _joined(arrays, depth, rank)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(v) for v in arrays}
    if len(depths) != 1:
        raise InputError(message(f"block: found lists nested {sorted(depths)} deep, needed one depth, and none empty"))
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for v in arrays for leaf in _leaves(v)] if isinstance(arrays, list) else [arrays]


def _joined(arrays: Any, depth: int, rank: int) -> Variable:
    if not isinstance(arrays, list):
        v = as_variable(arrays)
        missing = rank - v.type.ndim
        return expand_dims_at(v, tuple(range(-rank, missing - rank))) if missing else v
    return concatenate([_joined(v, depth - 1, rank) for v in arrays], -depth)


def rollaxis(x: TensorLike, axis: int, start: int = 0) -> Variable:
    """An axis moved in front of another, or to the end.

    Source:
        numpy.rollaxis
    """
    x = as_variable(x)
    n = x.type.ndim
    k, place = axis_from_end(axis, n, "rollaxis") + n, known_integer(start)
    if isinstance(place, bool) or not isinstance(place, int) or not -n <= place <= n:
        raise InputError(message(f"rollaxis: start: found {start!r}, needed an axis of {x.type}, or {n}"))
    place += n if place < 0 else 0
    return moveaxis(x, k, place - 1 if k < place else place)


def apply_over_axes(func: Callable[..., Any], x: TensorLike, axes: Any) -> Variable:
    """The result of a reduction over each of several axes in turn, which stay with length 1 if it drops them.

    Args:
        func: called as `func(x, axis)`.
    Raises:
        InputError: it gives an array of another rank.
    Source:
        numpy.apply_over_axes
    """
    x = as_variable(x)
    rank = x.type.ndim
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        k = axis_from_end(axis, rank, "apply_over_axes")
        y = as_variable(func(x, k + rank))
        x = expand_dims_at(y, (k,)) if y.type.ndim == rank - 1 else y
        if x.type.ndim != rank:
            raise InputError(message(f"apply_over_axes: found {y.type} of {rank} axes, needed as many, or one less"))
    return x


def vdot(x: TensorLike, y: TensorLike) -> Variable:
    """The sum of the products of all elements, those of x conjugated.

    Raises:
        ShapeError: they have different numbers of elements.
    Source:
        numpy.vdot
    """
    return vecdot(ravel(as_variable(x)), ravel(as_variable(y)))


def cross(
    x: TensorLike, y: TensorLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Variable:
    """The cross products of vectors of three elements; the other axes broadcast.

    Args:
        axisa, axisb, axisc: the axes of the vectors in x, in y and in the result.
        axis: all three at once.
    Raises:
        ShapeError: an axis is known to have another length than 3.
    Source:
        numpy.cross
    """
    a, b, c = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    y = moveaxis(as_variable(y), b, -1)
    return moveaxis(cross_products(moveaxis(as_variable(x), a, -1), y), -1, c)


def array_equiv(x: TensorLike, y: TensorLike) -> Variable:
    """Whether all elements are equal where one array is repeated to the shape of the other; False if it cannot be.

    Source:
        numpy.array_equiv
    """
    try:
        return all(as_variable(x) == y)
    except ShapeError:
        return as_variable(False)


FAMILY = Family(
    "rewritten",
    functions=(put, place, putmask, copyto, resize, block, rollaxis, apply_over_axes, cross, vdot, array_equiv),
)
