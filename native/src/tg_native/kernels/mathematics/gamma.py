"""The logarithm of the gamma function, digamma and trigamma: `tg.ops.elementwise.special.gamma`, on lanes.

For x < 0, libm computes the logarithm, and digamma and trigamma follow from 1 - x, at most 6 units off: beside the
zeros of digamma there, units of the terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.special.gamma import (
    CONSTANT,
    LOG_NEAR,
    LOG_SERIES,
    NEAR,
    SECOND_SERIES,
    SERIES,
    ZERO,
    ZERO_REST,
)
from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.functions import copysign, fabs, fma, redone, rint, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import log_as_term, log_of_normal
from tg_native.kernels.mathematics.kernel import Kernel, polynomial
from tg_native.kernels.mathematics.trigonometric import sin, tan

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes


def lgamma(x: Lanes) -> Lanes:
    """The logarithm of the size of the gamma function."""
    body, form, low, below = x.body, FORMATS[x.dtype], x < 4, x < 0.75
    some = body.anywhere(low)
    once, twice = x >= 2.5, x >= 3.5

    def argument() -> Lanes:
        p = select(once, x - 1, 1) * select(twice, x - 2, x.like(1))
        return select(low, select(below, x, p), x)

    of_p, i = log_of_normal(body.replaced(some, x, argument)), 1 / x
    y = fma(x - 0.5, of_p - 1, fma(i, polynomial(i * i, LOG_SERIES), CONSTANT))

    def near() -> Lanes:
        a = select(below, x, x - 1 - once.to(x.dtype) - twice.to(x.dtype))
        part: Lanes = a * (a - 1) * LOG_NEAR.at(a + 0.25, polynomial)
        return select(low, part + select(below, -of_p, of_p), y)

    odd = ~((x >= form.tiny) & (x <= form.most))
    return redone("lgamma", odd, body.replaced(some, y, near), x)


def digamma(x: Lanes) -> Lanes:
    """The derivative of the logarithm of the gamma function."""
    body, left = x.body, x < 0
    reflects = body.anywhere(left)
    a = body.replaced(reflects, x, lambda: select(left, 1 - x, x))
    i = 1 / a
    y = log_as_term(a) - fma(i * i, polynomial(i * i, SERIES), i * 0.5)

    def near() -> Lanes:
        low, below, above = a < 4, a < 1, a >= 3
        shift = above.to(x.dtype) - below.to(x.dtype)
        t = select(low, a - shift, 2)
        step = shift / select(above, a - 1, a)
        value = fma((t - ZERO) - ZERO_REST, NEAR.at(t - 1, polynomial), step)
        return select(low, value, select(a <= FORMATS[x.dtype].most, y, a))

    usual = (a >= 4) & (a <= FORMATS[x.dtype].most)
    value = unless(~usual, y, near)

    def reflected() -> Lanes:
        r = x - rint(x)
        size = fabs(r)
        far = size > 0.25
        u = tan(np.pi * select(far, 0.5 - size, size))
        slope = np.pi * copysign(select(far, u, 1 / u), r)
        return select(left, select(r == 0, np.nan, value - slope), value)

    return body.replaced(reflects, value, reflected)


def trigamma(x: Lanes) -> Lanes:
    """The second derivative of the logarithm of the gamma function."""
    left = x < 0
    a = select(left, 1 - x, x)
    low = a < 4
    i = 1 / select(low, a + 4, a)
    s = i * i
    y = fma(s, fma(i, polynomial(s, SECOND_SERIES), 0.5), i)

    def near() -> Lanes:
        b, c, d = ((a + k) * (a + k) for k in (1, 2, 3))
        return 1 / (a * a) + (y + (b * c + d * (b + c)) / (b * c * d))

    value = unless(low, y, near)

    def reflected() -> Lanes:
        u = np.pi / sin(np.pi * (x - rint(x)))
        return u * u - value

    return unless(left, value, reflected)


KERNELS: Final = {
    name: Kernel(write, error=4.0, dtypes=("float64",), only=name != "lgamma", together=True)
    for name, write in {"lgamma": lgamma, "digamma": digamma, "trigamma": trigamma}.items()
}
