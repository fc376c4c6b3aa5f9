"""Indexing of which the host knows more than core's ops say: starts that follow from shapes, indices that are in range.

The ops here stand for core's in a graph that is about to be linked. What the host knows are sizes, Python's ints to the
rules, which need no arithmetic in MLX.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, final

from tg.backend import (
    FrozenGraph,
    Gather,
    Node,
    Op,
    Scatter,
    Slice,
    SliceUpdate,
    WrapIndex,
    colours,
    known_shape,
    window,
)
from tg_mlx import spread
from tg_mlx.arrays import copy
from tg_mlx.rules import indexing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.backend import ElementwiseFunction, Request, TensorType

    Array = np.ndarray[Any, Any]


@final
class SliceAt(Op):
    """`Slice` whose starts are ints."""

    starts: tuple[int | None, ...]
    sizes: tuple[int | None, ...]
    steps: tuple[int, ...]

    def size_operands(self, count: int) -> range:
        """All but the array."""
        return range(1, count)

    def infer(self, x: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """As `Slice`."""
        return Slice(self.starts, self.sizes, self.steps).infer(x, *rest)

    def perform(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        """As `Slice`."""
        return (slice_at(self, x, *rest).copy(),)


@final
class SliceUpdateAt(Op):
    """`SliceUpdate` whose starts are ints."""

    starts: tuple[int | None, ...]
    steps: tuple[int, ...]
    fn: ElementwiseFunction | None = None

    def size_operands(self, count: int) -> range:
        """The starts."""
        return range(2, count)

    def infer(self, x: TensorType, v: TensorType, *starts: Any) -> tuple[TensorType, ...]:
        """As `SliceUpdate`."""
        return SliceUpdate(self.starts, self.steps, self.fn).infer(x, v, *starts)

    def perform(self, x: Array, v: Array, *starts: Array) -> tuple[Array, ...]:
        """As `SliceUpdate`."""
        return SliceUpdate(self.starts, self.steps, self.fn).perform(x, v, *starts)


@final
class GatherWithin(Op):
    """`Gather` with indices known to lie in [-n, n) for an int n each, which follow the indices."""

    axes: tuple[int, ...]

    def size_operands(self, count: int) -> range:
        """The ints."""
        return range(1 + len(self.axes), count)

    def infer(self, x: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """As `Gather`, of indices of any integer dtype."""
        return Gather(self.axes).infer(x, *(i.with_dtype("int64") for i in rest[: len(self.axes)]))

    def perform(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        """As `Gather`: NumPy too counts negative indices from the end."""
        return Gather(self.axes).perform(x, *rest[: len(self.axes)])


@final
class ScatterWithin(Op):
    """`Scatter` with indices known to lie in [-n, n) for an int n each, which follow the indices."""

    axes: tuple[int, ...]
    fn: ElementwiseFunction | None = None

    def size_operands(self, count: int) -> range:
        """The ints."""
        return range(2 + len(self.axes), count)

    def infer(self, x: TensorType, v: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """As `Scatter`, of indices of any integer dtype."""
        return Scatter(self.axes, self.fn).infer(x, v, *(i.with_dtype("int64") for i in rest[: len(self.axes)]))

    def perform(self, x: Array, v: Array, *rest: Array) -> tuple[Array, ...]:
        """As `Scatter`."""
        return Scatter(self.axes, self.fn).perform(x, v, *rest[: len(self.axes)])


def slice_at(op: SliceAt, x: Any, *rest: Any) -> Any:
    """The rule: a window that does not move."""
    return x[(..., *Slice(op.starts, op.sizes, op.steps).place(x.shape, rest))]


def slice_update_at(op: SliceUpdateAt, x: Any, v: Any, *starts: Any) -> Any:
    """The rule: a window that does not move."""
    if 0 in v.shape:
        return copy(x)
    sizes = v.shape[v.ndim - len(op.steps) :]
    return indexing.written(op, x, v, window(x.shape, known_shape(op.starts, starts), sizes, op.steps))


def gather_within(op: GatherWithin, x: Any, *rest: Any) -> Any:
    """The rule: clamped only where an axis is shorter than the indices were meant for."""
    return indexing.gathered(op, x, _safe(op.axes, x, rest))


def scatter_within(op: ScatterWithin, x: Any, v: Any, *rest: Any) -> Any:
    """The rule: clamped only where an axis is shorter than the indices were meant for."""
    return indexing.scattered(op, x, v, _safe(op.axes, x, rest))


def _safe(axes: Sequence[int], x: Any, rest: Sequence[Any]) -> Sequence[Any]:
    indices, lengths = rest[: len(axes)], rest[len(axes) :]
    if all(n == x.shape[k + x.ndim] for n, k in zip(lengths, axes, strict=True)):
        return indices
    wrapped = [indexing.wrap_index(WrapIndex("promise"), i, n) for i, n in zip(indices, lengths, strict=True)]
    return indexing.clamped(x, axes, wrapped)


RULES: Final[dict[object, Callable[..., Any]]] = {
    SliceAt: slice_at,
    SliceUpdateAt: slice_update_at,
    GatherWithin: gather_within,
    ScatterWithin: scatter_within,
}


def is_own(request: Request, *ops: type[Op]) -> bool:
    """Whether the rules of ops are this backend's own, which the rules here stand for."""
    return all(request.rule_for(op) is indexing.RULES[op] for op in ops)


def with_rules(request: Request) -> Request:
    """The request with the rules of the ops here."""
    rule_for = request.rule_for
    return dataclasses.replace(request, rule_for=lambda key: RULES.get(key) or spread.RULES.get(key) or rule_for(key))


def with_known_starts(graph: FrozenGraph) -> FrozenGraph:
    """The graph with windows whose starts follow from shapes as windows that do not move."""
    shape_values = colours(graph).shape
    nodes = [_at(node, shape_values) for node in graph.nodes]
    rest: Any = (graph.outputs, graph.checks, graph.names, graph.origins, graph.assumed)
    return FrozenGraph(graph.arity, graph.types, graph.constants, nodes, *rest)


def _at(node: Node, shape_values: frozenset[int]) -> Node:
    op = node.op
    if not isinstance(op, Slice | SliceUpdate) or None not in op.starts:
        return node
    first = 1 if isinstance(op, Slice) else 2
    if not shape_values.issuperset(node.inputs[first : first + op.starts.count(None)]):
        return node
    new = SliceAt(op.starts, op.sizes, op.steps) if isinstance(op, Slice) else SliceUpdateAt(op.starts, op.steps, op.fn)
    return Node(new, node.inputs, node.outputs)
