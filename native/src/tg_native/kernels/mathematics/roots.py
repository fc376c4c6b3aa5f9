"""Cube roots and lengths of vectors; what is subnormal, too large to be squared, or not finite is libm's.

A cube root is e^(log(x) / 3) with one step of Newton's method, which leaves its rounding only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.functions import copysign, fabs, redone, sqrt
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import exp, log
from tg_native.kernels.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

THIRD: Final = {"float64": 0.3333333333333333, "float32": 0.3333333432674408}
SQUARES: Final = {"float64": (1e-140, 1e150), "float32": (1e-14, 1e18)}  # between these nothing over- or underflows


def cbrt(x: Lanes) -> Lanes:
    """The cube root."""
    a, third, form = fabs(x), THIRD[x.dtype], FORMATS[x.dtype]
    t = exp(log(a) * third)
    y = copysign(t - (t - a / (t * t)) * third, x)
    return redone("cbrt", ~((a >= form.tiny) & (a <= form.most)), y, x)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """The root of x^2 + y^2."""
    a, b, (small, large) = fabs(x), fabs(y), SQUARES[x.dtype]
    c = select(a > b, a, b)
    usual = (c >= small) & (c <= large) & (x == x) & (y == y)  # noqa: PLR0124  (NaN)
    return redone("hypot", ~usual, sqrt(a * a + b * b), x, y)


KERNELS: Final = {"cbrt": Kernel(cbrt, error=2.0), "hypot": Kernel(hypot, error=1.5)}
