"""Rules of updates: what is written over is not written, several writes are one, and zeros around values stay implicit.

The gradient of a slice is the cotangent written into zeros. Such a value is written as late as possible: functions that
keep zeros are computed of what was written alone, and a sum writes into its other operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, Variable
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative, subtract
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import where
from tg.ops.indexing import Scatter, Slice, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, broadcast_to, moveaxis
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.indexing.bounds import Steps, steps_of
from tg.rewrite.rules.indexing.through import repeated
from tg.rewrite.rules.indexing.windows import (
    Window,
    Windows,
    all_keys,
    are_apart,
    canonical,
    is_inside,
    made_by,
    placed,
    read,
    trimmed,
    windows_of,
    within,
    written_windows,
)
from tg.types.dtypes import is_inexact, numpy_dtype
from tg.types.lengths import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply

WRITES: Final = 8  # how many writes into zeros are looked through
LOOKED_AT: Final = 1 << 14  # elements of a constant that are looked at to see whether it is zeros


def is_zeros(v: Variable) -> bool:
    """Whether a value is known to be zeros."""
    if isinstance(v, Constant):
        return v.data.size <= LOOKED_AT and not v.data.any()
    if v.apply is None or type(v.apply.op) is not BroadcastTo:
        return False
    (x, *_) = v.apply.inputs
    return isinstance(x, Constant) and x.data.size == 1 and not x.data.any()


def has_shape_of(v: Variable, y: Variable) -> bool:
    """Whether a value is known to have the shape of another."""
    return v.type.ndim == y.type.ndim and all(map(equal_here, v.shape, y.shape))


def updated(x: Variable, v: Variable, windows: Windows, fn: Any) -> Variable:
    """X with v written at the windows."""
    if all(w is None for w in windows):
        return v if fn is None else fn(x, v)
    starts, steps, operands = placed(windows, x)
    return SliceUpdate(starts, steps, fn)(x, v, *operands)  # type: ignore[no-any-return]


def _in_one_form(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    x, v, *_ = node.inputs
    if 0 in v.type.shape:
        return x
    windows = written_windows(node)
    named = trimmed(windows, x)
    starts = tuple([w.start if type(w.start) is int else None for w in named])
    if named and starts == op.starts and tuple([w.step for w in named]) == op.steps:
        return None
    return updated(x, v, windows, op.fn)


def _of_zeros(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    x, v, *_ = node.inputs
    return x if op.fn is add and is_zeros(v) else None


def _into_zeros(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    x, v, *starts = node.inputs
    if op.fn is not add or not _is_zeros_at(x, written_windows(node)):
        return None
    return SliceUpdate(op.starts, op.steps)(x, v, *starts)


def _is_zeros_at(x: Variable, windows: Windows) -> bool:
    """Whether a value is known to be zeros in a window: zeros that were written at other places only."""
    for _ in range(WRITES):
        below = made_by(x, SliceUpdate)
        if below is None or not any(map(are_apart, windows, written_windows(below), x.shape)):
            break
        x = below.inputs[0]
    return is_zeros(x)


def _own_values(node: Apply, outputs: Any) -> Variable | None:
    """X, if what is written at a place was read there."""
    op: Any = node.op
    x, v, *_ = node.inputs
    below = made_by(v, Slice)
    if op.fn is not None or below is None or below.inputs[0] is not x:
        return None
    return x if all_keys(windows_of(below)) == all_keys(written_windows(node)) else None


def _over_update(node: Apply, outputs: Any) -> Variable | None:
    """What the outer one writes over, the inner one need not write; what it adds to is written added up."""
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


def _added_twice(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    y, v, *_ = node.inputs
    below = made_by(y, SliceUpdate)
    if op.fn is not add or below is None or below.op.fn is not add:  # type: ignore[attr-defined]
        return None
    outer = written_windows(node)
    if all_keys(outer) != all_keys(written_windows(below)):
        return None
    return updated(below.inputs[0], add(below.inputs[1], v), outer, add)


class Sparse(NamedTuple):
    """A value that is zeros but for what was written into them."""

    node: Apply
    values: Variable

    @property
    def starts(self) -> tuple[Variable, ...]:
        """The operands that say where."""
        return self.node.inputs[2:]


def sparse(v: Variable, *kinds: type) -> Sparse | None:
    """The write into zeros that makes a value, if it is one by an op of these classes."""
    if v.apply is None or type(v.apply.op) not in kinds or v.apply.op.fn not in (None, add):  # type: ignore[attr-defined]
        return None
    return Sparse(v.apply, v.apply.inputs[1]) if is_zeros(v.apply.inputs[0]) else None


def _written_again(s: Sparse, values: Variable, like: Variable) -> Variable:
    """Other values at the same place of zeros of the shape and dtype of a value."""
    base = s.node.inputs[0]
    if like.type.dtype != base.type.dtype:
        base = zeros_like(base, dtype=like.type.dtype)
    return s.node.op(base, values, *s.starts)  # type: ignore[no-any-return]


def _sum_with_sparse(node: Apply, outputs: Any) -> Variable | None:
    """A slice written into zeros and added to something is added there."""
    (y,) = outputs
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        s = sparse(other, SliceUpdate)
        if s is not None and has_shape_of(x, y):
            op: Any = s.node.op
            return SliceUpdate(op.starts, op.steps, add)(x, s.values, *s.starts)  # type: ignore[no-any-return]
    return None


def _sum_with_sparse_elements(node: Apply, outputs: Any) -> Variable | None:
    """Elements scattered into zeros and added to something are scattered there; so is what is added to a sum of such."""
    (y,) = outputs
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        s = sparse(other, Scatter)
        if s is not None and has_shape_of(x, y) and (s.node.op.fn is add or is_unique(s.starts)):  # type: ignore[attr-defined]
            return Scatter(s.node.op.axes, add)(x, s.values, *s.starts)  # type: ignore[attr-defined, no-any-return]
    for x, other in ((a, b), (b, a)):
        below = made_by(other, SliceUpdate) or made_by(other, Scatter)
        if below is None or below.op.fn is not add or not has_shape_of(x, y):  # type: ignore[attr-defined]
            continue
        if made_by(below.inputs[0], SliceUpdate) or made_by(below.inputs[0], Scatter):
            return below.op(add(x, below.inputs[0]), *below.inputs[1:])  # type: ignore[no-any-return]
    return None


def _difference_with_sparse(node: Apply, outputs: Any) -> Variable | None:
    (y,) = outputs
    x, other = node.inputs
    s = sparse(other, SliceUpdate)
    if s is None or not has_shape_of(x, y) or y.type.dtype == "bool":
        return None
    op: Any = s.node.op
    return SliceUpdate(op.starts, op.steps, add)(x, negative(s.values), *s.starts)  # type: ignore[no-any-return]


def _keeps_zeros(node: Apply, outputs: Any) -> Variable | None:
    """F(zeros with values) is zeros with f(values), for functions that keep zeros."""
    (y,) = outputs
    op: Any = node.op
    if type(op) is Cast or op.fn is negative:
        s = sparse(node.inputs[0], SliceUpdate, Scatter)
        if s is None or (s.node.op.fn is add and type(op) is Cast):  # type: ignore[attr-defined]
            return None
        return _written_again(s, op(s.values), y)
    if op.fn is gate:
        return _computed_there(node, y, 0)
    if op.fn is where:
        k = next((k for k in (1, 2) if is_zeros(node.inputs[3 - k])), None)
        return None if k is None else _computed_there(node, y, k)
    return _multiple(node, y)


def _multiple(node: Apply, y: Variable) -> Variable | None:
    """A product with a finite number, or a quotient by one that is not 0."""
    op: Any = node.op
    pairs = (node.inputs, node.inputs[::-1]) if op.fn is multiply else (node.inputs,)
    for v, c in pairs:
        s = sparse(v, SliceUpdate, Scatter)
        if s is None or not isinstance(c, Constant) or c.data.size != 1 or not has_shape_of(v, y):
            continue
        if not np.isfinite(c.data.astype(np.complex128)).all() or (op.fn is divide and not c.data.all()):
            continue
        if s.node.op.fn is add and is_inexact(y.type.dtype) and not is_unique(s.starts):  # type: ignore[attr-defined]
            continue
        c = Constant(c.data.reshape(()))
        return _written_again(s, op(s.values, c) if v is node.inputs[0] else op(c, s.values), y)
    return None


def _computed_there(node: Apply, y: Variable, k: int) -> Variable | None:
    """A function of a sparse operand k, and of what the others have where that was written."""
    v = node.inputs[k]
    s = sparse(v, SliceUpdate)
    if s is None or not has_shape_of(v, y):
        return None
    windows = written_windows(s.node)
    operands = [
        s.values if u is v else read(u, repeated(u, y, windows)) if u.type.ndim else u for u in node.inputs
    ]
    return _written_again(s, node.op(*operands), y)


def _sum_of_sparse(node: Apply, outputs: Any) -> Variable | None:
    """The sum over axes of zeros with values: of the values alone, written along the axes that are left."""
    op: Any = node.op
    (x,) = node.inputs
    s = sparse(x, SliceUpdate)
    if op.fn is not add or s is None:
        return None
    (y,) = outputs
    values = op(s.values)
    left = tuple([w for k, w in zip(range(-x.type.ndim, 0), written_windows(s.node), strict=True) if k not in op.axes])
    if all(w is None for w in left):
        return values  # type: ignore[no-any-return]
    zero = Constant(np.zeros((), numpy_dtype(y.type.dtype)))
    return updated(broadcast_to(zero, y.shape), values, left, None)


def is_unique(indices: tuple[Variable, ...]) -> bool:
    """Whether no position repeats among indices of one shape: known of evenly spaced ones and of constants."""
    if all(v.type.shape and all(n == 1 for n in v.type.shape) for v in indices) or not indices[0].type.ndim:
        return True
    if any(steps_of(v) is not None for v in indices):
        return True
    known = [v.data.reshape(-1) for v in indices if isinstance(v, Constant)]
    if len(known) != len(indices) or known[0].size > LOOKED_AT:
        return False
    return len(set(zip(*(k.tolist() for k in known), strict=True))) == known[0].size


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
    if below.op.fn is None and op.fn is not None and is_unique(tuple(indices)):  # type: ignore[attr-defined]
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
    values = moveaxis(v, 0, axis) if x.type.ndim > 1 else v
    if op.fn not in (None, add):
        return updated(x, op.fn(read(x, tuple(windows)), values), tuple(windows), None)
    return updated(x, values, tuple(windows), op.fn)


def window_of_index(i: Variable, n: Any) -> Window | None:
    """The window that a vector of indices into an axis of length n reads, if it is evenly spaced and lies inside."""
    found: Steps | None = steps_of(i)
    if found is None:
        return None
    w = Window(*found)
    return w if is_inside(w, n) else None


RULES = (
    node_rule(
        "update_in_one_form",
        keys=(SliceUpdate,),
        apply=_in_one_form,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Equal writes are one, and writing everything is the values.",
        example=lambda x: SliceUpdate((0, 0), (1, 1))(x, x[:, :2]),
    ),
    node_rule(
        "update_by_zeros",
        keys=(SliceUpdate,),
        apply=_of_zeros,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Adding zeros changes nothing but -0.0.",
        example=lambda x: SliceUpdate((1,), (1,), add)(x, zeros_like(x)[:, :2]),
        below=(BroadcastTo, Constant),
    ),
    node_rule(
        "update_of_zeros",
        keys=(SliceUpdate,),
        apply=_into_zeros,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="What is added to zeros is written.",
        example=lambda x: SliceUpdate((1,), (1,), add)(zeros_like(x), x[:, :2]),
        below=(BroadcastTo, Constant, SliceUpdate),
    ),
    node_rule(
        "update_by_own_values",
        keys=(SliceUpdate,),
        apply=_own_values,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What is written stands there.",
        example=lambda x: SliceUpdate((1, 0), (1, 1))(x, x[1:3]),
        below=(Slice,),
    ),
    node_rule(
        "update_of_update",
        keys=(SliceUpdate,),
        apply=_over_update,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What is written over need not be written, and what is added to need not be read.",
        example=lambda x: SliceUpdate((0, 0), (1, 1))(SliceUpdate((1, 0), (1, 1))(x, -x[1:2]), x[1:3]),
        below=(SliceUpdate,),
    ),
    node_rule(
        "update_added_twice",
        keys=(SliceUpdate,),
        apply=_added_twice,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One update in place of two at one place.",
        example=lambda x: SliceUpdate((1,), (1,), add)(SliceUpdate((1,), (1,), add)(x, x[:, :2]), x[:, 2:]),
        below=(SliceUpdate,),
    ),
    node_rule(
        "sum_with_slice_in_zeros",
        keys=(add,),
        apply=_sum_with_sparse,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Gradients of slices are added where they belong: no zeros are made and added.",
        example=lambda x: x + SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2]),
        below=(SliceUpdate,),
    ),
    node_rule(
        "sum_with_elements_in_zeros",
        keys=(add,),
        apply=_sum_with_sparse_elements,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="Gradients of gathers are added where they belong: no zeros are made and added.",
        example=lambda x: x + Scatter((-2,), add)(zeros_like(x), x[:2], Constant(np.array([2, 2]))),
        below=(Scatter, SliceUpdate),
    ),
    node_rule(
        "difference_with_slice_in_zeros",
        keys=(subtract,),
        apply=_difference_with_sparse,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Gradients of slices are added where they belong: no zeros are made and subtracted.",
        example=lambda x: x - SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2]),
        below=(SliceUpdate,),
    ),
    node_rule(
        "function_that_keeps_zeros",
        keys=(negative, multiply, divide, gate, where, Cast),
        apply=_keeps_zeros,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Around what was written there are zeros before and after: nothing is computed of them.",
        example=lambda x: gate(SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2]), x),
        below=(SliceUpdate, Scatter),
    ),
    node_rule(
        "sum_of_slice_in_zeros",
        keys=(Reduce,),
        apply=_sum_of_sparse,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="Zeros need not be added up.",
        example=lambda x: Reduce(add, (-1,))(SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2])),
        below=(SliceUpdate,),
    ),
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
        example=lambda x: Scatter((-2,), add)(x, zeros_like(x)[:2], Constant(np.array([2, 0]))),
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
