"""Trigonometric and hyperbolic functions.

Deviations from jax.numpy: sinc of halves goes by way of float32, which holds the product with pi; sinh and cosh keep
their digits where they are large, arcsin and arctanh where they are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import trigonometric as t
from tg_jax.rules.elementwise.exponential import log1p

if TYPE_CHECKING:
    from tg.backend import Rule


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    return _by_single(jnp.sinc, x) if _is_half(x) else jnp.sinc(x)


def _is_complex(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.complexfloating))


def _is_half(x: Any) -> bool:
    return bool(x.dtype.itemsize == 2)


def _by_single(function: Any, x: Any) -> Any:
    return function(x.astype(jnp.float32)).astype(x.dtype)


def arcsin(x: Any) -> Any:
    """Inverse sine; x where the next term of the series does not count."""
    if _is_complex(x):
        return jnp.arcsin(x)
    return jnp.where(jnp.abs(x) < 1e-8, x, jnp.arcsin(x))


def sinh(x: Any) -> Any:
    """By two halves of an exponential, so that none overflows early; by expm1 near 0."""
    if _is_complex(x):
        imaginary = jnp.where(x.imag == 0, x.imag, cosh(x.real) * jnp.sin(x.imag))
        return lax.complex(sinh(x.real) * jnp.cos(x.imag), imaginary)
    if _is_half(x):
        return _by_single(sinh, x)
    half, small = jnp.exp(jnp.abs(x) / 2), jnp.expm1(jnp.abs(x))
    near = (small + small / (small + 1)) * 0.5
    return jnp.copysign(jnp.where(jnp.abs(x) < 1, near, half * 0.5 * half - 0.5 / half * (1 / half)), x)


def cosh(x: Any) -> Any:
    """By two halves of an exponential."""
    if _is_complex(x):
        imaginary = jnp.where(x.imag == 0, x.imag * x.real, sinh(x.real) * jnp.sin(x.imag))
        return lax.complex(cosh(x.real) * jnp.cos(x.imag), imaginary)
    if _is_half(x):
        return _by_single(cosh, x)
    half = jnp.exp(jnp.abs(x) / 2)
    return half * 0.5 * half + 0.5 / half * (1 / half)


def arctanh(x: Any) -> Any:
    """By log1p of a positive number, which XLA has right."""
    if _is_complex(x):
        return jnp.arctanh(x)
    size = jnp.abs(x)
    return jnp.copysign(0.5 * log1p(2 * size / (1 - size)), x)


RULES: Final[dict[object, Rule]] = {
    t.sin: jnp.sin,
    t.cos: jnp.cos,
    t.tan: jnp.tan,
    t.arcsin: arcsin,
    t.arccos: jnp.arccos,
    t.arctan: jnp.arctan,
    t.arctan2: jnp.arctan2,
    t.sinh: sinh,
    t.cosh: cosh,
    t.tanh: jnp.tanh,
    t.arcsinh: jnp.arcsinh,
    t.arccosh: jnp.arccosh,
    t.arctanh: arctanh,
    t.sinc: sinc,
}
