"""Comparison, logic and choice.

Deviation from jax.numpy: int64 and uint64 are compared exactly, not as float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.backend import comparison as t

if TYPE_CHECKING:
    from tg.backend import Rule


def equal(x: Any, y: Any) -> Any:
    """Whether x == y; operands of two dtypes are an int64 and a uint64, here and below."""
    if x.dtype == y.dtype:
        return jnp.equal(x, y)
    return jnp.equal(x.astype("uint64"), y.astype("uint64")) & (x >= 0) & (y >= 0)


def not_equal(x: Any, y: Any) -> Any:
    """Whether x != y."""
    return jnp.not_equal(x, y) if x.dtype == y.dtype else ~equal(x, y)


def less(x: Any, y: Any) -> Any:
    """Whether x < y."""
    if x.dtype == y.dtype:
        return jnp.less(x, y)
    return (x < 0) | ((y >= 0) & jnp.less(x.astype("uint64"), y.astype("uint64")))


def less_equal(x: Any, y: Any) -> Any:
    """Whether x <= y."""
    return jnp.less_equal(x, y) if x.dtype == y.dtype else ~less(y, x)


def greater(x: Any, y: Any) -> Any:
    """Whether x > y."""
    return jnp.greater(x, y) if x.dtype == y.dtype else less(y, x)


def greater_equal(x: Any, y: Any) -> Any:
    """Whether x >= y."""
    return jnp.greater_equal(x, y) if x.dtype == y.dtype else ~less(x, y)


RULES: Final[dict[object, Rule]] = {
    t.equal: equal,
    t.not_equal: not_equal,
    t.less: less,
    t.less_equal: less_equal,
    t.greater: greater,
    t.greater_equal: greater_equal,
    t.logical_and: jnp.logical_and,
    t.logical_or: jnp.logical_or,
    t.logical_xor: jnp.logical_xor,
    t.logical_not: jnp.logical_not,
    t.isnan: jnp.isnan,
    t.isinf: jnp.isinf,
    t.isfinite: jnp.isfinite,
    t.signbit: jnp.signbit,
    t.where: jnp.where,
}
