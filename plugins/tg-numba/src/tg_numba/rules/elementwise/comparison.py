"""Comparison, logic and choice by a condition. NumPy compares int64 with uint64 by value, and so does Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import comparison as t
from tg_numba.element import Expression
from tg_numba.rules.elementwise.arithmetic import before

if TYPE_CHECKING:
    from typing import Any

    from tg.plugin.records import Rule


def before_or_equal(x: Any, y: Any) -> Any:
    """Whether a complex number goes before another or is equal to it."""
    return (x == y) | before(x, y)


def after(x: Any, y: Any) -> Any:
    """Whether a complex number goes behind another."""
    return before(y, x)


def after_or_equal(x: Any, y: Any) -> Any:
    """Whether a complex number goes behind another or is equal to it."""
    return (x == y) | before(y, x)


RULES: Final[dict[object, Rule]] = {
    t.equal: Expression("x == y"),
    t.not_equal: Expression("x != y"),
    t.less: Expression("x < y", complex=before),
    t.less_equal: Expression("x <= y", complex=before_or_equal),
    t.greater: Expression("x > y", complex=after),
    t.greater_equal: Expression("x >= y", complex=after_or_equal),
    t.logical_and: Expression("(x != @0) & (y != @0)", boolean="x & y"),
    t.logical_or: Expression("(x != @0) | (y != @0)", boolean="x | y"),
    t.logical_xor: Expression("x ^ y"),
    t.logical_not: Expression("not x"),
    t.isnan: Expression("False", floating="x != x", complex="x != x"),
    t.isinf: Expression(
        "False", floating="fabs(x) == @INF", complex="(fabs(real(x)) == @INF) | (fabs(imag(x)) == @INF)"
    ),
    t.isfinite: Expression(
        "True", floating="fabs(x) < @INF", complex="(fabs(real(x)) < @INF) & (fabs(imag(x)) < @INF)"
    ),
    t.signbit: Expression(floating="is_negative(x)"),
    t.where: Expression("select(x, y, z)"),
}
