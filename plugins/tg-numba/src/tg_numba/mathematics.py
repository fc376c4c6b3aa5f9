"""Functions of vectors that are written out, because the platform's vector library has them more slowly.

NaN, infinities and zeros are those of libm, with its signs; every other result is at most `error` units in the last
place off. The first uses in a loop stand where they are used and later ones are calls of a function of the module;
the arithmetic is the same, so equal elements have equal results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg_native.kernels.series import EXP_RANGE, LN2, NEAR, NEAR_LESS_1, PER_LN2, POWERS, POWERS_REST, TANH_IS_1, E
from tg_numba.assembly import Body
from tg_numba.lanes import Lanes, select
from tg_numba.pieces import in_vectors
from tg_numba.processor import copysign, fabs, fma, has_tables, looked_up, scaled, vector_bytes
from tg_numba.text import WORDS, item_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WRITTEN_OUT: Final = 4  # vectors in a loop whose function stands where it is used: each costs the compiler 1 ms
SPLIT: Final = 3  # the coefficients beyond which a polynomial is the sum of two, which are computed at once
ROUNDER: Final = {"float64": 1.5 * 2.0**52, "float32": 1.5 * 2.0**23}  # what rounds to an integer when it is added
FORMATS: Final = {"float64": ("int64", 52, 1023), "float32": ("int32", 23, 127)}  # bits, those of the fraction, bias
ENTRIES: Final = 16


class Kernel(NamedTuple):
    """A function of lanes.

    Args:
        write: writes it.
        dtypes: those that it is written out for.
        error: the largest, in units in the last place.
    """

    write: Callable[[Lanes], Lanes]
    dtypes: tuple[str, ...]
    error: float


def is_written(name: str, dtype: str) -> bool:
    """Whether a function is written out, and no library is asked for it."""
    return name in KERNELS and dtype in KERNELS[name].dtypes


def written(name: str, x: Lanes) -> Lanes:
    """A function in place or, where there have been many of it, by a call."""
    body, kernel = x.body, KERNELS[name]
    vectors = max(1, body.lanes * item_size(x.dtype) // vector_bytes())
    if body.module.used(name, vectors) <= WRITTEN_OUT:
        return kernel.write(x)
    symbol = f"tg.{name}.{WORDS[x.dtype]}.{body.lanes}"
    if symbol not in body.module.defined:
        body.module.define(symbol, _definition(symbol, kernel, x))
    return Lanes(body, x.dtype, body.called(symbol, x.kind, [x.operand]))


def _definition(symbol: str, kernel: Kernel, x: Lanes) -> str:
    body = Body(x.body.module, x.body.lanes)
    found = kernel.write(Lanes(body, x.dtype, "%x"))
    body.do(f"ret {x.kind} {found.text}")
    return f"define internal {x.kind} @{symbol}({x.kind} %x) noinline nounwind {{\n{body.text()}\n}}"


# --- parts -----------------------------------------------------------------------------------------------------------


def polynomial(t: Lanes, coefficients: Sequence[float]) -> Lanes:
    """A polynomial from the constant term on: a long one as even and odd terms."""
    if len(coefficients) > SPLIT:
        even, odd = (polynomial(t * t, coefficients[k::2]) for k in (0, 1))
        return fma(odd, t, even)
    total = t.like(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, t, c)
    return total


def _reduced(x: Lanes, steps: int) -> tuple[Lanes, Lanes, Lanes]:
    """The multiple n of 1/steps next to x / log(2), as bits and as a number, and what is left of x."""
    numbers, rounder = LN2[WORDS[x.dtype]], ROUNDER[x.dtype] / steps
    t = fma(x, PER_LN2, rounder)
    n = t - rounder
    return t.bits(), n, fma(n, -numbers["LN2_LOW"], fma(n, -numbers["LN2_HIGH"], x))


def _less_1(r: Lanes, coefficients: Sequence[float]) -> Lanes:
    """e^r - 1."""
    return fma(r * r, polynomial(r, coefficients), r)


def _times_power(x: Lanes, n: Lanes) -> Lanes:
    """X 2^n for whole n, in two factors: one may have no normal number."""
    whole, digits, bias = FORMATS[x.dtype]
    i = n.truncated(whole)
    h = i >> 1
    return x * ((h + bias) << digits).seen_as(x.dtype) * ((i - h + bias) << digits).seen_as(x.dtype)


def _in_tables(write: Callable[[Lanes], Lanes], x: Lanes) -> Lanes:
    """A function that looks up numbers, on whole vectors."""
    return in_vectors(write, vector_bytes() // item_size(x.dtype), x)


# --- functions -------------------------------------------------------------------------------------------------------


def _within(x: Lanes) -> Lanes:
    """X, or the end of the range in which its exponential is neither 0 nor infinite; NaN stays."""
    bottom, top = EXP_RANGE[WORDS[x.dtype]]
    x = select(x > top, top, x)
    return select(x < bottom, bottom, x)


def exp(x: Lanes) -> Lanes:
    """The exponential."""
    if has_tables():
        return _in_tables(_exp_by_table, x)
    x = _within(x)
    _, n, r = _reduced(x, 1)
    return _times_power(_less_1(r, E[WORDS[x.dtype]]) + 1, n)


def _exp_by_table(x: Lanes) -> Lanes:
    place, n, r = _reduced(_within(x), ENTRIES)
    power = looked_up(POWERS, place, x.dtype)
    return scaled(fma(power, _less_1(r, NEAR[WORDS[x.dtype]]), power), n)


def tanh(x: Lanes) -> Lanes:
    """The hyperbolic tangent: with q = e^(2 |x|) - 1 it is q / (q + 2), with the sign put back."""
    a = fabs(x)
    one = TANH_IS_1[WORDS[x.dtype]]
    b = select(a > one, one, a)
    q = _in_tables(_expm1_by_table, b + b) if has_tables() else _expm1(b + b)
    return copysign(q / (q + 2), x)


def _expm1(x: Lanes) -> Lanes:
    """Of numbers from 0 to where e^x is finite: 2^n (e^r - 1) + (2^n - 1)."""
    _, n, r = _reduced(x, 1)
    power = _times_power(x.like(1), n)
    return fma(power, _less_1(r, E[WORDS[x.dtype]]), power - 1)


def _expm1_by_table(x: Lanes) -> Lanes:
    """The same with the powers of 2^(1/16), of which what they lack counts too."""
    place, n, r = _reduced(x, ENTRIES)
    power = scaled(looked_up(POWERS, place, x.dtype), n)
    rest = looked_up(POWERS_REST, place, x.dtype)
    return fma(power, r + fma(r * r, polynomial(r, NEAR_LESS_1[WORDS[x.dtype]]), rest), power - 1)


KERNELS: Final = {
    "exp": Kernel(exp, ("float32", "float64"), error=1.5),
    "tanh": Kernel(tanh, ("float64",), error=3.0),
}
