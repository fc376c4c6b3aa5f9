"""The remainder of a division, and the next number: exact.

Of the remainder, the quotient, rounded towards 0, is right or one too large; what is left of x is then exact, or has y
too little. Where the quotient has more digits than a number, or something is not finite or subnormal, libm computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

FMOD: Final = """\
#ifdef TG_FUSED
  const @T b = @fabs(y), a = @fabs(x), q = a / b;
  const @I odd = ~((q < @WHOLE) & (a <= @MAX) & (b >= @TINY) & (b <= @MAX));
  @T r = @fma(@trunc(q), -b, a);
  r = @copysign(r + @select(r < 0, b, @all(0)), x);
  if (@any(odd)) r = @redone(odd, r, x, y);
  return r;
#else
  return @redone((@I)@all(0) == 0, x, x, y);
#endif"""
# The bits of numbers of one sign, as integers, are in the order of their size.
NEXTAFTER: Final = """\
const @I up = (x < y) ^ (x < 0), step = 1 + 2 * up;
  const @T first = @copysign(@all(@LEAST), y), y_or_first = @select(x == 0, first, (@T)((@I)x - step));
  return @select((x != x) | (y != y), x + y, @select(x == y, y, y_or_first));"""

WHOLE: Final[Mapping[str, Data]] = {"f64": {"WHOLE": 4503599627370496.0}, "f32": {"WHOLE": 4194304.0}}
LEAST: Final[Mapping[str, Data]] = {"f64": {"LEAST": 5e-324}, "f32": {"LEAST": 1.401298464324817e-45}}

KERNELS: Final = {
    "fmod": Kernel(FMOD, WHOLE, error=0.0, arity=2),
    "nextafter": Kernel(NEXTAFTER, LEAST, error=0.0, arity=2),
}
