"""Hyperbolic functions and their inverses, from expm1, exp and log1p.

Of |x|, with the sign put back; large arguments apart, whose exponential or square would be infinite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg_native.kernels.dtypes import WORDS
from tg_native.kernels.functions import at_most, copysign, fabs, sqrt, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import exp, expm1, log, log1p, rise
from tg_native.kernels.mathematics.kernel import Kernel
from tg_native.kernels.series import LN2, TANH_IS_1

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

FAR: Final = {"float64": 700.0, "float32": 88.0}
SQUARE: Final = {"float64": 1e9, "float32": 1e5}


def tanh(x: Lanes) -> Lanes:
    """With q = e^(2 |x|) - 1 it is q / (q + 2), with the sign put back."""
    q = rise(at_most(fabs(x), TANH_IS_1[WORDS[x.dtype]]))
    return copysign(q / (q + 2), x)


def _half_of_large(a: Lanes) -> Lanes:
    """e^a / 2 without overflow before the end."""
    root = exp(a * 0.5)
    return root * 0.5 * root


def sinh(x: Lanes) -> Lanes:
    """The hyperbolic sine."""
    a = fabs(x)
    q = expm1(a)
    return copysign(unless(a > FAR[x.dtype], (q + q / (q + 1)) * 0.5, lambda: _half_of_large(a)), x)


def cosh(x: Lanes) -> Lanes:
    """The hyperbolic cosine."""
    a = fabs(x)
    e = exp(a)
    return unless(a > FAR[x.dtype], (e + 1 / e) * 0.5, lambda: _half_of_large(a))


def _log_of_twice(a: Lanes) -> Lanes:
    return log(a) + LN2[WORDS[a.dtype]]["LN2"]


def asinh(x: Lanes) -> Lanes:
    """The inverse of sinh."""
    a = fabs(x)
    s = a * a
    y = log1p(a + s / (1 + sqrt(1 + s)))
    return copysign(unless(a > SQUARE[x.dtype], y, lambda: _log_of_twice(a)), x)


def acosh(x: Lanes) -> Lanes:
    """The inverse of cosh."""
    t = x - 1
    y = log1p(t + sqrt(t * (x + 1)))
    return select(x < 1, np.nan, unless(x > SQUARE[x.dtype], y, lambda: _log_of_twice(x)))


def atanh(x: Lanes) -> Lanes:
    """The inverse of tanh."""
    a = fabs(x)
    return copysign(log1p(2 * a / (1 - a)) * 0.5, x)


KERNELS: Final = {
    "tanh": Kernel(tanh, error=4.0, preferred=("float64",), narrow=("float32",)),
    "sinh": Kernel(sinh, error=3.5),
    "cosh": Kernel(cosh, error=2.5),
    "asinh": Kernel(asinh, error=2.5, narrow=("float64",)),
    "acosh": Kernel(acosh, error=3.0, narrow=("float64",)),
    "atanh": Kernel(atanh, error=2.5, narrow=("float64",)),
}
