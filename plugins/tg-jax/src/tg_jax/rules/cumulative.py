"""Running results along an axis, in the dtype of the operand.

Deviation from jax.numpy: complex extrema are lexicographic and propagate NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg import add, maximum, minimum, multiply
from tg.backend import cumulative as t
from tg_jax.rules.elementwise import arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

SUMS: Final[dict[object, Callable[..., Any]]] = {add: jnp.cumsum, multiply: jnp.cumprod}
EXTREMA: Final[dict[object, Callable[..., Any]]] = {maximum: lax.cummax, minimum: lax.cummin}


def accumulate(op: t.Accumulate, x: Any) -> Any:
    """The running result; of booleans, the running any or all."""
    if x.dtype == bool:
        fn = lax.cummax if op.fn in (add, maximum) else lax.cummin
        return fn(x.astype(jnp.int8), axis=op.axis + x.ndim) > 0
    if op.fn in SUMS:
        return SUMS[op.fn](x, axis=op.axis, dtype=x.dtype)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        combine = arithmetic.maximum if op.fn is maximum else arithmetic.minimum
        return lax.associative_scan(combine, x, axis=op.axis + x.ndim)
    return EXTREMA[op.fn](x, axis=op.axis + x.ndim)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
