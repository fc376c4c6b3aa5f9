"""Choosing elements by a condition: lengths that depend on values, or a stated `size` with a fill, on every backend.

Everything here is written with `Nonzero`, or, where there is a size, with a running count and a scatter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.creation import full, iota
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import add, maximum, minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isnan, less, logical_and, logical_not, logical_or, not_equal, where
from tg.ops.family import Family
from tg.ops.index_syntax import positions_of
from tg.ops.indexing import Gather, Scatter, slice_axis, take
from tg.ops.places import unravel_index
from tg.ops.reduction import any as any_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, moveaxis, reshape, stack
from tg.ops.sorting import argsort, lexsort, searchsorted, sort
from tg.types.dtypes import is_inexact
from tg.types.lengths import add as add_lengths
from tg.types.lengths import same
from tg.variables.conversion import as_variable, axis_from_end, promoted

if TYPE_CHECKING:
    from typing import SupportsIndex

    from tg.variables.like import TensorLike


def as_condition(x: Any) -> Variable:
    """The value as bool: whether elements differ from 0."""
    x = as_variable(x)
    return x if x.type.dtype == "bool" else not_equal(x, 0)


class Found(NamedTuple):
    """Positions, and which of them are real: None if all are."""

    positions: Variable
    real: Variable | None


def find(mask: Variable, size: Any) -> Found:
    """The positions of the true elements of a vector of bool: all, or the first `size` with 0 where there are fewer."""
    if size is None:
        return Found(positions_of(mask), None)
    n = size_value(as_variable(size)) if isinstance(size, Variable) else size
    room = as_size_variable(n)
    rank = cumsum(cast_variable(mask, "int64"), 0) - 1
    place = where(logical_and(mask, less(rank, room)), rank, room)  # those without a place go behind the end
    written = Scatter((-1,))(full((add_lengths(n, 1),), 0, dtype="int64"), iota(mask.shape[0]), place)
    count = reduce_sum(cast_variable(mask, "int64"), (-1,))
    return Found(slice_axis(written, -1, 0, n), less(iota(n), count))


def _or_fill(selection: Found, values: Variable, fill: Any) -> Variable:
    if selection.real is None:
        return values
    return where(selection.real, values, as_variable(fill, values.type.dtype))


def nonzero(x: TensorLike, *, size: SupportsIndex | None = None, fill_value: TensorLike = 0) -> tuple[Variable, ...]:
    """The positions of the elements that are not 0, in C order: one int64 vector for each axis.

    Args:
        size: how many positions there shall be (an int, a length or an integer scalar): the first ones, and
            `fill_value` where there are fewer. Without it their number is known at run time only, which backends
            with static shapes refuse.
    Raises:
        ShapeError: x has no axes.
        NoRuleError: the backend has no lengths that depend on values, and there is no `size`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.nonzero(x, size=3, fill_value=-1)[0].eval({x: [0.0, 2.0, 3.0]})
        array([ 1,  2, -1])
    Source:
        numpy.nonzero; size and fill_value as in jax.numpy.nonzero
    """
    mask = as_condition(x)
    if mask.type.ndim == 0:
        raise ShapeError(message("nonzero: found a scalar, needed at least one axis", hint="tg.ravel gives it one"))
    selection = find(reshape(mask, (-1,)), size)
    if mask.type.ndim == 1:
        return (_or_fill(selection, selection.positions, fill_value),)
    return tuple(
        _or_fill(selection, k, fill_value) for k in unravel_index(selection.positions, mask.shape, mode="promise")
    )


def flatnonzero(x: TensorLike, *, size: SupportsIndex | None = None, fill_value: TensorLike = 0) -> Variable:
    """The positions in C order of the elements that are not 0; `size` as for `nonzero`.

    Source:
        numpy.flatnonzero
    """
    selection = find(reshape(as_condition(x), (-1,)), size)
    return _or_fill(selection, selection.positions, fill_value)


def argwhere(x: TensorLike, *, size: SupportsIndex | None = None, fill_value: TensorLike = 0) -> Variable:
    """The positions of the elements that are not 0, one row for each; `size` as for `nonzero`.

    Shapes:
        x (n1, ..., nk) -> y (count, k)
    Source:
        numpy.argwhere
    """
    return stack(nonzero(x, size=size, fill_value=fill_value), 1)


def compress(
    condition: TensorLike,
    x: TensorLike,
    axis: int | None = None,
    *,
    size: SupportsIndex | None = None,
    fill_value: TensorLike = 0,
) -> Variable:
    """The entries of x along an axis (or in C order) where a vector of conditions holds; `size` as for `nonzero`.

    Raises:
        ShapeError: the condition is no vector.
        BoundsError: a condition holds behind the end of the axis.
    Source:
        numpy.compress
    """
    mask, x = as_condition(condition), as_variable(x)
    if mask.type.ndim != 1:
        raise ShapeError(message(f"compress: found a condition {mask.type}, needed a vector"))
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    k = axis_from_end(axis, x.type.ndim, "compress")
    selection = find(mask, size)
    fits = same(mask.shape[0], x.shape[k])
    y = take(x, selection.positions, k, mode="promise" if fits or size is not None else "raise")
    if selection.real is None:
        return y
    behind = tuple(range(k + 1, 0))
    real = expand_dims_at(selection.real, behind) if behind else selection.real
    return where(real, y, as_variable(fill_value, y.type.dtype))


def extract(
    condition: TensorLike, x: TensorLike, *, size: SupportsIndex | None = None, fill_value: TensorLike = 0
) -> Variable:
    """The elements of x, in C order, where a condition of the same number of elements holds; `size` as for `nonzero`.

    Source:
        numpy.extract
    """
    return compress(reshape(as_condition(condition), (-1,)), x, size=size, fill_value=fill_value)


def unique(
    x: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: SupportsIndex | None = None,
    fill_value: TensorLike | None = None,
) -> Any:
    """The distinct elements of x in ascending order; NaNs come last, and count as one unless `equal_nan` is False.

    Args:
        return_index: also where each occurs first, in C order.
        return_inverse: also which of them (were there no `size`) each element is, in the shape of x.
        return_counts: also how often each occurs.
        axis: distinct entries along an axis in lexicographic order; positions are along it. Of the other axes the
            lengths are known, and none is 0; a NaN differs from all others.
        equal_nan: whether NaNs count as one, where there is no `axis`.
        sorted: accepted as NumPy has it; the order is ascending whatever it says.
        size: how many there shall be: the least ones, then `fill_value`, which is the least unless given (with index
            and count 0).
    Raises:
        ShapeError: with `axis`, another length is not known, or 0.
    Source:
        numpy.unique; size and fill_value as in jax.numpy.unique
    """
    x = as_variable(x)
    if axis is None:
        entries = reshape(x, (-1,))
        order = argsort(entries)
    else:
        k = axis_from_end(axis, x.type.ndim, "unique")
        entries = moveaxis(x, k, 0)
        order = _lexicographic(entries)
    ordered = take(entries, order, 0, mode="promise")
    first = _is_first(ordered, equal_nan)
    selection = find(first, size)
    values = take(ordered, selection.positions, 0, mode="promise")
    if selection.real is not None and fill_value is not None:
        behind = tuple(range(1 - values.type.ndim, 0))
        real = expand_dims_at(selection.real, behind) if behind else selection.real
        values = where(real, values, as_variable(fill_value, values.type.dtype))
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(_or_fill(selection, Gather((-1,))(order, selection.positions), 0))
    group = cumsum(cast_variable(first, "int64"), 0) - 1
    count = values.shape[0]
    if return_inverse:
        inverse = Scatter((-1,))(full((first.shape[0],), 0, dtype="int64"), group, order)
        results.append(reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        inside = cast_variable(less(group, as_size_variable(count)), "int64")
        none = full((count,), 0, dtype="int64")
        results.append(Scatter((-1,), add)(none, inside, minimum(group, maximum(as_size_variable(count) - 1, 0))))
    return results[0] if len(results) == 1 else tuple(results)


def _is_first(ordered: Variable, equal_nan: bool) -> Variable:
    """Whether an entry along the first axis of a sorted array differs from the one before.

    Args:
        equal_nan: whether NaNs of a vector do not.
    """
    number = iota(ordered.shape[0])
    before = take(ordered, maximum(number - 1, 0), 0, mode="promise")
    differs = not_equal(ordered, before)
    if ordered.type.ndim > 1:
        differs = any_of(differs, tuple(range(1, ordered.type.ndim)))
    elif equal_nan and is_inexact(ordered.type.dtype):
        differs = logical_and(differs, logical_not(logical_and(isnan(ordered), isnan(before))))
    return logical_or(equal(number, 0), differs)


def _lexicographic(entries: Variable) -> Variable:
    """The positions that sort entries along the first axis by their elements in C order."""
    lengths = entries.shape[1:]
    if any(isinstance(n, int) and n == 0 for n in lengths):  # entries of no elements are equal
        return cast_variable(iota(entries.shape[0]), "int64")
    if any(not isinstance(n, int) for n in lengths):
        hint = "tg.specify_shape(x, (None, 3)) states one; x.reshape(-1) has no other axes"
        raise ShapeError(
            message(f"unique: axis: found {entries.type}, needed known lengths behind the axis", hint=hint)
        )
    keys = reshape(entries, (entries.shape[0], math.prod(n for n in lengths if isinstance(n, int))))
    return lexsort([keys[:, j] for j in reversed(range(int(keys.shape[1])))])


def unique_values(x: TensorLike) -> Variable:
    """The distinct elements of x in ascending order; a NaN differs from all others."""
    return unique(x, equal_nan=False)  # type: ignore[no-any-return]


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


def unique_counts(x: TensorLike) -> UniqueCountsResult:
    """The distinct elements of x, and how often each occurs; a NaN differs from all others."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: TensorLike) -> UniqueInverseResult:
    """The distinct elements of x, and which of them each element is; a NaN differs from all others."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_all(x: TensorLike) -> UniqueAllResult:
    """The distinct elements of x, where each occurs first, which of them each element is, and how often each occurs.

    A NaN differs from all others.
    """
    return UniqueAllResult(*unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False))


def isin(element: TensorLike, test_elements: TensorLike, assume_unique: bool = False, invert: bool = False) -> Variable:
    """Whether each element is among the test elements; NaN never is.

    Args:
        assume_unique: accepted as NumPy has it; it changes nothing.
        invert: whether it is not among them instead.
    Source:
        numpy.isin
    """
    (x, tests), dtype = promoted([as_variable(element), as_variable(test_elements)])
    x, tests = (cast_variable(v, dtype) for v in (x, tests))
    ordered = sort(reshape(tests, (-1,)))
    flat = reshape(x, (-1,))
    place = searchsorted(ordered, flat)
    last = as_size_variable(ordered.shape[0]) - 1
    same_there = equal(Gather((-1,))(ordered, maximum(minimum(place, last), 0)), flat)
    is_member = reshape(logical_and(same_there, less(place, last + 1)), x.shape)
    return logical_not(is_member) if invert else is_member


FAMILY = Family(
    "selection",
    functions=(
        nonzero,
        flatnonzero,
        argwhere,
        compress,
        extract,
        unique,
        unique_values,
        unique_counts,
        unique_inverse,
        unique_all,
        isin,
    ),
)  # fmt: skip
