"""Sylvester's, Stein's and Lyapunov's equations, and square roots: by complex Schur forms, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, multiply, negative, sqrt, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isfinite, logical_and, logical_not, where
from tg.ops.elementwise.complex import imag, real
from tg.ops.family import Family
from tg.ops.linalg.functions import derivative
from tg.ops.linalg.linear_systems import identities
from tg.ops.linalg.matrices import (
    adjoint,
    broadcast_matrices,
    matrix,
    need_matrices,
    need_same,
    need_square,
    real_type,
)
from tg.ops.linalg.schur import Schur, complex_type
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.reduction import all as all_of
from tg.ops.reduction import any as any_of
from tg.ops.reduction import max as max_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, matrix_transpose
from tg.types.dtypes import float_limits, is_complex, numpy_dtype
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

MOST_DOUBLINGS: Final = 64  # each squares eigenvalues inside of the unit circle: 1 - 2^-53 comes to 0 in fewer


def _column(x: Variable, k: Variable) -> Variable:
    """The k-th columns, each a matrix of one column; nothing is asked of k, which is in range."""
    chosen = equal(iota(x.shape[-1]), k)
    return expand_dims_at(reduce_sum(where(chosen, x, numpy_dtype(x.type.dtype).type(0)), (-1,)), (-1,))


def _diagonal_element(column: Variable, k: Variable) -> Variable:
    """Element k of column k, as a matrix of one element."""
    at = expand_dims_at(equal(iota(column.shape[-2]), k), (-1,))
    zero = numpy_dtype(column.type.dtype).type(0)
    return expand_dims_at(reduce_sum(where(at, column, zero), (-2,)), (-1,))


def _by_columns(start: Variable, count: Any, step: Callable[[Variable, Variable], Variable]) -> Variable:
    """A matrix whose columns follow from those before them."""
    from tg.ops.iteration import fori_loop

    def body(k: Variable, x: Variable) -> Variable:
        return where(equal(iota(count), k), step(k, x), x)

    with Requirements():  # lengths of the step are no values of a graph that is being rewritten
        return fori_loop(0, count, body, start)


def _shifted(a: Variable, shift: Variable) -> Variable:
    """a plus a multiple of the identity matrix for each matrix, given as a matrix of one element."""
    return add(a, multiply(identities(a), shift))


def _solve(a: Variable, b: Variable) -> Variable:
    return SolveTriangular(lower=False, transpose="n", unit_diagonal=False, raises=False)(a, b)  # type: ignore[no-any-return]


def schur_form(a: Variable) -> tuple[Variable, Variable]:
    """The complex Schur form."""
    form, vectors, _ = Schur(raises=True)(cast_variable(a, complex_type(a.type.dtype)))
    return form, vectors


@final
class SolveSylvester(Op):
    """The solution of a x + x b = q; NaN or infinite where eigenvalues of a and -b are equal.

    Shapes:
        a (..., m, m), b (..., n, n), q (..., m, n) -> x (..., m, n)
    Raises:
        LinAlgError: LAPACK's iteration did not converge.
    Source:
        scipy.linalg.solve_sylvester: R. H. Bartels and G. W. Stewart, Solution of the matrix equation AX + XB = C,
        1972. The pullback solves the equation of the transposes.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, b: TensorType, q: TensorType) -> tuple[TensorType, ...]:
        """The type of q."""
        need_matrices("solve_sylvester", a, b, q)
        need_square("solve_sylvester", a)
        need_square("solve_sylvester", b)
        need_same("solve_sylvester", "rows of a and q", a.shape[-1], q.shape[-2])
        need_same("solve_sylvester", "columns of b and q", b.shape[-1], q.shape[-1])
        return (q.with_shape([*q.shape[:-2], a.shape[-1], b.shape[-1]]),)

    def expansion(self, *inputs: Variable) -> Variable:
        """By both Schur forms: a triangular system for each column."""
        a, b, q = inputs
        (r, u), (s, v) = schur_form(a), schur_form(b)
        right = MatMul()(MatMul()(adjoint(u), cast_variable(q, r.type.dtype)), v)

        def step(k: Variable, y: Variable) -> Variable:
            below = _column(s, k)
            rest = subtract(_column(right, k), MatMul()(y, below))
            return _solve(_shifted(r, _diagonal_element(below, k)), rest)

        y = _by_columns(zeros_like(right), right.shape[-1], step)
        x = MatMul()(MatMul()(u, y), adjoint(v))
        return x if is_complex(a.type.dtype) else real(x)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The solution w of a' w + w b' = dx, -w x' and -x' w."""
        (a, b, _), (x,), (dx,) = inputs, outputs, cotangents
        if dx is None:
            return (None, None, None)
        w = self(matrix_transpose(a), matrix_transpose(b), dx)
        turned = matrix_transpose(x)
        return (negative(MatMul()(w, turned)), negative(MatMul()(turned, w)), w)


@final
class SolveStein(Op):
    """The solution of x - a x b = q; NaN or infinite where eigenvalues of a and b have the product 1.

    With `stable` the products of their powers are known to vanish, and x is the sum of a^k q b^k.

    Shapes:
        a (..., m, m), b (..., n, n), q (..., m, n) -> x (..., m, n)
    Raises:
        LinAlgError: LAPACK's iteration did not converge.
    Source:
        As `SolveSylvester`; the sum by R. A. Smith, Matrix equation XA + BX = C, 1968. The pullback solves the equation
        of the transposes.
    """

    stable: bool = False
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, b: TensorType, q: TensorType) -> tuple[TensorType, ...]:
        """The type of q."""
        return SolveSylvester().infer(a, b, q)

    def expansion(self, *inputs: Variable) -> Variable:
        """By both Schur forms, a triangular system for each column; or the sum."""
        a, b, q = inputs
        if self.stable:
            with Requirements():  # lengths of the step are no values of a graph that is being rewritten
                return doubled(a, b, q)[0]
        (r, u), (s, v) = schur_form(a), schur_form(b)
        right = MatMul()(MatMul()(adjoint(u), cast_variable(q, r.type.dtype)), v)

        def step(k: Variable, y: Variable) -> Variable:
            above = _column(s, k)
            rest = add(_column(right, k), MatMul()(r, MatMul()(y, above)))
            return _solve(subtract(identities(r), multiply(r, _diagonal_element(above, k))), rest)

        y = _by_columns(zeros_like(right), right.shape[-1], step)
        x = MatMul()(MatMul()(u, y), adjoint(v))
        return x if is_complex(a.type.dtype) else real(x)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The solution w of w - a' w b' = dx, w (x b)' and (a x)' w."""
        (a, b, _), (x,), (dx,) = inputs, outputs, cotangents
        if dx is None:
            return (None, None, None)
        w = self(matrix_transpose(a), matrix_transpose(b), dx)
        da = MatMul()(w, matrix_transpose(MatMul()(x, b)))
        return (da, MatMul()(matrix_transpose(MatMul()(a, x)), w), w)


def doubled(a: Variable, b: Variable, q: Variable) -> tuple[Variable, Variable]:
    """The sum of a^k q b^k over all k, twice as many terms in each step; and for which matrices it has an end."""
    from tg.ops.iteration import while_loop

    kind = real_type(a.type.dtype)
    eps = numpy_dtype(kind).type(float_limits(kind).eps)

    def is_far(a: Variable, b: Variable) -> Variable:
        sizes = (max_of(absolute(v), (-2, -1), initial=0) for v in (a, b))
        return greater(multiply(*sizes), eps)

    def step(carry: Any) -> Any:
        a, b, x = carry
        return MatMul()(a, a), MatMul()(b, b), add(x, MatMul()(MatMul()(a, x), b))

    a, b, x = while_loop(lambda carry: any_of(is_far(carry[0], carry[1])), step, (a, b, q), MOST_DOUBLINGS)
    finite = all_of(isfinite(x), (-2, -1))
    return x, logical_and(finite, logical_not(is_far(a, b)))


@final
class Sqrtm(Op):
    """The principal square root of each matrix: the one whose eigenvalues have no real part below 0.

    Of a real matrix whose root is not real, for it has eigenvalues below 0, it is NaN: of the same in complex numbers
    it exists. It is NaN where 0 is an eigenvalue more than once.

    Shapes:
        a (..., n, n) -> (..., n, n)
    Raises:
        LinAlgError: LAPACK's iteration did not converge.
    Source:
        scipy.linalg.sqrtm: A. Björck and S. Hammarling, A Schur method for the square root of a matrix, 1983. The
        pullback is a corner of the root of a matrix twice as large, as that of `Expm`.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("sqrtm", a)
        need_square("sqrtm", a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The root of the Schur form, turned back."""
        (a,) = inputs
        form, vectors = schur_form(a)
        root = triangular_root(form)
        x = MatMul()(MatMul()(vectors, root), adjoint(vectors))
        return x if is_complex(a.type.dtype) else real_part(x, a)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The derivative at the transpose in the direction of the cotangent."""
        dy = cotangents[0]
        return (None,) if dy is None else (derivative(self, matrix_transpose(inputs[0]), dy),)


def triangular_root(form: Variable) -> Variable:
    """The principal square roots of upper triangular complex matrices: a triangular system for each column."""
    n = form.shape[-1]
    zero = numpy_dtype(form.type.dtype).type(0)

    def step(k: Variable, x: Variable) -> Variable:
        column = _column(form, k)
        at = expand_dims_at(equal(iota(n), k), (-1,))
        root = sqrt(_diagonal_element(column, k))
        above = _solve(_shifted(x, root), where(at, zero, column))
        return where(at, root, above)

    return _by_columns(zeros_like(form), n, step)


def real_part(x: Variable, a: Variable) -> Variable:
    """The real part of matrices, NaN for those that have an imaginary one beyond rounding."""
    kind = numpy_dtype(a.type.dtype).type
    limit = kind(float_limits(a.type.dtype).eps ** 0.5)
    size, turned = (max_of(absolute(part), (-2, -1), keepdims=True, initial=0) for part in (real(x), imag(x)))
    return where(greater(turned, multiply(add(size, turned), limit)), kind(np.nan), real(x))


def solve_sylvester(a: TensorLike, b: TensorLike, q: TensorLike) -> Variable:
    """The solution of a x + x b = q; NaN or infinite where eigenvalues of a and -b are equal.

    Shapes:
        a (..., m, m), b (..., n, n), q (..., m, n) -> (..., m, n); leading axes broadcast
    Source:
        scipy.linalg.solve_sylvester
    """
    return SolveSylvester()(*broadcast_matrices("solve_sylvester", a, b, q))  # type: ignore[no-any-return]


def solve_continuous_lyapunov(a: TensorLike, q: TensorLike) -> Variable:
    """The solution of a x + x a' = q.

    Shapes:
        a (..., n, n), q (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.solve_continuous_lyapunov
    """
    a = matrix("solve_continuous_lyapunov", a)
    return solve_sylvester(a, adjoint(a), q)


def solve_discrete_lyapunov(a: TensorLike, q: TensorLike) -> Variable:
    """The solution of a x a' - x + q = 0; NaN or infinite where eigenvalues of a and a' have the product 1.

    Shapes:
        a (..., n, n), q (..., n, n) -> (..., n, n); leading axes broadcast
    Source:
        scipy.linalg.solve_discrete_lyapunov
    """
    a, q = broadcast_matrices("solve_discrete_lyapunov", a, q)
    return SolveStein()(a, adjoint(a), q)  # type: ignore[no-any-return]


def sqrtm(A: TensorLike) -> Variable:
    """The principal square root of square matrices; NaN where that of a real matrix is not real.

    Shapes:
        A (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.sqrtm, whose result is complex where the root is not real
    """
    return Sqrtm()(matrix("sqrtm", A))  # type: ignore[no-any-return]


FAMILY = Family(
    "linalg/equations",
    ops=(SolveSylvester, SolveStein, Sqrtm),
    functions=(solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov, sqrtm),
    module="linalg",
)
