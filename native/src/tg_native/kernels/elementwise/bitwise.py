"""Operations on the bits of integers; on bool they are the logical ones.

Shifts by a negative number or by the width and more have no meaning for the processor, so none is computed.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import bitwise as t
from tg_native.kernels.dtypes import is_signed, item_size
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import select

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Lanes


def is_inside(y: Lanes) -> Lanes:
    """Whether a number is one of bits to shift by."""
    return y.bits() < 8 * item_size(y.dtype)


def left_shift(x: Lanes, y: Lanes) -> Lanes:
    """0 where nothing is left."""
    inside = is_inside(y)
    return select(inside, x << select(inside, y, 0), 0)


def right_shift(x: Lanes, y: Lanes) -> Lanes:
    """0, or the sign throughout, where nothing is left."""
    inside = is_inside(y)
    if is_signed(x.dtype):
        return x >> select(inside, y, 8 * item_size(x.dtype) - 1)
    return select(inside, x >> select(inside, y, 0), 0)


KERNELS: Final[dict[object, Rule]] = {
    t.bitwise_and: Elementwise(operator.and_),
    t.bitwise_or: Elementwise(operator.or_),
    t.bitwise_xor: Elementwise(operator.xor),
    t.bitwise_invert: Elementwise(operator.invert),
    t.left_shift: Elementwise(left_shift),
    t.right_shift: Elementwise(right_shift),
}
