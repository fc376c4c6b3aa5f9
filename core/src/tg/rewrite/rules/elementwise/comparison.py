"""Rules of comparison, logic and choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.nodes import Constant
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import ANY, INTEGER, node_rule, rule

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

BOOL: Final = frozenset({"bool"})
TOTAL: Final = INTEGER | BOOL  # dtypes without NaN: of two values one is less, or they are equal


def _known_condition(node: Apply, outputs: Any) -> Variable | None:
    c, x, y = node.inputs
    if not isinstance(c, Constant) or not c.data.size:
        return None
    return x if c.data.all() else y if not c.data.any() else None


def _same_choices(node: Apply, outputs: Any) -> Variable | None:
    _, x, y = node.inputs
    return x if x is y else None


def _negated_condition(node: Apply, outputs: Any) -> Variable | None:
    c, x, y = node.inputs
    return where(c.inputs[0], y, x) if c.apply is not None and c.apply.op is logical_not.op else None


RULES = (
    node_rule(
        "where_known",
        keys=(where,),
        apply=_known_condition,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The condition is known when the function is compiled.",
        example=lambda x, y: where(True, x, y),
    ),
    node_rule(
        "where_same",
        keys=(where,),
        apply=_same_choices,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Both choices are one value.",
        example=lambda x: where(less(x, 1), x, x),
    ),
    node_rule(
        "where_not",
        keys=(where,),
        apply=_negated_condition,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Exchanging the choices costs nothing.",
        example=lambda x, y: where(logical_not(less(x, y)), x, y),
    ),
    rule(
        "double_not",
        match=lambda x: logical_not(logical_not(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="Two negations cancel.",
    ),
    rule(
        "not_equal_from_not",
        match=lambda x, y: logical_not(equal(x, y)),
        replace=not_equal,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=ANY,
        why="One op; also for NaN, which is not equal to anything.",
    ),
    rule(
        "equal_from_not",
        match=lambda x, y: logical_not(not_equal(x, y)),
        replace=equal,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=ANY,
        why="One op; also for NaN, which is not equal to anything.",
    ),
    rule(
        "and_true",
        match=lambda x: logical_and(x, True),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="True is neutral.",
    ),
    rule(
        "and_false",
        match=lambda x: logical_and(x, False),
        replace=lambda x: False,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="False decides.",
    ),
    rule(
        "and_itself",
        match=lambda x: logical_and(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="x and x is x.",
    ),
    rule(
        "or_false",
        match=lambda x: logical_or(x, False),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="False is neutral.",
    ),
    rule(
        "or_true",
        match=lambda x: logical_or(x, True),
        replace=lambda x: True,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="True decides.",
    ),
    rule(
        "or_itself",
        match=lambda x: logical_or(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=BOOL,
        why="x or x is x.",
    ),
    rule(
        "equal_itself",
        match=lambda x: equal(x, x),
        replace=lambda x: True,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=TOTAL,
        why="There is no NaN among integers; lengths are compared so.",
    ),
    rule(
        "less_equal_itself",
        match=lambda x: less_equal(x, x),
        replace=lambda x: True,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=TOTAL,
        why="There is no NaN among integers.",
    ),
    rule(
        "greater_equal_itself",
        match=lambda x: greater_equal(x, x),
        replace=lambda x: True,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=TOTAL,
        why="There is no NaN among integers.",
    ),
    rule(
        "not_equal_itself",
        match=lambda x: not_equal(x, x),
        replace=lambda x: False,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=TOTAL,
        why="There is no NaN among integers.",
    ),
    rule(
        "less_itself",
        match=lambda x: less(x, x),
        replace=lambda x: False,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=ANY,
        why="Nothing is less than itself, NaN included.",
    ),
    rule(
        "greater_itself",
        match=lambda x: greater(x, x),
        replace=lambda x: False,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=ANY,
        why="Nothing is greater than itself, NaN included.",
    ),
)
