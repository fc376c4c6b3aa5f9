"""Counts of values: how often each whole number occurs, and how many elements fall into each bin."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DomainError, DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import linspace, ones_like, zeros
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, isfinite, less_equal, logical_and, where
from tg.ops.family import Family
from tg.ops.indexing import Scatter, slice_axis, wrap_index
from tg.ops.reduction import sum, total_max, total_min
from tg.ops.shape import expand_dims_at, ravel, reshape, with_lengths
from tg.ops.sorting import searchsorted
from tg.types.dtypes import accumulator, is_complex, is_inexact, is_integer, numpy_dtype
from tg.types.lengths import add as add_lengths
from tg.types.lengths import multiply as multiply_lengths
from tg.variables.conversion import as_variable, plain_integer, promoted

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

TOO_LONG: Final = 2**62  # no array is longer, so that one of this length is refused and lengths do not wrap around


def bincount(x: TensorLike, weights: TensorLike | None = None, minlength: Any = 0, *, size: Any = None) -> Variable:
    """The counts of the numbers 0, 1, ..., or the sums of the weights that stand beside each.

    Args:
        x: a vector of integers that are at least 0.
        minlength: how many numbers to count at least.
        size: exactly how many, whatever x holds: larger numbers are left out. Without it, the result ends with the
            largest number, which is known at run time only.
    Shapes:
        x (n), weights (n) -> (max(minlength, max(x) + 1))
    Dtypes:
        int64; that of the weights, float64 if they are integers
    Raises:
        BoundsError: a number is negative.
    Source:
        numpy.bincount
    """
    x = as_variable(x)
    if x.type.ndim != 1 or not (is_integer(x.type.dtype) or x.type.dtype == "bool"):
        raise DtypeError(message(f"bincount: found {x.type}, needed a vector of integers"))
    if isinstance(minlength, int | np.integer) and minlength < 0:
        raise ShapeError(message(f"bincount: minlength: found {minlength}, needed at least 0"))
    n: Any = size
    if size is None:
        largest = minimum(_as_signed(total_max(x)), TOO_LONG)  # of no elements it is no number that occurs
        count = where(equal(as_size_variable(x.size), 0), 0, largest + 1)
        n = maximum(count, cast_variable(as_size_variable(minlength), "int64"))
    beyond = add_lengths(n, 1) if isinstance(n, int) else n + 1
    limited = minimum(_as_signed(x), cast_variable(as_size_variable(n), "int64"))
    counted = wrap_index(cast_variable(limited, "uint64"), beyond)  # where a negative number is larger than any length
    amounts = _amounts("bincount", x, weights)
    if weights is not None and not is_inexact(amounts.type.dtype):
        amounts = cast_variable(amounts, "float64")
    return _added(counted, amounts, n, beyond)


def _as_signed(x: Variable) -> Variable:
    """As int64, with what is too large for it at its limit."""
    return cast_variable(minimum(x, np.iinfo(np.int64).max) if x.type.dtype == "uint64" else x, "int64")


def _amounts(what: str, x: Variable, weights: Any) -> Variable:
    """The amount that each element adds to its count."""
    if weights is None:
        return ones_like(x, dtype="int64")
    w = as_variable(weights)
    w = cast_variable(w, accumulator(w.type.dtype))
    if w.type.ndim != x.type.ndim:
        raise ShapeError(message(f"{what}: weights: found {w.type} for {x.type}, needed one for each element"))
    return with_lengths(w, dict(zip(range(-x.type.ndim, 0), x.shape, strict=True)), f"{what}: weights")


def _added(places: Variable, amounts: Variable, n: Any, beyond: Any) -> Variable:
    """The sums of the amounts by place; what belongs to the place beyond the n that count is dropped."""
    sums: Variable = Scatter((-1,), add)(zeros((beyond,), dtype=amounts.type.dtype), amounts, places)
    return slice_axis(sums, -1, 0, n)


def histogram_bin_edges(x: TensorLike, bins: Any = 10, range: Any = None) -> Variable:
    """The edges of bins: given ones, or those of `bins` equal bins over a range.

    Args:
        bins: their number, an integer; or the edges, ascending.
        range: the lower and the upper end, from the least to the largest element by default.
    Raises:
        DomainError: edges or a range that are known and do not ascend; ends that are not finite.
    Source:
        numpy.histogram_bin_edges
    """
    x = as_variable(x)
    if isinstance(bins, str):
        raise InputError(message(f"histogram: bins: found {bins!r}, needed a number or edges"))
    bins = plain_integer(bins)
    if not isinstance(bins, int):
        edges = as_variable(bins)
        if edges.type.ndim != 1:
            raise ShapeError(message(f"histogram: bins: found {edges.type}, needed a number or a vector of edges"))
        if isinstance(edges, Constant) and (edges.data[1:] < edges.data[:-1]).any():
            raise DomainError(message("histogram: bins: found edges that do not ascend, needed them in order"))
        return edges
    if bins < 1:
        raise InputError(message(f"histogram: bins: found {bins}, needed at least 1"))
    low, high = _ends(x, range)
    return linspace(low, high, int(bins) + 1)  # type: ignore[no-any-return]


def _ends(x: Variable, bounds: Any) -> tuple[Variable, Variable]:
    """The ends of the range; a single value gets a width of 1, and no elements the range from 0 to 1."""
    if bounds is None:
        kind = x.type.dtype if is_inexact(x.type.dtype) else "float64"
        none = equal(as_size_variable(x.size), 0)
        low, high = (cast_variable(v(x), kind) for v in (total_min, total_max))
        low, high = where(none, numpy_dtype(kind).type(0), low), where(none, numpy_dtype(kind).type(1), high)
    else:
        if all(isinstance(v, int | float) for v in bounds) and not bounds[0] <= bounds[1]:
            raise DomainError(message(f"histogram: range: found {bounds!r}, needed the lower end first"))
        (low, high, _), kind = promoted([*bounds, x])
        kind = kind if is_inexact(kind) else "float64"
        low, high = (cast_variable(v, kind) for v in (low, high))
    if not (isinstance(low, Constant) and isinstance(high, Constant)):
        fine = logical_and(isfinite(low), isfinite(high))
        hint = "range=(low, high) leaves NaN and infinities out"
        text = "histogram: found ends that are not finite, needed finite ones"
        low = required(low, fine, (), Descriptor("DomainError", text, hint))
    half = where(equal(low, high), numpy_dtype(kind).type(0.5), numpy_dtype(kind).type(0))
    return subtract(low, half), add(high, half)


def histogram(
    x: TensorLike, bins: Any = 10, range: Any = None, density: bool = False, weights: TensorLike | None = None
) -> tuple[Variable, Variable]:
    """The number of elements in each bin, and the edges: edges[i] <= x < edges[i + 1], the last bin with its end.

    What lies outside, and NaN, is left out.

    Args:
        bins, range: as in `tg.histogram_bin_edges`.
        density: whether to give densities, whose integral is 1, in place of counts.
        weights: what each element counts.
    Shapes:
        x (...) -> (k), (k + 1)
    Dtypes:
        counts are int64, with weights of their accumulator dtype; densities float64
    Raises:
        DtypeError: x is complex.
    Source:
        numpy.histogram
    """
    x = as_variable(x)
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"histogram: found {x.type.dtype}, needed a real dtype"))
    edges = histogram_bin_edges(x, bins, range)
    n = add_lengths(edges.shape[0], -1)
    amounts = ravel(_amounts("histogram", x, weights))
    (flat, ends), dtype = promoted([ravel(x), edges])
    flat, ends = cast_variable(flat, dtype), cast_variable(ends, dtype)
    first, last = ends[0], ends[-1]
    place = minimum(searchsorted(ends, flat, "right") - 1, as_size_variable(n) - 1)
    inside = logical_and(greater_equal(flat, first), less_equal(flat, last))
    counts = _added(wrap_index(where(inside, place, as_size_variable(n)), edges.shape[0]), amounts, n, edges.shape[0])
    if density:
        counts = cast_variable(counts, "float64")
        counts = divide(divide(counts, sum(counts)), subtract(edges[1:], edges[:-1]))
    return counts, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: TensorLike | None = None
) -> tuple[Variable, list[Variable]]:
    """The number of points in each bin of several coordinates, and the edges along each; bins as in `tg.histogram`.

    Args:
        sample: a matrix with a row for each point, or a sequence of vectors, one for each coordinate.
        bins: for all coordinates, or a sequence of such, one for each.
        range: a sequence of ends, or of None, one for each coordinate.
        density: whether to give densities, whose integral is 1, in place of counts.
        weights: what each point counts.
    Shapes:
        sample (n, d) -> (k1, ..., kd), [(k1 + 1), ..., (kd + 1)]
    Dtypes:
        float64
    Raises:
        ShapeError: the sample is no matrix of a known number of columns.
        InputError: there are other numbers of bins or ranges than coordinates.
    Source:
        numpy.histogramdd
    """
    points = _coordinates(sample)
    d = len(points)
    several = isinstance(bins, list | tuple)
    each = list(bins) if several else [bins] * d
    ends = [None] * d if range is None else list(range)
    if len(each) != d or len(ends) != d:
        raise InputError(message(f"histogramdd: found {len(each)} bins and {len(ends)} ranges, needed {d} of each"))
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(points, each, ends, strict=True)]
    total: Any = 1
    place: Any = None
    inside: Any = None
    for x, line in zip(points, edges, strict=True):
        (v, e), dtype = promoted([x, line])
        v, e = cast_variable(v, dtype), cast_variable(e, dtype)
        n = add_lengths(line.shape[0], -1)
        own = maximum(minimum(searchsorted(e, v, "right") - 1, as_size_variable(n) - 1), 0)
        there = logical_and(greater_equal(v, e[0]), less_equal(v, e[-1]))
        place = own if place is None else add(multiply(place, as_size_variable(n)), own)
        inside = there if inside is None else logical_and(inside, there)
        total = multiply_lengths(total, n)
    beyond = add_lengths(total, 1)
    amounts = cast_variable(_amounts("histogramdd", points[0], weights), "float64")
    counts = _added(wrap_index(where(inside, place, as_size_variable(total)), beyond), amounts, total, beyond)
    counts = reshape(counts, tuple(add_lengths(line.shape[0], -1) for line in edges))
    if density:
        counts = divide(counts, sum(counts))
        for k, line in enumerate(edges):
            widths = subtract(line[1:], line[:-1])
            behind = tuple(j for j in builtins.range(-d, 0) if j != k - d)
            counts = divide(counts, expand_dims_at(widths, behind) if behind else widths)
    return counts, edges


def _coordinates(sample: Any) -> list[Variable]:
    """A vector for each coordinate."""
    if isinstance(sample, list | tuple):
        return [as_variable(v) for v in sample]
    points = as_variable(sample)
    if points.type.ndim == 1:
        return [points]
    if points.type.ndim != 2 or points.type.shape[1] is None:
        hint = "a list of vectors, one for each coordinate, has a known number of them"
        text = f"histogramdd: found {points.type}, needed a matrix of a known number of columns"
        raise ShapeError(message(text, hint=hint))
    return [points[:, k] for k in builtins.range(points.type.shape[1])]


def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: TensorLike | None = None,
) -> tuple[Variable, Variable, Variable]:
    """The number of points in each bin of two coordinates, and the edges along both.

    Args:
        bins: for both coordinates, or a list of two.
        range, density, weights: as in `tg.histogramdd`.
    Shapes:
        x (n), y (n) -> (k, m), (k + 1), (m + 1)
    Dtypes:
        float64
    Source:
        numpy.histogram2d
    """
    pair = isinstance(bins, list | tuple) and len(bins) == 2
    counts, edges = histogramdd([x, y], bins if pair else [bins, bins], range, density, weights)
    return counts, edges[0], edges[1]


FAMILY = Family("histogram", functions=(bincount, histogram_bin_edges, histogram, histogramdd, histogram2d))
