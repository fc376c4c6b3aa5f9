"""Rules of reductions: axes that need no loop, and factors that leave the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant, as_size_variable
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, Squeeze, broadcast_to, expand_dims_at
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.elementwise.arithmetic import is_finite, is_scalar_constant
from tg.rewrite.rules.shape import made_by
from tg.types.dtypes import is_complex, is_inexact
from tg.types.lengths import product

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _is(v: Variable, fn: Any) -> bool:
    return v.apply is not None and v.apply.op is fn.op


def _single(node: Apply) -> Variable | None:
    """The operand with the reduced axes of length 1 dropped, and the other axes still reduced."""
    op: Any = node.op
    (x,) = node.inputs
    single = tuple(k for k in op.axes if x.type.shape[k] == 1)
    if op.axes and not single:
        return None
    if not single:
        return x
    kept = [k for k in range(-x.type.ndim, 0) if k not in single]
    rest = tuple(kept.index(k) - len(kept) for k in op.axes if k not in single)
    y: Variable = Squeeze(single)(x)
    return Reduce(op.fn, rest, op.total)(y) if rest else y


def _one_element(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    return None if op.fn is add else _single(node)


def _sum_of_one(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    return _single(node) if op.fn is add else None


def _reduce_of_reduce(node: Apply, outputs: Any) -> Any:
    op: Any = node.op
    (x,) = node.inputs
    inner = made_by(x, Reduce)
    if not inner or inner.fn is not op.fn or inner.total != op.total or not inner.axes:
        return None
    y = x.inputs[0]
    kept = [k for k in range(-y.type.ndim, 0) if k not in inner.axes]
    axes = tuple(sorted((*inner.axes, *(kept[k] for k in op.axes))))
    return Reduce(op.fn, axes, op.total)(y)


def _of_negative(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    if op.fn is not add or not _is(x, negative):
        return None
    return negative(Reduce(op.fn, op.axes, op.total)(x.inputs[0]))


def _extreme_of_negative(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    if op.fn not in (maximum, minimum) or not _is(x, negative) or not is_inexact(x.type.dtype):
        return None
    other = minimum if op.fn is maximum else maximum
    return negative(Reduce(other, op.axes, op.total)(x.inputs[0]))


def _of_multiple(node: Apply, outputs: Any) -> Any:
    """sum(x * c) is sum(x) * c, and sum(x / c) is sum(x) / c, for a finite constant other than 0."""
    op: Any = node.op
    (y,) = node.inputs
    if op.fn is not add or is_complex(y.type.dtype) or y.apply is None:
        return None
    fn, pairs = y.apply.op, (y.inputs,) if _is(y, divide) else (y.inputs, y.inputs[::-1]) if _is(y, multiply) else ()
    for x, c in pairs:
        if is_scalar_constant(c) and x.type.ndim == y.type.ndim and _is_plain(c):
            scale = Constant(c.data.reshape(()))  # type: ignore[attr-defined]
            total: Variable = Reduce(add, op.axes)(x)
            return fn(total, scale)
    return None


def _is_plain(c: Any) -> bool:
    return bool(np.isfinite(c.data).all() and c.data.all())


def _sum_of_repeated(node: Apply, outputs: Any) -> Variable | None:
    """The sum of what is repeated along the summed axes is a multiple."""
    op: Any = node.op
    (y,) = node.inputs
    if op.fn is not add or not made_by(y, BroadcastTo) or is_complex(y.type.dtype):
        return None
    x = y.inputs[0]
    old = {k: x.type.shape[k] for k in range(-x.type.ndim, 0)}
    if not all(old.get(k, 1) == 1 and y.type.shape[k] != 1 for k in op.axes):
        return None
    count = product(tuple(y.shape[k] for k in op.axes))
    if not (is_finite(x) or (isinstance(count, int) and count > 0)):
        return None
    gone = tuple(k for k in op.axes if k in old)
    one: Variable = Squeeze(gone)(x) if gone else x
    n = cast_variable(as_size_variable(count), x.type.dtype)
    return broadcast_to(multiply(one, n), outputs[0].shape)


RULES = (
    node_rule(
        "reduce_one_element",
        keys=(Reduce,),
        apply=_one_element,
        phase=CANONICALIZE,
        kind=EXACT,
        why="An axis of length 1, or no axis, leaves nothing to combine.",
        example=lambda x: Reduce(maximum, (-1,), total=True)(expand_dims_at(x, (-1,))),
    ),
    node_rule(
        "sum_one_element",
        keys=(Reduce,),
        apply=_sum_of_one,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="An axis of length 1, or no axis, leaves nothing to add; a sum may turn -0.0 into 0.0.",
        example=lambda x: Reduce(add, (-1,))(expand_dims_at(x, (-1,))),
    ),
    node_rule(
        "reduce_of_reduce",
        keys=(Reduce,),
        apply=_reduce_of_reduce,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One loop over all axes.",
        example=lambda x: Reduce(add, (-1,))(Reduce(add, (-1,))(x)),
    ),
    node_rule(
        "sum_of_negative",
        keys=(Reduce,),
        apply=_of_negative,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="One change of sign in place of one for each element.",
        example=lambda x: Reduce(add, (-1,))(-x),
    ),
    node_rule(
        "extreme_of_negative",
        keys=(Reduce,),
        apply=_extreme_of_negative,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One change of sign in place of one for each element.",
        example=lambda x: Reduce(maximum, (-1,), total=True)(-x),
    ),
    node_rule(
        "sum_of_multiple",
        keys=(Reduce,),
        apply=_of_multiple,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One product in place of one for each element.",
        example=lambda x: Reduce(add, (-1,))(x * 3),
    ),
    node_rule(
        "sum_of_repeated",
        keys=(Reduce,),
        apply=_sum_of_repeated,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One product in place of a loop.",
        example=lambda x: Reduce(add, (-3,))(broadcast_to(x, (3, *x.shape))),
    ),
)
