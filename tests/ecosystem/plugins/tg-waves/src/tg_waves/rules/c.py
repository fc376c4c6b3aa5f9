"""C functions, given as text."""

from tg.backend import Rules
from tg_c import PROTOCOL, CFunction, Printed
from tg_waves.rules import SOFTSIGN
from tg_waves.waves import Powers, Smoothed, bump, softsign

BUMP = """
#include <math.h>
f64 bump(f64 x) { return fabs(x) < 1 ? exp(-1 / (1 - x * x)) : 0; }
"""
SMOOTHED = """
void smoothed(const f64 *x, i64 n, f64 decay, f64 *y, i64 m) {
  f64 last = 0;
  for (i64 i = 0; i < n; i++) y[i] = last = x[i] + decay * last;
}
"""
POWERS = """
void powers(const f64 *x, i64 n, f64 *squares, f64 *cubes) {
  f64 a = 0, b = 0;
  for (i64 i = 0; i < n; i++) a += x[i] * x[i], b += x[i] * x[i] * x[i];
  *squares = a, *cubes = b;
}
"""


def function(name, text, operands, result):
    """The function for both dtypes."""
    single = text.replace("f64", "f32").replace(name, f"{name}f").replace("exp(", "expf(").replace("fabs(", "fabsf(")
    operands32 = [t.replace("64", "32") for t in operands]
    result32 = result.replace("64", "32") if isinstance(result, str) else tuple(t.replace("64", "32") for t in result)
    return CFunction(name, text, operands, result) | CFunction(f"{name}f", single, operands32, result32)


RULES = Rules(
    PROTOCOL,
    {
        softsign: Printed(SOFTSIGN),
        bump: function("bump", BUMP, ["float64"], "float64"),
        Smoothed: function("smoothed", SMOOTHED, ["float64[?]", "float64"], "float64[?]"),
        Powers: function("powers", POWERS, ["float64[...]"], ("float64", "float64")),
    },
)
