"""Logarithms of matrices: by square roots of their Schur form, until what is left is near the identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import zeros, zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, where
from tg.ops.elementwise.exponential import exp2, log
from tg.ops.family import Family
from tg.ops.linalg.equations import real_part, schur_form, triangular_root
from tg.ops.linalg.functions import derivative
from tg.ops.linalg.linear_systems import identities
from tg.ops.linalg.matrices import adjoint, diagonals, matrix, need_matrices, need_square, on_diagonal, real_type
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.reduction import any as any_of
from tg.ops.reduction import max as max_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, matrix_transpose
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

DEGREE: Final = 7
LARGEST: Final = 0.264
"""The norm of x up to which the approximant of this degree of log(1 + x) has double precision: table 11.1 of
N. J. Higham, Functions of Matrices, 2008."""
MOST_ROOTS: Final = 100  # each halves what is above the diagonal, or better; eigenvalues of any size need twelve


@final
class Logm(Op):
    """The principal logarithm of each matrix: the one whose eigenvalues have imaginary parts between -pi and pi.

    Of a real matrix whose logarithm is not real, for it has eigenvalues below 0, it is NaN: of the same in complex
    numbers it exists. Of a singular matrix it is NaN or infinite.

    Shapes:
        a (..., n, n) -> (..., n, n)
    Raises:
        LinAlgError: LAPACK's iteration did not converge.
    Source:
        scipy.linalg.logm: A. H. Al-Mohy and N. J. Higham, Improved inverse scaling and squaring algorithms for the
        matrix logarithm, 2012, with one degree for all. The pullback is a corner of the logarithm of a matrix twice as
        large, as that of `Expm`.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("logm", a)
        need_square("logm", a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """2^k times the approximant at the 2^k-th root of the Schur form; the diagonal by logarithms of numbers."""
        (a,) = inputs
        form, vectors = schur_form(a)
        root, times = _roots(form)
        scale = cast_variable(exp2(times), form.type.dtype)
        logarithm = multiply(_approximant(subtract(root, identities(root))), expand_dims_at(scale, (-2, -1)))
        logarithm = where(on_diagonal(logarithm), expand_dims_at(log(diagonals(form)), (-1,)), logarithm)
        x = MatMul()(MatMul()(vectors, logarithm), adjoint(vectors))
        return x if is_complex(a.type.dtype) else real_part(x, a)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The derivative at the transpose in the direction of the cotangent."""
        dy = cotangents[0]
        return (None,) if dy is None else (derivative(self, matrix_transpose(inputs[0]), dy),)


def _roots(form: Variable) -> tuple[Variable, Variable]:
    """The first of repeated square roots that are near the identity, and how many they are."""
    from tg.ops.iteration import while_loop

    kind = real_type(form.type.dtype)
    limit = numpy_dtype(kind).type(LARGEST)

    def far(form: Variable) -> Variable:
        """The mask of matrices that are not near the identity, in the norm of columns."""
        columns = reduce_sum(absolute(subtract(form, identities(form))), (-2,))
        return greater(max_of(columns, -1, initial=0), limit)

    def halved(carry: Any) -> Any:
        form, times = carry
        chosen = far(form)
        root = where(expand_dims_at(chosen, (-2, -1)), triangular_root(form), form)
        return root, add(times, cast_variable(chosen, kind))

    with Requirements():  # lengths of the step are no values of a graph that is being rewritten
        start = (form, zeros(form.shape[:-2], dtype=kind))
        return while_loop(lambda carry: any_of(far(carry[0])), halved, start, MOST_ROOTS)  # type: ignore[no-any-return]


def _approximant(x: Variable) -> Variable:
    """The diagonal Padé approximant of log(1 + x) in partial fractions: the quadrature by Gauss of its integral."""
    nodes, weights = np.polynomial.legendre.leggauss(DEGREE)
    kind = numpy_dtype(real_type(x.type.dtype)).type
    one, total = identities(x), zeros_like(x)
    solve = SolveTriangular(lower=False, transpose="n", unit_diagonal=False, raises=False)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        total = add(total, solve(add(one, multiply(x, kind(node))), multiply(x, kind(weight))))
    return total


def logm(A: TensorLike) -> Variable:
    """The principal logarithm of square matrices, of which `expm` is A; NaN where that of a real matrix is not real.

    Shapes:
        A (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.logm, whose result is complex where the logarithm is not real
    """
    return Logm()(matrix("logm", A))  # type: ignore[no-any-return]


FAMILY = Family("linalg/logarithms", ops=(Logm,), functions=(logm,), module="linalg")
