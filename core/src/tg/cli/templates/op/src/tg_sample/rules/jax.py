"""The operations in JAX."""

import jax.numpy as jnp
from jax import lax

from tg_sample.sample import LeakySum, squash


def leaky_sum(op, x):
    """A scan over the last axis, moved to the front."""
    keep = jnp.asarray(op.keep, x.dtype)

    def step(before, now):
        after = now + keep * before
        return after, after

    rows = jnp.moveaxis(x, -1, 0)
    return jnp.moveaxis(lax.scan(step, jnp.zeros(x.shape[:-1], x.dtype), rows)[1], 0, -1)


RULES = {squash: lambda x: x / (1 + jnp.abs(x)), LeakySum: leaky_sum}
