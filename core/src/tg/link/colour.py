"""The values of a graph that must be known on the host before the program runs on a backend.

Sizes (shapes, bounds, counts) are Python ints on backends that trace. What they depend on is *host-coloured*: evaluated
with NumPy. What depends on shapes alone is *shape-coloured*: known wherever shapes are, without looking at a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.ops.control import Call
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph, Node


class Colours(NamedTuple):
    """Values that are known from shapes alone, and values that must be computed on the host.

    `shape` and `host` are value numbers: known from shapes; computed for sizes. `sizes` are the values needed as sizes
    though they depend on values, `calls` the nodes (by number) whose inner graphs have such sizes in their turn.
    """

    shape: frozenset[int]
    sizes: tuple[int, ...]
    host: frozenset[int]
    calls: tuple[int, ...] = ()


def static_colours(graph: FrozenGraph) -> Colours:
    """The colours where lengths are values of the program: known is what follows from constants and static lengths."""
    shape = set(range(graph.arity, graph.arity + len(graph.constants)))
    for node in graph.nodes:
        if _is_static_length(graph, node) or _follows_from_shapes(graph, node, shape):
            shape.update(node.outputs)
    return Colours(frozenset(shape), (), frozenset())


def _is_static_length(graph: FrozenGraph, node: Node) -> bool:
    return isinstance(node.op, AxisLength) and graph.types[node.inputs[0]].static.shape[node.op.axis] is not None


def colours(graph: FrozenGraph) -> Colours:
    """Colour the values of a graph."""
    shape = set(range(graph.arity, graph.arity + len(graph.constants)))
    for node in graph.nodes:
        if isinstance(node.op, AxisLength) or _follows_from_shapes(graph, node, shape):
            shape.update(node.outputs)
    sizes: dict[int, None] = {}
    calls: list[int] = []
    host: set[int] = set()
    for number, node in enumerate(graph.nodes):
        for position in node.op.size_operands(len(node.inputs)):
            if node.inputs[position] not in shape:
                sizes[node.inputs[position]] = None
        if _has_sizes_inside(node) and not all(k in shape for k in node.outputs):
            calls.append(number)
            host.update(node.inputs)
    host.update(sizes)
    for node in reversed(graph.nodes):
        if any(k in host for k in node.outputs) and not isinstance(node.op, AxisLength):
            host.update(node.inputs)
    return Colours(frozenset(shape), tuple(sizes), frozenset(host), tuple(calls))


def _follows_from_shapes(graph: FrozenGraph, node: Node, shape: set[int]) -> bool:
    """Whether results are scalars made of what is known: arrays of constants are the backend's affair."""
    if node.op.has_effect or not all(k in shape for k in node.inputs):
        return False
    return all(graph.types[k].shape == () for k in node.outputs)


def _has_sizes_inside(node: Node) -> bool:
    inner = map(colours, node.op.inner_graphs())
    return any(colouring.sizes or colouring.calls for colouring in inner)


def takes_graphs(graph: FrozenGraph) -> bool:
    """Whether a rule is given functions of inner graphs somewhere, of a loop for instance: `Call` has no rule."""
    for node in graph.nodes:
        inner = node.op.inner_graphs()
        if inner and (not isinstance(node.op, Call) or any(map(takes_graphs, inner))):
            return True
    return False
