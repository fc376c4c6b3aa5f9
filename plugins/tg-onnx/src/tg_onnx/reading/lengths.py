"""Shapes that models compute: arithmetic on the elements of small integers, on ints and on lengths alike.

Each rule works on arrays of objects, so NumPy does the moving and the lengths' own operators the arithmetic. Where a
length would have to be looked at (is it 3?), or an element is a variable that only the program knows, there is no such
result, and the ordinary rule for the op makes a program of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg_onnx.reading.elements import BY_DTYPE
from tg_onnx.reading.values import MOST_LENGTHS, Value, filled, is_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_onnx.reading.node import Node

    Array = np.ndarray[Any, Any]


def with_lengths(node: Node) -> Value | None:
    """The result of a node whose operands are known as lengths, None where it is not."""
    rule = LENGTH_RULES[node.proto.op_type]
    try:
        if node.proto.op_type in OF_TYPES:
            return Value(None, lengths=rule(node))
        operands = [v.lengths for v in node.inputs if v is not None]
        if not operands or any(a is None or not all(map(is_length, a.flat)) for a in operands):
            return None
        result = rule(node, *operands)
    except (tg.LengthError, tg.SymbolicError, tg.ShapeError):
        return None
    if result is None or result.size > MOST_LENGTHS:
        return None
    first = next(v for v in node.inputs if v is not None)
    kind = BY_DTYPE[CAST[node.attr("to")]] if node.proto.op_type == "Cast" else first.element
    limits = np.iinfo(kind.dtype)
    if any(isinstance(n, int) and not limits.min <= n <= limits.max for n in result.flat):
        return None  # the program's integers wrap
    return Value(None, kind, lengths=result)


CAST: Final = {6: "int32", 7: "int64"}


def _array(entry: Any, like: tuple[int, ...] = ()) -> Array:
    """An element, or an array of them, as an array."""
    return entry if isinstance(entry, np.ndarray) else filled([entry], like)


def _shape(node: Node) -> Array:
    shape = list(node[0].shape)
    start, end = node.attr("start", 0), node.attr("end", len(shape))
    return filled(shape[slice(start, end)], (len(shape[slice(start, end)]),))


def _size(node: Node) -> Array:
    return filled([math.prod(node[0].shape)], ())


def _gather(node: Node, x: Array, index: Array) -> Array | None:
    if not all(isinstance(k, int) for k in index.flat):
        return None
    axis = node.attr("axis", 0)
    where = index.astype(np.int64)
    if x.ndim == 0 or (abs(where + 0.5) > x.shape[axis]).any():
        return None
    return _array(np.take(x, where, axis=axis))


def _concat(node: Node, *parts: Array) -> Array:
    return np.concatenate(parts, axis=node.attr("axis", 0))


def _axes(node: Node, rest: tuple[Array, ...]) -> tuple[int, ...] | None:
    if rest:
        return tuple(int(k) for k in rest[0].flat)
    axes = node.attr("axes")
    return None if axes is None else tuple(axes)


def _unsqueeze(node: Node, x: Array, *rest: Array) -> Array | None:
    axes = _axes(node, rest)
    return None if axes is None else np.expand_dims(x, axes)


def _squeeze(node: Node, x: Array, *rest: Array) -> Array | None:
    axes = _axes(node, rest)
    if axes is not None and any(x.shape[k] != 1 for k in axes):
        return None
    return _array(np.squeeze(x, axes))


def _slice(node: Node, x: Array, *rest: Array) -> Array | None:
    if node.since < 10:
        starts, ends = node.attr("starts"), node.attr("ends")
        axes, steps = node.attr("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        lists = [[int(n) for n in a.flat] for a in rest]
        starts, ends = lists[:2]
        axes = lists[2] if node.has(3) else list(range(len(starts)))
        steps = lists[-1] if node.has(4) else [1] * len(starts)
    picks = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        picks[axis] = slice(start, end, step)
    return x[tuple(picks)]


def _reshape(node: Node, x: Array, *rest: Array) -> Array | None:
    shape = [int(n) for n in rest[0].flat] if rest else node.attr("shape")
    if 0 in shape or x.size == 0:
        return None
    return x.reshape(shape)


def _cast(node: Node, x: Array) -> Array | None:
    return x if node.attr("to") in CAST else None


def _divide(node: Node, x: Array, y: Array) -> Array | None:
    """Quotients toward zero, which are those toward minus infinity of what is not negative."""
    xs, ys = np.broadcast_arrays(x, y)
    if any(isinstance(d, int) and d <= 0 for d in ys.flat) or any(isinstance(n, int) and n < 0 for n in xs.flat):
        return None
    return _array(xs // ys)


def _product(node: Node, x: Array, *rest: Array) -> Array | None:
    axes = _axes(node, rest)
    if x.ndim != 1 or (axes is not None and axes not in ((0,), (-1,))):
        return None
    return filled([math.prod(x.flat)], (1,) if node.attr("keepdims", 1) else ())


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Node, Array, Array], Array]:
    return lambda _, x, y: _array(function(x, y))


def _tile(node: Node, x: Array, repeats: Array) -> Array | None:
    counts = [int(n) for n in repeats.flat]
    return np.tile(x, counts) if x.size * math.prod(counts) <= MOST_LENGTHS else None


OF_TYPES: Final = frozenset(("Shape", "Size"))
LENGTH_RULES: Final[dict[str, Any]] = {
    "Shape": _shape,
    "Size": _size,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Cast": _cast,
    "Identity": lambda node, x: x,
    "Add": _binary(lambda x, y: x + y),
    "Sub": _binary(lambda x, y: x - y),
    "Mul": _binary(lambda x, y: x * y),
    "Div": _divide,
    "ReduceProd": _product,
    "Tile": _tile,
}
