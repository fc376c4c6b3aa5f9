"""Exponentials and logarithms.

Deviations from jax.numpy: exp2 is exact at integers, log1p and complex logarithms keep the digits that XLA's lose (119
units of the last place at -0.41), logaddexp of half precision goes by way of float32, sigmoid and softplus keep their
digits at both ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import exponential as t
from tg_jax import complex_functions as of_complex

if TYPE_CHECKING:
    from tg.backend import Rule

LN2: Final = 0.6931471805599453
PER_LN2: Final = 1.4426950408889634
PER_LN10: Final = 0.4342944819032518


def _is_complex(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.complexfloating))


def exp(x: Any) -> Any:
    """The exponential."""
    return of_complex.exp(x) if _is_complex(x) else jnp.exp(x)


def expm1(x: Any) -> Any:
    """The exponential less 1."""
    return of_complex.expm1(x) if _is_complex(x) else jnp.expm1(x)


def _parts_times(z: Any, factor: float) -> Any:
    """A complex number times a real one: a product of complex ones makes NaN of an infinite part."""
    return lax.complex(z.real * factor, z.imag * factor)


def exp2(x: Any) -> Any:
    """The whole part of a floating x goes into the exponent, the rest through exp."""
    if _is_complex(x):
        return of_complex.exp(_parts_times(x, LN2))
    whole = jnp.round(jnp.clip(x, -1100, 1100))
    return jnp.ldexp(jnp.exp((x - whole) * LN2), jnp.nan_to_num(whole).astype(jnp.int32)).astype(x.dtype)


def log(x: Any) -> Any:
    """A complex logarithm by its parts."""
    if not _is_complex(x):
        return jnp.log(x)
    return lax.complex(jnp.log(jnp.hypot(x.real, x.imag)), jnp.arctan2(x.imag, x.real))


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return _parts_times(log(x), PER_LN2) if _is_complex(x) else jnp.log2(x)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return _parts_times(log(x), PER_LN10) if _is_complex(x) else jnp.log10(x)


def log1p(x: Any) -> Any:
    """XLA's own near 0 only."""
    if _is_complex(x):
        return of_complex.log1p(x)
    return jnp.where(jnp.abs(x) < 0.25, jnp.log1p(x), jnp.log(1 + x))


def logaddexp(x: Any, y: Any) -> Any:
    """Half precision by way of float32: the sum of both terms cancels."""
    if x.dtype.itemsize > 2:
        return jnp.logaddexp(x, y)
    return jnp.logaddexp(x.astype(jnp.float32), y.astype(jnp.float32)).astype(x.dtype)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), by the exponential that does not overflow."""
    decay = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, jnp.ones_like(x), decay) / (1 + decay)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), by the exponential that does not overflow."""
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


RULES: Final[dict[object, Rule]] = {
    t.exp: exp,
    t.exp2: exp2,
    t.expm1: expm1,
    t.log: log,
    t.log2: log2,
    t.log10: log10,
    t.log1p: log1p,
    t.logaddexp: logaddexp,
    t.sigmoid: sigmoid,
    t.softplus: softplus,
}
