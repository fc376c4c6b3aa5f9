"""Windows designed for what they let through: side lobes of one level or below a level, power within a band.

They have SciPy's names and values. `dpss` is computed while an expression is built, the others are programs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, message
from tg.ops.creation import iota, ones
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import absolute, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.complex import complex, real
from tg.ops.elementwise.trigonometric import arccos, arccosh, cos, cosh, sin
from tg.ops.family import Family
from tg.ops.indexing import flip, slice_axis
from tg.ops.reduction import max as largest
from tg.ops.shape import concatenate
from tg.ops.signal.tridiagonal import tridiagonal_vectors
from tg.ops.signal.window_functions import as_number, kaiser, last_place, sampled
from tg.ops.transforms import fft
from tg.variables.conversion import as_variable, float_name

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]
    Size = int | Length

NORMS: Final = (2, "approximate", "subsample")
LOBE: Final = 1e-7  # square of a taper's value from which its first lobe counts


def _need_number(what: str, name: str, value: Any, above: float) -> None:
    """Refuse an option that is no number above a bound.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, int | float) or not value > above:
        raise InputError(message(f"{what}: {name}: found {value!r}, needed a number above {above:g}"))


def _power_of_minus(k: Any) -> Variable:
    """-1 to a whole power."""
    return where(equal(k % 2, 0), 1.0, -1.0)


def chebwin(M: Any, at: Any, sym: bool = True) -> Variable:
    """The window with the narrowest middle lobe of those whose side lobes lie a number of decibels below: Dolph's.

    Args:
        M: how many points: an int, a length or an integer scalar.
        at: by how many decibels, a number or a scalar variable; from 45 on the window is greatest in the middle.
        sym: True for a window that is symmetric, False for one period.
    Shapes:
        (M)
    Dtypes:
        the floating dtype of the configuration, float64 by default.
    Example:
        >>> import tg
        >>> tg.signal.windows.chebwin(5, 60.0).eval().round(4)
        array([0.1876, 0.6862, 1.    , 0.6862, 0.1876])
    Source:
        C. L. Dolph, Proc. IRE 34 (1946) 335; scipy.signal.windows.chebwin
    """

    def values(k: Variable, n: Size) -> Variable:
        order, points = last_place(n), as_number(n)
        beta = cosh(arccosh(10.0 ** (absolute(as_variable(at)) / 20)) / order)
        frequency = cast_variable(iota(n), float_name(None))
        angle = math.pi * frequency / points
        x = beta * cos(angle)
        outside = greater(absolute(x), 1)
        wave = cos(order * arccos(where(outside, 0.0, x)))
        grown = cosh(order * arccosh(where(outside, absolute(x), 1.5)))
        height = where(outside, where(x < 0, _power_of_minus(order) * grown, grown), wave)
        height = height * _power_of_minus(frequency)  # to the first point of the window from its middle
        window = real(fft(complex(height * cos(angle), -height * sin(angle))))
        return slice_axis(window / largest(window), -1, 0, k.shape[0])

    return sampled(M, sym, values)


def taylor(M: Any, nbar: int = 4, sll: float = 30, norm: bool = True, sym: bool = True) -> Variable:
    """A window whose first side lobes lie a number of decibels below, and the others fall off: Taylor's.

    Args:
        M: how many points: an int, a length or an integer scalar.
        nbar: how many side lobes on a side are nearly level.
        sll: by how many decibels they lie below.
        norm: whether the middle is 1, also where it lies between two points.
    Raises:
        InputError: nbar is no int of at least 1, sll no number above 0.
    Example:
        >>> import tg
        >>> tg.signal.windows.taylor(5).eval().round(4)
        array([0.3325, 0.772 , 1.    , 0.772 , 0.3325])
    Source:
        T. T. Taylor, IRE Trans. Antennas Propag. 3 (1955) 16; scipy.signal.windows.taylor
    """
    if type(nbar) is not int or nbar < 1:
        raise InputError(message(f"taylor: nbar: found {nbar!r}, needed an int of at least 1"))
    _need_number("taylor", "sll", sll, 0)
    factors = _taylor_factors(nbar, sll)

    def values(k: Variable, n: Size) -> Variable:
        points = as_number(n)
        angle = 2 * math.pi * (k - points / 2 + 0.5) / points
        total: Any = 1.0 + 0.0 * k
        for m, factor in enumerate(factors, 1):
            total = total + 2 * factor * cos(m * angle)
        return total / (1 + 2 * float(sum(factors))) if norm else total  # type: ignore[no-any-return]

    return sampled(M, sym, values)


def _taylor_factors(nbar: int, sll: float) -> list[float]:
    """The weights of cosines that move the first zeros of the spectrum to where the side lobes are level."""
    a = math.acosh(10 ** (sll / 20)) / math.pi
    stretch = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    m, zeros = np.arange(1, nbar), stretch * (a**2 + (np.arange(1, nbar) - 0.5) ** 2)
    moved = np.prod(1 - m[:, None] ** 2 / zeros, axis=1)
    own = 1 - m[:, None] ** 2 / m**2
    np.fill_diagonal(own, 1)
    return ((-1.0) ** (m + 1) * moved / (2 * np.prod(own, axis=1))).tolist()  # type: ignore[no-any-return]


def kaiser_bessel_derived(M: int, beta: Any, *, sym: bool = True) -> Variable:
    """Roots of the running sums of Kaiser's window: squares of points half a window apart sum to 1.

    Args:
        M: how many points, an even int.
        beta: as for `kaiser`.
    Raises:
        InputError: M is no even int, or sym is False.
    Example:
        >>> import tg
        >>> w = tg.signal.windows.kaiser_bessel_derived(4, 2.0)
        >>> (w[:2] ** 2 + w[2:] ** 2).eval()
        array([1., 1.])
    Source:
        scipy.signal.windows.kaiser_bessel_derived
    """
    if not sym:
        raise InputError(message("kaiser_bessel_derived: found sym=False, needed True: it is no period of a window"))
    if type(M) is not int or M < 0 or M % 2:
        raise InputError(message(f"kaiser_bessel_derived: M: found {M!r}, needed an even int"))
    if not M:
        return ones(0, dtype=float_name(None))
    sums = cumsum(kaiser(M // 2 + 1, beta))
    rising = sqrt(sums[:-1] / sums[-1])
    return concatenate([rising, flip(rising, 0)])


def dpss(
    M: int, NW: float, Kmax: int | None = None, sym: bool = True, norm: Any = None, return_ratios: bool = False
) -> Any:
    """Windows with the largest share of their power within a band, each orthogonal to those before: Slepian's tapers.

    They are computed while the expression is built, of numbers.

    Args:
        M: how many points.
        NW: half the width of the band, in frequencies of M points.
        Kmax: how many windows; None for the first alone, without an axis of windows.
        sym: True for windows that are symmetric, False for one period.
        norm: 2 for squares that sum to 1, "approximate" or "subsample" for a greatest value of 1, which of an even M
            lies between two points; by default 2 where Kmax is given, else "approximate".
        return_ratios: whether the shares of power within the band come too.
    Shapes:
        (Kmax, M) or (M); shares (Kmax) or ()
    Dtypes:
        the floating dtype of the configuration, float64 by default.
    Raises:
        InputError: M or Kmax is no int within range, NW no number between 0 and M / 2, or an unknown norm.
    Example:
        >>> import tg
        >>> windows, shares = tg.signal.windows.dpss(64, 2.5, 2, return_ratios=True)
        >>> windows.shape, shares.eval().round(6)
        ((2, 64), array([0.999997, 0.999847]))
    Source:
        D. B. Percival, A. T. Walden: Spectral Analysis for Physical Applications (1993), section 8.1;
        scipy.signal.windows.dpss
    """
    if type(M) is not int or M < 0:
        raise InputError(message(f"dpss: M: found {M!r}, needed an int: the windows are computed of numbers"))
    if norm is not None and norm not in NORMS:
        raise InputError(message(f"dpss: norm: found {norm!r}, needed one of {', '.join(map(repr, NORMS))}"))
    n = M if sym or M <= 1 else M + 1
    count = 1 if Kmax is None else Kmax
    if type(count) is not int or not 0 < count <= max(n, 1):
        raise InputError(message(f"dpss: Kmax: found {Kmax!r}, needed an int from 1 to {max(n, 1)}"))
    _need_number("dpss", "NW", NW, 0)
    if M <= 1:
        tapers, shares = np.ones((count, M)), np.ones(count)
    else:
        if n / 2 <= NW:
            raise InputError(message(f"dpss: NW: found {NW!r}, needed less than half of {n} points"))
        tapers = _tapers(n, NW / n, count)
        shares = _shares_in_band(tapers, NW / n)
        tapers = _scaled(tapers, ("approximate" if Kmax is None else 2) if norm is None else norm, NW)[:, :M]
    results = [cast_variable(as_variable(v if Kmax is not None else v[0]), float_name(None)) for v in (tapers, shares)]
    return tuple(results) if return_ratios else results[0]


def _tapers(n: int, width: float, count: int) -> Array:
    """The tapers of n points with the largest shares within a band, one a row, with squares that sum to 1.

    They are the eigenvectors of a tridiagonal matrix that is the same from both ends, so of two matrices of half the
    size: one for those that are symmetric, which take turns with those that are not.
    """
    k = np.arange(n)
    diagonal = ((n - 1 - 2 * k) / 2) ** 2 * math.cos(2 * math.pi * width)
    beside = k[1:] * (n - k[1:]) / 2
    half, centre = divmod(n, 2)
    tapers = np.zeros((count, n))
    for odd in (0, 1):
        size = half + (0 if odd else centre)
        main, side = diagonal[:size].copy(), beside[: size - 1].copy()
        if not centre:
            main[-1] += -beside[half - 1] if odd else beside[half - 1]  # of the point on the other side
        elif not odd:
            side[-1] *= math.sqrt(2)  # the middle point has one beside it twice
        rows = range(odd, count, 2)
        for row, vector in zip(rows, tridiagonal_vectors(main, side, len(rows)), strict=True):
            ends = vector[:half] / math.sqrt(2)
            middle = np.zeros(centre) if odd else vector[half:]
            tapers[row] = np.concatenate([ends, middle, -ends[::-1] if odd else ends[::-1]])
    return tapers * _signs(tapers)[:, None]


def _signs(tapers: Array) -> Array:
    """The factors that make the mean of symmetric tapers positive, and the first lobe of the others."""
    signs = np.ones(len(tapers))
    for k, taper in enumerate(tapers):
        squares = taper * taper
        lobe = squares > min(max(LOBE, 1 / len(taper)), squares.max() / 2)
        first = taper[lobe][0] if k % 2 else taper.sum()
        signs[k] = -1 if first < 0 else 1
    return signs


def _shares_in_band(tapers: Array, width: float) -> Array:
    """The share of the power of each taper, whose squares sum to 1, within the band."""
    n = tapers.shape[1]
    spectra = np.fft.rfft(tapers, 2 * n)
    products = np.fft.irfft(abs(spectra) ** 2, 2 * n)[:, :n]
    lags = np.arange(n)
    kernel = 4 * width * np.sinc(2 * width * lags)
    kernel[0] = 2 * width
    shares: Array = products @ kernel
    return shares


def _scaled(tapers: Array, norm: Any, NW: float) -> Array:
    """Tapers whose squares sum to 1, or whose greatest value is 1 between the points of an even number."""
    if norm == 2:
        return tapers
    n = tapers.shape[1]
    scaled: Array = tapers / tapers.max()
    factor = 1.0
    if n % 2 == 0 and norm == "approximate":
        factor = n**2 / (n**2 + NW)
    elif n % 2 == 0:
        spectrum = np.fft.rfft(scaled[0])
        place = np.exp(1j * math.pi * (1 - 1 / n) * np.arange(1, n // 2 + 1))
        factor = n / (spectrum[0].real + 2 * (spectrum[1:] * place).real.sum())
    return np.multiply(scaled, factor)


FAMILY = Family(
    "signal/designed_windows", functions=(chebwin, dpss, kaiser_bessel_derived, taylor), module="signal.windows"
)
