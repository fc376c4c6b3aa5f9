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

if TYPE_CHECKING:
    from tg.backend import Rule

LN2: Final = 0.6931471805599453
PER_LN2: Final = 1.4426950408889634
PER_LN10: Final = 0.4342944819032518


def exp2(x: Any) -> Any:
    """The whole part of a floating x goes into the exponent, the rest through exp."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jnp.exp2(x)
    whole = jnp.round(jnp.clip(x, -1100, 1100))
    return jnp.ldexp(jnp.exp((x - whole) * LN2), jnp.nan_to_num(whole).astype(jnp.int32)).astype(x.dtype)


def log(x: Any) -> Any:
    """A complex logarithm by its parts."""
    if not jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jnp.log(x)
    return lax.complex(jnp.log(jnp.hypot(x.real, x.imag)), jnp.arctan2(x.imag, x.real))


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return log(x) * PER_LN2 if jnp.issubdtype(x.dtype, jnp.complexfloating) else jnp.log2(x)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return log(x) * PER_LN10 if jnp.issubdtype(x.dtype, jnp.complexfloating) else jnp.log10(x)


def log1p(x: Any) -> Any:
    """XLA's own near 0 only."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jnp.log1p(x)
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
    t.exp: jnp.exp,
    t.exp2: exp2,
    t.expm1: jnp.expm1,
    t.log: log,
    t.log2: log2,
    t.log10: log10,
    t.log1p: log1p,
    t.logaddexp: logaddexp,
    t.sigmoid: sigmoid,
    t.softplus: softplus,
}
