"""What PyTorch does in one pass where core has several ops: ops that `tg_torch.lower` puts in, and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from tg.backend import Op

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


def squared_norm(op: SquaredNorm, x: torch.Tensor) -> torch.Tensor:
    """The product of a vector with itself."""
    return torch.dot(x, x)


RULES: Final[dict[object, Rule]] = {SquaredNorm: squared_norm}
