"""Trigonometric and hyperbolic functions.

Deviations from jax.numpy: sinc of halves goes by way of float32, which holds the product with pi; sinh and cosh keep
their digits where they are large, arcsin and arctanh where they are small. Those of complex numbers are in
`tg_jax.complex_functions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import trigonometric as t
from tg_jax import complex_functions as of_complex
from tg_jax.complex_functions import real_cosh, real_sinh
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
        return of_complex.turned(of_complex.arcsinh)(x)
    return jnp.where(jnp.abs(x) < 1e-8, x, jnp.arcsin(x))


def sinh(x: Any) -> Any:
    """Half of exp(x) - exp(-x)."""
    if _is_complex(x):
        return of_complex.sinh(x)
    return _by_single(real_sinh, x) if _is_half(x) else real_sinh(x)


def cosh(x: Any) -> Any:
    """Half of exp(x) + exp(-x)."""
    if _is_complex(x):
        return of_complex.cosh(x)
    return _by_single(real_cosh, x) if _is_half(x) else real_cosh(x)


def arctanh(x: Any) -> Any:
    """By log1p of a positive number, which XLA has right."""
    if _is_complex(x):
        return of_complex.arctanh(x)
    size = jnp.abs(x)
    return jnp.copysign(0.5 * log1p(2 * size / (1 - size)), x)


def _either(real: Any, complex: Any) -> Any:
    """A rule of two functions: for real numbers, and for complex ones."""
    return lambda x: (complex if _is_complex(x) else real)(x)


RULES: Final[dict[object, Rule]] = {
    t.sin: _either(jnp.sin, of_complex.turned(of_complex.sinh)),
    t.cos: _either(jnp.cos, lambda z: of_complex.cosh(lax.complex(-z.imag, z.real))),
    t.tan: _either(jnp.tan, of_complex.turned(of_complex.tanh)),
    t.arcsin: arcsin,
    t.arccos: _either(jnp.arccos, of_complex.arccos),
    t.arctan: _either(jnp.arctan, of_complex.turned(of_complex.arctanh)),
    t.arctan2: jnp.arctan2,
    t.sinh: sinh,
    t.cosh: cosh,
    t.tanh: _either(jnp.tanh, of_complex.tanh),
    t.arcsinh: _either(jnp.arcsinh, of_complex.arcsinh),
    t.arccosh: _either(jnp.arccosh, of_complex.arccosh),
    t.arctanh: arctanh,
    t.sinc: sinc,
}
