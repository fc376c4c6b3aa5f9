"""Trigonometric and hyperbolic functions, by the system's libm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import trigonometric as t
from tg_c.templates import Expression, Inline

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.sin: Expression(floating="@sin(x)", complex="@csin(x)"),
    t.cos: Expression(floating="@cos(x)", complex="@ccos(x)"),
    t.tan: Expression(floating="@tan(x)", complex="@ctan(x)"),
    t.arcsin: Expression(floating="@asin(x)", complex="@casin(x)"),
    t.arccos: Expression(floating="@acos(x)", complex="@cacos(x)"),
    t.arctan: Expression(floating="@atan(x)", complex="@catan(x)"),
    t.arctan2: Expression(floating="@atan2(x, y)"),
    t.sinh: Expression(floating="@sinh(x)", complex="@csinh(x)"),
    t.cosh: Expression(floating="@cosh(x)", complex="@ccosh(x)"),
    t.tanh: Expression(floating="@tanh(x)", complex="@ctanh(x)"),
    t.arcsinh: Expression(floating="@asinh(x)", complex="@casinh(x)"),
    t.arccosh: Expression(floating="@acosh(x)", complex="@cacosh(x)"),
    t.arctanh: Expression(floating="@atanh(x)", complex="@catanh(x)"),
    t.sinc: Inline(
        floating="const @T a = (@P)3.14159265358979323846 * x;\n  return a == 0 ? 1 : @sin(a) / a;",
        lanes="const @T a = (@P)3.14159265358979323846 * x;\n  return @select(a == 0, @all(1), @sin(a) / a);",
    ),
}
