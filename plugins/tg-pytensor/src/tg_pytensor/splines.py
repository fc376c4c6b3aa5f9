"""Splines of SciPy inside of PyTensor's graphs, as PyMC's `Interpolated` has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg
from tg_pytensor.conversion import as_dtype
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXTRAPOLATED, ZERO, REFUSED, EDGE = range(4)  # SciPy's codes of what a spline is outside of its interval


class Pieces(NamedTuple):
    """A piecewise polynomial."""

    edges: NDArray[np.float64]
    """The n + 1 edges of n intervals, in ascending order."""
    coefficients: NDArray[np.float64]
    """By degree, the highest first, and interval: those of the distance from the interval's left edge."""


def pieces(spline: Any) -> Pieces:
    """The polynomials that a spline of SciPy consists of."""
    from scipy.interpolate import PPoly

    inner, weights = spline.get_knots(), spline.get_coeffs()
    degree = len(weights) - len(inner) + 1
    knots = np.concatenate([np.repeat(inner[:1], degree), inner, np.repeat(inner[-1:], degree)])
    polynomials = PPoly.from_spline((knots, np.append(weights, np.zeros(degree + 1)), degree))
    intervals = np.flatnonzero(np.diff(knots) > 0)  # knots may coincide
    return Pieces(np.append(knots[intervals], knots[-1]), polynomials.c[:, intervals])


@convert.register("SplineWrapper")
def spline(op: Any, node: Any, x: Any) -> Any:
    """A spline at x: the polynomial of the interval that has x.

    Raises:
        NoRuleError: the op has anything but a spline of SciPy, such as a function that nobody can look into.
    """
    from scipy.interpolate import UnivariateSpline

    if not isinstance(op.spline, UnivariateSpline):
        kind = type(op.spline).__name__
        raise tg.NoRuleError(f"tg_pytensor has no rule for SplineWrapper of {kind}: needed scipy's UnivariateSpline")
    edges, coefficients = pieces(op.spline)
    first, last, outside = float(edges[0]), float(edges[-1]), op.spline.ext
    wide = as_dtype(x, "float64")
    inside = tg.logical_and(wide >= first, wide <= last)
    if outside == REFUSED:
        text = f"SplineWrapper: found {{0}} numbers outside of its interval, needed all from {first} to {last}"
        count = tg.sum(tg.logical_not(inside))
        wide = tg.assert_(wide, count == 0, text, count, error=ValueError)
    nearest = tg.clip(wide, first, last) if outside == EDGE else wide
    interval = tg.searchsorted(edges[1:-1], nearest, "right")
    distance = nearest - tg.constant(edges[:-1])[interval]
    value = tg.constant(coefficients[0])[interval]
    for row in coefficients[1:]:
        value = value * distance + tg.constant(row)[interval]
    return tg.where(tg.logical_or(inside, tg.isnan(wide)), value, 0.0) if outside == ZERO else value
