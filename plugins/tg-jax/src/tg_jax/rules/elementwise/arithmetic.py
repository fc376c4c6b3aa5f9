"""Arithmetic on elements.

Deviations from jax.numpy: integers divided by 0 give 0, floating quotients and remainders have NumPy's signs and
infinities, integer powers wrap for every exponent, complex extrema propagate NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import arithmetic as t
from tg_jax import complex_functions as of_complex

if TYPE_CHECKING:
    from tg.backend import Rule


def _is_floating(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def _is_complex(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.complexfloating))


def floor_divide(x: Any, y: Any) -> Any:
    """The quotient rounded down; 0 for integers divided by 0."""
    if x.dtype == bool:
        x, y = x.astype(jnp.int8), y.astype(jnp.int8)
    if _is_floating(x):
        return _floor_divide_floating(x, y)
    quotient = _quotient(x, y)
    inexact = quotient * y != x
    return jnp.where(y == 0, jnp.zeros_like(x), quotient - (inexact & ((x < 0) != (y < 0))).astype(x.dtype))


def _quotient(x: Any, y: Any) -> Any:
    """x / y truncated; division by 0 and by -1, which some machines refuse, never reach the machine."""
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return jnp.where(y == 0, jnp.zeros_like(x), _divide_integers(x, jnp.where(y == 0, jnp.ones_like(y), y)))
    plain = (y != 0) & (y != -1)
    return jnp.where(y == -1, -x, _divide_integers(x, jnp.where(plain, y, jnp.ones_like(y))))


def _divide_integers(x: Any, y: Any) -> Any:
    return lax.div(*jnp.broadcast_arrays(x, y))


def _floor_divide_floating(x: Any, y: Any) -> Any:
    """NumPy's npy_floor_divide: from the exact remainder, snapped to the integer below."""
    x, y = jnp.broadcast_arrays(x, y)
    rest = lax.rem(x, y)
    quotient = (x - rest) / y - ((rest != 0) & ((y < 0) != (rest < 0))).astype(x.dtype)
    floor = jnp.floor(quotient)
    snapped = jnp.where(quotient - floor > 0.5, floor + 1, floor)
    nothing = jnp.copysign(jnp.zeros_like(x), x / y)
    return jnp.where(y == 0, x / y, jnp.where(quotient == 0, nothing, snapped))


def remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of y; 0 for integers divided by 0."""
    if x.dtype == bool:
        x, y = x.astype(jnp.int8), y.astype(jnp.int8)
    if not _is_floating(x):
        return jnp.where(y == 0, jnp.zeros_like(x), x - floor_divide(x, y) * y)
    x, y = jnp.broadcast_arrays(x, y)
    rest = lax.rem(x, y)
    moved = jnp.where((y < 0) != (rest < 0), rest + y, rest)
    return jnp.where(rest == 0, jnp.copysign(jnp.zeros_like(x), y), moved)


def power(x: Any, y: Any) -> Any:
    """x to the power y; complex 0 is a case of its own, as in NumPy."""
    if jnp.issubdtype(x.dtype, jnp.integer):
        return _power_of_integers(x, y)
    if _is_complex(x):
        of_zero = jnp.where(y == 0, 1, jnp.where(y.real > 0, 0, jnp.nan * (1 + 1j))).astype(x.dtype)
        return jnp.where(x == 0, of_zero, jnp.power(x, y))
    return jnp.power(x, y)


def _power_of_integers(x: Any, y: Any) -> Any:
    """By squaring, for as long as an exponent has bits; a check has refused negative ones."""
    x, y = jnp.broadcast_arrays(x, jnp.maximum(y, 0))

    def step(state: Any) -> Any:
        power, base, bits = state
        return jnp.where(bits & 1 == 1, power * base, power), base * base, bits >> 1

    return lax.while_loop(lambda state: jnp.any(state[2] > 0), step, (jnp.ones_like(x), x, y))[0]


def absolute(x: Any) -> Any:
    """The size."""
    return jnp.hypot(x.real, x.imag) if _is_complex(x) else jnp.absolute(x)


def sign(x: Any) -> Any:
    """The sign."""
    return of_complex.sign(x) if _is_complex(x) else jnp.sign(x)


def sqrt(x: Any) -> Any:
    """The root."""
    return of_complex.sqrt(x) if _is_complex(x) else jnp.sqrt(x)


def reciprocal(x: Any) -> Any:
    """1 / x, truncated for integers; 0 for the integer 0."""
    if _is_complex(x):
        return of_complex.reciprocal(x)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return 1 / x
    unit = x == 1 if jnp.issubdtype(x.dtype, jnp.unsignedinteger) else (x == 1) | (x == -1)
    return jnp.where(unit, x, jnp.zeros_like(x))


def maximum(x: Any, y: Any) -> Any:
    """The larger operand; complex ones are ordered by real, then imaginary part."""
    if not _is_complex(x):
        return jnp.maximum(x, y)
    larger = (x.real > y.real) | ((x.real == y.real) & (x.imag >= y.imag))
    return jnp.where(larger | jnp.isnan(x), x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller operand; complex ones are ordered by real, then imaginary part."""
    if not _is_complex(x):
        return jnp.minimum(x, y)
    smaller = (x.real < y.real) | ((x.real == y.real) & (x.imag <= y.imag))
    return jnp.where(smaller | jnp.isnan(x), x, y)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """x limited from below, then from above."""
    return minimum(maximum(x, lower), upper)


def gate(dy: Any, d: Any) -> Any:
    """0 where dy is 0, else the product."""
    return jnp.where(dy == 0, jnp.zeros((), dy.dtype), jnp.multiply(dy, d))


RULES: Final[dict[object, Rule]] = {
    t.add: jnp.add,
    t.subtract: jnp.subtract,
    t.multiply: jnp.multiply,
    t.divide: jnp.true_divide,
    t.floor_divide: floor_divide,
    t.remainder: remainder,
    t.power: power,
    t.negative: jnp.negative,
    t.absolute: absolute,
    t.sign: sign,
    t.square: jnp.square,
    t.sqrt: sqrt,
    t.reciprocal: reciprocal,
    t.maximum: maximum,
    t.minimum: minimum,
    t.clip: clip,
    t.cbrt: jnp.cbrt,
    t.hypot: jnp.hypot,
    t.copysign: jnp.copysign,
    t.nextafter: jnp.nextafter,
    t.gate: gate,
}
