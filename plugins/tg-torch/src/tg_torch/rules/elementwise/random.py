"""Threefry, in int32: PyTorch has no arithmetic of uint32, and sums and xors have the same bits in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import random as t
from tg_torch.unsigned import signed

if TYPE_CHECKING:
    from tg.backend import Rule


def threefry(key: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
    """The bits of a key at a counter."""
    k0, k1, x0, x1 = (word.to(torch.int32) for x in (signed(key), signed(counter)) for word in (x >> 32, x))
    high, low = t.rounds(k0, k1, x0, x1, rotated)
    return ((high.to(torch.int64) << 32) | (low.to(torch.int64) & 0xFFFFFFFF)).view(torch.uint64)


def rotated(x: torch.Tensor, places: int) -> torch.Tensor:
    """The bits moved up, those that fall out coming in below: without the copies of the sign."""
    return (x << places) | ((x >> (32 - places)) & ((1 << places) - 1))


RULES: Final[dict[object, Rule]] = {t.threefry: threefry}
