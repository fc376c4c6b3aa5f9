"""Ways in which results may be other numbers than the ones that the reference computes.

`Rounding` makes every rounding anew; `Shortening` leaves out the last digits of some results, for what is 1 but for a
rounding, or not, may decide the rest; `Flushing` takes subnormal numbers for 0, as some machines do.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import ml_dtypes
import numpy as np

from tg.types.dtypes import numpy_dtype

# What rounds nothing: a result is an element of an operand, or a whole number, or a truth value.
EXACT = frozenset({
    "negative", "absolute", "sign", "maximum", "minimum", "where", "floor", "ceil", "trunc", "rint", "clip",
    "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", "conjugate",
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "real", "imag", "complex", "positive",
    "Reshape", "BroadcastTo", "Transpose", "ExpandDims", "Squeeze", "Concatenate", "SpecifyShape", "Named", "Assume",
    "AxisLength", "Slice", "Gather", "WrapIndex", "Nonzero", "Arange", "Sort", "ArgSort", "SearchSorted", "ArgReduce",
})  # fmt: skip
ELEMENTS = frozenset({"Reduce", "Accumulate", "SliceUpdate", "Scatter"})  # as exact as the function in their field


class Limits(NamedTuple):
    """Of a floating dtype: the distance from 1 to the next number, the least normal number, the least, the largest."""

    eps: float
    tiny: float
    least: float
    largest: float


@functools.cache
def limits(dtype: np.dtype) -> Limits:
    info = ml_dtypes.finfo(np.finfo(dtype).dtype if dtype.kind == "c" else dtype)
    return Limits(float(info.eps), float(info.tiny), float(info.smallest_subnormal), float(info.max))


def is_inexact(dtype: np.dtype) -> bool:
    return dtype.kind in "fc" or dtype == ml_dtypes.bfloat16


def rounds(op) -> bool:
    """Whether an op gives results that are rounded."""
    if type(op).__name__ == "Cast":
        return is_inexact(numpy_dtype(op.dtype))
    if type(op).__name__ in ELEMENTS:
        fn = getattr(op, "fn", None)
        return fn is not None and fn.name not in EXACT
    return op.name not in EXACT and type(op).__name__ not in EXACT


def perturbed(x, rng, *, ulps: float = 2.0):
    """The array with every finite element moved by at most so many units in the last place."""
    x = np.asarray(x)
    if not is_inexact(x.dtype) or not x.size:
        return x
    if x.dtype.kind == "c":
        parts = [perturbed(part, rng, ulps=ulps) for part in (x.real, x.imag)]
        return (parts[0] + 1j * parts[1]).astype(x.dtype) if np.isfinite(x).all() else x
    info = limits(x.dtype)
    wide = x.astype(np.float64)
    steps = rng.uniform(-ulps, ulps, x.shape)
    moved = wide * (1 + info.eps * steps)
    small = (np.abs(wide) < info.tiny) & (wide != 0)
    if small.any():
        moved = np.where(small, wide + info.least * np.rint(steps), moved)
    moved = moved.astype(x.dtype)
    moved = np.where((x == 0) & (steps < 0), -moved, moved)  # of a zero the sign is as uncertain
    return np.where(np.isfinite(moved), moved, x)


def moved_operands(op, operands, rng):
    """Operands as if each had been rounded before; whole exponents stay whole, and what a gate reads stays as it is."""
    if op.name == "gate" or type(op).__name__ == "Cast":
        return operands
    if op.name in ("power", "float_power"):
        return [perturbed(operands[0], rng), operands[1]]
    return [perturbed(x, rng) for x in operands]


def with_noise(operands, value, rng):
    """A result with its rounding made anew; a product that underflowed to 0 may be the least number."""
    moved = perturbed(value, rng)
    if value.dtype.kind == "f" and value.size and not value.all():
        lost = value == 0
        for x in operands:
            if x.shape == value.shape or x.ndim == 0:
                lost = lost & (x != 0)
            else:
                return moved
        if lost.any():
            noise = limits(value.dtype).least * rng.integers(-1, 2, value.shape)
            return np.where(lost, noise.astype(value.dtype), moved)
    return moved


def in_parts(function, x):
    """A function of real arrays applied to the parts of a complex one."""
    if x.dtype.kind != "c":
        return function(x)
    found = np.empty_like(x)
    found.real, found.imag = function(x.real), function(x.imag)
    return found


def shortened(x):
    """The array with its finite numbers rounded to four binary digits fewer."""
    info = limits(x.dtype)
    mantissa, exponent = np.frexp(x.astype(np.float64))
    count = 8 * info.eps
    found = np.ldexp(np.rint(mantissa / count) * count, exponent).astype(x.dtype)
    return np.where(np.isfinite(x) & np.isfinite(found), found, x)


def flushed(x):
    """The array with its subnormal numbers taken for 0."""
    return np.where(np.abs(x.astype(np.float64)) < limits(x.dtype).tiny, np.copysign(np.zeros_like(x), x), x)


class Rounding:
    """Each operation that rounds gets operands and gives results that are wrong by a few units in the last place."""

    def __init__(self, rng) -> None:
        self.rng = rng

    def operands(self, op, operands):
        return moved_operands(op, operands, self.rng) if rounds(op) else operands

    def result(self, op, operands, value):
        return with_noise(operands, value, self.rng) if rounds(op) else value


class Shortening:
    """A third of the operations that round give results of four binary digits fewer."""

    def __init__(self, rng) -> None:
        self.rng = rng

    def operands(self, op, operands):
        return operands

    def result(self, op, operands, value):
        shortens = is_inexact(value.dtype) and rounds(op) and not self.rng.integers(3)
        return in_parts(shortened, value) if shortens else value


class Flushing:
    """Subnormal numbers are 0 wherever they are read, and wherever they result."""

    def operands(self, op, operands):
        return [in_parts(flushed, x) if is_inexact(x.dtype) else x for x in operands]

    def result(self, op, operands, value):
        return in_parts(flushed, value) if is_inexact(value.dtype) else value
