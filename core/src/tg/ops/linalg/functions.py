"""Functions of square matrices: the exponential, by scaling and squaring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, divide, maximum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.elementwise.exponential import exp2, log2
from tg.ops.elementwise.rounding import ceil
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.linalg.linear_systems import Solve, identities
from tg.ops.linalg.matrices import matrix, need_matrices, need_square
from tg.ops.reduction import Reduce, reduce_sum, total_max
from tg.ops.shape import Concatenate, expand_dims_at, matrix_transpose
from tg.types.dtypes import numpy_dtype
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

PADE: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
LARGEST: Final = 5.371920351148152  # the norm up to which these coefficients have double precision
"""Both of N. J. Higham, The scaling and squaring method for the matrix exponential revisited, 2005."""


@final
class Expm(Op):
    """The exponential of each matrix, by its Padé approximant of degree 13 and repeated squaring.

    Shapes:
        a (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.expm. The pullback is a corner of the exponential of a matrix twice as large: R. Mathias, A chain
        rule for matrix functions and applications, 1996.
    """

    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        need_matrices("expm", a)
        need_square("expm", a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The approximant of a scaled matrix, squared as often as that was halved."""
        (a,) = inputs
        kind = numpy_dtype("float64" if a.type.dtype in ("float64", "complex128") else "float32").type
        norm = Reduce(maximum, (-1,), True)(reduce_sum(absolute(a), (-2,)))
        times = ceil(log2(divide(norm, kind(LARGEST))))
        times = where(isfinite(times), maximum(times, kind(0)), kind(0))
        start = _approximant(multiply(a, expand_dims_at(exp2(-times), (-2, -1))))
        counts = expand_dims_at(cast_variable(times, "int64"), (-2, -1))
        from tg.ops.iteration import while_loop

        def squared(carry: Any) -> Any:
            k, x = carry
            return k + 1, where(k < counts, MatMul()(x, x), x)

        steps = maximum(total_max(cast_variable(times, "int64")), 0)
        with Requirements():  # lengths of the step are no values of a graph that is being rewritten
            # no length of a loop: backends would compute it before all else, and compile for each anew
            return while_loop(lambda carry: carry[0] < steps, squared, (0, start))[1]  # type: ignore[no-any-return]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The derivative at the transpose in the direction of the cotangent."""
        dy = cotangents[0]
        return (None,) if dy is None else (derivative(self, matrix_transpose(inputs[0]), dy),)


def _approximant(a: Variable) -> Variable:
    """The quotient of polynomials in a."""
    b = [numpy_dtype(a.type.dtype).type(x) for x in PADE]
    one = identities(a)
    a2 = MatMul()(a, a)
    a4 = MatMul()(a2, a2)
    a6 = MatMul()(a4, a2)

    def even(k: int) -> Variable:
        """The terms of every other coefficient from b[k] on."""
        high = MatMul()(a6, _sum((b[k + 12], a6), (b[k + 10], a4), (b[k + 8], a2)))
        return add(high, _sum((b[k + 6], a6), (b[k + 4], a4), (b[k + 2], a2), (b[k], one)))

    odd, plain = MatMul()(a, even(1)), even(0)
    return Solve("n", positive=False, raises=False)(subtract(plain, odd), add(plain, odd))[0]  # type: ignore[no-any-return]


def _sum(*terms: tuple[Any, Variable]) -> Variable:
    total = multiply(terms[0][1], terms[0][0])
    for factor, x in terms[1:]:
        total = add(total, multiply(x, factor))
    return total


def derivative(op: Op, a: Variable, direction: Variable) -> Variable:
    """The derivative of a function of matrices in a direction: the upper right of it at [[a, direction], [0, a]]."""
    n = a.shape[-1]
    above = Concatenate(-1)(a, direction)
    whole = Concatenate(-2)(above, Concatenate(-1)(zeros_like(a), a))
    value = op(whole)
    return slice_axis(slice_axis(value, -2, 0, n), -1, n, n)


def expm(A: TensorLike) -> Variable:
    """The exponential of square matrices: 1 + A + A A / 2 + ….

    Shapes:
        A (..., n, n) -> (..., n, n)
    Source:
        scipy.linalg.expm
    """
    return Expm()(matrix("expm", A))  # type: ignore[no-any-return]


FAMILY = Family("linalg/functions", ops=(Expm,), functions=(expm,), module="linalg")
