"""Rules of gathers: those that are slices, that read what is repeated, moved or was just written, and two in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.creation import iota, zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.indexing import Gather, Nonzero, Scatter, WrapIndex
from tg.ops.shape import (
    BroadcastTo,
    Reshape,
    Squeeze,
    Transpose,
    broadcast_to,
    expand_dims_at,
    moveaxis,
    reshape,
)
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.indexing.bounds import VERY_MANY, is_unique
from tg.rules.indexing.windows import Window, canonical, made_by, read, window_of_index
from tg.rules.shape.moved import Moved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply


def _lies_inside(i: Variable, n: Any) -> bool:
    """Whether a check makes sure that there is an element to take, or an axis of length n is known to have one."""
    if type(n) is int:
        return n > 0
    wrap = Moved.of(i, Reshape).made_by(WrapIndex)
    return wrap is not None and wrap.mode in ("raise", "clip")


@rule_of_node(
    Gather, kind=EXACT, example=lambda x: Gather((-2, -1))(x, Constant(np.array([2])), Constant(np.array([1])))
)
def _gather_of_one_position(node: Apply, outputs: Any) -> Variable | None:
    """A slice of each axis, which is dropped; repeated, if the position is.

    One position is a slice, which is pushed further and copies nothing.
    """
    (y,) = outputs
    op: Any = node.op
    x, *indices = node.inputs
    windows: list[Window | None] = [None] * x.type.ndim
    for p, k in zip(map(_single, indices), op.axes, strict=True):
        if p is None or not _lies_inside(p, x.shape[k]):
            return None
        windows[k] = canonical(Window(size_value(p), 1, 1), x.shape[k])
    element = Squeeze(op.axes)(read(x, tuple(windows)))
    rank, rest = indices[0].type.ndim, element.type.ndim
    element = expand_dims_at(element, tuple(range(-rest - rank, -rest)))
    return broadcast_to(element, y.shape)


def _single(i: Variable) -> Variable | None:
    """The one position that an index consists of, as a scalar."""
    if isinstance(i, Constant):
        return Constant(i.data.reshape(()).copy()) if i.data.size == 1 else None
    one = Moved.of(i, BroadcastTo).single()
    return None if one is None else reshape(one, ())


@rule_of(Gather, kind=EXACT, example=lambda x: Gather((-1,))(x, iota(2) * 2))
def _gather_of_steps(op: Any, x: Variable, *indices: Variable) -> Variable | None:
    """Evenly spaced positions along one axis are a slice, whose axis then goes to the front.

    Evenly spaced positions are a slice, which is read without looking up places.
    """
    if len(op.axes) != 1:
        return None
    (axis,) = op.axes
    w = window_of_index(indices[0], x.shape[axis])
    if w is None:
        return None
    windows: list[Window | None] = [None] * x.type.ndim
    windows[axis] = canonical(w, x.shape[axis])
    y = read(x, tuple(windows))
    return moveaxis(y, axis, 0)


@rule_of_node(
    Gather,
    kind=EXACT,
    example=lambda x: Gather((-2,))(broadcast_to(x[:1], (3, x.shape[1])), Constant(np.array([2, 0, 2, 1]))),
)
def _gather_of_repeated(node: Apply, outputs: Any) -> Variable | None:
    """Axes along which there is one element, or one element repeated, need no index.

    All positions along an axis that repeats one element hold the same.
    """
    (y,) = outputs
    op: Any = node.op
    x, *indices = node.inputs
    source = Moved.of(x, BroadcastTo).unrepeated()
    if not any(source.type.shape[k] == 1 for k in op.axes):
        return None
    return broadcast_to(gathered(source, op.axes, indices), y.shape)


def gathered(x: Variable, axes: Sequence[int], indices: Sequence[Variable]) -> Variable:
    """A gather along the axes that have more than one element; what it gives broadcasts to the gather along all."""
    single = tuple([k for k in axes if x.type.shape[k] == 1])
    rank = indices[0].type.ndim
    if not single:
        return Gather(tuple(axes))(x, *indices)  # type: ignore[no-any-return]
    y = Squeeze(single)(x)
    others = [k for k in range(-x.type.ndim, 0) if k not in single]
    rest = [(others.index(k) - len(others), i) for k, i in zip(axes, indices, strict=True) if k not in single]
    if rest:
        return Gather(tuple(k for k, _ in rest))(y, *(i for _, i in rest))  # type: ignore[no-any-return]
    return expand_dims_at(y, tuple(range(-y.type.ndim - rank, -y.type.ndim)))


@rule_of(
    Gather,
    kind=EXACT,
    below=(Transpose,),
    example=lambda x: Gather((-2,))(Transpose((-1, -2))(x), Constant(np.array([3, 0, 2]))),
)
def _gather_of_transpose(op: Any, x: Variable, *indices: Variable) -> Variable | None:
    """The same positions of what was transposed. Only what is read is moved."""
    below = Moved.of(x, Transpose)

    def of(axes: tuple[int, ...], u: Variable) -> Variable:
        order = sorted(range(len(axes)), key=axes.__getitem__)
        return Gather(tuple(axes[k] for k in order))(u, *(indices[k] for k in order))  # type: ignore[no-any-return]

    return below.along(op.axes, of, leading=indices[0].type.ndim) if below.is_moved else None


@rule_of(Gather, kind=EXACT, below=(Scatter,), example=lambda x: _read_again(x, Constant(np.array([2, 0, 3]))))
def _gather_of_scatter(op: Any, y: Variable, *indices: Variable) -> Variable | None:
    """Values written at the same places, none of which repeats; or those before, if none of them was written.

    What was written is read: nothing is copied.
    """
    below = made_by(y, Scatter)
    if below is None or below.op.axes != op.axes:  # type: ignore[attr-defined]
        return None
    x, v, *places = below.inputs
    fn = below.op.fn  # type: ignore[attr-defined]
    in_order = all(a is b for a, b in zip(places, indices, strict=True))
    if not in_order:
        positions = _found_among(indices, places)
        if positions is None:
            return None
        if not positions:
            return op(x, *indices)  # type: ignore[no-any-return]
        v = Gather((-v.type.ndim,))(v, Constant(np.array(positions, np.int64)))
    if (in_order or fn is not None) and not is_unique(tuple(places)):
        return None
    return v if fn is None else fn(op(x, *indices), v)


def _found_among(indices: Sequence[Variable], places: Sequence[Variable]) -> list[int] | None:
    """Last place of each of some known positions among others; [] if none is there, None if only some are."""
    wanted, others = (_positions(v) for v in (indices, places))
    if wanted is None or others is None:
        return None
    last = {position: k for k, position in enumerate(others)}
    matches = [last[p] for p in wanted if p in last]
    return matches if not matches or len(matches) == len(wanted) else None


def _positions(indices: Sequence[Variable]) -> list[tuple[int, ...]] | None:
    """Known positions given by vectors, one for each axis."""
    constants = [i.data for i in indices if isinstance(i, Constant) and i.type.ndim == 1 and i.data.size <= VERY_MANY]
    return list(zip(*(k.tolist() for k in constants), strict=True)) if len(constants) == len(indices) else None


@rule_of(
    Nonzero,
    kind=EXACT,
    below=(Constant, BroadcastTo),
    example=lambda x: add(x[0, :2], zeros_like(Nonzero()(Constant(np.array([True, False, True]))), dtype=x.dtype)),
)
def _positions_of_known_mask(op: Any, mask: Variable) -> Variable | None:
    """The positions of the true elements of a mask that is known. What is known is not computed."""
    if isinstance(mask, Constant):
        return Constant(np.flatnonzero(mask.data).astype(np.int64))
    one = Moved.of(mask, BroadcastTo).single()
    if not isinstance(one, Constant):
        return None
    return iota(mask.shape[0]) if one.data.item() else Constant(np.array([], np.int64))


RULES = (
    _gather_of_one_position,
    _gather_of_steps,
    _gather_of_repeated,
    _gather_of_transpose,
    _gather_of_scatter,
    _positions_of_known_mask,
)


def _read_again(x: Variable, at: Variable) -> Variable:
    """Values added at some places, read there: an example."""
    return Gather((-2,))(Scatter((-2,), add)(x, x[1:], at), at)  # type: ignore[no-any-return]
