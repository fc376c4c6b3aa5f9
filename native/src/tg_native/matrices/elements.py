"""Common parts of loops over matrices: arithmetic of real and complex elements, and when LAPACK is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.types.dtypes import numpy_dtype
from tg_native.kernels.elementwise.arithmetic import divided, multiplied
from tg_native.kernels.functions import fabs, fma
from tg_native.kernels.index import Condition, Index
from tg_native.kernels.lanes import Lanes, Pair, constant_of, parts, select
from tg_native.kernels.routine import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.body import Body
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Routine
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.plan.values import Array, Value

SMALL: Final = 16  # rows
# Rows, where a step of a loop is one for all columns: such loops are as fast as LAPACK or faster, and OpenBLAS begins
# to use threads at 1,024 elements, with which it takes 2 to 100 times as long (`python -m benchmarks.small_matrices`).
OF_ROWS: Final = 64
"""Rows of matrices that LAPACK is not called for: its calls alone take longer."""


@final
class Matrix:
    """The matrix of an array that a loop is at: rows and columns at distances of their own."""

    def __init__(self, kernel: Kernel, array: Array, place: Pointer) -> None:
        self.kernel, self.array, self.place = kernel, array, place

    def at(self, row: Index | int, column: Index | int) -> Pointer:
        """Place of an element."""
        return self.kernel.moved(self.place, [row, column], self.array.strides[-2:])

    def load(self, row: Index | int, column: Index | int) -> Elements:
        """An element, in all lanes."""
        return self.kernel.body.load(self.at(row, column))

    def store(self, value: Elements, row: Index | int, column: Index | int) -> None:
        """Write an element."""
        self.kernel.body.store(value, self.at(row, column))

    def load_row(self, row: Index | int, block: Block) -> Elements:
        """Elements of a row."""
        return self.kernel.load(self.at(row, 0), self.array.strides[-1], block)

    def store_row(self, value: Elements, row: Index | int, block: Block) -> None:
        """Write elements of a row; they follow one another."""
        self.kernel.store(value, self.at(row, 0), 1, block)


def matrix_at(kernel: Kernel, array: Array, place: Pointer, outer: Sequence[Index]) -> Matrix:
    """The matrix at an index of the leading axes."""
    return Matrix(kernel, array, kernel.moved(place, outer, array.strides[:-2]))


def span(kernel: Kernel, start: Index, end: Index, write: Callable[[Block], None]) -> None:
    """Run from an index to before another in blocks of lanes, and what is left one by one.

    Rows of small matrices are often shorter than a vector, and partial blocks cost more than a few single elements.
    """
    body, lanes = kernel.body, kernel.body.lanes
    middle = start
    if lanes:
        middle = start + ((end - start) & -lanes)
        with body.loop(start, middle, lanes) as at:
            write(Block(at))
    with body.of(0), body.loop(middle, end) as at:
        write(Block(at))


def by_size(
    site: Site,
    body: Routine,
    is_small: bool | Condition,
    own: Callable[[], None],
    call: Callable[[Lapack], None],
) -> None:
    """Loops of their own for small matrices, LAPACK for others, if there is one."""
    lapack = site.lapack(site.types[0].dtype)
    if lapack is None or is_small is True:
        own()
    elif is_small is False:
        call(lapack)
    else:
        body.either(is_small, nothing(own), nothing(lambda: call(lapack)))


def at_most(n: int | Length, size: Index, most: int) -> bool | Condition:
    """Whether a length is at most so much: known now, or of `size`, when the program runs."""
    return n <= most if type(n) is int else size <= most


def nothing(write: Callable[[], None]) -> Callable[[], Sequence[Lanes]]:
    """A branch without values, of what `write` writes."""

    def written() -> Sequence[Lanes]:
        write()
        return []

    return written


def numbers(site: Site, k: int) -> tuple[Array, Callable[[], Value]]:
    """Memory for result k, and what makes the result of it: of one matrix a number."""
    if site.types[k].shape:
        array = site.allocate(k)
        return array, lambda: array
    array = site.temporary(site.types[k].dtype, ())
    return array, lambda: site.scalar(site.first(array), k)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def number(body: Body, value: float, dtype: str) -> Elements:
    """A number of a dtype in all lanes."""
    return constant_of(body, numpy_dtype(dtype).type(value), dtype)


def minus_product(total: Elements, x: Elements, y: Elements) -> Elements:
    """Rest of a total without the product of two numbers."""
    if not isinstance(total, Pair):
        assert isinstance(x, Lanes)
        assert isinstance(y, Lanes)
        return fma(-x, y, total)
    assert isinstance(x, Pair)
    assert isinstance(y, Pair)
    (a, b), (c, d) = x, y
    return Pair(fma(-a, c, fma(b, d, total.real)), fma(-a, d, fma(-b, c, total.imag)))


def product(x: Elements, y: Elements) -> Elements:
    """The product of two numbers."""
    if isinstance(x, Pair):
        assert isinstance(y, Pair)
        return multiplied(x, y)
    return x * y


def negative(x: Elements) -> Elements:
    """The number of the other sign."""
    return x.negated() if isinstance(x, Pair) else -x


def over(x: Elements, y: Elements) -> Elements:
    """The quotient; y may be the real part of a complex number that has no other."""
    if isinstance(y, Pair):
        assert isinstance(x, Pair)
        return divided(x, y)
    return Pair(x.real / y, x.imag / y) if isinstance(x, Pair) else x / y


def conjugate(x: Elements) -> Elements:
    """The conjugate."""
    return Pair(x.real, -x.imag) if isinstance(x, Pair) else x


def real(x: Elements) -> Lanes:
    """The real part."""
    return x.real if isinstance(x, Pair) else x


def magnitude(x: Elements) -> Lanes:
    """Measure that pivots are chosen by: the sum of the magnitudes of the parts."""
    return fabs(x.real) + fabs(x.imag) if isinstance(x, Pair) else fabs(x)


def not_zero(x: Elements) -> Elements:
    """The number, 1 instead of 0."""
    return select(x.is_zero(), x.like(1), x)


def fold_elements(
    body: Routine, start: Index | int, end: Index | int, first: Elements, write: Callable[[Index, Any], Elements]
) -> Elements:
    """A fold of one number, which may be complex."""
    is_pair = isinstance(first, Pair)

    def step(at: Index, *last: Lanes) -> list[Lanes]:
        return parts([write(at, Pair(*last) if is_pair else last[0])])

    lanes = body.fold(start, end, 1, parts([first]), step)
    return Pair(*lanes) if is_pair else lanes[0]


def any_of(
    body: Routine, start: Index | int, end: Index | int, holds: Callable[[Index], Condition | Index]
) -> Condition:
    """Whether something holds of some index."""

    def step(at: Index, last: Lanes) -> list[Lanes]:
        value = holds(at)
        return [Index(last).most(value.number() if isinstance(value, Condition) else value).value]

    with body.of(0):
        zero = [body.number(0, "int64")]
    return Index(body.fold(start, end, 1, zero, step)[0]) > 0


def copy_rows(source: Matrix, target: Matrix, rows: Index, columns: Index) -> None:
    """Copy so many rows and columns."""
    body = target.kernel.body
    with body.loop(0, rows) as i, body.loop(0, columns) as j:
        target.store(source.load(i, j), i, j)


def take_lower(source: Matrix, target: Matrix, n: Index) -> None:
    """Take the lower triangle, and zeros for what is above it."""
    body = target.kernel.body
    zero = number(body, 0, target.array.dtype)
    with body.loop(0, n) as i:
        with body.loop(0, i + 1) as j:
            target.store(source.load(i, j), i, j)
        with body.loop(i + 1, n) as j:
            target.store(zero, i, j)


def is_finite(matrix: Matrix, rows: Index, columns: Index) -> Condition:
    """Whether all elements are."""
    body = matrix.kernel.body

    def is_odd(x: Elements) -> Lanes:
        values = x if isinstance(x, Pair) else (x,)
        odd = ~(fabs(values[0]) < np.inf)
        return odd if len(values) == 1 else odd | ~(fabs(values[1]) < np.inf)

    def in_row(i: Index) -> Index:
        return any_of(body, 0, columns, lambda j: Condition(is_odd(matrix.load(i, j)))).number()

    return ~any_of(body, 0, rows, in_row)


def fill_nan(matrix: Matrix, rows: Index, columns: Callable[[Index], Index]) -> None:
    """Set the first elements of each row to NaN."""
    body = matrix.kernel.body
    with body.loop(0, rows) as i, body.loop(0, columns(i)) as j:
        matrix.store(number(body, np.nan, matrix.array.dtype), i, j)
