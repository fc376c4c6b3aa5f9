"""Rules of running results: of one element, of what repeats, of opposites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import Constant
from tg.ops.creation import iota
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add, maximum, multiply, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.shape import BroadcastTo, broadcast_to, expand_dims_at
from tg.rewrite.phases import EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import rule_of
from tg.rules.shape import wanted_shape
from tg.rules.shape.moved import Moved, every, is_repeated_along
from tg.types.dtypes import is_complex, is_inexact

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _of_one(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    return x if x.type.shape[op.axis] in (0, 1) else None


@rule_of(
    Accumulate,
    kind=EXACT,
    below=(BroadcastTo,),
    example=lambda x: Accumulate(maximum, -3)(broadcast_to(x, (3, *x.shape))),
)
def _running_of_repeated(op: Any, x: Variable) -> Variable | None:
    """The running extreme of what repeats is itself, and so are sums of zeros and products of ones.

    More of the same changes nothing.
    """
    if not is_repeated_along(x, op.axis):
        return None
    if op.reduction.is_idempotent(x.type.dtype):
        return x
    start = op.reduction.identity(x.type.dtype)
    return x if every(x, lambda y: isinstance(y, Constant) and bool((y.data == start).all())) else None


@rule_of(
    Accumulate,
    kind=REASSOCIATES,
    below=(BroadcastTo,),
    example=lambda x: Accumulate(add, -3)(broadcast_to(cast_variable(x, "float32"), (7, *x.shape))),
)
def _running_sum_of_repeated(op: Any, x: Variable) -> Variable | None:
    """The running sum of what repeats is its multiples. Multiples are computed side by side, sums one after another."""
    dtype = x.type.dtype
    if not is_repeated_along(x, op.axis) or op.fn is not add or dtype == "float16" or is_complex(dtype):
        return None
    assert x.apply is not None
    wanted = wanted_shape(x.op, x.apply)
    n = cast_variable(iota(wanted[op.axis]) + 1, dtype)
    y = Moved.of(x, BroadcastTo).unrepeated()
    return broadcast_to(multiply(y, expand_dims_at(n, tuple(range(op.axis + 1, 0)))), wanted)


@rule_of(Accumulate, kind=SIGNED_ZERO, below=(negative,), example=lambda x: Accumulate(add, -1)(-x))
def _running_sum_of_negative(op: Any, x: Variable) -> Variable | None:
    """Signs go outwards, where they meet others."""
    if op.fn is not add:
        return None
    return negative(Accumulate(add, op.axis)(x.inputs[0]))


def _extreme_of_negative(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    if not op.reduction.is_extreme or not is_inexact(x.type.dtype):
        return None
    return negative(Accumulate(op.reduction.dual, op.axis)(x.inputs[0]))


RULES = (_running_of_repeated, _running_sum_of_repeated, _running_sum_of_negative)
