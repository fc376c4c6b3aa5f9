"""What PyTorch does in one pass where core has several ops: ops that `tg_torch.lower` puts in, and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from tg.backend import Op, binary

if TYPE_CHECKING:
    from tg.backend import Rule, TensorType

    Array = np.ndarray[Any, Any]

TANH_BACKWARD: Final = torch.ops.aten.tanh_backward.default


def _through_tanh(dy: Array, y: Array) -> Array:
    return np.where(dy == 0, np.zeros((), dy.dtype), dy * (1 - y * y))


through_tanh = binary(
    "through_tanh", _through_tanh, np.multiply, "0 where dy is 0, else dy (1 - y * y): through y = tanh(x)."
)


@final
class SquaredNorm(Op):
    """The sum of the squares of a vector, as its product with itself.

    Shapes:
        x (n) -> ()
    """

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """A scalar."""
        return (x.with_shape(()),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (np.asarray(np.sum(x * x)),)


def pass_tanh(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """PyTorch's pass back through tanh, and 0 where dy is 0 though y be NaN."""
    return masked(TANH_BACKWARD(dy, y), dy)


def masked(product: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """The product of something with dy, and 0 where dy is 0."""
    return torch.where(dy == 0, product.new_zeros(()), product)


def squared_norm(op: SquaredNorm, x: torch.Tensor) -> torch.Tensor:
    """The product of a vector with itself."""
    return torch.dot(x, x)


RULES: Final[dict[object, Rule]] = {through_tanh: pass_tanh, SquaredNorm: squared_norm}
