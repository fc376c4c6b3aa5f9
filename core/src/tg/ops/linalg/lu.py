"""LU factors by partial pivoting: a permutation of the rows is a product of triangular matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.op import Op
from tg.lapack import getrf, has_lapack
from tg.ops.contraction import MatMul
from tg.ops.creation import eye, iota
from tg.ops.diagonal import tril, triu
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.linalg.matrices import matrix, matrix_and_sides, need_matrices, transpose_of
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.places import take_along_axis
from tg.ops.shape import Concatenate, Squeeze, broadcast_to, expand_dims_at, matrix_transpose
from tg.ops.sorting import ArgSort
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import minimum, same
from tg.types.lengths import subtract as subtract_lengths
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


@final
class LU(Op):
    """The factors of a, both in one matrix, and how its rows are ordered: row `order[i]` of a is row i of L U.

    L is below the diagonal and has ones on it, U is on and above it. `pivots[i]` is the row that row i changes places
    with, in turn, counted from 0; `order` is what these make of 0, 1, …. Of a singular matrix U has a zero on its
    diagonal: that is no error here.

    Shapes:
        a (..., m, n) -> factors (..., m, n), pivots int32 (..., min(m, n)), order int32 (..., m)
    Source:
        scipy.linalg.lu_factor, jax.lax.linalg.lu
    """

    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a, and the integers of its rows."""
        need_matrices("lu", a)
        *lead, m, n = a.shape
        few = minimum(m, n)  # type: ignore[arg-type]
        return (a, TensorType("int32", [*lead, few]), TensorType("int32", [*lead, m]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """LAPACK's, if there is one, where there is no NaN: behind a first pivot of NaN OpenBLAS's may be numbers."""
        lost = np.isnan(a).any((-2, -1))
        factors, pivots = getrf(a)[:2] if has_lapack() and not lost.all() else _factorized(a)
        if lost.any() and not lost.all():
            factors[lost], pivots[lost] = _factorized(a[lost])
        order = np.broadcast_to(np.arange(a.shape[-2], dtype=np.int32), a.shape[:-1]).copy()
        for index in np.ndindex(a.shape[:-2]):
            for k, row in enumerate(pivots[index]):
                order[index][[k, row]] = order[index][[row, k]]
        return (factors, pivots, order)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Solves with the transposes of both factors."""
        (a,), (factors, _, order), (dfactors, *_) = inputs, outputs, cotangents
        if dfactors is None:
            return (None,)
        m, n = a.shape[-2:]
        return (unordered(_cotangent(factors, dfactors, m, n), order),)


def _factorized(a: Array) -> tuple[Array, Array]:
    """Column by column, the largest element (by the sum of its parts' magnitudes) as pivot, as LAPACK has it."""
    *lead, m, n = a.shape
    factors, pivots = np.array(a), np.zeros((*lead, min(m, n)), np.int32)
    for index in np.ndindex(*lead):
        x = factors[index]
        for k in range(min(m, n)):
            row = pivots[index][k] = k + int(np.argmax(abs(x[k:, k].real) + abs(x[k:, k].imag)))
            x[[k, row]] = x[[row, k]]
            if x[k, k] != 0:
                x[k + 1 :, k] /= x[k, k]
            x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return factors, pivots


def _cotangent(factors: Variable, d: Variable, m: Any, n: Any) -> Variable:
    """The cotangent of the matrix in the order of its rows.

    With L1 and U1 the square parts of both, and L2 or U2 what is left of the longer one, the cotangent of what is
    square is L1^-T (tril(L1' dL1 - dU2 U2', -1) + triu(dU1 U1' - L2' dL2)) U1^-T; that of the rest is L1^-T dU2 or
    dL2 U1^-T.
    """
    few = minimum(m, n)
    corner, dcorner = (slice_axis(slice_axis(v, -2, 0, few), -1, 0, few) for v in (factors, d))
    upper = SolveTriangular(lower=False, transpose="n", unit_diagonal=False, raises=False)
    lower = SolveTriangular(lower=True, transpose="t", unit_diagonal=True, raises=False)
    one = broadcast_to(eye(few, dtype=factors.type.dtype), corner.shape)
    left, right = add(tril(corner, -1), one), triu(corner)
    below = MatMul()(matrix_transpose(left), tril(dcorner, -1))
    above = MatMul()(triu(dcorner), matrix_transpose(right))
    tall, wide = subtract_lengths(m, few), subtract_lengths(n, few)
    if not same(wide, 0):
        rest, drest = (slice_axis(slice_axis(v, -2, 0, few), -1, few, wide) for v in (factors, d))
        below = subtract(below, MatMul()(drest, matrix_transpose(rest)))
    if not same(tall, 0):
        under, dunder = (slice_axis(slice_axis(v, -2, few, tall), -1, 0, few) for v in (factors, d))
        above = subtract(above, MatMul()(matrix_transpose(under), dunder))
    inner = lower(corner, add(tril(below, -1), triu(above)))
    gradient = matrix_transpose(upper(corner, matrix_transpose(inner)))
    if not same(wide, 0):
        gradient = Concatenate(-1)(gradient, lower(corner, drest))
    if not same(tall, 0):
        last = matrix_transpose(upper(corner, matrix_transpose(dunder)))
        filled = last if same(wide, 0) else _padded(last, wide)
        gradient = Concatenate(-2)(gradient, filled)
    return gradient


def _padded(x: Variable, columns: Any) -> Variable:
    """Zeros on the right; where the matrix is tall there are none."""
    from tg.ops.creation import zeros

    return Concatenate(-1)(x, zeros((*x.shape[:-1], columns), dtype=x.type.dtype))  # type: ignore[no-any-return]


def ordered(x: Variable, order: Variable) -> Variable:
    """Rows in an order: row i of the result is row `order[i]` of x."""
    places = expand_dims_at(order, (-1,))
    return take_along_axis(x, broadcast_to(places, (*order.shape, x.shape[-1])), -2, mode="promise")


def unordered(x: Variable, order: Variable) -> Variable:
    """The inverse of `ordered`."""
    return ordered(x, ArgSort(-1)(order))


def solve_by_factors(factors: Variable, order: Variable, b: Variable, transpose: str) -> Variable:
    """The solution of a x = b by the factors of a; NaN where U has a zero on its diagonal."""

    def half(lower: bool) -> SolveTriangular:
        return SolveTriangular(lower, transpose, unit_diagonal=lower, raises=False)

    if transpose == "n":
        return half(lower=False)(factors, half(lower=True)(factors, ordered(b, order)))  # type: ignore[no-any-return]
    return unordered(half(lower=True)(factors, half(lower=False)(factors, b)), order)


def order_of(pivots: Variable, m: Any) -> Variable:
    """The order of m rows that changes of places, each row with its pivot in turn, make."""
    maker = pivots.apply
    if maker is not None and isinstance(maker.op, LU):
        return maker.op(*maker.inputs)[2]  # type: ignore[no-any-return]
    from tg.ops.iteration import fori_loop

    pivots = cast_variable(pivots, "int64")
    places = iota(m)

    def exchanged(k: Variable, order: Variable) -> Variable:
        other = take_along_axis(pivots, broadcast_to(k, (*pivots.shape[:-1], 1)), -1, mode="promise")
        here, there = (
            take_along_axis(order, place, -1, mode="promise")
            for place in (broadcast_to(k, (*pivots.shape[:-1], 1)), other)
        )
        return where(equal(places, k), there, where(equal(places, other), here, order))

    start = broadcast_to(places, (*pivots.shape[:-1], m))
    return fori_loop(0, pivots.shape[-1], exchanged, start)


def lu_factor(a: TensorLike) -> tuple[Variable, Variable]:
    """The LU factors of matrices in one, L below the diagonal, and the pivots: row i changed places with `piv[i]`.

    Shapes:
        a (..., m, n) -> lu (..., m, n), piv int32 (..., min(m, n))
    Source:
        scipy.linalg.lu_factor; a singular matrix gives no warning
    """
    factors, pivots, _ = LU()(matrix("lu_factor", a))
    return factors, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: TensorLike, trans: Any = 0) -> Variable:
    """The solution of a x = b by the LU factors of a; NaN where a is singular.

    Args:
        lu_and_piv: the factors and pivots, as `lu_factor` gives them.
        trans: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
    Shapes:
        lu (..., n, n), piv (..., n), b (..., n, k) or (n) -> as b
    Source:
        scipy.linalg.lu_solve
    """
    if not isinstance(lu_and_piv, tuple | list) or len(lu_and_piv) != 2:
        raise InputError(message("lu_solve: found no pair, needed the factors and the pivots"))
    lu, pivots = lu_and_piv
    factors, sides, is_vector = matrix_and_sides("lu_solve", lu, b)
    order = order_of(as_variable(pivots), factors.shape[-2])
    order = broadcast_to(order, (*factors.shape[:-2], factors.shape[-2]))
    x = solve_by_factors(factors, order, sides, transpose_of("lu_solve", trans, factors.type.dtype))
    return Squeeze((-1,))(x) if is_vector else x


def lu(a: TensorLike, permute_l: bool = False, *, p_indices: bool = False) -> tuple[Variable, ...]:
    """The factors P, L and U of a = P L U, or with `permute_l` the two P L and U.

    Args:
        p_indices: whether P is given by indices: a = L[p] U.
    Shapes:
        a (..., m, n) -> p (..., m, m) or (..., m), l (..., m, min(m, n)), u (..., min(m, n), n)
    Source:
        scipy.linalg.lu
    """
    factors, _, order = LU()(matrix("lu", a))
    m, n = factors.shape[-2:]
    few = minimum(m, n)
    lower = slice_axis(tril(factors, -1), -1, 0, few)
    lower = add(lower, broadcast_to(eye(m, few, dtype=factors.type.dtype), lower.shape))
    upper = slice_axis(triu(factors), -2, 0, few)
    back = ArgSort(-1)(order)
    if permute_l:
        return ordered(lower, back), upper
    if p_indices:
        return back, lower, upper
    kind = numpy_dtype(factors.type.dtype).type
    return where(equal(expand_dims_at(back, (-1,)), iota(m)), kind(1), kind(0)), lower, upper


FAMILY = Family("linalg/lu", ops=(LU,), functions=(lu_factor, lu_solve, lu), module="linalg")
