"""Softmax and its kin, and normalizations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import tg
from tg.backend import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

MOST_CHANNELS: Final = 2**12  # beside one that are summed, each by a part of the program


def _flat(function: Callable[..., Any]) -> Callable[[Node], Variable]:
    """A function of rows, as it was until version 12: of all axes from one on, taken as one."""

    def rule(node: Node) -> Variable:
        x, axis = node[0], node.attr("axis", 1)
        axis = axis + x.ndim if axis < 0 else axis
        rows = tg.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return tg.reshape(function(rows, -1), x.shape)

    return rule


def _along(function: Callable[..., Any]) -> Callable[[Node], Variable]:
    return lambda node: function(node[0], node.attr("axis", -1))


def _hardmax(x: Variable, axis: int) -> Variable:
    """1 at the first greatest element along an axis, 0 elsewhere."""
    n, axis = x.shape[axis], axis % x.ndim
    places = tg.reshape(tg.arange(n), (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1))
    return tg.cast(tg.equal(places, tg.argmax(x, axis, keepdims=True)), x.dtype)


def _layer(node: Node) -> list[Variable]:
    """Layer normalization over the axes from one on; in float32 where `stash_type` says so."""
    x, axis, eps = node[0], node.attr("axis", -1), node.attr("epsilon", 1e-5)
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = tg.cast(x, "float32") if x.dtype in ("float16", "bfloat16") and node.attr("stash_type", 1) == 1 else x
    if node.outputs == 1 and wide is x and node[1].ndim == len(axes) and (not node.has(2) or node[2].ndim == len(axes)):
        return [tg.nn.layer_norm(x, node[1], node.get(2), eps=eps, axes=axes)]
    mean = tg.mean(wide, axes, keepdims=True)
    centred = wide - mean
    scale = 1 / tg.sqrt(tg.mean(tg.square(centred), axes, keepdims=True) + eps)
    y = tg.cast(centred * scale, x.dtype) * node[1]
    return [y + node[2] if node.has(2) else y, mean, scale][: node.outputs]


def _rms(node: Node) -> Any:
    x, axis, eps = node[0], node.attr("axis", -1), node.attr("epsilon", 1e-5)
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = tg.cast(x, "float32") if x.dtype in ("float16", "bfloat16") and node.attr("stash_type", 1) == 1 else x
    scale = 1 / tg.sqrt(tg.mean(tg.square(wide), axes, keepdims=True) + eps)
    return tg.cast(wide * scale, x.dtype) * node[1]


def _channels(v: Variable, rank: int) -> Variable:
    return tg.reshape(v, (-1,) + (1,) * (rank - 2))


def _batch(node: Node) -> list[Variable]:
    """Batch normalization by given statistics, or with `training_mode` by those of the batch and running ones."""
    x, scale, bias, mean, var = (node[k] for k in range(5))
    eps, momentum = node.attr("epsilon", 1e-5), node.attr("momentum", 0.9)
    if not node.attr("spatial", 1):
        node.refuse("statistics for each element", "statistics for each channel")
    if not node.attr("training_mode", 0):
        return [tg.nn.batch_norm(x, mean, var, scale, bias, eps=eps, axis=1)]
    axes = (0, *range(2, x.ndim))
    own_mean, own_var = tg.mean(x, axes), tg.var(x, axes)
    y = tg.nn.batch_norm(x, own_mean, own_var, scale, bias, eps=eps, axis=1)
    return [y, mean * momentum + own_mean * (1 - momentum), var * momentum + own_var * (1 - momentum)][: node.outputs]


def _instance_norm(node: Node) -> Any:
    x, eps = node[0], node.attr("epsilon", 1e-5)
    axes = tuple(range(2, x.ndim))
    centred = x - tg.mean(x, axes, keepdims=True)
    y = centred / tg.sqrt(tg.mean(tg.square(centred), axes, keepdims=True) + eps)
    return y * _channels(node[1], x.ndim) + _channels(node[2], x.ndim)


def _lrn(node: Node) -> Any:
    """Local response normalization: by the squares of neighbouring channels."""
    x, size = node[0], node.attr("size")
    alpha, beta, bias = node.attr("alpha", 1e-4), node.attr("beta", 0.75), node.attr("bias", 1.0)
    n = x.shape[1]
    farthest = n - 1 if isinstance(n, int) else size  # a channel farther away is outside for each of them
    before, after = min((size - 1) // 2, farthest), min(size // 2, farthest)
    if before + after > MOST_CHANNELS:
        raise tg.LimitError(message(f"{node.place}: found size {size} of {x.type}, needed at most {MOST_CHANNELS}"))
    widths = [(0, 0)] * x.ndim
    widths[1] = (before, after)
    squares = tg.pad(tg.square(x), widths)
    total = sum((squares[:, k : k + n] for k in range(1, before + after + 1)), squares[:, 0:n])
    return x / tg.power(bias + alpha / size * total, beta)


def _lp(node: Node) -> Variable:
    x, axis, p = node[0], node.attr("axis", -1), node.attr("p", 2)
    norm = tg.sum(tg.absolute(x), axis, keepdims=True) if p == 1 else tg.sqrt(tg.sum(tg.square(x), axis, keepdims=True))
    return tg.where(tg.equal(norm, 0), 0, x / tg.where(tg.equal(norm, 0), 1, norm))


RULES: Final[Rules] = {
    "BatchNormalization": _batch,
    "Hardmax": {1: _flat(_hardmax), 13: _along(_hardmax)},
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer,
    "LogSoftmax": {1: _flat(tg.log_softmax), 13: _along(tg.log_softmax)},
    "LpNormalization": _lp,
    "RMSNormalization": _rms,
    "Softmax": {1: _flat(tg.softmax), 13: _along(tg.softmax)},
}
