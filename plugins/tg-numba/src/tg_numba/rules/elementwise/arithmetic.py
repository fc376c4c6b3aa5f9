"""Arithmetic on elements. Integers wrap; no division reaches the processor that could raise a signal.

Complex products, quotients and powers are NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numba
import numpy as np

from tg.ops.elementwise import arithmetic as t
from tg_numba.element import Expression
from tg_numba.libm import copysign, cpow, fabs, floor, fmod, hypot
from tg_numba.machine import imag, like, pair, quotient, real, rest, select
from tg_numba.native import compiled

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def floor_divide_signed(x: Any, y: Any) -> Any:
    """0 for a divisor of 0; a divisor of -1 negates, which wraps."""
    safe = select((y == 0) | (y == -1), 1, y)
    q = quotient(x, safe)
    down = (q * safe != x) & ((x < 0) != (safe < 0))
    return select(y == 0, 0, select(y == -1, -x, q - down))


def remainder_signed(x: Any, y: Any) -> Any:
    """0 for divisors of 0 and -1, else of the sign of y."""
    safe = select((y == 0) | (y == -1), 1, y)
    r = rest(x, safe)
    return r + select((r != 0) & ((r < 0) != (safe < 0)), safe, 0)


def floor_divide_floating(x: Any, y: Any) -> Any:
    """As NumPy: Python's signs, nan for inf // y, the quotient snapped to an integer."""
    if y == 0:
        return x / y
    r = fmod(x, y)
    q = (x - r) / y
    if r != 0 and (y < 0) != (r < 0):
        q -= like(x, 1)
    if q == 0:
        return copysign(like(x, 0), x / y)
    whole = floor(q)
    return select(q - whole > 0.5, whole + like(x, 1), whole)


def remainder_floating(x: Any, y: Any) -> Any:
    """As NumPy: of the sign of y."""
    r = fmod(x, y)
    if y == 0:
        return r
    if r == 0:
        return copysign(r, y)
    return select((y < 0) != (r < 0), r + y, r)


def power_signed(x: Any, y: Any) -> Any:
    """By squaring; a check has refused negative exponents."""
    p, factor, left = 1, numba.int64(x), numba.int64(y)
    while left > 0:
        if left & 1:
            p *= factor
        factor *= factor
        left >>= 1
    return p


def power_unsigned(x: Any, y: Any) -> Any:
    """By squaring."""
    zero, one = numba.uint64(0), numba.uint64(1)
    p, factor, left = one, numba.uint64(x), numba.uint64(y)
    while left > zero:
        if left & one:
            p *= factor
        factor *= factor
        left >>= one
    return p


@compiled
def multiplied(x: Any, y: Any) -> Any:
    """The complex product by its definition."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    return pair(a * c - b * d, a * d + b * c)


@compiled
def divided(x: Any, y: Any) -> Any:
    """The complex quotient as NumPy has it."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    if fabs(c) >= fabs(d):
        if c == 0 and d == 0:
            return pair(a / fabs(c), b / fabs(c))
        r = d / c
        scale = like(a, 1) / (c + d * r)
        return pair((a + b * r) * scale, (b - a * r) * scale)
    r = c / d
    scale = like(a, 1) / (c * r + d)
    return pair((a * r + b) * scale, (b * r - a) * scale)


@compiled
def before(x: Any, y: Any) -> Any:
    """Whether a complex number goes before another: by the real parts first."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b < d))


def power_complex(x: Any, y: Any) -> Any:
    """Small whole exponents by products, as NumPy's npy_cpow."""
    a = real(y)
    one, nil, nan = pair(like(a, 1), like(a, 0)), pair(like(a, 0), like(a, 0)), pair(like(a, np.nan), like(a, np.nan))
    if y == 0:
        return one
    if x == 0:
        return nil if a > 0 else nan
    if imag(y) != 0 or not (-100 < a < 100) or a != floor(a):
        return cpow(x, y)
    if a == 1:
        return x
    p, factor, left = one, x, int(fabs(a))
    while left > 0:
        if left & 1:
            p = multiplied(p, factor)
        left >>= 1
        if left > 0:
            factor = multiplied(factor, factor)
    return divided(one, p) if a < 0 else p


def reciprocal_complex(x: Any) -> Any:
    """1 / x without overflow in between."""
    a, b = real(x), imag(x)
    one = like(a, 1)
    if fabs(b) <= fabs(a):
        r = b / a
        d = a + b * r
        return pair(one / d, -r / d)
    r = a / b
    d = a * r + b
    return pair(r / d, -one / d)


def sign_complex(x: Any) -> Any:
    """X / |x|, and 0 for 0; an infinite part alone decides."""
    a, b = real(x), imag(x)
    size = hypot(a, b)
    one, nil, nan = like(a, 1), like(a, 0), like(a, np.nan)
    if size == 0:
        return pair(nil, nil)
    if size != np.inf:
        return pair(a / size, b / size)
    left, up = fabs(a) == np.inf, fabs(b) == np.inf
    if left and up:
        return pair(nan, nan)
    return pair(copysign(one, a), nil) if left else pair(nil, copysign(one, b))


def square_complex(x: Any) -> Any:
    """X times x."""
    return multiplied(x, x)


def maximum_complex(x: Any, y: Any) -> Any:
    """The later one, or the first that is NaN."""
    return x if x == y or x != x or before(y, x) else y


def minimum_complex(x: Any, y: Any) -> Any:
    """The earlier one, or the first that is NaN."""
    return x if x == y or x != x or before(x, y) else y


def clip_complex(x: Any, y: Any, z: Any) -> Any:
    """By the real parts, then by the imaginary ones; a limit of which a part is NaN is taken as NumPy takes it."""
    a, b = real(x), real(y)
    raised = x if x != x or (imag(x) > imag(y) if a == b else a > b) else y
    c, d = real(raised), real(z)
    return raised if raised != raised or (imag(raised) < imag(z) if c == d else c < d) else z


def gate_complex(x: Any, y: Any) -> Any:
    """0 where x is 0, else the product."""
    return x - x if x == 0 else multiplied(x, y)


def clip_floating(x: Any, y: Any, z: Any) -> Any:
    """NaN stays, and comes from the limits too."""
    raised = select((x != x) | (x > y), x, y)
    return select((raised != raised) | (raised < z), raised, z)


RULES: Final[dict[object, Rule]] = {
    t.add: Expression("x + y", boolean="x | y"),
    t.subtract: Expression("x - y"),
    t.multiply: Expression("x * y", boolean="x & y", complex=multiplied),
    t.divide: Expression(floating="x / y", complex=divided),
    t.floor_divide: Expression(
        signed=floor_divide_signed,
        unsigned="select(y == @0, @0, quotient(x, select(y == @0, @1, y)))",
        floating=floor_divide_floating,
    ),
    t.remainder: Expression(
        signed=remainder_signed, unsigned="rest(x, select(y == @0, @1, y))", floating=remainder_floating
    ),
    t.power: Expression(signed=power_signed, unsigned=power_unsigned, floating="pow(x, y)", complex=power_complex),
    t.negative: Expression("-x"),
    t.absolute: Expression(
        boolean="x",
        unsigned="x",
        signed="select(x < 0, -x, x)",
        floating="fabs(x)",
        complex="hypot(real(x), imag(x))",
    ),
    t.sign: Expression(
        unsigned="@T(x != @0)",
        signed="i64(x > 0) - i64(x < 0)",
        floating="select(x != x, x, @T(x > @0) - @T(x < @0))",
        complex=sign_complex,
    ),
    t.square: Expression("x * x", complex=square_complex),
    t.sqrt: Expression(floating="sqrt(x)", complex="csqrt(x)"),
    t.reciprocal: Expression(
        signed="select((x == 1) | (x == -1), x, @0)",
        unsigned="@T(x == @1)",
        floating="@1 / x",
        complex=reciprocal_complex,
    ),
    t.maximum: Expression(
        "select(x > y, x, y)", boolean="x | y", floating="select((x >= y) | (x != x), x, y)", complex=maximum_complex
    ),
    t.minimum: Expression(
        "select(x < y, x, y)", boolean="x & y", floating="select((x <= y) | (x != x), x, y)", complex=minimum_complex
    ),
    t.clip: Expression(
        "select(select(x > y, x, y) < z, select(x > y, x, y), z)",
        boolean="(x | y) & z",
        floating=clip_floating,
        complex=clip_complex,
    ),
    t.cbrt: Expression(floating="cbrt(x)"),
    t.hypot: Expression(floating="hypot(x, y)"),
    t.copysign: Expression(floating="copysign(x, y)"),
    t.nextafter: Expression(floating="nextafter(x, y)"),
    t.gate: Expression("select(x == @0, @0, x * y)", boolean="x & y", complex=gate_complex),
}
