"""Less used functions of single numbers under NumPy's names, each built of elementwise functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, message
from tg.ops.arranging import broadcast_arrays
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    copysign,
    divide,
    floor_divide,
    multiply,
    negative,
    nextafter,
    power,
    remainder,
    subtract,
)
from tg.ops.elementwise.bitwise import bitwise_and, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    logical_and,
    logical_not,
    not_equal,
    where,
)
from tg.ops.elementwise.complex import imag
from tg.ops.elementwise.exponential import exp2, log1p
from tg.ops.elementwise.record import in_loop
from tg.ops.elementwise.rounding import trunc
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of
from tg.ops.shape import concatenate
from tg.ops.sorting import sort
from tg.types.dtypes import SIGNED, is_complex, is_integer, numpy_dtype
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, axis_from_end, promoted

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

MOST_STEPS: Final = 100  # Euclid's algorithm takes 91 for neighbouring numbers of Fibonacci below 2**64
BITS: Final = range(9, -1, -1)  # of the exponents of float64, the highest first


def fabs(x: TensorLike) -> Variable:
    """The absolute value of a real number, in a floating dtype.

    Source:
        numpy.fabs
    """
    return absolute(*in_loop("fabs", np.fabs, x))


def fmod(x: TensorLike, y: TensorLike) -> Variable:
    """The remainder of x / y rounded towards 0, which has the sign of x; of integers by 0 it is 0.

    Source:
        numpy.fmod
    """
    x, y = in_loop("fmod", np.fmod, x, y)
    if not is_integer(x.type.dtype):
        return copysign(remainder(absolute(x), absolute(y)), x)
    rest = remainder(x, y)  # with the sign of y
    if x.type.dtype not in SIGNED:
        return rest
    differs = logical_and(not_equal(rest, 0), not_equal(less(x, 0), less(y, 0)))
    return where(differs, subtract(rest, y), rest)


def modf(x: TensorLike) -> tuple[Variable, Variable]:
    """The fraction and the whole part of x, each with the sign of x.

    Source:
        numpy.modf
    """
    (x,) = in_loop("modf", np.rint, x)
    whole = trunc(x)
    zero = numpy_dtype(x.type.dtype).type(0)
    return copysign(where(isinf(x), zero, subtract(x, whole)), x), whole


def ldexp(x: TensorLike, exponent: Any) -> Variable:
    """x * 2**exponent, rounded once where the result is subnormal; the derivative is 2**exponent.

    Dtypes:
        that of x; the exponent is an integer
    Raises:
        DtypeError: the exponent is no integer, or x is complex.
    Source:
        numpy.ldexp
    """
    (x,) = in_loop("ldexp", np.rint, x)
    n = as_variable(exponent)
    if not (is_integer(n.type.dtype) or n.type.dtype == "bool") or is_complex(x.type.dtype):
        text = f"ldexp: found {x.type.dtype} and {n.type.dtype}, needed a real number and an integer"
        raise DtypeError(message(text))
    wide = cast_variable(x, "float64")  # which holds every product of the narrower ones
    n = where(greater(n, 2200), 2200, n) if np.iinfo(_integer(n)).max > 2200 else n
    count = cast_variable(n, "int64")
    count = where(less(count, -2200), -2200, count)
    for _ in range(2):
        up, down = greater(count, 1000), less(count, -960)
        wide = multiply(wide, where(up, 2.0**1000, where(down, 2.0**-960, 1.0)))
        count = subtract(count, where(up, 1000, where(down, -960, 0)))
    return cast_variable(multiply(wide, _power_of_two(count)), x.type.dtype)


def _integer(n: Variable) -> str:
    return "uint8" if n.type.dtype == "bool" else n.type.dtype


def _power_of_two(n: Variable) -> Variable:
    """2.0**n for integers -1022 <= n <= 1023, exactly: a product by the bits of n."""
    size = absolute(n)
    y: Any = 1.0
    for k in BITS:
        chosen = not_equal(bitwise_and(size, 1 << k), 0)
        y = multiply(y, where(chosen, where(less(n, 0), 2.0 ** -(1 << k), 2.0 ** (1 << k)), 1.0))
    return y  # type: ignore[no-any-return]


def frexp(x: TensorLike) -> tuple[Variable, Variable]:
    """The mantissa m in [0.5, 1) and the exponent n with x = m * 2**n; x itself and 0 for 0, NaN and infinities.

    Dtypes:
        those of x, and int32
    Source:
        numpy.frexp
    """
    (x,) = in_loop("frexp", np.rint, x)
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"frexp: found {x.type.dtype}, needed a real dtype"))
    size = absolute(cast_variable(x, "float64"))
    plain = logical_and(isfinite(size), not_equal(size, 0.0))
    m = where(plain, size, 0.5)
    n: Any = 0
    for k in (*BITS, 0):
        large = greater_equal(m, 2.0 ** ((1 << k) - 1))
        m, n = multiply(m, where(large, 2.0 ** -(1 << k), 1.0)), add(n, where(large, 1 << k, 0))
    for k in (9, *BITS):  # down to the subnormal 2**-1074
        small = less(m, 2.0 ** -(1 << k))
        m, n = multiply(m, where(small, 2.0 ** (1 << k), 1.0)), subtract(n, where(small, 1 << k, 0))
    mantissa = where(plain, copysign(cast_variable(m, x.type.dtype), x), x)
    return mantissa, cast_variable(where(plain, n, 0), "int32")


def spacing(x: TensorLike) -> Variable:
    """The distance from x to the next number of its dtype, away from 0 and with the sign of x; NaN for infinities.

    Source:
        numpy.spacing
    """
    (x,) = in_loop("spacing", np.spacing, x)
    infinity = numpy_dtype(x.type.dtype).type(np.inf)
    return subtract(nextafter(x, where(less(x, 0), -infinity, infinity)), x)


def float_power(x: TensorLike, y: TensorLike) -> Variable:
    """x**y in float64, or in complex128 if one of them is complex.

    Source:
        numpy.float_power
    """
    (x, y), dtype = promoted([x, y])
    wide = "complex128" if is_complex(dtype) else "float64"
    return power(cast_variable(x, wide), cast_variable(y, wide))


def logaddexp2(x: TensorLike, y: TensorLike) -> Variable:
    """log2(2**x + 2**y) without overflow.

    Source:
        numpy.logaddexp2
    """
    x, y = in_loop("logaddexp2", np.logaddexp2, x, y)
    kind = numpy_dtype(x.type.dtype).type
    larger = where(greater(x, y), x, y)
    gap = negative(absolute(subtract(x, y)))
    total = add(larger, multiply(log1p(exp2(where(isnan(gap), kind(0), gap))), kind(1 / math.log(2))))
    both = where(equal(x, y), add(x, kind(1)), total)
    return where(isnan(x), x, where(isnan(y), y, both))


def _greatest_divisor(x: Variable, y: Variable) -> Variable:
    """Euclid's algorithm on numbers that are not negative."""
    a, b = broadcast_arrays(x, y)

    def step(carry: tuple[Variable, Variable]) -> tuple[Variable, Variable]:
        a, b = carry
        divides = not_equal(b, 0)
        return where(divides, b, a), where(divides, remainder(a, where(divides, b, 1)), 0)

    result, _ = while_loop(lambda c: any_of(not_equal(c[1], 0)), step, (a, b), max_steps=MOST_STEPS)
    return result  # type: ignore[no-any-return]


def _integers(what: str, ufunc: np.ufunc, x: Any, y: Any) -> tuple[Variable, Variable]:
    x, y = in_loop(what, ufunc, x, y)
    return absolute(x), absolute(y)


def gcd(x: TensorLike, y: TensorLike) -> Variable:
    """The greatest common divisor of the absolute values of integers; that of 0 and 0 is 0.

    Raises:
        DtypeError: an operand is no integer.
    Source:
        numpy.gcd
    """
    return _greatest_divisor(*_integers("gcd", np.gcd, x, y))


def lcm(x: TensorLike, y: TensorLike) -> Variable:
    """The least common multiple of the absolute values of integers, 0 if one is 0; it wraps as products do.

    Raises:
        DtypeError: an operand is no integer.
    Source:
        numpy.lcm
    """
    a, b = _integers("lcm", np.lcm, x, y)
    divisor = _greatest_divisor(a, b)
    return multiply(floor_divide(a, where(equal(divisor, 0), 1, divisor)), b)


def bitwise_count(x: TensorLike) -> Variable:
    """The number of bits set in the absolute value of an integer, as uint8.

    Raises:
        DtypeError: x is no integer.
    Source:
        numpy.bitwise_count
    """
    (x,) = in_loop("bitwise_count", np.bitwise_count, x)
    v = cast_variable(absolute(x) if x.type.dtype in SIGNED else x, "uint64")
    if x.type.dtype in SIGNED:  # the least integer is its own absolute value: one bit, among copies of the sign
        v = bitwise_and(v, np.uint64((1 << np.iinfo(x.type.dtype).bits) - 1))
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        low, high = bitwise_and(v, np.uint64(mask)), bitwise_and(right_shift(v, np.uint64(shift)), np.uint64(mask))
        v = add(low, high)
    v = right_shift(multiply(v, np.uint64(0x0101010101010101)), np.uint64(56))  # the sum of the bytes, in the highest
    return cast_variable(v, "uint8")


def isneginf(x: TensorLike) -> Variable:
    """Whether an element is minus infinity.

    Raises:
        DtypeError: x is complex.
    Source:
        numpy.isneginf
    """
    return _is_infinity("isneginf", x, -np.inf)


def isposinf(x: TensorLike) -> Variable:
    """Whether an element is plus infinity.

    Raises:
        DtypeError: x is complex.
    Source:
        numpy.isposinf
    """
    return _is_infinity("isposinf", x, np.inf)


def _is_infinity(what: str, x: Any, value: float) -> Variable:
    x = as_variable(x)
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"{what}: found {x.type.dtype}, needed a real dtype"))
    return logical_and(isinf(x), less(x, 0) if value < 0 else greater(x, 0))


def isreal(x: TensorLike) -> Variable:
    """Whether the imaginary part of an element is 0.

    Source:
        numpy.isreal
    """
    return equal(imag(as_variable(x)), 0)


def iscomplex(x: TensorLike) -> Variable:
    """Whether the imaginary part of an element differs from 0.

    Source:
        numpy.iscomplex
    """
    return logical_not(isreal(x))


def sort_complex(x: TensorLike) -> Variable:
    """The elements in ascending order along the last axis, by real and then by imaginary parts, as complex numbers.

    Dtypes:
        complex64 for integers of up to 16 bits and for float32, else complex128
    Source:
        numpy.sort_complex
    """
    y = sort(x)
    dtype = y.type.dtype
    if is_complex(dtype):
        return y
    return cast_variable(y, "complex64" if dtype in ("int8", "uint8", "int16", "uint16", "float32") else "complex128")


def unwrap(p: TensorLike, discont: Any = None, axis: int = -1, *, period: TensorLike = 2 * math.pi) -> Variable:
    """Angles along an axis with multiples of the period added, so that no step is larger than half of it.

    Args:
        discont: steps up to this stay, if it is more than half the period.
    Raises:
        ShapeError: x is a scalar.
    Source:
        numpy.unwrap
    """
    p = as_variable(p)
    k = axis_from_end(axis, p.type.ndim, "unwrap")
    n = p.shape[k]
    (p, _), dtype = promoted([p, period])
    p = cast_variable(p, dtype)
    whole = is_integer(dtype)
    high = floor_divide(period, 2) if whole else divide(period, 2)
    count = subtract_lengths(n, 1)
    first, later, earlier = slice_axis(p, k, 0, 1), slice_axis(p, k, 1, count), slice_axis(p, k, 0, count)
    step = subtract(later, earlier)
    low = negative(as_variable(high))
    near = add(remainder(subtract(step, low), period), low)
    at_end = logical_and(equal(near, low), greater(step, 0))
    if not whole or (isinstance(period, int) and period % 2 == 0):
        near = where(at_end, high, near)
    correction = subtract(near, step)
    least = high if discont is None else discont
    correction = where(less(absolute(step), least), numpy_dtype(dtype).type(0), correction)
    moved = add(later, cumsum(correction, k))
    return concatenate([first, cast_variable(moved, dtype)], k)


FAMILY = Family(
    "numbers",
    functions=(
        fabs, fmod, modf, ldexp, frexp, spacing, float_power, logaddexp2, gcd, lcm, bitwise_count, isneginf, isposinf,
        isreal, iscomplex, sort_complex, unwrap,
    ),
)  # fmt: skip
