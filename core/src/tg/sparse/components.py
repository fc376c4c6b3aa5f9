"""Components of sparse matrices: indices and pointers as integers in range, numbers of rows and columns as lengths."""

from __future__ import annotations

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
from tg.types.lengths import same
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]


def known(*components: Any) -> list[Array] | None:
    """Components as arrays, or None where one is a variable."""
    parts = [v.data if isinstance(v, Constant) else v for v in components]
    return None if any(isinstance(v, Variable) for v in parts) else [np.asarray(v) for v in parts]


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


def with_same_shape(x: Variable, shape: Sequence[Any], other: Sequence[Any], what: str) -> Variable:
    """x, of which it is made sure that two matrices have one shape.

    Raises:
        ShapeError: they have two.
    """
    if all(same(m, n) for m, n in zip(shape, other, strict=True)):
        return x
    if any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(shape, other, strict=True)):
        raise ShapeError(message(f"sparse: found shapes {tuple(shape)} and {tuple(other)} in {what}, needed one"))
    sizes = [as_size_variable(n) for n in (*shape, *other)]
    text = f"sparse: found shapes ({{0}}, {{1}}) and ({{2}}, {{3}}) in {what}, needed one"
    is_same = logical_and(equal(sizes[0], sizes[2]), equal(sizes[1], sizes[3]))
    return required(x, is_same, sizes, Descriptor("ShapeError", text))


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


def sliced(rows: Any, pointers: Variable) -> Variable:
    """The pointers of some rows that follow one another.

    Raises:
        InputError: it is no slice by steps of 1, or counts from an end that is not known.
    """
    if not isinstance(rows, slice) or rows.step not in (None, 1):
        text = f"sparse: found [{short(rows)}], needed a slice of rows by steps of 1"
        raise InputError(message(text, hint="a.todense()[…] takes any index"))
    n, stop = pointers.shape[0], rows.stop
    if isinstance(n, int):
        low, high, _ = rows.indices(n - 1)
        return pointers[low : max(low, high) + 1]
    low = rows.start or 0
    if (isinstance(low, int) and low < 0) or (isinstance(stop, int) and stop < 0):
        text = f"sparse: found [{short(rows)}] of an unknown number of rows, needed bounds of at least 0"
        raise InputError(message(text))
    return pointers[low : None if stop is None else stop + 1]
