"""Shapes of values: axes that come, go and change places; joining, cutting, repeating."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import Length, Variable
from tg_onnx.reading.elements import BY_DTYPE
from tg_onnx.reading.values import Value, filled

if TYPE_CHECKING:
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _axes(node: Node, k: int = 1) -> list[int] | None:
    """Axes: an attribute until version 12, from 13 on operand k."""
    return node.static_or(k, "axes", node.attr("axes"))  # type: ignore[no-any-return]


def _shape(node: Node) -> Value:
    shape = node[0].shape
    start, end = node.attr("start", 0), node.attr("end", len(shape))
    picked = list(shape[slice(start, end)])
    return Value(None, BY_DTYPE["int64"], lengths=filled(picked, (len(picked),)))


def _size(node: Node) -> Value:
    return Value(None, BY_DTYPE["int64"], lengths=filled([math.prod(node[0].shape)], ()))


def _reshape(node: Node) -> Variable:
    x = node[0]
    entries = node.sizes(1, "a shape") if node.has(1) else node.attr("shape")
    keep = not node.attr("allowzero", 0)
    return tg.reshape(x, tuple(_target(x, entries, keep_zero=keep)))


def _target(x: Variable, entries: list[Any], *, keep_zero: bool) -> list[Any]:
    """The lengths that a reshape asks for: 0 stands for the length of x, -1 for what is left."""
    shape: list[Any] = []
    for k, n in enumerate(entries):
        own = x.shape[k] if k < x.ndim else 1
        if isinstance(n, Variable):
            shape.append(tg.where(tg.equal(n, 0), own, n) if keep_zero else n)
        else:
            shape.append(own if keep_zero and isinstance(n, int) and n == 0 else n)
    if not any(isinstance(n, Variable) for n in shape):
        return shape
    rest = tg.as_variable(math.prod(x.shape))
    others: Any = 1
    for n in shape:
        others = others * (tg.where(tg.equal(n, -1), 1, n) if isinstance(n, Variable) else max_one(n))
    left = rest // tg.maximum(others, 1)
    return [
        tg.where(tg.equal(n, -1), left, n) if isinstance(n, Variable) else (left if _is_rest(n) else n) for n in shape
    ]


def _is_rest(n: Any) -> bool:
    return isinstance(n, int) and n == -1


def max_one(n: Any) -> Any:
    """A length as a factor: -1 stands for what is left, which is no factor."""
    return 1 if _is_rest(n) else n


def _flatten(node: Node) -> Variable:
    x, axis = node[0], node.attr("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return tg.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _squeeze(node: Node) -> Variable:
    axes = _axes(node)
    return tg.squeeze(node[0], None if axes is None else tuple(axes))


def _unsqueeze(node: Node) -> Variable:
    return tg.expand_dims(node[0], tuple(_axes(node) or ()))


def _transpose(node: Node) -> Variable:
    return tg.transpose(node[0], node.attr("perm"))


def _expand(node: Node) -> Variable:
    """x repeated to a shape, which broadcasts with its own."""
    x, shape = node[0], node.sizes(1, "a shape")
    return tg.broadcast_to(x, tuple(broadcast_with(x, shape)))


def broadcast_with(x: Variable, shape: list[Any]) -> list[Any]:
    """The shape that x has when it is broadcast together with another."""
    own: list[Any] = [1] * (len(shape) - x.ndim) + list(x.shape)
    other: list[Any] = [1] * (x.ndim - len(shape)) + list(shape)
    return [_longer(a, b) for a, b in zip(own, other, strict=True)]


def _longer(own: Any, other: Any) -> Any:
    if isinstance(own, int) and own != 1:
        return own
    if isinstance(other, int) and other == 1:
        return own
    if isinstance(own, int):  # 1
        return other
    if isinstance(other, int):
        return other
    return own if isinstance(other, Length) and other.key == own.key else other


def _concat(node: Node) -> Variable:
    return tg.concatenate(node.variables, node.attr("axis", 1))


def _split(node: Node) -> list[Variable]:
    """Parts along an axis: lengths by operand 1 or attribute, else as many as there are results or `num_outputs`."""
    x, axis = node[0], node.attr("axis", 0)
    parts = node.static_or(1, "lengths of parts", node.attr("split"))
    if parts is None:
        count = node.number("num_outputs", len(node.proto.output), len(node.proto.output))
        size = -(-x.shape[axis] // count)
        ends = [size * k for k in range(1, count)]
    else:
        ends = np.cumsum(filled(parts, (len(parts),))).tolist()[:-1]
    return tg.split(x, ends, axis) if ends else [x]


def _tile(node: Node) -> Variable:
    return tg.tile(node[0], tuple(node.sizes(1, "repeats")))


def _depth_to_space(node: Node) -> Variable:
    x, b = node[0], node.attr("blocksize")
    n, c, h, w = x.shape
    if node.attr("mode", "DCR") == "DCR":
        y = tg.transpose(tg.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        y = tg.transpose(tg.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return tg.reshape(y, (n, c // (b * b), h * b, w * b))


def _space_to_depth(node: Node) -> Variable:
    x, b = node[0], node.attr("blocksize")
    n, c, h, w = x.shape
    y = tg.reshape(x, (n, c, h // b, b, w // b, b))
    order = (0, 1, 3, 5, 2, 4) if node.attr("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    return tg.reshape(tg.transpose(y, order), (n, c * b * b, h // b, w // b))


def _pad(node: Node) -> Variable:
    """x with borders; widths below 0 cut off. Widths and value became operands at version 11, axes at 18."""
    x, mode = node[0], node.attr("mode", "constant")
    pads: list[Any] = node.sizes(1, "widths") if node.has(1) else list(node.attr("pads") or node.attr("paddings"))
    axes = node.static_or(3, "axes", list(range(x.ndim)))
    value = node[2] if node.has(2) else tg.cast(node.attr("value", 0.0), x.dtype)
    before, after = [0] * x.ndim, [0] * x.ndim
    if any(isinstance(n, Variable) for n in pads):
        node.not_static(1, "widths")
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    cuts = tuple(slice(_cut(b), _end(n, a)) for n, b, a in zip(x.shape, before, after, strict=True))
    x = x[cuts] if any(c != slice(0, None) for c in cuts) else x
    widths = [(_grow(b), _grow(a)) for b, a in zip(before, after, strict=True)]
    if mode == "constant":
        return tg.pad(x, widths, constant_values=tg.reshape(value, ()))
    return tg.pad(x, widths, mode)


def _cut(width: Any) -> Any:
    return max(-width, 0) if isinstance(width, int) else 0


def _end(length: Any, width: Any) -> Any:
    return length + width if isinstance(width, int) and width < 0 else None


def _grow(width: Any) -> Any:
    return max(width, 0) if isinstance(width, int) else width


def _center_crop_pad(node: Node) -> Variable:
    """x cut or padded around its middle to a shape along some axes."""
    x = node[0]
    axes = node.attr("axes", list(range(x.ndim)))
    sizes = node.ints(1, "a shape")
    picks: list[Any] = [slice(None)] * x.ndim
    widths: list[Any] = [(0, 0)] * x.ndim
    for axis, size in zip(axes, sizes, strict=True):
        n = x.shape[axis]
        if not isinstance(n, int):
            node.refuse(f"axis {axis} of open length", "static lengths")
        if n > size:
            start = (n - size) // 2
            picks[axis] = slice(start, start + size)
        else:
            widths[axis] = ((size - n) // 2, size - n - (size - n) // 2)
    return tg.pad(x[tuple(picks)], widths)


RULES: Final[Rules] = {
    "CenterCropPad": _center_crop_pad,
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
