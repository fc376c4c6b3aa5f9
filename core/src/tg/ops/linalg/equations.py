"""Sylvester's and Lyapunov's equations, and square roots of matrices: by complex Schur forms, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, multiply, negative, sqrt, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.complex import imag, real
from tg.ops.family import Family
from tg.ops.linalg.functions import derivative
from tg.ops.linalg.matrices import adjoint, matrices, matrix, need_matrices, need_same, need_square
from tg.ops.linalg.schur import Schur, complex_type
from tg.ops.linalg.solving import identities, inv
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.reduction import max as max_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose
from tg.types.dtypes import float_limits, is_complex, numpy_dtype
from tg.types.lengths import Requirements
from tg.types.lengths import broadcast as broadcast_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType


def _column(x: Variable, k: Variable) -> Variable:
    """The k-th columns, each a matrix of one column; nothing is asked of k, which is in range."""
    chosen = equal(iota(x.shape[-1]), k)
    return expand_dims_at(reduce_sum(where(chosen, x, numpy_dtype(x.type.dtype).type(0)), (-1,)), (-1,))


def _by_columns(start: Variable, count: Any, step: Callable[[Variable, Variable], Variable]) -> Variable:
    """A matrix whose columns follow from those before them."""
    from tg.ops.iteration import fori_loop

    def body(k: Variable, found: Variable) -> Variable:
        return where(equal(iota(count), k), step(k, found), found)

    with Requirements():  # lengths of the step are no values of a graph that is being rewritten
        return fori_loop(0, count, body, start)  # type: ignore[no-any-return]


def _shifted(a: Variable, shift: Variable) -> Variable:
    """a plus a multiple of the identity matrix for each matrix, given as a matrix of one element."""
    return add(a, multiply(identities(a), shift))


def _solve(a: Variable, b: Variable) -> Variable:
    return SolveTriangular(lower=False, transpose="n", unit_diagonal=False, raises=False)(a, b)  # type: ignore[no-any-return]


def _form(a: Variable) -> tuple[Variable, Variable]:
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
        (r, u), (s, v) = _form(a), _form(b)
        right = MatMul()(MatMul()(adjoint(u), cast_variable(q, r.type.dtype)), v)

        def step(k: Variable, y: Variable) -> Variable:
            below = _column(s, k)
            shift = reduce_sum(where(expand_dims_at(equal(iota(s.shape[-1]), k), (-1,)), below, below - below), (-2,))
            rest = subtract(_column(right, k), MatMul()(y, below))
            return _solve(_shifted(r, expand_dims_at(shift, (-1,))), rest)

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

    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("sqrtm", a)
        need_square("sqrtm", a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By the Schur form: a triangular system for each column."""
        (a,) = inputs
        form, vectors = _form(a)
        n = form.shape[-1]

        def step(k: Variable, found: Variable) -> Variable:
            column = _column(form, k)
            zero = numpy_dtype(form.type.dtype).type(0)
            at = expand_dims_at(equal(iota(n), k), (-1,))
            root = sqrt(expand_dims_at(reduce_sum(where(at, column, zero), (-2,)), (-1,)))
            above = _solve(_shifted(found, root), where(at, zero, column))
            return where(at, root, above)

        root = _by_columns(zeros_like(form), n, step)
        x = MatMul()(MatMul()(vectors, root), adjoint(vectors))
        return x if is_complex(a.type.dtype) else _real_part(x, a)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The derivative at the transpose in the direction of the cotangent."""
        dy = cotangents[0]
        return (None,) if dy is None else (derivative(self, matrix_transpose(inputs[0]), dy),)


def _real_part(x: Variable, a: Variable) -> Variable:
    """The real part of matrices, NaN for those that have an imaginary one beyond rounding."""
    kind = numpy_dtype(a.type.dtype).type
    limit = kind(float_limits(a.type.dtype).eps ** 0.5)
    size, turned = (max_of(absolute(part), (-2, -1), keepdims=True, initial=0) for part in (real(x), imag(x)))
    return where(greater(turned, multiply(add(size, turned), limit)), kind(np.nan), real(x))


def solve_sylvester(a: Any, b: Any, q: Any) -> Variable:
    """The solution of a x + x b = q; NaN or infinite where eigenvalues of a and -b are equal.

    Shapes:
        a (..., m, m), b (..., n, n), q (..., m, n) -> (..., m, n); leading axes broadcast
    Source:
        scipy.linalg.solve_sylvester
    """
    given = matrices("solve_sylvester", a, b, q)
    rank = max(v.type.ndim for v in given)
    given = [v if v.type.ndim == rank else expand_dims_at(v, tuple(range(-rank, -v.type.ndim))) for v in given]
    lead = given[0].shape[:-2]
    for v in given[1:]:
        lead = tuple(
            broadcast_lengths(n, m, lambda: "solve_sylvester: leading axes")
            for n, m in zip(lead, v.shape[:-2], strict=True)
        )
    return SolveSylvester()(*(broadcast_to(v, (*lead, *v.shape[-2:])) if lead else v for v in given))  # type: ignore[no-any-return]


def solve_continuous_lyapunov(a: Any, q: Any) -> Variable:
    """The solution of a x + x a' = q.

    Shapes:
        a (..., n, n), q (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.solve_continuous_lyapunov
    """
    a = matrix("solve_continuous_lyapunov", a)
    return solve_sylvester(a, adjoint(a), q)


def solve_discrete_lyapunov(a: Any, q: Any) -> Variable:
    """The solution of a x a' - x + q = 0, by way of the continuous equation.

    Raises:
        LinAlgError: -1 is an eigenvalue of a.
    Shapes:
        a (..., n, n), q (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.solve_discrete_lyapunov, its method "bilinear"
    """
    a, q = matrices("solve_discrete_lyapunov", a, q)
    one, turned = identities(a), adjoint(a)
    right = inv(add(turned, one))
    b = MatMul()(subtract(turned, one), right)
    c = MatMul()(MatMul()(inv(add(a, one)), q), right)
    return solve_continuous_lyapunov(adjoint(b), negative(add(c, c)))


def sqrtm(A: Any) -> Variable:
    """The principal square root of square matrices; NaN where that of a real matrix is not real.

    Shapes:
        A (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.sqrtm, whose result is complex where the root is not real
    """
    return Sqrtm()(matrix("sqrtm", A))  # type: ignore[no-any-return]


FAMILY = Family(
    "linalg/equations",
    ops=(SolveSylvester, Sqrtm),
    functions=(solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov, sqrtm),
    module="linalg",
)
