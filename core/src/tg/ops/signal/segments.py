"""Segments of signals: windows that move along the last axis, their trends, their transforms, their times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, greater_equal, logical_or, where
from tg.ops.fourier import REAL
from tg.ops.indexing import slice_axis, take
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import concatenate, expand_dims_at, reshape
from tg.ops.signal.named_windows import window_of
from tg.ops.statistics import mean
from tg.ops.transforms import fft, fftfreq, rfft, rfftfreq
from tg.types.dtypes import in_float32, is_complex, is_float
from tg.types.lengths import add, floor_divide, same
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, float_name

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Size = int | Length

TRENDS = ("linear", "constant")


def need_one_of(what: str, name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """An option's value, if it is one of those allowed.

    Raises:
        InputError: it is another.
    """
    if value not in allowed:
        raise InputError(message(f"{what}: {name}: found {value!r}, needed one of {', '.join(map(repr, allowed))}"))
    return value


def real_of(dtype: str) -> str:
    """The dtype of real and imaginary parts; of real numbers their own."""
    return REAL.get(dtype, dtype)


def signal_of(what: str, x: Any) -> Variable:
    """A signal in float32, float64 or complex numbers; halves in float32, integers in the default.

    Raises:
        ShapeError: it has no axis.
    """
    v = as_variable(x)
    if not v.type.ndim:
        raise ShapeError(message(f"{what}: found {v.type}, needed an axis of time"))
    dtype = v.type.dtype
    if is_complex(dtype):
        return v
    return cast_variable(v, in_float32(dtype) if is_float(dtype) else float_name(None))


def vector_of(what: str, name: str, value: Any) -> Variable:
    """Coefficients as a vector; a number is one of them.

    Raises:
        ShapeError: an array that is no vector, or whose length is not known or 0.
    """
    v = as_variable(value)
    v = reshape(v, (1,)) if not v.type.ndim else v
    if v.type.ndim != 1 or not v.type.shape[0]:
        raise ShapeError(message(f"{what}: {name}: found {v.type}, needed a vector of static length, at least 1"))
    return v


def with_points(what: str, x: Variable, least: int, needed: str = "") -> Variable:
    """A signal, of which it is required that its last axis has so many points; `needed` tells it in other words."""
    n = as_size_variable(x.shape[-1])
    text = f"{what}: found a signal of {{0}} points, needed {needed or f'at least {least}'}"
    return required(x, greater_equal(n, least), (n,), Descriptor("ShapeError", text))


def like(x: Variable, values: Any) -> Variable:
    """Real values in the precision of a signal."""
    return cast_variable(as_variable(values), real_of(x.type.dtype))


class Plan(NamedTuple):
    """Segments along an axis: their window, points and steps, and the points of their transforms."""

    window: Variable
    points: Size
    overlap: Size
    transform: Size

    @property
    def step(self) -> Size:
        """The distance of the beginnings of two segments."""
        return subtract_lengths(self.points, self.overlap)


def need_count(what: str, name: str, value: Any, least: int) -> int:
    """A count that is an int of at least so much.

    Raises:
        InputError: it is not.
    """
    if type(value) is not int or value < least:
        raise InputError(message(f"{what}: {name}: found {value!r}, needed an int of at least {least}"))
    return value


def plan_of(
    what: str,
    x: Variable,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    *,
    unset: int = 256,
    eighth: bool = False,
) -> Plan:
    """The segments of a signal, in SciPy's defaults.

    Raises:
        InputError: counts that are no ints, an overlap of a whole segment or a transform of less than a segment.
        ShapeError: a signal of no points.
    """
    n = x.shape[-1]
    if type(n) is int and n == 0:
        raise ShapeError(message(f"{what}: found a signal of 0 points, needed at least 1"))
    is_named = isinstance(window, str | tuple | int | float)
    if nperseg is None:
        whole = None if is_named else as_variable(window).shape[0]
        points: Size = 256 if whole is None else whole
    else:
        points = need_count(what, "nperseg", nperseg, 1)
    if type(n) is int and type(points) is int and points > n:
        points = n
    values = window_of(what, window, points)
    if noverlap is None:
        overlap = floor_divide(points, 8 if eighth else 2)
    else:
        overlap = need_count(what, "noverlap", noverlap, 0)
    if type(overlap) is int and type(points) is int and overlap >= points:
        raise InputError(
            message(f"{what}: noverlap: found {overlap}, needed less than the {points} points of a segment")
        )
    transform = points if nfft is None else need_count(what, "nfft", nfft, 1)
    if type(transform) is int and type(points) is int and transform < points:
        raise InputError(message(f"{what}: nfft: found {transform}, needed at least the {points} points of a segment"))
    return Plan(like(x, values), points, overlap, transform)


def segments(what: str, x: Variable, plan: Plan) -> Variable:
    """The windows that move along the last axis.

    Shapes:
        x (..., n) -> y (..., count, points)
    Raises:
        ShapeError: a signal of fewer points than a segment.
    """
    n = as_size_variable(x.shape[-1])
    points = as_size_variable(plan.points)
    text = f"{what}: found a signal of {{0}} points, needed at least the {{1}} of a segment"
    x = required(x, greater_equal(n, points), (n, points), Descriptor("ShapeError", text))
    count = add(floor_divide(subtract_lengths(x.shape[-1], plan.points), plan.step), 1)
    starts = multiply(iota(count), as_size_variable(plan.step))
    places = expand_dims_at(starts, (-1,)) + iota(plan.points)
    return take(x, places, -1, mode="promise")


def without_trend(what: str, x: Variable, kind: Any) -> Variable:
    """Segments less their mean, less a line, as a function makes them, or as they are (False)."""
    if kind is False:
        return x
    if callable(kind):
        return as_variable(kind(x))
    if kind not in TRENDS:
        raise InputError(message(f"{what}: detrend: found {kind!r}, needed 'constant', 'linear', a function or False"))
    level = x - mean(x, -1, keepdims=True)
    if kind == "constant":
        return level
    n = x.shape[-1]
    last = like(x, as_size_variable(subtract_lengths(n, 1)))
    time = like(x, iota(n)) - last / 2
    squares = (last + 1) * (last * last + 2 * last) / 12  # the sum of the squares of these times
    safe = where(greater(squares, 0), squares, like(x, 1.0))
    return level - time * (sum_of(level * time, -1, keepdims=True) / safe)


def transformed(x: Variable, n: Size, *, onesided: bool) -> Variable:
    """The transform of n points along the last axis, half of it for real segments."""
    return rfft(x, n) if onesided else fft(x, n)


def doubled(values: Variable, n: Size) -> Variable:
    """Half the frequencies of n points, the last axis, with twice the values of those that have a negative one."""
    k = iota(values.shape[-1])
    alone = logical_or(equal(k, 0), equal(2 * k, as_size_variable(n)))
    return values * like(values, where(alone, 1.0, 2.0))


def frequencies(x: Variable, n: Size, fs: Any, *, onesided: bool) -> Variable:
    """The frequencies of a transform, for fs points in a unit of time."""
    return like(x, (rfftfreq if onesided else fftfreq)(n)) * like(x, fs)


def extended(x: Variable, before: Size, behind: Size) -> Variable:
    """A signal with zeros at both ends of its last axis."""
    lead = x.shape[:-1]
    parts = [zeros((*lead, before), dtype=x.type.dtype), x, zeros((*lead, behind), dtype=x.type.dtype)]
    return concatenate([part for part in parts if not same(part.shape[-1], 0)], -1)


def overlap_added(x: Variable, step: Size) -> Variable:
    """The sum of segments, each a step further on than the one before.

    Shapes:
        x (..., count, points) -> y (..., points + (count - 1) step)
    """
    *lead, count, points = x.shape
    size = add(points, multiply_lengths(subtract_lengths(count, 1), step))
    places = expand_dims_at(multiply(iota(count), as_size_variable(step)), (-1,)) + iota(points)
    flat = reshape(x, (*lead, multiply_lengths(count, points)))
    total = zeros((*lead, size), dtype=x.type.dtype)
    return total.at[..., reshape(places, (-1,))].add(flat)


def middle(x: Variable, start: Size, size: Size) -> Variable:
    """Part of the last axis."""
    return slice_axis(x, -1, start, size)
