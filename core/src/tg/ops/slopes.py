"""Slopes of samples along axes: differences of second order, at the ends of first or second order."""

from __future__ import annotations

from typing import Any

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.ops.calculus import diff
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.shape import concatenate, expand_dims_at
from tg.types.dtypes import is_inexact
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, axis_from_end, promoted


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes of samples along axes: second order inside, of `edge_order` at the two ends.

    Args:
        varargs: the distance of samples, 1 unless given; or one entry for each axis, a distance or a vector of the
            coordinates of the samples.
        axis: one axis or several; all by default.
        edge_order: 1 or 2.
    Shapes:
        f (..., n, ...), n > edge_order -> the same; a tuple of them for several axes
    Dtypes:
        that of f, float64 for integers
    Raises:
        InputError: another number of distances than axes, or another order.
        ShapeError: an axis is known to be too short, or coordinates are neither scalars nor vectors.
    Source:
        numpy.gradient
    """
    f = as_variable(f)
    f = f if is_inexact(f.type.dtype) else cast_variable(f, "float64")
    if edge_order not in (1, 2):
        raise InputError(message(f"gradient: edge_order: found {edge_order!r}, needed 1 or 2"))
    several = axis is None or isinstance(axis, tuple | list)
    chosen = range(f.type.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [axis_from_end(k, f.type.ndim, "gradient") for k in chosen]
    if len(varargs) not in (0, 1, len(axes)):
        raise InputError(message(f"gradient: found {len(varargs)} distances, needed 1 or {len(axes)}"))
    distances = varargs or (1.0,)
    if len(distances) == 1:
        distances = distances * len(axes)
    slopes = [_slope(f, d, k, edge_order) for d, k in zip(distances, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 and (not several or f.type.ndim == 1 or len(axes) == 1) else tuple(slopes)


def _slope(f: Variable, distance: Any, k: int, order: int) -> Variable:
    n = f.type.shape[k]
    if n is not None and n < order + 1:
        raise ShapeError(message(f"gradient: found a length of {n}, needed at least {order + 1}"))
    steps = _steps(f, distance, k)
    count = subtract_lengths(f.shape[k], 2)
    before, here, after = (slice_axis(f, k, j, count) for j in range(3))
    if isinstance(steps, Variable) and steps.type.ndim:
        first, second = slice_axis(steps, k, 0, count), slice_axis(steps, k, 1, count)
        both = add(first, second)
        a = divide(negative(second), multiply(first, both))
        b = divide(subtract(second, first), multiply(first, second))
        c = divide(first, multiply(second, both))
        inside = add(add(multiply(a, before), multiply(b, here)), multiply(c, after))
    else:
        inside = divide(subtract(after, before), 2.0 * steps)
    ends = [_end(f, steps, k, order, last=last) for last in (False, True)]
    return concatenate([ends[0], inside, ends[1]], k)


def _steps(f: Variable, distance: Any, k: int) -> Any:
    """The distances of neighbours: a scalar, or an array with an axis for each of f."""
    if isinstance(distance, int | float):
        return distance
    v = as_variable(distance)
    if v.type.ndim > 1:
        raise ShapeError(message(f"gradient: found coordinates {v.type}, needed a scalar or a vector"))
    (v, _), dtype = promoted([v, f])
    v = cast_variable(v, dtype)
    if v.type.ndim == 0:
        return v
    steps = diff(v)
    others = tuple(j for j in range(-f.type.ndim, 0) if j != k)
    return expand_dims_at(steps, others) if others else steps


def _end(f: Variable, steps: Any, k: int, order: int, *, last: bool) -> Variable:
    """The slope at one end, of the two or three samples there."""

    def at(x: Variable, j: int) -> Variable:
        n = x.shape[k]
        return slice_axis(x, k, subtract_lengths(n, 1 + j) if last else j, 1)

    varies = isinstance(steps, Variable) and steps.type.ndim
    h = at(steps, 0) if varies else steps
    sign = -1.0 if last else 1.0
    if order == 1:
        return divide(multiply(sign, subtract(at(f, 1), at(f, 0))), h)
    if not varies:
        rise = subtract(multiply(2.0, at(f, 1)), add(multiply(1.5, at(f, 0)), multiply(0.5, at(f, 2))))
        return divide(multiply(sign, rise), h)
    g = at(steps, 1)
    a = divide(negative(add(multiply(2.0, h), g)), multiply(h, add(h, g)))
    b = divide(add(h, g), multiply(h, g))
    c = divide(negative(h), multiply(g, add(h, g)))
    return multiply(sign, add(add(multiply(a, at(f, 0)), multiply(b, at(f, 1))), multiply(c, at(f, 2))))


FAMILY = Family("slopes", functions=(gradient,))
