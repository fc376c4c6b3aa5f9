"""Eigenvalues, as PyTorch has them; Schur forms, which it does not have, are the host's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import Eig, Eigvals
from tg_torch.rules.linalg.spectral import of_finite

if TYPE_CHECKING:
    from tg.backend import Rule


def eig(op: Eig, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values, vectors, and where there are none."""
    return of_finite(a, torch.linalg.eig)


def eigvals(op: Eigvals, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values, and where there are none."""
    return of_finite(a, lambda x: (torch.linalg.eigvals(x),))


RULES: Final[dict[object, Rule]] = {Eig: eig, Eigvals: eigvals}
