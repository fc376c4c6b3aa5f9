"""Cubic interpolation: splines, and Hermite's polynomials with slopes by PCHIP and by Akima."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, message
from tg.graph.nodes import as_size_variable
from tg.interpolate.piecewise import PPoly, along_first, column, known_length
from tg.ops.calculus import diff
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import absolute, sign
from tg.ops.elementwise.comparison import equal, where
from tg.ops.linalg.banded import solve_banded
from tg.ops.reduction import max as largest
from tg.ops.reduction import sum as total
from tg.ops.shape import broadcast_to, concatenate, reshape, stack
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import AkimaMethod

NAMED: Final = {"natural": (2, 0.0), "clamped": (1, 0.0)}
BREAK: Final = 1e-9  # SciPy's: denominators of Akima's slopes below so much of the largest count as 0


def CubicHermiteSpline(x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> PPoly:  # noqa: N802
    """The piecewise cubic polynomial with values y and first derivatives dydx at x.

    Args:
        x: a vector that ascends.
        axis: that of y and dydx along which x goes.
        extrapolate: as `PPoly` has it, True by default.
    Shapes:
        x (n), y (..., n, ...), dydx as y
    Raises:
        ShapeError: lengths differ.
        InputError: x is known and does not ascend.
    Source:
        scipy.interpolate.CubicHermiteSpline
    Example:
        >>> import tg
        >>> f = tg.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])
        >>> float(f(0.5).eval()), float(f(0.5, 1).eval())
        (0.5, 1.5)
    """
    edges, values, front = along_first("CubicHermiteSpline", x, y, axis)
    _, slopes, _ = along_first("CubicHermiteSpline", x, dydx, axis)
    return _through(edges, values, slopes, front, True if extrapolate is None else extrapolate)


def _through(x: Variable, y: Variable, s: Variable, axis: int, extrapolate: Any) -> PPoly:
    """The cubic pieces of values and slopes, whose axis of points is in front."""
    h = column(diff(x), y)
    slope = diff(y, 1, 0) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    return PPoly(stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]]), x, extrapolate, axis)


def CubicSpline(x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> PPoly:  # noqa: N802
    """The piecewise cubic polynomial through points that has two continuous derivatives.

    Args:
        x: a vector that ascends.
        axis: that of y along which x goes.
        bc_type: what holds at both ends: "not-a-knot" (the first two pieces are one polynomial), "natural" (the second
            derivative is 0), "clamped" (the first one is 0), "periodic" (the derivatives at the ends are equal, as
            y[0] and y[-1] have to be); or a pair for the ends, each one of the first three or (order, value): a
            derivative of first or second order, of the shape of y without its axis.
        extrapolate: as `PPoly` has it; "periodic" by default for a periodic spline, else True.
    Shapes:
        x (n), y (..., n, ...); n at least 2, and where it is not known 3, of a periodic spline 4
    Raises:
        ShapeError: lengths differ.
        InputError: x is known and does not ascend; a condition is none of these.
    Source:
        scipy.interpolate.CubicSpline. The system is tridiagonal: it takes time in proportion to n.
    Example:
        >>> import numpy as np, tg
        >>> x = np.linspace(0, 2 * np.pi, 9)
        >>> f = tg.interpolate.CubicSpline(x, np.sin(x), bc_type="periodic")
        >>> [round(float(v.eval()), 2) for v in (f(1.0), f(1.0, 1), f.integrate(0, np.pi))]
        [0.84, 0.54, 2.0]
    """
    ends = _conditions(bc_type)
    edges, values, front = along_first("CubicSpline", x, y, axis, 4 if ends[0] == "periodic" else 3)
    h = diff(edges)
    count = known_length(edges, values)
    slopes = (_periodic if ends[0] == "periodic" else _slopes)(column(h, values), h, values, count, ends)
    if extrapolate is None:
        extrapolate = "periodic" if ends[0] == "periodic" else True
    return _through(edges, values, slopes, front, extrapolate)


def _conditions(bc_type: Any) -> tuple[Any, Any]:
    """The condition at each end: "not-a-knot", "periodic", or the order of a derivative and its value."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2 or (bc_type != "periodic" and "periodic" in [v for v in pair if isinstance(v, str)]):
        raise InputError(message(f"CubicSpline: bc_type: found {bc_type!r}, needed a condition, or one for each end"))
    return _condition(pair[0]), _condition(pair[1])


def _condition(condition: Any) -> Any:
    if isinstance(condition, str):
        if condition in ("not-a-knot", "periodic"):
            return condition
        if condition in NAMED:
            return NAMED[condition]
    elif isinstance(condition, tuple | list) and len(condition) == 2 and condition[0] in (1, 2):
        return tuple(condition)
    choices = "'not-a-knot', 'natural', 'clamped', 'periodic' or (order, value) with the order 1 or 2"
    raise InputError(message(f"CubicSpline: bc_type: found {condition!r}, needed {choices}"))


def _slopes(wide: Variable, h: Variable, y: Variable, count: int | None, ends: tuple[Any, Any]) -> Variable:
    """The first derivatives at the points; `wide` has the lengths h beside y."""
    slope = diff(y, 1, 0) / wide
    if count == 2:
        ends = tuple((1, slope[0]) if end == "not-a-knot" else end for end in ends)  # type: ignore[assignment]
    if count == 3 and ends == ("not-a-knot", "not-a-knot"):
        bend = (slope[1] - slope[0]) / (wide[0] + wide[1])  # both conditions are one: a parabola
        return stack([slope[0] - bend * wide[0], slope[0] + bend * wide[0], slope[1] + bend * wide[1]])
    inner = 3 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    start = _end(ends[0], h, wide, slope, -1)
    stop = _end(ends[1], h[::-1], wide[::-1], slope[::-1], 1)
    if count is None and ends == ("not-a-knot", "not-a-knot"):
        parabola = h[-1] * 0 + 1, h[-1] * 0 + 1, 2 * slope[-1]  # of three points both conditions are one
        is_short = equal(as_size_variable(y.shape[0]), 3)
        stop = tuple(where(is_short, a, b) for a, b in zip(parabola, stop, strict=True))
    zero = zeros_like(h[:1])
    band = stack(
        [
            concatenate([zero, start[1][None], h[:-1]]),
            concatenate([start[0][None], 2 * (h[:-1] + h[1:]), stop[0][None]]),
            concatenate([h[1:], stop[1][None], zero]),
        ]
    )
    return _solved(band, concatenate([start[2][None], inner, stop[2][None]], 0))


def _end(condition: Any, h: Variable, wide: Variable, slope: Variable, way: int) -> tuple[Variable, ...]:
    """The equation of the slope at an end: its factor, that of the slope beside it, and the right side.

    Lengths and slopes of pieces are counted from that end; `way` is 1 at the last end, where x ascends to it, else -1.
    """
    one, none = h[0] * 0 + 1, h[0] * 0
    if condition == "not-a-knot":
        both = wide[0] + wide[1]
        side = ((wide[0] + 2 * both) * wide[1] * slope[0] + wide[0] ** 2 * slope[1]) / both
        return h[1], h[0] + h[1], side
    order, value = condition
    derivative = broadcast_to(as_variable(value).astype(slope.type.dtype), slope.shape[1:])
    if order == 1:
        return one, none, derivative
    return 2 * h[0], h[0], 3 * slope[0] * wide[0] + derivative * wide[0] ** 2 * (way / 2)


def _solved(band: Variable, sides: Variable) -> Variable:
    """The solution of a tridiagonal system, for sides with any axes behind the first."""
    flat = sides if sides.type.ndim < 2 else reshape(sides, (sides.shape[0], -1))
    return reshape(solve_banded((1, 1), band, flat, on_error="nan"), sides.shape)


def _periodic(wide: Variable, h: Variable, y: Variable, count: int | None, ends: tuple[Any, Any]) -> Variable:
    """The first derivatives where the last is the first: the cyclic system by one without its last row and column."""
    slope = diff(y, 1, 0) / wide
    if count == 2:
        return concatenate([slope, slope], 0)
    if count == 3:
        mean = total(slope / wide, 0, keepdims=True) / total(1 / wide, 0, keepdims=True)
        return broadcast_to(mean, y.shape)
    inner = 3 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    first = 3 * (wide[:1] * slope[-1:] + wide[-1:] * slope[:1])
    middle, zero = 2 * (h[:-1] + h[1:]), zeros_like(h[:1])
    band = stack(
        [
            concatenate([zero, h[-1:], h[:-3]]),
            concatenate([2 * (h[-1:] + h[:1]), middle[:-1]]),
            concatenate([h[1:-1], zero]),
        ]
    )
    plain = _solved(band, concatenate([first, inner[:-1]], 0))
    corner = column(_solved(band, concatenate([-h[:1], zeros_like(h[1:-2]), -h[-3:-2]])), y)
    last = (inner[-1] - wide[-2] * plain[0] - wide[-1] * plain[-1]) / (
        2 * (wide[-1] + wide[-2]) + wide[-2] * corner[0] + wide[-1] * corner[-1]
    )
    slopes = plain + last[None] * corner
    return concatenate([slopes, last[None], slopes[:1]], 0)


def PchipInterpolator(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> PPoly:  # noqa: N802
    """The piecewise cubic polynomial through points that rises and falls where they do, and nowhere else.

    Its first derivative is continuous; the second one is not at points.

    Args:
        x, axis, extrapolate: as `CubicHermiteSpline` has them.
    Shapes:
        x (n), y (..., n, ...)
    Dtypes:
        y is real.
    Raises:
        ShapeError: lengths differ.
        InputError: x is known and does not ascend.
    Source:
        scipy.interpolate.PchipInterpolator; F. N. Fritsch, J. Butland, SIAM J. Sci. Stat. Comput. 5 (1984), 300.
    Example:
        >>> import tg
        >>> f = tg.interpolate.PchipInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 1.0])
        >>> f([0.5, 1.5, 2.5]).eval().tolist()
        [0.0, 0.5, 1.0]
    """
    edges, values, front = along_first("PchipInterpolator", x, y, axis, 3)
    h = column(diff(edges), values)
    slope = diff(values, 1, 0) / h
    if known_length(edges, values) == 2:
        slopes = concatenate([slope, slope], 0)
    else:
        before, after = slope[:-1], slope[1:]
        w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
        is_turn = (sign(before) != sign(after)) | (before == 0) | (after == 0)
        inner = where(is_turn, 0.0, (w1 + w2) / (w1 / before + w2 / after))
        first = _one_sided(h[0], h[1], slope[0], slope[1])
        last = _one_sided(h[-1], h[-2], slope[-1], slope[-2])
        slopes = concatenate([first[None], inner, last[None]], 0)
    return _through(edges, values, slopes, front, True if extrapolate is None else extrapolate)


def _one_sided(h0: Variable, h1: Variable, m0: Variable, m1: Variable) -> Variable:
    """The slope at an end by three points, limited so that nothing overshoots."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    is_steep = (sign(m0) != sign(m1)) & (absolute(d) > 3 * absolute(m0))
    return where(sign(d) != sign(m0), 0.0, where(is_steep, 3 * m0, d))


def Akima1DInterpolator(  # noqa: N802
    x: Any, y: Any, axis: int = 0, *, method: AkimaMethod = "akima", extrapolate: Any = None
) -> PPoly:
    """The piecewise cubic polynomial through points whose slopes are those of few points around: it does not ring.

    Args:
        x, axis: as `CubicHermiteSpline` has them.
        method: "akima", or "makima", which overshoots less where points lie on two lines.
        extrapolate: as `PPoly` has it, False by default: NaN outside.
    Shapes:
        x (n), y (..., n, ...)
    Dtypes:
        y is real.
    Raises:
        ShapeError: lengths differ.
        InputError: x is known and does not ascend; no such method.
    Source:
        scipy.interpolate.Akima1DInterpolator; H. Akima, J. ACM 17 (1970), 589.
    """
    if method not in ("akima", "makima"):
        raise InputError(message(f"Akima1DInterpolator: method: found {method!r}, needed 'akima' or 'makima'"))
    edges, values, front = along_first("Akima1DInterpolator", x, y, axis, 3)
    inner = diff(values, 1, 0) / column(diff(edges), values)
    if known_length(edges, values) == 2:
        slopes = concatenate([inner, inner], 0)
    else:
        slopes = _by_neighbours(inner, is_modified=method == "makima")
    return _through(edges, values, slopes, front, False if extrapolate is None else extrapolate)


def _by_neighbours(inner: Variable, *, is_modified: bool) -> Variable:
    """Akima's slopes, of those between points and two more beyond each end."""
    before, after = 2 * inner[:1] - inner[1:2], 2 * inner[-1:] - inner[-2:-1]
    m = concatenate([2 * before - inner[:1], before, inner, after, 2 * after - inner[-1:]], 0)
    changes = absolute(diff(m, 1, 0))
    first, second = changes[2:], changes[:-2]
    if is_modified:
        sums = absolute(m[1:] + m[:-1]) / 2
        first, second = first + sums[2:], second + sums[:-2]
    weight = first + second
    is_known = weight > BREAK * largest(weight)
    return where(is_known, m[1:-2] + second / weight * (m[2:-1] - m[1:-2]), (m[3:] + m[:-3]) / 2)
