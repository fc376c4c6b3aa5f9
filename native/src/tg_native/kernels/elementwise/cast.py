"""Conversion between dtypes: floating to integer saturates and takes NaN to 0, integer to integer wraps.

A complex number becomes real by its real part; it is not 0 if either part is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex
from tg_native.kernels.dtypes import PARTS, is_half
from tg_native.kernels.half import narrowed, widened
from tg_native.kernels.lanes import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Elements


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
    return narrowed(x, result) if is_half(result) else x.to(result)


KERNELS: Final[dict[object, Rule]] = {Cast: cast}
