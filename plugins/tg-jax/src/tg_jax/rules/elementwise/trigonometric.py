"""Trigonometric and hyperbolic functions.

Deviation from jax.numpy: sinc of bfloat16 goes by way of float32, which holds the product with pi.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.ops.elementwise import trigonometric as t

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    return jnp.sinc(x.astype(jnp.float32)).astype(x.dtype) if x.dtype == jnp.bfloat16 else jnp.sinc(x)


RULES: Final[dict[object, Rule]] = {t.sin: jnp.sin, t.cos: jnp.cos, t.tanh: jnp.tanh, t.sinc: sinc}
