"""Complex arithmetic as NumPy has it, where C's own differs: products and quotients of infinities, and order.

Templates use these functions as words: `@multiplied(x, y)`. @T is the complex type, @P that of its parts.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    "multiplied": """\
static inline @T @NAME(@T x, @T y) {
  const @P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  return __builtin_complex(a * c - b * d, a * d + b * c);
}""",
    # Smith's method
    "divided": """\
static inline @T @NAME(@T x, @T y) {
  const @P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  if (@fabs(c) >= @fabs(d)) {
    if (c == 0 && d == 0) return __builtin_complex(a / @fabs(c), b / @fabs(c));
    const @P r = d / c, s = 1 / (c + d * r);
    return __builtin_complex((a + b * r) * s, (b - a * r) * s);
  }
  const @P r = c / d, s = 1 / (d + c * r);
  return __builtin_complex((a * r + b) * s, (b * r - a) * s);
}""",
    # by the real part, then by the imaginary one; never where NaN has a say
    "before": """\
static inline b8 @NAME(@T x, @T y) {
  const @P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  return (a < c && b == b && d == d) || (a == c && b < d);
}""",
}
