"""Rounding errors of values: they are computed again with every rounding made anew, at random.

Where the results stay near one another, so must those of any formula that is the same in exact arithmetic; no constant
tolerance knows how a formula amplifies what it is given.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.types.dtypes import dtype_name, is_complex, is_float

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]

RUNS: Final = 3
SAFETY: Final = 8.0  # how far beyond the spread of a few runs a true rounding may lie
SLACK: Final = 4.0  # units in the last place of a result that are always allowed
CHANCE: Final = 64.0  # times the root of the length: how the errors of a long sum add up
MOST: Final = 2.0**-6  # relative error of the longest sums
ACCURACY: Final = 4.0  # units in the last place of a function that states nothing else

# Ops besides the elementwise functions that round nothing: a result is an element of an operand, or a whole number.
EXACT: Final = frozenset({
    "Reshape", "BroadcastTo", "Transpose", "ExpandDims", "Squeeze", "Concatenate", "AxisLength", "Slice", "Gather",
    "WrapIndex", "Nonzero", "Arange", "Sort", "ArgSort", "SearchSorted", "ArgReduce", "SpecifyShape",
})  # fmt: skip
BY_FUNCTION: Final = frozenset({"Reduce", "Accumulate", "SliceUpdate", "Scatter"})  # exact where their function is
FACTORS: Final = frozenset({
    "Cholesky", "LU", "QR", "SolveTriangular", "Solve", "Inv", "Det", "SlogDet", "Eigh", "Eigvalsh", "SVD", "Svdvals",
})  # fmt: skip
"""Ops whose results are rounded on the scale of a whole matrix, and once for each of its rows."""
SUMS: Final = frozenset({"add", "subtract"})
POLES: Final = {"divide": 1, "reciprocal": 0, "power": 0}  # infinite where this operand is 0, and where they overflow
LOGARITHMS: Final = frozenset({"log", "log2", "log10", "log1p", "arctanh"})  # infinite at a pole alone


class Limits(NamedTuple):
    """Of a floating dtype: the distance from 1 to the next number, the least normal number, the least one."""

    eps: float
    tiny: float
    least: float


@functools.cache
def limits(dtype: np.dtype[Any]) -> Limits:
    """The limits of a floating dtype, of the parts of a complex one."""
    import ml_dtypes

    real = {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}.get(dtype_name(dtype), dtype)
    info = ml_dtypes.finfo(real)  # type: ignore[no-untyped-call]
    return Limits(float(info.eps), float(info.tiny), float(info.smallest_subnormal))


def is_inexact(x: Array) -> bool:
    """Whether an array has floating or complex elements."""
    name = dtype_name(x.dtype)
    return is_float(name) or is_complex(name)


def wide(x: Array) -> Array:
    """The array in double precision, if it is floating."""
    if not is_inexact(x):
        return x
    return x.astype(np.complex128 if is_complex(dtype_name(x.dtype)) else np.float64)


def rounds(op: Op) -> bool:
    """Whether an op gives rounded results."""
    name = type(op).__name__
    if name in EXACT:
        return False
    function = getattr(op, "fn", None) if name in BY_FUNCTION else op.rule_key
    return function is not None and getattr(function, "accuracy", ACCURACY) != 0


def noisy(op: Op, operands: Sequence[Array], results: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """The results with their rounding made anew."""
    if not rounds(op) or (type(op).__name__ == "Cast" and not is_inexact(operands[0])):
        return list(results)
    factors = type(op).__name__ in FACTORS
    sizes = _terms(op, operands) if not (op.pointwise or factors) else None
    values = []
    for k, y in enumerate(results):
        if not is_inexact(y) or not y.size:
            values.append(y)
            continue
        ulps = getattr(op.rule_key, "accuracy", ACCURACY)
        size = np.abs(wide(y))
        if sizes is not None:
            ulps, size = ulps + _length(operands, y), np.maximum(size, sizes[k])
        if factors:
            ulps, size = ulps + operands[0].shape[-1], _of_matrices(size)
        values.append(_moved(y, ulps, size, rng))
    return values


def _of_matrices(size: Array) -> Array:
    """The largest size in each matrix, for each of its elements."""
    largest = np.nan_to_num(size, nan=0.0, posinf=0.0).max((-2, -1), keepdims=True) if size.ndim > 1 else size
    return np.broadcast_to(largest, size.shape)


def _terms(op: Op, operands: Sequence[Array]) -> list[Array] | None:
    """The sizes of the terms of a sum: what the op makes of the operands' sizes."""
    try:
        with np.errstate(all="ignore"):
            sums = op.perform(*(np.abs(x).astype(x.dtype) if is_inexact(x) else x for x in operands))
    except Exception:  # noqa: BLE001 (an op that needs signs has no such sizes)
        return None
    return [np.nan_to_num(np.abs(wide(y)), nan=0.0, posinf=0.0) for y in sums]


def _length(operands: Sequence[Array], result: Array) -> float:
    """The number of terms of each element of a result, as far as their errors can add up."""
    count = max(x.size for x in operands) / max(result.size, 1)
    return float(min(count, CHANCE * np.sqrt(count), MOST / limits(result.dtype).eps)) / SAFETY


def _moved(y: Array, ulps: float, size: Array, rng: np.random.Generator) -> Array:
    """The array with every finite element moved by about so many units in the last place."""
    info = limits(y.dtype)
    step = np.where(size != 0, np.maximum(size * (info.eps * ulps), info.least * ulps), 0)
    with np.errstate(all="ignore"):
        noise: Any = _signs(y.shape, rng) * step
        if is_complex(dtype_name(y.dtype)):
            noise = noise + 1j * (_signs(y.shape, rng) * step)
        before = wide(y)
        moved = (before + noise).astype(y.dtype)
        finite = np.isfinite(before) & np.isfinite(wide(moved))
        return moved if finite.all() else np.asarray(np.where(finite, moved, y))


def _signs(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Random numbers between -1.5 and 1.5."""
    return np.asarray(rng.random(shape, np.float32) * np.float32(3) - np.float32(1.5))


def left_range(op: Op, operands: Sequence[Array], results: Sequence[Array]) -> list[Array]:
    """Masks of results of finite operands that are infinite, subnormal though no operand is, or 0 though none is 0."""
    masks = []
    for y in results:
        if not is_inexact(y) or not y.size:
            masks.append(np.zeros(y.shape, bool))
            continue
        floating = [x for x in operands if is_inexact(x)]
        with np.errstate(all="ignore"):
            large = np.isinf(wide(y)) & (op.name not in LOGARITHMS)
            if op.name in POLES:
                large = large & (operands[POLES[op.name]] != 0)
            small = (np.abs(wide(y)) < limits(y.dtype).tiny) if op.name not in SUMS else np.zeros(y.shape, bool)
            if op.pointwise:
                for x in floating:
                    large = large & np.isfinite(wide(x))
                    small = small & ((np.abs(wide(x)) >= limits(x.dtype).tiny) | ((y == 0) & (x != 0)))
            else:
                axes = op.axes if type(op).__name__ == "Reduce" else None  # type: ignore[attr-defined]
                for x in floating:
                    large = large & np.isfinite(wide(x)).all(axis=axes)
                small = small & (type(op).__name__ == "Softmax" or (rounds(op) and _has_no_zero(floating)))
        masks.append(large | small)
    return masks


def _has_no_zero(operands: Sequence[Array]) -> bool:
    return all(bool((np.abs(wide(x)) >= limits(x.dtype).tiny).all()) for x in operands)
