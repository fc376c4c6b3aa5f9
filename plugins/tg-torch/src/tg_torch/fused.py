"""Ops that PyTorch does in one pass where core has several: those that `tg_torch.lower` puts in, and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from tg.backend import Op
from tg_torch.place import RUN, Place

if TYPE_CHECKING:
    from tg.backend import Rule, TensorType

    Array = np.ndarray[Any, Any]


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


@final
class AddMultiple(Op):
    """x + factor * y, rounded once where the machine can.

    Shapes:
        x (n...), y (n...) -> (n...)
    Dtypes:
        one floating dtype.
    """

    factor: float

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """The type of either."""
        return (x,)

    def perform(self, x: Array, y: Array) -> tuple[Array, ...]:
        """By NumPy, rounded twice."""
        return (np.asarray(x + x.dtype.type(self.factor) * y),)


@final
class Relu(Op):
    """x where it is above 0, else 0; NaN stays NaN.

    Shapes:
        x (n...) -> (n...)
    """

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (np.where(x <= 0, x.dtype.type(0), x),)


@final
class ReluGradient(Op):
    """dy where x is above 0 or NaN, else 0.

    Shapes:
        x (n...), dy (n...) -> (n...)
    """

    def infer(self, x: TensorType, dy: TensorType) -> tuple[TensorType, ...]:
        """The type of dy."""
        return (dy,)

    def perform(self, x: Array, dy: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (np.where(x <= 0, dy.dtype.type(0), dy),)


@final
class Fence(Op):
    """x where a condition that many of its elements share holds, else 0.

    Shapes:
        condition, which repeats to (n...), x (n...) -> (n...)
    """

    pointwise = True

    def infer(self, condition: TensorType, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        return (x,)

    def perform(self, condition: Array, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (np.where(condition, x, x.dtype.type(0)),)


def squared_norm(op: SquaredNorm, x: torch.Tensor) -> torch.Tensor:
    """The product of a vector with itself."""
    return torch.dot(x, x)


def add_multiple(op: AddMultiple, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum, for which PyTorch takes a factor."""
    return torch.add(x, y, alpha=op.factor)


def relu(op: Relu, x: torch.Tensor) -> torch.Tensor:
    """PyTorch's own, which leaves -0.0 as it is."""
    return torch.relu(x)


def relu_gradient(op: ReluGradient, x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """The function that autograd calls."""
    slopes: torch.Tensor = torch.ops.aten.threshold_backward(dy, x, 0)
    return slopes


def fence(op: Fence, condition: torch.Tensor, x: torch.Tensor, *, context: Place = RUN) -> torch.Tensor:
    """x itself where the condition always holds, if that may be asked."""
    if not context.is_traced and condition.is_cpu and condition.all():
        return x
    return torch.where(condition, x, x.new_zeros(()))


RULES: Final[dict[object, Rule]] = {
    SquaredNorm: squared_norm,
    AddMultiple: add_multiple,
    Relu: relu,
    ReluGradient: relu_gradient,
    Fence: fence,
}
