"""Constants of rewrites, combined exactly: what n / d of them amounts to is rounded once, when it is written.

Floats are dyadic fractions, so products, quotients and sums of them are known exactly as `Fraction`s; integers are
Python integers, of which a dtype keeps its own bits. `constant` asks the one question that decides whether a constant
may stand for others: whether the exact number is, rounded to the dtype, 0 though it is not 0, infinite, or subnormal.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import divide, multiply, negative
from tg.types.dtypes import FLOATS, float_limits, is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

Exact: TypeAlias = int | Fraction
MODULUS: Final = 1 << 64  # of all integers
LARGEST_SCALE: Final = 2**32  # constants beyond it, or below its reciprocal, are there to scale
FLOATING: Final = frozenset(FLOATS)
SPARED: Final = 256  # constants this far apart are added up: where all else cancels, so much more is rounding


class Format(NamedTuple):
    """The binary format of a floating dtype: its digits, and the exponents of its least and largest normal numbers."""

    digits: int
    least: int
    largest: int


@functools.cache
def _format(dtype: str) -> Format:
    limits = float_limits(dtype)
    return Format(int(limits.nmant) + 1, int(limits.minexp), int(limits.maxexp) - 1)


def exact(v: Variable) -> Exact | None:
    """The number that a real constant of one element is; None for NaN, infinities, and whatever else is no number."""
    if not isinstance(v, Constant) or v.data.size != 1:
        return None
    value = v.data.item()
    if type(value) is int:
        return value
    return _exact(float(value)) if v.type.dtype in FLOATING else None


@functools.lru_cache(maxsize=4096)
def _exact(value: float) -> Exact | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else Fraction(value)  # integers are several times as fast


def size(value: Exact) -> Exact:
    """The absolute value."""
    return value if value.numerator >= 0 else -value  # a fraction takes ten times as long to compare itself


def keeps_digits(total: Exact, least: Exact, dtype: str) -> bool:
    """Whether a sum of constants is rounded by no more than its least one can spare: x + 1 + 1e-12 has no 0."""
    if is_integer(dtype):
        return True
    spared = min(SPARED, 1 << _format(dtype).digits // 2)
    return size(total) <= spared * least or rounded(total, dtype) == total


def rounded(value: Exact, dtype: str) -> float | None:
    """The number of a floating dtype nearest to an exact one, ties to even; None where that is infinite."""
    return _rounded(value.numerator, value.denominator, dtype)


@functools.lru_cache(maxsize=4096)
def _rounded(n: int, d: int, dtype: str) -> float | None:
    if not n:
        return 0.0
    digits, least, largest = _format(dtype)
    shift = digits - 1 - max(_exponent(n, d), least)  # that makes an integer of the digits that are kept
    above, below = (abs(n) << shift, d) if shift > 0 else (abs(n), d << -shift)
    whole, rest = divmod(above, below)
    whole += 2 * rest > below or (2 * rest == below and whole % 2 == 1)
    if whole.bit_length() - 1 - shift > largest:
        return None
    return math.ldexp(whole if n > 0 else -whole, -shift)


def _exponent(n: int, d: int) -> int:
    """The exponent e of a number n / d other than 0, of which 2**e <= |n / d| < 2**(e + 1)."""
    guess = abs(n).bit_length() - d.bit_length()
    reaches = abs(n) >= d << guess if guess > 0 else abs(n) << -guess >= d
    return guess if reaches else guess - 1


def is_normal(value: Exact, dtype: str) -> bool:
    """Whether a number, rounded to a floating dtype, neither overflows nor vanishes nor loses digits to underflow."""
    number = rounded(value, dtype)
    return number is not None and (not value or abs(number) >= math.ldexp(1, _format(dtype).least))


def constant(value: Exact, dtype: str) -> Constant | None:
    """A 0-d constant; None where a float is not a normal number of the dtype or 0. Integers wrap."""
    if is_integer(dtype):
        return Constant(np.array(wrapped(int(value), dtype), numpy_dtype(dtype)))
    return Constant(np.array(rounded(value, dtype)).astype(numpy_dtype(dtype))) if is_normal(value, dtype) else None


def wrapped(value: int, dtype: str) -> int:
    """The number of an integer dtype that equals a given one modulo its width."""
    bits = numpy_dtype(dtype).itemsize * 8
    rest = value & ((1 << bits) - 1)
    return rest - (1 << bits) if dtype.startswith("int") and rest >> (bits - 1) else rest


def nearest(value: int, dtype: str) -> int:
    """An integer as near to 0 as can be, equal to a given one modulo the width of a dtype."""
    span = 1 << (numpy_dtype(dtype).itemsize * 8)
    rest = value % span
    return rest - span if rest > span // 2 else rest


def is_moderate(value: Exact) -> bool:
    """Whether a float factor may move: it is not there to bring what is too large or too small into range."""
    n, d = abs(value.numerator), value.denominator
    return n <= LARGEST_SCALE * d and d <= LARGEST_SCALE * n


def is_in_range(value: Exact, dtype: str) -> bool:
    """Whether a float factor made of several shifts no value by more than a quarter of the dtype's range."""
    return bool(value) and abs(_exponent(value.numerator, value.denominator)) <= (_format(dtype).largest + 1) // 4


class Scale(NamedTuple):
    """The exact factor n / d of a value, by what it is multiplied and by what it is divided; integers have d = 1."""

    n: Exact = 1
    d: Exact = 1

    @property
    def value(self) -> Exact:
        """The factor as one number."""
        return self.n if self.d == 1 else Fraction(self.n, self.d)

    def times(self, other: Scale) -> Scale:
        """The product of two factors."""
        return Scale(self.n * other.n, self.d * other.d)

    def to_power(self, n: int) -> Scale:
        """A whole power, also below 0."""
        if n < 0:
            return Scale(self.d, self.n).to_power(-n)
        return Scale(self.n**n, self.d**n)

    def of(self, x: Variable, result: Variable) -> Variable | None:
        """The value times the factor, divided where it came of divisors alone; None where no normal constant does it.

        Args:
            result: a value of the dtype and the rank that what is made will have.
        """
        dtype = result.type.dtype
        if is_integer(dtype):
            n = nearest(int(self.n), dtype)
            return _by(multiply, x, constant(n, dtype), result) if n not in (1, -1) else x if n == 1 else negative(x)
        if size(self.n) == size(self.d):
            return x if self.n == self.d else negative(x)
        if size(self.n) == 1:
            return _by(divide, x, constant(self.d * self.n, dtype), result)
        return _by(multiply, x, constant(self.value, dtype), result)

    def over(self, x: Variable, result: Variable) -> Variable | None:
        """The factor divided by a value; None where it is no normal number."""
        c = constant(self.value, result.type.dtype)
        return None if c is None else divide(beside(c, x, result), x)


def _by(fn: Any, x: Variable, c: Constant | None, result: Variable) -> Variable | None:
    return None if c is None else fn(x, beside(c, x, result))


def beside(c: Constant, x: Variable, result: Variable) -> Constant:
    """A 0-d constant as an operand beside x, with the axes that x lacks for the rank of the result."""
    rank = result.type.ndim
    return c if x.type.ndim == rank else Constant(c.data.reshape((1,) * rank))
