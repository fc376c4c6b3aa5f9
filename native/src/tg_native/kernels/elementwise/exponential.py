"""Exponentials and logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise import exponential as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.functions import fabs
from tg_native.kernels.lanes import Pair, select
from tg_native.kernels.libm import (
    complex_named,
    cos,
    exp,
    exp_of_nonpositive,
    exp_of_shifted,
    libm_named,
    log,
    log1p,
    sin,
)

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Lanes

LOG_2: Final = 0.69314718055994530942
expm1, hypot, atan2 = (libm_named(name) for name in ("expm1", "hypot", "atan2"))
cexp, clog = complex_named("cexp"), complex_named("clog")


def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """Infinities of one sign too."""
    d = x - y
    larger = select(d > 0, x, y)
    value = larger + log1p(exp(-fabs(d)))
    return select(x == y, x + LOG_2, select(d.is_nan(), d, value))


def expm1_complex(x: Pair) -> Pair:
    """By its parts, exact near 0."""
    a, b = x
    s = sin(b / 2)
    return Pair(expm1(a) * cos(b) - 2 * s * s, exp(a) * sin(b))


def log1p_complex(x: Pair) -> Pair:
    """By its parts."""
    a, b = x.real + 1, x.imag
    return Pair(log(hypot(a, b)), atan2(b, a))


def scaled(x: Pair, factor: float) -> Pair:
    """A complex number times a real one, part by part: infinite parts make no NaN of the other."""
    return Pair(x.real * factor, x.imag * factor)


def sigmoid(x: Lanes) -> Lanes:
    """Without overflow."""
    decay = exp_of_nonpositive(-fabs(x))
    return select(x >= 0, 1, decay) / (decay + 1)


def softplus(x: Lanes) -> Lanes:
    """Without overflow."""
    return select((x >= 0) | x.is_nan(), x, 0) + log1p(exp_of_nonpositive(-fabs(x)))


KERNELS: Final[dict[object, Rule]] = {
    t.exp: Elementwise(
        floating=exp,
        complex=cexp,
        of_nonpositive=Elementwise(floating=exp_of_nonpositive),
        of_shifted=Elementwise(floating=exp_of_shifted),
    ),
    t.exp2: Elementwise(floating=libm_named("exp2"), complex=lambda x: cexp(scaled(x, LOG_2))),
    t.expm1: Elementwise(floating=expm1, complex=expm1_complex),
    t.log: Elementwise(floating=log, complex=clog),
    t.log2: Elementwise(floating=libm_named("log2"), complex=lambda x: scaled(clog(x), np.log2(np.e))),
    t.log10: Elementwise(floating=libm_named("log10"), complex=lambda x: scaled(clog(x), np.log10(np.e))),
    t.log1p: Elementwise(floating=log1p, complex=log1p_complex),
    t.logaddexp: Elementwise(floating=logaddexp),
    t.sigmoid: Elementwise(floating=sigmoid),
    t.softplus: Elementwise(floating=softplus),
}
