"""Operations on bits.

Deviation from MLX: bits shifted by the width or more, or by less than 0, are gone. MLX takes the count modulo it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import bitwise as t
from tg_mlx.arrays import is_unsigned, scalar

if TYPE_CHECKING:
    from tg.backend import Rule


def left_shift(x: Any, y: Any) -> Any:
    """The bits moved up; 0 where none are left."""
    inside = _inside(x, y)
    return mx.where(inside, mx.left_shift(x, mx.where(inside, y, scalar(0, y.dtype))), scalar(0, x.dtype))


def right_shift(x: Any, y: Any) -> Any:
    """The bits moved down; only the sign where none are left."""
    inside = _inside(x, y)
    moved = mx.right_shift(x, mx.where(inside, y, scalar(0, y.dtype)))
    sign = scalar(0, x.dtype) if is_unsigned(x) else mx.where(x < 0, scalar(-1, x.dtype), scalar(0, x.dtype))
    return mx.where(inside, moved, sign)


def _inside(x: Any, y: Any) -> Any:
    """Whether a count is at least 0 and below the width."""
    below = y < 8 * x.dtype.size
    return below if is_unsigned(y) else below & (y >= 0)


RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: mx.bitwise_and,
    t.bitwise_or: mx.bitwise_or,
    t.bitwise_xor: mx.bitwise_xor,
    t.bitwise_invert: mx.bitwise_invert,
    t.left_shift: left_shift,
    t.right_shift: right_shift,
}
