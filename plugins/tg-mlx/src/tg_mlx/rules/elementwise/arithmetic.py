"""Arithmetic on elements.

Deviations from MLX: divisors 0 and -1 of integers never reach the machine, which would end the process; x // 0 is 0;
floating quotients and remainders have NumPy's signs and infinities; complex extrema are lexicographic and propagate
NaN; the sign of NaN is NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import arithmetic as t
from tg_mlx.arrays import SAME_SIZE, is_complex, is_floating, is_half, is_integer, is_unsigned, scalar
from tg_mlx.rules.elementwise.comparison import signbit
from tg_mlx.rules.elementwise.complex import complex_

if TYPE_CHECKING:
    from tg.backend import Rule


def floor_divide(x: Any, y: Any) -> Any:
    """The quotient rounded down; 0 for integers divided by 0."""
    if x.dtype == mx.bool_:
        x, y = x.astype(mx.int8), y.astype(mx.int8)
    if is_floating(x):
        return _floor_divide_floating(x, y)
    zero = scalar(0, x.dtype)
    if is_unsigned(x):
        return mx.where(y == 0, zero, mx.floor_divide(x, mx.where(y == 0, scalar(1, x.dtype), y)))
    plain = (y != 0) & (y != -1)
    quotient = mx.floor_divide(x, mx.where(plain, y, scalar(1, x.dtype)))
    return mx.where(plain, quotient, mx.where(y == 0, zero, -x))


def _floor_divide_floating(x: Any, y: Any) -> Any:
    """NumPy's npy_floor_divide: from the exact remainder, snapped to the integer below."""
    rest = _rest(x, y)
    quotient = (x - rest) / y - ((rest != 0) & ((y < 0) != (rest < 0))).astype(x.dtype)
    floor = mx.floor(quotient)
    snapped = mx.where(quotient - floor > 0.5, floor + 1, floor)
    nothing = mx.where(signbit(x) != signbit(y), scalar(-0.0, x.dtype), scalar(0.0, x.dtype))
    return mx.where(y == 0, x / y, mx.where(quotient == 0, nothing, snapped))


def _rest(x: Any, y: Any) -> Any:
    """C's fmod: exact, with the sign of x."""
    rest = mx.remainder(mx.abs(x), mx.abs(y))
    return mx.where(x < 0, -rest, rest)


def remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of y; 0 for integers divided by 0."""
    if x.dtype == mx.bool_:
        x, y = x.astype(mx.int8), y.astype(mx.int8)
    if not is_floating(x):
        return mx.where(y == 0, scalar(0, x.dtype), x - floor_divide(x, y) * y)
    rest = _rest(x, y)
    moved = mx.where((y < 0) != (rest < 0), rest + y, rest)
    return mx.where(rest == 0, mx.where(y < 0, scalar(-0.0, x.dtype), scalar(0.0, x.dtype)), moved)


def power(x: Any, y: Any) -> Any:
    """x to the power y; complex 0 is a case of its own, as in NumPy; a check has refused negative integer exponents."""
    if is_integer(x):
        return mx.power(x, mx.maximum(y, 0))
    if is_complex(x):
        undefined = scalar(complex("nan+nanj"), x.dtype)
        of_zero = mx.where(y == 0, scalar(1, x.dtype), mx.where(mx.real(y) > 0, scalar(0, x.dtype), undefined))
        return mx.where(x == 0, of_zero, mx.power(x, y))
    return mx.power(x, y)


def sign(x: Any) -> Any:
    """-1, 0 or 1, and NaN for NaN; of complex numbers the direction."""
    if is_complex(x):
        return _direction(mx.real(x), mx.imag(x))
    return mx.where(mx.isnan(x), x, mx.sign(x)) if is_floating(x) else mx.sign(x)


def _direction(x: Any, y: Any) -> Any:
    """z / |z|, and 0 for 0; an infinite part is all that counts, two of them are NaN."""
    largest = mx.maximum(mx.abs(x), mx.abs(y))
    size = largest * mx.sqrt(mx.square(x / largest) + mx.square(y / largest))
    parts = []
    for part, other in ((x, y), (y, x)):
        far = mx.where(mx.isinf(other), scalar(math.nan, x.dtype), mx.where(signbit(part), -1.0, 1.0))
        unit = mx.where(mx.isinf(other), mx.zeros_like(part), mx.where(largest == 0, mx.zeros_like(part), part / size))
        parts.append(mx.where(mx.isinf(part), far, unit))
    return complex_(*parts)


def square(x: Any) -> Any:
    """x * x; of complex numbers by parts, of which NaN beside an infinite one makes both NaN."""
    if not is_complex(x):
        return mx.square(x)
    a, b = mx.real(x), mx.imag(x)
    return complex_(a * a - b * b, a * b + b * a)


def reciprocal(x: Any) -> Any:
    """1 / x, truncated for integers; 0 for the integer 0."""
    if is_complex(x):
        return _inverse(mx.real(x), mx.imag(x))
    if not is_integer(x):
        return mx.reciprocal(x)
    unit = x == 1 if is_unsigned(x) else (x == 1) | (x == -1)
    return mx.where(unit, x, scalar(0, x.dtype))


def _inverse(x: Any, y: Any) -> Any:
    """1 / (x + iy) by the quotient of the smaller part by the larger, as NumPy has it (Smith, 1962)."""
    is_flat = mx.abs(y) <= mx.abs(x)
    large, small = mx.where(is_flat, x, y), mx.where(is_flat, y, x)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    return complex_(mx.where(is_flat, scale, scale * ratio), -mx.where(is_flat, scale * ratio, scale))


def maximum(x: Any, y: Any) -> Any:
    """The larger operand; complex ones are ordered by real, then imaginary part."""
    if not is_complex(x):
        return mx.maximum(x, y)
    (a, b), (c, d) = (mx.real(x), mx.imag(x)), (mx.real(y), mx.imag(y))
    return mx.where((a > c) | ((a == c) & (b >= d)) | mx.isnan(x), x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller operand; complex ones are ordered by real, then imaginary part."""
    if not is_complex(x):
        return mx.minimum(x, y)
    (a, b), (c, d) = (mx.real(x), mx.imag(x)), (mx.real(y), mx.imag(y))
    return mx.where((a < c) | ((a == c) & (b <= d)) | mx.isnan(x), x, y)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """x limited from below, then from above."""
    return minimum(maximum(x, lower), upper)


def cbrt(x: Any) -> Any:
    """The power 1/3 and a step of Newton's method; half precision by way of float32."""
    if is_half(x):
        return cbrt(x.astype(mx.float32)).astype(x.dtype)
    size = mx.abs(x)
    root = mx.power(size, scalar(1 / 3, x.dtype))
    root = root - (root - size / (root * root)) / 3
    return mx.where((x == 0) | mx.isinf(x), x, mx.where(x < 0, -root, root))


def hypot(x: Any, y: Any) -> Any:
    """The larger leg times what the smaller one adds; infinite if a leg is, whatever the other."""
    if is_half(x):
        return hypot(x.astype(mx.float32), y.astype(mx.float32)).astype(x.dtype)
    x, y = mx.abs(x), mx.abs(y)
    long, ratio = mx.maximum(x, y), mx.minimum(x, y) / mx.maximum(x, y)
    value = mx.where(long == 0, long, long * mx.sqrt(1 + ratio * ratio))
    return mx.where(mx.isinf(x) | mx.isinf(y), scalar(mx.inf, x.dtype), value)


def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign bit of y."""
    return mx.where(signbit(y), -mx.abs(x), mx.abs(x))


def nextafter(x: Any, y: Any) -> Any:
    """The neighbour of x towards y, by counting the bits up or down."""
    bits = mx.view(x, SAME_SIZE[x.dtype])
    step = mx.where((y > x) == (x > 0), scalar(1, bits.dtype), scalar(-1, bits.dtype))
    least = mx.view(scalar(1, bits.dtype), x.dtype)
    neighbour = mx.where(x == 0, mx.where(y < 0, -least, least), mx.view(bits + step, x.dtype))
    return mx.where(mx.isnan(x) | mx.isnan(y), x + y, mx.where(x == y, y, neighbour))


def gate(dy: Any, d: Any) -> Any:
    """0 where dy is 0, else the product."""
    return mx.where(dy == 0, scalar(0, dy.dtype), dy * d)


RULES: Final[dict[object, Rule]] = {
    t.add: mx.add,
    t.subtract: mx.subtract,
    t.multiply: mx.multiply,
    t.divide: mx.divide,
    t.floor_divide: floor_divide,
    t.remainder: remainder,
    t.power: power,
    t.negative: mx.negative,
    t.absolute: mx.abs,
    t.sign: sign,
    t.square: square,
    t.sqrt: mx.sqrt,
    t.reciprocal: reciprocal,
    t.maximum: maximum,
    t.minimum: minimum,
    t.clip: clip,
    t.cbrt: cbrt,
    t.hypot: hypot,
    t.copysign: copysign,
    t.nextafter: nextafter,
    t.gate: gate,
}
