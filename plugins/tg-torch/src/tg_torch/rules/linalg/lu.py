"""LU factors. Deviation from torch.linalg: rows are counted from 0, and a singular matrix is no failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import LU

if TYPE_CHECKING:
    from tg.backend import Rule


def lu(op: LU, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The factors in one matrix, the pivots and the order of the rows."""
    *lead, m, n = a.shape
    if a.numel() == 0:
        order = torch.arange(m, dtype=torch.int32, device=a.device).expand(*lead, m)
        return a, order[..., : min(m, n)].contiguous(), order.contiguous()
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    permutation, _, _ = torch.lu_unpack(factors, pivots, unpack_data=False)
    rows = torch.arange(m, dtype=permutation.real.dtype, device=a.device)
    order = (permutation.real * rows[:, None]).sum(-2)  # argmax along this axis takes five times as long
    return factors, pivots - 1, order.to(torch.int32)


RULES: Final[dict[object, Rule]] = {LU: lu}
