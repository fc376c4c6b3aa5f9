"""Exponentials and logarithms, by the system's libm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import exponential as t
from tg_c.templates import Expression, Inline

if TYPE_CHECKING:
    from tg.plugin.records import Rule

LOGADDEXP: Final = """\
if (x == y) return x + (@T)0.69314718055994530942; /* infinities of one sign too */
  @T d = x - y;
  return d > 0 ? x + @log1p(@exp(-d)) : d <= 0 ? y + @log1p(@exp(d)) : d;"""
LOGADDEXP_LANES: Final = """\
const @T d = x - y;
  return @select(x == y, x + (@P)0.69314718055994530942, @select(d > 0, x, y) + @log1p(@exp(-@fabs(d))));"""
EXPM1_COMPLEX: Final = """\
const @P a = __real__ x, b = __imag__ x, s = @sin(b / 2);
  return __builtin_complex(@expm1(a) * @cos(b) - 2 * s * s, @exp(a) * @sin(b));"""
LOG1P_COMPLEX: Final = """\
const @P a = __real__ x + 1, b = __imag__ x;
  return __builtin_complex(@log(@hypot(a, b)), @atan2(b, a));"""

RULES: Final[dict[object, Rule]] = {
    t.exp: Expression(floating="@exp(x)", complex="@cexp(x)"),
    t.exp2: Expression(floating="@exp2(x)", complex="@cexp(x * (@P)0.69314718055994530942)"),
    t.expm1: Inline(floating="return @expm1(x);", complex=EXPM1_COMPLEX),
    t.log: Expression(floating="@log(x)", complex="@clog(x)"),
    t.log2: Expression(floating="@log2(x)", complex="@clog(x) * (@P)1.44269504088896340736"),
    t.log10: Expression(floating="@log10(x)", complex="@clog(x) * (@P)0.43429448190325182765"),
    t.log1p: Inline(floating="return @log1p(x);", complex=LOG1P_COMPLEX),
    t.logaddexp: Inline(floating=LOGADDEXP, lanes=LOGADDEXP_LANES),
    t.sigmoid: Inline(
        floating="@T decay = @exp(-@fabs(x));\n  return (x >= 0 ? 1 : decay) / (1 + decay);",
        lanes="@T decay = @exp(-@fabs(x));\n  return @select(x >= 0, @all(1), decay) / (1 + decay);",
    ),
    t.softplus: Inline(
        floating="return (x >= 0 || x != x ? x : 0) + @log1p(@exp(-@fabs(x)));",
        lanes="return @select((x >= 0) | (x != x), x, @all(0)) + @log1p(@exp(-@fabs(x)));",
    ),
}
