"""Convolutions by XLA, with channels behind: so its own on processors take two thirds of the time."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import convolution as t
from tg_jax.kernels import ChannelsBehind, ConvolutionBehind, behind

if TYPE_CHECKING:
    from tg.backend import Rule

HALVES: Final = (jnp.float16, jnp.bfloat16)


def convolution(op: t.Convolution, x: Any, w: Any, *rest: Any) -> Any:
    """The kernel is laid out in each call."""
    return _convolution(op, x, jnp.transpose(w, behind(w.ndim)), *rest)


def convolution_behind(op: ConvolutionBehind, x: Any, w: Any, *rest: Any) -> Any:
    """The kernel is laid out already."""
    return _convolution(op.plain, x, w, *rest)


def channels_behind(op: ChannelsBehind, w: Any) -> Any:
    """The kernel is copied."""
    return jnp.transpose(w, behind(w.ndim))


def _convolution(op: t.Convolution, x: Any, w: Any, *rest: Any) -> Any:
    """The groups are parts of the channels; a kernel that is read backwards is flipped."""
    before, sizes = ([int(n) for n in field] for field in op.numbers(rest))
    n, groups, channels = x.shape[: t.LEAD]
    outer, lengths, kernel = w.shape[-1], x.shape[t.LEAD :], w.shape[: -t.LEAD]
    if 0 in x.shape or 0 in w.shape or 0 in sizes:
        return jnp.zeros((n, groups, outer, *sizes), x.dtype)
    w = lax.rev(w, [k for k, d in enumerate(op.dilations) if d < 0])
    pads = []
    for k, (length, d) in enumerate(zip(kernel, op.dilations, strict=True)):
        span = (length - 1) * abs(d)
        low = before[k] + (span if d < 0 else 0)
        reach = (sizes[k] - 1) * op.strides[k] + span  # of the last window
        pads.append((low, reach - (lengths[k] - 1) * op.spread[k] - low))
    axes = string.ascii_lowercase[: len(kernel)]
    images = jnp.moveaxis(x.reshape(n, groups * channels, *lengths), 1, -1)
    weights = w.reshape(*kernel, channels, groups * outer)
    y = lax.conv_general_dilated(
        images,
        weights,
        op.strides,
        pads,
        lhs_dilation=op.spread,
        rhs_dilation=[abs(d) for d in op.dilations],
        dimension_numbers=(f"N{axes}C", f"{axes}IO", f"N{axes}C"),
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=jnp.float32 if x.dtype in HALVES else x.dtype,
    )
    return jnp.moveaxis(y, -1, 1).reshape(n, groups, outer, *sizes).astype(x.dtype)


RULES: Final[dict[object, Rule]] = {
    t.Convolution: convolution,
    ConvolutionBehind: convolution_behind,
    ChannelsBehind: channels_behind,
}
