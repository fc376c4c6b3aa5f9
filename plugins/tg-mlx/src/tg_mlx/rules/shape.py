"""Shape: every length is known when a rule runs. Lengths themselves are funcify's affair, `SumTo` has an expansion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import shape as t
from tg_mlx.limits import affordable

if TYPE_CHECKING:
    from tg.backend import Rule


def reshape(op: t.Reshape, x: Any, *sizes: int) -> Any:
    """The elements in C order under another shape."""
    return mx.reshape(x, t.known_shape(op.shape, sizes))


def broadcast_to(op: t.BroadcastTo, x: Any, *sizes: int) -> Any:
    """The array repeated."""
    shape = t.known_shape(op.shape, sizes)
    affordable(shape, x.dtype)
    return mx.broadcast_to(x, shape)


def transpose(op: t.Transpose, x: Any) -> Any:
    """The axes permuted."""
    return mx.transpose(x, op.order(x.ndim))


def expand_dims(op: t.ExpandDims, x: Any) -> Any:
    """Axes of length 1 inserted."""
    return mx.expand_dims(x, op.axes)


def squeeze(op: t.Squeeze, x: Any) -> Any:
    """Axes of length 1 dropped."""
    return mx.squeeze(x, op.axes)


def concatenate(op: t.Concatenate, *arrays: Any) -> Any:
    """Arrays joined along an axis."""
    return mx.concatenate(list(arrays), op.axis)


RULES: Final[dict[object, Rule]] = {
    t.Reshape: reshape,
    t.BroadcastTo: broadcast_to,
    t.Transpose: transpose,
    t.ExpandDims: expand_dims,
    t.Squeeze: squeeze,
    t.Concatenate: concatenate,
}
