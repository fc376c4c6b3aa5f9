"""Sparse matrices by their structure: diagonals, blocks beside each other, Kronecker products, triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.creation import iota, ones
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less_equal, where
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, reshape, with_lengths
from tg.sparse.components import index, length, plain, with_equal
from tg.sparse.making import as_sparse, csr
from tg.sparse.matrices import COO, CSC, CSR, SparseMatrix, by_rows
from tg.sparse.places import Places
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import add as add_lengths
from tg.types.lengths import minimum, same
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, promoted
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.variables.like import ShapeLike


def eye(m: Any, n: Any = None, k: int = 0, dtype: Any = "float64") -> CSR:
    """Ones on a diagonal.

    Args:
        m: number of rows; a length or an integer scalar for a square matrix with its main diagonal.
        n: of columns; as many by default.
        k: by how many columns the diagonal is to the right of the main one.
    Raises:
        InputError: numbers of rows and columns of another diagonal are not known.
        ShapeError: one is below 0.
    Source:
        scipy.sparse.eye_array
    Example:
        >>> import tg
        >>> tg.sparse.eye(2, 3, k=1).todense().eval().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = m if n is None else n
    if isinstance(m, int | np.integer) and isinstance(columns, int | np.integer):
        if m < 0 or columns < 0:
            raise ShapeError(message(f"eye: found shape ({m}, {columns}), needed lengths of at least 0"))
        row = np.arange(max(-k, 0), max(min(int(m), int(columns) - k), -k, 0))
        return by_rows(as_variable(np.ones(len(row), numpy_dtype(dtype))), Places(row, row + k, (int(m), int(columns))))
    if n is not None or k:
        raise InputError(message(f"eye: found shape ({short(m)}, {short(n)}), needed numbers beside k = {k}"))
    return diags([ones((length(m),), dtype=dtype)])  # type: ignore[return-value]


def diags(diagonals: Any, offsets: Any = 0, shape: ShapeLike | None = None) -> CSR | COO:
    """A matrix of its diagonals.

    Args:
        diagonals: a vector, or one for each offset; a scalar, or one element, is repeated.
        offsets: an int, or several: by how many columns each is to the right of the main one.
        shape: (rows, columns); that of a square matrix for the first diagonal by default.
    Shapes:
        CSR of lengths that are known, or of a main diagonal alone; else COO
    Raises:
        InputError: there are not as many diagonals as offsets; an offset occurs twice.
        ShapeError: a diagonal has another length, or is outside.
    Source:
        scipy.sparse.diags_array
    Example:
        >>> import tg
        >>> x = tg.vector("x", shape=(3,))
        >>> a = tg.sparse.diags([x, -1.0], offsets=[0, 1], shape=(3, 3))
        >>> tg.function([x], a.todense())([2.0, 3.0, 4.0]).tolist()
        [[2.0, -1.0, 0.0], [0.0, 3.0, -1.0], [0.0, 0.0, 4.0]]
    """
    numbers = [offsets] if isinstance(offsets, int | np.integer) else list(offsets)
    lines = _lines(diagonals, isinstance(offsets, int | np.integer), len(numbers))
    if len(lines) != len(numbers) or len(set(numbers)) != len(numbers) or not numbers:
        raise InputError(message(f"diags: found {len(lines)} diagonals for offsets {numbers}, needed one for each"))
    lines, dtype = promoted(lines)
    lengths: Any = shape
    if lengths is None:
        n = add_lengths(lines[0].shape[0] if lines[0].type.ndim else 1, abs(int(numbers[0])))
        lengths = (n, n)
    rows, columns = map(length, lengths)
    begins = [(max(-k, 0), max(k, 0)) for k in map(int, numbers)]
    counts = [minimum(subtract_lengths(rows, r), subtract_lengths(columns, c)) for r, c in begins]
    if any(isinstance(count, int) and count <= 0 for count in counts):
        raise ShapeError(message(f"diags: found offsets {numbers} of shape {(rows, columns)}, needed diagonals inside"))
    parts = [_filled(cast_variable(v, dtype), n) for v, n in zip(lines, counts, strict=True)]
    data = concatenate(parts, 0) if len(parts) > 1 else parts[0]
    if all(isinstance(n, int) for n in (rows, columns)):
        row, column = (
            np.concatenate([begin[axis] + np.arange(int(n)) for begin, n in zip(begins, counts, strict=True)])
            for axis in (0, 1)
        )
        return by_rows(data, Places(row, column, (rows, columns)))
    if numbers == [0] and same(rows, columns):
        return CSR(data, iota(rows), iota(add_lengths(rows, 1)), columns)
    there = [
        concatenate([iota(n) + np.int64(begin[axis]) for begin, n in zip(begins, counts, strict=True)], 0)
        for axis in (0, 1)
    ]
    return COO(data, there[0], there[1], rows, columns)


def _lines(diagonals: Any, is_one: bool, count: int) -> list[Any]:
    """Diagonals as a list: SciPy takes a vector, and a sequence of one, for a single offset."""
    if is_one and not (isinstance(diagonals, list | tuple) and len(diagonals) == 1):
        return [as_variable(diagonals)]
    if isinstance(diagonals, Variable | np.ndarray):
        return [diagonals[i] for i in range(count)] if diagonals.ndim > 1 or count > 1 else [diagonals]
    return [as_variable(v) for v in diagonals]


def _filled(line: Variable, n: Any) -> Variable:
    """A diagonal of n elements.

    Raises:
        ShapeError: it has another length.
    """
    if line.type.ndim > 1:
        raise ShapeError(message(f"diags: found a diagonal {line.type}, needed a vector or a scalar"))
    if not line.type.ndim or line.type.static.shape == (1,):
        return broadcast_to(line, (n,))
    return with_lengths(line, {-1: n}, "diags: diagonal")


def block_diag(matrices: Sequence[Any]) -> CSR:
    """Sparse matrices one below the other and to the right of it.

    Raises:
        InputError: there are none.
    Source:
        scipy.sparse.block_diag
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.block_diag([tg.sparse.csr(np.ones((1, 2))), tg.sparse.csr(np.ones((2, 1)))])
        >>> a.todense().eval().tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    return _one_below_the_other("block_diag", [_by_rows(m) for m in matrices], is_diagonal=True)


def vstack(matrices: Sequence[Any]) -> CSR:
    """Sparse matrices one below the other.

    Shapes:
        (m1, n), (m2, n), … -> (m1 + m2 + …, n)
    Raises:
        InputError: there are none.
        ShapeError: numbers of columns differ.
    Source:
        scipy.sparse.vstack
    Example:
        >>> import tg
        >>> tg.sparse.vstack([tg.sparse.eye(1, 2), tg.sparse.eye(2)]).todense().eval().tolist()
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    return _one_below_the_other("vstack", [_by_rows(m) for m in matrices], words="columns")


def hstack(matrices: Sequence[Any]) -> CSR | CSC:
    """Sparse matrices beside each other.

    Shapes:
        (m, n1), (m, n2), … -> (m, n1 + n2 + …), of layout CSR of places that are known, else CSC
    Raises:
        InputError: there are none.
        ShapeError: numbers of rows differ.
    Source:
        scipy.sparse.hstack
    Example:
        >>> import tg
        >>> tg.sparse.hstack([tg.sparse.eye(2), tg.sparse.eye(2, 1)]).todense().eval().tolist()
        [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    whole = _one_below_the_other("hstack", [_by_rows(as_sparse(m).T) for m in matrices], words="rows").T
    return whole if whole.known_places() is None else whole.tocsr()


def _by_rows(matrix: Any) -> CSR:
    return matrix if isinstance(matrix, CSR) else csr(matrix)


def _one_below_the_other(what: str, parts: list[CSR], *, is_diagonal: bool = False, words: str = "") -> CSR:
    """Rows of matrices, one after the other; those of a block diagonal matrix each in columns of its own.

    Raises:
        InputError: there are none.
        ShapeError: numbers of columns differ.
    """
    if not parts:
        raise InputError(message(f"{what}: found no matrices, needed at least one"))
    values, dtype = promoted([m.values for m in parts])
    indices: list[Any] = []
    pointers: list[Any] = [np.zeros(1, np.int64)]
    columns: Any = 0
    count: Any = 0
    text = f"{what}: found {{0}} and {{1}} {words}, needed one number"
    for k, m in enumerate(parts):
        if is_diagonal:
            indices.append(_moved(m.indices, columns))
            columns = add_lengths(columns, m.shape[1])
        else:
            values[k] = with_equal(values[k], [(parts[0].shape[1], m.shape[1])], text)
            indices.append(_moved(m.indices, 0))
        pointers.append(_moved(m.indptr, count)[1:])
        count = add_lengths(count, m.values.shape[0])
    data = concatenate([cast_variable(v, dtype) for v in values], 0)
    return CSR(data, _joined(indices), _joined(pointers), columns if is_diagonal else parts[0].columns)


def _moved(indices: Any, by: Any) -> Any:
    """Indices or pointers that count from elsewhere, int64: an array of known ones."""
    v = plain(index(indices))
    if isinstance(v, Variable) or not isinstance(by, int):
        return cast_variable(as_variable(v), "int64") + as_size_variable(by)
    return v.astype(np.int64) + by


def _joined(parts: list[Any]) -> Any:
    """Vectors one behind the other: an array of known ones."""
    if any(isinstance(v, Variable) for v in parts):
        return concatenate([as_variable(v) for v in parts], 0)
    return np.concatenate(parts)


def kron(a: Any, b: Any) -> CSR | COO:
    """The Kronecker product of two sparse matrices: b at each element of a, times it.

    Shapes:
        a (m, n), b (p, q) -> (m p, n q), of layout CSR of places that are known, else COO
    Source:
        scipy.sparse.kron
    Example:
        >>> import numpy as np, tg
        >>> tg.sparse.kron(tg.sparse.eye(2), tg.sparse.csr(np.array([[1.0, 2.0]]))).todense().eval().tolist()
        [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    a, b = as_sparse(a), as_sparse(b)
    (x, y), dtype = promoted([a.values, b.values])
    data = multiply(expand_dims_at(cast_variable(x, dtype), (-1,)), expand_dims_at(cast_variable(y, dtype), (-2,)))
    data = reshape(data, (multiply_lengths(x.shape[0], y.shape[0]),))
    places, others = a.known_places(), b.known_places()
    if places is not None and others is not None:
        (m, n), (p, q) = places.shape, others.shape
        row = (places.row.astype(np.int64)[:, None] * p + others.row).reshape(-1)
        column = (places.column.astype(np.int64)[:, None] * q + others.column).reshape(-1)
        return by_rows(data, Places(row, column, (m * p, n * q)))
    shape = [multiply_lengths(m, n) for m, n in zip(a.shape, b.shape, strict=True)]
    indices = []
    for outer, inner, n in zip(a.coordinates(), b.coordinates(), b.shape, strict=True):
        whole = expand_dims_at(outer, (-1,)) * as_size_variable(n) + expand_dims_at(inner, (-2,))
        indices.append(reshape(whole, data.shape))
    return COO(data, *indices, *shape)


def tril(a: Any, k: int = 0) -> Any:
    """The elements on and below a diagonal; of places that are not known the others are stored as zeros.

    Args:
        k: by how many columns the diagonal is to the right of the main one.
    Source:
        scipy.sparse.tril
    Example:
        >>> import numpy as np, tg
        >>> tg.sparse.tril(tg.sparse.csr(np.ones((2, 2)))).todense().eval().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle(as_sparse(a), k, less_equal, np.less_equal)


def triu(a: Any, k: int = 0) -> Any:
    """The elements on and above a diagonal; of places that are not known the others are stored as zeros.

    Args:
        k: by how many columns the diagonal is to the right of the main one.
    Source:
        scipy.sparse.triu
    Example:
        >>> import numpy as np, tg
        >>> tg.sparse.triu(tg.sparse.csr(np.ones((2, 2))), k=1).todense().eval().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    return _triangle(as_sparse(a), k, greater_equal, np.greater_equal)


def _triangle(a: SparseMatrix, k: int, compare: Any, compare_arrays: Any) -> Any:
    if isinstance(a, CSC):
        turned = {less_equal: (greater_equal, np.greater_equal), greater_equal: (less_equal, np.less_equal)}
        return _triangle(a.T, -k, *turned[compare]).T
    places = a.known_places()
    if places is None:
        row, column = a.coordinates()
        is_in = compare(column - row, np.int64(k))
        return a.with_data(where(is_in, a.values, np.zeros((), numpy_dtype(a.values.type.dtype))))
    order = np.flatnonzero(compare_arrays(places.column.astype(np.int64) - places.row, k))
    return by_rows(as_variable(plain(a.values)[order]), places.taken(order))
