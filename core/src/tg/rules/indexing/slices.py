"""Rules of slices: one form, whole and empty ones gone, several made one, and pushed below what only moves elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant, as_size_variable
from tg.ops.creation import Arange, iota
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.indexing import Slice, SliceUpdate
from tg.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose, broadcast_to
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule_of_node
from tg.rules.indexing.through import MOVEMENTS, UNUSED, made_of, through
from tg.rules.indexing.windows import (
    Window,
    Windows,
    are_apart,
    canonical,
    is_inside,
    read,
    trimmed,
    windows_of,
    within,
    written_windows,
)
from tg.types import lengths
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

PIECES: Final = 16  # pieces of lengths that are not known, among which the one that is read is looked for


@rule_of_node(Slice, kind=EXACT, example=Slice((0, 0), (4, 2), (1, 1)))
def _slice_in_one_form(node: Apply, outputs: Any) -> Variable | None:
    """The slice without axes in front that are whole, with all that is known in the op; zeros where nothing is read.

    Equal reads are one, what is known belongs into the op, and a slice of everything is its operand.
    """
    (y,) = outputs
    x = node.inputs[0]
    if 0 in y.type.shape:
        return broadcast_to(Constant(np.zeros((), numpy_dtype(y.type.dtype))), y.shape)
    windows = windows_of(node)
    named = trimmed(windows, x)
    if not named:
        return x
    op: Any = node.op
    starts = tuple([w.start if type(w.start) is int else None for w in named])
    sizes = tuple([w.size if type(w.size) is int else None for w in named])
    if starts == op.starts and sizes == op.sizes and tuple([w.step for w in named]) == op.steps:
        return None
    return read(x, windows)


def _moved(node: Apply, outputs: Any) -> Variable | None:
    below = node.inputs[0].apply
    if below is None or type(below.op) not in MOVEMENTS:
        return None
    route = through(below, node.inputs[0], windows_of(node))
    return None if route is None else made_of(route, below.inputs)


@rule_of_node(Slice, kind=EXACT, below=(Arange,), example=lambda x: iota(x.shape[0] + 3)[1:])
def _slice_of_integers(node: Apply, outputs: Any) -> Variable | None:
    """Some of the integers in order are evenly spaced integers."""
    (w,) = windows_of(node)
    if w is None or not is_inside(w, node.inputs[0].shape[0]):
        return None
    y = iota(w.size)
    if w.step != 1:
        y = multiply(y, as_size_variable(w.step))
    return y if type(w.start) is int and w.start == 0 else add(y, as_size_variable(w.start))


@rule_of_node(Slice, kind=EXACT, below=(Concatenate,), example=lambda x: Concatenate(-1)(x, -x)[:, 5:7])
def _slice_of_pieces(node: Apply, outputs: Any) -> Variable | None:
    """One piece, if all that is read lies in it. Pieces that are not read need not be joined."""
    joined = node.inputs[0]
    below = joined.apply
    assert below is not None  # a Concatenate: the other operands of a slice have no axes
    windows = windows_of(node)
    axis: int = below.op.axis  # type: ignore[attr-defined]
    w = windows[axis]
    if w is None:
        return None
    size = node.types[0].shape[axis]
    if type(size) is int and type(w.start) is int and all(type(v.type.shape[axis]) is int for v in below.inputs):
        return _known_piece(below, windows, axis, w._replace(size=size))
    route = through(below, joined, windows) if len(below.inputs) <= PIECES else None
    if route is None or sum(r is not UNUSED for r in route.reads) != 1:
        return None
    return made_of(route, below.inputs)


def _known_piece(joined: Apply, windows: Windows, axis: int, w: Window) -> Variable | None:
    """The piece in which a window of known positions lies."""
    low, high = w.ends
    begin = 0
    for piece in joined.inputs:
        end: Any = begin + piece.type.shape[axis]  # type: ignore[operator]
        if low < end:
            place = len(windows) + axis
            part = canonical(w._replace(start=lengths.subtract(w.start, begin)), end - begin)
            return read(piece, (*windows[:place], part, *windows[place + 1 :])) if high < end else None
        begin = end
    return None


@rule_of_node(Slice, kind=EXACT, below=(SliceUpdate,), example=lambda x: SliceUpdate((1, 0), (1, 1))(x, x[:2])[2])
def _slice_of_update(node: Apply, outputs: Any) -> Variable | None:
    """The values where only they are read, the array where nothing was written.

    What was written is read, or what was there before: nothing is copied.
    """
    below = node.inputs[0].apply
    assert below is not None  # a SliceUpdate: the other operands of a slice have no axes
    x, v = below.inputs[:2]
    windows, written = windows_of(node), written_windows(below)
    if any(map(are_apart, windows, written, x.shape)):
        return read(x, windows)
    if below.op.fn is not None:  # type: ignore[attr-defined]
        return None
    try:
        return read(v, tuple(map(within, windows, written, x.shape)))
    except LookupError:
        return None


RULES = (
    _slice_in_one_form,
    node_rule(
        "slice_of_slice",
        keys=(Slice,),
        apply=_moved,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Two reads are one.",
        example=lambda x: x[1:][:, ::-1][:2],
        below=(Slice,),
    ),
    node_rule(
        "slice_of_movement",
        keys=(Slice,),
        apply=_moved,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Only what is read is moved or repeated.",
        example=lambda x: Transpose((-1, -2))(x)[1:],
        below=(Transpose, ExpandDims, Squeeze, BroadcastTo, Reshape),
    ),
    _slice_of_integers,
    _slice_of_pieces,
    _slice_of_update,
)
