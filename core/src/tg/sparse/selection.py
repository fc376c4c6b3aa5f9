"""Parts and elements of sparse matrices: keys of `a[…]`, elements that two matrices have in common, largest ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable, as_size_variable
from tg.ops.creation import full, zeros
from tg.ops.elementwise.arithmetic import add, maximum, minimum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, logical_not, where
from tg.ops.indexing import Scatter, wrap_index
from tg.ops.reduction import sum as sum_of
from tg.ops.selection import nonzero
from tg.ops.shape import concatenate
from tg.ops.sorting import argsort, searchsorted
from tg.sparse.components import bounds, plain, with_same_shape
from tg.sparse.matrices import COO, CSC, CSR, SparseMatrix, by_rows, merged
from tg.sparse.places import chosen
from tg.types.dtypes import is_inexact, is_integer, numpy_dtype
from tg.variables.conversion import as_variable, promoted
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]

BEHIND = np.iinfo(np.int64).max  # the key of no element
PLACES_HINT = "a[i, j] looks single elements up; slices by steps of 1 are taken of any places"


def selected(a: SparseMatrix, key: Any) -> Any:
    """The part of a matrix that a key names: see `SparseMatrix.__getitem__`.

    Raises:
        InputError: the key is of another kind, or needs places that are known.
        BoundsError: an index is outside.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) > 2:
        raise InputError(message(f"sparse: found {len(parts)} indices, needed at most 2"))
    row, column = (_part(v) for v in (*parts, slice(None), slice(None))[:2])
    if not isinstance(row, slice) and not isinstance(column, slice):
        return _elements(a, row, column)
    if _is_scalar(row):
        return _line(a, row)[column]
    if _is_scalar(column):
        return _line(a.T, column)[row]
    return _submatrix(a, row, column)


def _part(part: Any) -> Any:
    """A slice as it is, an index as integers: a scalar or an array.

    Raises:
        InputError: it is neither.
    """
    if isinstance(part, slice):
        return part
    if part is None or part is Ellipsis:
        raise InputError(message(f"sparse: found [{short(part)}], needed indices or slices of rows and of columns"))
    v = as_variable(part)
    if not is_integer(v.type.dtype):
        hint = "np.flatnonzero(mask) has the numbers of rows; a * mask keeps elements"
        raise InputError(message(f"sparse: found an index {v.type}, needed integers", hint=hint))
    return v


def _is_scalar(part: Any) -> bool:
    return isinstance(part, Variable) and not part.type.ndim


def _is_whole(part: slice) -> bool:
    return part.start is part.stop is part.step is None


def _submatrix(a: SparseMatrix, row: Any, column: Any) -> Any:
    """The matrix of some rows and columns.

    Raises:
        InputError: it needs places that are known.
    """
    if isinstance(a, CSC):
        return _submatrix(a.T, column, row).T
    places = a.known_places()
    if places is not None and _is_known(row) and _is_known(column):
        wanted = [_positions(part, n) for part, n in zip((row, column), places.shape, strict=True)]
        there, order = chosen(places, *wanted)
        return by_rows(as_variable(plain(a.values)[order]), there)
    if not (isinstance(row, slice) and isinstance(column, slice)):
        text = "sparse: found an index array of one axis, needed places and an index that are known"
        raise InputError(message(text, hint=PLACES_HINT))
    if isinstance(a, CSR):
        return _columns(a if _is_whole(row) else a._rows(row), column)
    return _columns(_columns(a, column).T, row).T


def _is_known(part: Any) -> bool:
    if isinstance(part, slice):
        return all(isinstance(v, int | np.integer | None) for v in (part.start, part.stop, part.step))
    return isinstance(part, Constant)


def _positions(part: Any, n: int) -> Any:
    """Known positions of an axis as an array, None for all.

    Raises:
        BoundsError: one is outside.
        ShapeError: an index is no vector.
    """
    if isinstance(part, slice):
        return None if _is_whole(part) else np.arange(n)[part]
    if part.type.ndim != 1:
        raise ShapeError(message(f"sparse: found an index {part.type}, needed a vector"))
    return plain(wrap_index(part, n))


def _columns(a: Any, part: slice) -> Any:
    """The columns of a slice, of places that are not known: elements outside become zeros in the first or last one."""
    if _is_whole(part):
        return a
    row, column = a.coordinates()
    low, count = bounds(part, a.shape[1])
    if isinstance(count, int) and not count:
        return _empty(a)
    moved, size = column - as_size_variable(low), as_size_variable(count)
    is_inside = logical_and(greater_equal(moved, 0), less(moved, size))
    values = where(is_inside, a.values, np.zeros((), numpy_dtype(a.values.type.dtype)))
    there = minimum(maximum(moved, 0), size - 1)
    if isinstance(a, COO):
        return COO(values, row, there, a.shape[0], count)
    return dataclasses.replace(a, data=values, indices=there, columns=count)


def _empty(a: Any) -> Any:
    """A matrix of as many rows without columns."""
    none = zeros((0,), dtype="int64")
    if isinstance(a, COO):
        return COO(a.values[:0], none, none, a.shape[0], 0)
    return CSR(a.values[:0], none, as_variable(a.indptr) * 0, 0)


def _line(a: SparseMatrix, i: Variable) -> Variable:
    """A row as a dense vector."""
    rows, columns = a.shape
    at, places, values = wrap_index(i, rows), a.known_places(), a.values
    base = zeros((columns,), dtype=values.type.dtype)
    if places is not None and isinstance(at, Constant):
        pick = np.flatnonzero(places.row == at.data)
        return base.at[places.column[pick]].add(values[pick])
    row, column = a.coordinates()
    own = where(equal(row, at), values, np.zeros((), numpy_dtype(values.type.dtype)))
    return Scatter((-1,), add)(base, own, column)  # type: ignore[no-any-return]


# --- elements --------------------------------------------------------------------------------------------------------


def _elements(a: SparseMatrix, i: Any, j: Any) -> Variable:
    """The elements at pairs of rows and columns, which are broadcast: dense."""
    rows, columns = a.shape
    row, column = wrap_index(i, rows), wrap_index(j, columns)
    if not row.type.ndim and not column.type.ndim and a.known_places() is None:
        own_row, own_column = a.coordinates()
        is_there = logical_and(equal(own_row, row), equal(own_column, column))
        return sum_of(where(is_there, a.values, np.zeros((), numpy_dtype(a.values.type.dtype))), dtype=a.dtype)
    return looked_up(a, row, column)[0]


def looked_up(a: SparseMatrix, row: Variable, column: Variable) -> tuple[Variable, Variable]:
    """The elements at rows and columns in range, 0 where none is stored, and whether one is."""
    order = _ordered(a)
    keys = concatenate([order.keys, as_variable(np.full(1, BEHIND))], 0)
    totals = concatenate([order.totals, zeros((1,), dtype=order.totals.type.dtype)], 0)
    wanted = row * as_size_variable(a.shape[1]) + column
    at = searchsorted(keys, wanted)
    is_there = equal(keys[at], wanted)
    return where(is_there, totals[at], np.zeros((), numpy_dtype(totals.type.dtype))), is_there


@dataclasses.dataclass(frozen=True, eq=False)
class _Ordered:
    """Stored elements row by row, with the sum of those that share a place."""

    keys: Variable
    """One integer for each element, ascending."""
    row: Variable
    column: Variable
    totals: Variable
    """The element of the matrix at the place: the same for all that share it."""
    is_first: Variable
    """Whether an element is the first one of its place."""


def _ordered(a: SparseMatrix) -> _Ordered:
    """The elements of a matrix in order: merged where places are known, else each beside those of its place."""
    places = a.known_places()
    if places is not None:
        there, _ = places.merged()
        parts = (there.keys, there.row, there.column, np.ones(len(there.row), bool))
        keys, row, column, is_first = map(as_variable, parts)
        return _Ordered(keys, row, column, merged(a.values, places).values, is_first)
    row, column = a.coordinates()
    keys = row * as_size_variable(a.shape[1]) + column
    order = argsort(keys, stable=True)
    keys = keys[order]
    before = concatenate([as_variable(np.full(1, -1)), keys], 0)[:-1]
    is_first = logical_not(equal(keys, before))
    number = cast_variable(is_first, "int64").cumsum() - 1
    values = a.values[order]
    sums = zeros(values.shape, dtype=values.type.dtype).at[number].add(values)
    return _Ordered(keys, row[order], column[order], sums[number], is_first)


def common(a: SparseMatrix, b: SparseMatrix) -> Any:
    """The products of elements at the same places.

    Source:
        scipy.sparse.csr_array.multiply
    """
    (x, y), dtype = promoted([a.values, b.values])
    x = with_same_shape(cast_variable(x, dtype), a.shape, b.shape, "*")
    places, others = a.known_places(), b.known_places()
    if places is None or others is None:
        element, is_there = looked_up(b.with_data(cast_variable(y, dtype)), *a.coordinates())
        return a.with_data(where(is_there, multiply(x, element), np.zeros((), numpy_dtype(dtype))))
    if isinstance(a, CSC) and isinstance(b, CSC):
        return common(a.T, b.T).T
    left, right = merged(x, places).values, merged(cast_variable(y, dtype), others).values
    (there, _), (beside, _) = places.merged(), others.merged()
    keys, i, j = np.intersect1d(there.keys, beside.keys, assume_unique=True, return_indices=True)
    return by_rows(multiply(left[i], right[j]), places.of_keys(keys))


def find(a: Any, *, size: Any = None) -> tuple[Variable, Variable, Variable]:
    """Rows, columns and values of the elements that are not 0, row by row: each place once.

    Args:
        size: how many there shall be: the first ones, zeros at row 0 and column 0 where there are fewer. Without it
            their number is known at run time only, which backends with static shapes refuse.
    Shapes:
        a (rows, columns) -> row (n), column (n), value (n)
    Raises:
        InputError: a is no sparse matrix.
        NoRuleError: the backend has no lengths that depend on values, and there is no `size`.
    Source:
        scipy.sparse.find, which goes column by column
    Example:
        >>> import tg
        >>> a = tg.sparse.coo([1.0, 2.0, 0.0], [1, 1, 0], [0, 0, 1], (2, 2))
        >>> [v.eval().tolist() for v in tg.sparse.find(a)]
        [[1], [0], [3.0]]
    """
    if not isinstance(a, SparseMatrix):
        raise InputError(message(f"find: found {short(a)}, needed a sparse matrix"))
    order = _ordered(a)
    (at,) = nonzero(logical_and(order.is_first, order.totals != 0), size=size, fill_value=-1)
    parts = []
    for v in (order.row, order.column, order.totals):
        whole = concatenate([v, zeros((1,), dtype=v.type.dtype)], 0)
        parts.append(whole[at] if size is not None else v[at])
    return parts[0], parts[1], parts[2]


def extreme(a: SparseMatrix, axis: int | None, what: str) -> Variable:
    """The largest or smallest elements, of all or along an axis.

    Raises:
        ShapeError: there are none.
    """
    matrix = a if axis is None else a._with_rows_along(axis, what)
    rows, columns = matrix.shape
    if axis is None:
        size: Any = as_size_variable(rows) * as_size_variable(columns)
        row: Any = None
    else:
        size = as_size_variable(columns)
    if isinstance(size, Constant) and not size.data:
        raise ShapeError(message(f"sparse: {what}: found shape {a.shape}, needed elements along the axis"))
    order = _ordered(matrix)
    row = order.row if axis is not None else order.row * 0
    count: int | Length = 1 if axis is None else rows
    dtype = order.totals.type.dtype
    start = _least(dtype, what)
    base = full((count,), start, dtype=dtype)
    at = base.at[row]
    stored = at.max(order.totals) if what == "max" else at.min(order.totals)
    places = zeros((count,), dtype="int64").at[row].add(cast_variable(order.is_first, "int64"))
    beside = (maximum if what == "max" else minimum)(stored, np.zeros((), numpy_dtype(dtype)))
    result = where(less(places, size), beside, stored)
    return result if axis is not None else result[0]


def _least(dtype: str, what: str) -> Any:
    """The identity element of a maximum or a minimum."""
    if dtype == "bool":
        return what == "min"
    kind = numpy_dtype(dtype)
    if is_inexact(dtype):
        return kind.type(-np.inf if what == "max" else np.inf)
    info = np.iinfo(kind)
    return info.min if what == "max" else info.max
