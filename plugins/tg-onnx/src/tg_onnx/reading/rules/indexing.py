"""Elements chosen and put by position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import tg
from tg.backend import message

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

WIDEST: Final = 2**12  # elements of slices, which are ordered by each of them
FAR: Final = 2**31 - 1  # ends of slices at or beyond mean the end of the axis


def _gather(node: Node) -> Variable:
    return tg.take(node[0], node[1], node.attr("axis", 0))


def _gather_elements(node: Node) -> Variable:
    x, index, axis = node[0], node[1], node.attr("axis", 0)
    return tg.take_along_axis(_cut_to(x, index, axis), index, axis)


def _cut_to(x: Variable, index: Variable, axis: int) -> Variable:
    """x up to the lengths of an index, along all axes but one."""
    axis = axis % x.ndim
    picks = tuple(slice(None) if k == axis else slice(0, n) for k, n in enumerate(index.shape))
    return x if all(_same(x.shape[k], n) for k, n in enumerate(index.shape) if k != axis) else x[picks]


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, int) and isinstance(b, int) else a is b


def _gather_nd(node: Node) -> Any:
    """Elements or parts at the positions that the last axis of an index holds."""
    x, index = node[0], node[1]
    batch = node.number("batch_dims", 0, x.ndim - 1, 0)
    return x[(*_batch_positions(index, batch), *_positions(node, x.ndim - batch))]


def _positions(node: Node, most: int) -> list[Variable]:
    """The parts of positions in at most so many axes, which operand 1 holds along its last axis."""
    index = node[1]
    count = index.type.shape[-1] if index.ndim else None
    if count is None or count > most:
        needed = f"a static last axis of at most {most} elements"
        raise tg.InputError(message(f"{node.place}: found positions {index.type}, needed {needed}"))
    return [index[..., k] for k in range(count)]


def _batch_positions(index: Variable, batch: int) -> list[Variable]:
    rank = index.ndim - 1
    return [tg.reshape(tg.arange(index.shape[k]), (1,) * k + (-1,) + (1,) * (rank - k - 1)) for k in range(batch)]


WAYS: Final = {"none": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


def _scatter_elements(node: Node) -> Variable:
    x, index, updates, axis = node[0], node[1], node[2], node.attr("axis", 0)
    rank = x.ndim
    places: list[Any] = [
        tg.reshape(tg.arange(n), (1,) * k + (-1,) + (1,) * (rank - k - 1)) for k, n in enumerate(index.shape)
    ]
    places[axis % rank] = index
    return getattr(x.at[tuple(places)], WAYS[node.attr("reduction", "none")])(updates)  # type: ignore[no-any-return]


def _scatter_nd(node: Node) -> Variable:
    x, updates = node[0], node[2]
    place = x.at[tuple(_positions(node, x.ndim))]
    return getattr(place, WAYS[node.attr("reduction", "none")])(updates)  # type: ignore[no-any-return]


def _slice(node: Node) -> Any:
    """Parts of x; starts, ends, axes and steps became operands at version 10."""
    x = node[0]
    if node.since < 10:
        starts, ends = node.attr("starts"), node.attr("ends")
        axes, steps = node.attr("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        starts, ends = node.sizes(1, "starts"), node.sizes(2, "ends")
        axes = node.static_or(3, "axes", list(range(len(starts))))
        steps = node.static_or(4, "steps", [1] * len(starts))
    picks: list[Any] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        picks[axis] = slice(_near(start), _near(end), step)
    return x[tuple(picks)]


def _near(place: Any) -> Any:
    """A place in an axis; those far outside are told as the end that they mean."""
    if isinstance(place, int) and abs(place) >= FAR:
        return None if place > 0 else -FAR
    return place


def _compress(node: Node) -> Variable:
    return tg.compress(node[1], node[0], node.attr("axis"))


def _nonzero(node: Node) -> Variable:
    return tg.stack(tg.nonzero(node[0]))


def _top_k(node: Node) -> tuple[Variable, Variable]:
    """The k greatest or least elements along an axis; k became an operand at version 10."""
    (k,) = node.sizes(1, "k") if node.has(1) else [node.attr("k")]
    return tg.topk(node[0], k, node.attr("axis", -1), largest=bool(node.attr("largest", 1)))


def _one_hot(node: Node) -> Variable:
    """On at a place and off elsewhere; a place outside gives off everywhere."""
    index, values = node[0], node[2]
    axis = node.axis("axis", -1, index.ndim + 1)
    (depth,) = node.sizes(1, "depth") if node.value(1).lengths is not None else node.ints(1, "depth")
    place = tg.cast(index, "int64")
    place = tg.where(place < 0, place + depth, place)
    hot = tg.equal(tg.expand_dims(place, axis), _along(tg.arange(depth), axis, index.ndim + 1))
    return tg.where(hot, values[1], values[0])


def _along(v: Variable, axis: int, rank: int) -> Variable:
    return tg.reshape(v, (1,) * axis + (-1,) + (1,) * (rank - axis - 1))


def _reverse_sequence(node: Node) -> Variable:
    """The first elements of each sequence in reverse order."""
    x, lengths = node[0], node[1]
    time, batch = node.axis("time_axis", 0, 2), node.axis("batch_axis", 1, 2)
    steps = _along(tg.arange(x.shape[time]), time, 2)
    count = _along(tg.cast(lengths, "int64"), batch, 2)
    place = tg.where(steps < count, count - 1 - steps, steps)
    rest = (1,) * (x.ndim - 2)
    shape = (*place.shape, *rest)
    return tg.take_along_axis(x, tg.broadcast_to(tg.reshape(place, shape), x.shape), time)


def _trilu(node: Node) -> Variable:
    x, upper = node[0], node.attr("upper", 1)
    k = tg.cast(tg.reshape(node[1], ()), "int64") if node.has(1) else 0
    rows = tg.expand_dims(tg.arange(x.shape[-2]), 1)
    columns = tg.arange(x.shape[-1])
    inside = columns - rows >= k if upper else columns - rows <= k
    return tg.where(inside, x, tg.zeros((), x.dtype))


def _tensor_scatter(node: Node) -> Variable:
    """A cache with an update written along an axis, for each batch from a place of its own."""
    cache, update, axis = node[0], node[1], node.axis("axis", -2, node[0].ndim)
    length, count = cache.shape[axis], update.shape[axis]
    places = _along(tg.arange(length), axis, cache.ndim)
    start = tg.cast(node[2], "int64") if node.has(2) else tg.zeros((cache.shape[0],), "int64")
    source = places - _along(start, 0, cache.ndim)
    if node.attr("mode", "linear") == "circular":
        source = tg.remainder(source, length)
    inside = tg.logical_and(source >= 0, source < count)
    index = tg.clip(source, 0, tg.as_variable(count - 1))
    shape = tuple(length if k == axis else n for k, n in enumerate(cache.shape))
    return tg.where(inside, tg.take_along_axis(update, tg.broadcast_to(index, shape), axis), cache)


def _unique(node: Node) -> list[Variable]:
    """Distinct elements, or slices along an axis: where each is first, which of them each is, and how often."""
    x = node[0]
    axis = None if node.attr("axis") is None else node.axis("axis", 0, x.ndim)
    if axis is not None and math.prod(n or 0 for k, n in enumerate(x.type.shape) if k != axis) > WIDEST:
        raise tg.LimitError(
            message(f"{node.place}: found slices of {x.type}, needed at most {WIDEST} elements in each")
        )
    values, first, inverse, counts = tg.unique(x if axis is not None else tg.ravel(x), True, True, True, axis=axis)
    if not node.attr("sorted", 1):
        order = tg.argsort(first)
        values, first, counts = tg.take(values, order, axis or 0), first[order], counts[order]
        inverse = tg.argsort(order)[inverse]
    return [values, first, tg.ravel(inverse), counts][: node.outputs]


RULES: Final[Rules] = {
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _nonzero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Slice": _slice,
    "TensorScatter": _tensor_scatter,
    "TopK": _top_k,
    "Trilu": _trilu,
    "Unique": _unique,
}
