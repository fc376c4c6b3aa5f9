"""Functions of lanes that are a few instructions: those of the processor, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_native.kernels.dtypes import FORMATS, is_wide_float, item_size
from tg_native.kernels.lanes import Lanes, Pair, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def fma(x: Lanes, y: Lanes | float, z: Lanes | float) -> Lanes:
    """The sum x y + z, rounded once where the processor can."""
    if not x.body.machine.fused:
        return x * y + z
    return x.body.computed("fma", (x, x.taken(y), x.taken(z)))


def fabs(x: Lanes) -> Lanes:
    """The number without its sign."""
    return x.body.computed("fabs", (x,))


def sqrt(x: Lanes) -> Lanes:
    """The square root, rounded correctly."""
    return x.body.computed("sqrt", (x,))


def floor(x: Lanes) -> Lanes:
    """The whole number below."""
    return x.body.computed("floor", (x,))


def ceil(x: Lanes) -> Lanes:
    """The whole number above."""
    return x.body.computed("ceil", (x,))


def trunc(x: Lanes) -> Lanes:
    """The whole number towards 0."""
    return x.body.computed("trunc", (x,))


def rint(x: Lanes) -> Lanes:
    """The nearest whole number, the even one of two."""
    return x.body.computed("rint", (x,))


def copysign(x: Lanes, y: Lanes) -> Lanes:
    """x with the sign of y."""
    return x.body.computed("copysign", (x, y))


def sign_bit(x: Lanes) -> Lanes:
    """Whether the sign bit is set, of a half too."""
    bits = x.bits()
    return bits.seen_as("int" + bits.dtype.removeprefix("uint")) < 0


def larger(x: Lanes, y: Lanes) -> Lanes:
    """The larger, or one that is NaN: the inner choice is one instruction, which gives x if either is."""
    if x.body.has_form("larger", x.dtype):
        return x.body.computed("larger", (x, y))
    if not is_wide_float(x.dtype):
        return select(x > y, x, y)
    return select(y.is_nan(), y, select(y > x, y, x))


def smaller(x: Lanes, y: Lanes) -> Lanes:
    """The smaller, or one that is NaN."""
    if x.body.has_form("smaller", x.dtype):
        return x.body.computed("smaller", (x, y))
    if not is_wide_float(x.dtype):
        return select(x < y, x, y)
    return select(y.is_nan(), y, select(y < x, y, x))


def at_least(x: Lanes, y: Lanes | float) -> Lanes:
    """X, or y where x is below it; NaN where x is."""
    y = x.taken(y)
    return x.body.computed("at_least", (x, y)) if x.body.has_form("at_least", x.dtype) else select(x < y, y, x)


def at_most(x: Lanes, y: Lanes | float) -> Lanes:
    """X, or y where x is above it; NaN where x is."""
    y = x.taken(y)
    return x.body.computed("at_most", (x, y)) if x.body.has_form("at_most", x.dtype) else select(x > y, y, x)


def scaled(x: Lanes, n: Lanes) -> Lanes:
    """The product of x and 2^n for whole n, which may be out of the range of exponents by as much again.

    Where numbers are looked up, n may be any number: the instruction that goes with these rounds it down.
    """
    if x.body.has_form("scaled", x.dtype):
        return x.body.computed("scaled", (x, n))
    first, second = powers(n + FORMATS[x.dtype].powers_rounder)
    return x * first * second


def paired(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """The sum of z and both products of the halves of integers of 32 bits, each half a signed integer of 16."""
    if x.body.has_form("paired", x.dtype):
        return x.body.computed("paired", (x, y, z))
    return z + (x >> 16) * (y >> 16) + ((x << 16) >> 16) * ((y << 16) >> 16)


def powers(t: Lanes) -> tuple[Lanes, Lanes]:
    """Two factors of 2^n, which may have no normal number; t is the sum of n and the format's `powers_rounder`.

    The exponent of the first is half of n, rounded down. Both are made of the last bits of the sum, for AVX2 neither
    converts to integers of 64 bits nor shifts signed ones.
    """
    form, bits = FORMATS[t.dtype], t.bits()
    first = (bits << (form.digits - 1)) & form.sign_and_exponent
    return first.seen_as(t.dtype), ((bits << form.digits) - first).seen_as(t.dtype)


def power(t: Lanes) -> Lanes:
    """2^n where that is a normal number; t is the sum of n and the format's `power_rounder`."""
    return (t.bits() << FORMATS[t.dtype].digits).seen_as(t.dtype)


def looked_up(table: Sequence[float], bits: Lanes, dtype: str) -> Lanes:
    """Of 16 numbers those that the last four bits say, where `Body.looks_up`."""
    return bits.body.computed("lookup", (bits,), dtype, tuple(table))


def in_tables(write: Callable[[Lanes], Lanes], x: Lanes) -> Lanes:
    """A function that looks up numbers, on whole vectors."""
    return x.body.in_vectors(write, x.body.machine.vector_bytes // item_size(x.dtype), x)


def unless(condition: Lanes, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
    """A value, but where a condition holds that of `write`, which is computed only if it holds in some lane."""
    body = condition.body
    return body.replaced(body.anywhere(condition), value, lambda: select(condition, write(), value))


def redone(name: str, condition: Lanes, value: Lanes, *operands: Lanes) -> Lanes:
    """A value whose lanes that a condition holds in are computed by libm, each by itself."""
    body = condition.body
    return body.replaced(body.anywhere(condition), value, lambda: body.redone(name, condition, value, operands))


def complex_libm(name: str, *operands: Pair) -> Pair:
    """A function of libm for complex numbers, in double precision."""
    body, dtype = operands[0].body, operands[0].dtype
    parts = [part for v in operands for part in v.to("complex128")]
    return Pair(*body.one_complex(name, parts)).to(dtype)
