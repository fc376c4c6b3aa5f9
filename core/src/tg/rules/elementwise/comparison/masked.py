"""Sums and signs of what is 0 where a condition does not hold, as derivatives are of what has not been chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, negative, subtract
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.record import align_ranks
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import node_rule
from tg.types.dtypes import is_inexact, is_plain_zeros, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def zero_of(v: Variable) -> Constant:
    """The 0 of a value's dtype."""
    return Constant(np.zeros((), numpy_dtype(v.type.dtype)))


def is_zero(v: Variable) -> bool:
    """Whether a value is a constant of zeros."""
    return isinstance(v, Constant) and not v.data.any()


def _alike(node: Apply, outputs: Any) -> Variable | None:
    """where(c, x, 0) + where(c, y, 0) as where(c, x + y, 0)."""
    first, second = node.inputs
    if not (is_made_by(first, where) and is_made_by(second, where)) or not is_inexact(first.type.dtype):
        return None
    (c, x, a), (other, y, b) = first.inputs, second.inputs
    if c is not other or first.type.dtype != second.type.dtype:
        return None
    if not all(isinstance(z, Constant) and is_plain_zeros(z.data) for z in (a, b)):
        return None
    op: Any = node.op
    return where(c, op(*align_ranks((x, y))), zero_of(first))


def _negative(node: Apply, outputs: Any) -> Variable | None:
    """where(c, -x, 0) as -where(c, x, 0); a triangle that is cut out by a constant keeps what it is of."""
    c, x, y = node.inputs
    is_found = is_made_by(x, negative) and not isinstance(c, Constant)
    if not is_found or not is_zero(y) or not is_inexact(x.type.dtype):
        return None
    return negative(where(c, x.inputs[0], y))


RULES = (
    node_rule(
        "sum_of_masked_alike",
        keys=(add, subtract),
        apply=_alike,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One choice in place of two.",
        example=lambda x, y: where(less(x, y), x, zero_of(x)) - where(less(x, y), y, zero_of(x)),
        below=(where,),
    ),
    node_rule(
        "masked_negative",
        keys=(where,),
        apply=_negative,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Signs move outwards, where they meet sums and other signs.",
        example=lambda x, y: where(less(x, y), -x, zero_of(x)),
        below=(negative,),
    ),
)
