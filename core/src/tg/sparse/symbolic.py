"""Elimination order of a symmetric pattern, and the places that elimination fills in: found once, on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable
from tg.sparse.elimination import filled, order_of_least_degree
from tg.sparse.matrices import CSC, CSR
from tg.variables.structure import short

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


class Symbolic(NamedTuple):
    """The pattern of a Cholesky factor: integer arrays, made by `tg.sparse.linalg.symbolic`.

    It is a structure of arrays, so it can be an input of a function as well.
    """

    order: Any
    """The row that is eliminated first, and so on: (n,)."""
    indices: Any
    """Rows of the factor's elements in that order, column by column, ascending from the diagonal: int32."""
    pointers: Any
    """Where each column begins, and behind the last one the number of elements."""
    places: Any
    """For each stored element of the matrix its place in the factor."""
    halves: Any
    """1 for elements on the diagonal and 0.5 for others, each of which is stored twice."""


def symbolic(a: Any) -> Symbolic:
    """Elimination order of a symmetric pattern by approximate minimum degree, and the places that fill in.

    Args:
        a: a CSR or CSC matrix (of tg or SciPy) with both triangles and the whole diagonal, of known places. Its values
            are not read.
    Raises:
        InputError: places are variables; the pattern is not symmetric, lacks a diagonal element or has a place twice.
        ShapeError: it is not square.
    Source:
        Approximate minimum degree: Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17 (1996), 886
    Example:
        >>> import numpy as np, tg
        >>> chain = np.eye(4) * 2 - np.eye(4, k=1) - np.eye(4, k=-1)
        >>> tg.sparse.linalg.symbolic(tg.sparse.csr(chain)).indices.size  # nothing fills in
        7
    """
    indices, pointers, other = _components(a)
    n = len(pointers) - 1
    if other != n:
        raise ShapeError(message(f"symbolic: found {n} rows and {other} columns, needed a square matrix"))
    major = np.repeat(np.arange(n), np.diff(pointers))
    _need_symmetric(indices, major, n)
    order, rows, begins = filled(indices, pointers, order_of_least_degree(indices, pointers))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    low, high = np.minimum(rank[major], rank[indices]), np.maximum(rank[major], rank[indices])
    column = np.repeat(np.arange(n), np.diff(begins))
    places = np.searchsorted(column * n + rows, low * n + high)
    kind = np.int32 if len(rows) < 2**31 else np.int64
    halves = np.where(low == high, 1.0, 0.5)
    return Symbolic(order.astype(kind), rows.astype(kind), begins.astype(kind), places.astype(kind), halves)


def _components(a: Any) -> tuple[Array, Array, int]:
    """Indices and pointers of known places, and the length of the other axis."""
    if hasattr(a, "tocsr") and not isinstance(a, CSR | CSC):
        a = a.tocsr()
        return np.asarray(a.indices), np.asarray(a.indptr), int(a.shape[1])
    if not isinstance(a, CSR | CSC):
        raise InputError(message(f"symbolic: found {short(a)}, needed a CSR or CSC matrix"))
    other = a.columns if isinstance(a, CSR) else a.rows
    parts = [v.data if isinstance(v, Constant) else v for v in (a.indices, a.indptr, other)]
    if any(isinstance(v, Variable) for v in parts):
        hint = "symbolic= takes the pattern as an input, found beforehand of arrays"
        raise InputError(message("symbolic: found places that are variables, needed known ones", hint=hint))
    return np.asarray(parts[0]), np.asarray(parts[1]), int(parts[2])


def _need_symmetric(row: Array, column: Array, n: int) -> None:
    """Refuse a pattern that is no symmetric one.

    Raises:
        InputError: a place is missing, or stored twice.
    """
    if row.size and not (row.min() >= 0 and row.max() < n):
        raise InputError(message(f"symbolic: found an index outside of {n} rows"))
    forth, back = np.sort(row.astype(np.int64) * n + column), np.sort(column * n + row)
    if (forth[1:] == forth[:-1]).any():
        raise InputError(
            message("symbolic: found a place that is stored twice", hint="SciPy's sum_duplicates adds them")
        )
    if (forth != back).any():
        text = "symbolic: found a pattern that is not symmetric, needed both triangles"
        raise InputError(message(text, hint="a + a.T of SciPy's matrices stores both"))
    if np.count_nonzero(row == column) != n:
        raise InputError(message("symbolic: found a diagonal with gaps, needed all its elements stored"))
