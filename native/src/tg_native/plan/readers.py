"""The order of axes in which a value is read, where all that reads it is one view after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.ops.shape import ExpandDims, Squeeze, Transpose
from tg_native.fusion.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node


VIEWS: Final = (ExpandDims, Squeeze, Transpose)


class Reading(NamedTuple):
    """The last of the views, and the axes of the value in their order there, those first that it has no more."""

    number: int
    order: tuple[int, ...]


def readers_of(graph: FrozenGraph) -> dict[int, list[Node]]:
    """The nodes that read each value, each once."""
    readers: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for number in dict.fromkeys(node.inputs):
            readers.setdefault(number, []).append(node)
    return readers


def reading(graph: FrozenGraph, every: Mapping[int, Sequence[Node]], number: int) -> Reading:
    """Reading of a value: through views that permute, insert and drop axes, as long as nothing else reads.

    Loops of totals read in any order, and do not count.

    Args:
        every: the nodes that read each value, by `readers_of`.
    """
    order: list[int | None] = [*range(graph.types[number].ndim)]
    dropped: list[int | None] = []
    while number not in graph.outputs:
        readers = [node for node in every.get(number, ()) if not _totals(graph, every, node)]
        if len(readers) != 1 or type(readers[0].op) not in VIEWS:
            break
        op: Any = readers[0].op
        (number,) = readers[0].outputs
        if isinstance(op, Transpose):
            order = [order[k] for k in op.order(len(order))]
        elif isinstance(op, Squeeze):
            gone = {k % len(order) for k in op.axes}
            dropped += [axis for k, axis in enumerate(order) if k in gone]
            order = [axis for k, axis in enumerate(order) if k not in gone]
        else:
            rest = iter(order)
            ndim = graph.types[number].ndim
            order = [None if k in op.axes else next(rest) for k in range(-ndim, 0)]
    return Reading(number, tuple(axis for axis in (*dropped, *order) if axis is not None))


def _totals(graph: FrozenGraph, every: Mapping[int, Sequence[Node]], node: Node) -> bool:
    """Whether a node is a loop of totals, or a view that nothing else reads."""
    while type(node.op) in VIEWS and len(readers := every.get(node.outputs[0], ())) == 1:
        if node.outputs[0] in graph.outputs:
            return False
        (node,) = readers
    return isinstance(node.op, Loop) and node.op.is_total
