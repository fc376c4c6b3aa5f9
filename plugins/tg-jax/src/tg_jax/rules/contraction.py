"""Products that sum over a shared axis, always in full precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import contraction as t

if TYPE_CHECKING:
    from tg.backend import Rule


def matmul(op: t.MatMul, x: Any, y: Any) -> Any:
    """The matrix product; of booleans, whether any product is true."""
    if x.dtype == bool:
        return jnp.matmul(x.astype(jnp.int64), y.astype(jnp.int64)) > 0
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


RULES: Final[dict[object, Rule]] = {t.MatMul: matmul}
