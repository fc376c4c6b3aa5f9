"""The counts 0, 1, ... that need no memory: all that read them are loops, which know the number of an element.

The counters of random bits are such: a draw of 1e7 numbers would write and read 80 MB of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.creation import Arange
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg_native.fusion.loop import Loop

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph, Node

VIEWS: Final = frozenset((BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose))


def counts_of(graph: FrozenGraph) -> frozenset[int]:
    """The values of a graph that are such counts."""
    stored = {*graph.outputs, *(number for c in graph.checks for number in (c.condition, *c.values))}
    for node in reversed(graph.nodes):
        if not _only_reads(node, graph, stored):
            stored.update(node.inputs)
    counts = (node.outputs[0] for node in graph.nodes if type(node.op) is Arange)
    return frozenset(number for number in counts if number not in stored)


def _only_reads(node: Node, graph: FrozenGraph, stored: set[int]) -> bool:
    """Whether a node reads elements by their numbers, or is a view that only such nodes read."""
    if type(node.op) in VIEWS:
        (out, *_) = node.outputs
        return graph.types[out].ndim > 0 and out not in stored
    return node.op.pointwise or (type(node.op) is Loop and _reads_elements(node.op))


def _reads_elements(loop: Loop) -> bool:
    """Whether a loop neither gathers nor scatters: positions are read one by one, faster from memory."""
    types = (t for stage in loop.stages for t in stage.program.input_types)
    return not any(t.ndim for t in types) and all(r.into is None for stage in loop.stages for r in stage.results)
