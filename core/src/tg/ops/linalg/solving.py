"""Systems of equations, inverses and determinants: each by one factorisation, which its derivative uses as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import iota, ones_like
from tg.ops.diagonal import tril, triu
from tg.ops.elementwise.arithmetic import absolute, add, multiply, negative, sign, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, not_equal, where
from tg.ops.elementwise.complex import conjugate, imag
from tg.ops.elementwise.exponential import log
from tg.ops.family import Family
from tg.ops.linalg.banded import SolveBanded, band_of
from tg.ops.linalg.linear_systems import Inv, Solve, identities, without_nan
from tg.ops.linalg.lu import LU, solve_by_factors
from tg.ops.linalg.matrices import (
    adjoint,
    conjugated,
    diagonals,
    matrix,
    matrix_and_sides,
    need_matrices,
    need_same,
    need_square,
    on_diagonal,
    real_type,
    whether_to_raise,
    zero_place,
)
from tg.ops.linalg.spectral import SVD
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.reduction import any as any_of
from tg.ops.reduction import prod, product_of_others, reduce_sum
from tg.ops.shape import Squeeze, expand_dims_at, matrix_transpose
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.requirements import Requirements
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import AssumedStructure, OnError
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


@final
class Det(Op):
    """The determinant of each matrix: 0 of a singular one, 1 of one without elements.

    Shapes:
        a (..., n, n) -> (...)
    Source:
        numpy.linalg.det. The pullback is `Cofactors`.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """A number for each matrix."""
        need_matrices("det", a)
        need_square("det", a)
        return (TensorType(a.dtype, a.shape[:-2]),)

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.det`."""
        lost, a = without_nan(a)
        determinants = np.asarray(np.linalg.det(a))
        return (determinants if lost is None else np.where(lost, determinants.dtype.type(np.nan), determinants),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The product of the pivots, with the sign of the permutation."""
        factors, pivots, _ = LU()(inputs[0])
        return _of_pivots(factors, pivots)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cofactors."""
        (a,), (dy,) = inputs, cotangents
        return (None if dy is None else Cofactors()(a, dy),)


@final
class Cofactors(Op):
    """A multiple of the cofactors of each matrix, which are the derivatives of its determinant.

    Shapes:
        a (..., n, n), d (...) -> (..., n, n)
    Source:
        The determinant times the transposed inverse, both by the same factors: of a matrix that is singular up to
        rounding either is noise, and what is noise in one cancels in the other. Those of a singular a = U diag(s) Vh
        are det(U) det(Vh) times the conjugate of U diag(p) Vh, where p[i] is the product of all singular values but
        s[i]; they are computed only if there is such a matrix.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, d: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("det", a, TensorType(d.dtype, (*d.shape, *a.shape[-2:])))
        need_square("det", a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By the inverse, or by singular values."""
        from tg.ops.iteration import cond

        a, d = inputs
        factors, pivots, order = LU()(a)
        scale = multiply(d, _of_pivots(factors, pivots))
        regular = multiply(expand_dims_at(scale, (-2, -1)), solve_by_factors(factors, order, identities(a), "t"))
        singular = greater(zero_place(diagonals(factors)), 0)
        with Requirements():  # lengths of a branch are no values of a graph that is being rewritten
            return cond(
                any_of(singular),
                lambda: where(expand_dims_at(singular, (-2, -1)), _cofactors(a, d), regular),
                lambda: regular,
            )

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The second derivative of the determinant in the direction of the cotangent; linear in d."""
        (a, d), (dy,) = inputs, cotangents
        if dy is None:
            return (None, None)
        one = ones_like(d)
        return (
            multiply(expand_dims_at(d, (-2, -1)), CofactorsAlong()(a, dy)),
            reduce_sum(multiply(Cofactors()(a, one), dy), (-2, -1)),
        )


@final
class CofactorsAlong(Op):
    """The derivative of each matrix's cofactors in a direction, which is linear in it and of a singular matrix right.

    Shapes:
        a (..., n, n), g (..., n, n) -> (..., n, n)
    Source:
        det(diag(s) + m) has the terms q[i, j] (m[i, i] m[j, j] - m[i, j] m[j, i]) of second order, where q[i, j] is
        the product of all s but s[i] and s[j]; of a = U diag(s) Vh, m is the direction between U and Vh.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, g: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("det", a, g)
        need_square("det", a)
        need_square("det", g)
        need_same("det", "matrix and direction", a.shape[-1], g.shape[-1])
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By singular values."""
        a, g = inputs
        u, s, vh, _ = SVD(full_matrices=False, raises=False)(a)
        m = MatMul()(MatMul()(adjoint(u), g), adjoint(vh))
        diagonal = on_diagonal(a)
        kind = numpy_dtype(s.type.dtype).type
        others = product_of_others(where(diagonal, kind(1), expand_dims_at(s, (-2,))), (-1,))
        q = cast_variable(where(diagonal, kind(0), others), a.type.dtype)
        beside = reduce_sum(multiply(q, expand_dims_at(diagonals(m), (-2,))), (-1,))
        between = where(diagonal, expand_dims_at(beside, (-1,)), negative(multiply(q, matrix_transpose(m))))
        turn = expand_dims_at(multiply(Det()(u), Det()(vh)), (-2, -1))
        return multiply(turn, MatMul()(MatMul()(conjugated(u), between), conjugated(vh)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The same in the direction of the cotangent; that of a by the inverse, NaN of a singular matrix.

        With p = inv(a) g, q = inv(a) h and d = det(a) the second derivative is d (tr(p) tr(q) - tr(p q)); of the
        third along m, inv(a) m is a factor of each trace.
        """
        (a, g), (h,) = inputs, cotangents
        if h is None:
            return (None, None)
        inverse = Solve("n", positive=False, raises=False)(a, identities(a))[0]
        p, q = MatMul()(inverse, g), MatMul()(inverse, h)
        pq, qp = MatMul()(p, q), MatMul()(q, p)
        trace_p, trace_q, trace_pq = (expand_dims_at(reduce_sum(diagonals(x), (-1,)), (-2, -1)) for x in (p, q, pq))
        whole = multiply(identities(a), subtract(multiply(trace_p, trace_q), trace_pq))
        parts = add(multiply(trace_q, p), multiply(trace_p, q))
        inner = add(subtract(whole, parts), add(pq, qp))
        by_a = multiply(expand_dims_at(Det()(a), (-2, -1)), matrix_transpose(MatMul()(inner, inverse)))
        return (by_a, CofactorsAlong()(a, h))


def _cofactors(a: Variable, d: Variable) -> Variable:
    u, s, vh, _ = SVD(full_matrices=False, raises=False)(a)
    turn = expand_dims_at(multiply(d, multiply(Det()(u), Det()(vh))), (-1,))
    scale = multiply(cast_variable(product_of_others(s, (-1,)), a.type.dtype), turn)
    return MatMul()(multiply(conjugated(u), expand_dims_at(scale, (-2,))), conjugated(vh))  # type: ignore[no-any-return]


def _of_pivots(factors: Variable, pivots: Variable) -> Variable:
    """The determinant of the matrix that has these factors."""
    return multiply(prod(diagonals(factors), -1), parity(pivots, factors.type.dtype))


def transposed_inverse(a: Variable) -> Variable:
    """The inverse of the transpose, by the LU factors of a; NaN where a is singular."""
    return Solve("t", positive=False, raises=False)(a, identities(a))[0]  # type: ignore[no-any-return]


def parity(pivots: Variable, dtype: str) -> Variable:
    """The sign of a permutation, by its exchanges of rows."""
    moved = not_equal(cast_variable(pivots, "int64"), iota(pivots.shape[-1]))
    odd = equal(reduce_sum(cast_variable(moved, "int64"), (-1,)) % 2, 1)
    kind = numpy_dtype(dtype).type
    return where(odd, kind(-1), kind(1))


@final
class SlogDet(Op):
    """The sign of the determinant of each matrix, of a complex one its direction, and the log of its magnitude.

    Of a singular matrix they are 0 and -inf.

    Shapes:
        a (..., n, n) -> sign (...), logabsdet (...)
    Source:
        numpy.linalg.slogdet. The pullback is the transposed inverse, by the same factors.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Two numbers for each matrix, the second real."""
        need_matrices("slogdet", a)
        need_square("slogdet", a)
        return (TensorType(a.dtype, a.shape[:-2]), TensorType(real_type(a.dtype), a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.slogdet`, whose sign of what is NaN is 1; here it is NaN."""
        lost, a = without_nan(a)
        result = np.linalg.slogdet(a)
        size = np.asarray(result.logabsdet)
        size = size if lost is None else np.where(lost, size.dtype.type(np.nan), size)
        return (np.where(np.isnan(size), size.dtype.type(np.nan), result.sign), size)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """Of the pivots."""
        factors, pivots, _ = LU()(inputs[0])
        pivot = diagonals(factors)
        signs = multiply(prod(sign(pivot), -1), parity(pivots, factors.type.dtype))
        return signs, reduce_sum(log(absolute(pivot)), (-1,))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The transposed inverse; the direction of a complex one turns by the imaginary part of its product with da."""
        (a,), (signs, _), (dsign, dlog) = inputs, outputs, cotangents
        factor = None if dlog is None else cast_variable(dlog, a.type.dtype)
        if dsign is not None and is_complex(a.type.dtype):
            turn = multiply(imag(multiply(dsign, signs)), numpy_dtype(a.type.dtype).type(1j))
            factor = turn if factor is None else add(factor, turn)
        if factor is None:
            return (None,)
        return (multiply(expand_dims_at(factor, (-2, -1)), transposed_inverse(a)),)


ASSUMED: Final[dict[str | None, str]] = {
    None: "gen",
    "general": "gen",
    "symmetric": "sym",
    "hermitian": "her",
    "positive definite": "pos",
    **{
        word: word
        for word in ("gen", "sym", "her", "pos", "diagonal", "tridiagonal", "upper triangular", "lower triangular")
    },
}


def solve(
    a: TensorLike,
    b: TensorLike,
    lower: bool = False,
    *,
    assume_a: AssumedStructure | None = None,
    transposed: bool = False,
    on_error: OnError = "raise",
) -> Variable:
    """The solution of a x = b.

    Args:
        lower: of what `assume_a` calls symmetric, Hermitian or positive definite, whether the lower triangle is read.
        assume_a: "gen" (default), "sym", "her", "pos", "diagonal", "tridiagonal", "upper triangular" or "lower
            triangular".
        transposed: whether to solve with the transpose of a.
        on_error: "raise", or "nan": the solution is NaN for a singular matrix.
    Shapes:
        a (..., n, n), b (..., n, k) or (n) -> as b; leading axes broadcast
    Raises:
        LinAlgError: a matrix is singular, or not positive definite.
        ShapeError: lengths do not fit.
    Source:
        numpy.linalg.solve, scipy.linalg.solve
    """
    a, sides, is_vector = matrix_and_sides("solve", a, b)
    raises = whether_to_raise("solve", on_error)
    if assume_a not in ASSUMED:
        words = ", ".join(repr(word) for word in ASSUMED if word is not None)
        raise InputError(message(f"solve: assume_a: found {assume_a!r}, needed one of {words}"))
    x = _solved(ASSUMED[assume_a], a, sides, lower, transposed, raises)
    return Squeeze((-1,))(x) if is_vector else x


def _solved(assumed: str, a: Variable, b: Variable, lower: bool, transposed: bool, raises: bool) -> Variable:
    transpose = "t" if transposed else "n"
    if assumed.endswith("triangular"):
        solution: Variable = SolveTriangular(
            assumed.startswith("lower"), transpose, unit_diagonal=False, raises=raises
        )(a, b)
        return solution
    if assumed == "diagonal":
        triangle = tril(triu(a))
        return SolveTriangular(True, transpose, False, raises)(triangle, b)  # type: ignore[no-any-return]
    if assumed == "tridiagonal":
        band = band_of(matrix_transpose(a) if transposed else a, 1, 1)
        return SolveBanded(1, 1, raises)(band, b)[0]  # type: ignore[no-any-return]
    if assumed == "gen":
        return Solve(transpose, False, raises)(a, b)[0]  # type: ignore[no-any-return]
    flip = conjugate if transposed and is_complex(a.type.dtype) and assumed != "sym" else None
    read = a if lower else matrix_transpose(a) if assumed == "sym" else adjoint(a)
    sides = b if flip is None else flip(b)
    if assumed == "pos":
        x = Solve("n", True, raises)(read, sides)[0]
    else:
        below = tril(read, -1)
        whole = add(tril(read), matrix_transpose(below) if assumed == "sym" else adjoint(below))
        x = Solve("n", False, raises)(whole, sides)[0]
    return x if flip is None else flip(x)


def inv(a: TensorLike, *, on_error: OnError = "raise") -> Variable:
    """The inverse of square matrices.

    Args:
        on_error: "raise", or "nan": the inverse of a singular matrix is NaN.
    Shapes:
        a (..., n, n) -> (..., n, n)
    Raises:
        LinAlgError: a matrix is singular: its LU factorisation has a 0 as pivot.
    Source:
        numpy.linalg.inv
    """
    return Inv(whether_to_raise("inv", on_error))(matrix("inv", a))[0]  # type: ignore[no-any-return]


def det(a: TensorLike) -> Variable:
    """The determinants of square matrices; at singular ones they have first and second derivatives, the third are NaN.

    Shapes:
        a (..., n, n) -> (...)
    Source:
        numpy.linalg.det
    """
    return Det()(matrix("det", a))  # type: ignore[no-any-return]


def slogdet(a: TensorLike) -> SlogdetResult:
    """The sign of the determinants of square matrices and the logs of their magnitudes; 0 and -inf of a singular one.

    Shapes:
        a (..., n, n) -> sign (...), logabsdet (...)
    Source:
        numpy.linalg.slogdet
    """
    return SlogdetResult(*SlogDet()(matrix("slogdet", a)))


FAMILY = Family(
    "linalg/solving",
    ops=(Solve, Inv, Det, Cofactors, CofactorsAlong, SlogDet),
    functions=(solve, inv, det, slogdet),
    module="linalg",
)
