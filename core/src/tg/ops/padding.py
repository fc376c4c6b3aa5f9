"""Padding: entries added at both ends of axes, one axis after another, in each of NumPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, divide, floor_divide, maximum, multiply, remainder, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, less, logical_and, logical_not, where
from tg.ops.elementwise.rounding import floor, rint
from tg.ops.family import Family
from tg.ops.indexing import flip, slice_axis, take
from tg.ops.reduction import max as largest
from tg.ops.reduction import min as least
from tg.ops.shape import Concatenate, broadcast_to, expand_dims_at
from tg.ops.sorting import sort
from tg.ops.statistics import mean
from tg.types.dtypes import is_inexact, is_integer
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as half_of
from tg.types.lengths import minimum as shorter
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, weak_variable, weakly_cast

if TYPE_CHECKING:
    from tg.types.choices import PadMode
    from tg.variables.like import TensorLike

MODES: Final = {
    "constant": "constant_values",
    "edge": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
    "empty": None,
}
VALUED: Final = {"constant": "constant_values", "linear_ramp": "end_values"}


def pad(x: TensorLike, pad_width: Any, mode: PadMode = "constant", **options: Any) -> Variable:
    """Entries added before and after each axis.

    Args:
        pad_width: an int for all, (before, after) for all, or one such pair for each axis.
        mode: "constant" (`constant_values`, 0), "edge", "linear_ramp" (to `end_values`, 0), "maximum", "mean",
            "median", "minimum" (each of the `stat_length` entries at the edge, by default of all), "reflect" and
            "symmetric" (`reflect_type` "even" or "odd"), "wrap", or "empty" (zeros here).
        options: the values named above, each given as `pad_width` is.
    Raises:
        InputError: an unknown mode, or an option that it does not have.
        ShapeError: a negative width, or an axis of no entries in another mode than "constant" and "empty".
        RangeError: an integer to pad with that the dtype of x cannot hold.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.pad(x, (2, 1), "reflect").eval({x: [1.0, 2.0, 3.0]})
        array([3., 2., 1., 2., 3., 2.])
    Source:
        numpy.pad
    """
    x = as_variable(x)
    if mode not in MODES:
        raise InputError(message(f"pad: found mode {mode!r}, needed one of {', '.join(MODES)}"))
    option = MODES[mode]
    names = {option} if option is not None else set()
    if set(options) - names:
        extra = ", ".join(sorted(set(options) - names))
        raise InputError(message(f"pad: mode {mode!r}: found the option {extra}, needed {', '.join(names) or 'none'}"))
    ndim = x.type.ndim
    widths = _pairs(pad_width, ndim, "pad_width")
    for before, after in widths:
        if before < 0 or after < 0:
            raise ShapeError(message(f"pad: found the width ({before}, {after}), needed at least 0"))
    ends = (
        _pairs(options.get(MODES[mode] or "", 0), ndim, MODES[mode] or "") if mode in VALUED else [(None, None)] * ndim
    )
    for axis, (pair, end) in enumerate(zip(widths, ends, strict=True)):
        if pair != (0, 0):
            x = _padded(x, axis - ndim, pair, mode, end, options)
    return x


def _pairs(value: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """One (before, after) for each axis, from a value, a pair, or a list of pairs."""
    if not _is_several(value):
        return [(value, value)] * ndim
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
        raise InputError(message(f"pad: {what}: found an array of {value.dtype}, needed numbers"))
    rows = [tuple(r) if _is_several(r) else r for r in value]
    if not any(isinstance(r, tuple) for r in rows):
        rows = [tuple(rows)]
    pairs = [r * 2 if isinstance(r, tuple) and len(r) == 1 else r for r in rows]
    if len(pairs) not in (1, ndim) or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise InputError(message(f"pad: {what}: found {value!r}, needed one pair, or one for each of {ndim} axes"))
    return pairs * (ndim if len(pairs) == 1 else 1)


def _is_several(value: Any) -> bool:
    return isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _padded(x: Variable, k: int, pair: tuple[int, int], mode: str, end_values: Any, options: Any) -> Variable:
    n = x.shape[k]
    if mode in ("constant", "empty"):
        values = end_values if mode == "constant" else (0, 0)
        return _joined(x, k, pair, tuple(weakly_cast(v, x.type.dtype) for v in values))
    some = greater(as_size_variable(n), 0)
    text = f"pad: mode {mode!r}: found an axis of no entries, needed some to go by"
    x = required(x, Constant(np.array(n > 0)) if isinstance(n, int) else some, (), Descriptor("ShapeError", text))
    if mode in ("reflect", "symmetric", "wrap"):
        return _periodic(x, k, pair, mode, options.get("reflect_type", "even"))
    first, last = slice_axis(x, k, 0, 1), slice_axis(x, k, subtract_lengths(n, 1), 1)
    if mode == "edge":
        return _joined(x, k, pair, (first, last))
    if mode == "linear_ramp":
        left = _ramp(x, k, pair[0], weakly_cast(end_values[0], x.type.dtype), first)
        right = _ramp(x, k, pair[1], weakly_cast(end_values[1], x.type.dtype), last)
        return Concatenate(k)(left, x, flip(right, k))  # type: ignore[no-any-return]
    lengths = _pairs(options.get("stat_length"), x.type.ndim, "stat_length")[k]
    return _joined(x, k, pair, (_statistic(x, k, mode, lengths[0], 0), _statistic(x, k, mode, lengths[1], 1)))


def _joined(x: Variable, k: int, pair: tuple[int, int], values: tuple[Variable, ...]) -> Variable:
    """x between copies of two values, each of length 1 along the axis or 0-d."""
    front = x.type.ndim + k
    sides = [broadcast_to(v, (*x.shape[:front], w, *x.shape[front + 1 :])) for v, w in zip(values, pair, strict=True)]
    return Concatenate(k)(sides[0], x, sides[1])  # type: ignore[no-any-return]


def _ramp(x: Variable, k: int, width: int, end: Variable, edge: Variable) -> Variable:
    """From `end` towards the edge in equal steps, the edge itself left out."""
    dtype = x.type.dtype if is_inexact(x.type.dtype) else "float64"
    parts, behind = cast_variable(iota(width), dtype), tuple(range(k + 1, 0))
    parts = expand_dims_at(parts, behind) if behind else parts
    start, stop = cast_variable(end, dtype), cast_variable(edge, dtype)
    step = divide(subtract(stop, start), weak_variable(max(width, 1), dtype))
    line = add(multiply(step, parts), start)
    return cast_variable(floor(line) if is_integer(x.type.dtype) else line, x.type.dtype)


def _statistic(x: Variable, k: int, mode: str, length: int | None, side: int) -> Variable:
    """Of the entries at one end of an axis, with a length of 1 along it, in the dtype of x."""
    n = x.shape[k]
    if length is not None:
        if length < 1:
            raise InputError(message(f"pad: stat_length: found {length}, needed at least 1"))
        count = shorter(length, n)
        x = slice_axis(x, k, 0 if side == 0 else subtract_lengths(n, count), count)
    if mode in ("maximum", "minimum"):
        return (largest if mode == "maximum" else least)(x, k, keepdims=True)
    statistic = mean(x, k, keepdims=True) if mode == "mean" else _median(x, k)
    return cast_variable(rint(statistic) if is_integer(x.type.dtype) else statistic, x.type.dtype)


def _median(x: Variable, k: int) -> Variable:
    """The middle entry along an axis, or the mean of the two; NaN where there is one."""
    n, ordered = x.shape[k], sort(x, k)
    low = slice_axis(ordered, k, half_of(subtract_lengths(n, 1), 2), 1)
    high = slice_axis(ordered, k, half_of(n, 2), 1)
    last = slice_axis(ordered, k, subtract_lengths(n, 1), 1)  # NaN comes last
    pair = Concatenate(k)(low, high)
    middle = mean(pair, k, keepdims=True)
    return where(last != last, last, middle) if is_inexact(x.type.dtype) else middle  # noqa: PLR0124 (NaN)


def _periodic(x: Variable, k: int, pair: tuple[int, int], mode: str, kind: str) -> Variable:
    """The axis continued: again from the start, or to and fro, which "odd" does about the point of the edge."""
    if kind not in ("even", "odd"):
        raise InputError(message(f"pad: reflect_type: found {kind!r}, needed 'even' or 'odd'"))
    before, after = pair
    n = x.shape[k]
    size = as_size_variable(n)
    place = subtract(iota(add_lengths(add_lengths(n, before), after)), before)
    if mode == "wrap":
        return take(x, remainder(place, size), k, mode="clip")
    reach = 1 if mode == "reflect" else 0  # whether the entry at the edge is not repeated
    period = maximum(multiply(subtract(size, reach), 2), 1)
    within = remainder(place, period)
    back = subtract(subtract(period, within), 1 - reach)
    forth = less(within, size)
    near = take(x, where(forth, within, back), k, mode="clip")
    if kind == "even":
        return near
    behind = tuple(range(k + 1, 0))
    turns, forth = (expand_dims_at(v, behind) if behind else v for v in (floor_divide(place, period), forth))
    first, last = slice_axis(x, k, 0, 1), slice_axis(x, k, subtract_lengths(n, 1), 1)
    before_it = less(turns, 0)  # a mirrored turn there starts from the first point, so that one turn needs no other
    mirrored = subtract(multiply(where(before_it, first, last), 2), near)
    inner = less(within, subtract(size, reach))  # the last point belongs to both directions
    forth = where(before_it, expand_dims_at(inner, behind) if behind else inner, forth)
    turns = where(logical_and(before_it, logical_not(forth)), turns + 1, turns)
    line = where(forth, near, mirrored)
    rise = multiply(multiply(subtract(last, first), 2), cast_variable(turns, x.type.dtype))
    return where(equal(turns, 0), line, add(line, rise))


FAMILY = Family("padding", functions=(pad,))
