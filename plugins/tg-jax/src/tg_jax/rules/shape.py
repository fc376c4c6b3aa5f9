"""Shape: every length is known while tracing. Lengths themselves are funcify's affair, `SumTo` has an expansion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.backend import shape as t
from tg_jax.limits import affordable

if TYPE_CHECKING:
    from tg.backend import Rule


def reshape(op: t.Reshape, x: Any, *sizes: int) -> Any:
    """The elements in C order under another shape."""
    return jnp.reshape(x, t.merge_sizes(op.shape, sizes))


def broadcast_to(op: t.BroadcastTo, x: Any, *sizes: int) -> Any:
    """The array repeated."""
    shape = t.known_shape(op.shape, sizes)
    affordable(shape, x.dtype)
    return jnp.broadcast_to(x, shape)


def transpose(op: t.Transpose, x: Any) -> Any:
    """The axes permuted."""
    return jnp.transpose(x, op.order(x.ndim))


def expand_dims(op: t.ExpandDims, x: Any) -> Any:
    """Axes of length 1 inserted."""
    return jnp.expand_dims(x, op.axes)


def squeeze(op: t.Squeeze, x: Any) -> Any:
    """Axes of length 1 dropped."""
    return jnp.squeeze(x, op.axes)


def concatenate(op: t.Concatenate, *arrays: Any) -> Any:
    """Arrays joined along an axis."""
    return jnp.concatenate(arrays, op.axis)


RULES: Final[dict[object, Rule]] = {
    t.Reshape: reshape,
    t.BroadcastTo: broadcast_to,
    t.Transpose: transpose,
    t.ExpandDims: expand_dims,
    t.Squeeze: squeeze,
    t.Concatenate: concatenate,
}
