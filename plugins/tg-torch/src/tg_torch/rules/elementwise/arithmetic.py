"""Arithmetic on elements.

Deviations from PyTorch: integers divided by 0 give 0, remainders of floating numbers have NumPy's sign of zero and
are right for quotients that overflow, integer powers wrap for every exponent, the sign of NaN is NaN, complex extrema
are lexicographic and propagate NaN. Unsigned integers are computed with as signed ones of their width, or a larger one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import arithmetic as t
from tg_torch.unsigned import SIGNED, as_dtype, below, binary, ordered, signed, unary, unordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule


def floor_divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The quotient rounded down; 0 for integers divided by 0."""
    if x.is_floating_point():
        return torch.div(x, y, rounding_mode="floor")
    if x.dtype == torch.uint64:
        return _divide_uint64(x, y)
    if x.dtype in SIGNED:
        return floor_divide(x.to(torch.int64), y.to(torch.int64)).to(x.dtype)
    null = y == 0
    if x.dtype == torch.uint8:
        quotient = torch.div(x, y + null, rounding_mode="floor")
    else:
        opposite = y == -1  # which some machines refuse for the least integer
        quotient = torch.div(x, torch.where(null | opposite, torch.ones_like(y), y), rounding_mode="floor")
        quotient = torch.where(opposite, -x, quotient)
    return torch.where(null, torch.zeros_like(quotient), quotient)


def _divide_uint64(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Half of x is divided as a signed integer, and the quotient made up for the last bit."""
    a, b = x.view(torch.int64), y.view(torch.int64)
    half = (a >> 1) & torch.iinfo(torch.int64).max
    quotient = torch.div(half, torch.clamp(b, min=1), rounding_mode="floor") << 1
    quotient = quotient + ~below(a - quotient * b, b)
    quotient = torch.where(b < 0, (~below(a, b)).to(torch.int64), quotient)
    return torch.where(b == 0, torch.zeros_like(quotient), quotient).view(torch.uint64)


def remainder(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The remainder with the sign of y; 0 for integers divided by 0."""
    if x.is_floating_point():
        rest = _floating_rest(x, y)
        moved = torch.where((y < 0) != (rest < 0), rest + y, rest)
        return torch.where(rest == 0, torch.copysign(rest, y), moved)
    if x.dtype == torch.uint64:
        a, b = x.view(torch.int64), y.view(torch.int64)
        rest = a - _divide_uint64(x, y).view(torch.int64) * b
        return torch.where(b == 0, torch.zeros_like(rest), rest).view(torch.uint64)
    if x.dtype in SIGNED:
        return remainder(x.to(torch.int64), y.to(torch.int64)).to(x.dtype)
    trivial = y == 0 if x.dtype == torch.uint8 else (y == 0) | (y == -1)
    return torch.remainder(x, torch.where(trivial, torch.ones_like(y), y))


def _floating_rest(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The remainder with the sign of x: `torch.fmod` in steps, for it gives NaN where the quotient overflows."""
    if x.dtype != torch.float64:
        return torch.fmod(x.to(torch.float64), y.to(torch.float64)).to(x.dtype)
    far = y * 2.0**700
    return torch.fmod(torch.fmod(torch.fmod(x, far * 2.0**700), far), y)


def power(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x to the power y; complex 0 is a case of its own, as in NumPy."""
    if x.is_complex():
        nothing, nan = x.new_zeros(()), x.new_full((), complex("nan+nanj"))
        of_zero = torch.where(y == 0, x.new_ones(()), torch.where(y.real > 0, nothing, nan))
        return torch.where(x == 0, of_zero, torch.pow(x, y))
    if x.is_floating_point():
        return torch.pow(x, y)
    exponent = signed(y)
    if x.dtype == torch.uint64:  # a large exponent counts modulo 2**62 for odd x, and even powers are 0
        exponent = torch.where(exponent < 0, (exponent & ((1 << 62) - 1)) | (1 << 62), exponent)
    elif x.dtype in SIGNED:
        return _wide_power(x, y)
    elif x.dtype != torch.uint8:
        exponent = torch.clamp(exponent, min=0)  # a check has refused negative ones
    return as_dtype(torch.pow(signed(x), exponent), x.dtype)


def _wide_power(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """In 64 bits, of which the lower ones are those of the power."""
    return torch.pow(x.to(torch.int64), y.to(torch.int64)).to(x.dtype)


def negative(x: torch.Tensor) -> torch.Tensor:
    """-x; of complex numbers by parts, as eight at a time are subtracted from 0 and leave it its sign."""
    if x.is_complex():
        return torch.view_as_complex(torch.neg(torch.view_as_real(x.resolve_conj().resolve_neg())))
    return unary(torch.neg)(x)


def absolute(x: torch.Tensor) -> torch.Tensor:
    """The absolute value."""
    return x.clone() if x.dtype in SIGNED or x.dtype == torch.bool else torch.abs(x)


def sign(x: torch.Tensor) -> torch.Tensor:
    """The sign, NaN for NaN."""
    if x.dtype in SIGNED:
        return (x != 0).to(x.dtype)
    if x.is_complex():
        return _direction(x)
    return torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sign(x)


def _direction(x: torch.Tensor) -> torch.Tensor:
    """x / |x|, and 0 for 0; an infinite part is all that counts, two of them and NaN are all NaN."""
    far = [torch.where(torch.isinf(part), torch.copysign(torch.ones_like(part), part), 0) for part in (x.real, x.imag)]
    is_far = torch.isinf(x.real) | torch.isinf(x.imag)
    lost = (torch.isnan(x) & ~is_far) | (torch.isinf(x.real) & torch.isinf(x.imag))
    return torch.where(lost, complex("nan+nanj"), torch.where(is_far, torch.complex(*far), torch.sgn(x)))


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """1 / x, truncated for integers; 0 for the integer 0."""
    if x.is_complex():
        return _inverse(x)
    if x.is_floating_point():
        return torch.reciprocal(x)
    bits = signed(x)
    unit = bits == 1 if x.dtype == torch.uint8 or x.dtype in SIGNED else (bits == 1) | (bits == -1)
    return torch.where(unit, x, torch.zeros_like(x))


def _inverse(z: torch.Tensor) -> torch.Tensor:
    """1 / z by the quotient of the smaller part by the larger, as NumPy has it (Smith, 1962)."""
    x, y = z.real, z.imag
    is_flat = torch.abs(y) <= torch.abs(x)
    large, small = torch.where(is_flat, x, y), torch.where(is_flat, y, x)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    return torch.complex(torch.where(is_flat, scale, scale * ratio), -torch.where(is_flat, scale * ratio, scale))


def maximum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The larger operand; complex ones are ordered by real, then imaginary part."""
    if x.is_complex():
        larger = (x.real > y.real) | ((x.real == y.real) & (x.imag >= y.imag))
        return torch.where(larger | torch.isnan(x), x, y)
    return unordered(torch.maximum(ordered(x), ordered(y)), x.dtype)


def minimum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The smaller operand; complex ones are ordered by real, then imaginary part."""
    if x.is_complex():
        smaller = (x.real < y.real) | ((x.real == y.real) & (x.imag <= y.imag))
        return torch.where(smaller | torch.isnan(x), x, y)
    return unordered(torch.minimum(ordered(x), ordered(y)), x.dtype)


def clip(x: torch.Tensor, lower: torch.Tensor, upper: torch.Tensor) -> torch.Tensor:
    """x limited from below, then from above."""
    return minimum(maximum(x, lower), upper)


def gate(dy: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    """0 where dy is 0, else the product."""
    product = multiply(dy, d)
    return torch.where(signed(dy) == 0, product.new_zeros(()), product)


def cbrt(x: torch.Tensor) -> torch.Tensor:
    """By a power and a step of Newton's, at numbers whose cubes are in range; other than those as they are."""
    wide = x if x.dtype == torch.float64 else x.to(torch.float64)
    _, exponent = torch.frexp(wide)
    third = torch.div(exponent, 3, rounding_mode="floor")
    scaled = torch.ldexp(wide, -3 * third)  # in [1/2, 4)
    root = torch.copysign(torch.pow(torch.abs(scaled), 1 / 3), wide)
    root = root - (root * root * root - scaled) / (3 * root * root)
    result = torch.ldexp(root, third)
    plain = torch.isfinite(wide) & (wide != 0)
    return torch.where(plain, result, wide).to(x.dtype)


multiply: Callable[..., torch.Tensor] = binary(torch.mul)

RULES: Final[dict[object, Rule]] = {
    t.add: binary(torch.add),
    t.subtract: binary(torch.sub),
    t.multiply: multiply,
    t.divide: torch.true_divide,
    t.floor_divide: floor_divide,
    t.remainder: remainder,
    t.power: power,
    t.negative: negative,
    t.absolute: absolute,
    t.sign: sign,
    t.square: unary(torch.square),
    t.sqrt: torch.sqrt,
    t.reciprocal: reciprocal,
    t.maximum: maximum,
    t.minimum: minimum,
    t.clip: clip,
    t.gate: gate,
    t.cbrt: cbrt,
    t.hypot: torch.hypot,
    t.copysign: torch.copysign,
    t.nextafter: torch.nextafter,
}
