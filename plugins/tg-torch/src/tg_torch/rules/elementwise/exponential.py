"""Exponentials and logarithms.

Deviation from PyTorch: softplus keeps its digits above 20.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import exponential as t

if TYPE_CHECKING:
    from tg.backend import Rule


def softplus(x: torch.Tensor) -> torch.Tensor:
    """log(1 + exp(x)), by the exponential that does not overflow."""
    return torch.clamp(x, min=0) + torch.log1p(torch.exp(-torch.abs(x)))


RULES: Final[dict[object, Rule]] = {
    t.exp: torch.exp,
    t.exp2: torch.exp2,
    t.expm1: torch.expm1,
    t.log: torch.log,
    t.log2: torch.log2,
    t.log10: torch.log10,
    t.log1p: torch.log1p,
    t.logaddexp: torch.logaddexp,
    t.sigmoid: torch.sigmoid,
    t.softplus: softplus,
}
