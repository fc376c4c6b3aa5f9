"""Elimination order of a symmetric pattern, and the places that elimination fills in: found once, on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.ops.assumptions import required
from tg.ops.reduction import all as all_of
from tg.ops.shape import with_lengths
from tg.ops.sparse import row_numbers
from tg.sparse.components import arrays_of
from tg.sparse.elimination import filled, order_of_least_degree
from tg.sparse.matrices import CSC, CSR
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]

OTHER: Final = "sparse factor: found the pattern of a matrix with elements at other places"
OTHER_HINT: Final = "tg.sparse.linalg.symbolic(a) is the pattern of a"


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
        a = a if getattr(a, "format", None) == "csc" else a.tocsr()
        return np.asarray(a.indices), np.asarray(a.indptr), int(a.shape[a.format == "csr"])
    if not isinstance(a, CSR | CSC):
        raise InputError(message(f"symbolic: found {short(a)}, needed a CSR or CSC matrix"))
    other = a.columns if isinstance(a, CSR) else a.rows
    parts = arrays_of(a.indices, a.indptr, other)
    if parts is None:
        hint = "pattern= takes the pattern as an input, found beforehand of arrays"
        raise InputError(message("symbolic: found places that are variables, needed known ones", hint=hint))
    return parts[0], parts[1], int(parts[2])


def of_pattern(data: Variable, a: CSR | CSC, pattern: Symbolic) -> Variable:
    """The elements of a matrix, of which it is made sure that a pattern is that of their places.

    Each element is looked up in the factor: its row and its column there, in the order of elimination, are its own.

    Raises:
        InputError: one is at another place.
        ShapeError: there are more or fewer rows or elements.
    """
    order, indices, pointers, places, halves = map(as_variable, pattern)
    for n in a.shape:
        order = with_lengths(order, {-1: n}, "sparse factor: order of the pattern")
    for v in (places, halves):
        data = with_lengths(data, {-1: v.shape[0]}, "sparse factor: elements of the pattern")
    arrays = arrays_of(a.indices, a.indptr, order, indices, pointers, places, halves)
    if arrays is None:
        own = row_numbers(pointers, indices.shape[0])
        is_own = all_of(_is_at(*a.coordinates(), order, indices, own, places, halves))
        return required(data, is_own, (), Descriptor("InputError", OTHER, OTHER_HINT))
    if not _are_at(*arrays):
        raise InputError(message(OTHER, hint=OTHER_HINT))
    return data


def _are_at(
    minor: Array, begins: Array, order: Array, indices: Array, pointers: Array, places: Array, halves: Array
) -> bool:
    """Whether all elements of a matrix, of known indices and pointers, are at their places of the factor."""
    if places.size and not (places.min() >= 0 and places.max() < len(indices)):
        return False
    own, major = (np.repeat(np.arange(len(v) - 1), np.diff(v)) for v in (pointers, begins))
    return bool(np.all(_is_at(major, minor, order, indices, own, places, halves)))


def _is_at(row: Any, column: Any, order: Any, indices: Any, own: Any, places: Any, halves: Any) -> Any:
    """Whether each element of a matrix is at its place of the factor: of arrays, or of variables.

    Args:
        own: the column of each element of the factor.
    """
    one, other = order[indices[places]], order[own[places]]
    is_there = (np.minimum(one, other) == np.minimum(row, column)) & (np.maximum(one, other) == np.maximum(row, column))
    return is_there & (halves == np.where(row == column, 1.0, 0.5))


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
