"""Arithmetic on elements. Integers wrap (-fwrapv); no division reaches the processor that could raise a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import arithmetic as t
from tg_c.prelude import Expression, Inline

if TYPE_CHECKING:
    from tg.plugin.records import Rule

# NumPy's npy_floor_divide and npy_remainder: Python's signs, nan for inf // y, the quotient snapped to an integer.
FLOOR_DIVIDE_FLOATING: Final = """\
if (y == 0) return x / y;
  @T r = @fmod(x, y), q = (x - r) / y;
  if (r != 0 && (y < 0) != (r < 0)) q -= 1;
  if (q == 0) return @copysign(0, x / y);
  @T whole = @floor(q);
  return q - whole > (@T)0.5 ? whole + 1 : whole;"""
REMAINDER_FLOATING: Final = """\
@T r = @fmod(x, y);
  if (y == 0) return r;
  if (r == 0) return @copysign(0, y);
  return (y < 0) != (r < 0) ? r + y : r;"""
FLOOR_DIVIDE_SIGNED: Final = """\
if (y == 0) return 0;
  if (y == -1) return (@T)(0 - (@U)x);
  @T q = x / y;
  return q - (q * y != x && (x < 0) != (y < 0));"""
REMAINDER_SIGNED: Final = """\
if (y == 0 || y == -1) return 0;
  @T r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;"""
POWER_INTEGER: Final = """\
@T p = 1;
  for (@U e = @CLAMPED; e; e >>= 1, x *= x)
    if (e & 1) p *= x;
  return p;"""

RULES: Final[dict[object, Rule]] = {
    t.add: Expression("x + y", boolean="x | y"),
    t.subtract: Expression("x - y"),
    t.multiply: Expression("x * y", boolean="x & y"),
    t.divide: Expression(floating="x / y"),
    t.floor_divide: Inline(
        signed=FLOOR_DIVIDE_SIGNED, unsigned="return y ? x / y : 0;", floating=FLOOR_DIVIDE_FLOATING
    ),
    t.remainder: Inline(signed=REMAINDER_SIGNED, unsigned="return y ? x % y : 0;", floating=REMAINDER_FLOATING),
    t.power: Inline(
        signed=POWER_INTEGER.replace("@CLAMPED", "y < 0 ? 0 : y"),
        unsigned=POWER_INTEGER.replace("@CLAMPED", "y"),
        floating="return @pow(x, y);",
    ),
    t.negative: Expression("-x"),
    t.absolute: Expression(boolean="x", unsigned="x", signed="x < 0 ? -x : x", floating="@fabs(x)"),
    t.sign: Expression(unsigned="x != 0", signed="(x > 0) - (x < 0)", floating="x != x ? x : (@T)((x > 0) - (x < 0))"),
    t.square: Expression("x * x"),
    t.sqrt: Expression(floating="@sqrt(x)"),
    t.reciprocal: Expression(signed="x == 1 || x == -1 ? x : 0", unsigned="x == 1", floating="1 / x"),
    t.maximum: Expression("x > y ? x : y", boolean="x | y", floating="x >= y || x != x ? x : y"),
    t.minimum: Expression("x < y ? x : y", boolean="x & y", floating="x <= y || x != x ? x : y"),
    t.clip: Inline(
        "@T raised = x > y ? x : y;\n  return raised < z ? raised : z;",
        boolean="return (x | y) & z;",
        floating="@T raised = x != x || x > y ? x : y;\n  return raised != raised || raised < z ? raised : z;",
    ),
    t.gate: Expression("x == 0 ? 0 : x * y", boolean="x & y"),
}
