"""Spectra of signals: periodograms, Welch's averages of them, cross spectra, short-time transforms and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import iota, ones
from tg.ops.elementwise.arithmetic import absolute, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.complex import angle, conjugate, imag, real
from tg.ops.family import Family
from tg.ops.fourier import COMPLEX
from tg.ops.fourier import half as half_of
from tg.ops.numbers import unwrap
from tg.ops.quantiles import median
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, moveaxis
from tg.ops.signal.named_windows import window_of
from tg.ops.signal.segments import (
    Plan,
    doubled,
    extended,
    frequencies,
    like,
    middle,
    need_count,
    need_one_of,
    overlap_added,
    plan_of,
    real_of,
    segments,
    signal_of,
    transformed,
    without_trend,
)
from tg.ops.statistics import mean
from tg.ops.transforms import ifft, irfft
from tg.types.dtypes import is_complex
from tg.types.lengths import add, floor_divide, remainder, same
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import SegmentBoundary, SpectrogramMode, SpectrumAverage, SpectrumScaling, TransformScaling
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike

    Size = int | Length

AVERAGES: Final = ("mean", "median")
MODES: Final = ("psd", "complex", "magnitude", "angle", "phase")


class Spectrum(NamedTuple):
    """Values at frequencies, of every segment, in the last two axes."""

    frequencies: Variable
    times: Variable
    values: Variable  # (..., frequencies, segments)


def _scale(what: str, x: Variable, plan: Plan, fs: Any, scaling: str) -> Variable:
    """The factor of squares of transforms."""
    need_one_of(what, "scaling", scaling, ("density", "spectrum"))
    w = plan.window
    if scaling == "spectrum":
        return 1 / sum_of(w) ** 2
    return 1 / (like(x, fs) * sum_of(w * w))


def _transforms(what: str, x: Variable, plan: Plan, detrend: Any, *, onesided: bool) -> Variable:
    """The transforms of windowed segments: (..., segments, frequencies)."""
    return transformed(
        without_trend(what, segments(what, x, plan), detrend) * plan.window, plan.transform, onesided=onesided
    )


def _times(x: Variable, plan: Plan, count: Size, fs: Any, *, before: bool = False) -> Variable:
    """The middles of the segments, in units of time; `before` where half a segment was put in front."""
    steps = like(x, iota(count)) * like(x, as_size_variable(plan.step))
    return (steps if before else steps + like(x, as_size_variable(plan.points)) / 2) / like(x, fs)


def _along(what: str, x: Any, axis: Any) -> tuple[Variable, int]:
    v = signal_of(what, x)
    k = axis_from_end(axis, v.type.ndim, what)
    return moveaxis(v, k, -1), k


def _one_precision(what: str, x: Any, y: Any, axis: Any) -> tuple[Variable, Variable, int]:
    """Two signals in one dtype, of which the axis is the last, and broadcast beside each other."""
    a, b = signal_of(what, x), signal_of(what, y)
    if a.type.ndim != b.type.ndim:
        raise ShapeError(message(f"{what}: ranks differ: found {a.type} and {b.type}, needed as many axes"))
    k = axis_from_end(axis, a.type.ndim, what)
    n, m = a.type.shape[k], b.type.shape[k]
    if n is not None and m is not None and n != m:
        raise ShapeError(message(f"{what}: found signals of {n} and of {m} points, needed as many"))
    return moveaxis(a, k, -1), moveaxis(b, k, -1), k


def _powers(
    what: str, x: Variable, y: Variable | None, plan: Plan, fs: Any, detrend: Any, onesided: bool, scaling: str
) -> Spectrum:
    """Powers of segments, or the products of two signals' transforms."""
    other_is_complex = y is not None and is_complex(y.type.dtype)
    half = onesided and not is_complex(x.type.dtype) and not other_is_complex
    scale = _scale(what, x, plan, fs, scaling)
    first = _transforms(what, x, plan, detrend, onesided=half)
    if y is None:
        values = (real(first) ** 2 + imag(first) ** 2) * scale
    else:
        values = conjugate(first) * _transforms(what, y, plan, detrend, onesided=half) * scale
    values = doubled(values, plan.transform) if half else values
    f = frequencies(x, plan.transform, fs, onesided=half)
    return Spectrum(f, _times(x, plan, values.shape[-2], fs), moveaxis(values, -2, -1))


def _averaged(what: str, values: Variable, average: str) -> Variable:
    """The average over segments, the last axis."""
    need_one_of(what, "average", average, AVERAGES)
    if average == "mean":
        return mean(values, -1)
    count = values.shape[-1]
    k = 2 * (cast_variable(iota(floor_divide(subtract_lengths(count, 1), 2)), "float64") + 1)
    bias = 1 + sum_of(1 / (k + 1) - 1 / k)  # of the median of so many exponential variables
    both = (real(values), imag(values)) if is_complex(values.type.dtype) else (values,)
    parts = [median(part, -1) / like(part, bias) for part in both]
    return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


# --- functions ----------------------------------------------------------------------------------------------------


def periodogram(
    x: TensorLike,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: SpectrumScaling = "density",
    axis: int = -1,
) -> tuple[Variable, Variable]:
    """The power of a signal at each frequency, from one transform of all of it.

    Args:
        nfft: how many points: more add zeros, fewer take the first ones alone.
        others: as those of `welch`.
    Shapes:
        x (..., n, ...) -> f (n // 2 + 1), p (..., n // 2 + 1, ...)
    Source:
        scipy.signal.periodogram
    """
    v, k = _along("periodogram", x, axis)
    n = v.shape[-1]
    if nfft is not None:
        need_count("periodogram", "nfft", nfft, 1)
        if type(n) is not int:
            raise ShapeError(message(f"periodogram: found {v.type} with nfft={nfft}, needed a static length beside it"))
        v = middle(v, 0, min(n, nfft))
    points = v.shape[-1]
    plan = Plan(like(v, window_of("periodogram", window, points)), points, 0, points if nfft is None else nfft)
    spectrum = _powers("periodogram", v, None, plan, fs, detrend, return_onesided, scaling)
    return spectrum.frequencies, moveaxis(spectrum.values[..., 0], -1, k)


def welch(
    x: TensorLike,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: SpectrumScaling = "density",
    axis: int = -1,
    average: SpectrumAverage = "mean",
) -> tuple[Variable, Variable]:
    """The power of a signal at each frequency, averaged over segments that overlap: Welch's method.

    Args:
        fs: points in a unit of time.
        window: what `get_window` takes, or a vector of values, which says how long a segment is.
        nperseg: points of a segment, 256 by default; those of the signal where its static length is less.
        noverlap: points that a segment shares with the next, half of them by default.
        nfft: points of the transforms; more than there are add zeros.
        detrend: "constant" (the mean of each segment is taken off), "linear", a function of the segments, or False.
        return_onesided: frequencies from 0 on alone; complex signals have both sides.
        scaling: "density" (power for each unit of frequency) or "spectrum" (power).
        average: "mean" or "median".
    Shapes:
        x (..., n, ...) -> f (nfft // 2 + 1), p (..., nfft // 2 + 1, ...)
    Dtypes:
        f and p are float32 for float32, complex64 and halves, else float64.
    Raises:
        InputError: an unknown word, counts that are no ints, an overlap of a whole segment.
        ShapeError: fewer points than a segment has, or no such axis.
    Example:
        >>> import numpy as np
        >>> import tg
        >>> x = np.sin(2 * np.pi * 100.0 * np.arange(1000) / 1000.0)
        >>> f, power = tg.signal.welch(x, fs=1000.0, nperseg=200)
        >>> f[tg.argmax(power)].eval()
        array(100.)
    Source:
        scipy.signal.welch
    """
    v, k = _along("welch", x, axis)
    plan = plan_of("welch", v, window, nperseg, noverlap, nfft)
    spectrum = _powers("welch", v, None, plan, fs, detrend, return_onesided, scaling)
    return spectrum.frequencies, moveaxis(_averaged("welch", spectrum.values, average), -1, k)


def csd(
    x: TensorLike,
    y: TensorLike,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: SpectrumScaling = "density",
    axis: int = -1,
    average: SpectrumAverage = "mean",
) -> tuple[Variable, Variable]:
    """The cross spectrum of two signals of one length: the averages of conj(X) Y; arguments as of `welch`.

    Dtypes:
        complex64 for signals of float32 and less, else complex128.
    Source:
        scipy.signal.csd
    """
    a, b, k = _one_precision("csd", x, y, axis)
    plan = plan_of("csd", a, window, nperseg, noverlap, nfft)
    spectrum = _powers("csd", a, b, plan, fs, detrend, return_onesided, scaling)
    return spectrum.frequencies, moveaxis(_averaged("csd", spectrum.values, average), -1, k)


def coherence(
    x: TensorLike,
    y: TensorLike,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Variable, Variable]:
    """The share of each frequency's power that two signals have in common: |Pxy|² / (Pxx Pyy); arguments as of `welch`.

    Source:
        scipy.signal.coherence
    """
    a, b, k = _one_precision("coherence", x, y, axis)
    plan = plan_of("coherence", a, window, nperseg, noverlap, nfft)
    pieces = [_powers("coherence", u, v, plan, fs, detrend, True, "density") for u, v in ((a, None), (b, None), (a, b))]
    xx, yy, xy = (mean(each.values, -1) for each in pieces)
    return pieces[0].frequencies, moveaxis((real(xy) ** 2 + imag(xy) ** 2) / xx / yy, -1, k)


def stft(
    x: TensorLike,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: SegmentBoundary | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: TransformScaling = "spectrum",
) -> tuple[Variable, Variable, Variable]:
    """The transforms of windowed segments that move along a signal: frequencies, times, values.

    Args:
        boundary: "zeros" puts half a segment of zeros before and behind, so that all points count alike; None does not.
        padded: zeros behind, so that the last points are in a segment as well.
        scaling: "spectrum" (values are amplitudes) or "psd" (their squares are a density).
        others: as those of `welch`.
    Shapes:
        x (..., n, ...) -> f (nfft // 2 + 1), t (segments), z (..., nfft // 2 + 1, ..., segments)
    Dtypes:
        complex64 for signals of float32 and less, else complex128.
    Raises:
        InputError: an unknown word, counts that are no ints, an overlap of a whole segment.
        ShapeError: fewer points than a segment has, or no such axis.
    Example:
        >>> import numpy as np
        >>> import tg
        >>> x = np.cos(2 * np.pi * np.arange(32) / 8)
        >>> f, t, z = tg.signal.stft(x, nperseg=16)
        >>> np.round(abs(z[:, 2].eval()), 3)
        array([0.  , 0.25, 0.5 , 0.25, 0.  , 0.  , 0.  , 0.  , 0.  ])
    Source:
        scipy.signal.stft
    """
    need_one_of("stft", "boundary", boundary, ("zeros", None))
    need_one_of("stft", "scaling", scaling, ("spectrum", "psd"))
    v, k = _along("stft", x, axis)
    plan = plan_of("stft", v, window, nperseg, noverlap, nfft)
    before = 0 if boundary is None else floor_divide(plan.points, 2)
    length = add(v.shape[-1], add(before, before))
    behind: Size = 0
    if padded:  # up to a whole number of steps
        behind = remainder(subtract_lengths(plan.points, length), plan.step)
    v = extended(v, before, add(before, behind))
    half = return_onesided and not is_complex(v.type.dtype)
    scale = sqrt(_scale("stft", v, plan, fs, "spectrum" if scaling == "spectrum" else "density"))
    z = _transforms("stft", v, plan, detrend, onesided=half) * scale
    f = frequencies(v, plan.transform, fs, onesided=half)
    t = _times(v, plan, z.shape[-2], fs, before=boundary is not None)
    return f, t, _at_axis(z, k)


def _at_axis(z: Variable, axis: int) -> Variable:
    """(..., segments, frequencies) with the frequencies where the time was, and the segments last."""
    z = moveaxis(z, -2, -1)
    return moveaxis(z, -2, axis - 1)


def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: TransformScaling = "spectrum",
) -> tuple[Variable, Variable]:
    """The times and points of the signal whose segments have these transforms, by least squares: the inverse of `stft`.

    Args:
        nperseg, noverlap, nfft, window, scaling: those with which `stft` was called.
        boundary: whether half a segment is to be taken off at both ends.
    Shapes:
        Zxx (..., frequencies, segments) -> t (n), x (..., n), the points where the segments were
    Raises:
        InputError: an unknown word, counts that are no ints, one axis twice.
    Source:
        scipy.signal.istft
    """
    need_one_of("istft", "scaling", scaling, ("spectrum", "psd"))
    z = signal_of("istft", Zxx)
    rows, columns = (axis_from_end(k, z.type.ndim, "istft") for k in (freq_axis, time_axis))
    if rows == columns:
        raise InputError(message(f"istft: found the axis {time_axis} of times and frequencies, needed two axes"))
    z = cast_variable(z, COMPLEX.get(z.type.dtype, z.type.dtype))
    z = moveaxis(z, (columns, rows), (-2, -1))
    n = z.shape[-1]
    natural = multiply_lengths(2, subtract_lengths(n, 1)) if input_onesided else n
    points: Size = natural if nperseg is None else need_count("istft", "nperseg", nperseg, 1)
    transform: Size = natural
    if nfft is not None:
        transform = need_count("istft", "nfft", nfft, 1)
    elif type(natural) is int and input_onesided and same(points, natural + 1):
        transform = points
    elif type(natural) is not int and nperseg is not None:
        transform = points
        rows_of = half_of(points) if input_onesided else points
        count, needed = as_size_variable(n), as_size_variable(rows_of)
        text = "istft: found {0} frequencies, needed {1} for nperseg and no nfft"
        z = required(z, equal(count, needed), (count, needed), Descriptor("ShapeError", text))
    overlap: Size = floor_divide(points, 2) if noverlap is None else need_count("istft", "noverlap", noverlap, 0)
    if type(overlap) is int and type(points) is int and overlap >= points:
        raise InputError(
            message(f"istft: noverlap: found {overlap}, needed less than the {points} points of a segment")
        )
    plan = Plan(cast_variable(window_of("istft", window, points), real_of(z.type.dtype)), points, overlap, transform)
    pieces = irfft(z, transform) if input_onesided else ifft(z, transform)
    pieces = middle(pieces, 0, points)
    w = plan.window
    scale = sum_of(w) if scaling == "spectrum" else sqrt(like(z, fs) * sum_of(w * w))
    x = overlap_added(pieces * (w * scale), plan.step)
    norm = overlap_added(broadcast_to(w * w, (z.shape[-2], points)), plan.step)
    if boundary:
        cut = floor_divide(points, 2)
        size = subtract_lengths(x.shape[-1], add(cut, cut))
        x, norm = middle(x, cut, size), middle(norm, cut, size)
    x = x / where(greater(norm, 1e-10), norm, ones((), dtype=norm.type.dtype))
    time = like(z, iota(x.shape[-1])) / like(z, fs)
    return time, moveaxis(x, -1, columns if rows < columns else columns + 1)


def spectrogram(
    x: TensorLike,
    fs: float = 1.0,
    window: Any = ("tukey_periodic", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: SpectrumScaling = "density",
    axis: int = -1,
    mode: SpectrogramMode = "psd",
) -> tuple[Variable, Variable, Variable]:
    """The power of each segment at each frequency: frequencies, times, values.

    Args:
        noverlap: an eighth of a segment by default.
        mode: "psd" (power), "complex" (as `stft`), "magnitude", "angle", or "phase", the angle without jumps.
        others: as those of `welch`.
    Shapes:
        x (..., n, ...) -> f (nfft // 2 + 1), t (segments), s (..., nfft // 2 + 1, ..., segments)
    Source:
        scipy.signal.spectrogram
    """
    need_one_of("spectrogram", "mode", mode, MODES)
    v, k = _along("spectrogram", x, axis)
    plan = plan_of("spectrogram", v, window, nperseg, noverlap, nfft, eighth=True)
    if mode == "psd":
        f, t, values = _powers("spectrogram", v, None, plan, fs, detrend, return_onesided, scaling)
        return f, t, moveaxis(values, -2, k - 1)
    half = return_onesided and not is_complex(v.type.dtype)
    z = _transforms("spectrogram", v, plan, detrend, onesided=half) * sqrt(_scale("spectrogram", v, plan, fs, scaling))
    f, t = frequencies(v, plan.transform, fs, onesided=half), _times(v, plan, z.shape[-2], fs)
    if mode in ("angle", "phase"):
        z = angle(z) if mode == "angle" else unwrap(angle(z), axis=-1)
    return f, t, _at_axis(absolute(z) if mode == "magnitude" else z, k)


FAMILY = Family(
    "signal/spectra",
    functions=(periodogram, welch, csd, coherence, stft, istft, spectrogram),
    module="signal",
)
