"""The order of axes in which a value is read, where all that reads it is one view after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.shape import ExpandDims, Squeeze, Transpose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node


class Reading(NamedTuple):
    """The last of the views, and the axes of the value in their order there, those first that it has no more."""

    number: int
    order: tuple[int, ...]


def readers_of(graph: FrozenGraph) -> dict[int, list[Node]]:
    """The nodes that read each value, each once."""
    found: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for number in dict.fromkeys(node.inputs):
            found.setdefault(number, []).append(node)
    return found


def reading(graph: FrozenGraph, every: Mapping[int, Sequence[Node]], number: int) -> Reading:
    """How a value is read: through views that permute, insert and drop axes, as long as nothing else reads.

    Args:
        every: the nodes that read each value, by `readers_of`.
    """
    order: list[int | None] = [*range(graph.types[number].ndim)]
    dropped: list[int | None] = []
    while number not in graph.outputs:
        readers = every.get(number, ())
        if len(readers) != 1 or type(readers[0].op) not in (ExpandDims, Squeeze, Transpose):
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
