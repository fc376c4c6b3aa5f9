"""Shape: views of the operand. Lengths themselves are funcify's affair, `SumTo` has an expansion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import shape as t
from tg_torch.limits import affordable

if TYPE_CHECKING:
    from tg.backend import Rule


def reshape(op: t.Reshape, x: torch.Tensor, *sizes: int) -> torch.Tensor:
    """The elements in C order under another shape."""
    return x.reshape(t.known_shape(op.shape, sizes))


def broadcast_to(op: t.BroadcastTo, x: torch.Tensor, *sizes: int) -> torch.Tensor:
    """The array repeated."""
    shape = t.known_shape(op.shape, sizes)
    affordable(shape, x.dtype)
    return x.expand(shape)


def transpose(op: t.Transpose, x: torch.Tensor) -> torch.Tensor:
    """The axes permuted."""
    return x.permute(op.order(x.ndim))


def expand_dims(op: t.ExpandDims, x: torch.Tensor) -> torch.Tensor:
    """Axes of length 1 inserted."""
    ndim = x.ndim + len(op.axes)
    for k in op.axes:  # ascending: those in front are there already
        x = x.unsqueeze(ndim + k)
    return x


def squeeze(op: t.Squeeze, x: torch.Tensor) -> torch.Tensor:
    """Axes of length 1 dropped."""
    return x.squeeze(op.axes)


def concatenate(op: t.Concatenate, *arrays: torch.Tensor) -> torch.Tensor:
    """Arrays joined along an axis."""
    return torch.cat(arrays, op.axis)


RULES: Final[dict[object, Rule]] = {
    t.Reshape: reshape,
    t.BroadcastTo: broadcast_to,
    t.Transpose: transpose,
    t.ExpandDims: expand_dims,
    t.Squeeze: squeeze,
    t.Concatenate: concatenate,
}
