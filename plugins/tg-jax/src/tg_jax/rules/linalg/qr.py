"""QR factors. Deviation from jax.numpy: R's diagonal is not negative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.backend import QR

if TYPE_CHECKING:
    from tg.backend import Rule


def qr(op: QR, a: Any) -> tuple[Any, Any]:
    """The factors, with what makes R's diagonal positive moved from R to Q."""
    *lead, m, n = a.shape
    if a.size == 0:
        width = m if op.mode == "complete" else min(m, n)
        return jnp.broadcast_to(jnp.eye(m, width, dtype=a.dtype), (*lead, m, width)), jnp.zeros(
            (*lead, width, n), a.dtype
        )
    q, r = jnp.linalg.qr(a, mode=op.mode)
    d = jnp.diagonal(r, axis1=-2, axis2=-1)
    size = jnp.abs(d)
    turn = jnp.where(size == 0, 1, d / jnp.where(size == 0, 1, size)).astype(a.dtype)
    rest = jnp.ones((*lead, q.shape[-1] - turn.shape[-1]), a.dtype)
    turn = jnp.concatenate([turn, rest], -1)
    return q * turn[..., None, :], r * turn.conj()[..., :, None]


RULES: Final[dict[object, Rule]] = {QR: qr}
