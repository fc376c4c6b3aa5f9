"""Cube roots and lengths of vectors; what is subnormal, too large to be squared, or not finite is libm's.

A cube root is e^(log(x) / 3) with one step of Newton's method, which leaves its rounding only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

CBRT: Final = """\
const @T a = @fabs(x), t = @own_exp(@own_log(a) * @THIRD);
  @T y = @copysign(t - (t - a / (t * t)) * @THIRD, x);
  const @I odd = ~((a >= @TINY) & (a <= @MAX));
  if (@any(odd)) y = @redone(odd, y, x);
  return y;"""
HYPOT: Final = """\
const @T a = @fabs(x), b = @fabs(y), c = @select(a > b, a, b);
  const @I odd = ~((c >= @SMALL) & (c <= @LARGE) & (x == x) & (y == y));
  @T found = @sqrt(a * a + b * b);
  if (@any(odd)) found = @redone(odd, found, x, y);
  return found;"""

THIRD: Final[Mapping[str, Data]] = {"f64": {"THIRD": 0.3333333333333333}, "f32": {"THIRD": 0.3333333432674408}}
SQUARES: Final[Mapping[str, Data]] = {
    "f64": {"SMALL": 1e-140, "LARGE": 1e150},
    "f32": {"SMALL": 1e-14, "LARGE": 1e18},
}

KERNELS: Final = {
    "cbrt": Kernel(CBRT, THIRD, error=2.0),
    "hypot": Kernel(HYPOT, SQUARES, error=1.5, arity=2),
}
