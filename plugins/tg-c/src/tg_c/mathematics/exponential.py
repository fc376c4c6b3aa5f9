"""Exponentials and logarithms.

An exponential is 2^n e^r with |r| <= log(2) / 2, and r + r^2 E(r) is e^r - 1. A logarithm is that of 2^k (1 + f) with
1/sqrt(2) <= 1 + f <= sqrt(2): with s = f / (2 + f), it is 2 s + s^3 R(s^2), where 2 s = f - f^2 / 2 + s f^2 / 2.
The polynomials E and R have the least relative error on these intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

REDUCED: Final = """\
const @T n = @fma(x, @all(@PER_LN2), @all(@ROUNDER)) - @ROUNDER;
  const @T r = @fma(n, @all(-@LN2_LOW), @fma(n, @all(-@LN2_HIGH), x));"""
# NaN goes through; numbers beyond the ends are not reduced.
BEYOND: Final = """\
  if (@any((x > @TOP) | (x < @BOTTOM))) y = @select(x > @TOP, @all(@INF), @select(x < @BOTTOM, @all(@LEAST), y));"""
EXP: Final = f"""\
{REDUCED}
  @T y = @scaled(@fma(r * r, @E(r), r) + 1, n);
{BEYOND}
  return y;"""
EXP2: Final = f"""\
const @T n = (x + @ROUNDER) - @ROUNDER, r = (x - n) * @LN2;
  @T y = @scaled(@fma(r * r, @E(r), r) + 1, n);
{BEYOND}
  return y;"""
# 2^n (e^r - 1) + (2^n - 1), by halves, since 2^n may be too large.
EXPM1: Final = f"""\
{REDUCED}
  const @T h = @scaled(@all((@P)0.5), n), q = @fma(r * r, @E(r), r);
  @T y = 2 * @fma(h, q, h - (@P)0.5);
{BEYOND}
  return @copysign(y, x);"""
LOG_OF_SCALED: Final = """\
const @T s = y / (2 + y), z = s * s, h = y * y * (@P)0.5, t = @fma(z, @R(z), h);
  return @fma(x, @all(@LN2_HIGH), y - (h - @fma(s, t, x * @LN2_LOW)));"""
# Of a positive normal number: 2^k and 1 + f. Others have no logarithm, or their exponent is not that of their bits.
TAKEN_APART: Final = """\
const @U bits = (@U)a - ((@U)@all(@SQRT_HALF) - (@U)@all(1));
  const @T k = (@T)((bits >> @DIGITS) + (@U)@all(@ROUNDER)) - bias;
  const @T m = (@T)((bits & @FRACTION) + (@U)@all(@SQRT_HALF));"""
SCALE: Final = f"""\
const int some = @any(~((x >= @TINY) & (x <= @MAX)));
  @T a = x, bias = @all(@ROUNDER + @BIAS);
  if (some) {{
    const @I low = x < @TINY;
    a = @select(low, x * @LIFT, x);
    bias = @select(low, @all(@ROUNDER + @BIAS + @LIFTED), bias);
  }}
  {TAKEN_APART}"""
ENDS: Final = """\
  if (some) {
    y = @select(x == 0, @all(-@INF), @select(x < 0, @all(@NAN), y));
    y = @select(x > @MAX, x, @select(x == x, y, x));
  }
  return y;"""
LOG: Final = f"""\
{SCALE}
  @T y = @own_log_of_scaled(k, m - 1);
{ENDS}"""
# The logarithm of 1 + f by itself, and k exactly: powers of 2 have whole logarithms.
LOG2: Final = f"""\
{SCALE}
  const @T part = @own_log_of_scaled(@all(0), m - 1);
  @T y = k + @fma(part, @all(@PER_LN2_REST), part * @PER_LN2);
{ENDS}"""
LOG10: Final = f"""\
{SCALE}
  const @T part = @own_log_of_scaled(@all(0), m - 1);
  @T y = @fma(k, @all(@LG2_HIGH), @fma(part, @all(@PER_LN10), k * @LG2_LOW));
{ENDS}"""
# The rounding error of 1 + x goes into f; where k is 0, f is x.
LOG1P: Final = f"""\
const @I odd = ~((x > -1) & (x <= @MAX));
  const @T bias = @all(@ROUNDER + @BIAS), a = 1 + x, b = a - 1, c = (x - b) + (1 - (a - b));
  {TAKEN_APART}
  @T y = @copysign(@own_log_of_scaled(k, (m - 1) + @scaled(c, -k)), x);
  if (@any(odd)) y = @select(odd, @select(x == -1, @all(-@INF), @select(x < -1, @all(@NAN), x)), y);
  return y;"""

LN2: Final[Mapping[str, Data]] = {
    "f64": {"LN2_HIGH": 0.693147180559663, "LN2_LOW": 2.8235290563031577e-13, "LN2": 0.6931471805599453},
    "f32": {"LN2_HIGH": 0.693145751953125, "LN2_LOW": 1.4286068203094173e-06, "LN2": 0.6931471805599453},
}
E: Final = {
    "f64": (
        0.5, 0.1666666666666667, 0.041666666666666616, 0.008333333333326164, 0.0013888888888918748,
        0.00019841269874735815, 2.4801587244037674e-05, 2.755725549176352e-06, 2.755735110923606e-07,
        2.5105183875735593e-08, 2.0888918773773315e-09,
    ),
    "f32": (
        0.5, 0.1666666716337204, 0.04166646674275398, 0.00833335891366005, 0.0013933569425716996,
        0.0001985914132092148,
    ),
}  # fmt: skip
R: Final = {
    "f64": (
        0.666666666666667, 0.39999999999898067, 0.2857142862655338, 0.22222211054056099, 0.18182894266523453,
        0.15331568444756336, 0.14618185315506232,
    ),
    "f32": (0.6666666865348816, 0.4000012278556824, 0.28550758957862854, 0.23332086205482483),
}  # fmt: skip
EXPONENTIAL: Final[Mapping[str, Data]] = {
    kind: {**LN2[kind], "PER_LN2": 1.4426950408889634, "E": E[kind], "TOP": top, "BOTTOM": bottom, "LEAST": 0.0}
    for kind, top, bottom in (("f64", 710.0, -746.0), ("f32", 89.0, -104.0))
}
EXPONENTIAL_2: Final[Mapping[str, Data]] = {
    kind: {**EXPONENTIAL[kind], "TOP": top, "BOTTOM": bottom}
    for kind, top, bottom in (("f64", 1025.0, -1076.0), ("f32", 129.0, -151.0))
}
EXPONENTIAL_LESS_1: Final[Mapping[str, Data]] = {kind: {**EXPONENTIAL[kind], "LEAST": -1.0} for kind in ("f64", "f32")}
LOGARITHM: Final[Mapping[str, Data]] = {kind: {**LN2[kind], "R": R[kind]} for kind in ("f64", "f32")}
PARTS: Final[Mapping[str, Data]] = {
    "f64": {
        "SQRT_HALF": 0.7071067811865476,
        "PER_LN2": 1.4426950408889634,
        "PER_LN2_REST": 2.0355273740931033e-17,
        "PER_LN10": 0.4342944819032518,
        "LG2_HIGH": 0.30102999566383914,
        "LG2_LOW": 1.42050232272661e-13,
    },
    "f32": {
        "SQRT_HALF": 0.7071067690849304,
        "PER_LN2": 1.4426950216293335,
        "PER_LN2_REST": 1.9259629911266175e-08,
        "PER_LN10": 0.4342944920063019,
        "LG2_HIGH": 0.301025390625,
        "LG2_LOW": 4.605038981195214e-06,
    },
}

KERNELS: Final = {
    "exp": Kernel(EXP, EXPONENTIAL, error=1.5, preferred=("f32", "f64")),
    "exp2": Kernel(EXP2, EXPONENTIAL_2, error=1.5),
    "expm1": Kernel(EXPM1, EXPONENTIAL_LESS_1, error=2.5),
    "log_of_scaled": Kernel(LOG_OF_SCALED, LOGARITHM, error=1.5, arity=2),
    "log": Kernel(LOG, PARTS, error=1.5),
    "log2": Kernel(LOG2, PARTS, error=2.5),
    "log10": Kernel(LOG10, PARTS, error=2.5),
    "log1p": Kernel(LOG1P, PARTS, error=2.0),
}
