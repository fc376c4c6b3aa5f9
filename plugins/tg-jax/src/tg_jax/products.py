"""Products of matrices taken transposed: XLA often writes a transposed matrix to memory before it multiplies by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jax import lax

from tg.backend import MatMul, Op, Transpose

if TYPE_CHECKING:
    from tg.backend import Apply, Rule, TensorType, Variable

    Array = np.ndarray[Any, Any]

SWAPPED: Final = Transpose((-1, -2))


@final
class Product(Op):
    """The product of two matrices, of which each may be taken transposed.

    Shapes:
        x (m, k), or (k, m) if `left`, and y (k, n), or (n, k) if `right` -> z (m, n)
    """

    left: bool
    right: bool

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """As `MatMul`."""
        operands = (t.with_shape(t.shape[::-1]) if flag else t for t, flag in ((x, self.left), (y, self.right)))
        return MatMul().infer(*operands)

    def perform(self, x: Array, y: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (np.matmul(x.T if self.left else x, y.T if self.right else y),)


def product_of(node: Apply, outputs: Any) -> Variable | None:
    """A product of numbers of which an operand is a transposed matrix."""
    x, y = node.inputs
    if x.type.ndim != 2 or x.type.dtype == "bool":
        return None
    left, right = x.op == SWAPPED, y.op == SWAPPED
    if not left and not right:
        return None
    product: Variable = Product(left, right)(x.inputs[0] if left else x, y.inputs[0] if right else y)
    return product


def product(op: Product, x: Any, y: Any) -> Any:
    """The rule."""
    axes = ((0 if op.left else 1,), (1 if op.right else 0,))
    return lax.dot_general(x, y, (axes, ((), ())), precision=lax.Precision.HIGHEST)


RULES: Final[dict[object, Rule]] = {Product: product}
