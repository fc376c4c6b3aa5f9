"""Matrices by their diagonals and triangles. The k-th diagonal lies k places to the right of the main one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.creation import iota, zeros, zeros_like
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import clip, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, where
from tg.ops.family import Family
from tg.ops.indexing import Gather, Scatter, take
from tg.ops.reduction import sum
from tg.ops.shape import broadcast_to, expand_dims_at, moveaxis, ravel
from tg.ops.sorting import searchsorted
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import Length, maximum, minimum
from tg.types.lengths import add as add_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, axis_from_end, float_name, known_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.variables.like import SizeLike, TensorLike


def _need_offset(what: str, k: Any) -> int:
    k = known_integer(k)
    if isinstance(k, bool) or not isinstance(k, int):
        raise InputError(message(f"{what}: k: found {k!r}, needed an integer"))
    return k


def _places(n: int | Length, m: int | Length, k: int) -> tuple[Variable, Variable]:
    """The rows and columns of the k-th diagonal of an n by m matrix."""
    down, right = max(-k, 0), max(k, 0)
    count = maximum(0, minimum(subtract_lengths(n, down), subtract_lengths(m, right)))
    places = iota(count)
    return (places + down if down else places), (places + right if right else places)


def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The elements of the diagonals that two axes span, along a new last axis.

    Shapes:
        x (n, m, ...) -> y (..., d)
    Raises:
        ShapeError: x has fewer than two axes, or both axes are one.
    Source:
        numpy.diagonal
    """
    x = as_variable(x)
    offset = _need_offset("diagonal", offset)
    if x.type.ndim < 2:
        raise ShapeError(message(f"diagonal: found {x.type}, needed at least 2 axes"))
    first, second = (axis_from_end(k, x.type.ndim, "diagonal") for k in (axis1, axis2))
    if first == second:
        raise ShapeError(message(f"diagonal: found axis {axis1} twice, needed two axes"))
    places = _places(x.shape[first], x.shape[second], offset)
    ordered = (first, second) if first < second else (second, first)
    rows, columns = places if first < second else places[::-1]
    return moveaxis(Gather(ordered)(x, rows, columns), 0, -1)


def trace(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Variable:
    """The sum of the diagonals that two axes span.

    Dtypes:
        as `tg.sum`.
    Source:
        numpy.trace
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


def diag(v: TensorLike, k: int = 0) -> Variable:
    """A matrix with a vector on its k-th diagonal and zeros elsewhere, or the k-th diagonal of a matrix.

    Shapes:
        v (n) -> y (n + |k|, n + |k|); v (n, m) -> y (d)
    Raises:
        ShapeError: v has neither one nor two axes.
    Source:
        numpy.diag
    """
    v = as_variable(v)
    if v.type.ndim == 2:
        return diagonal(v, k)
    if v.type.ndim != 1:
        raise ShapeError(message(f"diag: found {v.type}, needed a vector or a matrix"))
    k = _need_offset("diag", k)
    n = add_lengths(v.shape[0], abs(k))
    rows, columns = _places(n, n, k)
    return Scatter((-2, -1))(zeros((n, n), dtype=v.type.dtype), v, rows, columns)  # type: ignore[no-any-return]


def diagflat(v: TensorLike, k: int = 0) -> Variable:
    """A matrix with the elements of an array, in C order, on its k-th diagonal.

    Source:
        numpy.diagflat
    """
    return diag(ravel(v), k)


def identity(n: SizeLike, dtype: object = None) -> Variable:
    """The identity matrix of n rows.

    Source:
        numpy.identity
    """
    from tg.ops.creation import eye

    return eye(n, dtype=dtype)


def _on_or_below(n: Any, m: Any, k: int) -> Variable:
    """Whether an element of an n by m matrix lies on or below the k-th diagonal."""
    rows, columns = iota(n), iota(m)
    shifted = rows + k if k else rows
    return greater_equal(expand_dims_at(shifted, (-1,)), expand_dims_at(columns, (-2,)))


def tri(n: TensorLike, m: TensorLike | None = None, k: int = 0, dtype: object = None) -> Variable:
    """Ones on and below the k-th diagonal of an n by m matrix, zeros above it; m is n unless given.

    Source:
        numpy.tri
    """
    return cast_variable(_on_or_below(n, n if m is None else m, _need_offset("tri", k)), float_name(dtype))


def tril(x: TensorLike, k: int = 0) -> Variable:
    """The matrices of the last two axes with zeros above the k-th diagonal; a vector is repeated as rows.

    Source:
        numpy.tril
    """
    x, below = _triangles("tril", x, k)
    return where(below, x, numpy_dtype(x.type.dtype).type(0))


def triu(x: TensorLike, k: int = 0) -> Variable:
    """The matrices of the last two axes with zeros below the k-th diagonal; a vector is repeated as rows.

    Source:
        numpy.triu
    """
    x, below = _triangles("triu", x, _need_offset("triu", k) - 1)
    return where(below, numpy_dtype(x.type.dtype).type(0), x)


def _triangles(what: str, x: Any, k: int) -> tuple[Variable, Variable]:
    x = as_variable(x)
    if x.type.ndim == 0:
        raise ShapeError(message(f"{what}: found a scalar, needed at least one axis"))
    if x.type.ndim == 1:
        x = broadcast_to(x, (x.shape[0], x.shape[0]))
    return x, _on_or_below(x.shape[-2], x.shape[-1], _need_offset(what, k))


def tril_indices(n: TensorLike, k: int = 0, m: TensorLike | None = None) -> tuple[Variable, Variable]:
    """The rows and columns of what lies on and below the k-th diagonal of an n by m matrix, in C order.

    Args:
        n, m: integers, lengths or integer scalar variables.
    Source:
        numpy.tril_indices
    """
    rows, lengths, width = _rows(n, m)
    counts = clip(rows + (_need_offset("tril_indices", k) + 1), 0, width)
    total = _known_total(lengths, lambda i, n: np.clip(i + k + 1, 0, n))
    return _in_rows(zeros_like(counts), counts, total)


def triu_indices(n: TensorLike, k: int = 0, m: TensorLike | None = None) -> tuple[Variable, Variable]:
    """The rows and columns of what lies on and above the k-th diagonal of an n by m matrix, in C order.

    Args:
        n, m: integers, lengths or integer scalar variables.
    Source:
        numpy.triu_indices
    """
    rows, lengths, width = _rows(n, m)
    starts = clip(rows + _need_offset("triu_indices", k), 0, width)
    total = _known_total(lengths, lambda i, n: n - np.clip(i + k, 0, n))
    return _in_rows(starts, width - starts, total)


def _rows(n: Any, m: Any) -> tuple[Variable, tuple[Any, Any], Variable]:
    """The numbers of the rows, the shape, and the number of columns as a variable."""
    rows, columns = (size_value(v) if isinstance(v, Variable) else v for v in (n, n if m is None else m))
    return iota(rows), (rows, columns), as_size_variable(columns)


def _known_total(lengths: tuple[Any, Any], counts: Callable[[Any, int], Any]) -> int | None:
    """The number of positions in all, if the shape is known."""
    n, m = lengths
    return int(np.sum(counts(np.arange(n), m))) if type(n) is int and type(m) is int else None


def _in_rows(starts: Variable, counts: Variable, total: int | None) -> tuple[Variable, Variable]:
    """The positions that take `counts` columns of each row from `starts` on."""
    ends = cumsum(counts)
    place = iota(sum(counts) if total is None else total)
    row = searchsorted(ends, place, "right")
    before = subtract(ends, counts)
    column = take(subtract(starts, before), row, mode="promise") + place
    return row, column


def fill_diagonal(x: TensorLike, val: Any) -> Variable:
    """A copy of x with its main diagonal, x[i, ..., i], replaced by a value or by the elements of a vector.

    Raises:
        ShapeError: x has fewer than two axes.
    Source:
        numpy.fill_diagonal, which writes in place
    """
    x = as_variable(x)
    if x.type.ndim < 2:
        raise ShapeError(message(f"fill_diagonal: found {x.type}, needed at least 2 axes"))
    places = iota(functools.reduce(minimum, x.shape))
    values = broadcast_to(cast_variable(as_variable(val), x.type.dtype), places.shape)
    axes = tuple(range(-x.type.ndim, 0))
    return Scatter(axes)(x, values, *(places for _ in axes))  # type: ignore[no-any-return]


FAMILY = Family(
    "diagonal",
    functions=(
        diagonal, trace, diag, diagflat, identity, tri, tril, triu, tril_indices, triu_indices, fill_diagonal,
    ),
)  # fmt: skip
