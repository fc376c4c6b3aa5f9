"""Numbers without rounding or range: the functions of single elements over mpmath, with IEEE's special values.

A floating value is a Python float if it is a zero, an infinity or NaN, else an `mpf`; a complex one is an `mpc`; an
integer is a Python integer, wrapped to its width by whoever knows it. `UNKNOWN` is what nothing can be said of.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import scipy.special
from mpmath import mpc, mpf

DIGITS = 60
MORE_DIGITS = 750  # the whole range of float64: what cancels at 60 digits may be all there is
LARGEST_EXPONENT = 4000  # binary, of what an exponential or a sine is taken of


class Unknown:
    """What nothing can be said of."""

    def __repr__(self):
        return "UNKNOWN"


UNKNOWN = Unknown()
NAN, INF = math.nan, math.inf


def exact(x):
    """A Python or NumPy floating number, as it is."""
    x = float(x)
    return x if x == 0 or not math.isfinite(x) else mpf(x)


def settled(x):
    """An mpf that is zero becomes the float."""
    return x or 0.0


def sign(x):
    """1.0 or -1.0 for what is finite and not 0, else the float itself: what signs and special values depend on."""
    return x if type(x) is float else 1.0 if x > 0 else -1.0


def is_nan(x):
    return type(x) is float and x != x


def is_infinite(x):
    return type(x) is float and math.isinf(x)


def is_special(x):
    return type(x) is float


def is_zero(x):
    return type(x) is float and x == 0


def near_float(x):
    """A Python float near a number: infinite or 0 where it is out of range."""
    if type(x) is float:
        return x
    try:
        return float(x)
    except OverflowError:
        return INF if x > 0 else -INF


# --- floating ---------------------------------------------------------------------------------------------------------


class Swallowed:
    """How often so many digits could not show a number beside another: 1 + exp(-1e4) is 1, and so is sigmoid(1e4).

    What is 0, infinite or NaN of that alone is not known.
    """

    count = 0

    @classmethod
    def note(cls, swallowed):
        """Count one, if it is one."""
        cls.count += bool(swallowed)


def add(a, b):
    if is_special(a):
        return a + b if is_special(b) else b if a == 0 else a
    if is_special(b):
        return a if b == 0 else b
    found = a + b
    Swallowed.note(found in (a, b))
    return settled(found)


def negative(a):
    return -a


def subtract(a, b):
    return add(a, -b)


def multiply(a, b):
    if is_special(a) or is_special(b):
        return sign(a) * sign(b)
    return a * b


def divide(a, b):
    if is_special(a) or is_special(b):
        x, y = sign(a), sign(b)
        if y != 0:
            return x / y
        return NAN if x == 0 or x != x else math.copysign(INF, x) * math.copysign(1, y)
    return a / b


def by_numpy(function):
    """A function of special values, as NumPy gives it."""

    def apply(*operands):
        with np.errstate(all="ignore"):
            return exact(function(*(np.float64(near_float(x)) for x in operands)))

    return apply


def power(x, y):
    if is_special(x) or is_special(y):
        return by_numpy(np.power)(x, y)
    if x < 0 and y != int(y):
        return NAN
    if abs(y) > mpf(2) ** 200:
        return UNKNOWN if abs(x) != 1 else mpf(1)
    whole = y == int(y)
    if whole and abs(y) < 2**16:
        return x ** int(y)
    size = abs(x) ** y
    return -size if whole and x < 0 and int(y) % 2 else size


def maximum(a, b):
    if is_nan(a) or is_nan(b):
        return NAN
    return max(a, b)


def minimum(a, b):
    if is_nan(a) or is_nan(b):
        return NAN
    return min(a, b)


def gate(dy, d):
    return 0.0 if is_zero(dy) else multiply(dy, d)


def is_whole(x):
    return x == mp.floor(x)


def rounded(function):
    """A rounding to whole numbers; zeros keep the sign of what was rounded."""

    def apply(x):
        if is_special(x):
            return x
        found = function(x)
        return found or math.copysign(0.0, x)

    return apply


def to_even(x):
    low = mp.floor(x)
    rest = x - low
    if rest * 2 == 1:
        return low if int(low) % 2 == 0 else low + 1
    return low if rest * 2 < 1 else low + 1


def remainder(x, y):
    if is_special(x) or is_special(y):
        return by_numpy(np.remainder)(x, y)
    if mp.mag(x) - mp.mag(y) > LARGEST_EXPONENT:
        return UNKNOWN
    found = x - mp.floor(x / y) * y
    return found or math.copysign(0.0, y)


def floor_divide(x, y):
    if is_special(x) or is_special(y):
        return by_numpy(np.floor_divide)(x, y)
    if mp.mag(x) - mp.mag(y) > LARGEST_EXPONENT:
        return UNKNOWN
    return settled(mp.floor(x / y))


def smooth(function, reference, low=None, high=None, *, bounded=True):
    """A function of mpmath's between two limits, NaN beyond them; special values as NumPy gives them."""

    def apply(x):
        if is_special(x):
            return by_numpy(reference)(x)
        if (low is not None and x < low) or (high is not None and x > high):
            return NAN
        if bounded and mp.mag(x) > LARGEST_EXPONENT:
            return UNKNOWN
        found = function(x)
        Swallowed.note(abs(found) == 1)
        return settled(found)

    return apply


def log1p(x):
    if is_special(x):
        return by_numpy(np.log1p)(x)
    return NAN if x < -1 else -INF if x == -1 else settled(mp.log1p(x))


def arctanh(x):
    if is_special(x):
        return by_numpy(np.arctanh)(x)
    if abs(x) == 1:
        return math.copysign(INF, x)
    return NAN if abs(x) > 1 else (mp.log1p(x) - mp.log1p(-x)) / 2


def arctan2(y, x):
    return by_numpy(np.arctan2)(y, x) if is_special(x) or is_special(y) else settled(mp.atan2(y, x))


def hypot(x, y):
    if is_special(x) or is_special(y):
        return by_numpy(np.hypot)(x, y) if not (is_zero(x) or is_zero(y)) else absolute(y if is_zero(x) else x)
    found = mp.sqrt(x * x + y * y)
    Swallowed.note(found in (abs(x), abs(y)))
    return found


def absolute(x):
    return abs(x)


def _softplus(x):
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def softplus(x):
    if is_special(x):
        return x if x != x or x == INF else 0.0 if x == -INF else mp.log(2)
    if mp.mag(x) > LARGEST_EXPONENT:
        return UNKNOWN
    found = _softplus(x)
    Swallowed.note(found == x)
    return settled(found)


def sigmoid(x):
    if is_special(x):
        return x if x != x else mpf(1) if x == INF else 0.0 if x == -INF else mpf(0.5)
    if mp.mag(x) > LARGEST_EXPONENT:
        return UNKNOWN
    found = 1 / (1 + mp.exp(-x))
    Swallowed.note(found == 1)
    return settled(found)


def logaddexp(x, y):
    if is_infinite(x) or is_infinite(y) or is_nan(x) or is_nan(y):
        return NAN if is_nan(x) or is_nan(y) else maximum(x, y) if INF in (x, y) else (y if is_infinite(x) else x)
    high, gap = maximum(x, y), absolute(subtract(x, y))
    rest = softplus(-gap)
    return UNKNOWN if rest is UNKNOWN else add(high, rest)


def sinc(x):
    if is_special(x):
        return by_numpy(np.sinc)(x)
    return UNKNOWN if mp.mag(x) > LARGEST_EXPONENT else settled(mp.sinpi(x) / (mp.pi * x))


def cbrt(x):
    return x if is_special(x) else mp.cbrt(x) if x > 0 else -mp.cbrt(-x)


def copysign(x, y):
    negatives = math.copysign(1, sign(y)) < 0
    return -absolute(x) if negatives else absolute(x)


def clip(x, low, high):
    return minimum(maximum(x, low), high)


def special(function, reference, low=None):
    """A function of mpmath's of no huge number, of which that takes long or has no digits; unknown below a limit."""
    inside = smooth(function, reference)
    return lambda x: UNKNOWN if not is_special(x) and (mp.mag(x) > 14 or (low is not None and x < low)) else inside(x)


def xlogy(x, y):
    return 0.0 if is_zero(x) and not is_nan(y) else multiply(x, FLOATING["log"](y))


def _ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _ndtri(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1) if 0 <= p <= 1 else mp.nan


SPECIAL = {
    "erf": special(mp.erf, scipy.special.erf), "erfc": special(mp.erfc, scipy.special.erfc),
    "erfcx": special(lambda x: mp.exp(x * x) * mp.erfc(x), scipy.special.erfcx), "xlogy": xlogy,
    "ndtr": special(_ndtr, scipy.special.ndtr),
    "log_ndtr": special(lambda x: mp.log(_ndtr(x)), scipy.special.log_ndtr),
    "ndtri": special(_ndtri, scipy.special.ndtri),
    "ndtri_exp": special(lambda x: _ndtri(mp.exp(x)), scipy.special.ndtri_exp, -50),
    "factorial": special(mp.factorial, lambda x: 0.0 if x < 0 else scipy.special.gamma(x + 1), 0),
    "gamma": special(mp.gamma, scipy.special.gamma, 0), "digamma": special(mp.digamma, scipy.special.psi, 0),
    "gammaln": special(mp.loggamma, scipy.special.gammaln, 0),
    "gammasgn": special(lambda x: mpf(1), scipy.special.gammasgn, 0),
}  # fmt: skip
FLOATING = {
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "negative": negative, "power": power,
    "absolute": absolute, "maximum": maximum, "minimum": minimum, "gate": gate, "remainder": remainder,
    "floor_divide": floor_divide, "hypot": hypot, "arctan2": arctan2, "copysign": copysign, "logaddexp": logaddexp,
    "sign": lambda x: x if is_special(x) and (x != x or x == 0) else mpf(1) if x > 0 else mpf(-1),
    "square": lambda x: multiply(x, x), "reciprocal": lambda x: divide(mpf(1), x), "clip": clip,
    "sqrt": smooth(mp.sqrt, np.sqrt, 0, bounded=False), "cbrt": cbrt, "sinc": sinc, "positive": lambda x: x,
    "exp": smooth(mp.exp, np.exp), "exp2": smooth(lambda x: mpf(2) ** x, np.exp2), "expm1": smooth(mp.expm1, np.expm1),
    "log": smooth(mp.log, np.log, 0, bounded=False), "log2": smooth(lambda x: mp.log(x) / mp.log(2), np.log2, 0),
    "log10": smooth(mp.log10, np.log10, 0, bounded=False), "log1p": log1p, "sigmoid": sigmoid, "softplus": softplus,
    "sin": smooth(mp.sin, np.sin), "cos": smooth(mp.cos, np.cos), "tan": smooth(mp.tan, np.tan),
    "arcsin": smooth(mp.asin, np.arcsin, -1, 1), "arccos": smooth(mp.acos, np.arccos, -1, 1),
    "arctan": smooth(mp.atan, np.arctan, bounded=False), "sinh": smooth(mp.sinh, np.sinh),
    "cosh": smooth(mp.cosh, np.cosh), "tanh": smooth(mp.tanh, np.tanh), "arcsinh": smooth(mp.asinh, np.arcsinh),
    "arccosh": smooth(mp.acosh, np.arccosh, 1), "arctanh": arctanh, "floor": rounded(mp.floor),
    "ceil": rounded(mp.ceil), "trunc": rounded(lambda x: mp.floor(x) if x > 0 else mp.ceil(x)),
    "rint": rounded(to_even), "sech_squared": smooth(lambda x: mp.sech(x) ** 2, lambda x: 1 / np.cosh(x) ** 2),
    "isnan": is_nan, "isinf": is_infinite, "isfinite": lambda x: not (is_nan(x) or is_infinite(x)),
    "signbit": lambda x: math.copysign(1, sign(x)) < 0 if not is_nan(x) else UNKNOWN,
    "complex": lambda x, y: UNKNOWN if not_finite(x) or not_finite(y) else mpc(x, y), "real": lambda x: x,
    "imag": lambda x: 0.0, "conjugate": lambda x: x, "logical_not": is_zero, **SPECIAL,
}  # fmt: skip


def not_finite(x):
    return type(x) is float and not math.isfinite(x)


# --- complex ----------------------------------------------------------------------------------------------------------


def of_parts(x):
    """A complex number; the parts that cancel are 0."""
    return x if isinstance(x, mpc) else mpc(x)


def cut(function):
    """A function that is not continuous on the negative real axis, where the sign of a zero decides."""
    return lambda z: UNKNOWN if (z.imag == 0 and z.real <= 0) or z == 0 else of_parts(function(z))


def entire(function):
    return lambda z: UNKNOWN if max(mp.mag(z.real), mp.mag(z.imag)) > 60 else of_parts(function(z))


def complex_power(x, y):
    if y.imag == 0 and is_whole(y.real) and abs(y.real) < 2**16 and (x != 0 or y.real > 0):
        return of_parts(x ** int(y.real))
    return UNKNOWN if x == 0 or (x.imag == 0 and x.real < 0) else of_parts(x**y)


def part(x):
    return settled(x) if isinstance(x, mpf) else mpf(x) or 0.0


COMPLEX = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b != 0 else UNKNOWN, "negative": lambda a: -a, "square": lambda a: a * a,
    "reciprocal": lambda a: 1 / a if a != 0 else UNKNOWN, "power": complex_power, "exp": entire(mp.exp),
    "exp2": entire(lambda z: mpc(2) ** z), "expm1": entire(mp.expm1), "log": cut(mp.log),
    "log2": cut(lambda z: mp.log(z) / mp.log(2)),
    "log10": cut(lambda z: mp.log(z) / mp.log(10)), "log1p": lambda z: COMPLEX["log"](1 + z), "sqrt": cut(mp.sqrt),
    "sin": entire(mp.sin), "cos": entire(mp.cos), "tan": entire(mp.tan), "sinh": entire(mp.sinh),
    "cosh": entire(mp.cosh), "tanh": entire(mp.tanh), "absolute": lambda z: part(abs(z)),
    "real": lambda z: part(z.real),
    "imag": lambda z: part(z.imag), "conjugate": mp.conj, "sign": lambda z: z / abs(z) if z != 0 else z,
    "gate": lambda a, b: mpc(0) if a == 0 else a * b, "isnan": lambda z: False, "isinf": lambda z: False,
    "isfinite": lambda z: True, "logical_not": lambda z: z == 0, "positive": lambda z: z,
}  # fmt: skip


# --- integers and truth values ----------------------------------------------------------------------------------------


def shifted_left(x, n, width):
    return UNKNOWN if n < 0 else 0 if n >= width else x << n


def shifted_right(x, n, width):
    return UNKNOWN if n < 0 else x >> min(n, width)


def integer_power(x, n):
    return UNKNOWN if n < 0 or n > 4096 else x**n


INTEGER = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "negative": lambda a: -a,
    "floor_divide": lambda a, b: a // b if b else 0, "remainder": lambda a, b: a % b if b else 0,
    "power": integer_power,
    "absolute": abs, "sign": lambda a: (a > 0) - (a < 0), "square": lambda a: a * a, "maximum": max, "minimum": min,
    "reciprocal": lambda a: a if a in (1, -1) else 0, "gate": lambda a, b: a * b, "positive": lambda a: a,
    "clip": lambda x, low, high: min(max(x, low), high), "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b, "bitwise_invert": lambda a: ~a,
    "isnan": lambda a: False, "isinf": lambda a: False, "isfinite": lambda a: True, "signbit": lambda a: a < 0,
    "logical_not": lambda a: not a, "real": lambda a: a, "imag": lambda a: 0, "conjugate": lambda a: a,
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), lambda a: a),
}  # fmt: skip
BOOLEAN = {
    "add": lambda a, b: a or b, "multiply": lambda a, b: a and b, "maximum": lambda a, b: a or b,
    "minimum": lambda a, b: a and b, "bitwise_and": lambda a, b: a and b, "bitwise_or": lambda a, b: a or b,
    "bitwise_xor": lambda a, b: a != b, "bitwise_invert": lambda a: not a, "logical_not": lambda a: not a,
    "gate": lambda a, b: a and b, "absolute": lambda a: a, "square": lambda a: a, "positive": lambda a: a,
    "isnan": lambda a: False, "isinf": lambda a: False, "isfinite": lambda a: True, "signbit": lambda a: False,
    "clip": lambda x, low, high: min(max(x, low), high), "conjugate": lambda a: a, "real": lambda a: a,
}  # fmt: skip
OF_PAIRS = {  # of operands of every dtype
    "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
    "logical_and": lambda a, b: bool(a) and bool(b), "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}  # fmt: skip


def choose(c, a, b):
    return UNKNOWN if c is UNKNOWN else a if c else b


def wrapped(x, dtype):
    """An integer as its dtype holds it."""
    if x is UNKNOWN:
        return x
    width = int(dtype.lstrip("uint"))
    x &= (1 << width) - 1
    return x - (1 << width) if dtype.startswith("int") and x >> (width - 1) else x
