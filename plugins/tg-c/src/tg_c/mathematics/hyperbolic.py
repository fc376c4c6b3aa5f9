"""Hyperbolic functions and their inverses, from expm1, exp and log1p.

Of |x|, with the sign put back; large arguments apart, whose exponential or square would be infinite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel
from tg_native.kernels.series import TANH_IS_1

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

# With q = e^(2 |x|) - 1, tanh(|x|) is q / (q + 2), which is 1 from @ONE on.
TANH: Final = """\
const @T q = @own_rise(@at_most(@fabs(x), @all(@ONE)));
  return @copysign(q / (q + 2), x);"""
SINH: Final = """\
const @T a = @fabs(x), q = @own_expm1(a);
  const @I far = a > @FAR;
  @T y = (q + q / (q + 1)) * (@P)0.5;
  if (@any(far)) {
    const @T root = @own_exp(a * (@P)0.5);
    y = @select(far, root * (@P)0.5 * root, y);
  }
  return @copysign(y, x);"""
COSH: Final = """\
const @T a = @fabs(x), e = @own_exp(a);
  const @I far = a > @FAR;
  @T y = (e + 1 / e) * (@P)0.5;
  if (@any(far)) {
    const @T root = @own_exp(a * (@P)0.5);
    y = @select(far, root * (@P)0.5 * root, y);
  }
  return y;"""
ASINH: Final = """\
const @T a = @fabs(x), s = a * a;
  const @I far = a > @SQUARE;
  @T y = @own_log1p(a + s / (1 + @sqrt(1 + s)));
  if (@any(far)) y = @select(far, @own_log(a) + @LN2, y);
  return @copysign(y, x);"""
ACOSH: Final = """\
const @T t = x - 1;
  const @I far = x > @SQUARE;
  @T y = @own_log1p(t + @sqrt(t * (x + 1)));
  if (@any(far)) y = @select(far, @own_log(x) + @LN2, y);
  return @select(x < 1, @all(@NAN), y);"""
ATANH: Final = """\
const @T a = @fabs(x);
  return @copysign(@own_log1p(2 * a / (1 - a)) * (@P)0.5, x);"""

LIMITS: Final[Mapping[str, Data]] = {
    "f64": {"ONE": TANH_IS_1["f64"], "FAR": 700.0, "SQUARE": 1e9, "LN2": 0.6931471805599453},
    "f32": {"ONE": TANH_IS_1["f32"], "FAR": 88.0, "SQUARE": 1e5, "LN2": 0.6931471805599453},
}

KERNELS: Final = {
    "tanh": Kernel(TANH, LIMITS, error=3.0, preferred=("f64",)),
    "sinh": Kernel(SINH, LIMITS, error=3.5),
    "cosh": Kernel(COSH, LIMITS, error=2.5),
    "asinh": Kernel(ASINH, LIMITS, error=2.5),
    "acosh": Kernel(ACOSH, LIMITS, error=3.0),
    "atanh": Kernel(ATANH, LIMITS, error=2.5),
}
