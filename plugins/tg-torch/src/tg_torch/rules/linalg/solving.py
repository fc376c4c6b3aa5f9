"""Systems, inverses and determinants of matrices of which nothing else is asked; else they are made of factors.

Deviation from torch.linalg: a singular matrix gives NaN and its first pivot of 0, and a direction of NaN is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import Det, Inv, SlogDet, Solve
from tg_torch.place import RUN, Place
from tg_torch.rules.linalg.cholesky import factors_of

if TYPE_CHECKING:
    from tg.backend import Rule


def solve(op: Solve, a: torch.Tensor, b: torch.Tensor, context: Place = RUN) -> tuple[torch.Tensor, torch.Tensor]:
    """The solution by factors of the matrix as it is: transposed, it has other pivots."""
    if op.positive:
        factor, info = factors_of(a, context)
        return torch.cholesky_solve(b, factor), info
    if a.numel() == 0 or b.numel() == 0:
        return torch.zeros_like(b), torch.zeros(a.shape[:-2], dtype=torch.int32, device=a.device)
    factors, pivots, info = torch.linalg.lu_factor_ex(a)
    sides = b.conj() if op.transpose == "t" else b
    solution = torch.linalg.lu_solve(factors, pivots, sides, adjoint=op.transpose != "n")
    return _where_regular(solution.conj() if op.transpose == "t" else solution, info), info.to(torch.int32)


def inv(op: Inv, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The inverses."""
    inverse, info = torch.linalg.inv_ex(a)
    return _where_regular(inverse, info), info.to(torch.int32)


def det(op: Det, a: torch.Tensor) -> torch.Tensor:
    """The determinants."""
    return torch.linalg.det(a)


def slogdet(op: SlogDet, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The directions of the determinants, and the logarithms of their sizes."""
    direction, size = torch.linalg.slogdet(a)
    return torch.where(torch.isnan(size), torch.nan, direction), size


def _where_regular(x: torch.Tensor, info: torch.Tensor) -> torch.Tensor:
    return torch.where((info > 0)[..., None, None], torch.nan, x)


RULES: Final[dict[object, Rule]] = {Solve: solve, Inv: inv, Det: det, SlogDet: slogdet}
