"""Products of sparse matrices, whose elements stand row by row: values, column numbers, and where each row begins.

What is written here of rows serves columns as well: a matrix that is stored column by column is the transpose of one
that is stored row by row. The two ops are each other's derivatives, so there are all orders of both.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.assumptions import required
from tg.ops.creation import iota, zeros
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, logical_or, where
from tg.ops.family import Family
from tg.ops.indexing import Gather, Scatter, slice_axis, wrap_index
from tg.ops.length_checks import natural_checks
from tg.ops.reduction import all as all_of
from tg.ops.reduction import reduce_sum, total_max, total_min
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, moveaxis, reshape, transpose
from tg.types.dtypes import in_float32, numpy_dtype
from tg.types.lengths import maximum as longest
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import same
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]

INDICES: Final = ("int32", "int64")
INDEX_HINT: Final = "indices of sparse matrices count from 0 at the beginning of a row"


@final
class SparseProduct(Op):
    """The product of a sparse matrix, or of its transpose, and a dense one.

    The elements of row i are at positions pointers[i] to pointers[i + 1]; those with the same place add up. Leading
    axes of values and of x are of batches of one pattern.

    Shapes:
        data (..., n), indices (n), pointers (rows + 1), x (..., columns, k) -> y (..., rows, k); transposed: also
        columns (), x (..., rows, k) -> y (..., columns, k)
    Dtypes:
        data and x of one dtype, which y has; indices and pointers int32 or int64
    Raises:
        BoundsError: an index is no column, or pointers do not run from 0 to n without descending.
    Source:
        scipy.sparse.csr_array.__matmul__
    """

    transposed: bool
    has_expansion = True

    def size_operands(self, count: int) -> range:
        """Number of columns of a transpose."""
        return range(4, count)

    def factors(self, count: int) -> Sequence[int]:
        """Values and the dense matrix."""
        return (0, 3)

    def infer(
        self, data: TensorType, indices: TensorType, pointers: TensorType, x: TensorType, *columns: Any
    ) -> tuple[TensorType, ...]:
        """A row for each of the matrix, or of its transpose."""
        _need_pattern("sparse product", data, indices, pointers)
        if data.dtype != x.dtype or data.dtype == "bool":
            raise DtypeError(message(f"sparse product: found values {data} and {x}, needed one dtype of numbers"))
        if len(x.shape) != len(data.shape) + 1 or len(columns) != self.transposed:
            raise ShapeError(message(f"sparse product: found {x} beside values {data}, needed two axes behind these"))
        lead = _same_lead("sparse product", data.shape[:-1], x.shape[:-2])
        rows = _row_count(pointers)
        if self.transposed:
            require_same(rows, x.shape[-2], lambda: "sparse product: rows")
            rows = columns[0]
        return (TensorType(x.dtype, (*lead, rows, x.shape[-1])),)

    def perform(self, data: Array, indices: Array, pointers: Array, x: Array, *columns: Array) -> tuple[Array, ...]:
        """All products of a column at a time, added up by rows; of halves in float32."""
        work = numpy_dtype(in_float32(x.dtype.name))
        count = int(columns[0]) if self.transposed else len(pointers) - 1
        total = functools.partial(_summed_at, indices) if self.transposed else functools.partial(_summed, pointers)
        lead, k = x.shape[:-2], x.shape[-1]
        y = np.zeros((*lead, k, count), work)
        values = np.broadcast_to(data.astype(work, copy=False), (*lead, data.shape[-1]))
        sides = np.ascontiguousarray(x.swapaxes(-1, -2), work)
        lengths = np.diff(pointers)
        for at in np.ndindex(*lead, k):
            side = np.repeat(sides[at], lengths) if self.transposed else sides[at].take(indices)
            total(values[at[:-1]] * side, y[at])
        return (np.ascontiguousarray(y.swapaxes(-1, -2)).astype(x.dtype, copy=False),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Pointers and indices are those of a matrix."""
        _, indices, pointers, x, *columns = inputs
        count = columns[0] if self.transposed else as_size_variable(x.shape[-2])
        return (*natural_checks(columns), *pattern_checks(indices, pointers, count))

    def expansion(self, *inputs: Variable) -> Variable:
        """The products at all places, scattered into rows."""
        data, indices, pointers, x, *columns = inputs
        rows = row_numbers(pointers, indices.shape[0])
        columns_of = wrap_index(indices, columns[0] if columns else x.shape[-2], "promise")
        source, target = (rows, columns_of) if self.transposed else (columns_of, rows)
        count = size_value(columns[0]) if columns else _rows_of(pointers)
        terms = multiply(expand_dims_at(data, (-1,)), _rows_at(x, source))
        return _added_at((*x.shape[:-2], count, x.shape[-1]), terms, target)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The scalar products of rows of the cotangent and of x at the places of values; the transpose for x."""
        (data, indices, pointers, x, *columns), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        left, right = (x, dy) if self.transposed else (dy, x)
        d_data = SparseDots()(indices, pointers, left, right)
        sizes = () if self.transposed else (as_size_variable(x.shape[-2]),)
        dx = SparseProduct(not self.transposed)(data, indices, pointers, dy, *sizes)
        return (d_data, None, None, dx, *(None for _ in columns))

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The product is linear in values and in x."""
        (data, indices, pointers, x, *columns), (d_data, _, _, dx, *_) = inputs, tangents
        parts = [self(data, indices, pointers, dx, *columns)] if dx is not None else []
        parts += [self(d_data, indices, pointers, x, *columns)] if d_data is not None else []
        return (None if not parts else parts[0] if len(parts) == 1 else add(*parts),)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch of x alone stands beside its columns; else it is one more leading axis of values and x.

        Patterns of a batch are those of blocks on a diagonal.
        """
        data, indices, pointers, x, *columns = inputs
        tools.need_unbatched(self, batched[4:], "the number of columns of a sparse matrix")
        if any(batched[1:3]):
            lead = [tools.lead(v, own, size) for v, own in zip(inputs[:4], batched[:4], strict=True)]
            count = columns[0] if columns else as_size_variable(x.shape[-2])
            pattern = _one_pattern(size, lead[1], lead[2], count)
            total = [] if not columns else [multiply(as_size_variable(size), count)]
            y = self(_joined(lead[0], -1), *pattern, _joined(lead[3], -2), *total)
            each = size_value(count) if columns else _rows_of_each(lead[2])
            return (_parted(y, size, each, -2),)
        if batched[0] or data.type.ndim > 1:
            data, x = tools.lead(data, batched[0], size), tools.lead(x, batched[3], size)
            return (self(data, indices, pointers, x, *columns),)
        n, k = x.shape[-2:]
        wide = reshape(moveaxis(x, 0, 1), (n, multiply_lengths(size, k)))
        y = self(data, indices, pointers, wide, *columns)
        return (moveaxis(reshape(y, (y.shape[0], size, k)), 1, 0),)


@final
class SparseDots(Op):
    """The scalar products of rows of two dense matrices at the places of a sparse one: values of (a b') there.

    Shapes:
        indices (n), pointers (rows + 1), a (..., rows, k), b (..., columns, k) -> data (..., n)
    Dtypes:
        a and b of one dtype, which data has; indices and pointers int32 or int64
    Raises:
        BoundsError: an index is no column, or pointers do not run from 0 to n without descending.
    Source:
        The sampled product of dense matrices (SDDMM); torch.sparse.sampled_addmm
    """

    has_expansion = True

    def factors(self, count: int) -> Sequence[int]:
        """Both matrices."""
        return (2, 3)

    def infer(self, indices: TensorType, pointers: TensorType, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """One value for each index."""
        _need_pattern("sparse dots", indices, indices, pointers)
        if a.dtype != b.dtype or a.dtype == "bool":
            raise DtypeError(message(f"sparse dots: found {a} and {b}, needed one dtype of numbers"))
        if len(a.shape) != len(b.shape) or len(a.shape) < 2:
            raise ShapeError(message(f"sparse dots: found {a} and {b}, needed matrices of one rank"))
        require_same(_row_count(pointers), a.shape[-2], lambda: "sparse dots: rows")
        require_same(a.shape[-1], b.shape[-1], lambda: "sparse dots: terms")
        lead = _same_lead("sparse dots", a.shape[:-2], b.shape[:-2])
        return (TensorType(a.dtype, (*lead, indices.shape[0])),)

    def perform(self, indices: Array, pointers: Array, a: Array, b: Array) -> tuple[Array, ...]:
        """Sums of products of gathered rows; of halves in float32."""
        work = numpy_dtype(in_float32(a.dtype.name))
        left, right = a[..., _row_numbers(pointers), :], b[..., indices, :]
        y = (left.astype(work, copy=False) * right.astype(work, copy=False)).sum(-1)
        return (np.asarray(y).astype(a.dtype, copy=False),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Pointers and indices are those of a matrix."""
        indices, pointers, _, b = inputs
        return pattern_checks(indices, pointers, as_size_variable(b.shape[-2]))

    def expansion(self, *inputs: Variable) -> Variable:
        """Rows of both, gathered, multiplied and added up."""
        indices, pointers, a, b = inputs
        left = _rows_at(a, row_numbers(pointers, indices.shape[0]))
        right = _rows_at(b, wrap_index(indices, b.shape[-2], "promise"))
        return reduce_sum(multiply(left, right), (-1,))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products of the sparse matrix that the cotangent makes, and of its transpose."""
        (indices, pointers, a, b), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        da = SparseProduct(False)(dy, indices, pointers, b)
        db = SparseProduct(True)(dy, indices, pointers, a, as_size_variable(b.shape[-2]))
        return (None, None, da, db)

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The products are linear in both."""
        (indices, pointers, a, b), (_, _, da, db) = inputs, tangents
        parts = [self(indices, pointers, da, b)] if da is not None else []
        parts += [self(indices, pointers, a, db)] if db is not None else []
        return (None if not parts else parts[0] if len(parts) == 1 else add(*parts),)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis of both matrices; one of patterns is of blocks on a diagonal."""
        if any(batched[:2]):
            indices, pointers, a, b = (tools.lead(v, own, size) for v, own in zip(inputs, batched, strict=True))
            pattern = _one_pattern(size, indices, pointers, as_size_variable(b.shape[-2]))
            y = self(*pattern, _joined(a, -2), _joined(b, -2))
            return (_parted(y, size, indices.shape[-1], -1),)
        a, b = (tools.lead(v, is_own, size) for v, is_own in zip(inputs[2:], batched[2:], strict=True))
        return (self(*inputs[:2], a, b),)


# --- patterns --------------------------------------------------------------------------------------------------------


def row_numbers(pointers: Variable, count: int | Length) -> Variable:
    """The row of each of `count` elements, of where rows begin: positions, int64, in range."""
    begins = slice_axis(pointers, -1, 1, _rows_of(pointers))  # a row that begins behind all elements has none
    marks = Scatter((-1,), add)(
        zeros((size_value(as_size_variable(count) + 1),), dtype="int64"),
        cast_variable(broadcast_to(as_size_variable(1), begins.shape), "int64"),
        wrap_index(begins, size_value(as_size_variable(count) + 1), "promise"),
    )
    return wrap_index(slice_axis(cumsum(marks), -1, 0, count), _rows_of(pointers), "promise")


def pattern_checks(indices: Variable, pointers: Variable, columns: Variable) -> tuple[Check, ...]:
    """Every index is a column, and pointers run from 0 to the number of elements without descending."""
    count, columns = as_size_variable(indices.shape[0]), cast_variable(columns, "int64")
    low, high = (cast_variable(total(indices), "int64") for total in (total_min, total_max))
    inside = logical_or(logical_and(greater_equal(low, 0), less(high, columns)), equal(count, 0))
    worst = where(less(low, 0), low, high)
    text = "sparse: index {0} is out of bounds for {1} columns"
    fine = Check(inside, (worst, columns), Descriptor("BoundsError", text, INDEX_HINT))
    n = as_size_variable(pointers.shape[0])
    ends = wrap_index(as_size_variable(0), pointers.shape[0], "promise")
    first = cast_variable(Gather((-1,))(pointers, ends), "int64")
    last = cast_variable(
        Gather((-1,))(pointers, wrap_index(as_size_variable(-1), pointers.shape[0], "promise")), "int64"
    )
    rows = _rows_of(pointers)
    ascends = all_of(greater_equal(slice_axis(pointers, -1, 1, rows), slice_axis(pointers, -1, 0, rows)))
    right = logical_and(logical_and(greater_equal(n, 1), ascends), logical_and(equal(first, 0), equal(last, count)))
    text = "sparse: pointers: found {0} to {1}, needed 0 to {2}, the number of elements, none below the one before"
    return (Check(right, (first, last, count), Descriptor("BoundsError", text)), fine)


def _one_pattern(size: Any, indices: Variable, pointers: Variable, columns: Variable) -> tuple[Variable, Variable]:
    """The pattern of matrices that stand one below the other and to the right of it, of patterns (m, n), (m, rows + 1).

    Raises:
        BoundsError: an index is no column of its own matrix, or pointers do not run from 0 to n.
    """
    n, rows = indices.shape[-1], _rows_of_each(pointers)
    flat = _joined(indices, -1)
    ends = [cast_variable(slice_axis(pointers, -1, at, 1), "int64") for at in (0, rows)]
    right = logical_and(all_of(equal(ends[0], 0)), all_of(equal(ends[1], as_size_variable(n))))
    text = "sparse: pointers: found some of a batch that do not run from 0 to {0}, the number of elements"
    _, inside = pattern_checks(flat, zeros((1,), dtype="int64"), columns)
    flat = required(flat, inside.condition, inside.values, inside.descriptor)
    flat = required(flat, right, (as_size_variable(n),), Descriptor("BoundsError", text))
    number = expand_dims_at(cast_variable(iota(size), "int64"), (-1,))
    moved = add(cast_variable(_parted(flat, size, n, -1), "int64"), multiply(number, cast_variable(columns, "int64")))
    begins = add(
        cast_variable(slice_axis(pointers, -1, 0, rows), "int64"),
        multiply(number, cast_variable(as_size_variable(n), "int64")),
    )
    last = reshape(cast_variable(as_size_variable(multiply_lengths(size, n)), "int64"), (1,))
    return _joined(moved, -1), concatenate([_joined(begins, -1), last], 0)


def _rows_of_each(pointers: Variable) -> int | Length:
    return longest(subtract_lengths(pointers.shape[-1], 1), 0)


def _joined(x: Variable, axis: int) -> Variable:
    """A batch in front put before an axis and joined with it."""
    moved = moveaxis(x, 0, axis - 1)
    before, n, after = moved.shape[: axis - 1], moved.shape[axis], moved.shape[moved.type.ndim + axis + 1 :]
    return reshape(moved, (*before, multiply_lengths(moved.shape[axis - 1], n), *after))


def _parted(y: Variable, size: Any, each: Any, axis: int) -> Variable:
    """The inverse of `_joined`, for a batch of a size with so much in each."""
    at = y.type.ndim + axis
    parted = reshape(y, (*y.shape[:at], size, each, *y.shape[at + 1 :]))
    return moveaxis(parted, at, 0)


def _rows_of(pointers: Variable) -> int | Length:
    return longest(subtract_lengths(pointers.shape[0], 1), 0)


def _row_count(pointers: TensorType) -> int | Length:
    return longest(subtract_lengths(pointers.shape[0], 1), 0)  # type: ignore[arg-type]


def _summed(pointers: Array, terms: Array, y: Array) -> None:
    """Write the sums of terms row by row into zeros."""
    filled = np.flatnonzero(np.diff(pointers))  # reduceat takes a row of nothing for one of its next term
    if filled.size:
        y[filled] = np.add.reduceat(terms, pointers[:-1][filled])


def _summed_at(places: Array, terms: Array, y: Array) -> None:
    """Add terms at their places."""
    np.add.at(y, places, terms)


def _row_numbers(pointers: Array) -> Array:
    return np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))


def _need_pattern(what: str, data: TensorType, indices: TensorType, pointers: TensorType) -> None:
    """Refuse what are no components of a matrix.

    Raises:
        DtypeError: indices of another dtype.
        ShapeError: they are no vectors, or there is no pointer.
    """
    for v, name in ((indices, "indices"), (pointers, "pointers")):
        if v.dtype not in INDICES:
            raise DtypeError(message(f"{what}: {name}: found {v}, needed int32 or int64"))
        if len(v.shape) != 1:
            raise ShapeError(message(f"{what}: {name}: found {v}, needed a vector"))
    if same(pointers.shape[0], 0) or not data.shape:
        raise ShapeError(
            message(f"{what}: found values {data} and pointers {pointers}, needed one pointer more than rows")
        )
    require_same(data.shape[-1], indices.shape[0], lambda: f"{what}: values and indices")


def _same_lead(what: str, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [require_same(m, n, lambda: f"{what}: leading axes") for m, n in zip(a, b, strict=True)]


def _rows_at(x: Variable, places: Variable) -> Variable:
    """The rows of matrices at positions: (..., n, k)."""
    rows: Variable = Gather((-2,))(x, places)
    ndim = x.type.ndim
    return rows if ndim == 2 else transpose(rows, (*range(1, ndim - 1), 0, ndim - 1))


def _added_at(shape: tuple[Any, ...], terms: Variable, places: Variable) -> Variable:
    """The sums of rows (..., n, k) by their position."""
    ndim = len(shape)
    moved = terms if ndim == 2 else transpose(terms, (ndim - 2, *range(ndim - 2), ndim - 1))
    return Scatter((-2,), add)(zeros(shape, dtype=terms.type.dtype), moved, places)  # type: ignore[no-any-return]


FAMILY = Family("sparse", ops=(SparseProduct, SparseDots))
