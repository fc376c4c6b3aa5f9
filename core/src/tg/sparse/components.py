"""Components of sparse matrices: indices and pointers as integers in range, numbers of rows and columns as lengths."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.ops.assumptions import required
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, logical_or, where
from tg.ops.indexing import wrap_index
from tg.ops.reduction import total_max, total_min
from tg.ops.shape import with_lengths
from tg.ops.sparse import INDEX_HINT, INDICES, pattern_checks, row_numbers
from tg.types.dtypes import is_integer
from tg.types.lengths import Length, maximum, minimum, same
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


def arrays_of(*components: Any) -> list[Array] | None:
    """Components as arrays, or None where one is a variable or a length that is not known."""
    parts = [v.data if isinstance(v, Constant) else v for v in components]
    return None if any(isinstance(v, Variable | Length) for v in parts) else [np.asarray(v) for v in parts]


def plain(v: Variable) -> Any:
    """The array of a constant; any other variable as it is."""
    return v.data if isinstance(v, Constant) else v


def index(value: Any) -> Variable:
    """Indices or pointers, int32 or int64.

    Raises:
        DtypeError: they are no integers.
    """
    v = as_variable(value)
    if not is_integer(v.type.dtype):
        raise DtypeError(message(f"sparse: found indices {v.type}, needed integers"))
    return v if v.type.dtype in INDICES else cast_variable(v, "int64")


def length(value: Any) -> Any:
    """A number of rows or columns, an int or an integer scalar, as a length."""
    return int(value) if isinstance(value, int | np.integer) else size_value(as_size_variable(value))


def vector(value: Any, n: Any, what: str) -> Variable:
    """A component of one element for each stored one.

    Raises:
        ShapeError: it is no vector, or has another length.
    """
    v = as_variable(value)
    if v.type.ndim != 1:
        raise ShapeError(message(f"sparse: {what}: found {v.type}, needed a vector"))
    return with_lengths(v, {-1: n}, f"sparse: {what}")


def with_equal(x: Variable, pairs: Sequence[tuple[Any, Any]], text: str) -> Variable:
    """x, of which it is made sure that lengths of two matrices are equal.

    Args:
        text: of the error, in which {0}, {1}, … stand for the lengths, pair after pair.
    Raises:
        ShapeError: two differ.
    """
    if all(same(m, n) for m, n in pairs):
        return x
    if any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in pairs):
        raise ShapeError(message(text.format(*(n for pair in pairs for n in pair))))
    sizes = [as_size_variable(n) for pair in pairs for n in pair]
    is_same = functools.reduce(logical_and, map(equal, sizes[::2], sizes[1::2]))
    return required(x, is_same, sizes, Descriptor("ShapeError", text))


def with_same_shape(x: Variable, shape: Sequence[Any], other: Sequence[Any], what: str) -> Variable:
    """x, of which it is made sure that two matrices have one shape.

    Raises:
        ShapeError: they have two.
    """
    text = f"sparse: found shapes ({{0}}, {{2}}) and ({{1}}, {{3}}) in {what}, needed one"
    return with_equal(x, list(zip(shape, other, strict=True)), text)


def major(indptr: Any) -> int | Length:
    """Number of rows that pointers say."""
    return subtract_lengths(as_variable(indptr).shape[0], 1)


def of_length(x: Variable, n: Any) -> Variable:
    """A dense operand, of which it is made sure that it has so many rows.

    Raises:
        ShapeError: it has others.
    """
    return with_lengths(x, {-2: length(n)}, "sparse: rows of the dense operand")


def inside(value: Any, n: Any, what: str) -> Variable:
    """Indices as positions of an axis.

    Raises:
        BoundsError: one is outside.
    """
    i, count = cast_variable(index(value), "int64"), as_size_variable(n)
    low, high = total_min(i), total_max(i)
    is_inside = logical_and(greater_equal(low, 0), less(high, count))
    fine = logical_or(is_inside, equal(as_size_variable(i.shape[0]), 0))
    text = f"sparse: index {{0}} is out of bounds for {{1}} {what}"
    worst = where(less(low, 0), low, high)
    return wrap_index(required(i, fine, (worst, count), Descriptor("BoundsError", text, INDEX_HINT)), n, "promise")


def coordinates(indices: Any, indptr: Any, columns: Any) -> tuple[Variable, Variable]:
    """Row and column of the elements of a matrix that is stored by rows."""
    i, p = index(indices), index(indptr)
    for check in pattern_checks(i, p, as_size_variable(columns)):
        i = required(i, check.condition, check.values, check.descriptor)
    return row_numbers(p, i.shape[0]), wrap_index(i, length(columns), "promise")


def bounds(part: slice, n: int | Length) -> tuple[Any, Any]:
    """The begin and the length of a slice by steps of 1 of an axis of n.

    Raises:
        InputError: it has other steps, or counts from an end that is not known.
    """
    if part.step not in (None, 1):
        hint = "of places that are known when the program is built any slice can be taken"
        raise InputError(message(f"sparse: found [{short(part)}], needed a slice by steps of 1", hint=hint))
    if isinstance(n, int) and all(isinstance(v, int | None) for v in (part.start, part.stop)):
        first, last, _ = part.indices(n)
        return first, max(last - first, 0)
    low: int | Length = minimum(0 if part.start is None else _bound(part.start), n)
    high: int | Length = n if part.stop is None else minimum(_bound(part.stop), n)
    return low, maximum(subtract_lengths(high, low), 0)


def _bound(value: Any) -> int | Length:
    """A bound of a slice of an axis whose end is not known, as a length.

    Raises:
        InputError: it is below 0.
    """
    text = "sparse: found the bound {0} of a slice of an unknown length, needed at least 0"
    if isinstance(value, Variable):
        value = required(value, greater_equal(value, 0), (value,), Descriptor("InputError", text))
    elif isinstance(value, int) and value < 0:
        raise InputError(message(text.format(value)))
    return length(value) if isinstance(value, Variable) else value  # type: ignore[no-any-return]
