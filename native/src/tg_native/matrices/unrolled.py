"""Small matrices of known sizes in registers: every element is a value, and lanes run across the matrices of a batch.

Blocks of lanes begin where as many matrices are left; so the last one may compute some again, and there is no partial
one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

import numpy as np

from tg.types.dtypes import is_complex
from tg_native.kernels.functions import sqrt
from tg_native.kernels.index import index
from tg_native.kernels.lanes import Lanes, Pair, constant, lane_of, select
from tg_native.kernels.routine import Block
from tg_native.matrices.elements import (
    conjugate,
    magnitude,
    minus_product,
    negative,
    not_zero,
    number,
    over,
    product,
    real,
)
from tg_native.plan.values import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements

    Grid = list[list[Elements]]


@final
class Batch:
    """The matrices of a batch, some at a time: `write` is called with this once for each form of the code."""

    def __init__(self, site: Site, dtype: str, lead: Sequence[int | Length]) -> None:
        self.count = count(lead)
        most = 2 ** int(math.log2(self.count)) if type(self.count) is int and self.count else self.count
        self.is_alone = type(most) is int and most < 2
        self.kernel = site.kernel() if self.is_alone else site.kernel([dtype], 1, most)
        self.body, self.site = self.kernel.body, site
        self.at = index(self.body, 0)

    def write(self, write: Callable[[], None]) -> None:
        """Write the function and call it."""
        body, lanes, n = self.body, self.body.lanes, self.kernel.length(self.count)

        def one_by_one() -> list[Lanes]:
            with body.of(0), body.loop(0, n) as self.at:
                write()
            return []

        def by_lanes() -> list[Lanes]:
            with body.loop(0, n, lanes) as at:
                self.at = at.least(n - lanes)
                write()
            return []

        if type(self.count) is not int and lanes:
            body.either(n >= lanes, by_lanes, one_by_one)
        elif lanes:
            by_lanes()
        else:
            one_by_one()
        self.site.run(self.kernel)

    # --- elements ----------------------------------------------------------------------------------------------------

    def load(self, place: Pointer, size: int, k: int) -> Elements:
        """Element k of each matrix of so many."""
        if not self.body.lanes:
            return self.body.load(place.moved(self.at * size + k))
        return self.body.load_apart(place.moved(k), index(self.body, size), Block(self.at))

    def store(self, value: Elements, place: Pointer, size: int, k: int) -> None:
        """Write element k of each matrix of so many."""
        body = self.body
        if body.lanes and size == 1:
            body.store_row(value, place.moved(self.at), Block(self.at))
            return
        start = place.moved(self.at * size + k)
        if not body.lanes:
            body.store(value, start)
            return
        for lane in range(body.lanes):
            one = lane_of(value, lane)
            with body.of(0):
                body.store(one, start.moved(lane * size))

    def load_matrix(self, place: Pointer, rows: int, columns: int) -> Grid:
        """All elements of a matrix."""
        return [[self.load(place, rows * columns, i * columns + j) for j in range(columns)] for i in range(rows)]

    def load_triangle(self, place: Pointer, n: int) -> Grid:
        """The lower triangle of a matrix."""
        return [[self.load(place, n * n, i * n + j) for j in range(i + 1)] for i in range(n)]

    def store_matrix(self, values: Grid, place: Pointer) -> None:
        """Write all elements of a matrix."""
        columns = len(values[0])
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                self.store(value, place, len(values) * columns, i * columns + j)

    def store_row(self, values: Sequence[Elements], place: Pointer) -> None:
        """Write what each matrix has a row of."""
        for k, value in enumerate(values):
            self.store(value, place, len(values), k)


# --- Cholesky --------------------------------------------------------------------------------------------------------


def positive_factor(triangle: Grid) -> tuple[Grid, Lanes, Lanes]:
    """The Cholesky factor of a lower triangle, the number of the minor that is not positive, and whether it is NaN."""
    body, dtype, n = triangle[0][0].body, triangle[0][0].dtype, len(triangle)
    zero, info = number(body, 0, dtype), constant(body, 0, "int32")
    factor: Grid = [[zero] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            left = triangle[i][j]
            for k in range(j):
                left = minus_product(left, factor[i][k], conjugate(factor[j][k]))
            factor[i][j] = over(left, real(factor[j][j]))
        pivot = real(triangle[i][i])
        for k in range(i):
            x = factor[i][k]
            for part in x if isinstance(x, Pair) else (x,):
                pivot = real(minus_product(pivot, part, part))
        root = sqrt(pivot)
        factor[i][i] = Pair(root, root.like(0)) if is_complex(dtype) else root
        info = select((pivot <= 0) & (info == 0), i + 1, info)
    has_nan = triangle[0][0].is_nan()
    for x in (x for row in triangle[1:] for x in row):
        has_nan = has_nan | x.is_nan()
    info = select(has_nan, 0, info)
    return factor, info, has_nan | (info > 0)


def cholesky(batch: Batch, a: Pointer, n: int, factor: Pointer, info: Pointer) -> None:
    """The Cholesky factors of matrices."""
    grid, minor, is_bad = positive_factor(batch.load_triangle(a, n))
    nan = number(batch.body, np.nan, a.dtype)
    batch.store_matrix(
        [[select(is_bad, nan, x) if j <= i else x for j, x in enumerate(row)] for i, row in enumerate(grid)], factor
    )
    batch.store(minor, info, 1, 0)


# --- triangular systems ----------------------------------------------------------------------------------------------


def substituted(factor: Callable[[int, int], Elements], b: Grid, *, is_lower: bool, unit_diagonal: bool) -> Grid:
    """The solution by rows from the first, or from the last."""
    n = len(b)
    x: Grid = [list(row) for row in b]
    for i in range(n) if is_lower else reversed(range(n)):
        for j in range(i) if is_lower else range(i + 1, n):
            x[i] = [minus_product(total, factor(i, j), other) for total, other in zip(x[i], x[j], strict=True)]
        if not unit_diagonal:
            x[i] = [over(total, factor(i, i)) for total in x[i]]
    return x


# --- LU --------------------------------------------------------------------------------------------------------------


def factored(x: Grid, columns: int | None = None) -> tuple[Grid, list[Lanes], list[Lanes]]:
    """Both factors in one, the rows that rows are exchanged with, and the order that these make.

    What stands behind so many `columns` is no part of the matrix: right sides, of which substitution by the lower
    factor is made on the way.
    """
    m, n, width = len(x), len(x[0]) if columns is None else columns, len(x[0])
    body, x = x[0][0].body, [list(row) for row in x]
    order, pivots = [constant(body, i, "int32") for i in range(m)], []
    for k in range(min(m, n)):
        size, at = magnitude(x[k][k]), constant(body, k, "int32")
        for i in range(k + 1, m):
            own = magnitude(x[i][k])
            is_larger = (own > size) | (own.is_nan() & (size == size))  # noqa: PLR0124 (it is no NaN)
            size, at = select(is_larger, own, size), select(is_larger, i, at)
        pivots.append(at)
        first, place = list(x[k]), order[k]
        for i in range(k + 1, m):
            is_row = at == i
            for j in range(width):
                x[k][j], x[i][j] = select(is_row, x[i][j], x[k][j]), select(is_row, first[j], x[i][j])
            order[k], order[i] = select(is_row, order[i], order[k]), select(is_row, place, order[i])
        pivot = not_zero(x[k][k])
        for i in range(k + 1, m):
            x[i][k] = over(x[i][k], pivot)
            for j in range(k + 1, width):
                x[i][j] = minus_product(x[i][j], x[i][k], x[k][j])
    return x, pivots, order


def lu(batch: Batch, a: Pointer, sizes: tuple[int, int], results: Sequence[Pointer]) -> None:
    """The LU factors of matrices."""
    factors, pivots, order = factored(batch.load_matrix(a, *sizes))
    batch.store_matrix(factors, results[0])
    batch.store_row(pivots, results[1])
    batch.store_row(order, results[2])


# --- whole problems --------------------------------------------------------------------------------------------------


def determinant(x: Grid) -> Elements:
    """The product of the pivots, of the other sign after an odd number of exchanges."""
    factors, pivots, _ = factored(x)
    value = factors[0][0]
    for k in range(1, len(x)):
        value = product(value, factors[k][k])
    for k, at in enumerate(pivots):
        value = select(at == k, value, negative(value))
    return value


def solved(a: Grid, b: Grid) -> tuple[Grid, Lanes]:
    """The solution of a x = b, and the number of the first pivot that is 0: x is NaN then."""
    n = len(a)
    factors, _, _ = factored([[*row, *sides] for row, sides in zip(a, b, strict=True)], n)
    info = constant(factors[0][0].body, 0, "int32")
    for k in reversed(range(n)):
        info = select(factors[k][k].is_zero(), k + 1, info)
    sides = [row[n:] for row in factors]
    x = substituted(lambda i, j: factors[i][j], sides, is_lower=False, unit_diagonal=False)
    return without(info != 0, x), info


def solved_by_cholesky(a: Grid, b: Grid) -> tuple[Grid, Lanes]:
    """The same of a positive-definite matrix, by its lower triangle."""
    factor, info, is_bad = positive_factor(a)
    x = substituted(lambda i, j: factor[i][j], b, is_lower=True, unit_diagonal=False)
    x = substituted(lambda i, j: conjugate(factor[j][i]), x, is_lower=False, unit_diagonal=False)
    return without(is_bad, x), info


def without(is_bad: Lanes, x: Grid) -> Grid:
    """NaN where there is no solution."""
    nan = number(is_bad.body, np.nan, x[0][0].dtype)
    return [[select(is_bad, nan, value) for value in row] for row in x]
