"""LU factors. Deviation from jax.lax.linalg: those of a matrix with NaN are NaN, for which LAPACK may find a 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import LU

if TYPE_CHECKING:
    from tg.backend import Rule


def lu(op: LU, a: Any) -> tuple[Any, Any, Any]:
    """The factors in one matrix, the pivots and the order of the rows."""
    *lead, m, n = a.shape
    if a.size == 0:
        order = jnp.broadcast_to(jnp.arange(m, dtype=jnp.int32), (*lead, m))
        return a, order[..., : min(m, n)], order
    factors, pivots, order = lax.linalg.lu(a)
    factors = jnp.where(jnp.isnan(a).any((-2, -1), keepdims=True), jnp.nan, factors)
    return factors, pivots.astype(jnp.int32), order.astype(jnp.int32)


RULES: Final[dict[object, Rule]] = {LU: lu}
