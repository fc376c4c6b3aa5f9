"""Arithmetic on elements. Integers wrap; no division reaches the processor that could raise a signal.

Complex products, quotients and powers are NumPy's.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise import arithmetic as t
from tg_native.kernels.dtypes import is_signed, item_size
from tg_native.kernels.element import Elementwise
from tg_native.kernels.functions import copysign, fabs, floor, larger, smaller, sqrt
from tg_native.kernels.lanes import Pair, select
from tg_native.kernels.libm import complex_named, libm_named
from tg_native.kernels.mathematics.arithmetic import nextafter

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Lanes

EXACT: Final = 4  # bytes of the widest whole numbers whose quotients double precision finds
fmod, hypot = libm_named("fmod"), libm_named("hypot")


# --- whole numbers ---------------------------------------------------------------------------------------------------


def quotient(x: Lanes, y: Lanes) -> Lanes:
    """The quotient towards 0, of a divisor that is neither 0 nor -1; vectors know only quotients of floats."""
    if not x.body.lanes or item_size(x.dtype) > EXACT:
        return x // y
    wide = "int64" if x.dtype == "uint32" else "int32"
    return (x.to("float64") / y.to("float64")).truncated(wide).to(x.dtype)


def divisor(y: Lanes) -> Lanes:
    """Y, and 1 in the place of 0 and -1."""
    return select((y == 0) | (y == -1), 1, y) if is_signed(y.dtype) else select(y == 0, 1, y)


def floor_divide_signed(x: Lanes, y: Lanes) -> Lanes:
    """0 for a divisor of 0; a divisor of -1 negates, which wraps."""
    safe = divisor(y)
    q = quotient(x, safe)
    down = (q * safe != x) & ((x < 0) != (safe < 0))
    return select(y == 0, 0, select(y == -1, -x, select(down, q - 1, q)))


def floor_divide_unsigned(x: Lanes, y: Lanes) -> Lanes:
    """0 for a divisor of 0."""
    return select(y == 0, 0, quotient(x, divisor(y)))


def remainder_signed(x: Lanes, y: Lanes) -> Lanes:
    """0 for divisors of 0 and -1, else of the sign of y."""
    safe = divisor(y)
    r = x - quotient(x, safe) * safe
    return select((y == 0) | (y == -1), 0, select((r != 0) & ((r < 0) != (safe < 0)), r + safe, r))


def remainder_unsigned(x: Lanes, y: Lanes) -> Lanes:
    """0 for a divisor of 0."""
    safe = divisor(y)
    return select(y == 0, 0, x - quotient(x, safe) * safe)


def power_integer(x: Lanes, y: Lanes) -> Lanes:
    """By squaring; a check has refused negative exponents."""
    times = select(y < 0, 0, y) if is_signed(y.dtype) else y
    wide = "int64" if is_signed(x.dtype) else "uint64"
    return x.body.power(x.to(wide), times.to(wide)).to(x.dtype)


# --- real numbers ----------------------------------------------------------------------------------------------------


def floor_divide_floating(x: Lanes, y: Lanes) -> Lanes:
    """As NumPy: Python's signs, nan for inf // y, the quotient snapped to an integer."""
    r = fmod(x, y)
    q = (x - r) / y
    q = select((r != 0) & ((y < 0) != (r < 0)), q - 1, q)
    whole = floor(q)
    whole = select(q - whole > 0.5, whole + 1, whole)
    return select(y == 0, x / y, select(q == 0, copysign(x.like(0), x / y), whole))


def remainder_floating(x: Lanes, y: Lanes) -> Lanes:
    """As NumPy: of the sign of y."""
    r = fmod(x, y)
    signed = select((y < 0) != (r < 0), r + y, r)
    return select(y == 0, r, select(r == 0, copysign(r, y), signed))


def sign_floating(x: Lanes) -> Lanes:
    """-1, 0, 1 or NaN."""
    return select(x.is_nan(), x, (x > 0).to(x.dtype) - (x < 0).to(x.dtype))


def clip(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """The smaller of z and the larger of x and y."""
    raised = select(x > y, x, y)
    return select(raised < z, raised, z)


def clip_floating(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """NaN stays, and comes from the limits too."""
    raised = select(x.is_nan() | (x > y), x, y)
    return select(raised.is_nan() | (raised < z), raised, z)


# --- complex numbers -------------------------------------------------------------------------------------------------


def multiplied(x: Pair, y: Pair) -> Pair:
    """The complex product by its definition."""
    (a, b), (c, d) = x, y
    return Pair(a * c - b * d, a * d + b * c)


def divided(x: Pair, y: Pair) -> Pair:
    """The complex quotient as NumPy has it."""
    (a, b), (c, d) = x, y
    by_real = fabs(c) >= fabs(d)
    large, small = select(by_real, c, d), select(by_real, d, c)
    r = small / large
    scale = 1 / (large + small * r)
    first, second = select(by_real, a, b), select(by_real, b, a)
    up = first + second * r
    over = select(by_real, b - a * r, b * r - a)
    quotient = Pair(up * scale, over * scale)
    return select((c == 0) & (d == 0), Pair(a / fabs(c), b / fabs(c)), quotient)


def before(x: Pair, y: Pair) -> Lanes:
    """Whether a complex number goes before another: by the real parts first."""
    (a, b), (c, d) = x, y
    return ((a < c) & ~b.is_nan() & ~d.is_nan()) | ((a == c) & (b < d))


def power_complex(x: Pair, y: Pair) -> Pair:
    """Small whole exponents by products, as NumPy's npy_cpow."""
    a = y.real
    one, small = x.like(1), (a > -100) & (a < 100)
    p, factor, left = one, x, select(small, fabs(a), 0).to("int32")
    for bit in range(7):
        p = select((left >> bit & 1) != 0, multiplied(p, factor), p)
        if bit < 6:
            factor = multiplied(factor, factor)
    whole = select(a == 1, x, select(a < 0, divided(one, p), p))
    is_whole = (y.imag == 0) & small & (a == floor(a))
    value = select(is_whole, whole, complex_named("cpow")(x, y))
    of_zero = select(a > 0, x.like(0), x.like(np.nan, np.nan))
    return select(y.is_zero(), one, select(x.is_zero(), of_zero, value))


def reciprocal_complex(x: Pair) -> Pair:
    """1 / x without overflow in between."""
    a, b = x
    by_real = fabs(b) <= fabs(a)
    large, small = select(by_real, a, b), select(by_real, b, a)
    r = small / large
    d = large + small * r
    return select(by_real, Pair(1 / d, -r / d), Pair(r / d, -1 / d))


def sign_complex(x: Pair) -> Pair:
    """x / |x|, and 0 for 0; an infinite part alone decides."""
    a, b = x
    size = hypot(a, b)
    left, up = fabs(a) == np.inf, fabs(b) == np.inf
    nil, one = a.like(0), a.like(1)
    along = select(left, Pair(copysign(one, a), nil), Pair(nil, copysign(one, b)))
    infinite = select(left & up, x.like(np.nan, np.nan), along)
    finite = Pair(a / size, b / size)
    return select(size == 0, x.like(0), select(size != np.inf, finite, infinite))


def maximum_complex(x: Pair, y: Pair) -> Pair:
    """The later one, or the first that is NaN."""
    return select(x.equals(y) | x.is_nan() | before(y, x), x, y)


def minimum_complex(x: Pair, y: Pair) -> Pair:
    """The earlier one, or the first that is NaN."""
    return select(x.equals(y) | x.is_nan() | before(x, y), x, y)


def clip_complex(x: Pair, y: Pair, z: Pair) -> Pair:
    """By the real parts, then by the imaginary ones; a limit of which a part is NaN is taken as NumPy takes it."""
    (a, b), (c, d) = x, y
    raised = select(x.is_nan() | select(a == c, b > d, a > c), x, y)
    (a, b), (c, d) = raised, z
    return select(raised.is_nan() | select(a == c, b < d, a < c), raised, z)


def gate_complex(x: Pair, y: Pair) -> Pair:
    """0 where x is 0, else the product."""
    return select(x.is_zero(), x.like(0), multiplied(x, y))


KERNELS: Final[dict[object, Rule]] = {
    t.add: Elementwise(operator.add, boolean=operator.or_, complex=Pair.plus),
    t.subtract: Elementwise(operator.sub, complex=Pair.minus),
    t.multiply: Elementwise(operator.mul, boolean=operator.and_, complex=multiplied),
    t.divide: Elementwise(floating=operator.truediv, complex=divided),
    t.floor_divide: Elementwise(
        signed=floor_divide_signed, unsigned=floor_divide_unsigned, floating=floor_divide_floating
    ),
    t.remainder: Elementwise(signed=remainder_signed, unsigned=remainder_unsigned, floating=remainder_floating),
    t.power: Elementwise(integer=power_integer, floating=libm_named("pow"), complex=power_complex),
    t.negative: Elementwise(operator.neg, complex=Pair.negated),
    t.absolute: Elementwise(
        boolean=lambda x: x,
        unsigned=lambda x: x,
        signed=lambda x: select(x < 0, -x, x),
        floating=fabs,
        complex=lambda x: hypot(x.real, x.imag),
    ),
    t.sign: Elementwise(
        unsigned=lambda x: (x != 0).to(x.dtype),
        signed=lambda x: (x > 0).to(x.dtype) - (x < 0).to(x.dtype),
        floating=sign_floating,
        complex=sign_complex,
    ),
    t.square: Elementwise(lambda x: x * x, complex=lambda x: multiplied(x, x)),
    t.sqrt: Elementwise(floating=sqrt, complex=complex_named("csqrt")),
    t.reciprocal: Elementwise(
        signed=lambda x: select((x == 1) | (x == -1), x, 0),
        unsigned=lambda x: (x == 1).to(x.dtype),
        floating=lambda x: 1 / x,
        complex=reciprocal_complex,
    ),
    t.maximum: Elementwise(larger, boolean=operator.or_, complex=maximum_complex),
    t.minimum: Elementwise(smaller, boolean=operator.and_, complex=minimum_complex),
    t.clip: Elementwise(clip, boolean=lambda x, y, z: (x | y) & z, floating=clip_floating, complex=clip_complex),
    t.cbrt: Elementwise(floating=libm_named("cbrt")),
    t.hypot: Elementwise(floating=hypot),
    t.copysign: Elementwise(floating=copysign),
    t.nextafter: Elementwise(floating=nextafter, half=nextafter),
    t.gate: Elementwise(lambda x, y: select(x == 0, 0, x * y), boolean=operator.and_, complex=gate_complex),
}
