"""Entries taken out of an axis, and put between others, at positions that are known or computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import BoundsError, InputError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.creation import full, iota
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, logical_not, where
from tg.ops.family import Family
from tg.ops.index_updates import value_like
from tg.ops.indexing import Gather, Scatter, take, wrap_index
from tg.ops.selection import compress
from tg.ops.shape import Concatenate, broadcast_to, expand_dims_at, moveaxis, ravel, reshape
from tg.ops.sorting import argsort
from tg.types.dtypes import is_integer
from tg.types.lengths import add, subtract
from tg.variables.conversion import as_variable, axis_from_end, holds_variable, plain_integer

if TYPE_CHECKING:
    from tg.variables.like import TensorLike


def delete(x: TensorLike, positions: TensorLike, axis: int | None = None) -> Variable:
    """x without the entries at positions along an axis, or without elements in C order.

    Args:
        positions: an int, a slice, or integers or bool in a list or an array; known, or computed when the program runs.
            Where the number of entries that stay is not known, the length depends on values.
    Raises:
        BoundsError: a position outside the axis.
        InputError: positions that are neither integers nor bool.
    Source:
        numpy.delete
    """
    x = as_variable(x)
    if axis is None:
        return delete(reshape(x, (-1,)), positions, 0)
    k = axis_from_end(axis, x.type.ndim, "delete")
    n, positions = x.type.shape[k], plain_integer(positions)
    if n is not None and not holds_variable(positions) and not _is_symbolic(positions):
        try:
            places: Any = positions  # numbers, which NumPy reads
            others = np.delete(np.arange(int(n)), places)
        except IndexError as error:
            raise BoundsError(
                message(f"delete: found {positions!r}, needed positions along a length of {n}")
            ) from error
        return take(x, others, k)
    return _without(x, _places("delete", positions, x.shape[k]), k)


def _is_symbolic(positions: Any) -> bool:
    """Whether a slice has ends that are not known."""
    ends = (positions.start, positions.stop, positions.step) if isinstance(positions, slice) else ()
    return any(map(holds_variable, ends))


def _places(what: str, positions: Any, n: Any) -> Variable:
    """Positions as a variable: those that a slice names of an axis of n entries."""
    places: Variable = iota(n)[positions] if isinstance(positions, slice) else as_variable(positions)
    if not (is_integer(places.type.dtype) or places.type.dtype == "bool"):
        if 0 not in places.type.shape:
            raise InputError(message(f"{what}: positions: found {places.type}, needed integers or bool"))
        places = cast_variable(places, "int64")
    return places


def _without(x: Variable, places: Variable, k: int) -> Variable:
    n = x.shape[k]
    if places.type.dtype == "bool":
        return compress(logical_not(places), x, k)
    if places.type.ndim == 0:
        rest = iota(subtract(n, 1))
        return take(x, rest + cast_variable(greater_equal(rest, wrap_index(places, n)), "int64"), k, mode="promise")
    stays = Scatter((-1,))(full((n,), True), full((ravel(places).shape[0],), False), wrap_index(ravel(places), n))
    return compress(stays, x, k)


def insert(x: TensorLike, positions: TensorLike, values: TensorLike, axis: int | None = None) -> Variable:
    """x with values put before positions along an axis, or among the elements in C order.

    Args:
        positions: an int, before which all values go; or a vector of ints, or a slice, one for each value; known, or
            computed when the program runs.
    Raises:
        BoundsError: a position outside the axis.
        InputError: positions that are no integers.
        ShapeError: the values do not fit.
    Dtypes:
        that of x
    Source:
        numpy.insert
    """
    x = as_variable(x)
    if axis is None:
        return insert(reshape(x, (-1,)), positions, values, 0)
    k = axis_from_end(axis, x.type.ndim, "insert")
    positions = plain_integer(positions)
    places = _places("insert", positions, x.shape[k])
    if places.type.dtype == "bool" or places.type.ndim > 1:
        raise InputError(message(f"insert: positions: found {places.type}, needed one integer or a vector of them"))
    v, is_one = value_like(x, values), places.type.ndim == 0
    if is_one or places.type.shape[0] == 1:
        missing = x.type.ndim - v.type.ndim
        v = expand_dims_at(v, tuple(range(-x.type.ndim, -x.type.ndim + missing))) if missing > 0 else v
        v = moveaxis(v, 0, k) if is_one else v
        places = broadcast_to(places if is_one else places[0], (v.shape[k],))
    n, count, front = x.shape[k], places.shape[0], x.type.ndim + k
    if isinstance(n, int) and isinstance(count, int) and not holds_variable(positions) and not _is_symbolic(positions):
        order = _known_order(n, range(n)[positions] if isinstance(positions, slice) else positions, count)
    else:
        order = _order(n, places, count)
    v = broadcast_to(v, (*x.shape[:front], count, *x.shape[front + 1 :]))
    return take(Concatenate(k)(x, v), order, k, mode="promise")


def _known_order(n: int, positions: Any, count: int) -> Any:
    """Of each entry of the result, the place among those of x and the values behind them."""
    places = np.broadcast_to(np.asarray(positions, dtype=np.int64).reshape(-1), (count,))
    try:
        return np.insert(np.arange(n), places, n + np.arange(count))
    except IndexError as error:
        raise BoundsError(message(f"insert: found {positions!r}, needed positions along a length of {n}")) from error


def _order(n: Any, places: Variable, count: Any) -> Variable:
    """The same of positions that are computed: values stand in the order of their positions."""
    size = as_size_variable(n)
    signed = cast_variable(places, "int64")
    before = where(less(signed, 0), signed + size, signed)
    before = wrap_index(cast_variable(before, "uint64"), add(n, 1))  # where a negative one is larger than any length
    before = cast_variable(before, "int64")
    number, order = iota(count), argsort(before, stable=True)
    target = Gather((-1,))(before, order) + number
    total = add(n, count)
    is_new = Scatter((-1,))(full((total,), False), full((count,), True), target)
    value: Variable = Scatter((-1,))(full((total,), 0, dtype="int64"), order, target)
    old = cumsum(cast_variable(logical_not(is_new), "int64"), 0) - 1
    return where(is_new, value + size, old)


FAMILY = Family("insertion", functions=(delete, insert))
