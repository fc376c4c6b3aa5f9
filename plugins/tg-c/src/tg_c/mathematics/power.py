"""Powers: e^(y log(x)) with the logarithm and the product as sums of two numbers, so that no digit of y log(x) is lost.

With s = f / (2 + f), the logarithm is k log(2) + 2 s + (2/3) s^3 + s^5 R(s^2): all but the last term has a second
number. This needs fused products, and numbers that are not at an end of their range; other lanes are libm's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.exponential import PARTS, TAKEN_APART
from tg_c.mathematics.kernel import Kernel
from tg_native.kernels.series import LN2, E

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

POW: Final = f"""\
#ifdef TG_FUSED
  const @T a = @fabs(x), bias = @all(@ROUNDER + @BIAS);
  {TAKEN_APART}
  const @T f = m - 1, d = m + 1, s = f / d;
  const @T ds = (@fma(-s, d, f) - s * (m - (d - 1))) / d;
  const @T z = s * s, dz = @fma(s, s, -z), u = z * s, du = @fma(z, s, -u) + dz * s;
  const @T v = @THIRDS * u, dv = @fma(@all(@THIRDS), u, -v) + @fma(@all(@THIRDS), du, @THIRDS_REST * u);
  const @T p = k * @LN2_HIGH, q = p + 2 * s, h = q + v;
  const @T low = (2 * s - (q - p)) + (v - (h - q));
  const @T rest = low + (k * @LN2_LOW + 2 * ds * (1 + z) + dv + u * z * @R(z));
  const @T l = h + rest, dl = rest - (l - h);
  const @T e = y * l, de = @fma(y, l, -e) + y * dl;
  const @T n = @fma(e, @all(@PER_LN2), @all(@ROUNDER)) - @ROUNDER;
  const @T r = @fma(n, @all(-@LN2_LOW), @fma(n, @all(-@LN2_HIGH), e)) + de;
  @T found = @scaled(@fma(r * r, @E(r), r) + 1, n);
  const @I left = x < 0;
  if (@any(left)) {{
    const @I uneven = @rint(y * (@P)0.5) != y * (@P)0.5;
    found = @select(left & uneven, -found, found);
    found = @select(left & (@rint(y) != y), @all(@NAN), found);
  }}
  const @I odd = ~((a >= @TINY) & (a <= @MAX) & (@fabs(e) < @SAFE) & (@fabs(y) < @WHOLE));
  if (@any(odd)) found = @redone(odd, found, x, y);
  return found;
#else
  return @redone((@I)@all(0) == 0, x, x, y);
#endif"""

POWER: Final[Mapping[str, Data]] = {
    "f64": {
        **LN2["f64"],
        "E": E["f64"],
        "SQRT_HALF": PARTS["f64"]["SQRT_HALF"],
        "PER_LN2": PARTS["f64"]["PER_LN2"],
        "SAFE": 700.0,
        "WHOLE": 9007199254740992.0,
        "THIRDS": 0.6666666666666666,
        "THIRDS_REST": 3.700743415417188e-17,
        "R": (
            0.39999999999999997, 0.28571428571434276, 0.2222222222008593, 0.1818181856851568,
            0.15384576707429415, 0.13335582524274628, 0.11689184966250796, 0.11873739670085627,
        ),
    }
}  # fmt: skip

KERNELS: Final = {"pow": Kernel(POW, POWER, error=2.0, arity=2)}
