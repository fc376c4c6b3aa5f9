"""Cholesky factors. Deviation from torch.linalg: a NaN in a matrix is no failure, and gives NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import Cholesky
from tg_torch.place import RUN, Place

if TYPE_CHECKING:
    from tg.backend import Rule


def cholesky(op: Cholesky, a: torch.Tensor, context: Place = RUN) -> tuple[torch.Tensor, torch.Tensor]:
    """The factors of the lower triangles."""
    return factors_of(a, context)


def factors_of(a: torch.Tensor, context: Place) -> tuple[torch.Tensor, torch.Tensor]:
    """The factors, NaN on and below the diagonal where there is none, and the orders of the minors at fault."""
    factor, info = torch.linalg.cholesky_ex(a)
    if a.device.type == "cpu" and not context.is_traced and _are_found(factor, info):
        return factor, info
    absent = torch.isnan(torch.tril(a)).any(-1).any(-1)
    info = torch.where(absent, 0, info)
    undefined = (absent | (info > 0))[..., None, None]
    lower = torch.ones(a.shape[-2:], dtype=torch.bool, device=a.device).tril()
    return torch.where(undefined & lower, torch.nan, factor.tril()), info.to(torch.int32)


def _are_found(factor: torch.Tensor, info: torch.Tensor) -> bool:
    """Whether all factors are there, without a NaN: one that is read comes to the diagonal of its row."""
    diagonals = factor.diagonal(dim1=-2, dim2=-1).sum().item()
    return bool(diagonals == diagonals) and not info.any()  # noqa: PLR0124 (NaN is not equal to itself)


RULES: Final[dict[object, Rule]] = {Cholesky: cholesky}
