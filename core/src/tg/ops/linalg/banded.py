"""Systems of equations with band matrices, which are given by their diagonals.

The diagonals are rows, as SciPy and LAPACK have them: row `above + i - j` of the band has a[i, j] in column j. What a
band has beyond the corners of its matrix is not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.lapack import gbsv, gtsv, has_lapack, pbsv
from tg.ops.creation import iota, zeros, zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, clip, divide, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isnan, less_equal, logical_or, where
from tg.ops.elementwise.complex import imag, real
from tg.ops.family import Family
from tg.ops.indexing import Gather, slice_axis
from tg.ops.linalg.matrices import (
    conjugated,
    info_check,
    matrix_and_sides,
    need_matrices,
    need_same,
    whether_to_raise,
    zero_place,
)
from tg.ops.reduction import any as any_of
from tg.ops.reduction import argmax, reduce_sum
from tg.ops.shape import Concatenate, Squeeze, expand_dims_at, matrix_transpose, moveaxis, stack, with_lengths
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.requirements import Requirements
from tg.types.tensor_type import TensorType
from tg.variables.conversion import known_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


@final
class SolveBanded(Op):
    """The solution of a x = b for matrices of a band, and what was found of each.

    The band has `below` diagonals below the main one and `above` above it. `info` is 0, or k where pivot k of the LU
    factorisation is the first that is 0: x is NaN then, and with `raises` that is an error.

    Shapes:
        ab (..., below + above + 1, n), b (..., n, m) -> x (..., n, m), info int32 (...)
    Raises:
        LinAlgError: with `raises`, a matrix is singular.
    Source:
        scipy.linalg.solve_banded. The pullback solves with the transpose, whose band has the same diagonals.
    """

    below: int
    above: int
    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, ab: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """The type of b, and an integer for each matrix."""
        return _types("solve_banded", self.below + self.above + 1, ab, b)

    def perform(self, ab: Array, b: Array) -> tuple[Array, ...]:
        """LAPACK's, if there is one."""
        if not has_lapack():
            return Op.perform(self, ab, b)
        if self.below == self.above == 1 and ab.shape[-1]:
            x, info = gtsv(ab[..., 2, :-1], ab[..., 1, :], ab[..., 0, 1:], b)
        else:
            x, info = gbsv(ab, b, below=self.below, above=self.above)
        return _without_failed(x, info)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """Elimination row by row, in a window that has all rows a pivot may come from; then substitution."""
        ab, b = inputs
        with Requirements():  # lengths of the steps are no values of a graph that is being rewritten
            upper, sides = _eliminated(_rows(ab, self.below, self.above), b, self.below)
            x = _substituted(upper, sides, self.below + self.above + 1)
        info = zero_place(moveaxis(upper[..., 0], 0, -1))
        failed = expand_dims_at(greater(info, 0), (-2, -1))
        return where(failed, numpy_dtype(x.type.dtype).type(np.nan), x), info

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """No matrix is singular."""
        fact = "is singular: its LU factorisation has 0 as pivot {0}"
        return (info_check(outputs[1], "solve_banded", fact, "tg.linalg.solve_banded"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of b solves with the transpose; that of a is the product with x, in the band."""
        (ab, _), (x, _), (dx, _) = inputs, outputs, cotangents
        if dx is None:
            return (None, None)
        db = SolveBanded(self.above, self.below, self.raises)(transposed(ab, self.below, self.above), dx)[0]
        return (negative(_outer_band(db, x, self.below, self.above)), db)


@final
class SolvehBanded(Op):
    """The solution of a x = b for Hermitian positive-definite matrices of a band, and what was found of each.

    The band has the lower triangle. `info` is 0, or k where the leading minor of order k is the first that is not
    positive: x is NaN then, and with `raises` that is an error.

    Shapes:
        ab (..., k + 1, n), b (..., n, m) -> x (..., n, m), info int32 (...)
    Raises:
        LinAlgError: with `raises`, a matrix is not positive definite.
    Source:
        scipy.linalg.solveh_banded. The pullback solves with the same matrix, and is in what is read.
    """

    below: int
    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, ab: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """The type of b, and an integer for each matrix."""
        return _types("solveh_banded", self.below + 1, ab, b)

    def perform(self, ab: Array, b: Array) -> tuple[Array, ...]:
        """LAPACK's, if there is one."""
        if not has_lapack():
            return Op.perform(self, ab, b)
        x, info = pbsv(ab, b)
        n = ab.shape[-1]
        inside = np.arange(self.below + 1)[:, None] + np.arange(n) < n
        absent = np.isnan(np.where(inside, ab, 0)).any((-2, -1))
        info[absent] = 0
        x[absent] = np.nan
        return _without_failed(x, info)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The Cholesky factor column by column, and substitution on the way; then that with its adjoint."""
        ab, b = inputs
        rows = _rows(ab, self.below, 0)
        with Requirements():  # lengths of the steps are no values of a graph that is being rewritten
            columns, sides = _factorised(rows, b, self.below)
            x = _substituted(conjugated(columns), sides, self.below + 1)
        pivots = moveaxis(real(columns[..., 0]) if is_complex(ab.type.dtype) else columns[..., 0], 0, -1)
        info = zero_place(where(less_equal(pivots, 0), pivots - pivots, pivots))
        absent = any_of(isnan(rows), (0, -1))
        info = where(absent, np.int32(0), info)
        failed = expand_dims_at(logical_or(greater(info, 0), absent), (-2, -1))
        return where(failed, numpy_dtype(x.type.dtype).type(np.nan), x), info

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Every matrix is positive definite."""
        fact = "is not positive definite: its leading minor of order {0} is not positive"
        return (info_check(outputs[1], "solveh_banded", fact, "tg.linalg.solveh_banded"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The solution for the cotangent, and its products with x, of both triangles in the one that is read."""
        (ab, _), (x, _), (dx, _) = inputs, outputs, cotangents
        if dx is None:
            return (None, None)
        gb = self(ab, conjugated(dx))[0]
        one, other = conjugated(x), conjugated(gb)
        inner = add(_outer_band(gb, one, self.below, 0), _outer_band(x, other, self.below, 0))
        kind = numpy_dtype(x.type.dtype).type
        on_it = expand_dims_at(equal(iota(self.below + 1), 0), (-1,))
        return (negative(conjugated(multiply(inner, where(on_it, kind(0.5), kind(1))))), conjugated(gb))


# --- elimination in a window -----------------------------------------------------------------------------------------


def _rows(ab: Variable, below: int, above: int) -> Variable:
    """The entries of each row of the matrices in its band, from the lowest diagonal on.

    Shapes:
        ab (..., w, n) -> (n, ..., w)
    """
    return moveaxis(transposed(ab, below, above), -1, 0)


def _window(rows: Variable, below: int) -> tuple[Variable, Variable]:
    """The first rows, from the first column on, and for each step the row that it needs besides.

    Shapes:
        rows (n, ..., w) -> (..., below + 1, w), (n, ..., w)
    """
    first, rest = _parted(rows, below + 1)
    moved = [shifted(first[r], below - r) for r in range(below + 1)]
    return stack(moved, -2), rest


def _parted(rows: Variable, count: int) -> tuple[Variable, Variable]:
    """The first rows, and all from there on with as many rows of zeros behind them."""
    more = zeros((count, *rows.shape[1:]), dtype=rows.type.dtype)
    axis = -rows.type.ndim
    whole = Concatenate(axis)(rows, more)
    return slice_axis(whole, axis, 0, count), slice_axis(whole, axis, count, rows.shape[0])


def _next(window: Variable, row: Variable) -> Variable:
    """A window without its first row, one row further down."""
    return Concatenate(-2)(window, expand_dims_at(row, (-2,)))  # type: ignore[no-any-return]


def _one_on(window: Variable) -> Variable:
    """A window one column further right."""
    return shifted(window, 1)


def _eliminated(rows: Variable, b: Variable, below: int) -> tuple[Variable, Variable]:
    """The rows of U from their diagonals on, and the right sides that they have.

    Shapes:
        rows (n, ..., w), b (..., n, m) -> (n, ..., w), (n, ..., m)
    """
    from tg.ops.iteration import scan

    window, later = _window(rows, below)
    first, sides = _parted(moveaxis(b, -2, 0), below + 1)

    def step(carry: Any, xs: Any) -> tuple[Any, Any]:
        window, sides = carry
        column = window[..., 0]
        chosen = expand_dims_at(equal(iota(below + 1), expand_dims_at(argmax(_size(column), -1), (-1,))), (-1,))
        pivot, side = (_chosen(chosen, v) for v in (window, sides))
        window, sides = (where(chosen, v[..., :1, :], v)[..., 1:, :] for v in (window, sides))
        divisor = pivot[..., :1]
        one = numpy_dtype(pivot.type.dtype).type(1)
        factors = expand_dims_at(divide(window[..., 0], where(equal(divisor, 0), one, divisor)), (-1,))
        window, sides = (
            subtract(v, multiply(factors, expand_dims_at(row, (-2,)))) for v, row in ((window, pivot), (sides, side))
        )
        return (_next(_one_on(window), xs[0]), _next(sides, xs[1])), (pivot, side)

    _, results = scan(step, (window, moveaxis(first, 0, -2)), (later, sides))
    return results  # type: ignore[no-any-return]


def _size(x: Variable) -> Variable:
    """The size by which pivots are chosen: the sum of the magnitudes of the parts."""
    return add(absolute(real(x)), absolute(imag(x))) if is_complex(x.type.dtype) else absolute(x)


def _chosen(chosen: Variable, rows: Variable) -> Variable:
    """The row that is chosen."""
    return reduce_sum(where(chosen, rows, numpy_dtype(rows.type.dtype).type(0)), (-2,))


def _factorised(rows: Variable, b: Variable, below: int) -> tuple[Variable, Variable]:
    """The columns of L D from their diagonals on, of a = L D L' with ones on L's diagonal, and of L y = b the y.

    Shapes:
        rows (n, ..., w), b (..., n, m) -> (n, ..., w), (n, ..., m)
    """
    from tg.ops.iteration import scan

    window, later = _window(rows, below)
    first, sides = _parted(moveaxis(b, -2, 0), below + 1)

    def step(carry: Any, xs: Any) -> tuple[Any, Any]:
        window, sides = carry
        column, side = window[..., 0], sides[..., 0, :]
        pivot = column[..., :1]
        if is_complex(pivot.type.dtype):
            pivot = cast_variable(real(pivot), pivot.type.dtype)
        lower = column[..., 1:]
        factors = expand_dims_at(divide(lower, pivot), (-1,))
        window = _one_on(window[..., 1:, :])
        turned = Concatenate(-1)(conjugated(lower), zeros_like(pivot))
        window = subtract(window, multiply(factors, expand_dims_at(turned, (-2,))))
        sides = subtract(sides[..., 1:, :], multiply(factors, expand_dims_at(side, (-2,))))
        return (_next(window, xs[0]), _next(sides, xs[1])), (Concatenate(-1)(pivot, lower), side)

    _, results = scan(step, (window, moveaxis(first, 0, -2)), (later, sides))
    return results  # type: ignore[no-any-return]


def _substituted(upper: Variable, sides: Variable, width: int) -> Variable:
    """The solution by rows of U from their diagonals on, from the last one up.

    Shapes:
        upper (n, ..., w), sides (n, ..., m) -> (..., n, m)
    """
    from tg.ops.iteration import scan

    def step(known: Any, xs: Any) -> tuple[Any, Any]:
        row, side = xs
        rest = side
        if width > 1:
            rest = subtract(side, reduce_sum(multiply(expand_dims_at(row[..., 1:], (-1,)), known), (-2,)))
        x = divide(rest, row[..., :1])
        return Concatenate(-2)(expand_dims_at(x, (-2,)), known)[..., : width - 1, :], x

    start = zeros((*sides.shape[1:-1], width - 1, sides.shape[-1]), dtype=sides.type.dtype)
    _, x = scan(step, start, (upper, sides), reverse=True)
    return moveaxis(x, 0, -2)


# --- bands -----------------------------------------------------------------------------------------------------------


def _types(what: str, count: int, ab: TensorType, b: TensorType) -> tuple[TensorType, ...]:
    """The type of b, and an integer for each matrix."""
    need_matrices(what, ab, b)
    need_same(what, "rows of the band and diagonals", ab.shape[-2], count)
    need_same(what, "columns of the band and rows of the right side", ab.shape[-1], b.shape[-2])
    return (b.with_shape([*b.shape[:-2], ab.shape[-1], b.shape[-1]]), TensorType("int32", b.shape[:-2]))


def _without_failed(x: Array, info: Array) -> tuple[Array, Array]:
    x[info > 0] = np.nan
    return x, info


def band_of(a: Variable, below: int, above: int) -> Variable:
    """The diagonals of matrices of which nothing else is read, zeros beyond their corners.

    Shapes:
        a (..., n, n) -> (..., below + above + 1, n)
    """
    n = a.shape[-1]
    columns, last = iota(n), subtract(as_size_variable(n), 1)
    zero = numpy_dtype(a.type.dtype).type(0)
    diagonals = []
    for k in range(-above, below + 1):
        rows = add(columns, k) if k else columns
        inside = clip(rows, 0, last) if k else rows
        diagonal = moveaxis(Gather((-2, -1))(a, inside, columns), 0, -1)
        diagonals.append(where(equal(inside, rows), diagonal, zero) if k else diagonal)
    return stack(diagonals, -2)


def shifted(x: Variable, k: int) -> Variable:
    """The elements k places further on along the last axis; zeros where there are none."""
    if not k:
        return x
    n = x.shape[-1]
    more = zeros((*x.shape[:-1], abs(k)), dtype=x.type.dtype)
    if k < 0:
        return slice_axis(Concatenate(-1)(more, x), -1, 0, n)
    return slice_axis(Concatenate(-1)(x, more), -1, k, n)


def transposed(ab: Variable, below: int, above: int) -> Variable:
    """The band of the transpose, for one with so many diagonals below and above; zeros beyond its corners."""
    return stack([shifted(ab[..., above - k, :], k) for k in range(-below, above + 1)], -2)


def _outer_band(p: Variable, q: Variable, below: int, above: int) -> Variable:
    """The band of p q', the product with a transpose."""
    turned = matrix_transpose(p)
    rows = [reduce_sum(multiply(matrix_transpose(shifted(turned, k)), q), (-1,)) for k in range(-above, below + 1)]
    return stack(rows, -2)


def solve_banded(l_and_u: tuple[int, int], ab: TensorLike, b: TensorLike, *, on_error: OnError = "raise") -> Variable:
    """The solution of a x = b for matrices of a band: row u + i - j of `ab` has a[i, j] in column j.

    Args:
        l_and_u: how many diagonals there are below the main one, and how many above it. (1, 1): tridiagonal matrices.
        on_error: "raise", or "nan": the solution is NaN for a singular matrix.
    Shapes:
        ab (..., l + u + 1, n), b (..., n, k) or (n) -> as b; leading axes broadcast
    Raises:
        LinAlgError: a matrix is singular.
        ShapeError: lengths do not fit.
    Source:
        scipy.linalg.solve_banded
    Example:
        >>> import numpy as np, tg
        >>> ab = np.array([[0.0, 1, 1], [2, 2, 2], [1, 1, 0]])
        >>> tg.linalg.solve_banded((1, 1), ab, np.array([3.0, 4, 3])).eval().tolist()
        [1.0, 1.0, 1.0]
    """
    pair = l_and_u if isinstance(l_and_u, tuple | list) else ()
    below, above = (known_integer(k) for k in pair) if len(pair) == 2 else (None, None)
    if type(below) is not int or type(above) is not int or below < 0 or above < 0:
        text = f"solve_banded: l_and_u: found {l_and_u!r}, needed two integers of at least 0"
        raise InputError(message(text))
    ab, sides, is_vector = matrix_and_sides("solve_banded", ab, b)
    ab = with_lengths(ab, {-2: below + above + 1}, "solve_banded")
    x = SolveBanded(below, above, whether_to_raise("solve_banded", on_error))(ab, sides)[0]
    return Squeeze((-1,))(x) if is_vector else x  # type: ignore[no-any-return]


def solveh_banded(ab: TensorLike, b: TensorLike, lower: bool = False, *, on_error: OnError = "raise") -> Variable:
    """The solution of a x = b for Hermitian positive-definite matrices of a band.

    Args:
        ab: the diagonals of one triangle: of the upper one row u + i - j has a[i, j] in column j, of the lower one row
            i - j has.
        lower: whether it is the lower one.
        on_error: "raise", or "nan": the solution is NaN for a matrix that is not positive definite.
    Shapes:
        ab (..., k + 1, n), b (..., n, m) or (n) -> as b; leading axes broadcast
    Raises:
        LinAlgError: a matrix is not positive definite.
        ShapeError: lengths do not fit; how many diagonals there are is not known.
    Source:
        scipy.linalg.solveh_banded
    """
    ab, sides, is_vector = matrix_and_sides("solveh_banded", ab, b)
    count = ab.type.shape[-2]
    if not count:
        hint = "tg.specify_shape(ab, (2, None)) says that there are two"
        text = f"solveh_banded: ab: found {ab.type}, needed a known number of diagonals, >= 1"
        raise ShapeError(message(text, hint=hint))
    read = ab if lower else conjugated(transposed(ab, 0, count - 1))
    x = SolvehBanded(count - 1, whether_to_raise("solveh_banded", on_error))(read, sides)[0]
    return Squeeze((-1,))(x) if is_vector else x  # type: ignore[no-any-return]


FAMILY = Family(
    "linalg/banded", ops=(SolveBanded, SolvehBanded), functions=(solve_banded, solveh_banded), module="linalg"
)
