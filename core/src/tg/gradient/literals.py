"""Laws of conjunctions and disjunctions, by the *literals* that a conjunction has.

Choices between branches make such conditions: a cotangent that comes from both flows where c holds and where it does
not, which is everywhere, and what is asked of a branch in a branch is within what is asked of the outer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.traversal import key_of
from tg.ops.elementwise.comparison import logical_and, logical_not, logical_or

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.graph.nodes import Variable

    Literal = tuple[tuple[int, int], bool]  # the key of a condition, and whether it holds
    Literals = dict[Literal, Variable]

MOST_PARTS: Final = 32  # of a conjunction or disjunction that are looked at


def is_compound(s: Variable) -> bool:
    """Whether a condition is made of others: of those that are not, none implies another."""
    return s.apply is not None and s.apply.key in (logical_and, logical_or, logical_not)


def literals(s: Variable) -> Literals:
    """The conditions whose conjunction a condition is, each negated or not."""
    return {_literal(v): v for v in _parts(s, logical_and)}


def terms(s: Variable) -> list[Variable]:
    """The conditions whose disjunction a condition is."""
    return _parts(s, logical_or)


def are_opposite(first: Iterable[Literal], second: Literals) -> bool:
    """Whether one condition is negated among others."""
    return any((key, not holds) in second for key, holds in first)


def holds_within(assumed: Literals, s: Variable) -> bool:
    """Whether a disjunction holds wherever some literals do: they have all of one part, or fewer parts themselves."""
    if s.apply is None or s.apply.key is not logical_or:
        return False
    parts = [literals(v).keys() for v in terms(s)]
    if any(assumed.keys() >= part for part in parts):
        return True
    unions = (terms(u) for u in assumed.values() if u.apply is not None and u.apply.key is logical_or)
    return any(all(any(literals(v).keys() >= part for part in parts) for v in union) for union in unions)


def _literal(v: Variable) -> Literal:
    holds = True
    while v.apply is not None and v.apply.key is logical_not:
        v, holds = v.apply.inputs[0], not holds
    return key_of(v), holds


def _parts(s: Variable, fn: object) -> list[Variable]:
    """The parts that a function joins, the whole if there are too many."""
    parts, stack = [], [s]
    while stack:
        v = stack.pop()
        if v.apply is not None and v.apply.key is fn:
            stack += reversed(v.apply.inputs)
        else:
            parts.append(v)
        if len(parts) + len(stack) > MOST_PARTS:
            return [s]
    return parts
