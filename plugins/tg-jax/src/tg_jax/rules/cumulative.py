"""Running results along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.ops import cumulative as t

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def cumsum(op: t.CumSum, x: Any) -> Any:
    """The running sum; of booleans, the running any."""
    if x.dtype == bool:
        return jnp.cumsum(x, axis=op.axis, dtype=jnp.int64) > 0
    return jnp.cumsum(x, axis=op.axis, dtype=x.dtype)


RULES: Final[dict[object, Rule]] = {t.CumSum: cumsum}
