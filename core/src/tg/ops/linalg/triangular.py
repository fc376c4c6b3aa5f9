"""Systems of equations with triangular matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.facts import facts_of
from tg.graph.op import Op
from tg.lapack import has_lapack, trtrs
from tg.ops.contraction import MatMul
from tg.ops.diagonal import tril, triu
from tg.ops.elementwise.arithmetic import negative
from tg.ops.family import Family
from tg.ops.linalg.matrices import (
    conjugated,
    diagonals,
    info_check,
    matrix_and_sides,
    need_matrices,
    need_same,
    need_square,
    spread_columns,
    transpose_of,
    whether_to_raise,
    zero_place,
)
from tg.ops.shape import Squeeze, matrix_transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

WAYS = ("n", "t", "c")


@final
class SolveTriangular(Op):
    """The solution of t(a) x = b for triangular matrices a, by substitution.

    Only the triangle that `lower` says is read, with `unit_diagonal` without its diagonal, which counts as ones.
    `transpose` says what t is: "n" as it is, "t" transposed, "c" transposed and conjugated. A zero on the diagonal is
    an error with `raises`; without, all of x is NaN for that matrix.

    Shapes:
        a (..., n, n), b (..., n, m) -> x (..., n, m)
    Raises:
        LinAlgError: with `raises`, a diagonal has a zero.
    Source:
        scipy.linalg.solve_triangular
    """

    lower: bool
    transpose: str
    unit_diagonal: bool = False
    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """The type of b."""
        if self.transpose not in WAYS:
            text = f"solve_triangular: transpose: found {self.transpose!r}, needed one of {', '.join(WAYS)}"
            raise InputError(message(text))
        need_matrices("solve_triangular", a, b)
        need_square("solve_triangular", a)
        need_same("solve_triangular", "rows of the matrix and the right side", a.shape[-1], b.shape[-2])
        return (b.with_shape([*b.shape[:-2], a.shape[-1], b.shape[-1]]),)

    def perform(self, a: Array, b: Array) -> tuple[Array, ...]:
        """LAPACK's, if there is one; else substitution, row by row for all matrices at once."""
        if has_lapack():
            x, _ = trtrs(a, b, lower=self.lower, transpose=self.transpose, unit_diagonal=self.unit_diagonal)  # type: ignore[arg-type]
        else:
            x = self._substituted(a, b)
        if not self.raises and not self.unit_diagonal:
            x[(np.diagonal(a, 0, -2, -1) == 0).any(-1)] = np.nan
        return (x,)

    def _substituted(self, a: Array, b: Array) -> Array:
        lower = self.lower == (self.transpose == "n")
        a = a if self.transpose == "n" else np.swapaxes(a, -1, -2)
        a = np.conj(a) if self.transpose == "c" else a
        n = a.shape[-1]
        x = np.empty(b.shape, b.dtype)
        for i in range(n) if lower else reversed(range(n)):
            before = slice(0, i) if lower else slice(i + 1, n)
            row = a[..., i : i + 1, before]
            rest = b[..., i, :] - np.matmul(row, x[..., before, :])[..., 0, :]
            x[..., i, :] = rest if self.unit_diagonal else rest / a[..., i, i, None]
        return x

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """No diagonal has a zero."""
        (a, _) = inputs
        if not self.raises or self.unit_diagonal or facts_of(a) & {"nonzero", "nonzero_diagonal"}:
            return ()
        fact = "is singular: found 0 in row {0} of its diagonal"
        return (info_check(zero_place(diagonals(a)), "solve_triangular", fact, "tg.linalg.solve_triangular"),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of b solves with the transpose; that of a is the product with x, in the triangle read."""
        (a, _), (x,), (dx,) = inputs, outputs, cotangents
        if dx is None:
            return (None, None)
        if self.transpose == "c":
            db = conjugated(self._transposed("n")(a, conjugated(dx)))
            da = conjugated(MatMul()(x, matrix_transpose(db)))
        else:
            db = self._transposed("t" if self.transpose == "n" else "n")(a, dx)
            da = MatMul()(*((db, matrix_transpose(x)) if self.transpose == "n" else (x, matrix_transpose(db))))
        triangle = tril if self.lower else triu
        offset = 0 if not self.unit_diagonal else -1 if self.lower else 1
        return (triangle(negative(da), offset), db)

    def _transposed(self, transpose: str) -> SolveTriangular:
        return SolveTriangular(self.lower, transpose, self.unit_diagonal, self.raises)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """One matrix solves for all right sides of a batch at once."""
        if not batched[0]:
            return spread_columns(self, *inputs)
        return tools.batch_default(self, size, inputs, batched)  # type: ignore[no-any-return]


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    on_error: OnError = "raise",
) -> Variable:
    """The solution of a x = b for triangular matrices, of which only the triangle that `lower` says is read.

    Args:
        trans: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
        unit_diagonal: whether the diagonal counts as ones, and is not read.
        on_error: "raise", or "nan": the solution is NaN for a matrix with a zero on its diagonal.
    Shapes:
        a (..., n, n), b (..., n, k) or (n) -> as b; leading axes broadcast
    Raises:
        LinAlgError: a diagonal has a zero.
        ShapeError: lengths do not fit.
    Source:
        scipy.linalg.solve_triangular
    """
    a, sides, is_vector = matrix_and_sides("solve_triangular", a, b)
    transpose = transpose_of("solve_triangular", trans, a.type.dtype)
    raises = whether_to_raise("solve_triangular", on_error)
    x = SolveTriangular(bool(lower), transpose, bool(unit_diagonal), raises)(a, sides)
    return Squeeze((-1,))(x) if is_vector else x  # type: ignore[no-any-return]


FAMILY = Family("linalg/triangular", ops=(SolveTriangular,), functions=(solve_triangular,), module="linalg")
