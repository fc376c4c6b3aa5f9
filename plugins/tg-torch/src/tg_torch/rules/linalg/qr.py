"""QR factors. Deviation from torch.linalg: R's diagonal is not negative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import QR

if TYPE_CHECKING:
    from tg.backend import Rule


def qr(op: QR, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The factors, with what makes R's diagonal positive moved from R to Q."""
    q, r = torch.linalg.qr(a, mode=op.mode)
    d = torch.diagonal(r, dim1=-2, dim2=-1)
    turn = torch.where(d == 0, torch.ones_like(d), torch.sgn(d))
    rest = torch.ones((*a.shape[:-2], q.shape[-1] - turn.shape[-1]), dtype=a.dtype, device=a.device)
    turn = torch.cat([turn, rest], -1)
    return q * turn[..., None, :], r * turn.conj()[..., :, None]


RULES: Final[dict[object, Rule]] = {QR: qr}
