"""Linear systems and inverses of square matrices, by LU factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import eye
from tg.ops.elementwise.arithmetic import add, negative
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.lu import LU, solve_by_factors
from tg.ops.linalg.matrices import (
    adjoint,
    conjugated,
    diagonals,
    half_diagonal,
    info_check,
    info_of,
    need_matrices,
    need_same,
    need_square,
    spread_columns,
    zero_place,
)
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import broadcast_to, matrix_transpose
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]


SINGULAR: Final = "is singular: its LU factorisation has 0 as pivot {0}"
INDEFINITE: Final = "is not positive definite: its leading minor of order {0} is not positive"


@final
class Solve(Op):
    """The solution of t(a) x = b, and what was found of each matrix a.

    `transpose` says what t is: "n" as it is, "t" transposed, "c" transposed and conjugated. With `positive` a is
    Hermitian and positive definite: of its lower triangle, the only one read, the Cholesky factor is taken; otherwise
    its LU factors are. `info` is 0, or k where pivot k of the factorisation is the first that is 0 (with `positive` not
    positive): x is NaN then, and with `raises` that is an error.

    Shapes:
        a (..., n, n), b (..., n, m) -> x (..., n, m), info int32 (...)
    Raises:
        LinAlgError: with `raises`, a matrix is singular, or not positive definite.
    Source:
        numpy.linalg.solve, scipy.linalg.solve. The pullback solves with the transpose, by the same factors.
    """

    transpose: str = "n"
    positive: bool = False
    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """The type of b, and an integer for each matrix."""
        need_matrices("solve", a, b)
        need_square("solve", a)
        need_same("solve", "rows of the matrix and the right side", a.shape[-1], b.shape[-2])
        if self.positive and self.transpose != "n":
            raise InputError(message(f"solve: transpose: found {self.transpose!r} of positive matrices, needed 'n'"))
        return (b.with_shape([*b.shape[:-2], a.shape[-1], b.shape[-1]]), TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array, b: Array) -> tuple[Array, ...]:
        """`np.linalg.solve`; by the expansion where a matrix is singular, and of triangles."""
        if not self.positive:
            lost, a = without_nan(a)
            if lost is not None:
                x, info = self.perform(a, b)
                return np.where(lost[..., None, None], x.dtype.type(np.nan), x), info
            try:
                matrix = a if self.transpose == "n" else np.swapaxes(a, -1, -2)
                return (np.linalg.solve(np.conj(matrix) if self.transpose == "c" else matrix, b), info_of(a))
            except np.linalg.LinAlgError:
                pass
        return Op.perform(Solve(self.transpose, self.positive, raises=False), a, b)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """By the factors."""
        a, b = inputs
        if self.positive:
            factor, info = Cholesky(self.raises)(a)
            for transpose in ("n", "c"):
                b = SolveTriangular(lower=True, transpose=transpose, unit_diagonal=False, raises=False)(factor, b)
            return b, info
        factors, _, order = LU()(a)
        return solve_by_factors(factors, order, b, self.transpose), zero_place(diagonals(factors))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """No matrix is singular."""
        if not self.raises:
            return ()
        return (info_check(outputs[1], "solve", INDEFINITE if self.positive else SINGULAR, "tg.linalg.solve"),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of b solves with the transpose, by the same factors; that of a is the product with x."""
        (a, _), (x, _), (dx, _) = inputs, outputs, cotangents
        if dx is None:
            return (None, None)
        if self.positive:
            gb = self(a, conjugated(dx))[0]
            inner = MatMul()(gb, adjoint(x))
            return (negative(conjugated(half_diagonal(add(inner, adjoint(inner))))), conjugated(gb))
        if self.transpose == "c":
            db = conjugated(self._transposed("n")(a, conjugated(dx))[0])
            return (negative(conjugated(MatMul()(x, matrix_transpose(db)))), db)
        db = self._transposed("t" if self.transpose == "n" else "n")(a, dx)[0]
        pair = (db, matrix_transpose(x)) if self.transpose == "n" else (x, matrix_transpose(db))
        return (negative(MatMul()(*pair)), db)

    def _transposed(self, transpose: str) -> Solve:
        return Solve(transpose, self.positive, self.raises)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """One matrix is factorised once for all right sides of a batch."""
        if not batched[0]:
            x, info = spread_columns(self, *inputs)
            return (x, tools.unbatched(info))
        return tools.batch_default(self, size, inputs, batched)  # type: ignore[no-any-return]


@final
class Inv(Op):
    """The inverse of each matrix, and what was found of it: info as `Solve` has it.

    Shapes:
        a (..., n, n) -> (..., n, n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, a matrix is singular.
    Source:
        numpy.linalg.inv. The pullback is a product of the inverse on both sides.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a, and an integer for each matrix."""
        need_matrices("inv", a)
        need_square("inv", a)
        return (a, TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.inv`; by the expansion where a matrix is singular."""
        lost, a = without_nan(a)
        if lost is not None:
            x, info = self.perform(a)
            return np.where(lost[..., None, None], x.dtype.type(np.nan), x), info
        try:
            return (np.linalg.inv(a), info_of(a))
        except np.linalg.LinAlgError:
            return Op.perform(self, a)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The solution for the columns of the identity matrix."""
        (a,) = inputs
        factors, _, order = LU()(a)
        return solve_by_factors(factors, order, identities(a), "n"), zero_place(diagonals(factors))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """No matrix is singular."""
        return (info_check(outputs[1], "inv", SINGULAR, "tg.linalg.inv"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """-x' dx x', x being the inverse."""
        dx = cotangents[0]
        if dx is None:
            return (None,)
        right = matrix_transpose(outputs[0])
        return (negative(MatMul()(MatMul()(right, dx), right)),)


def without_nan(a: Array) -> tuple[Array | None, Array]:
    """The mask of matrices that have a NaN, or None, and all of them, identities in the place of these.

    Of [[nan, 1], [1, 1]] OpenBLAS finds a pivot of 0, of [[nan, 2], [3, 1]] a solution with one number.
    """
    lost = np.asarray(np.isnan(a).any((-2, -1)))
    if not lost.any():
        return None, a
    return lost, np.where(lost[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a)


def identities(a: Variable) -> Variable:
    """The identity matrix for each of a."""
    return broadcast_to(eye(a.shape[-1], dtype=a.type.dtype), a.shape)
