"""Factors of sparse matrices front by front: the reference of `ops/sparse_factors`, in dense blocks of NumPy.

Columns that follow one another and have the same rows below are one block. Its front is the dense matrix of these rows;
what elimination leaves of it is added to the front of the next block up the tree.

Source: Duff and Reid, ACM Trans. Math. Softw. 9 (1983), 302; Liu, SIAM Review 34 (1992), 82.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


class Block(NamedTuple):
    """Columns of a factor that share a front."""

    first: int
    width: int
    rows: Array
    """The front's rows, its own columns first."""
    parent: int
    """The block that takes what is left; the number of blocks if there is none."""
    places: Array
    """Where the rows below stand in the parent's front: a column."""


def blocks(indices: Array, pointers: Array) -> list[Block]:
    """The blocks of a factor's places, those that another depends on before it."""
    n = len(pointers) - 1
    counts = np.diff(pointers)
    columns = np.arange(n)
    parents = np.where(counts > 1, indices[np.minimum(pointers[:-1] + 1, max(len(indices) - 1, 0))], n)
    joined = (parents[:-1] == columns[1:]) & (counts[:-1] == counts[1:] + 1)
    starts = np.concatenate([[True], ~joined])[:n]
    numbers = np.append(np.cumsum(starts) - 1, np.count_nonzero(starts))
    firsts = np.flatnonzero(starts).tolist()
    begins = pointers.tolist()
    fronts = [
        (first, last - first, indices[begins[first] : begins[first + 1]])
        for first, last in zip(firsts, [*firsts, n][1:], strict=True)
    ]
    result = []
    for first, width, rows in fronts:
        parent = int(numbers[rows[width]]) if len(rows) > width else len(fronts)
        above = fronts[parent][2] if parent < len(fronts) else rows
        places = np.searchsorted(above, rows[width:]).clip(0, len(above) - 1)
        result.append(Block(first, width, rows, parent, places[:, None]))
    return result


def factored(a: Array, indices: Array, pointers: Array) -> tuple[Array, int]:
    """The factor's values, and the first column whose pivot is not positive, counted from 1."""
    l, begins, every = np.empty_like(a), pointers.tolist(), blocks(indices, pointers)
    left: dict[int, list[tuple[Array, Array]]] = {}
    for number, (first, width, rows, parent, places) in enumerate(every):
        front = np.zeros((len(rows),) * 2, a.dtype)
        for k in range(width):
            front[k:, k] = a[begins[first + k] : begins[first + k + 1]]
        for at, rest in left.pop(number, ()):
            front[at, at.T] += rest
        for k in range(width):
            pivot = front[k, k]
            if not pivot > 0:
                return np.full_like(l, np.nan), 0 if np.isnan(pivot) else first + k + 1
            column = front[k:, k]
            column /= np.sqrt(pivot)
            if k + 1 < width:
                front[k + 1 :, k + 1 : width] -= column[1:, None] * column[1 : width - k]
            l[begins[first + k] : begins[first + k + 1]] = column
        if width < len(rows):
            below = front[width:, :width]
            left.setdefault(parent, []).append((places, front[width:, width:] - below @ below.T))
    return l, 0


def inverse(l: Array, indices: Array, pointers: Array) -> Array:
    """The elements of the inverse at the factor's places, of the last block first."""
    z, begins, every = np.empty_like(l), pointers.tolist(), blocks(indices, pointers)
    fronts: dict[int, Array] = {}
    waiting = [0] * (len(every) + 1)
    for block in every:
        waiting[block.parent] += 1
    for number in range(len(every) - 1, -1, -1):
        first, width, rows, parent, places = every[number]
        front = np.empty((len(rows),) * 2, l.dtype)
        if width < len(rows):
            front[width:, width:] = fronts[parent][places, places.T]
        waiting[parent] -= 1
        if not waiting[parent]:
            fronts.pop(parent, None)
        for k in range(width - 1, -1, -1):
            column = l[begins[first + k] : begins[first + k + 1]]
            ratio = column[1:] / column[0]
            sums = front[k + 1 :, k + 1 :] @ ratio
            front[k + 1 :, k] = front[k, k + 1 :] = -sums
            front[k, k] = 1 / column[0] ** 2 + ratio @ sums
            z[begins[first + k] : begins[first + k + 1]] = front[k:, k]
        if waiting[number]:
            fronts[number] = front
    return z


def substituted(l: Array, indices: Array, pointers: Array, x: Array) -> None:
    """Solve in place, for all right sides."""
    begins, every = pointers.tolist(), blocks(indices, pointers)
    for first, width, rows, _, _ in every:
        sides = x[rows]
        for k in range(width):
            column = l[begins[first + k] : begins[first + k + 1], None]
            sides[k] /= column[0]
            sides[k + 1 :] -= column[1:] * sides[k]
        x[rows] = sides
    for first, width, rows, _, _ in reversed(every):
        sides = x[rows]
        for k in range(width - 1, -1, -1):
            column = l[begins[first + k] : begins[first + k + 1]]
            sides[k] = (sides[k] - column[1:] @ sides[k + 1 :]) / column[0]
        x[first : first + width] = sides[:width]
