"""Cholesky factors of positive-definite matrices, and solving with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import add
from tg.ops.family import Family
from tg.ops.linalg.matrices import (
    adjoint,
    conjugated,
    half_diagonal,
    info_check,
    info_of,
    matrix,
    matrix_and_sides,
    need_matrices,
    need_square,
    whether_to_raise,
)
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import Squeeze
from tg.types.dtypes import is_complex
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


@final
class Cholesky(Op):
    """The lower triangular L with a positive diagonal of which a = L L', of each matrix, and what was found of it.

    Only the lower triangle of a is read. `info` is k where the leading minor of order k is the first that is not
    positive: L is NaN on and below the diagonal then. Where a NaN is read L is that as well, and info is 0. With
    `raises` such a matrix is an error.

    Shapes:
        a (..., n, n) -> L (..., n, n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, a matrix is not positive definite.
    Source:
        numpy.linalg.cholesky. The pullback is equation 10 of I. Murray, Differentiation of the Cholesky decomposition,
        2016 (arXiv:1602.07527): all of it is in the lower triangle, as only that is read.
    """

    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a, and an integer for each matrix."""
        need_matrices("cholesky", a)
        need_square("cholesky", a)
        return (a, TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.cholesky`, matrix by matrix where one fails."""
        info = info_of(a)
        try:
            factor = np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            factor = np.zeros_like(a)
            for index in np.ndindex(info.shape):
                factor[index], info[index] = _factored(a[index])
        lower = np.tri(a.shape[-1], dtype=bool)
        absent = np.isnan(np.where(lower, a, 0)).any((-2, -1))
        info[absent] = 0
        factor[(absent | (info > 0))[..., None, None] & lower] = np.nan
        return (factor, info)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Every matrix is positive definite."""
        if not self.raises:
            return ()
        fact = "is not positive definite: its leading minor of order {0} is not positive"
        return (info_check(outputs[1], "cholesky", fact, "tg.linalg.cholesky"),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Zeros above the diagonal, none on it: a square root of what is above 0 does not underflow. Info counts."""
        return (("lower_triangular", "nonzero_diagonal"), ("nonnegative",))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Two triangular solves."""
        factor, dfactor = outputs[0], cotangents[0]
        return (None if dfactor is None else cotangent_by_factor(factor, dfactor),)


def cotangent_by_factor(factor: Variable, dfactor: Variable) -> Variable:
    """The cotangent of matrices from that of their Cholesky factors: `Cholesky`'s pullback."""
    inner = half_diagonal(MatMul()(adjoint(factor), conjugated(dfactor)))
    transpose = "c" if is_complex(factor.type.dtype) else "t"
    solve = SolveTriangular(lower=True, transpose=transpose, unit_diagonal=False, raises=False)
    left = solve(factor, add(inner, adjoint(inner)))
    return conjugated(half_diagonal(solve(factor, adjoint(left))))


def _factored(a: Array) -> tuple[Array, int]:
    """The factor of one matrix and 0, or NaN and the order of the first leading minor that is not positive."""
    try:
        return np.linalg.cholesky(a), 0
    except np.linalg.LinAlgError:
        low, high = 0, a.shape[-1]  # the minor of order `low` is positive, that of order `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            np.linalg.cholesky(a[:middle, :middle])
            low = middle
        except np.linalg.LinAlgError:
            high = middle
    return np.zeros_like(a), high


def cholesky(
    a: TensorLike, /, *, upper: bool = False, lower: bool | None = None, on_error: OnError = "raise"
) -> Variable:
    """The triangular factor of Hermitian positive-definite matrices: L of a = L L', or with `upper` U of a = U' U.

    Only the lower triangle of a is read, with `upper` the upper one, and the gradient is in what is read.

    Args:
        lower: SciPy's word for the opposite of `upper`, which where neither is given says False there.
        on_error: "raise", or "nan": the factor of a matrix that is not positive definite is NaN.
    Shapes:
        a (..., n, n) -> (..., n, n)
    Raises:
        LinAlgError: a matrix is not positive definite.
        InputError: `upper` and `lower` contradict one another.
    Source:
        numpy.linalg.cholesky
    """
    a = matrix("cholesky", a)
    if upper and lower:
        raise InputError(message("cholesky: found upper=True and lower=True, needed one of them"))
    upper = upper or lower is False
    op = Cholesky(whether_to_raise("cholesky", on_error))
    return adjoint(op(adjoint(a))[0]) if upper else op(a)[0]


def cho_factor(a: TensorLike, lower: bool = False, *, on_error: OnError = "raise") -> tuple[Variable, bool]:
    """The triangular factor of Hermitian positive-definite matrices and whether it is the lower one, for `cho_solve`.

    In SciPy the other triangle has whatever was in a; here it is 0.

    Source:
        scipy.linalg.cho_factor
    """
    return cholesky(a, upper=not lower, on_error=on_error), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: TensorLike) -> Variable:
    """The solution of a x = b by the Cholesky factor of a.

    Args:
        c_and_lower: the factor and whether it is lower triangular, as `cho_factor` gives them.
    Shapes:
        c (..., n, n), b (..., n, k) or (n) -> as b
    Raises:
        ShapeError: lengths do not fit.
    Source:
        scipy.linalg.cho_solve
    """
    if not isinstance(c_and_lower, tuple | list) or len(c_and_lower) != 2:
        raise InputError(message("cho_solve: found no pair, needed the factor and whether it is the lower one"))
    factor, lower = c_and_lower
    c, sides, is_vector = matrix_and_sides("cho_solve", factor, b)
    first, then = ("n", "c") if lower else ("c", "n")
    for transpose in (first, then):
        sides = SolveTriangular(bool(lower), transpose, unit_diagonal=False, raises=False)(c, sides)
    return Squeeze((-1,))(sides) if is_vector else sides


FAMILY = Family("linalg/cholesky", ops=(Cholesky,), functions=(cholesky, cho_factor, cho_solve), module="linalg")
