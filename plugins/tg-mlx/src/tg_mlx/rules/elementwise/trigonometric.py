"""Trigonometric and hyperbolic functions.

Deviations from MLX: its sine and cosine have the digits of single precision in double; here they are made of tangents,
which have all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import trigonometric as t
from tg_mlx.arrays import is_half, scalar

if TYPE_CHECKING:
    from tg.backend import Rule


def sin(x: Any) -> Any:
    """2 / (t + 1/t) with t = tan(x/2), in double precision."""
    if x.dtype != mx.float64:
        return mx.sin(x)
    half = mx.tan(x * 0.5)
    return 2 / (half + mx.reciprocal(half))


def cos(x: Any) -> Any:
    """1 / sqrt(1 + tan²(x)) in double precision, with the sign of tan(x) tan(x/2): the second sign is the sine's."""
    if x.dtype != mx.float64:
        return mx.cos(x)
    whole = mx.tan(x)
    size = mx.rsqrt(1 + whole * whole)
    return mx.where((whole < 0) != (mx.tan(x * 0.5) < 0), -size, size)


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); half precision by way of float32, which holds the product with pi."""
    if is_half(x):
        return sinc(x.astype(mx.float32)).astype(x.dtype)
    angle = x * scalar(math.pi, x.dtype)
    return mx.where(x == 0, scalar(1, x.dtype), sin(angle) / angle)


RULES: Final[dict[object, Rule]] = {
    t.sin: sin,
    t.cos: cos,
    t.tan: mx.tan,
    t.arcsin: mx.arcsin,
    t.arccos: mx.arccos,
    t.arctan: mx.arctan,
    t.arctan2: mx.arctan2,
    t.sinh: mx.sinh,
    t.cosh: mx.cosh,
    t.tanh: mx.tanh,
    t.arcsinh: mx.arcsinh,
    t.arccosh: mx.arccosh,
    t.arctanh: mx.arctanh,
    t.sinc: sinc,
}
