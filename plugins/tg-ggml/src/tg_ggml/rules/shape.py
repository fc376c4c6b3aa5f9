"""Shape: of constants NumPy's views, of tensors other lengths for the same elements, or a copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import shape as t
from tg_ggml import tensors
from tg_ggml.tensors import Tensor, constant, current, expand

if TYPE_CHECKING:
    from tg.backend import Rule


def reshape(op: t.Reshape, x: Tensor, *sizes: int) -> Any:
    """The elements in C order under another shape."""
    return tensors.reshape(x, t.known_shape(op.shape, sizes))


def broadcast_to(op: t.BroadcastTo, x: Tensor, *sizes: int) -> Any:
    """The array repeated."""
    return expand(x, t.known_shape(op.shape, sizes))


def transpose(op: t.Transpose, x: Tensor) -> Any:
    """The axes permuted."""
    return tensors.transpose(x, op.order(x.ndim))


def expand_dims(op: t.ExpandDims, x: Tensor) -> Any:
    """Axes of length 1 inserted."""
    return tensors.reshape(x, np.expand_dims(_lengths(x), op.axes).shape)


def squeeze(op: t.Squeeze, x: Tensor) -> Any:
    """Axes of length 1 dropped."""
    return tensors.reshape(x, np.squeeze(_lengths(x), op.axes).shape)


def _lengths(x: Tensor) -> np.ndarray[Any, Any]:
    """An array of the shape that takes no memory."""
    return np.broadcast_to(np.int8(0), x.shape)


MIDDLE: Final = 1  # of three axes, in either order


def concatenate(op: t.Concatenate, *arrays: Tensor) -> Any:
    """Arrays joined along an axis, two at a time."""
    axis = op.axis + arrays[0].ndim
    dtype = arrays[0].dtype.name
    if all(x.data is not None for x in arrays):
        return constant(np.concatenate([x.data for x in arrays if x.data is not None], axis))
    own = [x for x in arrays if x.size] or [arrays[0]]
    total = sum(x.shape[axis] for x in arrays)
    shape = (*arrays[0].shape[:axis], total, *arrays[0].shape[axis + 1 :])
    if not math.prod(shape):
        return Tensor(shape, dtype)
    before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    ctx = current().ctx
    node = own[0].dims((before, own[0].shape[axis], behind))
    for x in own[1:]:
        node = g.ggml_concat(ctx, node, x.dims((before, x.shape[axis], behind)), MIDDLE)
    return Tensor(shape, dtype, node=node)


RULES: Final[dict[object, Rule]] = {
    t.Reshape: reshape,
    t.BroadcastTo: broadcast_to,
    t.Transpose: transpose,
    t.ExpandDims: expand_dims,
    t.Squeeze: squeeze,
    t.Concatenate: concatenate,
}
