"""Cholesky factors. Deviation from torch.linalg: a NaN in a matrix is no failure, and gives NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import Cholesky
from tg_torch.place import RUN, Place

if TYPE_CHECKING:
    from tg.backend import Rule

LITTLE: Final = 4096  # entries: of fewer, to find the diagonals takes longer than to add all
SHORT: Final = 64  # matrices: of fewer, Python looks at what LAPACK says in 1 us, and PyTorch in 4


def cholesky(op: Cholesky, a: torch.Tensor, context: Place = RUN) -> tuple[torch.Tensor, torch.Tensor]:
    """Factors of the lower triangles in C order, which PyTorch has as upper ones of the transposes."""
    if a.device.type == "cpu" and not context.is_traced:
        upper, info = torch.linalg.cholesky_ex(a.mT, upper=True)
        if _are_found(upper, info):
            return upper.mT, info
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
    if _has_failed(info):
        return False
    entries = factor if factor.numel() < LITTLE else factor.diagonal(dim1=-2, dim2=-1)
    total = entries.sum().item()  # NaN of infinities as well: then the general way looks at each factor
    return bool(total == total)  # noqa: PLR0124 (NaN is not equal to itself)


def _has_failed(info: torch.Tensor) -> bool:
    """Whether LAPACK has met a minor that is not positive."""
    if info.numel() == 1:
        return bool(info.item())
    return bool(any(info.tolist()) if info.ndim == 1 and len(info) < SHORT else info.any())


RULES: Final[dict[object, Rule]] = {Cholesky: cholesky}
