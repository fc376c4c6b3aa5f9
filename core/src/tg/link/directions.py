"""Directions: which nodes of a program are of the forward pass, and which are of the backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.link.shapes import makers_of
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Part


@final
class Directions:
    """The nodes of a program by direction, as the places of its nodes say (`tg.graph.loc.Part`).

    The backward pass is what reverse mode has made, and what passes of rewriting have made of that; what reads it and
    was written by a user or an optimizer is neither.
    """

    def __init__(self, graph: FrozenGraph) -> None:
        self.graph, self.makers = graph, makers_of(graph)
        self.parts = [_part(graph, k) for k in range(len(graph.nodes))]
        self.is_backward = [False] * len(graph.nodes)
        self.follows = [False] * len(graph.nodes)  # whether it is of the backward pass, or reads what is
        for k, part in enumerate(self.parts):
            below = any(self.follows[j] for j in self.below(k))
            if part is None or _is_length(graph, k):  # both directions ask for lengths
                self.is_backward[k] = below
            else:
                self.is_backward[k] = part.is_backward
            self.follows[k] = below or self.is_backward[k]
        self.readers: list[list[int]] = [[] for _ in graph.types]  # the nodes that read each value
        for k, node in enumerate(graph.nodes):
            for v in dict.fromkeys(node.inputs):
                self.readers[v].append(k)
        self.ends = {v for c in graph.checks for v in (c.condition, *c.values)} | set(graph.outputs)
        self.lengths = _lengths(graph)

    def below(self, k: int) -> list[int]:
        """The nodes whose results a node reads."""
        return [self.makers[v] for v in self.graph.nodes[k].inputs if v in self.makers]

    @property
    def forward(self) -> Sequence[int]:
        """The nodes of the forward pass, in order."""
        return [k for k, follows in enumerate(self.follows) if not follows]

    def is_saved(self, v: int) -> bool:
        """Whether a value of the forward pass is an array that the backward pass reads."""
        return bool(self.graph.types[v].ndim) and any(self.follows[k] for k in self.readers[v])


def _is_length(graph: FrozenGraph, k: int) -> bool:
    """Whether a node gives integer scalars alone, as lengths are."""
    types = [graph.types[v] for v in graph.nodes[k].outputs]
    return all(not t.ndim and t.dtype in ("int64", "bool") for t in types)


def _part(graph: FrozenGraph, k: int) -> Part | None:
    """The part of a network that a node is of; None where nothing says."""
    origin = graph.origins.get(k)
    return origin.locs[0].part if origin is not None and origin.locs else None


def _lengths(graph: FrozenGraph) -> frozenset[int]:
    """The scalars that follow from the lengths of inputs: what may be computed in any place."""
    scalars = set(range(graph.arity, graph.arity + len(graph.constants)))
    lengths: set[int] = set()
    for node in graph.nodes:
        is_length = isinstance(node.op, AxisLength) and node.inputs[0] < graph.arity
        follows = is_length or (node.op.pointwise and scalars.issuperset(node.inputs))
        if follows and all(not graph.types[v].ndim for v in node.outputs):
            scalars.update(node.outputs)
            lengths.update(node.outputs)
    return frozenset(lengths)
