"""Conversion between dtypes: floating to integer saturates and takes NaN to 0, integer to integer wraps.

A complex number becomes real by its real part; it is not 0 if either part is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex
from tg_native.kernels.dtypes import PARTS, is_half, is_signed
from tg_native.kernels.half import narrowed, widened
from tg_native.kernels.lanes import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Elements, Lanes

WIDE: Final = ("int64", "uint64")
NO_INSTRUCTION: Final = 32
"""Bytes of the vectors that have none from integers of 64 bits to float64: AVX2's, where NEON and AVX-512 have one."""


def cast(op: Cast, operands: Sequence[Elements], result: str) -> Elements:
    """The conversion of elements."""
    (x,) = operands
    if isinstance(x, Pair):
        if is_complex(result):
            return x.to(result)
        if result == "bool":
            return ~x.is_zero()
        x = x.real
    if x.dtype == result:
        return x
    if is_half(x.dtype):
        x = widened(x)
    if is_complex(result):
        real = x.to(PARTS[result])
        return Pair(real, real.like(0))
    if result == "float64" and x.dtype in WIDE and x.body.lanes and x.body.machine.vector_bytes == NO_INSTRUCTION:
        return by_words(x)
    return narrowed(x, result) if is_half(result) else x.to(result)


def by_words(x: Lanes) -> Lanes:
    """An integer of 64 bits as float64: each of its words is the end of a large number, and their sum is rounded.

    The difference is exact, since both its numbers, and what is left, are multiples of 2^32 below 2^85.
    """
    bits, lift = x.bits(), 0
    if is_signed(x.dtype):
        bits, lift = bits ^ 2**63, 2**63
    high = (bits >> 32 | _bits(2.0**84)).seen_as("float64") - (2.0**84 + 2.0**52 + lift)
    low = (bits & 0xFFFFFFFF | _bits(2.0**52)).seen_as("float64")
    return high + low


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.uint64))


KERNELS: Final[dict[object, Rule]] = {Cast: cast}
