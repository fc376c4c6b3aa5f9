"""Sets of elements: unions, intersections and differences, in ascending order, with NumPy's results.

Lengths depend on values, unless `size` says how many elements there shall be, as in `tg.unique`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isnan, logical_and, logical_not, logical_or, not_equal
from tg.ops.family import Family
from tg.ops.indexing import Gather
from tg.ops.selection import compress, isin, unique
from tg.ops.shape import concatenate, ravel
from tg.ops.sorting import sort
from tg.types.dtypes import is_inexact
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from typing import SupportsIndex

    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


def _vectors(x: Any, y: Any) -> tuple[Variable, Variable]:
    """Both in C order, in their common dtype."""
    (x, y), dtype = promoted([as_variable(x), as_variable(y)])
    return ravel(cast_variable(x, dtype)), ravel(cast_variable(y, dtype))


def _first(ordered: Variable) -> Variable:
    """Whether an element of a sorted vector is the first of its value; NaNs count as one."""
    number = iota(ordered.shape[0])
    before = Gather((-1,))(ordered, maximum(number - 1, 0))
    differs = not_equal(ordered, before)
    if is_inexact(ordered.type.dtype):
        differs = logical_and(differs, logical_not(logical_and(isnan(ordered), isnan(before))))
    return logical_or(equal(number, 0), differs)


def union1d(
    x: TensorLike, y: TensorLike, *, size: SupportsIndex | None = None, fill_value: TensorLike | None = None
) -> Variable:
    """The elements of either array, each once and in ascending order.

    Args:
        size: how many there shall be: the least ones, then `fill_value`, which is the least unless given.
    Source:
        numpy.union1d; size and fill_value as in jax.numpy.union1d
    """
    return unique(concatenate(_vectors(x, y)), size=size, fill_value=fill_value)  # type: ignore[no-any-return]


def intersect1d(
    x: TensorLike,
    y: TensorLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: SupportsIndex | None = None,
    fill_value: TensorLike = 0,
) -> Any:
    """The elements that both arrays have, each once and in ascending order.

    Args:
        assume_unique: accepted as NumPy has it; it changes nothing.
        return_indices: also where each occurs first in x, and in y.
        size: how many there shall be: the least ones, then `fill_value` (with index 0).
    Source:
        numpy.intersect1d; size and fill_value as in jax.numpy.intersect1d
    """
    a, b = _vectors(x, y)
    if not return_indices:
        ordered = sort(a)
        return compress(logical_and(_first(ordered), isin(ordered, b)), ordered, size=size, fill_value=fill_value)
    if size is not None:
        hint = "without size= their number is known at run time"
        raise InputError(message("intersect1d: found return_indices=True beside size, needed one", hint=hint))
    (first, at), (second, place) = unique(a, return_index=True), unique(b, return_index=True)
    common = isin(first, b)
    return compress(common, first), compress(common, at), compress(isin(second, a), place)


def setdiff1d(
    x: TensorLike,
    y: TensorLike,
    assume_unique: bool = False,
    *,
    size: SupportsIndex | None = None,
    fill_value: TensorLike = 0,
) -> Variable:
    """The elements of x that y does not have, each once and in ascending order.

    Args:
        assume_unique: whether the elements of x are distinct: they stay in their order then.
        size: how many there shall be: the least ones, then `fill_value`.
    Source:
        numpy.setdiff1d; size and fill_value as in jax.numpy.setdiff1d
    """
    x = as_variable(x)
    if assume_unique:
        a = ravel(x)
        return compress(isin(a, y, invert=True), a, size=size, fill_value=fill_value)
    ordered = sort(ravel(x))
    stays = logical_and(_first(ordered), isin(ordered, y, invert=True))
    return compress(stays, ordered, size=size, fill_value=fill_value)


def setxor1d(
    x: TensorLike,
    y: TensorLike,
    assume_unique: bool = False,
    *,
    size: SupportsIndex | None = None,
    fill_value: TensorLike = 0,
) -> Variable:
    """The elements that one of both arrays has, each once and in ascending order.

    Args:
        assume_unique: accepted as NumPy has it; it changes nothing.
        size: how many there shall be: the least ones, then `fill_value`.
    Source:
        numpy.setxor1d; size and fill_value as in jax.numpy.setxor1d
    """
    a, b = _vectors(x, y)
    ordered = sort(concatenate([a, b]))
    alone = logical_not(logical_and(isin(ordered, a), isin(ordered, b)))
    return compress(logical_and(_first(ordered), alone), ordered, size=size, fill_value=fill_value)


FAMILY = Family("sets", functions=(union1d, intersect1d, setdiff1d, setxor1d))
