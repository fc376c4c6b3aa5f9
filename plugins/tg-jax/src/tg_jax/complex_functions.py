"""Functions of complex numbers by their parts, with signs of zeros, NaN and infinities as C's annex G has them.

Deviations from jax.numpy: the side of a branch cut is that of the sign of a zero, an infinite part beside a NaN or an
infinite one gives what the limit gives, where there is one. The values elsewhere are those of jax.numpy, in the quarter
plane of positive parts, or products of real functions. Each has its derivative by formula: that of the text would be
wrong on the axes, where cases meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = {"float32": 88.0, "float64": 709.0}  # whose exponential is finite


def real_sinh(x: Any) -> Any:
    """By two halves of an exponential, so that none overflows early; by expm1 near 0."""
    half, small = jnp.exp(jnp.abs(x) / 2), jnp.expm1(jnp.abs(x))
    near = (small + small / (small + 1)) * 0.5
    return jnp.copysign(jnp.where(jnp.abs(x) < 1, near, half * 0.5 * half - 0.5 / half * (1 / half)), x)


def real_cosh(x: Any) -> Any:
    """By two halves of an exponential."""
    half = jnp.exp(jnp.abs(x) / 2)
    return half * 0.5 * half + 0.5 / half * (1 / half)


def _with_slope(slope: Callable[[Any, Any], Any]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A function with its derivative, of the operand and the value."""

    def declared(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        sloped = jax.custom_jvp(function)

        @sloped.defjvp
        def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
            value = sloped(*primals)
            return value, slope(*primals, value) * tangents[0]

        return sloped

    return declared


@_with_slope(lambda z, w: w)
def exp(z: Any) -> Any:
    """By parts, products of exp x; of a large x by two halves, as they may be finite where it is not."""
    x, y = z.real, z.imag
    is_large = x > LARGEST[str(x.dtype)]
    first = jnp.exp(jnp.where(is_large, x / 2, x))
    second = jnp.where(is_large, first, 1)
    re, im = first * jnp.cos(y) * second, jnp.where(y == 0, y, first * jnp.sin(y) * second)
    is_zero, is_endless = ((x == edge) & ~jnp.isfinite(y) for edge in (-jnp.inf, jnp.inf))
    re = jnp.where(is_zero, 0, jnp.where(is_endless, jnp.inf, re))
    return lax.complex(re, jnp.where(is_zero, jnp.copysign(0, y), im))


@_with_slope(lambda z, w: exp(z))
def expm1(z: Any) -> Any:
    """`jax.numpy.expm1`; real where z is."""
    w = jnp.expm1(z)
    is_real = z.imag == 0
    return lax.complex(jnp.where(is_real, jnp.expm1(z.real), w.real), jnp.where(is_real, z.imag, w.imag))


@_with_slope(lambda z, w: 1 / (1 + z))
def log1p(z: Any) -> Any:
    """`jax.numpy.log1p`; infinite where a part is."""
    w = jnp.log1p(z)
    is_infinite = jnp.isinf(z.real) | jnp.isinf(z.imag)
    im = jnp.where(is_infinite, jnp.arctan2(z.imag, z.real), w.imag)
    return lax.complex(jnp.where(is_infinite, jnp.inf, w.real), im)


@_with_slope(lambda z, w: 0.5 / w)
def sqrt(z: Any) -> Any:
    """The root with the sign of the imaginary part, also of a zero."""
    x, y = z.real, z.imag
    w = jnp.sqrt(lax.complex(x, jnp.abs(y)))
    is_open, is_high = jnp.isinf(x) & jnp.isnan(y), jnp.isinf(y)
    re = jnp.where(is_high, jnp.inf, jnp.where(is_open, jnp.where(x > 0, jnp.inf, jnp.nan), w.real))
    im = jnp.where(is_high, jnp.inf, jnp.where(is_open, jnp.where(x > 0, jnp.nan, jnp.inf), w.imag))
    return lax.complex(re, jnp.copysign(im, y))


@_with_slope(lambda z, w: cosh(z))
def sinh(z: Any) -> Any:
    """By parts, products with those of the real part."""
    (x, y), is_open = (z.real, z.imag), ~jnp.isfinite(z.imag)
    re = real_sinh(x) * jnp.cos(y)
    re = jnp.where(is_open & (x == 0), x, jnp.where(is_open & jnp.isinf(x), jnp.inf, re))
    return lax.complex(re, jnp.where(y == 0, y, real_cosh(x) * jnp.sin(y)))


@_with_slope(lambda z, w: sinh(z))
def cosh(z: Any) -> Any:
    """By parts, products with those of the real part."""
    (x, y), is_open = (z.real, z.imag), ~jnp.isfinite(z.imag)
    re = jnp.where(is_open & jnp.isinf(x), jnp.inf, real_cosh(x) * jnp.cos(y))
    im = jnp.where(y == 0, y * jnp.copysign(1, x), real_sinh(x) * jnp.sin(y))
    return lax.complex(re, jnp.where(is_open & (x == 0), 0, im))


@_with_slope(lambda z, w: 1 - w * w)
def tanh(z: Any) -> Any:
    """Odd, and of the conjugate the conjugate."""
    x, y = z.real, z.imag
    w = jnp.tanh(_positive(z))
    re = jnp.where(~jnp.isfinite(y) & (x == 0), 0, jnp.where(jnp.isinf(x), 1, w.real))
    im = jnp.where(
        jnp.isinf(x), jnp.where(jnp.isfinite(y), 0 * jnp.sin(y) * jnp.cos(y), 0), jnp.where(y == 0, 0, w.imag)
    )
    return lax.complex(jnp.copysign(re, x), jnp.where(jnp.signbit(y) & ~(jnp.isinf(x) & jnp.isfinite(y)), -im, im))


@_with_slope(lambda z, w: 1 / sqrt(1 + z * z))
def arcsinh(z: Any) -> Any:
    """Odd, and of the conjugate the conjugate."""
    x, y = z.real, z.imag
    w = jnp.arcsinh(_positive(z))
    return _signed(w.real, jnp.where(y == 0, 0, w.imag), x, y)


@_with_slope(lambda z, w: -1 / sqrt(1 - z * z))
def arccos(z: Any) -> Any:
    """Of the conjugate the conjugate; the imaginary part is below 0 where that of z is above."""
    x, y = z.real, z.imag
    w = jnp.arccos(lax.complex(x, jnp.abs(y)))
    re = jnp.where((x == 0) & jnp.isnan(y), jnp.pi / 2, w.real).astype(x.dtype)
    return lax.complex(re, -jnp.copysign(w.imag, y))


def arccosh(z: Any) -> Any:
    """The cosine's inverse turned by a right angle into the half plane of positive real parts."""
    w = arccos(z)
    return lax.complex(jnp.abs(w.imag), jnp.copysign(w.real, z.imag))


@_with_slope(lambda z, w: 1 / (1 - z * z))
def arctanh(z: Any) -> Any:
    """Odd, and of the conjugate the conjugate."""
    x, y = z.real, z.imag
    w = jnp.arctanh(_positive(z))
    is_far = jnp.isinf(x) | jnp.isinf(y)
    re = jnp.where(is_far | ((x == 0) & jnp.isnan(y)), 0, jnp.where(jnp.isnan(y), jnp.nan, w.real))
    right = jnp.where(jnp.isnan(y), jnp.nan, jnp.where(is_far, jnp.pi / 2, w.imag)).astype(x.dtype)
    is_lost = jnp.isnan(x) & jnp.isfinite(y)
    return _signed(re, jnp.where(is_lost, jnp.nan, right), x, y)


def turned(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """-i f(iz): the sine of the hyperbolic one, and so on."""

    def of(z: Any) -> Any:
        w = function(lax.complex(-z.imag, z.real))
        return lax.complex(w.imag, -w.real)

    return of


def sign(z: Any) -> Any:
    """z / |z|; in the direction of the infinite part where there is one."""
    x, y = z.real, z.imag
    size = jnp.hypot(x, y)
    is_both, is_x, is_y = jnp.isinf(x) & jnp.isinf(y), jnp.isinf(x), jnp.isinf(y)
    parts = []
    for part, is_own, is_other in ((x, is_x, is_y), (y, is_y, is_x)):
        far = jnp.where(is_both, jnp.nan, jnp.where(is_own, jnp.copysign(1, part), 0))
        parts.append(jnp.where(is_own | is_other, far, jnp.where(size == 0, 0, part / size)).astype(x.dtype))
    return lax.complex(*parts)


@_with_slope(lambda z, w: -w * w)
def reciprocal(z: Any) -> Any:
    """1 / z by the quotient of the smaller part by the larger, as NumPy has it (Smith, 1962)."""
    x, y = z.real, z.imag
    is_flat = jnp.abs(y) <= jnp.abs(x)
    large, small = jnp.where(is_flat, x, y), jnp.where(is_flat, y, x)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    return lax.complex(jnp.where(is_flat, scale, scale * ratio), -jnp.where(is_flat, scale * ratio, scale))


def _positive(z: Any) -> Any:
    return lax.complex(jnp.abs(z.real), jnp.abs(z.imag))


def _signed(re: Any, im: Any, x: Any, y: Any) -> Any:
    """Parts of a value in the quarter plane, with the signs of x and y."""
    kind = x.dtype
    return lax.complex(jnp.copysign(re.astype(kind), x), jnp.copysign(im.astype(kind), y))
