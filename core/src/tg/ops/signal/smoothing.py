"""Trends and noise of signals: lines that are taken off, polynomials and medians of windows that move along."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.graph.nodes import Constant
from tg.ops.contraction import matvec
from tg.ops.creation import iota
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.indexing import flip, take
from tg.ops.padding import pad
from tg.ops.shape import concatenate, expand_dims_at, moveaxis, reshape
from tg.ops.signal.segments import like, middle, need_count, need_one_of, signal_of, with_points, without_trend
from tg.ops.signal.taps import applied, extended_by
from tg.ops.sorting import Sort
from tg.types.dtypes import is_complex
from tg.types.lengths import same, subtract
from tg.variables.conversion import as_variable, axis_from_end, float_name

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import CoefficientUse, SmoothingEdge, TrendType
    from tg.variables.like import TensorLike

TREND_NAMES: Final = {"linear": "linear", "l": "linear", "constant": "constant", "c": "constant"}
EDGES: Final = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
USES: Final = ("conv", "dot")


def _breaks(bp: Any) -> list[int]:
    """The places in ascending order at which a trend breaks, 0 first.

    Raises:
        InputError: one is no int of at least 0.
    """
    values = np.atleast_1d(np.asarray(bp.data if isinstance(bp, Constant) else bp))
    if values.dtype.kind not in "iu" or values.ndim != 1 or (values < 0).any():
        raise InputError(message(f"detrend: bp: found {bp!r}, needed ints of at least 0"))
    return sorted({0, *values.tolist()})


def detrend(data: Any, axis: int = -1, type: TrendType = "linear", bp: Any = 0) -> Variable:
    """A signal less its mean, or less the line nearest to it, by least squares.

    Args:
        type: "linear" or "constant".
        bp: places at which the line breaks: the parts between them have lines of their own.
    Shapes:
        data (..., n, ...) -> y (..., n, ...)
    Dtypes:
        that of data, floating.
    Raises:
        InputError: an unknown type, or places that are no ints of at least 0.
        ShapeError: a signal without points, one that ends before the last place, or no such axis.
    Example:
        >>> import tg
        >>> tg.signal.detrend([1.0, 3.0, 5.0, 9.0], type="constant").eval()
        array([-3.5, -1.5,  0.5,  4.5])
        >>> tg.signal.detrend([1.0, 2.0, 3.0, 9.0, 7.0], bp=3).eval().round(9) + 0.0
        array([0., 0., 0., 0., 0.])
    Source:
        scipy.signal.detrend
    """
    need_one_of("detrend", "type", type, tuple(TREND_NAMES))
    v = signal_of("detrend", data)
    k = axis_from_end(axis, v.type.ndim, "detrend")
    v = moveaxis(v, k, -1)
    n = v.shape[-1]
    starts = _breaks(bp) if TREND_NAMES[type] == "linear" else [0]
    v = with_points("detrend", v, max(1, starts[-1]))
    pairs = [(start, end) for start, end in pairwise([*starts, n]) if not same(start, end)]
    parts = [middle(v, start, subtract(end, start)) for start, end in pairs]
    straight = [without_trend("detrend", part, TREND_NAMES[type]) for part in parts]
    return moveaxis(concatenate(straight, -1) if len(straight) > 1 else straight[0], -1, k)


def _polynomial_weights(points: int, order: int, derivative: int, at: float) -> np.ndarray[Any, Any]:
    """Weights of points in a derivative, at a place, of the polynomial that is nearest to them.

    It is the row of the pseudo-inverse of the powers of the places, which are scaled to [-1, 1]: as they stand, their
    powers lose the digits of high orders.
    """
    if derivative > order:
        return np.zeros(points)
    places = np.arange(points) - at
    scale = max(1.0, float(np.abs(places).max()))
    q, r = np.linalg.qr((places / scale)[:, None] ** np.arange(order + 1))
    unit = np.eye(order + 1)[derivative] * (math.factorial(derivative) / scale**derivative)
    weights: np.ndarray[Any, Any] = q @ np.linalg.solve(r.T, unit)
    return weights


def _need_polynomial(what: str, window_length: Any, polyorder: Any, deriv: Any) -> None:
    need_count(what, "window_length", window_length, 1)
    need_count(what, "polyorder", polyorder, 0)
    need_count(what, "deriv", deriv, 0)
    if polyorder >= window_length:
        text = f"{what}: polyorder: found {polyorder}, needed less than the {window_length} points of a window"
        raise InputError(message(text))


def savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Any = 1.0,
    pos: float | None = None,
    use: CoefficientUse = "conv",
) -> Variable:
    """The taps that fit a polynomial to the points of a window, by least squares, and read it at one place.

    Args:
        deriv: which derivative is read; 0 for the value.
        delta: the distance of points, a number or a scalar variable.
        pos: the place in the window, from 0 on; its middle by default.
        use: "conv" for taps in the order of convolutions, "dot" for that of products.
    Shapes:
        (window_length)
    Dtypes:
        the floating dtype of the configuration, float64 by default; that of an array `delta`.
    Raises:
        InputError: counts that are no ints, an order of as many as the points, a place outside, an unknown use.
    Example:
        >>> import tg
        >>> (tg.signal.savgol_coeffs(5, 2) * 35).eval().round(9)
        array([-3., 12., 17., 12., -3.])
    Source:
        scipy.signal.savgol_coeffs
    """
    _need_polynomial("savgol_coeffs", window_length, polyorder, deriv)
    need_one_of("savgol_coeffs", "use", use, USES)
    at = (window_length - 1) / 2 if pos is None else pos
    if not (isinstance(at, int | float) and 0 <= at < window_length):
        raise InputError(message(f"savgol_coeffs: pos: found {pos!r}, needed a place in [0, {window_length})"))
    weights = _polynomial_weights(window_length, polyorder, deriv, at)
    taps = cast_variable(as_variable(weights[::-1].copy() if use == "conv" else weights), float_name(None))
    return taps / as_variable(delta) ** deriv if deriv else taps


def savgol_filter(
    x: TensorLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Any = 1.0,
    axis: int = -1,
    mode: SmoothingEdge = "interp",
    cval: Any = 0.0,
) -> Variable:
    """A signal smoothed by polynomials, each fitted to the points of a window: Savitzky and Golay's filter.

    Args:
        deriv: which derivative of the polynomials is read, 0 for values; `delta` is the distance of points.
        mode: how the signal goes on at both ends: "mirror", "nearest", "wrap" or "constant" with `cval`; "interp" reads
            the points near an end from the polynomial of the last whole window.
    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Dtypes:
        that of x, floating.
    Raises:
        InputError: counts that are no ints, an order of as many as the points, an unknown mode.
        ShapeError: with "interp" a signal shorter than a window, a signal without points, or no such axis.
    Example:
        >>> import tg
        >>> tg.signal.savgol_filter([1.0, 4.0, 9.0, 16.0, 25.0], 3, 2, deriv=1).eval().round(9)
        array([ 2.,  4.,  6.,  8., 10.])
    Source:
        scipy.signal.savgol_filter
    """
    _need_polynomial("savgol_filter", window_length, polyorder, deriv)
    need_one_of("savgol_filter", "mode", mode, (*EDGES, "interp"))
    v = signal_of("savgol_filter", x)
    k = axis_from_end(axis, v.type.ndim, "savgol_filter")
    v = with_points("savgol_filter", moveaxis(v, k, -1), window_length if mode == "interp" else 1)
    n, half = v.shape[-1], window_length // 2

    def weights(*places: float) -> Variable:
        table = [_polynomial_weights(window_length, polyorder, deriv, at) for at in places]
        return cast_variable(as_variable(np.array(table)), v.type.dtype)

    taps = flip(weights((window_length - 1) / 2)[0], 0)
    if mode == "interp":
        y = applied(v, taps, subtract(n, 2 * half), start=2 * half)
        if half:
            first, last = middle(v, 0, window_length), middle(v, subtract(n, window_length), window_length)
            before, behind = weights(*range(half)), weights(*range(window_length - half, window_length))
            y = concatenate([matvec(before, first), y, matvec(behind, last)], -1)
    else:
        y = applied(extended_by(v, half, EDGES[mode], cval), taps, n, start=2 * half)
    y = y / like(y, as_variable(delta)) ** deriv if deriv else y
    return moveaxis(y, -1, k)


def _sizes(volume: Variable, kernel_size: Any) -> list[int]:
    """The odd length of a window along each axis.

    Raises:
        InputError: one is even, or no int of at least 1, or there are fewer than axes, or more.
    """
    value = 3 if kernel_size is None else kernel_size
    stated = np.asarray(value.data if isinstance(value, Constant) else value)
    sizes = stated.tolist() if stated.ndim else [stated.item()] * volume.type.ndim
    if stated.dtype.kind not in "iu" or len(sizes) != volume.type.ndim or any(k < 1 or k % 2 == 0 for k in sizes):
        needed = f"an odd int, or one for each of {volume.type.ndim} axes"
        raise InputError(message(f"medfilt: kernel_size: found {kernel_size!r}, needed {needed}"))
    return sizes


def medfilt(volume: Any, kernel_size: Any = None) -> Variable:
    """The median of a window around each element, with zeros beyond the ends.

    Args:
        kernel_size: the odd length of the window, for all axes or one for each; 3 by default.
    Shapes:
        volume (...) -> y (...)
    Dtypes:
        that of the volume. NaN counts as the greatest number.
    Raises:
        DtypeError: bools, or complex numbers.
        InputError: lengths that are even, no ints, or not as many as axes.
    Example:
        >>> import tg
        >>> tg.signal.medfilt([1.0, 9.0, 2.0, 3.0, 8.0]).eval()
        array([1., 2., 3., 3., 3.])
    Source:
        scipy.signal.medfilt
    """
    v = as_variable(volume)
    if v.type.dtype == "bool" or is_complex(v.type.dtype):
        raise DtypeError(message(f"medfilt: found {v.type}, needed real numbers"))
    sizes = _sizes(v, kernel_size)
    lengths = v.shape
    windows = pad(v, [(k // 2, k // 2) for k in sizes]) if v.type.ndim else v
    for axis, (n, k) in enumerate(zip(lengths, sizes, strict=True)):
        if k > 1:
            places = expand_dims_at(iota(n), (-1,)) + iota(k)
            windows = moveaxis(take(windows, places, axis, mode="promise"), axis + 1, -1)
    count = math.prod(sizes)
    if count == 1:
        return v
    rows = reshape(windows, (*lengths, count))
    return Sort(-1)(rows)[..., count // 2]  # type: ignore[no-any-return]


FAMILY = Family("signal/smoothing", functions=(detrend, savgol_coeffs, savgol_filter, medfilt), module="signal")
