"""Threefry, by the primitive below JAX's own keys: no flag of a user's changes what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jax
import jax.numpy as jnp
from jax.extend.random import threefry2x32_p

from tg.backend import random as t

if TYPE_CHECKING:
    from tg.backend import Rule


def threefry(key: jax.Array, counter: jax.Array) -> jax.Array:
    """The bits of a key at a counter."""
    words = [word.astype(jnp.uint32) for x in (key, counter) for word in (x >> 32, x)]
    shape = jnp.broadcast_shapes(key.shape, counter.shape)
    whole = [jnp.broadcast_to(word, shape) if word.ndim else word for word in words]  # a loop would carry many copies
    halves = threefry2x32_p.bind(*whole)  # type: ignore[no-untyped-call]
    high, low = (word.astype(jnp.uint64) for word in halves)
    return (high << 32) | low  # type: ignore[no-any-return]


RULES: Final[dict[object, Rule]] = {t.threefry: threefry}
