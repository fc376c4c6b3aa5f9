"""Comparison, logic and choice by a condition. NumPy compares int64 with uint64 by value, so C compares wider ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import comparison as t
from tg_c.prelude import Expression

if TYPE_CHECKING:
    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg_c.prelude import Element


def compare(operator: str) -> Rule:
    """The rule of a comparison."""

    def rule(op: Op, element: Element) -> str:
        x, y = element.operands
        wider = "" if element.dtypes[0] == element.dtypes[1] else "(__int128)"
        return f"{wider}{x} {operator} {wider}{y}"

    return rule


RULES: Final[dict[object, Rule]] = {
    t.equal: compare("=="),
    t.not_equal: compare("!="),
    t.less: compare("<"),
    t.less_equal: compare("<="),
    t.greater: compare(">"),
    t.greater_equal: compare(">="),
    t.logical_and: Expression("(x != 0) & (y != 0)", boolean="x & y"),
    t.logical_or: Expression("(x != 0) | (y != 0)", boolean="x | y"),
    t.logical_xor: Expression("x ^ y"),
    t.logical_not: Expression("!x"),
    t.isnan: Expression("0", floating="x != x"),
    t.isinf: Expression("0", floating="@fabs(x) == @INF"),
    t.isfinite: Expression("1", floating="@fabs(x) < @INF"),
    t.where: Expression("x ? y : z"),
}
