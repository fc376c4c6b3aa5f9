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


def log1p(x: torch.Tensor) -> torch.Tensor:
    """log(1 + x); infinite where a part is."""
    if not x.is_complex():
        return torch.log1p(x)
    near, is_far = torch.log1p(x), torch.isinf(x.real) | torch.isinf(x.imag)
    re = torch.where(is_far, torch.inf, near.real + 0.0)  # of -0 + 0i the logarithm of 1
    return torch.complex(re, torch.where(is_far, torch.atan2(x.imag, x.real), near.imag))


RULES: Final[dict[object, Rule]] = {
    t.exp: torch.exp,
    t.exp2: torch.exp2,
    t.expm1: torch.expm1,
    t.log: torch.log,
    t.log2: torch.log2,
    t.log10: torch.log10,
    t.log1p: log1p,
    t.logaddexp: torch.logaddexp,
    t.sigmoid: torch.sigmoid,
    t.softplus: softplus,
}
