"""Exponentials and logarithms.

Deviations from MLX: its exponential is good to 8 units in the last place of single precision, and in double precision
has no more digits, as have the functions made of it. Here it is a power of a number that is nearly a power of e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import exponential as t
from tg_mlx.arrays import is_complex, is_half, scalar
from tg_mlx.rules.elementwise.complex import complex_

if TYPE_CHECKING:
    from tg.backend import Rule

LN2: Final = 0.6931471805599453
BASE: Final = {  # exp(1 / scale) and scale: rounding the base costs a result at most half a unit in the last place
    mx.float32: (1.6038109389511792e-28, -1 / 64),
    mx.float64: (6.616261056709485e-112, -1 / 256),
}


def exp(x: Any) -> Any:
    """A power whose exponent is x by a power of two, and so exact: of a base that e's own rounding hardly touches."""
    if x.dtype not in BASE:
        return mx.exp(x)
    base, scale = BASE[x.dtype]
    return mx.power(scalar(base, x.dtype), x * scale)


def exp_of_minus(x: Any) -> Any:
    """exp(-x)."""
    if x.dtype not in BASE:
        return mx.exp(-x)
    base, scale = BASE[x.dtype]
    return mx.power(scalar(base, x.dtype), x * -scale)


def exp2(x: Any) -> Any:
    """The power of 2."""
    if is_complex(x):
        return mx.exp(complex_(mx.real(x) * LN2, mx.imag(x) * LN2))
    return mx.power(scalar(2, x.dtype), x)


def expm1(x: Any) -> Any:
    """The exponential less 1; a complex one by its parts."""
    if not is_complex(x):
        return mx.expm1(x)
    a, b = mx.real(x), mx.imag(x)
    half = mx.sin(b / 2)
    return complex_(mx.expm1(a) * mx.cos(b) - 2 * half * half, mx.where(b == 0, b, exp(a) * mx.sin(b)))


def log1p(x: Any) -> Any:
    """log(1 + x); of a complex -0 the logarithm of 1."""
    if not is_complex(x):
        return mx.log1p(x)
    w = mx.log1p(x)
    return complex_(mx.real(w) + 0.0, mx.imag(w))


def logaddexp(x: Any, y: Any) -> Any:
    """The larger operand and a correction; half precision by way of float32, for the sum of both cancels."""
    if is_half(x):
        return logaddexp(x.astype(mx.float32), y.astype(mx.float32)).astype(x.dtype)
    top, low = mx.maximum(x, y), mx.minimum(x, y)
    return mx.where(top == low, top + scalar(LN2, x.dtype), top + mx.log1p(exp_of_minus(top - low)))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), 0 where that overflows; half precision by way of float32, where it does not so soon."""
    if is_half(x):
        return sigmoid(x.astype(mx.float32)).astype(x.dtype)
    return mx.reciprocal(1 + exp_of_minus(x))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), by the exponential that does not overflow."""
    return mx.maximum(x, 0) + mx.log1p(exp_of_minus(mx.abs(x)))


RULES: Final[dict[object, Rule]] = {
    t.exp: exp,
    t.exp2: exp2,
    t.expm1: expm1,
    t.log: mx.log,
    t.log2: mx.log2,
    t.log10: mx.log10,
    t.log1p: log1p,
    t.logaddexp: logaddexp,
    t.sigmoid: sigmoid,
    t.softplus: softplus,
}
