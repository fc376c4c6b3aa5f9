"""Cholesky factors. Deviation from jax.lax.linalg: which leading minor is not positive is told as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import Cholesky

if TYPE_CHECKING:
    from tg.backend import Rule


def cholesky(op: Cholesky, a: Any) -> tuple[Any, Any]:
    """The factors, NaN on and below the diagonal where there is none, and the orders of the minors at fault."""
    lead, n = a.shape[:-2], a.shape[-1]
    if n == 0:
        return a, jnp.zeros(lead, jnp.int32)
    lower = jnp.tri(n, dtype=bool)
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    failed = jnp.isnan(jnp.diagonal(factor, axis1=-2, axis2=-1)).any(-1)
    absent = jnp.isnan(jnp.where(lower, a, 0)).any((-2, -1))
    wrong = failed & ~absent
    info = lax.cond(wrong.any(), _orders, lambda a, wrong: jnp.zeros(lead, jnp.int32), a, wrong)
    undefined = (failed | absent)[..., None, None]
    return jnp.where(lower, jnp.where(undefined, jnp.nan, factor), 0), info


def _orders(a: Any, wrong: Any) -> Any:
    """The order of the first leading minor that is not positive, by elimination; 0 where none is to be found."""
    n = a.shape[-1]

    def eliminated(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        rest, info = state
        column = lax.dynamic_index_in_dim(rest, k, -1, keepdims=False)
        pivot = lax.dynamic_index_in_dim(column, k, -1).real
        info = jnp.where(wrong & (info == 0) & ~(pivot[..., 0] > 0), k + 1, info)
        return rest - column[..., :, None] * column[..., None, :].conj() / pivot[..., None], info

    lead = a.shape[:-2]
    order = lax.fori_loop(0, n, eliminated, (a, jnp.zeros(lead, jnp.int32)))[1]
    return jnp.where(wrong & (order == 0), n, order).astype(jnp.int32)  # of rounding alone: the last, at the latest


RULES: Final[dict[object, Rule]] = {Cholesky: cholesky}
