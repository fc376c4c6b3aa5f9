"""Signals at other rates: polyphase filters, Fourier resampling, decimation, and the analytic signal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import as_size_variable, size_value
from tg.ops.arranging import roll
from tg.ops.creation import iota
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, less, where
from tg.ops.elementwise.trigonometric import sinc
from tg.ops.family import Family
from tg.ops.fourier import COMPLEX
from tg.ops.indexing import flip, take
from tg.ops.quantiles import median
from tg.ops.reduction import max as max_of
from tg.ops.reduction import min as min_of
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import moveaxis, with_lengths
from tg.ops.signal.filters import sosfilt, sosfiltfilt
from tg.ops.signal.lagged_products import need_real
from tg.ops.signal.named_windows import get_window
from tg.ops.signal.segments import doubled, like, middle, need_count, need_one_of, signal_of, vector_of, with_points
from tg.ops.signal.taps import EXTENSIONS, applied, extended_by
from tg.ops.sized_ops import split_sizes
from tg.ops.statistics import mean
from tg.ops.transforms import fft, fftfreq, fftshift, ifft, irfft, rfft
from tg.types.dtypes import is_complex
from tg.types.lengths import add, floor_divide, minimum, multiply, subtract
from tg.variables.conversion import as_variable, axis_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import DecimationFilter, ResampleDomain, ResamplePadding, SignalExtension
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike

    Size = int | Length

BACKGROUNDS: Final[dict[str, Callable[..., Variable]]] = {
    "mean": mean,
    "median": median,
    "minimum": min_of,
    "maximum": max_of,
}
DOMAINS: Final = ("time", "freq")
DECIMATIONS: Final = ("iir", "fir")
REACH: Final = 10  # zero crossings of the sinc on each side that a designed filter keeps
RIPPLE: Final = 0.05  # dB of a decimation's Chebyshev filter
PASSED: Final = 0.8  # share of the new Nyquist frequency that it passes


def _along(what: str, x: Any, axis: Any) -> tuple[Variable, int]:
    v = signal_of(what, x)
    k = axis_from_end(axis, v.type.ndim, what)
    return with_points(what, moveaxis(v, k, -1), 1), k


def _lowpass(points: int, cutoff: float, window: Any) -> Variable:
    """The taps of a sinc under a window, whose sum is 1; `cutoff` is a share of the Nyquist frequency."""
    places = np.arange(points) - (points - 1) / 2
    taps = cutoff * sinc(cutoff * places) * get_window(window, points, fftbins=False)
    return taps / sum_of(taps)


def _chebyshev(order: int, ripple: float, cutoff: float) -> np.ndarray[Any, Any]:
    """Second-order sections of a Chebyshev low-pass filter of type I: its poles, by the bilinear transform.

    Source:
        A. V. Oppenheim, R. W. Schafer: Discrete-Time Signal Processing, sections 7.1 and B.2.
    """
    excess = math.sqrt(10 ** (ripple / 10) - 1)
    stretch = math.asinh(1 / excess) / order
    angles = math.pi * np.arange(1 - order, order, 2) / (2 * order)
    poles = -np.sinh(stretch + 1j * angles)
    gain = np.prod(-poles).real / (1 if order % 2 else math.sqrt(1 + excess**2))
    warped = 4 * math.tan(math.pi * cutoff / 2)
    gain = gain * warped**order * np.prod(1 / (4 - warped * poles)).real
    upper = sorted(((4 + warped * p) / (4 - warped * p) for p in poles if p.imag > -1e-12), key=abs)
    sections = [
        [1, 2, 1, 1, -2 * p.real, abs(p) ** 2] if abs(p.imag) > 1e-12 else [1, 1, 0, 1, -p.real, 0] for p in upper
    ]
    table = np.array(sections)
    table[0, :3] *= gain
    return table


# --- functions ----------------------------------------------------------------------------------------------------


def upfirdn(
    h: Any,
    x: TensorLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: SignalExtension = "constant",
    cval: Any = 0.0,
) -> Variable:
    """A signal with `up` - 1 zeros behind each point, through the taps h, of which every `down`-th point is kept.

    Args:
        h: a vector of static length, whose values may be a variable's.
        mode: how the signal goes on at both ends: "constant" with `cval`, "edge", "wrap", "symmetric", "reflect",
            "antisymmetric", "antireflect", "smooth" (a line through two points) or "line" (through both ends).
    Shapes:
        h (m), x (..., n, ...) -> y (..., ((n - 1) up + m - 1) // down + 1, ...)
    Dtypes:
        that of both operands together, floating: float32 for arrays of float32 alone.
    Raises:
        InputError: counts that are no ints of at least 1, an unknown mode.
        ShapeError: taps that are no vector, a signal without points, or no such axis.
    Example:
        >>> import tg
        >>> tg.signal.upfirdn([0.5, 1.0, 0.5], [1.0, 3.0, 2.0], up=2).eval()
        array([0.5, 1. , 2. , 3. , 2.5, 2. , 1. ])
    Source:
        scipy.signal.upfirdn
    """
    need_count("upfirdn", "up", up, 1)
    need_count("upfirdn", "down", down, 1)
    need_one_of("upfirdn", "mode", mode, EXTENSIONS)
    v, k = _along("upfirdn", x, axis)
    taps = signal_of("upfirdn", vector_of("upfirdn", "h", h))
    count = subtract(add(multiply(subtract(v.shape[-1], 1), up), taps.shape[0]), 1)
    y = _polyphase(v, taps, add(floor_divide(count, down), 1), 0, up, down, mode, cval)
    return moveaxis(y, -1, k)


def _polyphase(x: Variable, h: Variable, size: Size, start: int, up: int, down: int, mode: str, cval: Any) -> Variable:
    (x, h), dtype = promoted([x, h])
    x, h = cast_variable(x, dtype), cast_variable(h, dtype)
    if mode != "constant" or not _is_zero(cval):
        width = (h.type.shape[0] or 1) // up + 1
        x = extended_by(x, width, mode, cval)
        start += width * up
    return applied(x, h, size, start=start, up=up, down=down)


def _is_zero(cval: Any) -> bool:
    return isinstance(cval, int | float) and cval == 0


def resample_poly(
    x: TensorLike,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: ResamplePadding = "constant",
    cval: Any = None,
) -> Variable:
    """A signal at up / down times its rate, through a low-pass filter without phase.

    Args:
        window: what `get_window` takes, for a filter that is designed here, or the taps of one.
        padtype: a mode of `upfirdn`, or "mean", "median", "minimum" or "maximum", which is taken off and added again.
        cval: the value that padtype "constant" goes on with, 0 by default.
    Shapes:
        x (..., n, ...) -> y (..., ceil(n up / down), ...)
    Dtypes:
        that of x, floating; taps that are an array take part in it.
    Raises:
        InputError: counts that are no ints of at least 1, an unknown padtype, cval beside another one.
        ShapeError: taps that are no vector, a signal without points, or no such axis.
    Example:
        >>> import numpy as np
        >>> import tg
        >>> tg.signal.resample_poly(np.arange(4.0), 1, 2, window=[0.25, 0.5, 0.25]).eval()
        array([0.25, 2.  ])
    Source:
        scipy.signal.resample_poly
    """
    need_count("resample_poly", "up", up, 1)
    need_count("resample_poly", "down", down, 1)
    need_one_of("resample_poly", "padtype", padtype, (*BACKGROUNDS, *EXTENSIONS))
    if cval is not None and padtype != "constant":
        raise InputError(message(f"resample_poly: found cval={cval!r} with padtype={padtype!r}, needed 'constant'"))
    v, k = _along("resample_poly", x, axis)
    up, down = up // math.gcd(up, down), down // math.gcd(up, down)
    if up == down:
        return moveaxis(v, -1, k)
    if isinstance(window, str | tuple | int | float):
        reach = REACH * max(up, down)
        taps = like(v, _lowpass(2 * reach + 1, 1 / max(up, down), window))
    else:
        taps = signal_of("resample_poly", vector_of("resample_poly", "window", window))
        reach = ((taps.type.shape[0] or 1) - 1) // 2
    size = floor_divide(add(multiply(v.shape[-1], up), down - 1), down)
    mode, background = (padtype, None) if padtype in EXTENSIONS else ("constant", BACKGROUNDS[padtype])
    level: Any = 0.0 if background is None else background(v, axis=-1, keepdims=True)
    centred = v if background is None else v - level
    y = _polyphase(centred, taps * up, size, reach, up, down, mode, 0.0 if cval is None else cval)
    return moveaxis(y if background is None else y + level, -1, k)


def decimate(
    x: TensorLike,
    q: int,
    n: int | None = None,
    ftype: DecimationFilter = "iir",
    axis: int = -1,
    zero_phase: bool = True,
) -> Variable:
    """Every q-th point of a signal, behind a low-pass filter that keeps higher frequencies out.

    Args:
        n: the order of the filter: 20 q by default for "fir", 8 for "iir".
        ftype: "iir" (Chebyshev's of type I, which passes 0.8 of the frequencies that are left) or "fir" (a sinc under
            Hamming's window).
        zero_phase: whether the filter moves no phase: "iir" goes forward and backward, "fir" is centred.
    Shapes:
        x (..., n, ...) -> y (..., ceil(n / q), ...)
    Raises:
        InputError: counts that are no ints of at least 1, an unknown ftype.
        ShapeError: a signal without points, of "iir" one that is not longer than `sosfiltfilt` needs, or no such axis.
    Source:
        scipy.signal.decimate
    """
    need_count("decimate", "q", q, 1)
    need_one_of("decimate", "ftype", ftype, DECIMATIONS)
    order = (8 if ftype == "iir" else 2 * REACH * q) if n is None else need_count("decimate", "n", n, 1)
    v, k = _along("decimate", x, axis)
    if ftype == "iir":
        sections = _chebyshev(order, RIPPLE, PASSED / q).astype("float32" if _is_narrow(v) else "float64")
        y = (sosfiltfilt if zero_phase else sosfilt)(sections, v)[..., ::q]
        return moveaxis(y, -1, k)
    taps = like(v, _lowpass(order + 1, 1 / q, "hamming"))
    size = floor_divide(add(v.shape[-1], q - 1), q)
    return moveaxis(_polyphase(v, taps, size, order // 2 if zero_phase else 0, 1, q, "constant", 0.0), -1, k)


def _is_narrow(x: Variable) -> bool:
    return x.type.dtype in ("float32", "complex64")


def resample(
    x: TensorLike,
    num: Any,
    t: TensorLike | None = None,
    axis: int = 0,
    window: Any = None,
    domain: ResampleDomain = "time",
) -> Any:
    """A signal of one period at num points, by its Fourier transform.

    Args:
        num: how many points: an int, a length or an integer scalar.
        t: the times of the points, of which the first two are read: then the new times are a second result.
        window: factors of the frequencies in the order of `tg.fft.fftfreq`, a function of these frequencies, or what
            `get_window` takes, whose middle is frequency 0.
        domain: "time", or "freq" if x is a transform already; then the result is complex.
    Shapes:
        x (..., n, ...) -> y (..., num, ...)
    Dtypes:
        that of x, floating.
    Raises:
        InputError: an unknown domain.
        ShapeError: a signal without points, a window of another length, or no such axis.
    Example:
        >>> import tg
        >>> tg.signal.resample([0.0, 1.0, 0.0, -1.0], 8).eval().round(3) + 0.0
        array([ 0.   ,  0.707,  1.   ,  0.707,  0.   , -0.707, -1.   , -0.707])
    Source:
        scipy.signal.resample
    """
    need_one_of("resample", "domain", domain, DOMAINS)
    v, k = _along("resample", x, axis)
    n = v.shape[-1]
    (field,), sizes = split_sizes([num])
    count: Size = size_value(sizes[0]) if field is None else field
    if type(count) is int and count < 1:
        raise ShapeError(message(f"resample: num: found {count}, needed at least 1"))
    factors = None if window is None else like(v, _factors(window, n))
    if is_complex(v.type.dtype) or domain == "freq":
        v = cast_variable(v, COMPLEX.get(v.type.dtype, v.type.dtype))
        z = fft(v) if domain == "time" else v
        y = ifft(_fitted_both(z if factors is None else z * factors, count))
    else:
        z = rfft(v)
        if factors is not None:
            z = z * middle((factors + roll(flip(factors, 0), 1)) / 2, 0, z.shape[-1])
        y = irfft(z * like(v, _shares(iota(z.shape[-1]), n, count, doubled=True)), count)
    y = moveaxis(y * like(v, _ratio(count, n)), -1, k)
    if t is None:
        return y
    times = as_variable(t)
    return y, times[0] + (times[1] - times[0]) * _ratio(n, count) * iota(count)


def _ratio(n: Size, m: Size) -> Variable:
    a, b = (cast_variable(as_size_variable(size), "float64") for size in (n, m))
    return a / b


def _factors(window: Any, n: Size) -> Variable:
    """Factors of n frequencies."""
    if isinstance(window, str | tuple | int | float):
        return fftshift(get_window(window, n))
    v = as_variable(window(fftfreq(n)) if callable(window) else window)
    if v.type.ndim != 1:
        raise ShapeError(message(f"resample: window: found {v.type}, needed a vector of {n}"))
    return with_lengths(v, {-1: n}, "resample: window")


def _shares(k: Variable, n: Size, count: Size, *, doubled: bool) -> Variable:
    """The weight of frequency k in the shorter of two transforms: 1 below half of its points, shared at the half."""
    smaller = as_size_variable(minimum(n, count))
    twice = abs(k) * 2
    before, behind = as_size_variable(n), as_size_variable(count)
    shared = where(less(behind, before), 2.0 if doubled else 1.0, where(equal(before, behind), 1.0, 0.5))
    if not doubled:
        shared = where(equal(before, behind), 0.5, shared)
    return where(less(twice, smaller), 1.0, where(equal(twice, smaller), shared, 0.0))


def _fitted_both(z: Variable, count: Size) -> Variable:
    """A transform of frequencies of both signs with more of them, or fewer."""
    n = z.shape[-1]
    k = iota(count)
    negative = k - as_size_variable(count)
    parts = []
    for frequency, place in ((k, k), (negative, negative + as_size_variable(n))):
        parts.append(take(z, place, -1, mode="clip") * like(z, _shares(frequency, n, count, doubled=False)))
    return parts[0] + parts[1]


def hilbert(x: TensorLike, N: int | None = None, axis: int = -1) -> Variable:
    """The analytic signal, whose real part is the signal and whose imaginary part is its Hilbert transform.

    Args:
        N: how many points of the transform: fewer than there are crop, more add zeros.
    Shapes:
        x (..., n, ...) -> z (..., N, ...)
    Dtypes:
        complex64 for float32 and halves, else complex128.
    Raises:
        DtypeError: complex numbers.
        InputError: N is no int of at least 1.
        ShapeError: a signal without points, or no such axis.
    Example:
        >>> import tg
        >>> abs(tg.signal.hilbert([1.0, 0.0, -1.0, 0.0])).eval()
        array([1., 1., 1., 1.])
    Source:
        scipy.signal.hilbert
    """
    v, k = _along("hilbert", x, axis)
    need_real("hilbert", v)
    n: Size = v.shape[-1] if N is None else need_count("hilbert", "N", N, 1)
    return moveaxis(ifft(doubled(rfft(v, n), n), n), -1, k)


FAMILY = Family(
    "signal/resampling",
    functions=(upfirdn, resample_poly, decimate, resample, hilbert),
    module="signal",
)
