"""Eigenvectors of symmetric tridiagonal matrices of numbers, a few of the greatest eigenvalues.

LAPACK's function for these is not in NumPy, and that for full matrices takes 1000 times as long for 1000 points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

HALVINGS: Final = 100  # at most: an interval of float64 has no middle after about 60
SMALLEST: Final = 1e-300  # in place of a pivot of 0


def tridiagonal_vectors(main: Array, side: Array, count: int) -> list[Array]:
    """The eigenvectors of length 1 of the greatest eigenvalues, from the greatest on; no two eigenvalues are equal.

    Shapes:
        main (n), side (n - 1), the diagonal and the one beside it, which has no 0
    Source:
        J. H. Wilkinson: The Algebraic Eigenvalue Problem (1965), chapter 5 (bisection); K. V. Fernando, SIAM J. Matrix
        Anal. Appl. 18 (1997) 1013 (the vector, by eliminations from both ends that meet).
    """
    diagonal, beside = main.tolist(), side.tolist()
    reach = float((np.abs(main) + np.append(np.abs(side), 0) + np.append(0, np.abs(side))).max())
    return [_vector(diagonal, beside, _eigenvalue(diagonal, beside, reach, place)) for place in range(count)]


def _eigenvalue(main: Sequence[float], side: Sequence[float], reach: float, place: int) -> float:
    """The eigenvalue that so many are greater than, by bisection."""
    squares = [0.0, *(v * v for v in side)]
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _count_above(main, squares, middle) > place:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _count_above(main: Sequence[float], squares: Sequence[float], x: float) -> int:
    """The number of eigenvalues above x: that of positive pivots (Sylvester's law of inertia)."""
    count, pivot = 0, 1.0
    for value, square in zip(main, squares, strict=True):
        pivot = value - x - square / pivot or SMALLEST
        count += pivot > 0
    return count


def _vector(main: Sequence[float], side: Sequence[float], x: float) -> Array:
    """The eigenvector of an eigenvalue: eliminations from both ends meet where the pivot that is left is least."""
    n = len(main)
    down, up = [main[0] - x or SMALLEST] * n, [main[-1] - x or SMALLEST] * n
    for k in range(1, n):
        down[k] = main[k] - x - side[k - 1] ** 2 / down[k - 1] or SMALLEST
    for k in range(n - 2, -1, -1):
        up[k] = main[k] - x - side[k] ** 2 / up[k + 1] or SMALLEST
    meeting = min(range(n), key=lambda k: abs(down[k] + up[k] - (main[k] - x)))
    vector = [1.0] * n
    for k in range(meeting - 1, -1, -1):
        vector[k] = -side[k] * vector[k + 1] / down[k]
    for k in range(meeting + 1, n):
        vector[k] = -side[k - 1] * vector[k - 1] / up[k]
    largest = max(map(abs, vector))
    scaled = np.array(vector) / largest
    unit: Array = scaled / math.sqrt(float(scaled @ scaled))
    return unit
