"""Products that sum over a shared axis.

Deviation from torch.matmul: booleans ask for any product, and unsigned integers are multiplied as signed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import contraction as t
from tg_torch.unsigned import as_dtype, signed

if TYPE_CHECKING:
    from tg.backend import Rule


def matmul(op: t.MatMul, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The matrix product; of booleans, whether any product is true."""
    if x.dtype == torch.bool:
        return torch.matmul(x.to(torch.float32), y.to(torch.float32)) > 0
    return as_dtype(torch.matmul(signed(x), signed(y)), x.dtype)


RULES: Final[dict[object, Rule]] = {t.MatMul: matmul}
