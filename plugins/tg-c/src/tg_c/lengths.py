"""Lengths, and what is asked of them, as C text."""

from __future__ import annotations

from typing import Final

from tg_native.graphs.failure import Failure
from tg_native.plan.shapes import LONG_AND_EMPTY

FORMS: Final = {
    "+": "{} + {}",
    "*": "{} * {}",
    "//": "tg_length_floor({}, {})",
    "%": "tg_length_mod({}, {})",
    "min": "tg_length_min({}, {})",
    "max": "tg_length_max({}, {})",
    "broadcast": "tg_length_broadcast({}, {})",
    "==": "{} == {}",
    "!=": "{} != {}",
    ">=": "{} >= {}",
    "or": "{} || {}",
    "is a length": "{} <= TG_LONGEST",
    "is near": "tg_length_fits({}, {})",
    "float": "(f64){}",
    "float +": "{} + {}",
    "float *": "{} * {}",
}
"""The words of `tg_native.graphs.lengths`; what they are said of are names, calls, numbers in brackets, or products."""

FUNCTIONS: Final = """\
#define TG_LENGTH static inline __attribute__((unused))
TG_LENGTH i64 tg_length_min(i64 a, i64 b) { return a < b ? a : b; }
TG_LENGTH i64 tg_length_max(i64 a, i64 b) { return a > b ? a : b; }
TG_LENGTH i64 tg_length_broadcast(i64 a, i64 b) { return a == 1 ? b : a; }
TG_LENGTH i64 tg_length_floor(i64 a, i64 b) {
  if (b == 0 || b == -1) return b ? -a : 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
TG_LENGTH i64 tg_length_mod(i64 a, i64 b) { return b == 0 ? 0 : a - b * tg_length_floor(a, b); }
#define TG_LONGEST (1LL << 62)
/* Whether int64 holds a polynomial that is no longer than lengths are: what it made of it is near what float64 did. */
TG_LENGTH b8 tg_length_fits(i64 wrapped, f64 rounded) {
  const f64 apart = rounded - (f64)wrapped;
  return wrapped <= TG_LONGEST && wrapped >= -TG_LONGEST && apart < 0x1p62 && apart > -0x1p62;
}
"""

UNCOUNTED: Final = f"""\
/* 0 if int64 counts the bytes of an array, its lengths of 0 left out, and no loop would go over them for nothing. */
static __attribute__((noinline, pure, unused)) i64 tg_uncounted(i64 bytes, int rank, const i64 *lengths) {{
  int empty = 0;
  for (int k = 0; k < rank; k++)
    if (!lengths[k]) empty = 1;
    else if (__builtin_mul_overflow(bytes, lengths[k], &bytes)) return {int(Failure.NEGATIVE)};
  return empty && bytes > {LONG_AND_EMPTY}LL ? {int(Failure.EMPTY)} : 0;
}}
"""
