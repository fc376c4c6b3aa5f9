"""Sparse matrices of components, of `scipy.sparse`, and of dense arrays."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import numpy as np

from tg.errors import BackendUnavailable, InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.ops.creation import iota
from tg.ops.elementwise.cast import cast_variable
from tg.ops.selection import nonzero
from tg.ops.shape import concatenate, with_lengths
from tg.sparse.components import vector
from tg.sparse.matrices import COO, CSC, CSR, SparseMatrix
from tg.variables.conversion import as_variable
from tg.variables.structure import short


def scipy_sparse() -> Any:
    """The module `scipy.sparse`.

    Raises:
        BackendUnavailable: SciPy is not installed.
    """
    try:
        return importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise BackendUnavailable(message("sparse: found no SciPy, needed it", hint="pip install scipy")) from error


def csr(data: Any, indices: Any = None, indptr: Any = None, shape: Any = None) -> CSR:
    """A matrix stored row by row: of components, of a matrix of SciPy or tg, or of a dense array.

    Args:
        data: the elements, a vector; or the whole matrix. A dense array has its elements stored that are not 0.
        indices: the column of each, integers.
        indptr: where each row begins, and behind the last one the number of elements.
        shape: (rows, columns), ints or integer scalars. That of rows may be None: pointers say it.
    Raises:
        InputError: components are missing.
        ShapeError: pointers are not one more than rows, or there are not as many elements as indices.
    Source:
        scipy.sparse.csr_array
    Example:
        >>> import tg
        >>> a = tg.sparse.csr([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3], (2, 3))
        >>> (a @ [1.0, 10.0, 100.0]).eval()
        array([201.,  30.])
    """
    if indices is None:
        return _converted("csr", data)  # type: ignore[no-any-return]
    rows, columns = _shape("csr", indptr, shape)
    matrix = CSR(_leaf(data), _leaf(indices), _pointers("csr", _leaf(indptr), rows), columns)
    _need_lengths(matrix)
    return matrix


def csc(data: Any, indices: Any = None, indptr: Any = None, shape: Any = None) -> CSC:
    """A matrix stored column by column: as `csr`, with the row of each element.

    Args:
        data: the elements, a vector; or the whole matrix.
        indices: the row of each, integers.
        indptr: where each column begins, and behind the last one the number of elements.
        shape: (rows, columns), ints or integer scalars. That of columns may be None: pointers say it.
    Raises:
        InputError, ShapeError: as `csr`.
    Source:
        scipy.sparse.csc_array
    Example:
        >>> import tg
        >>> tg.sparse.csc([1.0, 2.0], [1, 0], [0, 1, 2], (2, 2)).todense().eval().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """
    if indices is None:
        return _converted("csc", data)  # type: ignore[no-any-return]
    rows, columns = _shape("csc", indptr, shape)
    matrix = CSC(_leaf(data), _leaf(indices), _pointers("csc", _leaf(indptr), columns), rows)
    _need_lengths(matrix)
    return matrix


def coo(data: Any, row: Any = None, col: Any = None, shape: Any = None) -> COO:
    """A matrix of elements in any order: of components, of a matrix of SciPy or tg, or of a dense array.

    Args:
        data: the elements, a vector; or the whole matrix.
        row: the row of each, integers.
        col: the column of each.
        shape: (rows, columns), ints or integer scalars.
    Raises:
        InputError: components are missing.
        ShapeError: their lengths differ.
    Source:
        scipy.sparse.coo_array
    Example:
        >>> import tg
        >>> tg.sparse.coo([1.0, 2.0], [1, 1], [0, 0], (2, 1)).sum(axis=0).eval()
        array([3.])
    """
    if row is None:
        return _converted("coo", data)  # type: ignore[no-any-return]
    if col is None or shape is None or any(v is None for v in shape):
        raise InputError(message("coo: found no columns or no shape, needed data, row, col and shape"))
    rows, columns = _pair("coo", shape)
    matrix = COO(_leaf(data), _leaf(row), _leaf(col), rows, columns)
    _need_lengths(matrix)
    return matrix


def from_dense(x: Any, size: Any = None) -> CSR:
    """The elements of a dense matrix that are not 0, row by row.

    Args:
        size: how many elements are stored, zeros behind the last row's where there are fewer; without it, all that are
            not 0, whose number is known at run time only.
    Shapes:
        x (rows, columns)
    Raises:
        NoRuleError: the backend has no lengths that depend on values, and there is no `size`.
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> a = tg.sparse.from_dense(x, size=3)
        >>> tg.function([x], a.data)([[0.0, 5.0], [7.0, 0.0]])
        array([5., 7., 0.])
    """
    v = as_variable(x)
    if v.type.ndim != 2:
        raise ShapeError(message(f"from_dense: found {v.type}, needed a matrix"))
    rows, columns = v.shape
    row, column = nonzero(v, size=size, fill_value=0)
    if size is None:
        return COO(v[row, column], row, column, rows, columns).tocsr()
    count = (v != 0).sum()
    values = v[row, column] * cast_variable(iota(row.shape[0]) < count, v.type.dtype)
    begins = concatenate([as_variable(np.zeros(1, np.int64)), (v != 0).sum(axis=1).cumsum()], 0)
    last = cast_variable(as_size_variable(row.shape[0]), "int64")
    begins = begins.clip(0, last)
    pointers = begins.at[-1].set(last)  # what fills up stands in the last row, as zeros in column 0
    return CSR(values, column, pointers, columns)


def as_sparse(matrix: Any) -> SparseMatrix:
    """A matrix of tg as it is; one of SciPy in its layout, or CSR where tg has not got that; an array as CSR."""
    if isinstance(matrix, SparseMatrix):
        return matrix
    layout = getattr(matrix, "format", "csr")
    return _converted(layout if layout in ("csc", "coo") else "csr", matrix)  # type: ignore[no-any-return]


def to_scipy(matrix: SparseMatrix) -> Any:
    """The matrix of `scipy.sparse`, of components that are arrays or known.

    Raises:
        InputError: a component is a variable.
        BackendUnavailable: SciPy is not installed.
    Example:
        >>> import numpy as np, tg
        >>> tg.sparse.to_scipy(tg.sparse.csr(np.eye(2))).nnz
        2
    """
    parts = {f.name: _array(getattr(matrix, f.name), f.name) for f in dataclasses.fields(matrix)}  # type: ignore[arg-type]
    data, module = parts["data"], scipy_sparse()
    if isinstance(matrix, COO):
        shape = (int(parts["rows"]), int(parts["columns"]))
        return module.coo_array((data, (parts["row"], parts["col"])), shape=shape)
    major, other = len(parts["indptr"]) - 1, int(parts["columns"] if isinstance(matrix, CSR) else parts["rows"])
    components = (data, parts["indices"], parts["indptr"])
    if isinstance(matrix, CSR):
        return module.csr_array(components, shape=(major, other))
    return module.csc_array(components, shape=(other, major))


def _array(value: Any, name: str) -> Any:
    if isinstance(value, Variable) and not isinstance(value, Constant):
        text = f"to_scipy: {name}: found {value.type}, needed an array"
        raise InputError(message(text, hint="call it on what a function of tg gives"))
    return np.asarray(value.data if isinstance(value, Constant) else value)


# --- arguments -------------------------------------------------------------------------------------------------------


def _converted(what: str, matrix: Any) -> Any:
    """A whole matrix in a layout."""
    if isinstance(matrix, SparseMatrix):
        return getattr(matrix, f"to{what}")()
    if isinstance(matrix, Variable):
        return getattr(from_dense(matrix), f"to{what}")()
    if hasattr(matrix, f"to{what}"):
        return _of_scipy(what, getattr(matrix, f"to{what}")())
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise InputError(message(f"{what}: found {short(matrix)}, needed components or a matrix"))
    row, column = np.nonzero(array)
    whole = COO(array[row, column], row, column, *array.shape)
    if what == "coo":
        return whole
    major, minor = (row, column) if what == "csr" else (column, row)
    order = np.argsort(major, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=array.shape[what == "csc"]))])
    kind, other = (CSR, array.shape[1]) if what == "csr" else (CSC, array.shape[0])
    return kind(array[row, column][order], minor[order], pointers, other)


def _leaf(component: Any) -> Any:
    """A component that is one leaf of the matrix: of a list an array; an array or a variable as it is."""
    if not isinstance(component, list | tuple):
        return component
    vector = as_variable(component)
    return vector.data if isinstance(vector, Constant) else vector


def _need_lengths(matrix: SparseMatrix) -> None:
    """Refuse components whose lengths are known to differ.

    Raises:
        ShapeError: they differ.
    """
    count = matrix.values.shape[0]
    if isinstance(matrix, COO):
        vector(matrix.col, count, "col")


def _of_scipy(what: str, matrix: Any) -> Any:
    if len(matrix.shape) != 2:
        raise InputError(message(f"{what}: found an array of {len(matrix.shape)} axes, needed a matrix"))
    rows, columns = map(int, matrix.shape)
    if what == "coo":
        return COO(matrix.data, matrix.row, matrix.col, rows, columns)
    if what == "csr":
        return CSR(matrix.data, matrix.indices, matrix.indptr, columns)
    return CSC(matrix.data, matrix.indices, matrix.indptr, rows)


def _pair(what: str, shape: Any) -> tuple[Any, Any]:
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise InputError(message(f"{what}: shape: found {short(shape)}, needed (rows, columns)"))
    if any(isinstance(length, int | np.integer) and length < 0 for length in shape):
        raise ShapeError(message(f"{what}: shape: found {short(shape)}, needed lengths of at least 0"))
    return shape[0], shape[1]


def _shape(what: str, indptr: Any, shape: Any) -> tuple[Any, Any]:
    if indptr is None or shape is None:
        raise InputError(message(f"{what}: found no pointers or no shape, needed data, indices, indptr and shape"))
    rows, columns = _pair(what, shape)
    if (columns if what == "csr" else rows) is None:
        text = f"{what}: shape: found None beside pointers, needed the number that these do not say"
        raise InputError(message(text))
    return rows, columns


def _pointers(what: str, indptr: Any, count: Any) -> Any:
    """Pointers, of which it is made sure that there is one more than rows.

    Raises:
        ShapeError: there are others.
    """
    if count is None:
        return indptr
    n = as_variable(indptr).shape
    if len(n) == 1 and isinstance(count, int | np.integer) and isinstance(n[0], int):
        if n[0] != count + 1:
            raise ShapeError(message(f"{what}: indptr: found {n[0]} pointers, needed {count + 1}, one more than rows"))
        return indptr
    size = size_value(as_size_variable(count) + 1) if not isinstance(count, int) else count + 1
    return with_lengths(as_variable(indptr), {-1: size}, f"{what}: indptr")
