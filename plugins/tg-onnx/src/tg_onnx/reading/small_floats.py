"""Floats of eight bits and fewer: rounding to the values that such a type has.

A type has at most 256 values, so rounding is a search: the number of midpoints between neighbours that lie below |x|
is the code of the nearest value, and of two that are equally near the one with the even code is taken. The values are
those of `ml_dtypes`; float32 holds them and their midpoints exactly.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import tg

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.elements import Element


@functools.cache
def _values(kind: Element) -> np.ndarray[Any, Any]:
    """Finite values that are not negative, by their codes."""
    bits = kind.bits if kind.name == "float8e8m0" else kind.bits - 1
    codes = np.arange(2**bits, dtype=np.uint8).view(kind.storage).astype(np.float32)
    return np.asarray(codes[np.isfinite(codes)])


@functools.cache
def _midpoints(kind: Element) -> np.ndarray[Any, Any]:
    """Midpoints between neighbours, the last with what would follow the greatest value."""
    values = _values(kind).astype(np.float64)
    above = values[-1] * 2 if kind.name == "float8e8m0" else 2 * values[-1] - values[-2]
    return np.asarray((values + np.append(values[1:], above)) / 2, np.float32)


def largest(kind: Element) -> float:
    """The greatest value of a type."""
    return float(_values(kind)[-1])


def rounded(x: Variable, kind: Element, *, saturate: bool = True, mode: str = "nearest") -> Variable:
    """x as float32, rounded to the values of a type.

    Args:
        saturate: what is too large becomes the greatest value, else an infinity or NaN.
        mode: of float8e8m0, which has powers of two only: "nearest" (halfway is up), "up" or "down".
    """
    x = tg.cast(x, "float32")
    size = tg.absolute(x)
    values = _values(kind)
    if kind.name == "float8e8m0":
        code = _exponent_code(size, kind, mode)
    else:
        below = tg.searchsorted(tg.constant(_midpoints(kind)), size, side="left")
        through = tg.searchsorted(tg.constant(_midpoints(kind)), size, side="right")
        code = below + (through - below) * (below % 2)
    nearest = tg.take(tg.constant(values), tg.minimum(code, len(values) - 1), mode="promise")
    over = code >= len(values)
    if not saturate and kind.name != "float4e2m1":
        nearest = tg.where(over, _over(kind), nearest)
    if kind.name != "float8e8m0":
        nearest = tg.copysign(nearest, x)
    if kind.name.endswith("fnuz"):
        nearest = tg.where(tg.equal(nearest, 0), 0, nearest)  # they have no negative zero
    if kind.name == "float4e2m1":
        return tg.where(tg.isnan(x), -0.0, nearest)  # it has no NaN; ml_dtypes gives a zero
    return tg.where(tg.isnan(x), x, nearest)


def _exponent_code(size: Variable, kind: Element, mode: str) -> Variable:
    values = tg.constant(_values(kind))
    if mode == "up":
        return tg.searchsorted(values, size, side="left")
    if mode == "down":
        return tg.maximum(tg.searchsorted(values, size, side="right") - 1, 0)
    return tg.searchsorted(tg.constant(_midpoints(kind)), size, side="right")


def _over(kind: Element) -> float:
    return float("inf") if kind.name == "float8e5m2" else float("nan")
