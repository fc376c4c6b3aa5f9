"""Elements at places of the sorted order: medians and quantiles. Where an element is NaN, so is the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import add, divide, floor_divide, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isinf,
    isnan,
    less,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.places import take_along_axis
from tg.ops.reduction import all as reduce_all
from tg.ops.reduction import any as reduce_any
from tg.ops.reduction import sum
from tg.ops.shape import broadcast_to, expand_dims_at, reshape, transpose
from tg.ops.sorting import Sort, argsort
from tg.ops.statistics import weights_beside
from tg.types.dtypes import is_complex, is_inexact, numpy_dtype
from tg.types.lengths import product
from tg.variables.conversion import as_variable, axes_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import QuantileMethod
    from tg.variables.like import Integers, TensorLike

OFFSETS: Final = {  # of Hyndman and Fan's continuous definitions: how far the first and the last element stand inside
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
STEPS: Final = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")  # their discontinuous ones
ELEMENTS: Final = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
METHODS: Final = (*OFFSETS, "lower", "higher", "nearest", "midpoint", *STEPS)
MEAN: Final = "mean of the middle two"  # "linear", but that a number and an infinity have a mean


def _floor(x: Variable) -> Variable:
    return floor_divide(x, 1.0)


def _ceil(x: Variable) -> Variable:
    low = _floor(x)
    return where(greater(x, low), low + 1.0, low)


def _nearest(x: Variable) -> Variable:
    low = _floor(x)
    rest = subtract(x, low)
    odd = equal(low % 2.0, 1.0)
    return where(less(rest, 0.5), low, where(greater(rest, 0.5), low + 1.0, where(odd, low + 1.0, low)))


ROUNDED: Final[dict[str, Callable[[Variable], Variable]]] = {"lower": _floor, "higher": _ceil, "nearest": _nearest}


def quantile(
    x: TensorLike,
    q: TensorLike,
    axis: Integers | None = None,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> Variable:
    """The value below which a share q of the elements over axes (all by default) lies.

    Args:
        q: a number or an array in [0, 1]; what a variable holds outside is taken for the nearer end.
        method: how values between two elements are found, by NumPy's names: "linear", "lower", "higher", "midpoint",
            "nearest", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf",
            "inverted_cdf", "averaged_inverted_cdf" or "closest_observation".
        weights: how much each element counts, none below 0: of the shape of x, or of its lengths along `axis`; with
            "inverted_cdf" alone.
    Shapes:
        q (k...), x (..., n, ...) -> (k..., ... ...)
    Dtypes:
        float64 for bool and integers; those of x for "lower", "higher", "nearest", "inverted_cdf" and
        "closest_observation". An array q promotes.
    Raises:
        InputError: another method, weights with another one than theirs, or a number q outside [0, 1].
        DtypeError: x is complex.
    Source:
        numpy.quantile
    """
    return _quantile("quantile", x, q, axis, method, keepdims, 1.0, weights)


def percentile(
    x: TensorLike,
    q: TensorLike,
    axis: Integers | None = None,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> Variable:
    """The value below which q percent of the elements over axes (all by default) lie.

    Args:
        q: a number or an array in [0, 100].
        method, weights: as in `tg.quantile`.
    Source:
        numpy.percentile
    """
    return _quantile("percentile", x, q, axis, method, keepdims, 100.0, weights)


def median(x: TensorLike, axis: Integers | None = None, keepdims: bool = False) -> Variable:
    """The middle element over axes (all by default), the mean of two where the number is even; NaN for no elements.

    Source:
        numpy.median
    """
    return _quantile("median", x, 0.5, axis, MEAN, keepdims, 1.0)


def nanquantile(
    x: TensorLike,
    q: TensorLike,
    axis: Integers | None = None,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> Variable:
    """The value below which a share q of the elements that are not NaN lies; NaN if there are none.

    Args:
        q, method, weights: as in `tg.quantile`.
    Source:
        numpy.nanquantile
    """
    return _quantile("nanquantile", x, q, axis, method, keepdims, 1.0, weights, of_present=True)


def nanpercentile(
    x: TensorLike,
    q: TensorLike,
    axis: Integers | None = None,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> Variable:
    """The value below which q percent of the elements that are not NaN lie; NaN if there are none.

    Args:
        q, method, weights: as in `tg.percentile`.
    Source:
        numpy.nanpercentile
    """
    return _quantile("nanpercentile", x, q, axis, method, keepdims, 100.0, weights, of_present=True)


def nanmedian(x: TensorLike, axis: Integers | None = None, keepdims: bool = False) -> Variable:
    """The middle one of the elements that are not NaN over axes (all by default); NaN if there are none.

    Source:
        numpy.nanmedian
    """
    return _quantile("nanmedian", x, 0.5, axis, MEAN, keepdims, 1.0, of_present=True)


def _quantile(
    what: str,
    x: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    whole: float,
    weights: Any = None,
    of_present: bool = False,
) -> Variable:
    x = as_variable(x)
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"{what}: found {x.type.dtype}, needed a real dtype"))
    if method not in METHODS and method is not MEAN:
        raise InputError(message(f"{what}: method: found {method!r}, needed one of {', '.join(METHODS)}"))
    if weights is not None and method != "inverted_cdf":
        raise InputError(message(f"{what}: method: found {method!r} beside weights, needed 'inverted_cdf'"))
    share = as_variable(q)
    if isinstance(share, Constant) and not bool(np.all((share.data >= 0) & (share.data <= whole))):
        raise InputError(message(f"{what}: q: found {q!r}, needed values in [0, {whole:g}]"))
    share = cast_variable(share, "float64")
    axes = axes_from_end(axis, x.type.ndim, what)
    if not is_inexact(x.type.dtype) and method not in ELEMENTS:
        x = cast_variable(x, "float64")
    if isinstance(q, list | tuple | np.ndarray) or share.type.ndim:
        dtype = promoted([x, as_variable(q)])[1] if method not in ELEMENTS else x.type.dtype
        x = cast_variable(x, dtype)
    share = divide(share, whole) if whole != 1 else share
    rank, inexact = share.type.ndim, is_inexact(x.type.dtype)
    if weights is not None:
        beside = broadcast_to(weights_beside(x, axis, as_variable(weights), what), x.shape)
        if of_present:
            beside = where(isnan(x), numpy_dtype(beside.type.dtype).type(0), beside)
        quantiles = _weighted(_rows(x, axes), _rows(beside, axes), share)
        bad = isnan(x) if inexact else None
    else:
        rows: Variable = Sort(-1)(_rows(x, axes))
        quantiles = _among_present(rows, share, method) if of_present and inexact else _between(rows, share, method)
        bad = None
    if bad is not None:
        of_rows = _rows(bad, axes)
        absent = reduce_all(of_rows, -1) if of_present else reduce_any(of_rows, -1)
        nan = numpy_dtype(quantiles.type.dtype).type(np.nan)
        quantiles = where(expand_dims_at(absent, tuple(range(-rank, 0))) if rank else absent, nan, quantiles)
    if rank:
        n = quantiles.type.ndim
        quantiles = transpose(quantiles, (*range(n - rank, n), *range(n - rank)))
    return expand_dims_at(quantiles, axes) if keepdims and axes else quantiles


def _rows(x: Variable, axes: tuple[int, ...]) -> Variable:
    """The array with axes joined into the last one."""
    others = [k for k in range(-x.type.ndim, 0) if k not in axes]
    moved = transpose(x, (*others, *axes))
    if len(axes) == 1:
        return moved
    return reshape(moved, (*(x.shape[k] for k in others), product(tuple(x.shape[k] for k in axes))))


def _weighted(rows: Variable, weights: Variable, share: Variable) -> Variable:
    """The first elements in order at which the sum of the weights so far reaches a share of their sum."""
    order = argsort(rows, stable=True)
    rows, weights = (take_along_axis(v, order, -1) for v in (rows, weights))
    reached = cumsum(weights, -1, "float64")
    total = take(reached, as_size_variable(rows.shape[-1]) - 1, -1, mode="clip")
    reached = divide(reached, expand_dims_at(total, (-1,)))
    reached = where(equal(reached, 0.0), -1.0, reached)  # a share of 0 is reached by the first weight that is not 0
    flat = reshape(share, (-1,))
    place = sum(cast_variable(less(expand_dims_at(reached, (-2,)), expand_dims_at(flat, (-1,))), "int64"), -1)
    place = minimum(place, as_size_variable(rows.shape[-1]) - 1)
    return reshape(take_along_axis(rows, place, -1, mode="clip"), (*rows.shape[:-1], *share.shape))


def _between(rows: Variable, share: Variable, method: str) -> Variable:
    """The elements of sorted rows at shares of their length; the axes of the shares come last."""
    n = cast_variable(as_size_variable(rows.shape[-1]), "float64")
    place = _place(n, share, method)
    low = _floor(place)

    def at(k: Variable) -> Variable:
        return take(rows, cast_variable(k, "int64"), -1, mode="promise")

    y = _combined(rows, place, low, at, method)
    return _without_nan(rows, y, share.type.ndim) if is_inexact(rows.type.dtype) else y


def _among_present(rows: Variable, share: Variable, method: str) -> Variable:
    """The same of the elements that are not NaN, which come first in sorted rows."""
    count = expand_dims_at(sum(cast_variable(logical_not(isnan(rows)), "float64"), -1), (-1,))
    place = _place(count, reshape(share, (-1,)), method)
    low = _floor(place)

    def at(k: Variable) -> Variable:
        inside = where(less(k, count), k, count - 1.0)
        return take_along_axis(rows, cast_variable(where(less(inside, 0.0), 0.0, inside), "int64"), -1, mode="clip")

    y = _combined(rows, place, low, at, method)
    y = where(equal(count, 0.0), numpy_dtype(y.type.dtype).type(np.nan), y)
    return reshape(y, (*rows.shape[:-1], *share.shape))


def _combined(
    rows: Variable, place: Variable, low: Variable, at: Callable[[Variable], Variable], method: str
) -> Variable:
    first = at(low)
    if method in ELEMENTS:
        return first
    weight = subtract(place, low)
    if method == "midpoint":
        weight = where(greater(weight, 0.0), 0.5, 0.0)
    first, second = widened(first), widened(at(low + 1.0))
    mixed = _mixed(first, second, cast_variable(weight, first.type.dtype))
    if method is MEAN:
        infinite = logical_and(logical_or(isinf(first), isinf(second)), greater(weight, 0.0))
        mixed = where(infinite, add(first, second), mixed)
    return cast_variable(mixed, rows.type.dtype)


def _place(n: Variable, share: Variable, method: str) -> Variable:
    """End of a share of n elements, as a position that may lie between two."""
    if method in STEPS:
        return _step(subtract(multiply(n, share), 1.0), method)
    if method in OFFSETS and method not in ("linear", MEAN):
        first, last = OFFSETS[method]
        place = subtract(add(multiply(n, share), add(first, multiply(share, 1 - first - last))), 1.0)
        place = where(less(place, 0.0), 0.0, place)
    else:
        place = multiply(n - 1.0, share)
    return ROUNDED[method](place) if method in ROUNDED else place


def _step(place: Variable, method: str) -> Variable:
    """The end of a share by a discontinuous definition: an element, or the middle between two."""
    place = subtract(place, 0.5) if method == "closest_observation" else place
    low = _floor(place)
    at_element = equal(place, low)
    if method == "averaged_inverted_cdf":
        place = where(at_element, low + 0.5, low + 1.0)
    else:
        at_element = logical_and(at_element, equal(low % 2.0, 1.0)) if method == "closest_observation" else at_element
        place = where(at_element, low, low + 1.0)
    return where(less(place, 0.0), 0.0, place)


def _mixed(a: Variable, b: Variable, weight: Variable) -> Variable:
    """A value between two, from the nearer one; equal ones stay, infinities too."""
    step = subtract(b, a)
    kind = numpy_dtype(a.type.dtype).type
    near = add(a, multiply(step, weight))
    far = subtract(b, multiply(step, subtract(kind(1), weight)))
    alone = where(equal(weight, kind(0)), a, where(greater_equal(weight, kind(0.5)), far, near))
    return where(equal(a, b), a, alone)


def _without_nan(rows: Variable, quantiles: Variable, rank: int) -> Variable:
    """The result, or NaN where a row has one, or no elements."""
    nan = numpy_dtype(rows.type.dtype).type(np.nan)
    last = take(rows, as_size_variable(rows.shape[-1]) - 1, -1, mode="promise")
    bad = isnan(last)
    if not (isinstance(rows.shape[-1], int) and rows.shape[-1] > 0):
        bad = bad | equal(as_size_variable(rows.shape[-1]), 0)
    return where(expand_dims_at(bad, tuple(range(-rank, 0))) if rank else bad, nan, quantiles)


FAMILY = Family("quantiles", functions=(quantile, percentile, median, nanquantile, nanpercentile, nanmedian))
