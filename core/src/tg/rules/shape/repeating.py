"""Repeating: broadcasts merged and dropped, made of the smallest value, and what is computed before they repeat it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import BroadcastTo, ExpandDims, SumTo, broadcast_to, sum_to
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES
from tg.rewrite.rule import node_rule
from tg.rules.shape.terms import arranged, made_by, places_of, same_shape

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _of_broadcast(node: Apply, outputs: Any) -> Any:
    """The inner broadcast, and the axes in front that an expand_dims adds, are not needed."""
    x, *sizes = node.inputs
    if made_by(x, BroadcastTo):
        return node.op(x.inputs[0], *sizes)
    expand = made_by(x, ExpandDims)
    if not expand or -x.type.ndim not in expand.axes:
        return None
    places = places_of(expand, x.inputs[0].type.ndim)
    first = next((k for k, p in enumerate(places) if p is not None), len(places))
    return node.op(arranged(x.inputs[0], places[first:]), *sizes)


def _sum_to(node: Apply, outputs: Any) -> Any:
    return node.op.expansion(*node.inputs)


def _elementwise(node: Apply, outputs: Any) -> Any:
    """f(broadcast_to(x), y) is f(x, y), repeated where y does not repeat it anyway."""
    op: Any = node.op
    operands = [v.inputs[0] if made_by(v, BroadcastTo) else v for v in node.inputs]
    return op.fn(*operands) if type(op) is Elementwise else op(*operands)


def one_value(v: Variable) -> Constant | None:
    """The 0-d constant of which an array constant is made, where all its elements have the same bits."""
    if type(v) is not Constant or v.data.ndim == 0 or v.data.size == 0:
        return None
    bits = np.ascontiguousarray(v.data).ravel().view(np.uint8).reshape(v.data.size, v.data.itemsize)
    if not (bits[0] == bits[-1]).all() or not (bits == bits[0]).all():
        return None
    return Constant(v.data.ravel()[0].reshape(()).copy())


def _constant(node: Apply, outputs: Any) -> Any:
    """f(x, c) for an array c of one value is f(x, that value), repeated where only c had the shape."""
    constants = [one_value(v) for v in node.inputs]
    if not any(c is not None for c in constants):
        return None
    operands = [v if c is None else c for v, c in zip(node.inputs, constants, strict=True)]
    op: Any = node.op
    return op.fn(*operands) if type(op) is Elementwise else op(*operands)


RULES = (
    node_rule(
        "broadcast_to_same",
        keys=(BroadcastTo, SumTo),
        apply=same_shape,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Nothing is repeated.",
        example=lambda x: BroadcastTo(x.type.shape)(x),
    ),
    node_rule(
        "broadcast_of_broadcast",
        keys=(BroadcastTo,),
        below=(BroadcastTo, ExpandDims),
        apply=_of_broadcast,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Only the last shape counts; axes in front are added by repeating.",
        example=lambda x: broadcast_to(broadcast_to(x, (2, *x.shape)), (3, 2, *x.shape)),
    ),
    node_rule(
        "sum_to_is_known",
        keys=(SumTo,),
        apply=_sum_to,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="A specialised graph knows which lengths are 1, and so the axes to sum.",
        example=lambda x: sum_to(x, (1, x.shape[-1])),
    ),
    node_rule(
        "elementwise_of_broadcast",
        keys=(Elementwise, Cast),
        below=(BroadcastTo,),
        apply=_elementwise,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Operands repeat by themselves, and what is computed before repeating is computed once.",
        example=lambda x: -broadcast_to(x, (2, *x.shape)),
    ),
    node_rule(
        "constant_of_one_value",
        keys=(Elementwise, BroadcastTo),
        below=(Constant,),
        apply=_constant,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A constant array of one value is a scalar that repeats: smaller, and rules of scalars see it.",
        example=lambda x: x + Constant(np.full((4, 4), 3.0, x.type.numpy_dtype)),
    ),
)
