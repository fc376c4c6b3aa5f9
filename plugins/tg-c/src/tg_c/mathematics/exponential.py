"""Exponentials and logarithms.

An exponential is 2^n e^r, as `tg.link.series` says. A logarithm is that of 2^k (1 + f) with
1/sqrt(2) <= 1 + f <= sqrt(2): with s = f / (2 + f), it is 2 s + s^3 R(s^2), where 2 s = f - f^2 / 2 + s f^2 / 2.
The polynomial R has the least relative error on this interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel
from tg_native.kernels.series import EXP_RANGE, LN2, NEAR, NEAR_LESS_1, PER_LN2, E

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

# Beyond the ends the exponential is 0 or infinite, as it is at them.
BETWEEN: Final = "const @T a = @at_most(@at_least(x, @all(@BOTTOM)), @all(@TOP));"
REST: Final = "const @T r = @fma(n, @all(-@LN2_LOW), @fma(n, @all(-@LN2_HIGH), a));"
REDUCED: Final = f"""\
const @T n = @fma(a, @all(@PER_LN2), @all(@ROUNDER)) - @ROUNDER;
  {REST}"""
FINELY_REDUCED: Final = f"""\
const @T s = @fma(a, @all(@PER_LN2), @all(@FINE_ROUNDER)), n = s - @FINE_ROUNDER, p = @looked_up(@POWERS, (@I)s);
  {REST}"""
EXP: Final = f"""\
{BETWEEN}
  {REDUCED}
  return @scaled(@fma(r * r, @E(r), r) + 1, n);"""
EXP_BY_TABLE: Final = f"""\
{BETWEEN}
  {FINELY_REDUCED}
  return @scaled(@fma(p, @fma(r * r, @NEAR(r), r), p), n);"""
EXP2: Final = f"""\
{BETWEEN}
  const @T n = (a + @ROUNDER) - @ROUNDER, r = (a - n) * @LN2;
  return @scaled(@fma(r * r, @E(r), r) + 1, n);"""
EXP2_BY_TABLE: Final = f"""\
{BETWEEN}
  const @T s = a + @FINE_ROUNDER, n = s - @FINE_ROUNDER, r = (a - n) * @LN2, p = @looked_up(@POWERS, (@I)s);
  return @scaled(@fma(p, @fma(r * r, @NEAR(r), r), p), n);"""
# 2^n (e^r - 1) + (2^n - 1), by halves, since 2^n may be too large.
EXPM1: Final = f"""\
{BETWEEN}
  {REDUCED}
  const @T h = @scaled(@all((@P)0.5), n), q = @fma(r * r, @E(r), r);
  return @copysign(2 * @fma(h, q, h - (@P)0.5), x);"""
# What the powers of the table lack of themselves counts here.
LESS_1_BY_TABLE: Final = "@fma(r * r, @NEAR_LESS_1(r), r) + @looked_up(@POWERS_REST, (@I)s)"
EXPM1_BY_TABLE: Final = f"""\
{BETWEEN}
  {FINELY_REDUCED}
  const @T h = @scaled(p * (@P)0.5, n), q = {LESS_1_BY_TABLE};
  return @copysign(2 * @fma(h, q, h - (@P)0.5), x);"""
# e^2x - 1, of numbers from 0 to where 2^n is no problem.
RISE: Final = f"""\
const @T a = x + x, n = @fma(x, @all(@TWO_PER_LN2), @all(@ROUNDER)) - @ROUNDER;
  {REST}
  const @T h = @scaled(@all(1), n), q = @fma(r * r, @E(r), r);
  return @fma(h, q, h - 1);"""
RISE_BY_TABLE: Final = f"""\
const @T a = x + x, s = @fma(x, @all(@TWO_PER_LN2), @all(@FINE_ROUNDER)), n = s - @FINE_ROUNDER;
  const @T p = @looked_up(@POWERS, (@I)s);
  {REST}
  const @T h = @scaled(p, n), q = {LESS_1_BY_TABLE};
  return @fma(h, q, h - 1);"""
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

R: Final = {
    "f64": (
        0.666666666666667, 0.39999999999898067, 0.2857142862655338, 0.22222211054056099, 0.18182894266523453,
        0.15331568444756336, 0.14618185315506232,
    ),
    "f32": (0.6666666865348816, 0.4000012278556824, 0.28550758957862854, 0.23332086205482483),
}  # fmt: skip
EXPONENTIAL: Final[Mapping[str, Data]] = {
    kind: {**LN2[kind], "PER_LN2": PER_LN2, "E": E[kind], "NEAR": NEAR[kind], "TOP": top, "BOTTOM": bottom}
    for kind, (bottom, top) in EXP_RANGE.items()
}
EXPONENTIAL_2: Final[Mapping[str, Data]] = {
    kind: {**EXPONENTIAL[kind], "TOP": top, "BOTTOM": bottom}
    for kind, top, bottom in (("f64", 1025.0, -1076.0), ("f32", 129.0, -151.0))
}
EXPONENTIAL_LESS_1: Final[Mapping[str, Data]] = {
    "f64": {**EXPONENTIAL["f64"], "TWO_PER_LN2": 2 * PER_LN2, "NEAR_LESS_1": NEAR_LESS_1["f64"]},
    "f32": {**EXPONENTIAL["f32"], "TWO_PER_LN2": 2 * PER_LN2},
}
LOGARITHM: Final[Mapping[str, Data]] = {kind: {**LN2[kind], "R": R[kind]} for kind in ("f64", "f32")}
PARTS: Final[Mapping[str, Data]] = {
    "f64": {
        "SQRT_HALF": 0.7071067811865476,
        "PER_LN2": PER_LN2,
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
    "exp": Kernel(
        EXP, EXPONENTIAL, error=1.5, preferred=("f32", "f64"), by_table=dict.fromkeys(("f32", "f64"), EXP_BY_TABLE)
    ),
    "exp2": Kernel(EXP2, EXPONENTIAL_2, error=1.5, by_table=dict.fromkeys(("f32", "f64"), EXP2_BY_TABLE)),
    "expm1": Kernel(EXPM1, EXPONENTIAL_LESS_1, error=2.5, by_table={"f64": EXPM1_BY_TABLE}),
    "rise": Kernel(RISE, EXPONENTIAL_LESS_1, error=2.5, by_table={"f64": RISE_BY_TABLE}),
    "log_of_scaled": Kernel(LOG_OF_SCALED, LOGARITHM, error=1.5, arity=2),
    "log": Kernel(LOG, PARTS, error=1.5),
    "log2": Kernel(LOG2, PARTS, error=2.5),
    "log10": Kernel(LOG10, PARTS, error=2.5),
    "log1p": Kernel(LOG1P, PARTS, error=2.0),
}
