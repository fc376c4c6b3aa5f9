"""The values of a graph that may share memory, and those that its inputs' lengths or shapes alone decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.ops.elementwise.comparison import where
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph, Node


def early_scalars(graph: FrozenGraph, scalars: frozenset[int]) -> frozenset[int]:
    """Of the scalars known from shapes those that follow from the lengths of inputs."""
    first = graph.arity + len(graph.constants)
    values = set(range(graph.arity, first))
    for node in graph.nodes:
        if isinstance(node.op, AxisLength):
            source = node.inputs[0]
            if source < graph.arity or graph.types[source].shape[node.op.axis] is not None:
                values.update(node.outputs)
        elif values.issuperset(node.inputs) and scalars.issuperset(node.outputs):
            values.update(node.outputs)
    return frozenset(k for k in values if k >= first)


def is_decided(graph: FrozenGraph, node: Node, scalars: frozenset[int]) -> bool:
    """Whether a node chooses between arrays of one type by what shapes decide: a status is a chain of such."""
    if node.op.rule_key is not where or node.inputs[0] not in scalars or graph.types[node.inputs[0]].ndim:
        return False
    types = [graph.types[k].static for k in (*node.inputs[1:], *node.outputs)]
    return None not in types[0].shape and types[0] == types[1] == types[2]


def roots_of(graph: FrozenGraph, views: frozenset[object], scalars: frozenset[int]) -> list[frozenset[int]]:
    """For each value the values whose memory it may share: itself, unless it is a view, or one of two."""
    roots = [frozenset({k}) for k in range(len(graph.types))]
    for node in graph.nodes:
        if node.op.rule_key in views or is_decided(graph, node, scalars):
            shared = frozenset().union(*(roots[k] for k in node.inputs))
            for k in node.outputs:
                roots[k] = shared or roots[k]
    return roots
