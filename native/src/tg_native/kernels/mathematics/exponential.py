"""Exponentials and logarithms.

An exponential is 2^n e^r, as `tg_native.kernels.series` says. A logarithm is that of 2^k (1 + f) with
1/sqrt(2) <= 1 + f <= sqrt(2): with s = f / (2 + f), it is 2 s + s^3 R(s^2), where 2 s = f - f^2 / 2 + s f^2 / 2.
The polynomial R has the least relative error on this interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg_native.kernels.dtypes import FORMATS, WORDS
from tg_native.kernels.functions import (
    at_least,
    at_most,
    copysign,
    fabs,
    fma,
    in_tables,
    looked_up,
    power,
    powers,
    scaled,
    unless,
)
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.kernel import SPLIT_BY_TABLE, Data, Kernel, polynomial
from tg_native.kernels.series import EXP_RANGE, LN2, NEAR, NEAR_LESS_1, PER_LN2, POWERS, POWERS_REST, E

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.kernels.lanes import Lanes

R: Final = {
    "float64": (
        0.666666666666667, 0.39999999999898067, 0.2857142862655338, 0.22222211054056099, 0.18182894266523453,
        0.15331568444756336, 0.14618185315506232,
    ),
    "float32": (0.6666666865348816, 0.4000012278556824, 0.28550758957862854, 0.23332086205482483),
}  # fmt: skip
SQRT_HALF: Final = {"float64": 0.7071067811865476, "float32": 0.7071067690849304}
EXP2_RANGE: Final = {"float64": (-1076.0, 1025.0), "float32": (-151.0, 129.0)}
E2: Final = {
    kind: (LN2[kind]["LN2"], *(c * LN2[kind]["LN2"] ** power for power, c in enumerate(coefficients, 2)))
    for kind, coefficients in E.items()
}
"""(2^s - 1) / s, by the same polynomial in s = r / log(2)."""
LIFTS: Final = {"float64": 53, "float32": 24}
"""By how much exponents are raised: the nearest to the bottom of `EXP_RANGE` becomes that of 0, all others normal."""
ENDLESS: Final = {"float64": 673.2, "float32": 72.2}
"""Numbers whose nearest power of 2 is infinite after the shift by `LIFTS`, and so is what is a little more than it."""
EXPM1_IS_LESS_1: Final = -40.0
"""Below it e^x - 1 is -1 in both formats."""
PARTS: Final[dict[str, Data]] = {
    "float64": {
        "PER_LN2": PER_LN2,
        "PER_LN2_REST": 2.0355273740931033e-17,
        "PER_LN10": 0.4342944819032518,
        "LG2_HIGH": 0.30102999566383914,
        "LG2_LOW": 1.42050232272661e-13,
    },
    "float32": {
        "PER_LN2": 1.4426950216293335,
        "PER_LN2_REST": 1.9259629911266175e-08,
        "PER_LN10": 0.4342944920063019,
        "LG2_HIGH": 0.301025390625,
        "LG2_LOW": 4.605038981195214e-06,
    },
}


# --- exponentials ----------------------------------------------------------------------------------------------------


class Reduced(NamedTuple):
    """An argument as n log(2) + r: n as a number, as what was rounded to it, and r."""

    n: Lanes
    t: Lanes
    r: Lanes

    @property
    def place(self) -> Lanes:
        """The bits whose last ones say the place in a table, where n is a multiple of 1/16."""
        return self.t.seen_as(FORMATS[self.t.dtype].whole)


def between(x: Lanes, ends: tuple[float, float]) -> Lanes:
    """X, or the end beyond which its exponential is 0 or infinite; NaN stays."""
    bottom, top = ends
    return at_most(at_least(x, bottom), top)


def exponential(x: Lanes, ends: tuple[float, float], write: Callable[[Lanes], tuple[Lanes, Lanes]]) -> Lanes:
    """e^r 2^n; 0 where x is below the first of two ends.

    To round a product to 0 takes processors 50 to 90 ns a vector, and logarithms of what cannot be, -inf, are many in
    statistics: what is multiplied is made 0 before.

    Args:
        write: e^r - 1 and the sum of n and the format's `powers_rounder`.
    """
    q, t = write(between(x, ends))
    first, second = powers(t)
    first = select(x < ends[0], 0, first)
    return fma(q, first, first) * second


def exponential_by_table(x: Lanes, ends: tuple[float, float], write: Callable[[Lanes], tuple[Lanes, Lanes]]) -> Lanes:
    """As `exponential`, by the instruction that goes with tables and takes any exponent.

    Args:
        write: both factors, the second by its logarithm.
    """
    bottom, top = ends
    value, n = write(at_most(x, top))
    return scaled(select(x < bottom, 0, value), n)


def reduced(x: Lanes, rounder: float) -> Reduced:
    """The nearest multiple of log(2), or of a 16th of it, as the rounder says, and what is left."""
    numbers = LN2[WORDS[x.dtype]]
    t = fma(x, PER_LN2, rounder)
    n = t - rounder
    return Reduced(n, t, fma(n, -numbers["LN2_LOW"], fma(n, -numbers["LN2_HIGH"], x)))


def less_1(r: Lanes, coefficients: Sequence[float], **options: int) -> Lanes:
    """e^r - 1."""
    return fma(r * r, polynomial(r, coefficients, **options), r)


def by_table(with_table: Callable[[Lanes], Lanes], without: Callable[[Lanes], Lanes], x: Lanes) -> Lanes:
    """A function in one of two ways: with numbers from a table, on whole vectors, where an instruction finds them.

    The multiples of a 16th of log(2) have so many digits that only a fused product leaves their rest exact.
    """
    return in_tables(with_table, x) if x.body.looks_up(x.dtype) and x.body.machine.fused else without(x)


def exp(x: Lanes) -> Lanes:
    """The exponential."""
    return by_table(_exp_by_table, _exp, x)


def _exp(x: Lanes) -> Lanes:
    def write(a: Lanes) -> tuple[Lanes, Lanes]:
        at = reduced(a, FORMATS[x.dtype].powers_rounder)
        return less_1(at.r, E[WORDS[x.dtype]]), at.t

    return exponential(x, EXP_RANGE[WORDS[x.dtype]], write)


def exp_down(x: Lanes) -> Lanes:
    """The exponential of numbers that are not above 0, with the same bits.

    No upper end has to be kept, and after a shift of the exponents by `LIFTS` one factor serves: a normal number, or 0
    where x is not above the bottom of the range, so that nothing is asked and no product rounded to 0.
    """
    return by_table(_exp_by_table, _exp_down, x)


def _exp_down(x: Lanes) -> Lanes:
    bottom, lift = EXP_RANGE[WORDS[x.dtype]][0], LIFTS[x.dtype]
    at = reduced(at_least(x, bottom), FORMATS[x.dtype].power_rounder + lift)
    factor = power(at.t)
    return fma(less_1(at.r, E[WORDS[x.dtype]]), factor, factor) * 2.0**-lift


def exp_shifted(x: Lanes) -> Lanes:
    """The exponential of numbers that are not above 0, with the same bits; of those above `ENDLESS` it is infinite."""
    return by_table(_exp_by_table, lambda x: _exp_down(at_most(x, ENDLESS[x.dtype])), x)


def _exp_by_table(x: Lanes) -> Lanes:
    def write(a: Lanes) -> tuple[Lanes, Lanes]:
        at = reduced(a, FORMATS[x.dtype].fine_rounder)
        return _power_by_table(at.place, at.r), at.n

    return exponential_by_table(x, EXP_RANGE[WORDS[x.dtype]], write)


def _power_by_table(place: Lanes, r: Lanes) -> Lanes:
    p = looked_up(POWERS, place, r.dtype)
    return fma(p, less_1(r, NEAR[WORDS[r.dtype]], split=SPLIT_BY_TABLE), p)


def exp2(x: Lanes) -> Lanes:
    """The power of 2."""
    return by_table(_exp2_by_table, _exp2, x)


def _exp2(x: Lanes) -> Lanes:
    rounder = FORMATS[x.dtype].powers_rounder

    def write(a: Lanes) -> tuple[Lanes, Lanes]:
        t = a + rounder
        s = a - (t - rounder)
        return s * polynomial(s, E2[WORDS[x.dtype]]), t

    return exponential(x, EXP2_RANGE[x.dtype], write)


def _exp2_by_table(x: Lanes) -> Lanes:
    form = FORMATS[x.dtype]

    def write(a: Lanes) -> tuple[Lanes, Lanes]:
        s = a + form.fine_rounder
        n = s - form.fine_rounder
        return _power_by_table(s.seen_as(form.whole), (a - n) * LN2[WORDS[x.dtype]]["LN2"]), n

    return exponential_by_table(x, EXP2_RANGE[x.dtype], write)


def expm1(x: Lanes) -> Lanes:
    """e^x - 1 as 2^n (e^r - 1) + (2^n - 1), by halves, since 2^n may be too large; a subnormal x stays."""
    value = by_table(_expm1_by_table, _expm1, x) if x.dtype == "float64" else _expm1(x)
    return select(fabs(x) < FORMATS[x.dtype].tiny, x, value)


def _ends_of_expm1(dtype: str) -> tuple[float, float]:
    return EXPM1_IS_LESS_1, EXP_RANGE[WORDS[dtype]][1]


def _expm1(x: Lanes) -> Lanes:
    form = FORMATS[x.dtype]
    at = reduced(between(x, _ends_of_expm1(x.dtype)), form.power_rounder - 1)
    h, q = power(at.t), less_1(at.r, E[WORDS[x.dtype]])
    return copysign(2 * fma(h, q, h - 0.5), x)


def _expm1_by_table(x: Lanes) -> Lanes:
    at = reduced(between(x, _ends_of_expm1(x.dtype)), FORMATS[x.dtype].fine_rounder)
    h = scaled(looked_up(POWERS, at.place, x.dtype) * 0.5, at.n)
    return copysign(2 * fma(h, _less_1_by_table(at.place, at.r), h - 0.5), x)


def _less_1_by_table(place: Lanes, r: Lanes) -> Lanes:
    """e^r - 1, and what the powers of the table lack of themselves, which counts here."""
    small = less_1(r, NEAR_LESS_1[WORDS[r.dtype]], split=SPLIT_BY_TABLE)
    return small + looked_up(POWERS_REST, place, r.dtype)


def rise(x: Lanes) -> Lanes:
    """e^2x - 1, of numbers from 0 to where 2^n is no problem."""
    return by_table(_rise_by_table, _rise, x) if x.dtype == "float64" else _rise(x)


def _doubled(x: Lanes, rounder: float) -> Reduced:
    """2 x, reduced."""
    numbers, a = LN2[WORDS[x.dtype]], x + x
    t = fma(x, 2 * PER_LN2, rounder)
    n = t - rounder
    return Reduced(n, t, fma(n, -numbers["LN2_LOW"], fma(n, -numbers["LN2_HIGH"], a)))


def _rise(x: Lanes) -> Lanes:
    at = _doubled(x, FORMATS[x.dtype].power_rounder)
    h = power(at.t)
    return fma(h, less_1(at.r, E[WORDS[x.dtype]]), h - 1)


def _rise_by_table(x: Lanes) -> Lanes:
    at = _doubled(x, FORMATS[x.dtype].fine_rounder)
    h = scaled(looked_up(POWERS, at.place, x.dtype), at.n)
    return fma(h, _less_1_by_table(at.place, at.r), h - 1)


# --- logarithms ------------------------------------------------------------------------------------------------------


def log_of_scaled(k: Lanes, f: Lanes) -> Lanes:
    """The logarithm of 2^k (1 + f)."""
    numbers = LN2[WORDS[f.dtype]]
    s = f / (2 + f)
    z, h = s * s, f * f * 0.5
    t = fma(z, polynomial(z, R[f.dtype]), h)
    return fma(k, numbers["LN2_HIGH"], f - (h - fma(s, t, k * numbers["LN2_LOW"])))


def taken_apart(a: Lanes, bias: Lanes) -> tuple[Lanes, Lanes]:
    """k and 1 + f of a positive normal number: of others, the exponent is not that of their bits.

    Args:
        bias: the bias of the exponent, with the number that rounds to an integer.
    """
    form = FORMATS[a.dtype]
    half, one, rounder = (a.like(c).bits() for c in (SQRT_HALF[a.dtype], 1, form.rounder))
    bits = a.bits() - (half - one)
    k = ((bits >> form.digits) + rounder).seen_as(a.dtype) - bias
    return k, ((bits & form.fraction) + half).seen_as(a.dtype)


def _log(x: Lanes, value: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
    """A logarithm by k and 1 + f; those of subnormal numbers by what these are times a power of 2."""
    form = FORMATS[x.dtype]
    usual = (x >= form.tiny) & (x <= form.most)
    low, bias = x < form.tiny, x.like(form.rounder + form.bias)
    a = unless(~usual, x, lambda: select(low, x * form.lift, x))
    bias = unless(~usual, bias, lambda: select(low, form.rounder + form.bias + form.lifted, bias))
    y = value(*taken_apart(a, bias))

    def at_ends() -> Lanes:
        value = select(x == 0, -np.inf, select(x < 0, np.nan, y))
        return select(x > form.most, x, select(x.is_nan(), x, value))

    return x.body.replaced(x.body.anywhere(~usual), y, at_ends)


def log(x: Lanes) -> Lanes:
    """The logarithm."""
    return _log(x, lambda k, m: log_of_scaled(k, m - 1))


def log_of_normal(x: Lanes) -> Lanes:
    """The logarithm of numbers that are positive and normal; of others, some number."""
    k, m = taken_apart(x, x.like(FORMATS[x.dtype].rounder + FORMATS[x.dtype].bias))
    return log_of_scaled(k, m - 1)


def log_as_term(x: Lanes) -> Lanes:
    """As `log_of_normal`, but for 1.5 units of 1 or of the result, whichever is larger: for what is added to others."""
    k, m = taken_apart(x, x.like(FORMATS[x.dtype].rounder + FORMATS[x.dtype].bias))
    s = (m - 1) / (m + 1)
    z = s * s
    return fma(k, LN2[WORDS[x.dtype]]["LN2"], s * fma(z, polynomial(z, R[x.dtype]), 2))


def log2(x: Lanes) -> Lanes:
    """The logarithm of base 2: that of 1 + f by itself, and k exactly, so that powers of 2 have whole ones."""
    numbers = PARTS[x.dtype]

    def value(k: Lanes, m: Lanes) -> Lanes:
        part = log_of_scaled(k.like(0), m - 1)
        return k + fma(part, numbers["PER_LN2_REST"], part * numbers["PER_LN2"])

    return _log(x, value)


def log10(x: Lanes) -> Lanes:
    """The logarithm of base 10."""
    numbers = PARTS[x.dtype]

    def value(k: Lanes, m: Lanes) -> Lanes:
        part = log_of_scaled(k.like(0), m - 1)
        return fma(k, numbers["LG2_HIGH"], fma(part, numbers["PER_LN10"], k * numbers["LG2_LOW"]))

    return _log(x, value)


def log1p(x: Lanes) -> Lanes:
    """The logarithm of 1 + x: the rounding error of the sum goes into f; where k is 0, f is x."""
    form = FORMATS[x.dtype]
    odd = ~((x > -1) & (x <= form.most))
    a = 1 + x
    b = a - 1
    c = (x - b) + (1 - (a - b))
    k, m = taken_apart(a, x.like(form.rounder + form.bias))
    y = copysign(log_of_scaled(k, (m - 1) + scaled(c, -k)), x)
    return unless(odd, y, lambda: select(x == -1, -np.inf, select(x < -1, np.nan, x)))


KERNELS: Final = {
    "exp": Kernel(exp, error=1.5, preferred=("float32", "float64")),
    "exp2": Kernel(exp2, error=1.5),
    "expm1": Kernel(expm1, error=2.5, narrow=("float32", "float64")),
    "log": Kernel(log, error=1.5),
    "log2": Kernel(log2, error=2.5),
    "log10": Kernel(log10, error=2.5),
    "log1p": Kernel(log1p, error=2.0),
}
