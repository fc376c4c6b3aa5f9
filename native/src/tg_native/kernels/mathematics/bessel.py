"""The modified Bessel functions I0 and I1, scaled by e^-|x|: those of `tg.ops.elementwise.special.bessel`, on lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special.bessel import END, FAR_0, FAR_1, NEAR_0, NEAR_1
from tg_native.kernels.functions import copysign, fabs, sqrt, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import exp
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes


def _beyond(a: Lanes, near: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    return unless(a > END, near, lambda: polynomial(1 / a - 0.0625, coefficients) / sqrt(a))


def i0e(x: Lanes) -> Lanes:
    """e^-|x| I0(x)."""
    a = fabs(x)
    b = select(a > END, END, a)
    return _beyond(a, exp(-b) * polynomial(b * b, NEAR_0), FAR_0)


def i1e(x: Lanes) -> Lanes:
    """e^-|x| I1(x)."""
    a = fabs(x)
    b = select(a > END, END, a)
    return copysign(_beyond(a, b * exp(-b) * polynomial(b * b, NEAR_1), FAR_1), x)


KERNELS: Final = {
    "i0e": Kernel(i0e, error=4.0, dtypes=("float64",), only=True),
    "i1e": Kernel(i1e, error=4.0, dtypes=("float64",), only=True),
}
