"""Rounding to whole numbers, as PyTorch has it; of complex numbers in both parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import rounding as t

if TYPE_CHECKING:
    from tg.backend import Rule


def rint(x: torch.Tensor) -> torch.Tensor:
    """The nearest whole number, the even one of two."""
    return torch.complex(torch.round(x.real), torch.round(x.imag)) if x.is_complex() else torch.round(x)


RULES: Final[dict[object, Rule]] = {
    t.floor: torch.floor,
    t.ceil: torch.ceil,
    t.trunc: torch.trunc,
    t.rint: rint,
}
