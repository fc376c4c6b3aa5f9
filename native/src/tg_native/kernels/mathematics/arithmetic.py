"""The remainder of a division, and the next number: exact.

Of the remainder, the quotient, rounded towards 0, is right or one too large; what is left of x is then exact, or has y
too little. Where the quotient has more digits than a number, or something is not finite or subnormal, libm computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.kernels.dtypes import FORMATS, is_half, item_size
from tg_native.kernels.functions import copysign, fabs, fma, redone, trunc
from tg_native.kernels.half import widened
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

WHOLE: Final = {"float64": 2.0**52, "float32": 2.0**22}


def fmod(x: Lanes, y: Lanes) -> Lanes:
    """The remainder, with the sign of x; where the processor has no fused products, libm's."""
    body, form = x.body, FORMATS[x.dtype]
    if not body.machine.fused:
        return body.one_by_one("fmod", (x, y))
    a, b = fabs(x), fabs(y)
    q = a / b
    odd = ~((q < WHOLE[x.dtype]) & (a <= form.most) & (b >= form.tiny) & (b <= form.most))
    r = fma(trunc(q), -b, a)
    return redone("fmod", odd, copysign(r + select(r < 0, b, 0), x), x, y)


def nextafter(x: Lanes, y: Lanes) -> Lanes:
    """The next number, of halves too: the bits of a number, without its sign, are in the order of its values."""
    a, b = (widened(v) if is_half(v.dtype) else v for v in (x, y))
    bits = x.bits()
    away = select((a < b) == (a > 0), bits + 1, bits - 1).seen_as(x.dtype)
    top = bits.like(1) << 8 * item_size(x.dtype) - 1
    least = ((y.bits() & top) | 1).seen_as(x.dtype)
    moved = select(a == 0, least, away)
    return select(a.is_nan(), x, select(b.is_nan() | (a == b), y, moved))


KERNELS: Final = {"fmod": Kernel(fmod, error=0.0), "nextafter": Kernel(nextafter, error=0.0)}
