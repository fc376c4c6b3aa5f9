"""Rules of scatters: those that are updates of slices, and those of zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.indexing import Scatter
from tg.ops.shape import BroadcastTo, moveaxis
from tg.rewrite.phases import EXACT, SIGNED_ZERO
from tg.rewrite.rule import rule_of
from tg.rules.indexing.sparse import is_zeros, updated
from tg.rules.indexing.windows import Window, canonical, read, window_of_index

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(
    Scatter,
    kind=SIGNED_ZERO,
    below=(BroadcastTo, Constant),
    example=lambda x: Scatter((-2,), add)(x, zeros_like(x), iota(x.shape[-2])),
)
def _scatter_of_zeros(op: Any, *operands: Variable) -> Variable | None:
    """Adding zeros changes nothing but -0.0."""
    return operands[0] if op.fn is add and is_zeros(operands[1]) else None


@rule_of(Scatter, kind=EXACT, example=lambda x: Scatter((-2,), multiply)(x, x[:2], Constant(np.array([3, 1]))))
def _scatter_of_steps(op: Any, x: Variable, v: Variable, *indices: Variable) -> Variable | None:
    """A scatter at evenly spaced positions along one axis is an update of a slice.

    Evenly spaced positions are a slice, which is written without looking up places.
    """
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


RULES = (_scatter_of_zeros, _scatter_of_steps)
