"""QR factors: of an orthogonal or unitary matrix and a triangular one whose diagonal is not negative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import InputError, NotDifferentiable, message
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.diagonal import triu
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.linalg.matrices import adjoint, conjugated, halved_diagonal, matrix, need_matrices
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import Concatenate
from tg.types.lengths import minimum, same
from tg.types.lengths import subtract as subtract_lengths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import QRMode
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

MODES: Final = ("reduced", "complete")


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


@final
class QR(Op):
    """The factors of a = Q R: the columns of Q are orthonormal, R is upper triangular with a diagonal of at least 0.

    With `mode` "reduced" Q has min(m, n) columns, with "complete" it is square.

    Shapes:
        a (..., m, n) -> Q (..., m, k), R (..., k, n), where k is min(m, n), or m
    Source:
        numpy.linalg.qr, but for the signs, which there are LAPACK's. The pullback is that of S. F. Walter and
        L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010 (arXiv:1001.1654); of wide matrices
        what is beyond the square part follows from R = Q' a.
    """

    mode: str = "reduced"
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The shapes of the factors."""
        if self.mode not in MODES:
            raise InputError(message(f"qr: mode: found {self.mode!r}, needed one of {', '.join(MODES)}"))
        need_matrices("qr", a)
        *lead, m, n = a.shape
        k = m if self.mode == "complete" else minimum(m, n)  # type: ignore[arg-type]
        return (a.with_shape([*lead, m, k]), a.with_shape([*lead, k, n]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.qr`, the signs as said."""
        q, r = np.linalg.qr(a, mode=self.mode)  # type: ignore[call-overload]
        d = np.diagonal(r, 0, -2, -1)
        size = abs(d)
        turn = np.where(size == 0, 1, d / np.where(size == 0, 1, size)).astype(a.dtype)
        few = turn.shape[-1]
        q[..., :few] *= turn[..., None, :]
        r[..., :few, :] *= turn.conj()[..., :, None]
        return (q, r)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Nothing that holds of matrices of every shape."""
        return ((), ())

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products and a triangular solve.

        Raises:
            NotDifferentiable: columns of Q are used that the matrix does not decide.
        """
        (a,), (q, r), (dq, dr) = inputs, outputs, cotangents
        if dq is None and dr is None:
            return (None,)
        m, n = a.shape[-2:]
        few = minimum(m, n)
        if self.mode == "complete" and not same(m, few):
            if dq is not None:
                text = "qr: Q of mode 'complete' has no derivative: its last columns are not decided by the matrix"
                raise NotDifferentiable(message(text, hint="mode='reduced' leaves them out"))
            q, r = QR("reduced")(a)  # the first columns, which have derivatives themselves
            dr = None if dr is None else slice_axis(dr, -2, 0, few)
        return (conjugated(_cotangent(a, q, r, *(None if d is None else conjugated(d) for d in (dq, dr)))),)


def _cotangent(a: Variable, q: Variable, r: Variable, gq: Variable | None, gr: Variable | None) -> Variable:
    """The gradient of a for those of reduced factors."""
    few, n = r.shape[-2:]
    rest = subtract_lengths(n, few)
    if same(rest, 0):
        return _of_square(q, r, gq, gr)
    corner = slice_axis(r, -1, 0, few)
    if gr is None:
        last = slice_axis(a, -1, few, rest)
        return Concatenate(-1)(_of_square(q, corner, gq, None), last - last)  # type: ignore[no-any-return]
    glast = slice_axis(gr, -1, few, rest)
    through = MatMul()(slice_axis(a, -1, few, rest), adjoint(glast))
    first = _of_square(q, corner, through if gq is None else add(gq, through), slice_axis(gr, -1, 0, few))
    return Concatenate(-1)(first, MatMul()(q, glast))  # type: ignore[no-any-return]


def _of_square(q: Variable, r: Variable, gq: Variable | None, gr: Variable | None) -> Variable:
    """(gQ + Q s(triu(gR R' - Q' gQ))) R'^-1, where s mirrors a triangle at its diagonal's real part."""
    parts = [] if gr is None else [MatMul()(gr, adjoint(r))]
    if gq is not None:
        turned = MatMul()(adjoint(q), gq)
        parts = [subtract(parts[0], turned)] if parts else [-turned]
    upper = triu(parts[0])
    inner = MatMul()(q, halved_diagonal(add(upper, adjoint(upper))))
    inner = inner if gq is None else add(gq, inner)
    solve = SolveTriangular(lower=False, transpose="n", unit_diagonal=False, raises=False)
    return adjoint(solve(r, adjoint(inner)))


def qr(a: TensorLike, mode: QRMode = "reduced") -> Any:
    """The factors Q and R of matrices; R's diagonal is not negative, where in NumPy its signs are LAPACK's.

    Args:
        mode: "reduced": Q has min(m, n) columns; "complete": it is square; "r": R alone.
    Shapes:
        a (..., m, n) -> Q (..., m, k), R (..., k, n)
    Raises:
        InputError: another mode.
    Source:
        numpy.linalg.qr
    """
    if mode == "r":
        return QR()(matrix("qr", a))[1]
    return QRResult(*QR(mode)(matrix("qr", a)))


FAMILY = Family("linalg/qr", ops=(QR,), functions=(qr,), module="linalg")
