"""Conditions that follow from others: conjunctions and disjunctions in which one decides the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.comparison import less, logical_and, logical_or
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of_node

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

MOST_ASKED: Final = 24  # pairs of conditions


def implies(c: Variable, d: Variable) -> bool:
    """Whether a condition holds wherever another does, read off the conjunctions and disjunctions that they are."""
    if c is d:
        return True
    if not any(is_made_by(v, fn) for v in (c, d) for fn in (logical_and, logical_or)):
        return False
    return _implies(c, d, [MOST_ASKED])


def _implies(c: Variable, d: Variable, left: list[int]) -> bool:
    if c is d:
        return True
    if not left[0]:
        return False
    left[0] -= 1
    if is_made_by(c, logical_or):
        return all(_implies(v, d, left) for v in c.inputs)
    if is_made_by(d, logical_and):
        return all(_implies(c, v, left) for v in d.inputs)
    return (is_made_by(c, logical_and) and any(_implies(v, d, left) for v in c.inputs)) or (
        is_made_by(d, logical_or) and any(_implies(c, v, left) for v in d.inputs)
    )


@rule_of_node(
    logical_and,
    logical_or,
    kind=EXACT,
    below=(logical_and, logical_or),
    example=lambda x, y, z: logical_or(
        logical_and(less(x, y), logical_and(less(y, z), less(x, z))), logical_and(less(x, y), less(x, z))
    ),
)
def _implied_condition(node: Apply, outputs: Any) -> Variable | None:
    """x and y as x, and x or y as y, where y holds wherever x does.

    What follows from a condition is not asked beside it.
    """
    x, y = node.inputs
    if x.type.dtype != "bool" or y.type.dtype != "bool":
        return None
    first, second = implies(x, y), implies(y, x)
    if not first and not second:
        return None
    return x if first == (node.key is logical_and) else y


RULES = (_implied_condition,)
