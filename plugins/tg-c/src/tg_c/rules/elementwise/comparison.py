"""Comparison, logic and choice by a condition. NumPy compares int64 with uint64 by value, so C compares wider ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import comparison as t
from tg.types.dtypes import is_complex
from tg_c.templates import Expression, Written, lanes

if TYPE_CHECKING:
    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg_c.prelude import Element

# As NumPy has it for complex numbers: by the real parts first.
ORDERED: Final = {
    "<": Expression(complex="@before(x, y)"),
    "<=": Expression(complex="x == y || @before(x, y)"),
    ">": Expression(complex="@before(y, x)"),
    ">=": Expression(complex="x == y || @before(y, x)"),
}


def compare(operator: str, boolean: str) -> Rule:
    """The rule of a comparison; `boolean` compares masks."""
    in_lanes = Expression(f"x {operator} y", lanes=lanes(boolean=boolean)).in_lanes

    def rule(op: Op, element: Element) -> str:
        if is_complex(element.dtype) and operator in ORDERED:
            return ORDERED[operator](op, element)
        x, y = element.widened().operands
        wider = "" if element.dtypes[0] == element.dtypes[1] else "(__int128)"
        return f"{wider}{x} {operator} {wider}{y}"

    return Written(rule, in_lanes)


RULES: Final[dict[object, Rule]] = {
    t.equal: compare("==", "~(x ^ y)"),
    t.not_equal: compare("!=", "x ^ y"),
    t.less: compare("<", "~x & y"),
    t.less_equal: compare("<=", "~x | y"),
    t.greater: compare(">", "x & ~y"),
    t.greater_equal: compare(">=", "x | ~y"),
    t.logical_and: Expression("(x != 0) & (y != 0)", boolean="x & y"),
    t.logical_or: Expression("(x != 0) | (y != 0)", boolean="x | y"),
    t.logical_xor: Expression("x ^ y"),
    t.logical_not: Expression("!x", lanes="~x"),
    t.isnan: Expression("0", floating="x != x", complex="x != x"),
    t.isinf: Expression(
        "0", floating="@fabs(x) == @INF", complex="(@fabs(__real__ x) == @INF) | (@fabs(__imag__ x) == @INF)"
    ),
    t.isfinite: Expression(
        "1", floating="@fabs(x) < @INF", complex="(@fabs(__real__ x) < @INF) & (@fabs(__imag__ x) < @INF)"
    ),
    t.signbit: Expression(floating="__builtin_signbit(x) != 0", half="x.bits >> 15", lanes="(@I)x < 0"),
    t.where: Expression("x ? y : z", half="x ? y : z", lanes=lanes("@select(x, y, z)", boolean="(x & y) | (~x & z)")),
}
