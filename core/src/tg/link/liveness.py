"""Liveness: the bytes of the values of a program, and the most that are needed at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.link.schedule import Run, schedule
from tg.ops.indexing import Slice
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.types.atoms import AxisLength
from tg.types.substitution import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node

    Shape = Sequence[int | None]

VIEWS: Final = (BroadcastTo, ExpandDims, Reshape, Slice, Squeeze, Transpose)  # of the first operand's memory


def value_shapes(graph: FrozenGraph, inputs: Sequence[Shape] = (), unknown: int | None = None) -> list[tuple[int, ...]]:
    """The shapes of all values of a program.

    Args:
        inputs: the shapes of the inputs, None for lengths that are not known; none unless given.
        unknown: a length in place of those that do not follow.
    Raises:
        OpenLengthError: a length does not follow, and there is no other in its place.
    """

    def value_of(atom: Any) -> int | None:
        number = getattr(getattr(atom, "owner", None), "number", graph.arity)
        is_given = type(atom) is AxisLength and number < len(inputs)
        length = inputs[number][atom.axis] if is_given else None
        return unknown if length is None else length

    def number(length: Any) -> int:
        value = evaluate(length, value_of)
        if type(value) is not int and unknown is None:
            raise OpenLengthError
        return max(value, 0) if type(value) is int else unknown or 0

    is_static = all(type(n) is int for t in graph.types for n in t.shape)
    types = graph.types if is_static else graph.symbolic
    return [tuple(map(number, t.shape)) for t in types]


class OpenLengthError(Exception):
    """A length is known only when a program runs."""


def value_bytes(graph: FrozenGraph, shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """The bytes of values of such shapes."""
    return [math.prod(shape) * t.numpy_dtype.itemsize for shape, t in zip(shapes, graph.types, strict=True)]


def makers_of(graph: FrozenGraph) -> dict[int, int]:
    """The number of the node that makes a value, by the value's number."""
    return {v: k for k, node in enumerate(graph.nodes) for v in node.outputs}


def peak_bytes(graph: FrozenGraph, shapes: Sequence[tuple[int, ...]]) -> int:
    """The most bytes that values need at a time, in the order of `tg.link.schedule`, without inputs and constants.

    Each value is an array of its own, but views, which need their operand for as long. So it is an upper bound where a
    backend fuses elementwise ops or writes into an operand.

    Args:
        shapes: those of all values, as `value_shapes` gives them.
    """
    makers, owners, sizes = makers_of(graph), _owners(graph), value_bytes(graph, shapes)
    order = [step.node for step in schedule(graph, makers) if isinstance(step, Run)]
    last: dict[int, int] = {}  # of the owners of memory: the last step that needs it
    for at, k in enumerate(order):
        for v in (*graph.nodes[k].inputs, *graph.nodes[k].outputs):
            last[owners[v]] = at
    ends = [v for check in graph.checks for v in (check.condition, *check.values)]
    last.update({owners[v]: len(order) for v in (*graph.outputs, *ends)})
    dying: dict[int, list[int]] = {}
    for v, at in last.items():
        dying.setdefault(at, []).append(v)
    live = peak = 0
    for at, k in enumerate(order):
        node = graph.nodes[k]
        live += sum(sizes[v] for v in node.outputs if owners[v] == v)
        peak = max(peak, live + _inside(node, shapes))
        live -= sum(sizes[v] for v in dying.get(at, ()) if v in makers)
    return peak


def _inside(node: Node, shapes: Sequence[tuple[int, ...]]) -> int:
    """The bytes that a node's inner graphs need beside its results, one at a time."""
    most, op = 0, node.op
    if not type(op).graph_fields:
        return 0
    for inner, roles in zip(op.inner_graphs(), op.inner_inputs(len(node.inputs)), strict=True):
        operands = [shapes[node.inputs[role.operand]][1 if role.is_slice else 0 :] for role in roles]
        within = value_shapes(inner, operands, 1)
        sizes, makers = value_bytes(inner, within), makers_of(inner)
        results = sum(sizes[v] for v in set(inner.outputs) if v in makers)
        most = max(most, peak_bytes(inner, within) - results)
    return most


def _owners(graph: FrozenGraph) -> Mapping[int, int]:
    """For each value the one whose memory it is in."""
    owners = {v: v for v in range(len(graph.types))}
    for node in graph.nodes:
        if isinstance(node.op, VIEWS):
            owners[node.outputs[0]] = owners[node.inputs[0]]
    return owners
