"""Arithmetic on elements. Integers wrap (-fwrapv); no division reaches the processor that could raise a signal.

Complex products and quotients are NumPy's (see `tg_c.complex`), not those of C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import arithmetic as t
from tg_c.templates import Expression, Inline, lanes

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
FLOOR_DIVIDE_FLOATING_LANES: Final = """\
const @T r = @fmod(x, y), q = (x - r) / y - @number((r != 0) & ((y < 0) ^ (r < 0)));
  const @T whole = @floor(q), snapped = whole + @number(q - whole > (@P)0.5);
  return @select(y == 0, x / y, @select(q == 0, @copysign(@all(0), x / y), snapped));"""
REMAINDER_FLOATING_LANES: Final = """\
const @T r = @fmod(x, y), other = r + @select((y < 0) ^ (r < 0), y, @all(0));
  return @select(y == 0, r, @select(r == 0, @copysign(@all(0), y), other));"""
FLOOR_DIVIDE_SIGNED: Final = """\
if (y == 0) return 0;
  if (y == -1) return (@T)(0 - (@U)x);
  @T q = x / y;
  return q - (q * y != x && (x < 0) != (y < 0));"""
REMAINDER_SIGNED: Final = """\
if (y == 0 || y == -1) return 0;
  @T r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;"""
# The quotient of numbers of n bits in floating numbers of 2 n and more digits rounds to no integer that it is not.
FLOOR_DIVIDE_SIGNED_LANES: Final = """\
const @T d = @select((y == 0) | (y == -1), @all(1), y), t = @whole(@float(x) / @float(d));
  const @T q = t + ((t * d != x) & ((x < 0) ^ (d < 0)));
  return @select(y == -1, -x, q & (y != 0));"""
REMAINDER_SIGNED_LANES: Final = """\
const @T d = @select((y == 0) | (y == -1), @all(1), y), t = @whole(@float(x) / @float(d));
  const @T q = t + ((t * d != x) & ((x < 0) ^ (d < 0)));
  return x - q * d;"""
FLOOR_DIVIDE_UNSIGNED_LANES: Final = """\
const @T d = @select(y == 0, @all(1), y);
  return @whole(@float(x) / @float(d)) & (@T)(y != 0);"""
REMAINDER_UNSIGNED_LANES: Final = """\
const @T d = @select(y == 0, @all(1), y);
  return x - @whole(@float(x) / @float(d)) * d;"""
POWER_INTEGER: Final = """\
@T p = 1;
  for (@U e = @CLAMPED; e; e >>= 1, x *= x)
    if (e & 1) p *= x;
  return p;"""
# Small whole exponents by products, as NumPy's npy_cpow.
POWER_COMPLEX: Final = """\
const @P a = __real__ y;
  if (y == 0) return 1;
  if (x == 0) return a > 0 ? 0 : __builtin_complex(@NAN, @NAN);
  if (__imag__ y != 0 || !(a > -100 && a < 100) || a != (int)a) return @cpow(x, y);
  if (a == 1) return x;
  @T p = 1, f = x;
  for (int e = a < 0 ? -(int)a : (int)a; e; e >>= 1) {
    if (e & 1) p = @multiplied(p, f);
    if (e > 1) f = @multiplied(f, f);
  }
  return a < 0 ? @divided(1, p) : p;"""
RECIPROCAL_COMPLEX: Final = """\
const @P a = __real__ x, b = __imag__ x;
  if (@fabs(b) <= @fabs(a)) {
    const @P r = b / a, d = a + b * r;
    return __builtin_complex(1 / d, -r / d);
  }
  const @P r = a / b, d = a * r + b;
  return __builtin_complex(r / d, -1 / d);"""
# NumPy's clip orders by the parts alone: NaN in the imaginary part of a limit counts only beside an equal real part.
CLIP_COMPLEX: Final = """\
const @P a = __real__ x, b = __real__ y;
  const @T raised = x != x || (a == b ? __imag__ x > __imag__ y : a > b) ? x : y;
  const @P c = __real__ raised, d = __real__ z;
  return raised != raised || (c == d ? __imag__ raised < __imag__ z : c < d) ? raised : z;"""
SIGN_COMPLEX: Final = """\
const @P a = __real__ x, b = __imag__ x, size = @hypot(a, b);
  if (size == 0) return 0;
  if (size != @INF) return __builtin_complex(a / size, b / size);
  const b8 left = @fabs(a) == @INF, up = @fabs(b) == @INF;
  if (left && up) return __builtin_complex(@NAN, @NAN);
  return left ? @copysign(1, a) : __builtin_complex((@P)0, @copysign(1, b));"""

# The bits of a half, without its sign, are in the order of its values.
NEXTAFTER_HALF: Final = """\
const f32 a = @widened(x), b = @widened(y);
  if (a != a || b == a) return a != a ? x : y;
  if (b != b) return y;
  if (a == 0) return (@T){(u16)((y.bits & 0x8000) | 1)};
  return (@T){(u16)((a < b) == (a > 0) ? x.bits + 1 : x.bits - 1)};"""

RULES: Final[dict[object, Rule]] = {
    t.add: Expression("x + y", boolean="x | y"),
    t.subtract: Expression("x - y"),
    t.multiply: Expression("x * y", boolean="x & y", complex="@multiplied(x, y)"),
    t.divide: Expression(floating="x / y", complex="@divided(x, y)"),
    t.floor_divide: Inline(
        signed=FLOOR_DIVIDE_SIGNED,
        unsigned="return y ? x / y : 0;",
        floating=FLOOR_DIVIDE_FLOATING,
        lanes=lanes(
            signed=FLOOR_DIVIDE_SIGNED_LANES,
            unsigned=FLOOR_DIVIDE_UNSIGNED_LANES,
            floating=FLOOR_DIVIDE_FLOATING_LANES,
        ),
        wide=True,
    ),
    t.remainder: Inline(
        signed=REMAINDER_SIGNED,
        unsigned="return y ? x % y : 0;",
        floating=REMAINDER_FLOATING,
        lanes=lanes(
            signed=REMAINDER_SIGNED_LANES, unsigned=REMAINDER_UNSIGNED_LANES, floating=REMAINDER_FLOATING_LANES
        ),
        wide=True,
    ),
    t.power: Inline(
        signed=POWER_INTEGER.replace("@CLAMPED", "y < 0 ? 0 : y"),
        unsigned=POWER_INTEGER.replace("@CLAMPED", "y"),
        floating="return @pow(x, y);",
        complex=POWER_COMPLEX,
    ),
    t.negative: Expression("-x"),
    t.absolute: Expression(
        boolean="x",
        unsigned="x",
        signed="x < 0 ? -x : x",
        floating="@fabs(x)",
        complex="@hypot(__real__ x, __imag__ x)",
        lanes=lanes(signed="@select(x < 0, -x, x)"),
    ),
    t.sign: Inline(
        unsigned="return x != 0;",
        signed="return (x > 0) - (x < 0);",
        floating="return x != x ? x : (@T)((x > 0) - (x < 0));",
        complex=SIGN_COMPLEX,
        lanes=lanes(
            unsigned="return -(@T)(x != 0);",
            signed="return (x < 0) - (x > 0);",
            floating="return @select(x != x, x, @number(x > 0) - @number(x < 0));",
        ),
    ),
    t.square: Expression("x * x", complex="@multiplied(x, x)"),
    t.sqrt: Expression(floating="@sqrt(x)", complex="@csqrt(x)"),
    t.reciprocal: Inline(
        signed="return x == 1 || x == -1 ? x : 0;",
        unsigned="return x == 1;",
        floating="return 1 / x;",
        complex=RECIPROCAL_COMPLEX,
        lanes=lanes(signed="return x & ((x == 1) | (x == -1));", unsigned="return -(@T)(x == 1);"),
    ),
    t.maximum: Expression(
        "x > y ? x : y",
        boolean="x | y",
        floating="x >= y || x != x ? x : y",
        complex="x == y || x != x || @before(y, x) ? x : y",
        lanes=lanes(integer="@most(x, y)", floating="@larger(x, y)"),
    ),
    t.minimum: Expression(
        "x < y ? x : y",
        boolean="x & y",
        floating="x <= y || x != x ? x : y",
        complex="x == y || x != x || @before(x, y) ? x : y",
        lanes=lanes(integer="@least(x, y)", floating="@smaller(x, y)"),
    ),
    t.clip: Inline(
        "@T raised = x > y ? x : y;\n  return raised < z ? raised : z;",
        boolean="return (x | y) & z;",
        floating="@T raised = x != x || x > y ? x : y;\n  return raised != raised || raised < z ? raised : z;",
        complex=CLIP_COMPLEX,
        lanes=lanes(
            boolean="return (x | y) & z;",
            integer="@T raised = @select(x > y, x, y);\n  return @select(raised < z, raised, z);",
            floating="@T raised = @select((x != x) | (x > y), x, y);\n"
            "  return @select((raised != raised) | (raised < z), raised, z);",
        ),
    ),
    t.cbrt: Expression(floating="@cbrt(x)"),
    t.hypot: Expression(floating="@hypot(x, y)"),
    t.copysign: Expression(floating="@copysign(x, y)"),
    t.nextafter: Inline(floating="return @nextafter(x, y);", half=NEXTAFTER_HALF),
    t.gate: Expression(
        "x == 0 ? 0 : x * y",
        boolean="x & y",
        complex="x == 0 ? 0 : @multiplied(x, y)",
        lanes=lanes("(@T)((@I)(x * y) & (x != 0))", boolean="x & y"),
    ),
}
