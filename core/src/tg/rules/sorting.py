"""Rules of sorting: what is in order already, and positions where there is no choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.creation import iota
from tg.ops.shape import broadcast_to, expand_dims_at
from tg.ops.sorting import ArgSort, Sort
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of
from tg.rules.shape import made_by
from tg.rules.shape.moved import is_repeated_along

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _in_order(node: Apply, outputs: Any) -> Variable | None:
    """The operand, where it is sorted, has one element along the axis, or repeats along it."""
    op: Any = node.op
    (x,) = node.inputs
    return x if x.type.shape[op.axis] in (0, 1) or made_by(x, Sort) == op or is_repeated_along(x, op.axis) else None


@rule_of(ArgSort, kind=EXACT, example=lambda x: ArgSort(-1)(expand_dims_at(x, (-1,))))
def _positions_in_order(op: Any, x: Variable) -> Variable | None:
    """0, 1, 2, ... where a stable sort moves nothing. A stable sort of what is in order moves nothing."""
    if x.type.shape[op.axis] not in (0, 1) and made_by(x, Sort) != Sort(op.axis) and not is_repeated_along(x, op.axis):
        return None
    places = expand_dims_at(iota(x.shape[op.axis]), tuple(range(op.axis + 1, 0)))
    return broadcast_to(places, x.shape)


RULES = (_positions_in_order,)
