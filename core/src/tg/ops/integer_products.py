"""Products of matrices of 8-bit integers with sums of 32 bits, and the zero points that are taken off their factors.

Every backend gives the same bits. One that has no such product multiplies in float32, so many terms at a time that no
sum of them leaves the integers that float32 holds (`exact_depth`), and adds up int32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.contraction import matmul, product_shape
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import align_ranks
from tg.ops.family import Family
from tg.ops.reduction import reduce_sum
from tg.ops.shape import Squeeze, expand_dims_at
from tg.types.lengths import same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak, weak_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike

LARGEST: Final = {"int8": 128, "uint8": 255}
"""The dtypes of factors, and the largest magnitude of each."""
SUM: Final = "int32"


def exact_depth(x: str, y: str) -> int:
    """Number of products of two dtypes whose sum float32 holds exactly, in any order: 1024 of int8, 258 of uint8."""
    return (1 << 24) // (LARGEST[x] * LARGEST[y])


@final
class IntegerMatMul(Op):
    """The matrix product of 8-bit integers over the last two axes, summed in int32; leading axes broadcast.

    Shapes:
        x (..., m, k), y (..., k, n) -> z (..., m, n)
    Dtypes:
        x and y int8 or uint8, each by itself; z int32, which wraps.
    Raises:
        ShapeError: the inner lengths differ, or the ranks do.
    Source:
        ONNX, MatMulInteger
    """

    repeats = True
    has_expansion = True

    def factors(self, count: int) -> Sequence[int]:
        """Both matrices."""
        return (0, 1)

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """Outer lengths stay, inner ones must agree."""
        need_small("integer_matmul", x.dtype, y.dtype)
        return (TensorType(SUM, product_shape("integer_matmul", x, y)),)

    def perform(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """Products in float32 of as many terms as it holds exactly, added up in int32."""
        depth, inner = exact_depth(x.dtype.name, y.dtype.name), x.shape[-1]
        left, right = x.astype(np.float32), y.astype(np.float32)
        total = np.matmul(left[..., :depth], right[..., :depth, :]).astype(np.int32)
        for k in range(depth, inner, depth):
            total += np.matmul(left[..., k : k + depth], right[..., k : k + depth, :]).astype(np.int32)
        return (total,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The product of factors of 32 bits."""
        x, y = inputs
        return matmul(cast_variable(x, SUM), cast_variable(y, SUM))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        return (
            self(*(v if b else expand_dims_at(v, (-v.type.ndim - 1,)) for v, b in zip(inputs, batched, strict=True))),
        )


def need_small(what: str, x: str, y: str) -> None:
    """Make sure of the dtypes of factors.

    Raises:
        DtypeError: others than int8 and uint8.
    """
    for side, dtype in (("lhs", x), ("rhs", y)):
        if dtype not in LARGEST:
            text = f"{what}: {side}: found {dtype}, needed int8 or uint8"
            raise DtypeError(message(text, hint="tg.quantize gives these of real numbers"))


def integer_matmul(
    x: TensorLike, y: TensorLike, x_zero_point: TensorLike | None = None, y_zero_point: Any = None
) -> Variable:
    """The matrix product of 8-bit integers less their zero points, exact in int32.

    Args:
        x_zero_point: of the dtype of x: one number, one for each row, or an array that is repeated along axes of length
            1, of which the last is one; 0 by default.
        y_zero_point: of the dtype of y: one number, one for each column, or an array, of which the last axis but one
            has length 1.
    Shapes:
        x (..., m, k), y (..., k, n) -> z (..., m, n); a vector on the left is a row, on the right a column
    Dtypes:
        int8 or uint8, each by itself -> int32, which wraps where a sum leaves it
    Raises:
        DtypeError: other factors, or a zero point of another dtype than its factor.
        ShapeError: an operand is a scalar, or lengths differ.
    Example:
        >>> import numpy as np, tg
        >>> x = tg.constant(np.array([[130, 255]], "uint8"))
        >>> w = tg.constant(np.array([[2], [-128]], "int8"))
        >>> tg.integer_matmul(x, w, x_zero_point=128).eval()
        array([[-16252]], dtype=int32)
    Source:
        ONNX, MatMulInteger
    """
    x, y = as_variable(x), as_variable(y)
    need_small("integer_matmul", x.type.dtype, y.type.dtype)
    for v, side in ((x, "lhs"), (y, "rhs")):
        if v.type.ndim == 0:
            raise ShapeError(message(f"integer_matmul: {side} is a scalar, needed at least one axis"))
    row, column = x.type.ndim == 1, y.type.ndim == 1
    left = expand_dims_at(x, (-2,)) if row else x
    right = expand_dims_at(y, (-1,)) if column else y
    left, right = align_ranks([left, right])
    a = zero_along("integer_matmul", "x_zero_point", x_zero_point, left, -2)
    b = zero_along("integer_matmul", "y_zero_point", y_zero_point, right, -1)
    z: Variable = IntegerMatMul()(left, right)
    if a is not None:
        z = subtract(z, multiply(a, _sums(right, -2)))
    if b is not None:
        z = subtract(z, multiply(_sums(left, -1), b))
    if a is not None and b is not None:
        z = add(z, multiply(multiply(a, b), cast_variable(as_size_variable(left.shape[-1]), SUM)))
    drop = ((-2,) if row else ()) + ((-1,) if column else ())
    return Squeeze(drop)(z) if drop else z


def _sums(v: Variable, axis: int) -> Variable:
    """Sums of factors along an axis that stays, in int32."""
    return expand_dims_at(reduce_sum(cast_variable(v, SUM), (axis,)), (axis,))


def zero_along(what: str, name: str, zero: Any, v: Variable, axis: int) -> Variable | None:
    """A zero point in int32, of numbers along an axis with axes of length 1 for the others; None for 0.

    Raises:
        DtypeError: another dtype than that of the factor.
        ShapeError: numbers that are not as many as the entries of the axis.
    """
    if zero is None or (type(zero) is int and zero == 0):
        return None
    z = weak_variable(zero, v.type.dtype) if is_weak(zero) else as_variable(zero)
    if z.type.dtype != v.type.dtype:
        text = f"{what}: {name}: found {z.type.dtype}, needed {v.type.dtype}: the dtype of its factor"
        raise DtypeError(message(text, (name, repr(z))))
    if z.type.ndim == 1:
        _need_length(what, name, z.shape[0], v.shape[axis])
        z = expand_dims_at(z, tuple(k for k in range(-v.type.ndim, 0) if k != axis))
    elif z.type.ndim not in (0, v.type.ndim):
        text = f"{what}: {name}: found {z.type.ndim} axes, needed 0, 1 or {v.type.ndim}"
        raise ShapeError(message(text, (name, repr(z))))
    return cast_variable(z, SUM)


def _need_length(what: str, name: str, count: int | Length, n: int | Length) -> None:
    if type(count) is int and type(n) is int and count != 1 and not same(count, n):
        raise ShapeError(message(f"{what}: {name}: found {count} numbers, needed 1 or {n}"))


FAMILY = Family("integer_products", ops=(IntegerMatMul,), functions=(integer_matmul,))
