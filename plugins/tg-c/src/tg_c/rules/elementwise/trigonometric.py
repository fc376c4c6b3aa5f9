"""Trigonometric and hyperbolic functions, by the system's libm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import trigonometric as t
from tg_c.prelude import Expression, Inline

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.sin: Expression(floating="@sin(x)"),
    t.cos: Expression(floating="@cos(x)"),
    t.tanh: Expression(floating="@tanh(x)"),
    t.sinc: Inline(floating="const @T a = (@T)3.14159265358979323846 * x;\n  return a == 0 ? 1 : @sin(a) / a;"),
}
