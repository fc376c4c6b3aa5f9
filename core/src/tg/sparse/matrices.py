"""Sparse matrices as structures of variables: values beside what says where they stand.

`CSR` stores row by row, `CSC` column by column, `COO` in any order with the row and the column of each. They are
dataclasses, so they are inputs and outputs of functions, carries of loops, and arguments of `tg.tree` as they are. A
place that occurs twice has the sum of its values. Where two matrices meet, or a part is chosen, places that are known
when the program is built are merged and chosen then (`known_places`), and the program computes with values alone.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import BoundsError, DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.creation import ones, zeros
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.indexing import Gather, Scatter, slice_axis, wrap_index
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, squeeze, transpose
from tg.ops.sorting import argsort
from tg.ops.sparse import SparseProduct
from tg.sparse.components import (
    arrays_of,
    bounds,
    coordinates,
    index,
    inside,
    length,
    major,
    of_length,
    plain,
    vector,
    with_same_shape,
)
from tg.sparse.places import Places, integers
from tg.types.dtypes import in_float32
from tg.types.lengths import add as add_lengths
from tg.types.lengths import maximum, minimum
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, promoted
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.types.lengths import Length


class SparseMatrix(abc.ABC):
    """A matrix of which only some elements are stored; operators beside dense arrays, scalars and each other.

    `a @ x`, `x @ a` and `a + x` are dense, `a * x` and `a / x` have the places of a. Of two sparse matrices of known
    places `a + b` has those of both, `a * b` those that are in both, `a @ b` those of products: a CSC matrix of two
    such ones, else a CSR one. Of other places `a + b` is a COO matrix, `a * b` has the places of a, and `a @ b` is
    refused. Sums of products have the dtype that NumPy promotes to.
    """

    __array_ufunc__ = None  # an array beside one leaves the operator to it
    __slots__ = ()
    data: Any

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int | Length, int | Length]:
        """Number of rows and of columns."""

    @property
    @abc.abstractmethod
    def T(self) -> SparseMatrix:
        """The transpose, of the same components."""

    @abc.abstractmethod
    def coordinates(self) -> tuple[Variable, Variable]:
        """Row and column of each stored element, int64 vectors.

        Raises:
            BoundsError: an index is outside, or pointers are not those of a matrix.
        """

    @abc.abstractmethod
    def _times(self, x: Variable, data: Variable) -> Variable:
        """The product of values at these places and a matrix of their dtype."""

    @abc.abstractmethod
    def _count(self) -> int | Length:
        """Number of stored places."""

    @property
    def values(self) -> Variable:
        """The stored elements, a vector.

        Raises:
            ShapeError: there are more or fewer than places.
        """
        return vector(self.data, self._count(), "data")

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def nnz(self) -> int | Length:
        """Number of stored elements, zeros and places that occur twice included."""
        return self.values.shape[0]

    def known_places(self) -> Places | None:
        """Row and column of each stored element and the shape as numbers, or None where one of these is a variable.

        Raises:
            BoundsError: an index is outside.
            InputError: pointers are not those of a matrix.
        """
        return None

    def with_data(self, data: Any) -> Any:
        """A matrix of the same places with other values.

        Example:
            >>> import numpy as np, tg
            >>> a = tg.sparse.csr(np.eye(2))
            >>> a.with_data(a.data * 3).todense().eval().tolist()
            [[3.0, 0.0], [0.0, 3.0]]
        """
        return dataclasses.replace(self, data=data)  # type: ignore[type-var]

    def astype(self, dtype: Any) -> Any:
        """The same matrix in another dtype."""
        return self.with_data(self.values.astype(dtype))

    # --- products ----------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            from tg.sparse.products import matmul

            return matmul(self, other)
        (x, data), dtype = promoted([other, self.values])
        x, data = cast_variable(x, dtype), cast_variable(data, dtype)
        if dtype == "bool":
            raise DtypeError(message("sparse: found bool in @, needed numbers", hint="a.astype(int) has 0 and 1"))
        if x.type.ndim not in (1, 2):
            hint = "tg.vmap(lambda x: a @ x)(x) multiplies a batch"
            raise ShapeError(message(f"sparse: found {x.type} in @, needed a vector or a matrix", hint=hint))
        if x.type.ndim == 2:
            return self._times(x, data)
        return squeeze(self._times(expand_dims_at(x, (-1,)), data), -1)

    def __rmatmul__(self, other: Any) -> Variable:
        x = as_variable(other)
        if x.type.ndim == 1:
            return self.T @ x  # type: ignore[no-any-return]
        if x.type.ndim != 2:
            raise ShapeError(message(f"sparse: found {x.type} in @, needed a vector or a matrix"))
        return transpose(self.T @ transpose(x))

    # --- elements ----------------------------------------------------------------------------------------------------

    def _at_places(self, other: Any) -> Variable:
        """A dense operand at the stored places; a scalar as it is."""
        x = as_variable(other)
        if not x.type.ndim:
            return x
        if x.type.ndim > 2:
            raise ShapeError(message(f"sparse: found {x.type} beside a matrix, needed at most two axes"))
        row, column = self.coordinates()
        whole = broadcast_to(x, self.shape)
        return Gather((-2, -1))(whole, row, column)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            from tg.sparse.selection import common

            return common(self, other)
        return self.with_data(multiply(self.values, self._at_places(other)))

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            raise InputError(message("sparse: found a sparse divisor, needed a dense array"))
        return self.with_data(divide(self.values, self._at_places(other)))

    def __neg__(self) -> Any:
        return self.with_data(negative(self.values))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return add(self.todense(), other)
        both, dtype = promoted([self.values, other.values])
        data = concatenate([cast_variable(v, dtype) for v in both], 0)
        data = with_same_shape(data, self.shape, other.shape, "+")
        places, others = self.known_places(), other.known_places()
        if places is None or others is None:
            (row, column), (other_row, other_column) = self.coordinates(), other.coordinates()
            return COO(data, concatenate([row, other_row], 0), concatenate([column, other_column], 0), *self.shape)
        is_by_column = isinstance(self, CSC) and isinstance(other, CSC)
        whole = places.beside(others)
        return merged(data, whole.T).T if is_by_column else merged(data, whole)

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + (-other if isinstance(other, SparseMatrix) else negative(other))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    # --- parts and sums ----------------------------------------------------------------------------------------------

    def todense(self) -> Variable:
        """The matrix with all its elements.

        Example:
            >>> import tg
            >>> tg.sparse.coo([1.0, 2.0], [0, 0], [1, 1], (1, 2)).todense().eval().tolist()
            [[0.0, 3.0]]
        """
        row, column = self.coordinates()
        return Scatter((-2, -1), add)(zeros(self.shape, dtype=self.values.type.dtype), self.values, row, column)  # type: ignore[no-any-return]

    def sum(self, axis: int | None = None) -> Variable:
        """The sum of all elements, or of those along an axis.

        Shapes:
            None: (); 0: (columns); 1: (rows)
        Source:
            scipy.sparse.csr_array.sum
        """
        if axis is None:
            self.coordinates()
            return sum_of(self.values)
        matrix = self._with_rows_along(axis, "sum")
        data = sum_of(expand_dims_at(self.values, (-1,)), axis=-1)  # in the accumulator's dtype
        return matrix.with_data(data) @ ones((matrix.shape[1],), dtype=data.type.dtype)  # type: ignore[no-any-return]

    def mean(self, axis: int | None = None) -> Variable:
        """The mean of all elements, or of those along an axis, those that are not stored included.

        Shapes:
            None: (); 0: (columns); 1: (rows)
        Source:
            scipy.sparse.csr_array.mean
        Example:
            >>> import numpy as np, tg
            >>> tg.sparse.csr(np.array([[2.0, 0.0], [0.0, 0.0]])).mean(axis=0).eval()
            array([1., 0.])
        """
        if in_float32(self.dtype) != self.dtype:
            return self.astype("float32").mean(axis).astype(self.dtype)  # type: ignore[no-any-return]
        rows, columns = map(as_size_variable, self.shape)
        count = rows * columns if axis is None else rows if axis in (0, -2) else columns
        total = self.sum(axis)
        return divide(total, cast_variable(count, total.type.dtype))

    def max(self, axis: int | None = None) -> Variable:
        """The largest element, or those along an axis; 0 where elements that are not stored are larger.

        Shapes:
            None: (); 0: (columns); 1: (rows)
        Raises:
            ShapeError: there are no elements along the axis.
        Source:
            scipy.sparse.csr_array.max
        Example:
            >>> import numpy as np, tg
            >>> tg.sparse.csr(np.array([[2.0, 0.0], [-3.0, -1.0]])).max(axis=1).eval()
            array([ 2., -1.])
        """
        from tg.sparse.selection import extreme

        return extreme(self, axis, "max")

    def min(self, axis: int | None = None) -> Variable:
        """The smallest element, or those along an axis; 0 where elements that are not stored are smaller.

        Shapes:
            None: (); 0: (columns); 1: (rows)
        Raises:
            ShapeError: there are no elements along the axis.
        Source:
            scipy.sparse.csr_array.min
        Example:
            >>> import numpy as np, tg
            >>> float(tg.sparse.csr(np.array([[2.0, 0.0], [-3.0, -1.0]])).min().eval())
            -3.0
        """
        from tg.sparse.selection import extreme

        return extreme(self, axis, "min")

    def _with_rows_along(self, axis: int, what: str) -> SparseMatrix:
        """The matrix, or the transpose whose rows are its columns.

        Raises:
            ShapeError: there is no such axis.
        """
        if axis not in (0, 1, -1, -2):
            raise ShapeError(message(f"sparse: {what}: axis: found {axis!r}, needed 0 or 1"))
        return self.T if axis in (0, -2) else self

    def diagonal(self, k: int = 0) -> Variable:
        """The elements on a diagonal, a vector: k columns to the right of the main one; empty outside of the matrix.

        Source:
            scipy.sparse.csr_array.diagonal
        Example:
            >>> import numpy as np, tg
            >>> tg.sparse.csr(np.array([[1.0, 5.0], [0.0, 2.0]])).diagonal(1).eval()
            array([5.])
        """
        row, column = self.coordinates()
        low, right = max(-k, 0), max(k, 0)
        n = maximum(minimum(*(subtract_lengths(m, by) for m, by in zip(self.shape, (low, right), strict=True))), 0)
        is_on_it = equal(column - row, np.int64(k))
        base = zeros((size_value(as_size_variable(n) + 1),), dtype=self.values.type.dtype)
        place = wrap_index(where(is_on_it, row - np.int64(low), as_size_variable(n)), base.shape[0], "promise")
        on_it = where(is_on_it, self.values, np.zeros((), self.dtype))
        return Scatter((-1,), add)(base, on_it, place)[:-1]  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        """Parts of the matrix, as `tg.sparse` has them for known places and for others.

        `a[i, j]` of integers or index arrays is dense, `a[i]` and `a[:, j]` are dense vectors. Slices of rows and of
        columns give a sparse matrix, of known places also slices with steps and index arrays on one axis. Of other
        places `a[1:4, 2:5]` keeps all that it does not cut off by rows, with zeros for elements outside.

        Raises:
            InputError: the key is of another kind, or needs places that are known.
            BoundsError: an index is outside.
        Source:
            scipy.sparse.csr_array.__getitem__
        Example:
            >>> import numpy as np, tg
            >>> a = tg.sparse.csr(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
            >>> float(a[0, 2].eval()), a[1].eval().tolist(), a[:, ::2].todense().eval().tolist()
            (2.0, [0.0, 3.0, 0.0], [[1.0, 2.0], [0.0, 0.0]])
        """
        from tg.sparse.selection import selected

        return selected(self, key)

    def _rows(self, part: slice) -> SparseMatrix | None:
        """Rows that follow one another, of places that are not known; None where no layout gives them."""
        return None

    # --- layouts -----------------------------------------------------------------------------------------------------

    def tocoo(self) -> COO:
        """The same elements in the same order, with the row and the column of each."""
        places = self.known_places()
        if places is None:
            return COO(self.values, *self.coordinates(), *self.shape)
        return COO(plain(self.values), integers(places.row), integers(places.column), *places.shape)

    def tocsr(self) -> CSR:
        """The same elements row by row, those of a row by column."""
        places = self.known_places()
        if places is not None:
            return by_rows(self.values, places)
        row, column = self.coordinates()
        by_column = argsort(column, stable=True)
        order = by_column[argsort(row[by_column], stable=True)]
        rows = self.shape[0]
        counts = zeros((size_value(as_size_variable(rows) + 1),), dtype="int64").at[row + 1].add(1)
        return CSR(self.values[order], column[order], counts.cumsum(), self.shape[1])

    def tocsc(self) -> CSC:
        """The same elements column by column, those of a column by row."""
        return self.T.tocsr().T

    def sum_duplicates(self) -> Any:
        """The same matrix with each place once, row by row, or column by column of a CSC matrix.

        Raises:
            InputError: places are variables: how many there are would be known at run time only.
        Source:
            scipy.sparse.csr_array.sum_duplicates, which changes the matrix
        Example:
            >>> import tg
            >>> tg.sparse.coo([1.0, 2.0], [0, 0], [1, 1], (1, 2)).sum_duplicates().data
            array([3.])
        """
        if isinstance(self, CSC):
            return self.T.sum_duplicates().T
        places = self.known_places()
        if places is None:
            raise InputError(message("sum_duplicates: found places that are variables, needed known ones"))
        return merged(self.values, places)


@final
@dataclasses.dataclass(frozen=True, eq=False)
class CSR(SparseMatrix):
    """A matrix that is stored row by row: the elements of row i are at indptr[i] to indptr[i + 1]."""

    data: Any
    indices: Any
    """The column of each element, int32 or int64."""
    indptr: Any
    """Where each row begins, and behind the last one the number of elements."""
    columns: Any

    @property
    def shape(self) -> tuple[int | Length, int | Length]:
        """Number of rows and of columns."""
        return major(self.indptr), length(self.columns)

    @property
    def T(self) -> CSC:
        """The transpose, of the same components."""
        return CSC(self.data, self.indices, self.indptr, self.columns)

    def coordinates(self) -> tuple[Variable, Variable]:
        """Row and column of each stored element, int64 vectors."""
        return coordinates(self.indices, self.indptr, self.columns)

    def _count(self) -> int | Length:
        return index(self.indices).shape[0]

    def _times(self, x: Variable, data: Variable) -> Variable:
        whole = of_length(x, self.columns)
        return SparseProduct(False)(data, index(self.indices), index(self.indptr), whole)  # type: ignore[no-any-return]

    def known_places(self) -> Places | None:
        """Row and column of each stored element and the shape as numbers, or None where one of these is a variable."""
        return places_of(self.indices, self.indptr, self.columns)

    def _rows(self, part: slice) -> CSR:
        low, count = bounds(part, self.shape[0])
        pointers = slice_axis(index(self.indptr), -1, low, add_lengths(count, 1))
        first, last = pointers[0], pointers[-1]
        return CSR(self.values[first:last], index(self.indices)[first:last], pointers - first, self.columns)


@final
@dataclasses.dataclass(frozen=True, eq=False)
class CSC(SparseMatrix):
    """A matrix that is stored column by column: the elements of column j are at indptr[j] to indptr[j + 1]."""

    data: Any
    indices: Any
    """The row of each element, int32 or int64."""
    indptr: Any
    """Where each column begins, and behind the last one the number of elements."""
    rows: Any

    @property
    def shape(self) -> tuple[int | Length, int | Length]:
        """Number of rows and of columns."""
        return length(self.rows), major(self.indptr)

    @property
    def T(self) -> CSR:
        """The transpose, of the same components."""
        return CSR(self.data, self.indices, self.indptr, self.rows)

    def coordinates(self) -> tuple[Variable, Variable]:
        """Row and column of each stored element, int64 vectors."""
        column, row = coordinates(self.indices, self.indptr, self.rows)
        return row, column

    def _count(self) -> int | Length:
        return index(self.indices).shape[0]

    def known_places(self) -> Places | None:
        """Row and column of each stored element and the shape as numbers, or None where one of these is a variable."""
        places = places_of(self.indices, self.indptr, self.rows)
        return None if places is None else places.T

    def _times(self, x: Variable, data: Variable) -> Variable:
        count = as_size_variable(self.rows)
        return SparseProduct(True)(data, index(self.indices), index(self.indptr), x, count)  # type: ignore[no-any-return]


@final
@dataclasses.dataclass(frozen=True, eq=False)
class COO(SparseMatrix):
    """A matrix of elements in any order, with the row and the column of each."""

    data: Any
    row: Any
    col: Any
    rows: Any
    columns: Any

    @property
    def shape(self) -> tuple[int | Length, int | Length]:
        """Number of rows and of columns."""
        return length(self.rows), length(self.columns)

    @property
    def T(self) -> COO:
        """The transpose, of the same components."""
        return COO(self.data, self.col, self.row, self.columns, self.rows)

    def coordinates(self) -> tuple[Variable, Variable]:
        """Row and column of each stored element, int64 vectors."""
        column = vector(self.col, self._count(), "col")
        return inside(self.row, self.rows, "rows"), inside(column, self.columns, "columns")

    def _count(self) -> int | Length:
        return index(self.row).shape[0]

    def known_places(self) -> Places | None:
        """Row and column of each stored element and the shape as numbers, or None where one of these is a variable."""
        parts = arrays_of(self.row, self.col, self.rows, self.columns)
        return None if parts is None else Places(parts[0], parts[1], (int(parts[2]), int(parts[3])))

    def _times(self, x: Variable, data: Variable) -> Variable:
        row, column = self.coordinates()
        terms = multiply(expand_dims_at(data, (-1,)), Gather((-2,))(of_length(x, self.columns), column))
        return Scatter((-2,), add)(zeros((self.shape[0], x.shape[-1]), dtype=x.type.dtype), terms, row)  # type: ignore[no-any-return]


# --- known places ----------------------------------------------------------------------------------------------------


def places_of(indices: Any, indptr: Any, columns: Any) -> Places | None:
    """The places of known components of a matrix that is stored by rows; None where one is a variable.

    Raises:
        BoundsError: an index is outside, or pointers are not those of a matrix.
    """
    parts = arrays_of(indices, indptr, columns)
    if parts is None:
        return None
    minor, pointers, other = parts
    counts = np.diff(pointers)
    if not pointers.size or pointers[0] or pointers[-1] != len(minor) or (counts < 0).any():
        text = f"sparse: pointers: found {short(pointers)}, needed 0 to {len(minor)}, none below the one before"
        raise BoundsError(message(text))
    return Places(np.repeat(np.arange(len(counts)), counts), minor, (len(counts), int(other)))


def by_rows(values: Variable, places: Places) -> CSR:
    """Elements at known places, row by row, those of a row by column; each is stored as it is."""
    order = np.argsort(places.keys, kind="stable")
    there, is_sorted = places.taken(order), np.array_equal(order, np.arange(len(order)))
    data = plain(values)
    return CSR(data if is_sorted else data[order], integers(there.column), integers(there.pointers()), places.shape[1])


def merged(values: Variable, places: Places) -> CSR:
    """Elements at known places, row by row, those of one place added up."""
    whole, number = places.merged()
    if len(whole.row) == len(number):
        return by_rows(values, places)
    data = plain(values)
    if isinstance(data, Variable):
        summed: Any = zeros((len(whole.row),), dtype=values.type.dtype).at[number].add(data)
    else:
        summed = np.zeros(len(whole.row), data.dtype)
        np.add.at(summed, number, data)
    return CSR(summed, integers(whole.column), integers(whole.pointers()), places.shape[1])
