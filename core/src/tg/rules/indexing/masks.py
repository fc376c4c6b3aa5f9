"""Rules of masks: a scalar condition stays outside of what is moved, written and joined.

Derivatives carry the conditions of the program along with everything that was cut, written or summed. A condition that
is one for a whole array, as that of valid parameters is, is said last: the mask within is a constant then.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, Variable
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.comparison import greater, logical_and, logical_or
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import broadcast_to
from tg.ops.sized_ops import BroadcastTo, SumTo
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of
from tg.rules.indexing.sparse import is_zeros
from tg.rules.indexing.windows import made_by

MOVED: Final = (Gather, Slice)  # reshaping leaves elementwise functions by rules of its own
JOINED: Final = (Accumulate, Reduce, SumTo)
WRITTEN: Final = (Scatter, SliceUpdate)
TRUE: Final = Constant(np.asarray(True))


class Guarded(NamedTuple):
    """The conjunction of a scalar condition and a mask."""

    scalar: Variable
    mask: Variable


def guarded(v: Variable) -> Guarded | None:
    """A mask as a scalar condition and a rest, if it is made so."""
    if is_made_by(v, logical_and):
        for scalar, mask in (v.apply.inputs, v.apply.inputs[::-1]):  # type: ignore[union-attr]
            if not scalar.type.ndim and mask.type.ndim:
                return Guarded(scalar, mask)
    repeated = made_by(v, BroadcastTo)
    if repeated is not None:
        scalar = repeated.inputs[0]
        if not scalar.type.ndim and not isinstance(scalar, Constant):
            return Guarded(scalar, broadcast_to(TRUE, v.shape))
    return None


@rule_of(
    *MOVED,
    *JOINED,
    kind=EXACT,
    below=(logical_and,),
    example=lambda x, y: Slice((0,), (1,), (1,))(logical_and(_scalar(x), greater(y, 0))),
)
def _guard_of_moved_mask(op: Any, x: Variable, *rest: Variable) -> Variable | None:
    """f(u and m) as u and f(m), where f moves masks or joins their elements by `or`.

    The condition is decided once, and the mask within may be a constant.
    """
    if x.type.dtype != "bool" or (isinstance(op, Accumulate | Reduce) and op.fn not in (add, logical_or)):
        return None
    if not is_made_by(x, logical_and):
        return None  # what is repeated alone has rules of its own
    parts = guarded(x)
    return None if parts is None else logical_and(parts.scalar, op(parts.mask, *rest))


@rule_of(
    *WRITTEN,
    kind=EXACT,
    below=(logical_and, BroadcastTo),
    example=lambda x, y: SliceUpdate((0,), (1,))(
        broadcast_to(np.asarray(False), y.shape), logical_and(_scalar(x), greater(y, 0))
    ),
)
def _guard_of_written_mask(op: Any, base: Variable, value: Variable, *places: Variable) -> Variable | None:
    """u and m written into False. The condition is decided once, and the mask within may be a constant."""
    if value.type.dtype != "bool" or op.fn not in (None, add) or not is_zeros(base):
        return None
    parts = guarded(value)
    return None if parts is None else logical_and(parts.scalar, op(base, parts.mask, *places))


@rule_of(
    logical_or,
    logical_and,
    kind=EXACT,
    below=(logical_and, BroadcastTo),
    example=lambda x, y: logical_or(logical_and(_scalar(x), greater(x, 0)), logical_and(_scalar(x), greater(y, 0))),
)
def _guard_of_masks(op: Any, *operands: Variable) -> Variable | None:
    """(u and m) or (u and n) as u and (m or n), and likewise with `and`.

    The condition is decided once, and the masks within may be constants.
    """
    first, second = map(guarded, operands)
    if first is None or second is None or first.scalar is not second.scalar:
        return None
    return logical_and(first.scalar, op(first.mask, second.mask))


def _scalar(x: Variable) -> Variable:
    return Reduce(logical_or, (-2, -1))(greater(x, 0))  # type: ignore[no-any-return]


RULES = (_guard_of_moved_mask, _guard_of_written_mask, _guard_of_masks)
