"""Positions that the host has looked at: indices in range need no clamping, and their checks no MLX.

NumPy finds the least and the largest of some indices ten times as fast as MLX. Where an input of indices passes all its
checks, a program runs that is without them, and that reads with the indices as they are: MLX counts negative ones from
the end itself. What is looked at is the copy that MLX reads, so that nothing can change it in between.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg import greater_equal, less, logical_and, maximum, minimum, where
from tg.backend import AxisLength, Cast, FrozenGraph, Gather, Node, Reduce, Scatter, WrapIndex, interpret
from tg_mlx.arrays import from_numpy
from tg_mlx.known import GatherWithin, ScatterWithin, is_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Op, Request

    Array = np.ndarray[Any, Any]

KEPT: Final = 256  # shapes of inputs: beyond, the oldest are forgotten
UNSIGNED: Final = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class Bound(NamedTuple):
    """Bound that an input must not be below, or must be below: a value by its number; negated for a lower bound."""

    place: int
    value: int
    kind: str  # "least", "negated" (not below its negation) or "end"


@final
class Looked:
    """Look of the host at indices: `graph` is the program for inputs that pass, `request` what goes with it."""

    def __init__(self, graph: FrozenGraph, request: Request, bounds: Sequence[Bound], limits: FrozenGraph) -> None:
        self.graph, self.request = graph, request
        self._bounds, self._limits = bounds, limits
        self._places = tuple(dict.fromkeys(b.place for b in bounds))
        self._ranges: dict[tuple[Any, ...], tuple[tuple[int, int, int], ...]] = {}  # by the shapes of inputs

    def copied(self, arrays: Sequence[Any]) -> list[Any]:
        """The inputs, those of indices as MLX's arrays."""
        inputs = list(arrays)
        for k in self._places:
            if isinstance(inputs[k], np.ndarray):
                inputs[k] = from_numpy(inputs[k])
        return inputs

    def pass_(self, arrays: Sequence[Any]) -> bool:
        """Whether all indices that were copied are in range."""
        shapes = tuple([a.shape for a in arrays])
        ranges = self._ranges.get(shapes)
        if ranges is None:
            ranges = self._found(arrays, shapes)
        return all(_lies(np.asarray(arrays[k]), least, end) for k, least, end in ranges)

    def _found(self, arrays: Sequence[Any], shapes: tuple[Any, ...]) -> tuple[tuple[int, int, int], ...]:
        values = [int(v) for v in interpret(self._limits, arrays)]
        least: dict[int, int] = {}
        end: dict[int, int] = {}
        for bound, value in zip(self._bounds, values, strict=True):
            if bound.kind == "end":
                end[bound.place] = min(value, end.get(bound.place, value))
            else:
                low = value if bound.kind == "least" else -value
                least[bound.place] = max(low, least.get(bound.place, low))
        if len(self._ranges) >= KEPT:
            self._ranges.clear()
        ranges = tuple((k, least[k], end[k]) for k in self._places)
        self._ranges[shapes] = ranges
        return ranges


def _lies(a: Array, least: int, end: int) -> bool:
    """Whether all elements lie in [least, end); seen without their signs negative ones are the largest."""
    if not a.size:
        return True
    if a.dtype.kind == "i" and least <= 0 and int(a.view(UNSIGNED[a.itemsize]).max()) < end:
        return True
    return least <= int(a.min()) and int(a.max()) < end


def looked(graph: FrozenGraph, request: Request) -> Looked | None:
    """Look of the host, None if there are no inputs of indices, or none whose bounds follow from shapes."""
    reader = _Reader(graph)
    wraps = {node.outputs[0]: node.inputs for node in graph.nodes if reader.is_plain_wrap(node)}
    if not wraps or not is_own(request, WrapIndex, Gather, Scatter):
        return None
    bounds = [Bound(i, n, kind) for i, n in wraps.values() for kind in ("negated", "end")]
    conditions = [reader.bounds_of(k) for k in reader.conditions()] if request.has_status else []
    proven = bool(conditions) and all(c is not None for c in conditions)
    bounds.extend(b for c in conditions if c is not None for b in c)
    nodes = [_within(node, wraps) for node in graph.nodes]
    outputs = graph.outputs[:-1] if proven else graph.outputs
    rest: Any = (graph.checks, graph.names, graph.origins, graph.assumed)
    return Looked(
        FrozenGraph(graph.arity, graph.types, graph.constants, nodes, outputs, *rest),
        dataclasses.replace(request, has_status=request.has_status and not proven),
        tuple(dict.fromkeys(bounds)),
        reader.limits([b.value for b in dict.fromkeys(bounds)]),
    )


def _within(node: Node, wraps: dict[int, tuple[int, ...]]) -> Node:
    """A node that reads or writes with indices that pass, by the indices as they are."""
    op = node.op
    if not isinstance(op, Gather | Scatter):
        return node
    first = 1 if isinstance(op, Gather) else 2
    indices = node.inputs[first:]
    if not indices or not all(k in wraps for k in indices):
        return node
    plain, lengths = (tuple(wraps[k][side] for k in indices) for side in (0, 1))
    new: Op = GatherWithin(op.axes) if isinstance(op, Gather) else ScatterWithin(op.axes, op.fn)
    return Node(new, (*node.inputs[:first], *plain, *lengths), node.outputs)


@final
class _Reader:
    """Reads what a graph does with inputs of indices."""

    def __init__(self, graph: FrozenGraph) -> None:
        self.graph = graph
        self.makers = {k: node for node in graph.nodes for k in node.outputs}
        self.known = set(range(graph.arity, graph.arity + len(graph.constants)))  # from the shapes of inputs
        for node in graph.nodes:
            if self._follows(node):
                self.known.update(node.outputs)

    def _follows(self, node: Node) -> bool:
        if isinstance(node.op, AxisLength):
            return node.inputs[0] < self.graph.arity
        scalars = all(self.graph.types[k].shape == () for k in (*node.inputs, *node.outputs))
        return scalars and not node.op.has_effect and self.known.issuperset(node.inputs)

    def is_plain_wrap(self, node: Node) -> bool:
        """Whether a node wraps an input for a length that follows from shapes."""
        if not isinstance(node.op, WrapIndex) or node.op.mode == "clip":
            return False
        i, n = node.inputs
        return i < self.graph.arity and n in self.known

    def conditions(self) -> list[int]:
        """The conditions of a status, which is a chain of choices."""
        numbers = []
        number = self.graph.outputs[-1]
        while number in self.makers and self.makers[number].op.rule_key is where:
            condition, number, _ = self.makers[number].inputs
            numbers.append(condition)
        return numbers if self.graph.constant(number) is not None else [number]

    def bounds_of(self, condition: int) -> tuple[Bound, Bound] | None:
        """Bounds that a condition sets an input, if the least element has a bound and the largest another."""
        node = self.makers.get(condition)
        if node is None or node.op.rule_key is not logical_and:
            return None
        sides = [self.makers.get(k) for k in node.inputs]
        keys = [side and side.op.rule_key for side in sides]
        if keys != [greater_equal, less]:
            return None
        (low, least), (high, end) = (side.inputs for side in sides if side is not None)
        places = self._extremum(low, minimum), self._extremum(high, maximum)
        if None in places or places[0] != places[1] or not self.known.issuperset((least, end)):
            return None
        place = places[0]
        assert place is not None
        return Bound(place, least, "least"), Bound(place, end, "end")

    def _extremum(self, number: int, fn: object) -> int | None:
        """The input of which a value is the least or largest element."""
        while number in self.makers and isinstance(self.makers[number].op, Cast):
            number = self.makers[number].inputs[0]
        node = self.makers.get(number)
        if node is not None and isinstance(node.op, Reduce) and node.op.fn is fn and not self.graph.types[number].shape:
            number = node.inputs[0]
        elif self.graph.types[number].shape:
            return None
        return number if number < self.graph.arity else None

    def limits(self, values: Sequence[int]) -> FrozenGraph:
        """The graph of values that follow from shapes."""
        graph = self.graph
        nodes = [node for node in graph.nodes if self.known.issuperset(node.outputs)]
        return FrozenGraph(graph.arity, graph.types, graph.constants, nodes, values)
