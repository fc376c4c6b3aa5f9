"""Sine, cosine and tangent, and the inverse functions.

The angle is n pi/2 + r with |r| <= pi/4: pi/2 is subtracted in parts, of which the first have so few digits that their
products with n are exact. Where n is too large for that, or r so small that the last part's rounding shows, libm
computes. sin(r) is r + r^3 S(r^2), cos(r) is 1 - r^2 / 2 + r^4 C(r^2), and arctan(r) and arcsin(r) are r + r^3 A(r^2),
where |r| <= tan(pi/8), or |r| <= 1/2; the polynomials have the least error on these intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

QUADRANT: Final = """\
const @T t = @fma(x, @all(@PER_QUARTER), @all(@ROUNDER)), n = t - @ROUNDER;
  @T r = @fma(n, @all(-@QUARTER_2), @fma(n, @all(-@QUARTER_1), x));
  r = @fma(n, @all(-@QUARTER_4), @fma(n, @all(-@QUARTER_3), r));
  const @T z = r * r, s = r * @fma(z, @S(z), @all(1)), c = @fma(z, @fma(z, @C(z), @all((@P)-0.5)), @all(1));
  const @I odd = ~((@fabs(x) < @LARGE) & (@fabs(r) >= @SMALL));"""
CHECKED: Final = """\
  if (@any(odd)) y = @redone(odd & ((n != 0) | (x != x)), y, x);
  return y;"""
SIN: Final = f"""\
{QUADRANT}
  const @I q = (@I)t;
  @T y = (@T)((@I)@select(-(q & 1), c, s) ^ ((q >> 1) << @SIGN));
{CHECKED}"""
COS: Final = f"""\
{QUADRANT}
  const @I q = (@I)t + 1;
  @T y = (@T)((@I)@select(-(q & 1), c, s) ^ ((q >> 1) << @SIGN));
{CHECKED}"""
TAN: Final = f"""\
{QUADRANT}
  const @I q = -((@I)t & 1);
  @T y = @select(q, -c, s) / @select(q, s, c);
{CHECKED}"""
# arctan(a) is b + arctan((a - tan(b)) / (1 + a tan(b))) for b = 0, pi/4 and pi/2.
ATAN: Final = """\
const @T a = @fabs(x);
  const @I far = a > @TAN_OF_3, middle = (a > @TAN_OF_1) & ~far;
  const @T top = @select(far, @all(-1), @select(middle, a - 1, a));
  const @T r = top / @select(far, a, @select(middle, a + 1, @all(1)));
  const @T high = @select(far, @all(@QUARTER), @select(middle, @all(@QUARTER / 2), @all(0)));
  const @T low = @select(far, @all(@REST), @select(middle, @all(@REST / 2), @all(0)));
  const @T z = r * r;
  return @copysign(high + (r + @fma(r * z, @A(z), low)), x);"""
# Of the smaller of both sizes over the larger, then the eighth of the circle.
ATAN2: Final = """\
const @T a = @fabs(x), b = @fabs(y);
  const @I steep = a > b;
  const @T size = @select(steep, a, b), q = @select(steep, b, a) / size, t = @own_atan(q);
  @T found = @select(steep, @QUARTER - (t - @REST), t);
  found = @copysign(@select(y < 0, 2 * @QUARTER - (found - 2 * @REST), found), x);
  const @I odd = ~((q >= @TINY) & (size <= @MAX));
  if (@any(odd)) found = @redone(odd, found, x, y);
  return found;"""
# From 1/2 on, arcsin(a) is pi/2 - 2 arcsin(sqrt((1 - a) / 2)).
HALVED: Final = """\
const @T a = @fabs(x);
  const @I far = a > (@P)0.5;
  const @T z = @select(far, (1 - a) * (@P)0.5, a * a), r = @select(far, @sqrt(z), a), rest = r * z * @A(z);"""
ASIN: Final = f"""\
{HALVED}
  return @copysign(@select(far, @QUARTER - (2 * r - (@REST - 2 * rest)), r + rest), x);"""
ACOS: Final = f"""\
{HALVED}
  const @T near = @QUARTER - (@copysign(r, x) + (@copysign(rest, x) - @REST));
  return @select(far, @select(x < 0, 2 * @QUARTER - (2 * r + (2 * rest - 2 * @REST)), 2 * (r + rest)), near);"""

SERIES: Final[Mapping[str, Data]] = {
    "f64": {
        "SIGN": 63,
        "PER_QUARTER": 0.6366197723675814,
        "QUARTER_1": 1.5707963267341256,
        "QUARTER_2": 6.077100506303966e-11,
        "QUARTER_3": 2.0222662487111665e-21,
        "QUARTER_4": 8.4784276603689e-32,
        "LARGE": 1e6,
        "SMALL": 1e-12,
        "S": (
            -0.16666666666666632, 0.00833333333332236, -0.00019841269829762743, 2.7557313675744617e-06,
            -2.505075550880062e-08, 1.5896640742625283e-10,
        ),
        "C": (
            0.0416666666666666, -0.0013888888888874103, 2.48015872894683e-05, -2.75573143478666e-07,
            2.087572259187593e-09, -1.1359608378544948e-11,
        ),
    },
    "f32": {
        "SIGN": 31,
        "PER_QUARTER": 0.6366197466850281,
        "QUARTER_1": 1.5703125,
        "QUARTER_2": 0.0004837512969970703,
        "QUARTER_3": 7.549533620476723e-08,
        "QUARTER_4": 2.563344151594519e-12,
        "LARGE": 10000.0,
        "SMALL": 1e-5,
        "S": (-0.16666655242443085, 0.008332175202667713, -0.00019516877364367247),
        "C": (0.04166664555668831, -0.0013887364184483886, 2.443808625685051e-05),
    },
}  # fmt: skip
INVERSE: Final[Mapping[str, Data]] = {
    "f64": {"QUARTER": 1.5707963267948966, "REST": 6.123233995736766e-17},
    "f32": {"QUARTER": 1.5707963705062866, "REST": -4.371139000186241e-08},
}
INVERSE_TANGENT: Final[Mapping[str, Data]] = {
    "f64": {
        **INVERSE["f64"],
        "TAN_OF_1": 0.41421356237309503,
        "TAN_OF_3": 2.414213562373095,
        "A": (
            -0.333333333333332, 0.19999999999953696, -0.14285714280206874, 0.11111110783912757, -0.09090897768652685,
            0.07692060369772738, -0.06663105350361045, 0.058478954182968376, -0.05039317372228127,
            0.038064516235188396, -0.01790677507573764,
        ),
    },
    "f32": {
        **INVERSE["f32"],
        "TAN_OF_1": 0.4142135679721832,
        "TAN_OF_3": 2.4142136573791504,
        "A": (
            -0.33333316445350647, 0.1999848484992981, -0.14243748784065247, 0.10595198720693588, -0.06081269681453705,
        ),
    }
}  # fmt: skip
INVERSE_SINE: Final[Mapping[str, Data]] = {
    "f64": {
        **INVERSE["f64"],
        "A": (
            0.16666666666666763, 0.07499999999970033, 0.0446428571753377, 0.030381942673193822, 0.022372215956505737,
            0.017351594698444613, 0.01398102720629026, 0.011397227709173266, 0.010789664544327228,
            0.0036709503092623593, 0.021793542900798712, -0.021120708685318994, 0.03270460989716228,
        ),
    },
    "f32": {
        **INVERSE["f32"],
        "A": (
            0.16666659712791443, 0.07500513643026352, 0.04451524466276169, 0.03182147070765495, 0.014388208277523518,
            0.037585336714982986,
        ),
    }
}  # fmt: skip

KERNELS: Final = {
    "sin": Kernel(SIN, SERIES, error=2.5),
    "cos": Kernel(COS, SERIES, error=2.5),
    "tan": Kernel(TAN, SERIES, error=4.0),
    "asin": Kernel(ASIN, INVERSE_SINE, error=2.5),
    "acos": Kernel(ACOS, INVERSE_SINE, error=2.5),
    "atan2": Kernel(ATAN2, INVERSE, error=4.0, arity=2),
    "atan": Kernel(ATAN, INVERSE_TANGENT, error=2.5),
}
