"""The error function, its complement, and erfcx: the polynomials of `tg.ops.elementwise.special.error`, on lanes.

Where the square is taken in two parts, the first has half of its bits, so that it is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special.error import LIMIT, MOST, NEAR, OUTER, PER_ROOT_PI, SCALED
from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.functions import at_most, copysign, fabs, fma, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import exp
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

LOW_HALF: Final = 0x7FFFFFF  # bits of a number


def _in_two_parts(a: Lanes) -> tuple[Lanes, Lanes]:
    """a^2, for a >= 0: exactly, as a square and the rest."""
    high = (a.bits() & ~LOW_HALF % 2**64).seen_as(a.dtype)
    return high * high, (a - high) * (a + high)


def _near_1(e: Lanes, rest: Lanes) -> Lanes:
    """e times the exponential of a small number."""
    return fma(e, rest + rest * rest * (0.5 + rest * (1 / 6)), e)


def _product_near(e: Lanes, y: Lanes, rest: Lanes) -> Lanes:
    """The product of e, y and the exponential of a small number, which is added with what the first product loses."""
    product = e * y
    lost = fma(e, y, -product)
    return product + fma(product, rest + rest * rest * (0.5 + rest * (1 / 6)), lost)


def _near(x: Lanes, a: Lanes) -> Lanes:
    """The error function where a = |x| <= 1."""
    b = at_most(a, 1.0)
    return x * polynomial(b * b, NEAR)


def _scaled(a: Lanes) -> Lanes:
    w = a / (a + 2.5)
    return polynomial((w + w) - 1, SCALED) / (2 * a + 1)


def erf(x: Lanes) -> Lanes:
    """The error function."""
    a = fabs(x)

    def outer() -> Lanes:
        b = at_most(a, LIMIT)
        return copysign(1 - exp(-(b * b)) * polynomial(1 / (b + 2), OUTER), x)

    return unless(a >= 1, _near(x, a), outer)


def erfc(x: Lanes) -> Lanes:
    """The complementary error function."""
    a = fabs(x)
    small = a < 0.5
    inner = unless(small, x, lambda: 1 - _near(x, a))

    def outer() -> Lanes:
        b = at_most(a, 30.0)
        square, rest = _in_two_parts(b)
        far = _product_near(exp(-square), _scaled(b), -rest)
        return select(x < 0, 2 - far, far)

    return unless(~small, inner, outer)


def erfcx(x: Lanes) -> Lanes:
    """e^(x^2) erfc(x)."""
    a, form = fabs(x), FORMATS[x.dtype]
    y = unless(a > MOST, _scaled(a), lambda: PER_ROOT_PI / a)

    def of_negative() -> Lanes:
        square, rest = _in_two_parts(a)
        e = 2 * exp(square)
        return select(e > form.most, e, _near_1(e, rest)) - y

    return unless(x < 0, y, of_negative)


KERNELS: Final = {
    "erf": Kernel(erf, error=4.0, dtypes=("float64",), together=True),
    "erfc": Kernel(erfc, error=4.0, dtypes=("float64",), together=True),
    "erfcx": Kernel(erfcx, error=4.0, dtypes=("float64",), only=True, together=True),
}
