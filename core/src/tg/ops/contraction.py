"""Products that sum over a shared axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import align_ranks
from tg.ops.family import Family
from tg.ops.shape import Squeeze, expand_dims_at, matrix_transpose, sum_to
from tg.types.lengths import broadcast, require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable


@final
class MatMul(Op):
    """The matrix product over the last two axes; leading axes broadcast.

    Shapes:
        x (..., m, k), y (..., k, n) -> z (..., m, n)
    Dtypes:
        operands of one dtype, which the result has.
    Raises:
        ShapeError: the inner lengths differ, or the ranks do.
    Source:
        numpy.matmul
    """

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """Outer lengths stay, inner ones must agree."""
        if len(x.shape) != len(y.shape) or len(x.shape) < 2:
            raise ShapeError(
                message(f"matmul: ranks: lhs has {len(x.shape)}, rhs has {len(y.shape)}, needed equal, >= 2")
            )
        if x.dtype != y.dtype:
            raise DtypeError(message(f"matmul: dtypes differ: lhs has {x.dtype}, rhs has {y.dtype}"))
        inner, other = x.shape[-1], y.shape[-2]
        if isinstance(inner, int) and isinstance(other, int) and inner != other:
            hint = "matmul(x, w.T) has matching lengths" if y.shape[-1] == inner else None
            text = f"matmul: inner lengths differ: lhs has {inner}, rhs has {other}"
            raise ShapeError(message(text, hint=hint))
        require_same(inner, other, lambda: "matmul: inner axis")
        lead = [
            broadcast(a, b, lambda: "matmul: leading axes")  # type: ignore[arg-type]
            for a, b in zip(x.shape[:-2], y.shape[:-2], strict=True)
        ]
        return (TensorType(x.dtype, (*lead, x.shape[-2], y.shape[-1])),)

    def perform(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`np.matmul`."""
        return (np.asarray(np.matmul(x, y)).astype(x.dtype, copy=False),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Dz y' for x and x' dz for y, summed over repeated leading axes."""
        (x, y), (dz,) = inputs, cotangents
        if dz is None:
            return (None, None)
        dx = sum_to(self(dz, matrix_transpose(y)), x.shape)
        return (dx, sum_to(self(matrix_transpose(x), dz), y.shape))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        return (
            self(*(v if b else expand_dims_at(v, (-v.type.ndim - 1,)) for v, b in zip(inputs, batched, strict=True))),
        )


def matmul(x: Any, y: Any) -> Variable:
    """The matrix product; a vector on the left is a row, on the right a column.

    Raises:
        ShapeError: an operand is a scalar, or inner lengths differ.
    Source:
        numpy.matmul
    """
    x, y = as_variable(x), as_variable(y)
    for v, side in ((x, "lhs"), (y, "rhs")):
        if v.type.ndim == 0:
            raise ShapeError(message(f"matmul: {side} is a scalar, needed at least one axis", hint="x * y scales"))
    (x, y), dtype = promoted([x, y])
    x, y = cast_variable(x, dtype), cast_variable(y, dtype)
    row, column = x.type.ndim == 1, y.type.ndim == 1
    left = expand_dims_at(x, (-2,)) if row else x
    right = expand_dims_at(y, (-1,)) if column else y
    left, right = align_ranks([left, right])
    product: Variable = MatMul()(left, right)
    drop = ((-2,) if row else ()) + ((-1,) if column else ())
    return Squeeze(drop)(product) if drop else product


def dot(x: Any, y: Any) -> Variable:
    """The product of two arrays: of scalars and anything elementwise, of vectors the inner, of matrices the matrix one.

    Raises:
        ShapeError: one operand has more than two axes; tg.matmul broadcasts leading axes.
    Source:
        numpy.dot, for up to two axes
    """
    x, y = as_variable(x), as_variable(y)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return multiply(x, y)
    if x.type.ndim > 2 or y.type.ndim > 2:
        raise ShapeError(
            message(
                f"dot: found {x.type} and {y.type}, needed at most 2 axes", hint="tg.matmul broadcasts leading axes"
            )
        )
    return matmul(x, y)


def outer(x: Any, y: Any) -> Variable:
    """The products of all pairs of elements of two vectors.

    Source:
        numpy.outer
    """
    x, y = as_variable(x), as_variable(y)
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise ShapeError(message(f"outer: found {x.type} and {y.type}, needed vectors"))
    return multiply(expand_dims_at(x, (-1,)), expand_dims_at(y, (-2,)))


FAMILY = Family("contraction", ops=(MatMul,), functions=(matmul, dot, outer))
