"""Operations on bits.

Deviation from PyTorch: a shift by a negative number, or by the width or more, leaves none of the bits but the sign's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import bitwise as t
from tg_torch.unsigned import HIGHEST, as_dtype, binary, signed, unary

if TYPE_CHECKING:
    from tg.backend import Rule


def left_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The bits moved up; none are left of a shift that is out of range."""
    bits, count = signed(x), signed(y)
    inside = _inside(count, x)
    moved = torch.bitwise_left_shift(bits, torch.where(inside, count, torch.zeros_like(count)))
    return as_dtype(torch.where(inside, moved, torch.zeros_like(moved)), x.dtype)


def right_shift(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The bits moved down; the sign is left of a shift that is out of range."""
    bits, count = signed(x), signed(y)
    inside = _inside(count, x)
    plain = torch.where(inside, count, torch.zeros_like(count))
    moved = torch.bitwise_right_shift(bits, plain)
    if x.dtype in HIGHEST:  # without the copies of the highest bit
        moved = moved & ~torch.bitwise_left_shift(
            torch.bitwise_right_shift(bits.new_full((), HIGHEST[x.dtype]), plain), 1
        )
    signs = bits < 0 if x.dtype.is_signed else torch.zeros_like(bits, dtype=torch.bool)
    return as_dtype(torch.where(inside, moved, -signs.to(moved.dtype)), x.dtype)


def _inside(count: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (count >= 0) & (count < 8 * x.dtype.itemsize)


# PyTorch has these of uint64 on the CPU, not on CUDA
RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: binary(torch.bitwise_and),
    t.bitwise_or: binary(torch.bitwise_or),
    t.bitwise_xor: binary(torch.bitwise_xor),
    t.bitwise_invert: unary(torch.bitwise_not),
    t.left_shift: left_shift,
    t.right_shift: right_shift,
}
