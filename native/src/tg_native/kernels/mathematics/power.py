"""Powers: e^(y log(x)) with the logarithm and the product as sums of two numbers, so that no digit of y log(x) is lost.

With s = f / (2 + f), the logarithm is k log(2) + 2 s + (2/3) s^3 + s^5 R(s^2): all but the last term has a second
number. This needs fused products, and numbers that are not at an end of their range; other lanes are libm's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.functions import fabs, fma, power, redone, rint
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import less_1, taken_apart
from tg_native.kernels.mathematics.kernel import Kernel, polynomial
from tg_native.kernels.series import LN2, PER_LN2, E

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

SAFE: Final = 700.0
WHOLE: Final = 2.0**53  # from here on all numbers are even
THIRDS: Final = 0.6666666666666666
THIRDS_REST: Final = 3.700743415417188e-17
R: Final = (
    0.39999999999999997, 0.28571428571434276, 0.2222222222008593, 0.1818181856851568,
    0.15384576707429415, 0.13335582524274628, 0.11689184966250796, 0.11873739670085627,
)  # fmt: skip


def _log_in_two(a: Lanes) -> tuple[Lanes, Lanes]:
    """The logarithm of a positive normal number, and what that number lacks."""
    form, numbers = FORMATS[a.dtype], LN2["f64"]
    k, m = taken_apart(a, a.like(form.rounder + form.bias))
    f, d = m - 1, m + 1
    s = f / d
    ds = (fma(-s, d, f) - s * (m - (d - 1))) / d
    z = s * s
    dz, u = fma(s, s, -z), z * s
    du = fma(z, s, -u) + dz * s
    v = THIRDS * u
    thirds = u.like(THIRDS)
    dv = fma(thirds, u, -v) + fma(thirds, du, THIRDS_REST * u)
    p = k * numbers["LN2_HIGH"]
    q = p + 2 * s
    h = q + v
    low = (2 * s - (q - p)) + (v - (h - q))
    rest = low + (k * numbers["LN2_LOW"] + 2 * ds * (1 + z) + dv + u * z * polynomial(z, R))
    logarithm = h + rest
    return logarithm, rest - (logarithm - h)


def pow(x: Lanes, y: Lanes) -> Lanes:
    """x to the power of y."""
    body, form, numbers = x.body, FORMATS[x.dtype], LN2["f64"]
    if not body.machine.fused:
        return body.one_by_one("pow", (x, y))
    a = fabs(x)
    high, rest = _log_in_two(a)
    e = y * high
    de = fma(y, high, -e) + y * rest
    t = fma(e, PER_LN2, form.power_rounder)
    n = t - form.power_rounder
    r = fma(n, -numbers["LN2_LOW"], fma(n, -numbers["LN2_HIGH"], e)) + de
    whole = power(t)
    value = fma(less_1(r, E["f64"]), whole, whole)
    left = x < 0

    def of_negative() -> Lanes:
        half = y * 0.5
        signed = select(left & (rint(half) != half), -value, value)
        return select(left & (rint(y) != y), np.nan, signed)

    with_sign = body.replaced(body.anywhere(left), value, of_negative)
    usual = (a >= form.tiny) & (a <= form.most) & (fabs(e) < SAFE) & (fabs(y) < WHOLE)
    return redone("pow", ~usual, with_sign, x, y)


KERNELS: Final = {"pow": Kernel(pow, error=2.0, dtypes=("float64",))}
