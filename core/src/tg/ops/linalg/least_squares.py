"""Pseudo-inverses and least squares, by singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

from tg.errors import DtypeError, InputError, message
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import absolute, add, divide, maximum, multiply, square, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, where
from tg.ops.family import Family
from tg.ops.linalg.matrices import adjoint, conjugated, matrix, matrix_and_sides, need_matrices, real_type
from tg.ops.linalg.spectral import SVD, svdvals
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape import Squeeze, broadcast_to, expand_dims_at
from tg.types.dtypes import float_limits, is_complex, numpy_dtype
from tg.variables.conversion import as_variable, weakly_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike


class LstsqResult(NamedTuple):
    """The result of `lstsq`."""

    x: Any
    residuals: Any
    rank: Any
    s: Any


@final
class Pinv(Op):
    """The Moore-Penrose inverse of each matrix: singular values up to `rcond` times the largest count as 0.

    `rcond` None stands for the second operand, or without one for the longer side times the precision of the dtype.

    Shapes:
        a (..., m, n), cutoffs (..., 1, 1) -> (..., n, m)
    Raises:
        LinAlgError: LAPACK's iteration did not converge.
    Source:
        numpy.linalg.pinv. The pullback is G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and
        nonlinear least squares problems whose variables separate, 1973. It divides by no differences of singular
        values, and holds where the rank does not change.
    """

    rcond: float | None = None
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, *cutoffs: TensorType) -> tuple[TensorType, ...]:
        """The shape of the transpose."""
        need_matrices("pinv", a)
        *lead, m, n = a.shape
        for each in cutoffs:
            if each.dtype != real_type(a.dtype) or each.ndim != a.ndim:
                raise DtypeError(message(f"pinv: cutoffs: found {each}, needed {real_type(a.dtype)} and {a.ndim} axes"))
        return (a.with_shape([*lead, n, m]),)

    def expansion(self, *inputs: Variable) -> Variable:
        """By the singular values."""
        a, *cutoffs = inputs
        u, s, vh, _ = SVD(False, True)(a)
        rcond = Squeeze((-2, -1))(cutoffs[0]) if cutoffs else self.rcond
        chosen = greater(s, expand_dims_at(limit(a, s, rcond), (-1,)))
        kind = numpy_dtype(s.type.dtype).type
        inverse = where(chosen, divide(kind(1), where(chosen, s, kind(1))), s * kind(0))
        return MatMul()(multiply(adjoint(vh), expand_dims_at(inverse, (-2,))), adjoint(u))  # type: ignore[no-any-return]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the pseudo-inverse; the cutoffs only choose."""
        (a, *cutoffs), (p,), (dp,) = inputs, outputs, cotangents
        if dp is None:
            return (None,) * len(inputs)
        g, ph = adjoint(conjugated(dp)), adjoint(p)
        k = MatMul()(g, p)
        right = MatMul()(k, ph)
        first = subtract(right, adjoint(MatMul()(p, k)))
        second = MatMul()(MatMul()(a, p), right)
        third = MatMul()(MatMul()(ph, p), subtract(g, MatMul()(k, a)))
        return (conjugated(add(subtract(first, second), third)), *[None for _ in cutoffs])


def limit(a: Variable, s: Variable, rcond: Any) -> Variable:
    """Cutoff up to which singular values count as 0: `rcond`, a number or one for each matrix, times the largest."""
    most = Reduce(maximum, (-1,), True)(s)
    if rcond is not None:
        return multiply(most, weakly_cast(rcond, s.type.dtype))
    longer = as_size_variable(a.shape[-2]), as_size_variable(a.shape[-1])
    eps = numpy_dtype(s.type.dtype).type(float_limits(s.type.dtype).eps)
    return multiply(multiply(most, cast_variable(maximum(*longer), s.type.dtype)), eps)


def _number(what: str, rcond: Any) -> float | None:
    if rcond is not None and not isinstance(rcond, int | float):
        raise InputError(message(f"{what}: rcond: found {rcond!r}, needed a number or None"))
    return None if rcond is None else float(rcond)


def pinv(a: TensorLike, rcond: Any = None, hermitian: bool = False, *, rtol: TensorLike | None = None) -> Variable:
    """The Moore-Penrose inverse of matrices.

    Args:
        rcond: singular values up to this times the largest count as 0: a number, or an array of one for each matrix;
            unless given, the longer side times the precision of the dtype, as in the array API standard (and in NumPy
            with `rtol=None`; else it has 1e-15).
        hermitian: taken, and of no use: any matrix will do.
        rtol: another name for `rcond`.
    Shapes:
        a (..., m, n), rcond () or (...) -> (..., n, m)
    Raises:
        ShapeError: the cutoffs do not broadcast to one for each matrix.
        DtypeError: the cutoffs are complex.
        InputError: the cutoffs are no numbers.
    Source:
        numpy.linalg.pinv
    """
    a, rcond = matrix("pinv", a), rtol if rcond is None else rcond
    if rcond is None or isinstance(rcond, int | float | str):
        return Pinv(_number("pinv", rcond))(a)  # type: ignore[no-any-return]
    cutoffs = as_variable(rcond)
    if is_complex(cutoffs.type.dtype):
        raise DtypeError(message(f"pinv: rcond: found {cutoffs.type}, needed real numbers"))
    each = broadcast_to(cast_variable(cutoffs, real_type(a.type.dtype)), a.shape[:-2])
    return Pinv()(a, expand_dims_at(each, (-2, -1)))  # type: ignore[no-any-return]


def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> LstsqResult:
    """The shortest x of least |a x - b|, the sums of squares that are left, the rank, and the singular values of a.

    In NumPy the residuals of matrices without full rank, or without more rows than columns, are an empty array.

    Args:
        rcond: as `pinv` has it.
    Shapes:
        a (..., m, n), b (..., m, k) or (m) -> x (..., n, k) or (..., n), residuals (..., k) or (...), rank (...),
        s (..., min(m, n))
    Source:
        numpy.linalg.lstsq
    """
    a, sides, is_vector = matrix_and_sides("lstsq", a, b)
    x = MatMul()(Pinv(_number("lstsq", rcond))(a), sides)
    rest = subtract(MatMul()(a, x), sides)
    residuals = reduce_sum(square(absolute(rest) if is_complex(rest.type.dtype) else rest), (-2,))
    s = svdvals(a)
    above = greater(s, expand_dims_at(limit(a, s, rcond), (-1,)))
    rank = reduce_sum(cast_variable(above, "int64"), (-1,))
    if is_vector:
        x, residuals = Squeeze((-1,))(x), Squeeze((-1,))(residuals)
    return LstsqResult(x, residuals, rank, s)


FAMILY = Family("linalg/least_squares", ops=(Pinv,), functions=(pinv, lstsq), module="linalg")
