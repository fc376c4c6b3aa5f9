"""Rules of values that are zeros but for a part that was written: as gradients of slices and gathers are.

Such a value is written as late as possible: functions that keep zeros are computed of what was written alone, and a sum
writes into its other operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, Variable
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import less, where
from tg.ops.indexing import Scatter, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import Concatenate, ExpandDims, broadcast_to
from tg.rewrite.phases import EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import rule_of_node
from tg.rules.indexing.bounds import is_unique
from tg.rules.indexing.through import repeated
from tg.rules.indexing.windows import Windows, is_everywhere, made_by, placed, read, written_windows
from tg.rules.shape.moved import Moved, every
from tg.types.dtypes import is_inexact, is_plain_zeros, numpy_dtype
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply

LOOKED_AT: Final = 1 << 14  # elements of a constant that are looked at to see whether it is zeros


def is_zeros(v: Variable, *, plain: bool = False) -> bool:
    """Whether a value is known to be zeros; plain ones if none may be -0.0."""

    def holds(u: Variable) -> bool:
        if not isinstance(u, Constant) or u.data.size > LOOKED_AT or u.data.any():
            return False
        return not plain or is_plain_zeros(u.data)

    return every(v, holds)


def has_shape_of(v: Variable, y: Variable) -> bool:
    """Whether a value is known to have the shape of another."""
    return v.type.ndim == y.type.ndim and all(map(equal_here, v.shape, y.shape))


def updated(x: Variable, v: Variable, windows: Windows, fn: Any) -> Variable:
    """x with v written at the windows."""
    if is_everywhere(windows, x):
        values = read(v, windows)
        return values if fn is None else fn(x, values)
    starts, steps, operands = placed(windows, x)
    return SliceUpdate(starts, steps, fn)(x, v, *operands)  # type: ignore[no-any-return]


class Sparse(NamedTuple):
    """A value that is zeros but for what was written into them."""

    node: Apply
    values: Variable

    @property
    def starts(self) -> tuple[Variable, ...]:
        """The operands that say where."""
        return self.node.inputs[2:]


def sparse(v: Variable, *kinds: type, plain: bool = False) -> Sparse | None:
    """The write into zeros (plain ones, if asked for) that makes a value, if it is one by an op of these classes."""
    if v.apply is None or type(v.apply.op) not in kinds or v.apply.op.fn not in (None, add):  # type: ignore[attr-defined]
        return None
    return Sparse(v.apply, v.apply.inputs[1]) if is_zeros(v.apply.inputs[0], plain=plain) else None


def _written_again(s: Sparse, values: Variable, like: Variable) -> Variable:
    """Other values at the same place of zeros of the shape and dtype of a value."""
    base = s.node.inputs[0]
    if like.type.dtype != base.type.dtype:
        base = zeros_like(base, dtype=like.type.dtype)
    return s.node.op(base, values, *s.starts)  # type: ignore[no-any-return]


@rule_of_node(
    add, kind=SIGNED_ZERO, below=(SliceUpdate,), example=lambda x: x + SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2])
)
def _sum_with_slice_in_zeros(node: Apply, outputs: Any) -> Variable | None:
    """A slice written into zeros and added to something is added there.

    Gradients of slices are added where they belong: no zeros are made and added.
    """
    (y,) = outputs
    a, b = node.inputs
    if not (has_shape_of(a, y) and has_shape_of(b, y)):
        return None
    for x, other in ((a, b), (b, a)):
        s = sparse(other, SliceUpdate)
        if s is not None:
            op: Any = s.node.op
            return SliceUpdate(op.starts, op.steps, add)(x, s.values, *s.starts)  # type: ignore[no-any-return]
    return None


@rule_of_node(
    add,
    kind=REASSOCIATES,
    below=(Scatter, SliceUpdate),
    example=lambda x: x + Scatter((-2,), add)(zeros_like(x), x[:2], Constant(np.array([2, 2]))),
)
def _sum_with_elements_in_zeros(node: Apply, outputs: Any) -> Variable | None:
    """Elements scattered into zeros and added to something are scattered there, and so are chains of such.

    Gradients of gathers are added where they belong: no zeros are made and added.
    """
    (y,) = outputs
    a, b = node.inputs
    if not (has_shape_of(a, y) and has_shape_of(b, y)):
        return None
    for x, other in ((a, b), (b, a)):
        s = sparse(other, Scatter)
        if s is not None:
            op: Any = s.node.op
            if op.fn is add or is_unique(s.starts):
                return Scatter(op.axes, add)(x, s.values, *s.starts)  # type: ignore[no-any-return]
    for x, other in ((a, b), (b, a)):
        below = made_by(other, SliceUpdate) or made_by(other, Scatter)
        if below is None or below.op.fn is not add:  # type: ignore[attr-defined]
            continue
        if made_by(below.inputs[0], SliceUpdate) or made_by(below.inputs[0], Scatter):
            return below.op(add(x, below.inputs[0]), *below.inputs[1:])  # type: ignore[no-any-return]
    return None


@rule_of_node(
    where,
    Cast,
    kind=EXACT,
    below=(SliceUpdate, Scatter, ExpandDims),
    example=lambda x: where(less(x, 1), SliceUpdate((1,), (1,), add)(zeros_like(x), x[:, :2]), zeros_like(x)),
)
def _function_that_keeps_zeros(node: Apply, outputs: Any) -> Variable | None:
    """f(zeros with values) is zeros with f(values), for functions that keep zeros as they are.

    Around what was written there are zeros before and after: nothing is computed of them.
    """
    (y,) = outputs
    op: Any = node.op
    if type(op) is Cast:
        s = sparse(node.inputs[0], SliceUpdate, Scatter, plain=True)
        return None if s is None or s.node.op.fn is add else _written_again(s, op(s.values), y)  # type: ignore[attr-defined]
    k = next((k for k in (1, 2) if is_zeros(node.inputs[3 - k], plain=True)), None)
    return None if k is None else _computed_there(node, y, k)


@rule_of_node(
    negative,
    multiply,
    divide,
    kind=SIGNED_ZERO,
    below=(SliceUpdate, Scatter),
    example=lambda x: -SliceUpdate((1,), (1,))(zeros_like(x), x[:, :2]),
)
def _multiple_of_slice_in_zeros(node: Apply, outputs: Any) -> Variable | None:
    """The negative, or the product with or quotient by a finite number that is not 0.

    Around what was written there are zeros before and after: nothing is computed of them.
    """
    (y,) = outputs
    op: Any = node.op
    if op.fn is negative:
        s = sparse(node.inputs[0], SliceUpdate, Scatter)
        return None if s is None else _written_again(s, op(s.values), y)
    v, c = node.inputs  # a constant stands behind
    s = sparse(v, SliceUpdate, Scatter)
    if s is None or not isinstance(c, Constant) or c.data.size != 1 or not has_shape_of(v, y):
        return None
    if s.node.op.fn is add and is_inexact(y.type.dtype) and not is_unique(s.starts):  # type: ignore[attr-defined]
        return None
    factor = c.data.reshape(())
    if not factor or not np.isfinite(factor.astype(np.complex128)):
        return None
    return _written_again(s, op(s.values, Constant(factor)), y)


def _written_whole(v: Variable) -> Sparse | None:
    """A write into plain zeros, of a value that has all their axes."""
    s = sparse(v, SliceUpdate, plain=True)
    return s if s is not None and s.values.type.ndim == v.type.ndim else None


def _computed_there(node: Apply, y: Variable, k: int) -> Variable | None:
    """A function of a sparse operand k, and of what the others have where that was written.

    The sparse one may be repeated along axes that were added to it.
    """
    v = node.inputs[k]
    s = Moved.of(v, ExpandDims, most=1).then(_written_whole)
    if s is None or not _is_repeated(v, s.added, y):
        return None
    windows = s.read(lambda one, index_map: index_map.arranged(written_windows(one.node)))
    values, write = s.again(lambda one: (one.values, one.node.op))
    operands = [values if u is v else read(u, repeated(u, y, windows)) if u.type.ndim else u for u in node.inputs]
    new = node.op(*operands)
    whole = s.with_axes(())
    if whole is not None:
        return _written_again(whole, new, y)
    zeros = broadcast_to(Constant(np.zeros((), numpy_dtype(y.type.dtype))), y.shape)
    return updated(zeros, new, windows, write.fn)  # type: ignore[attr-defined]


def _is_repeated(v: Variable, added: tuple[int, ...], y: Variable) -> bool:
    """Whether a value has the rank of another, and its lengths but along some axes."""
    if v.type.ndim != y.type.ndim:
        return False
    axes = range(-y.type.ndim, 0)
    return all(k in added or equal_here(n, m) for k, n, m in zip(axes, v.shape, y.shape, strict=True))


@rule_of_node(Reduce, kind=REASSOCIATES, below=(SliceUpdate,), example=lambda x: Reduce(add, (-1,))(_in_long_zeros(x)))
def _sum_of_slice_in_zeros(node: Apply, outputs: Any) -> Variable | None:
    """The sum over axes of zeros with values: of the values alone, written along the axes that are left.

    Zeros need not be added up.
    """
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


RULES = (
    _sum_with_slice_in_zeros,
    _sum_with_elements_in_zeros,
    _function_that_keeps_zeros,
    _multiple_of_slice_in_zeros,
    _sum_of_slice_in_zeros,
)


def _in_long_zeros(x: Variable) -> Variable:
    """Rows written into longer rows of zeros: an example."""
    values = Concatenate(-1)(*(x for _ in range(8)))
    base = broadcast_to(Constant(np.zeros((), numpy_dtype(x.type.dtype))), (*x.shape[:-1], values.shape[-1] + 7))
    return SliceUpdate((5,), (1,))(base, values)  # type: ignore[no-any-return]
