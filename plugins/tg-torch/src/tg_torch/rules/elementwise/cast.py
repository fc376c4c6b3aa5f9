"""Conversion between dtypes, with tg's declared results: PyTorch leaves to the machine what is out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import cast as t
from tg_torch.unsigned import HIGHEST

if TYPE_CHECKING:
    from tg.backend import Rule

DTYPES: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}


def cast(op: t.Cast, x: torch.Tensor) -> torch.Tensor:
    """The elements in another dtype; complex ones without their imaginary part."""
    target = DTYPES[op.dtype]
    if target == torch.bool:
        return x != 0
    if x.is_complex() and not target.is_complex:
        x = x.real
    if x.is_floating_point() and not (target.is_floating_point or target.is_complex):
        return _whole(x, target)
    return x.to(target)


def _whole(x: torch.Tensor, target: torch.dtype) -> torch.Tensor:
    """Truncated, at the limits of the dtype where beyond, and 0 for NaN."""
    limits = torch.iinfo(target)
    wide = x.to(torch.float64)
    wide = torch.where(torch.isnan(wide), wide.new_zeros(()), wide)
    if limits.bits < 64:
        return torch.clamp(wide, limits.min, limits.max).to(torch.int64).to(target)
    if target == torch.int64:
        inside = torch.clamp(wide, -(2.0**63), _below(2.0**63)).to(torch.int64)
        return torch.where(wide >= 2.0**63, inside.new_full((), limits.max), inside)
    upper = wide >= 2.0**63
    inside = torch.clamp(torch.where(upper, wide - 2.0**63, wide), 0.0, _below(2.0**63)).to(torch.int64)
    bits = torch.where(upper, inside ^ HIGHEST[torch.uint64], inside)
    return torch.where(wide >= 2.0**64, bits.new_full((), -1), bits).view(torch.uint64)


def _below(power: float) -> float:
    """The largest float64 below a power of 2."""
    return power * (1 - 2.0**-53)


RULES: Final[dict[object, Rule]] = {t.Cast: cast}
