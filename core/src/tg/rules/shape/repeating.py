"""Repeating: broadcasts merged and dropped, made of the smallest value, and what is computed before they repeat it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import BroadcastTo, ExpandDims, SumTo, broadcast_to, sum_to
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES
from tg.rewrite.rule import node_rule, rule_of
from tg.rules.shape.terms import arranged, made_by, places_of, same_shape

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(
    BroadcastTo,
    kind=EXACT,
    below=(BroadcastTo, ExpandDims),
    example=lambda x: broadcast_to(broadcast_to(x, (2, *x.shape)), (3, 2, *x.shape)),
)
def _broadcast_of_broadcast(op: Any, x: Variable, *sizes: Variable) -> Any:
    """The inner broadcast, and the axes in front that an expand_dims adds, are not needed.

    Only the last shape counts; axes in front are added by repeating.
    """
    if made_by(x, BroadcastTo):
        return op(x.inputs[0], *sizes)
    expand = made_by(x, ExpandDims)
    if not expand or -x.type.ndim not in expand.axes:
        return None
    places = places_of(expand, x.inputs[0].type.ndim)
    first = next((k for k, p in enumerate(places) if p is not None), len(places))
    return op(arranged(x.inputs[0], places[first:]), *sizes)


@rule_of(SumTo, kind=REASSOCIATES, example=lambda x: sum_to(x, (1, x.shape[-1])))
def _sum_to_is_known(op: Any, *operands: Variable) -> Any:
    """A specialised graph knows which lengths are 1, and so the axes to sum."""
    return op.expansion(*operands)


@rule_of(Elementwise, Cast, kind=EXACT, below=(BroadcastTo,), example=lambda x: -broadcast_to(x, (2, *x.shape)))
def _elementwise_of_broadcast(op: Any, *inputs: Variable) -> Any:
    """f(broadcast_to(x), y) is f(x, y), repeated where y does not repeat it anyway.

    Operands repeat by themselves, and what is computed before repeating is computed once.
    """
    operands = [v.inputs[0] if made_by(v, BroadcastTo) else v for v in inputs]
    return op.fn(*operands) if type(op) is Elementwise else op(*operands)


def one_value(v: Variable) -> Constant | None:
    """The 0-d constant of which an array constant is made, where all its elements have the same bits."""
    if type(v) is not Constant or v.data.ndim == 0 or v.data.size == 0:
        return None
    bits = np.ascontiguousarray(v.data).ravel().view(np.uint8).reshape(v.data.size, v.data.itemsize)
    if not (bits[0] == bits[-1]).all() or not (bits == bits[0]).all():
        return None
    return Constant(v.data.ravel()[0].reshape(()).copy())


@rule_of(
    Elementwise,
    BroadcastTo,
    kind=EXACT,
    below=(Constant,),
    example=lambda x: x + Constant(np.full((4, 4), 3.0, x.type.numpy_dtype)),
)
def _constant_of_one_value(op: Any, *inputs: Variable) -> Any:
    """f(x, c) for an array c of one value is f(x, that value), repeated where only c had the shape.

    A constant array of one value is a scalar that repeats: smaller, and rules of scalars see it.
    """
    constants = [one_value(v) for v in inputs]
    if not any(c is not None for c in constants):
        return None
    operands = [v if c is None else c for v, c in zip(inputs, constants, strict=True)]
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
    _broadcast_of_broadcast,
    _sum_to_is_known,
    _elementwise_of_broadcast,
    _constant_of_one_value,
)
