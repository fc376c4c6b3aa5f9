"""Places of stored elements that are known while a program is built, as arrays: sorted, merged, chosen, multiplied."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.errors import BoundsError, message

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


@final
@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """Row and column of each stored element, in the order in which these are stored, and the shape of the matrix.

    Raises:
        BoundsError: one is outside.
    """

    row: Array
    column: Array
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        for index, n, what in zip((self.row, self.column), self.shape, ("rows", "columns"), strict=True):
            if index.size and not (index.min() >= 0 and index.max() < n):
                worst = index.min() if index.min() < 0 else index.max()
                raise BoundsError(message(f"sparse: index {worst} is out of bounds for {n} {what}"))

    @property
    def T(self) -> Places:
        """The places of the transpose."""
        return Places(self.column, self.row, self.shape[::-1])

    @property
    def keys(self) -> Array:
        """One integer for each element, ascending row by row."""
        keys: Array = self.row.astype(np.int64) * self.shape[1] + self.column
        return keys

    def of_keys(self, keys: Array) -> Places:
        """The places of keys, in a matrix of this shape."""
        row, column = np.divmod(keys, max(self.shape[1], 1))
        return Places(row, column, self.shape)

    def pointers(self) -> Array:
        """The begin of each row, of places that stand row by row."""
        pointers: Array = np.searchsorted(self.row, np.arange(self.shape[0] + 1))
        return pointers

    def merged(self) -> tuple[Places, Array]:
        """The distinct places row by row, and for each element the number of its own."""
        keys, number = np.unique(self.keys, return_inverse=True)
        return self.of_keys(keys), number.reshape(-1)

    def beside(self, other: Places) -> Places:
        """These places, and behind them those of a matrix of the same shape."""
        row, column = np.concatenate([self.row, other.row]), np.concatenate([self.column, other.column])
        return Places(row, column, self.shape)

    def taken(self, order: Array) -> Places:
        """The places of some elements."""
        return Places(self.row[order], self.column[order], self.shape)


def integers(index: Array) -> Array:
    """Indices or pointers in the dtype in which they are stored."""
    return index.astype(np.int32 if not index.size or index.max() < 2**31 else np.int64, copy=False)


def repeated(index: Array, wanted: Array, n: int) -> tuple[Array, Array]:
    """The elements of lines of a matrix, one line after the other.

    Args:
        index: the line of each element, below n.
        wanted: lines, in any order, which may occur more than once.
    Returns:
        For each element that is taken its number, and that of the line among those wanted.
    """
    order = np.argsort(index, kind="stable")
    begins = np.searchsorted(index[order], np.arange(n + 1))
    counts = np.diff(begins)[wanted]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[within + np.repeat(begins[wanted], counts)], np.repeat(np.arange(len(wanted)), counts)


def chosen(places: Places, rows: Array | None, columns: Array | None) -> tuple[Places, Array]:
    """The places in a matrix of some rows and columns, and the number of each element; None stands for all."""
    (row, column), shape = (places.row, places.column), list(places.shape)
    order = np.arange(len(row))
    if rows is not None:
        order, row = repeated(row, rows, shape[0])
        column, shape[0] = column[order], len(rows)
    if columns is not None:
        more, column = repeated(column, columns, shape[1])
        order, row, shape[1] = order[more], row[more], len(columns)
    return Places(row, column, (shape[0], shape[1])), order


class SymbolicProduct(NamedTuple):
    """The pattern of the product of two sparse matrices: integer arrays, made by `tg.sparse.linalg.symbolic_product`.

    It is a structure of arrays, so it can be an input of a function as well.
    """

    left: Any
    """The stored element of the left matrix in each product of two elements."""
    right: Any
    """That of the right matrix."""
    pointers: Any
    """For each element of the result the first product that it is a sum of, and behind the last one their number."""
    indices: Any
    """The column of each element of the result, row by row, ascending."""
    indptr: Any
    """Where each row of the result begins, and behind the last one the number of elements."""


def multiplied(a: Places, b: Places) -> SymbolicProduct:
    """The pattern of a product: each element beside all of the row of the other matrix that its column names."""
    by_row = np.argsort(a.row, kind="stable")
    right, of_left = repeated(b.row, a.column[by_row], b.shape[0])
    left = by_row[of_left]
    whole = Places(a.row[left], b.column[right], (a.shape[0], b.shape[1]))
    keys = whole.keys
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    begins = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(keys)])
    result = whole.of_keys(ascending[begins])
    pointers = np.append(begins, len(keys))
    return SymbolicProduct(*map(integers, (left[order], right[order], pointers, result.column, result.pointers())))
