"""Reductions, in the dtype of the operand.

Deviations from jax.numpy: no elements give the identity, positions in no elements 0 (checks refuse both where it is an
error), and complex extrema are lexicographic and propagate NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from tg import add, logical_and, logical_or, maximum, minimum, multiply
from tg.backend import reduction as t
from tg_jax.rules.elementwise import arithmetic
from tg_jax.sums import IN_LIBRARY, extremum

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

REDUCTIONS: Final[dict[object, Callable[..., Any]]] = {
    add: jnp.sum,
    multiply: jnp.prod,
    maximum: jnp.max,
    minimum: jnp.min,
    logical_and: jnp.all,
    logical_or: jnp.any,
}
OF_BOOL: Final[dict[str | None, Callable[..., Any]]] = {"any": jnp.any, "all": jnp.all}


def reduce(op: t.Reduce, x: Any) -> Any:
    """The elements along the axes combined, by a function that jax.numpy has a reduction for."""
    reduction = op.reduction
    if op.fn not in REDUCTIONS:
        return NotImplemented
    if x.dtype == bool or reduction.kind == "logical":
        return OF_BOOL[reduction.of_bool](x, axis=op.axes).astype(x.dtype)
    if not reduction.is_extreme:
        return REDUCTIONS[op.fn](x, axis=op.axes, dtype=x.dtype)
    start = reduction.identity(x.dtype.name)
    if 0 in [x.shape[k] for k in op.axes]:
        rest = [n for k, n in zip(range(-x.ndim, 0), x.shape, strict=True) if k not in op.axes]
        return jnp.full(rest, start, x.dtype)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        combine = arithmetic.maximum if reduction.sign > 0 else arithmetic.minimum
        return lax.reduce(x, np.asarray(start), combine, [k + x.ndim for k in op.axes])
    if IN_LIBRARY.get() and jnp.issubdtype(x.dtype, jnp.floating):
        return extremum(x, np.asarray(start), [k + x.ndim for k in op.axes], reduction.sign)
    return REDUCTIONS[op.fn](x, axis=op.axes)


def arg_reduce(op: t.ArgReduce, x: Any) -> Any:
    """The position of the first extremum, or of the first NaN."""
    if x.shape[op.axis] == 0:
        rest = list(x.shape)
        rest.pop(op.axis)
        return jnp.zeros(rest, jnp.int64)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return _arg_reduce_complex(op, x)
    if x.dtype == bool:
        x = x.astype(jnp.int8)
    find = jnp.argmax if op.reduction.sign > 0 else jnp.argmin
    return find(x, axis=op.axis).astype(jnp.int64)


def _arg_reduce_complex(op: t.ArgReduce, x: Any) -> Any:
    """The first position that holds the extremum, or NaN where that is NaN."""
    best = jnp.expand_dims(reduce(t.Reduce(op.fn, (op.axis,)), x), op.axis)
    return jnp.argmax((x == best) | jnp.isnan(x), axis=op.axis).astype(jnp.int64)


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
