"""Functions of samples: differences, integrals, interpolation, polynomials, and values chosen by conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add, divide, multiply, subtract
from tg.ops.elementwise.arithmetic import clip as limited
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    isnan,
    less,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from tg.ops.family import Family
from tg.ops.indexing import slice_axis, take
from tg.ops.reduction import sum
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, ravel, with_lengths
from tg.ops.sorting import ArgSort, searchsorted
from tg.types.dtypes import BOOL, is_complex, is_inexact, is_integer, numpy_dtype
from tg.types.lengths import maximum as longest
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, axis_from_end, known_integer, promoted, weakly_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.variables.like import TensorLike

    Point = tuple[Variable, Variable]


def diff(x: TensorLike, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Variable:
    """The differences of neighbours along an axis, taken n times; of bool, whether they differ.

    Args:
        prepend, append: what to join to x first: a scalar, or an array with the other lengths of x.
    Shapes:
        x (..., m, ...) -> (..., m - n, ...), at least 0
    Raises:
        InputError: n is negative.
        ShapeError: x is a scalar.
    Source:
        numpy.diff
    """
    x, n = as_variable(x), known_integer(n)
    if not isinstance(n, int) or n < 0:
        raise InputError(message(f"diff: n: found {n!r}, needed an integer of at least 0"))
    k = axis_from_end(axis, x.type.ndim, "diff")
    pieces = [_edge(x, k, prepend), x, _edge(x, k, append)]
    present = [v for v in pieces if v is not None]
    y = concatenate(present, k) if len(present) > 1 and n else x
    for _ in range(n):
        if y.type.shape[k] == 0:
            break
        count = longest(subtract_lengths(y.shape[k], 1), 0)
        start = subtract_lengths(y.shape[k], count)
        later, earlier = slice_axis(y, k, start, count), slice_axis(y, k, 0, count)
        y = not_equal(later, earlier) if y.type.dtype == BOOL else subtract(later, earlier)
    return y


def _edge(x: Variable, axis: int, value: Any) -> Variable | None:
    if value is None:
        return None
    v = as_variable(value)
    if v.type.ndim:
        return v
    return broadcast_to(v, [1 if k == axis else n for k, n in zip(range(-x.type.ndim, 0), x.shape, strict=True)])


def ediff1d(x: TensorLike, to_end: Any = None, to_begin: Any = None) -> Variable:
    """The differences of neighbours in C order, with given values before and after them.

    Raises:
        DtypeError: floating values beside differences of integers, or complex ones beside real ones.
    Source:
        numpy.ediff1d
    """
    y = diff(ravel(x))
    ends = [None if v is None else _beside(y, as_variable(v)) for v in (to_begin, to_end)]
    pieces = [v for v in (ends[0], y, ends[1]) if v is not None]
    return concatenate(pieces) if len(pieces) > 1 else y


def _beside(y: Variable, v: Variable) -> Variable:
    """Given values in the dtype of the differences, of the same kind."""
    loses = (is_inexact, is_complex)
    if any(holds(v.type.dtype) and not holds(y.type.dtype) for holds in loses):
        raise DtypeError(message(f"ediff1d: found {v.type.dtype} beside {y.type.dtype}, needed one kind"))
    return cast_variable(ravel(v), y.type.dtype)


def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: Any = 1.0, axis: int = -1) -> Variable:
    """The integral of samples along an axis by the trapezoidal rule.

    Args:
        x: where the samples are: a vector, or an array that broadcasts with y; else `dx` apart.
    Shapes:
        y (..., n, ...) -> (... ...)
    Source:
        numpy.trapezoid
    """
    y = as_variable(y)
    y = y if is_inexact(y.type.dtype) else cast_variable(y, "float64")
    k = axis_from_end(axis, y.type.ndim, "trapezoid")
    step = as_variable(dx) if not isinstance(dx, int | float) else dx
    if x is not None:
        places = as_variable(x)
        step = diff(places) if places.type.ndim == 1 else diff(places, 1, k)
        if places.type.ndim == 1 and k != -1:
            step = expand_dims_at(step, tuple(range(k + 1, 0)))
    count = longest(subtract_lengths(y.shape[k], 1), 0)
    start = subtract_lengths(y.shape[k], count)
    pairs = add(slice_axis(y, k, start, count), slice_axis(y, k, 0, count))
    return sum(divide(multiply(pairs, step), 2.0), k)


def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: TensorLike | None = None,
) -> Variable:
    """The piecewise linear function through points, at x.

    Args:
        xp, fp: vectors, the points; xp ascends, unless there is a period.
        left, right: the values before the first and after the last point; those of these points by default.
        period: if given, the points repeat, and `left` and `right` mean nothing.
    Shapes:
        x (...), xp (n), fp (n) -> (...)
    Raises:
        ShapeError: xp or fp is no vector, or their lengths differ.
        BoundsError: there are no points.
    Source:
        numpy.interp
    """
    (x, xp, fp), kind = promoted([x, as_variable(xp), as_variable(fp)])
    kind = kind if is_inexact(kind) else "float64"
    x, xp, fp = (cast_variable(v, kind) for v in (x, xp, fp))
    if xp.type.ndim != 1 or fp.type.ndim != 1:
        raise ShapeError(message(f"interp: found {xp.type} and {fp.type}, needed vectors"))
    fp = with_lengths(fp, {-1: xp.shape[0]}, "interp")
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
        left = right = None
    n = as_size_variable(xp.shape[0])
    above = limited(searchsorted(xp, x, "right"), 1, n - 1)
    x0, x1 = (take(xp, i, mode="clip") for i in (above - 1, above))
    y0, y1 = (take(fp, i, mode="clip") for i in (above - 1, above))
    flat = equal(x0, x1)
    slope = divide(subtract(y1, y0), where(flat, cast_variable(as_variable(1.0), kind), subtract(x1, x0)))
    slope = where(flat, zeros_like(slope), slope)
    inside = where(equal(x, x1), y1, _on_line(x, (x0, y0), (x1, y1), slope))
    first, last = (take(v, n - n, mode="clip") for v in (xp, fp)), (take(v, n - 1, mode="clip") for v in (xp, fp))
    (x_first, y_first), (x_last, y_last) = first, last
    y = where(less(x, x_first), y_first if left is None else left, inside)
    return where(greater(x, x_last), y_last if right is None else right, y)


def _on_line(x: Variable, start: Point, end: Point, slope: Variable) -> Variable:
    """The line through two points, from its end or at its start where infinite values there leave NaN."""
    (x0, y0), (x1, y1) = start, end
    y = add(y0, multiply(slope, subtract(x, x0)))
    y = where(isnan(y), add(y1, multiply(slope, subtract(x, x1))), y)
    is_start = logical_or(equal(x, x0), logical_and(equal(y0, y1), equal(x, x)))
    return where(logical_and(isnan(y), is_start), y0, y)


def _unrolled(x: Variable, xp: Variable, fp: Variable, period: Any) -> tuple[Variable, Variable, Variable]:
    """One period of points in order, with the last one before it and the first one after it."""
    size = abs(period)
    x, xp = x % size, xp % size
    order: Variable = ArgSort(-1)(xp)
    xp, fp = take(xp, order, mode="promise"), take(fp, order, mode="promise")
    places = concatenate([xp[-1:] - size, xp, xp[:1] + size])
    return x, places, concatenate([fp[-1:], fp, fp[:1]])


def polyval(p: TensorLike, x: TensorLike) -> Variable:
    """The polynomial with coefficients p, the highest power first, at x.

    Args:
        p: a vector of known length, or a sequence of scalars.
    Raises:
        ShapeError: the number of coefficients is not known.
    Source:
        numpy.polyval
    """
    coefficients = as_variable(p)
    if coefficients.type.ndim != 1 or coefficients.type.shape[0] is None:
        raise ShapeError(message(f"polyval: p: found {coefficients.type}, needed a vector of known length"))
    x = as_variable(x)
    y: Variable = zeros_like(x)
    for k in range(coefficients.type.shape[0]):
        y = add(multiply(y, x), coefficients[k])
    return y


def clip(x: TensorLike, min: Any = None, max: Any = None) -> Variable:
    """The elements limited to [min, max], of which None is no limit; the derivative is 1 on the closed interval.

    A Python integer that lies beyond all that an integer dtype holds, on the side where it limits nothing, is no limit.

    Raises:
        RangeError: a Python integer on the other side.
    Source:
        numpy.clip
    """
    x = as_variable(x)
    if is_integer(x.type.dtype):
        limits = np.iinfo(x.type.dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    if min is None and max is None:
        return x
    if min is None or max is None:
        _, dtype = promoted([x, max if min is None else min])
        lowest, highest = _ends(dtype)
        min, max = (lowest, max) if min is None else (min, highest)
    return limited(x, min, max)


def _ends(dtype: str) -> tuple[Any, Any]:
    """The least and the largest value of a dtype."""
    kind = numpy_dtype(dtype).type
    if dtype == BOOL:
        return kind(False), kind(True)
    if is_inexact(dtype):
        return kind(-np.inf), kind(np.inf)
    limits = np.iinfo(dtype)
    return kind(limits.min), kind(limits.max)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Variable:
    """For each element the choice that belongs to the first condition that holds, else the default.

    Raises:
        InputError: there are not as many choices as conditions, or none.
    Source:
        numpy.select
    """
    if len(condlist) != len(choicelist) or not condlist:
        text = f"select: found {len(condlist)} conditions and {len(choicelist)} choices, needed as many, at least one"
        raise InputError(message(text))
    operands, dtype = promoted([*choicelist, default])
    *choices, y = (cast_variable(v, dtype) for v in operands)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        y = where(condition, choice, y)
    return y


def piecewise(x: TensorLike, condlist: Sequence[Any], funclist: Sequence[Any], *args: Any, **kw: Any) -> Variable:
    """A function given in pieces: where conditions hold, the last of them decides.

    Args:
        funclist: for each condition a function of x or a scalar, and one more for where none holds (0 without it).
            Functions are called with all of x: elements elsewhere do not reach the result or the derivative.
    Dtypes:
        that of x
    Raises:
        InputError: there are neither as many functions as conditions nor one more.
    Source:
        numpy.piecewise
    """
    x = as_variable(x)
    conditions = [as_variable(c) for c in condlist]
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1) or not conditions:
        text = f"piecewise: found {len(functions)} functions for {len(conditions)} conditions"
        raise InputError(message(f"{text}, needed as many, or one more"))
    if len(functions) > len(conditions):
        covered = conditions[0]
        for c in conditions[1:]:
            covered = logical_or(covered, c)
        conditions.append(logical_not(covered))
    y: Variable = zeros_like(x)
    for condition, fn in zip(conditions, functions, strict=True):
        piece = weakly_cast(fn(x, *args, **kw) if callable(fn) else fn, x.type.dtype)
        y = where(condition, piece, y)
    return y


FAMILY = Family("calculus", functions=(diff, ediff1d, trapezoid, interp, polyval, clip, select, piecewise))
