"""Sums and signs of what is 0 where a condition does not hold, as derivatives are of what has not been chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, negative, subtract
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.record import align_ranks
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT, SIGNED_ZERO
from tg.rewrite.rule import rule_of
from tg.types.dtypes import is_inexact, is_plain_zeros, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def zero_of(v: Variable) -> Constant:
    """The 0 of a value's dtype."""
    return Constant(np.zeros((), numpy_dtype(v.type.dtype)))


def is_zero(v: Variable) -> bool:
    """Whether a value is a constant of zeros."""
    return isinstance(v, Constant) and not v.data.any()


@rule_of(
    add,
    subtract,
    kind=EXACT,
    below=(where,),
    example=lambda x, y: where(less(x, y), x, zero_of(x)) - where(less(x, y), y, zero_of(x)),
)
def _sum_of_masked_alike(op: Any, first: Variable, second: Variable) -> Variable | None:
    """where(c, x, 0) + where(c, y, 0) as where(c, x + y, 0). One choice in place of two."""
    if not (is_made_by(first, where) and is_made_by(second, where)) or not is_inexact(first.type.dtype):
        return None
    (c, x, a), (other, y, b) = first.inputs, second.inputs
    if c is not other or first.type.dtype != second.type.dtype:
        return None
    if not all(isinstance(z, Constant) and is_plain_zeros(z.data) for z in (a, b)):
        return None
    return where(c, op(*align_ranks((x, y))), zero_of(first))


@rule_of(where, kind=SIGNED_ZERO, below=(negative,), example=lambda x, y: where(less(x, y), -x, zero_of(x)))
def _masked_negative(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """where(c, -x, 0) as -where(c, x, 0); a triangle that is cut out by a constant keeps what it is of.

    Signs move outwards, where they meet sums and other signs.
    """
    is_found = is_made_by(x, negative) and not isinstance(c, Constant)
    if not is_found or not is_zero(y) or not is_inexact(x.type.dtype):
        return None
    return negative(where(c, x.inputs[0], y))


RULES = (_sum_of_masked_alike, _masked_negative)
