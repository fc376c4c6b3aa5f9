"""Comparing what a backend gave with what it should: dtype, shape, NaN, infinities, values, sign of zero, ownership.

A tolerance is a number of units in the last place of the result's dtype, from the accuracy that a record states, taken
at the size of the result or, where terms cancel, of the terms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.types.dtypes import dtype_name, is_complex, is_float, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]

NO_DIGIT: Final = 0.1  # an error of this part of a result, or a larger one, leaves no digit of it right
WIDE: Final = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "float64": np.longdouble}


def limits(dtype: str) -> Any:
    """The `finfo` of a floating dtype, of the parts' for a complex one."""
    import ml_dtypes

    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return ml_dtypes.finfo(numpy_dtype(real))  # type: ignore[no-untyped-call]


def epsilon(dtype: str) -> float:
    """The distance from 1 to the next number of a floating dtype."""
    return float(limits(dtype).eps)


def widen(x: Array) -> Array:
    """The array in a dtype with more digits, if it is floating."""
    if x.dtype.char in "gG":
        return x  # extended precision already
    name = dtype_name(x.dtype)
    if is_complex(name):
        return x.astype(np.clongdouble)
    return x.astype(WIDE[name]) if is_float(name) else x


def differs(
    got: Any,
    want: Any,
    *,
    dtype: str,
    accuracy: float,
    scale: Any = None,
    signed_zero: bool = False,
    gradual: bool = False,
) -> str | None:
    """The fault of a result, None if there is none.

    Args:
        dtype: what the result must have.
        want: the right values, in any dtype, exact to well below the tolerance.
        accuracy: the tolerance in units of the last place; 0 means equal.
        scale: the size of the terms that rounding is relative to, where it is not the result's.
        gradual: results below the smallest normal number must be right too; otherwise 0 stands for them.
    """
    wrong = form(got, want, dtype)
    if wrong:
        return wrong
    want = np.asarray(want)
    if not (is_float(dtype) or is_complex(dtype)):
        return _first(got, want, got != want, "the value")
    return _floating(got, want, dtype, accuracy, scale, signed_zero=signed_zero, gradual=gradual)


def form(got: Any, want: Any, dtype: str) -> str | None:
    """The fault of a result apart from its values: its class, dtype or shape."""
    if not isinstance(got, np.ndarray):
        return f"found a {type(got).__name__}, needed an array"
    if got.dtype != numpy_dtype(dtype):
        return f"found dtype {got.dtype.name}, needed {dtype}"
    return f"found shape {got.shape}, needed {np.shape(want)}" if got.shape != np.shape(want) else None


def _floating(
    got: Array, want: Array, dtype: str, accuracy: float, scale: Any, *, signed_zero: bool, gradual: bool
) -> str | None:
    with np.errstate(all="ignore"):
        rounded = want.astype(numpy_dtype(dtype))
        g, w = widen(got), widen(rounded) if accuracy == 0 or want.dtype == got.dtype else want
        nan_got, nan_want = np.isnan(g), np.isnan(w)
        wrong = _first(got, rounded, nan_got != nan_want, "NaN")
        if wrong:
            return wrong
        finite = ~(nan_want | np.isinf(w) | np.isinf(g) | np.isinf(widen(rounded)))
        wrong = _first(
            got, rounded, ~finite & ~nan_want & ~_equal_or_edge(got, rounded, w, dtype, accuracy), "infinity"
        )
        if wrong:
            return wrong
        error = np.abs(np.where(finite, g, 0) - np.where(finite, w, 0))
        size = np.abs(np.where(finite, w, 0))
        if scale is not None:
            terms = np.abs(np.asarray(scale))
            size = np.maximum(size, np.where(np.isfinite(terms), terms, 0))
        slack = (
            0.0
            if accuracy == 0
            else accuracy * np.maximum(size * epsilon(dtype), float(limits(dtype).smallest_subnormal))
        )
        flushed = (g == 0) & (np.abs(w) < limits(dtype).tiny) & (not gradual)
        wrong = _first(got, rounded, finite & ~(error <= slack) & ~flushed, f"more than {accuracy:g} ulp")
        if wrong or not signed_zero or is_complex(dtype):
            return wrong
        zero = (widen(rounded) == 0) & (g == 0)
        return _first(got, rounded, zero & (np.signbit(widen(got)) != np.signbit(widen(rounded))), "sign of zero")


def ulps(got: Any, want: Any, dtype: str, scale: Any = None) -> float:
    """The largest error of a result in units of the last place; infinite where no digit or another fact is right.

    Args:
        scale: the size of the terms that rounding is relative to, where it is not the result's.
    """
    if form(got, want, dtype) is not None:
        return math.inf
    if not (is_float(dtype) or is_complex(dtype)):
        return 0.0 if np.array_equal(got, want) else math.inf
    with np.errstate(all="ignore"):
        g, w = widen(got), widen(np.asarray(want))
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        size = np.abs(w) if scale is None else np.fmax(np.abs(w), np.abs(np.asarray(scale)))
        unit = np.maximum(size * epsilon(dtype), float(limits(dtype).smallest_subnormal))
        error = np.where(same, 0, np.abs(g - w) / unit)
        worst = float(np.max(np.nan_to_num(error, nan=np.inf), initial=0.0))
    return worst if worst < NO_DIGIT / epsilon(dtype) else math.inf


def _equal_or_edge(got: Array, rounded: Array, w: Array, dtype: str, accuracy: float) -> Array:
    """Equal, or so near the largest number that rounding may go either way."""
    same = np.asarray(got == rounded)
    if accuracy == 0 or is_complex(dtype):
        return same
    largest, slack = np.longdouble(limits(dtype).max), 4 * accuracy * epsilon(dtype)
    edge = (np.abs(w) >= largest * (1 - slack)) & (np.abs(w) <= largest * (1 + slack))
    return np.asarray(same | (edge & (np.sign(widen(got)) == np.sign(w))))


def _first(got: Array, want: Array, wrong: Any, what: str) -> str | None:
    """The first wrong element, as a sentence."""
    wrong = np.asarray(wrong)
    if not wrong.any():
        return None
    index = tuple(int(k) for k in np.argwhere(wrong)[0])
    count = int(wrong.sum())
    return f"{what}: at {list(index)} found {got[index]!r}, needed {want[index]!r} ({count} of {wrong.size} wrong)"


def ownership(outputs: Sequence[Any], inputs: Sequence[Array]) -> dict[int, str]:
    """Faults of the memory of outputs, by number: they must be writable, own it and share it with nothing."""
    faults: dict[int, str] = {}
    spans = [(*np.lib.array_utils.byte_bounds(x), -1 - k) for k, x in enumerate(inputs) if x.size]
    for k, y in enumerate(outputs):
        if not isinstance(y, np.ndarray):
            faults[k] = f"found a {type(y).__name__}, needed an array"
        elif not y.flags.writeable:
            faults[k] = "the result is read-only"
        elif not _owns(y):
            faults[k] = "the result does not own its memory"
        elif y.size:
            spans.append((*np.lib.array_utils.byte_bounds(y), k))
    faults.update(_overlaps(spans))
    return faults


def _owns(y: Array) -> bool:
    """Whether an array's memory is its own, or belongs to an object that is no array (a capsule)."""
    return y.flags.owndata or (y.base is not None and not isinstance(y.base, np.ndarray))


def _overlaps(spans: list[tuple[int, int, int]]) -> dict[int, str]:
    """The outputs whose memory overlaps that of an input (numbered -1, -2…) or of another output."""
    faults: dict[int, str] = {}
    reach, owner = 0, 0
    for start, end, k in sorted(spans):
        if start < reach and (k >= 0 or owner >= 0):
            faults[max(k, owner)] = (
                f"the result shares memory with {'an input' if min(k, owner) < 0 else 'another result'}"
            )
        if end > reach:
            reach, owner = end, k
    return faults
