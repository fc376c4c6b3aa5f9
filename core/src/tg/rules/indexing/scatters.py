"""Rules of scatters: those that are updates of slices, and several at the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.indexing import Scatter
from tg.ops.shape import BroadcastTo, moveaxis
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import node_rule
from tg.rules.indexing.bounds import is_unique
from tg.rules.indexing.sparse import is_zeros, updated
from tg.rules.indexing.windows import Window, canonical, made_by, read, window_of_index

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _scatter_of_nothing(node: Apply, outputs: Any) -> Variable | None:
    return node.inputs[0] if 0 in node.inputs[1].type.shape else None


def _scatter_of_zeros(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    return node.inputs[0] if op.fn is add and is_zeros(node.inputs[1]) else None


def _same_places(a: Apply, b: Apply) -> bool:
    """Whether two nodes with an array, values and indices have the same indices along the same axes."""
    if a.op.axes != b.op.axes:  # type: ignore[attr-defined]
        return False
    return all(u is v for u, v in zip(a.inputs[2:], b.inputs[2:], strict=True))


def _over_scatter(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    y, v, *indices = node.inputs
    below = made_by(y, Scatter)
    if below is None or not _same_places(node, below):
        return None
    x, u = below.inputs[:2]
    if op.fn is None:
        return op(x, v, *indices)  # type: ignore[no-any-return]
    if below.op.fn is None and is_unique(tuple(indices)):  # type: ignore[attr-defined]
        return Scatter(op.axes)(x, op.fn(u, v), *indices)  # type: ignore[no-any-return]
    return None


def _scattered_twice(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    y, v, *indices = node.inputs
    below = made_by(y, Scatter)
    if below is None or op.fn is not add or below.op.fn is not add or not _same_places(node, below):  # type: ignore[attr-defined]
        return None
    return op(below.inputs[0], add(below.inputs[1], v), *indices)  # type: ignore[no-any-return]


def _scatter_of_steps(node: Apply, outputs: Any) -> Variable | None:
    """A scatter at evenly spaced positions along one axis is an update of a slice."""
    op: Any = node.op
    x, v, *indices = node.inputs
    if len(op.axes) != 1:
        return None
    (axis,) = op.axes
    w = window_of_index(indices[0], x.shape[axis])
    if w is None:
        return None
    windows: list[Window | None] = [None] * x.type.ndim
    windows[axis] = canonical(w, x.shape[axis])
    values = moveaxis(v, 0, axis)
    if op.fn not in (None, add):
        return updated(x, op.fn(read(x, tuple(windows)), values), tuple(windows), None)
    return updated(x, values, tuple(windows), op.fn)


RULES = (
    node_rule(
        "scatter_of_nothing",
        keys=(Scatter,),
        apply=_scatter_of_nothing,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Nothing is written.",
        example=lambda x: Scatter((-2,))(x, x[:0], Constant(np.zeros(0, np.int64))),
    ),
    node_rule(
        "scatter_of_zeros",
        keys=(Scatter,),
        apply=_scatter_of_zeros,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Adding zeros changes nothing but -0.0.",
        example=lambda x: Scatter((-2,), add)(x, zeros_like(x), iota(x.shape[-2])),
        below=(BroadcastTo, Constant),
    ),
    node_rule(
        "scatter_of_scatter",
        keys=(Scatter,),
        apply=_over_scatter,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What is written over need not be written, and what is added to need not be read.",
        example=lambda x: _scatter_twice(x, None, add),
        below=(Scatter,),
    ),
    node_rule(
        "scatter_added_twice",
        keys=(Scatter,),
        apply=_scattered_twice,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One update in place of two at the same places.",
        example=lambda x: _scatter_twice(x, add, add),
        below=(Scatter,),
    ),
    node_rule(
        "scatter_of_steps",
        keys=(Scatter,),
        apply=_scatter_of_steps,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Evenly spaced positions are a slice, which is written without looking up places.",
        example=lambda x: Scatter((-2,), multiply)(x, x[:2], Constant(np.array([3, 1]))),
    ),
)


def _scatter_twice(x: Variable, first: Any, second: Any) -> Variable:
    """Two updates of different values at the same places: an example."""
    at = Constant(np.array([2, 0, 3]))
    return Scatter((-2,), second)(Scatter((-2,), first)(x, x[:3], at), x[1:], at)  # type: ignore[no-any-return]
