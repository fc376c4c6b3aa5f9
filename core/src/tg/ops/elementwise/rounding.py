"""Rounding to whole numbers. Integers and bool are whole already; the sign of a zero is that of what was rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import copysign, floor_divide
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isfinite, logical_and, logical_or, where
from tg.ops.elementwise.complex import complex, imag, real
from tg.ops.elementwise.dtype_loops import floating, real_floating
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.record import in_loop, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_inexact, is_integer, numpy_dtype
from tg.variables.conversion import as_variable, plain_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


def _whole(x: Variable) -> Variable | None:
    return None if is_inexact(x.type.dtype) else x


_KEPT = ("finite", "not_nan", "nonnegative", "nonpositive")
_UP = ((("nonnegative", "no_negative_zero"), ("no_negative_zero",)),)  # -0.5 goes to -0.0

floor = unary(
    "floor",
    np.floor,
    real_floating,
    "The largest whole number <= x.",
    d=(lambda x, y: 0,),
    accuracy=0,
    cost=0.8,
    shortcut=_whole,
    facts=of_one(
        "whole", keeps=("finite", "not_nan", "nonnegative", "nonpositive", "negative", "no_negative_zero"), zero=True
    ),
)
ceil = unary(
    "ceil",
    np.ceil,
    real_floating,
    "The smallest whole number >= x.",
    d=(lambda x, y: 0,),
    accuracy=0,
    cost=0.8,
    shortcut=_whole,
    facts=of_one("whole", keeps=("finite", "not_nan", "nonnegative", "nonpositive", "positive"), rules=_UP, zero=True),
)
trunc = unary(
    "trunc", np.trunc, real_floating, "x without its fraction, towards 0.", d=(lambda x, y: 0,), accuracy=0, cost=0.8,
    shortcut=_whole,
    facts=of_one("whole", keeps=_KEPT, rules=_UP, zero=True),
)  # fmt: skip
rint = unary(
    "rint", np.rint, floating, "The whole number nearest to x, the even one of two; of a complex x in both parts.",
    d=(lambda x, y: 0,), accuracy=0, cost=0.8,
    facts=of_one("whole", keeps=_KEPT, rules=_UP, complexes=("finite", "not_nan"), zero=True),
)  # fmt: skip


def round(x: TensorLike, decimals: Any = 0) -> Variable:
    """The nearest number with so many decimals, of two that are as near the one whose last digit is even.

    Negative `decimals` round to tens, hundreds and so on. What has no such digits, as it is so large, stays.

    Dtypes:
        y has the dtype of x; bool becomes float16, as in NumPy. Integers that leave their dtype wrap.
    Raises:
        InputError: `decimals` is not an integer.
    Source:
        numpy.round
    """
    x, decimals = as_variable(x), plain_integer(decimals)
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise InputError(message(f"round: decimals: found {decimals!r}, needed an integer"))
    if is_integer(x.type.dtype):
        return x if int(decimals) >= 0 else _round_integer(x, 10 ** -int(decimals))
    if is_complex(x.type.dtype) and decimals:
        return complex(round(real(x), decimals), round(imag(x), decimals))
    return rint(x) if decimals == 0 else _round_digits(in_loop("round", np.rint, x)[0], int(decimals))


def _round_digits(x: Variable, decimals: int) -> Variable:
    """As NumPy does it: scaled by a power of ten, rounded, scaled back."""
    power = 10.0 ** abs(decimals) if abs(decimals) <= 308 else np.inf
    with np.errstate(over="ignore"):
        beyond = np.isinf(numpy_dtype(x.type.dtype).type(power))
    if beyond:  # no digit to round, or none that is left
        return x if decimals > 0 else where(isfinite(x), copysign(0.0, x), x)
    scaled = x * power if decimals > 0 else x / power
    whole = rint(scaled)
    return where(isfinite(scaled), whole / power if decimals > 0 else whole * power, x)


def _round_integer(x: Variable, power: int) -> Variable:
    """To multiples of a power of ten, exactly."""
    if power > np.iinfo(x.type.dtype).max:
        return zeros_like(x)
    below = floor_divide(x, power)
    rest = x - below * power
    up = logical_or(greater(rest, power - rest), logical_and(equal(rest, power - rest), equal(below % 2, 1)))
    return (below + cast_variable(up, x.type.dtype)) * power


FAMILY = Family(
    "elementwise/rounding",
    (floor, ceil, trunc, rint),
    functions=(round,),
    aliases=(("around", round), ("fix", trunc)),
)
