"""Exponentials and logarithms, by the system's libm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import exponential as t
from tg_c.prelude import Expression, Inline

if TYPE_CHECKING:
    from tg.plugin.records import Rule

LOGADDEXP: Final = """\
if (x == y) return x + (@T)0.69314718055994530942; /* infinities of one sign too */
  @T d = x - y;
  return d > 0 ? x + @log1p(@exp(-d)) : d <= 0 ? y + @log1p(@exp(d)) : d;"""

RULES: Final[dict[object, Rule]] = {
    t.exp: Expression(floating="@exp(x)"),
    t.exp2: Expression(floating="@exp2(x)"),
    t.expm1: Expression(floating="@expm1(x)"),
    t.log: Expression(floating="@log(x)"),
    t.log2: Expression(floating="@log2(x)"),
    t.log10: Expression(floating="@log10(x)"),
    t.log1p: Expression(floating="@log1p(x)"),
    t.logaddexp: Inline(floating=LOGADDEXP),
    t.sigmoid: Inline(floating="@T decay = @exp(-@fabs(x));\n  return (x >= 0 ? 1 : decay) / (1 + decay);"),
    t.softplus: Inline(floating="return (x >= 0 || x != x ? x : 0) + @log1p(@exp(-@fabs(x)));"),
}
