"""Window functions of `tg.signal.windows`: SciPy's names and values, of any number of points.

A window is a function of the place among n points. A periodic one is that of n + 1 points without the last.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, message
from tg.graph.nodes import as_size_variable, size_value
from tg.ops.creation import iota, ones
from tg.ops.elementwise.arithmetic import absolute, power, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, less_equal, logical_not, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.rounding import floor
from tg.ops.elementwise.special.bessel import i0
from tg.ops.elementwise.trigonometric import cos, sin, sinc
from tg.ops.family import Family
from tg.ops.sized_ops import split_sizes
from tg.types.lengths import add, maximum, remainder, subtract
from tg.variables.conversion import as_variable, float_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Size = int | Length

BLACKMAN: Final = (0.42, 0.50, 0.08)
NUTTALL: Final = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
BLACKMAN_HARRIS: Final = (0.35875, 0.48829, 0.14128, 0.01168)
FLAT_TOP: Final = (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368)
"""Coefficients of sums of cosines."""


def sampled(M: Any, sym: bool, values: Callable[[Variable, Size], Any]) -> Variable:
    """The first M of the n values at the places 0, …, n - 1; a single one is 1."""
    (field,), sizes = split_sizes([M])
    count = size_value(sizes[0]) if field is None else field
    if type(count) is int and count <= 1:
        return ones(count, dtype=float_name(None))
    points = count if sym else add(count, 1)
    spaced = maximum(points, 2)  # one point has no spacing to divide by
    place = cast_variable(iota(count), float_name(None))
    window = as_variable(values(place, spaced))
    return window if type(count) is int else where(equal(as_size_variable(count), 1), 1.0, window)


def as_number(n: Size) -> Any:
    """A length as a number to compute with."""
    return float(n) if type(n) is int else cast_variable(as_size_variable(n), float_name(None))


def last_place(n: Size) -> Any:
    """The last of n places."""
    return as_number(subtract(n, 1))


def _cosines(k: Variable, n: Size, a: Sequence[Any]) -> Variable:
    angle = math.pi * (2 * k / last_place(n) - 1)
    total: Any = 0.0
    for order, factor in enumerate(a):
        total = total + (factor * cos(order * angle) if order else factor)
    return total  # type: ignore[no-any-return]


# --- functions ----------------------------------------------------------------------------------------------------


def boxcar(M: Any, sym: bool = True) -> Variable:
    """A window of ones.

    Source:
        scipy.signal.windows.boxcar
    """
    return sampled(M, sym, lambda k, n: ones(k.shape, dtype=k.type.dtype))


def triang(M: Any, sym: bool = True) -> Variable:
    """A triangle that is not 0 at its ends.

    Source:
        scipy.signal.windows.triang
    """
    return sampled(M, sym, lambda k, n: 1 - absolute(2 * k - last_place(n)) / as_number(add(n, remainder(n, 2))))


def bartlett(M: Any, sym: bool = True) -> Variable:
    """A triangle that is 0 at its ends.

    Source:
        scipy.signal.windows.bartlett
    """
    return sampled(M, sym, lambda k, n: 1 - absolute(2 * k / last_place(n) - 1))


def parzen(M: Any, sym: bool = True) -> Variable:
    """The B-spline of order 3 over the points: Parzen's window.

    Source:
        scipy.signal.windows.parzen
    """

    def values(k: Variable, n: Size) -> Variable:
        away = absolute(k - last_place(n) / 2)
        share = away / (as_number(n) / 2)
        return where(less_equal(away, last_place(n) / 4), 1 - 6 * share**2 + 6 * share**3, 2 * (1 - share) ** 3)

    return sampled(M, sym, values)


def bohman(M: Any, sym: bool = True) -> Variable:
    """Half a cosine convolved with itself: Bohman's window.

    Source:
        scipy.signal.windows.bohman
    """

    def values(k: Variable, n: Size) -> Variable:
        away = absolute(2 * k / last_place(n) - 1)
        inner = (1 - away) * cos(math.pi * away) + sin(math.pi * away) / math.pi
        return where(equal(away, 1), 0.0, inner)

    return sampled(M, sym, values)


def barthann(M: Any, sym: bool = True) -> Variable:
    """Bartlett's and Hann's windows, summed.

    Source:
        scipy.signal.windows.barthann
    """

    def values(k: Variable, n: Size) -> Variable:
        away = absolute(k / last_place(n) - 0.5)
        return 0.62 - 0.48 * away + 0.38 * cos(2 * math.pi * away)

    return sampled(M, sym, values)


def general_cosine(M: Any, a: Any, sym: bool = True) -> Variable:
    """A sum of cosines: a[0] + a[1] cos t + a[2] cos 2t + …, t from -pi to pi.

    Args:
        a: the factors, numbers or scalar variables.
    Source:
        scipy.signal.windows.general_cosine
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, a))


def general_hamming(M: Any, alpha: Any, sym: bool = True) -> Variable:
    """alpha - (1 - alpha) cos t, t from 0 to 2 pi.

    Source:
        scipy.signal.windows.general_hamming
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, (alpha, 1.0 - alpha)))


def hann(M: Any, sym: bool = True) -> Variable:
    """A raised cosine: (1 - cos(2 pi k / (n - 1))) / 2 at the places k of n points.

    Args:
        M: how many points: an int, a length or an integer scalar.
        sym: True for a window that is symmetric, as filters take it; False for one period, as spectra do.
    Shapes:
        (M)
    Dtypes:
        the floating dtype of the configuration, float64 by default.
    Example:
        >>> import tg
        >>> tg.signal.windows.hann(4, sym=False).eval()
        array([0. , 0.5, 1. , 0.5])
    Source:
        scipy.signal.windows.hann
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, (0.5, 0.5)))


def hamming(M: Any, sym: bool = True) -> Variable:
    """0.54 - 0.46 cos t, t from 0 to 2 pi.

    Source:
        scipy.signal.windows.hamming
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, (0.54, 1.0 - 0.54)))


def blackman(M: Any, sym: bool = True) -> Variable:
    """Three cosines: Blackman's window.

    Source:
        scipy.signal.windows.blackman
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, BLACKMAN))


def nuttall(M: Any, sym: bool = True) -> Variable:
    """Four cosines with the least side lobes: Nuttall's window.

    Source:
        scipy.signal.windows.nuttall
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, NUTTALL))


def blackmanharris(M: Any, sym: bool = True) -> Variable:
    """Four cosines: Blackman's and Harris's window.

    Source:
        scipy.signal.windows.blackmanharris
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, BLACKMAN_HARRIS))


def flattop(M: Any, sym: bool = True) -> Variable:
    """Five cosines, for amplitudes.

    Source:
        scipy.signal.windows.flattop
    """
    return sampled(M, sym, lambda k, n: _cosines(k, n, FLAT_TOP))


def cosine(M: Any, sym: bool = True) -> Variable:
    """Half a period of a sine, between the points.

    Source:
        scipy.signal.windows.cosine
    """
    return sampled(M, sym, lambda k, n: sin(math.pi / as_number(n) * (k + 0.5)))


def lanczos(M: Any, *, sym: bool = True) -> Variable:
    """The middle lobe of sinc.

    Source:
        scipy.signal.windows.lanczos
    """
    return sampled(M, sym, lambda k, n: sinc(2 * k / last_place(n) - 1))


def kaiser(M: Any, beta: Any, sym: bool = True) -> Variable:
    """i0(beta sqrt(1 - u²)) / i0(beta), u from -1 to 1: Kaiser's window.

    Args:
        beta: a number or a scalar variable: the larger, the lower the side lobes and the wider the middle one.
    Example:
        >>> import tg
        >>> beta = tg.scalar("beta")
        >>> middle = tg.signal.windows.kaiser(5, beta)[1]
        >>> round(float(tg.grad(middle, beta).eval({beta: 2.0})), 4)
        -0.1137
    Source:
        scipy.signal.windows.kaiser
    """

    def values(k: Variable, n: Size) -> Variable:
        square = 4 * k * (last_place(n) - k) / last_place(n) ** 2  # 1 - u², which is 0 at the ends and not below
        inside = square > 0  # no root is differentiated at 0
        return where(inside, i0(beta * sqrt(where(inside, square, 1.0))), 1.0) / i0(as_variable(beta) * 1.0)

    return sampled(M, sym, values)


def gaussian(M: Any, std: Any, sym: bool = True) -> Variable:
    """exp(-u² / (2 std²)), u the distance from the middle.

    Args:
        std: the standard deviation in points, a number or a scalar variable.
    Source:
        scipy.signal.windows.gaussian
    """
    return sampled(M, sym, lambda k, n: exp(-((k - last_place(n) / 2) ** 2) / (2.0 * std * std)))


def general_gaussian(M: Any, p: Any, sig: Any, sym: bool = True) -> Variable:
    """exp(-|u / sig|^(2 p) / 2), u the distance from the middle.

    Source:
        scipy.signal.windows.general_gaussian
    """
    return sampled(M, sym, lambda k, n: exp(-0.5 * power(absolute((k - last_place(n) / 2) / sig), 2.0 * p)))


def exponential(M: Any, center: Any = None, tau: Any = 1.0, sym: bool = True) -> Variable:
    """exp(-|k - center| / tau) at the places k.

    Args:
        center: the middle by default; another one only of a window with sym=False.
    Raises:
        InputError: a center for a symmetric window.
    Source:
        scipy.signal.windows.exponential
    """
    if sym and center is not None:
        raise InputError(message(f"exponential: found center={center!r} with sym=True, needed sym=False or no center"))
    return sampled(M, sym, lambda k, n: exp(-absolute(k - (last_place(n) / 2 if center is None else center)) / tau))


def tukey(M: Any, alpha: float = 0.5, sym: bool = True) -> Variable:
    """Ones between two halves of a raised cosine, which take a share alpha of the points: 0 a boxcar, 1 Hann's window.

    Raises:
        InputError: alpha is no number.
    Source:
        scipy.signal.windows.tukey
    """
    if not isinstance(alpha, int | float):
        raise InputError(message(f"tukey: alpha: found {alpha!r}, needed a number"))
    if alpha <= 0 or alpha >= 1:
        return boxcar(M, sym) if alpha <= 0 else hann(M, sym)

    def values(k: Variable, n: Size) -> Variable:
        width = floor(as_variable(alpha * last_place(n) / 2))
        steps = 2 * k / (alpha * last_place(n))
        rising = 0.5 * (1 + cos(math.pi * (steps - 1)))
        falling = 0.5 * (1 + cos(math.pi * (steps + (1 - 2 / alpha))))
        inside = (k > width) & logical_not(k >= last_place(n) - width)
        return where(k <= width, rising, where(inside, 1.0, falling))

    return sampled(M, sym, values)


FAMILY = Family(
    "signal/window_functions",
    functions=(
        barthann, bartlett, blackman, blackmanharris, bohman, boxcar, cosine, exponential, flattop, gaussian,
        general_cosine, general_gaussian, general_hamming, hamming, hann, kaiser, lanczos, nuttall, parzen, triang,
        tukey,
    ),
    module="signal.windows",
)  # fmt: skip
