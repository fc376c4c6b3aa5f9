"""Rules of updates of slices: one form, what is written into zeros, and what is written over is not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.nodes import Constant
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.indexing import SliceUpdate
from tg.ops.shape import BroadcastTo
from tg.rewrite.phases import EXACT, SIGNED_ZERO
from tg.rewrite.rule import rule_of_node
from tg.rules.indexing.sparse import is_zeros, updated
from tg.rules.indexing.windows import (
    Windows,
    all_keys,
    are_apart,
    is_everywhere,
    made_by,
    trimmed,
    within,
    written_windows,
)

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

WRITES: Final = 8  # how many writes into zeros are looked through


@rule_of_node(SliceUpdate, kind=EXACT, example=lambda x: SliceUpdate((0, 0), (1, 1))(x, x[:, :2]))
def _update_in_one_form(node: Apply, outputs: Any) -> Variable | None:
    """Equal writes are one, and writing everything is the values."""
    op: Any = node.op
    x, v, *_ = node.inputs
    if 0 in v.type.shape:
        return x
    windows = written_windows(node)
    named = trimmed(windows, x)
    starts = tuple([w.start if type(w.start) is int else None for w in named])
    is_named = starts == op.starts and tuple([w.step for w in named]) == op.steps
    if is_named and not is_everywhere(windows, x):
        return None
    return updated(x, v, windows, op.fn)


@rule_of_node(
    SliceUpdate,
    kind=SIGNED_ZERO,
    below=(BroadcastTo, Constant, SliceUpdate),
    example=lambda x: SliceUpdate((1,), (1,), add)(zeros_like(x), x[:, :2]),
)
def _update_of_zeros(node: Apply, outputs: Any) -> Variable | None:
    """A sum with zeros is a write."""
    op: Any = node.op
    x, v, *starts = node.inputs
    if op.fn is not add or not _is_zeros_at(x, written_windows(node)):
        return None
    return SliceUpdate(op.starts, op.steps)(x, v, *starts)  # type: ignore[no-any-return]


def _is_zeros_at(x: Variable, windows: Windows) -> bool:
    """Whether a value is known to be zeros in a window: zeros that were written at other places only."""
    for _ in range(WRITES):
        below = made_by(x, SliceUpdate)
        if below is None or not any(map(are_apart, windows, written_windows(below), x.shape)):
            break
        x = below.inputs[0]
    return is_zeros(x)


@rule_of_node(
    SliceUpdate,
    kind=EXACT,
    below=(SliceUpdate,),
    example=lambda x: SliceUpdate((0, 0), (1, 1))(SliceUpdate((1, 0), (1, 1))(x, -x[1:2]), x[1:3]),
)
def _update_of_update(node: Apply, outputs: Any) -> Variable | None:
    """Update of an update: the inner one skips what the outer one writes over; what it adds to is written added up.

    What is written over need not be written, and what is added to need not be read.
    """
    op: Any = node.op
    y, v, *_ = node.inputs
    below = made_by(y, SliceUpdate)
    if below is None:
        return None
    x, u = below.inputs[:2]
    outer, inner = written_windows(node), written_windows(below)
    if op.fn is None:
        return updated(x, v, outer, None) if _covers(outer, inner, x) else None
    if op.fn is add and below.op.fn is None and all_keys(outer) == all_keys(inner):  # type: ignore[attr-defined]
        return updated(x, add(u, v), outer, None)
    return None


def _covers(outer: Windows, inner: Windows, x: Variable) -> bool:
    try:
        for a, b, n in zip(inner, outer, x.shape, strict=True):
            within(a, b, n)
    except LookupError:
        return False
    return True


RULES = (_update_in_one_form, _update_of_zeros, _update_of_update)
