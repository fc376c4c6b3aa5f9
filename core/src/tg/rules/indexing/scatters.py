"""Rules of scatters: those that are updates of slices, and those of zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.indexing import Scatter
from tg.ops.shape import BroadcastTo, moveaxis
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import node_rule
from tg.rules.indexing.sparse import is_zeros, updated
from tg.rules.indexing.windows import Window, canonical, read, window_of_index

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _scatter_of_zeros(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    return node.inputs[0] if op.fn is add and is_zeros(node.inputs[1]) else None


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
        "scatter_of_steps",
        keys=(Scatter,),
        apply=_scatter_of_steps,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Evenly spaced positions are a slice, which is written without looking up places.",
        example=lambda x: Scatter((-2,), multiply)(x, x[:2], Constant(np.array([3, 1]))),
    ),
)
