"""Functions of `tg.signal` that convolve and correlate arrays of any rank, in SciPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.creation import full, iota
from tg.ops.elementwise.arithmetic import add as add_values
from tg.ops.elementwise.arithmetic import minimum as least
from tg.ops.elementwise.arithmetic import remainder, subtract
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.shape import concatenate
from tg.ops.signal.lagged_products import (
    METHODS,
    MODES,
    WAYS,
    Part,
    by_transforms,
    direct,
    full_length,
    in_dtype,
    operands_of,
    ordered,
)
from tg.ops.signal.segments import need_one_of
from tg.types.lengths import add, floor_divide, maximum, minimum
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import axes_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import Boundary, ConvolutionMethod, ConvolutionMode
    from tg.types.lengths import Length
    from tg.variables.like import Integers, TensorLike

    Size = int | Length


def _part(mode: str, n: Size, m: Size) -> Part:
    """The part of a full result of two lengths that a mode gives."""
    if mode == "full":
        return Part(0, full_length(n, m))
    if mode == "same":
        return Part(floor_divide(subtract_lengths(m, 1), 2), n)
    shorter = minimum(n, m)
    return Part(subtract_lengths(shorter, 1), add(subtract_lengths(maximum(n, m), shorter), 1))


def _products(what: str, in1: Any, in2: Any, mode: str, method: str, *, turned: bool) -> Variable:
    need_one_of(what, "mode", mode, MODES)
    way = WAYS[need_one_of(what, "method", method, METHODS)]
    x, w, dtype = operands_of(what, in1, in2)
    if mode == "valid":
        x = ordered(what, x, w)
    parts = [_part(mode, n, m) for n, m in zip(x.shape, w.shape, strict=True)]
    return in_dtype(way(x, w, parts, turned=turned), dtype)


# --- functions ----------------------------------------------------------------------------------------------------


def convolve(
    in1: TensorLike, in2: TensorLike, mode: ConvolutionMode = "full", method: ConvolutionMethod = "auto"
) -> Variable:
    """The convolution of two arrays of one rank: y[j] is the sum over k of in1[j - k] in2[k], along all axes.

    Args:
        mode: "full" gives every place at which the arrays meet, "same" those in the middle, as many as `in1` has
            entries, "valid" those at which the shorter one lies inside the longer one.
        method: "direct" sums products; "fft" multiplies transforms, whose error is relative to the largest entries;
            "auto" takes that with fewer operations, which lengths known at run time only decide there. Integers are
            summed directly unless "fft" is said, which rounds.
    Shapes:
        in1 (n, ...), in2 (m, ...) -> full (n + m - 1, ...), same (n, ...), valid (max - min + 1, ...)
    Dtypes:
        that of the operands together; of truth values bool.
    Raises:
        InputError: an unknown mode or method.
        ShapeError: other ranks, an axis of no entries, or for "valid" arrays of which neither is the longer one.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.signal.convolve(x, [1.0, 0.5]).eval({x: [2.0, 0.0, 4.0]})
        array([2., 1., 4., 2.])
    Source:
        scipy.signal.convolve
    """
    return _products("convolve", in1, in2, mode, method, turned=True)


def correlate(
    in1: TensorLike, in2: TensorLike, mode: ConvolutionMode = "full", method: ConvolutionMethod = "auto"
) -> Variable:
    """The correlation of two arrays of one rank: the convolution with the conjugate of `in2`, read from its end.

    Shapes, Raises:
        as `convolve`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.signal.correlate(x, [0.0, 1.0, 0.5], mode="same").eval({x: [2.0, 0.0, 4.0]})
        array([2., 2., 4.])
    Source:
        scipy.signal.correlate
    """
    return _products("correlate", in1, in2, mode, method, turned=False)


def correlation_lags(in1_len: Any, in2_len: Any, mode: ConvolutionMode = "full") -> Variable:
    """The lag of each entry of a correlation of vectors: how far in2 is moved there.

    Of "same" these are SciPy's, whose middle is a step further on for some even lengths than that of its `correlate`.

    Args:
        in1_len, in2_len: the lengths, ints or `x.shape[0]`.
    Source:
        scipy.signal.correlation_lags
    """
    need_one_of("correlation_lags", "mode", mode, MODES)
    whole = full_length(in1_len, in2_len)
    if mode == "full":
        start, size = subtract_lengths(1, in2_len), whole
    elif mode == "same":
        middle = subtract_lengths(floor_divide(whole, 2), floor_divide(in1_len, 2))
        start, size = subtract_lengths(add(middle, 1), in2_len), in1_len
    else:
        start, size = minimum(subtract_lengths(in1_len, in2_len), 0), _part(mode, in1_len, in2_len).size
    return subtract(iota(size), subtract_lengths(0, start))


def fftconvolve(
    in1: TensorLike, in2: TensorLike, mode: ConvolutionMode = "full", axes: Integers | None = None
) -> Variable:
    """The convolution of two arrays by Fourier transforms, along some axes; the others are batches, and broadcast.

    Args:
        axes: all by default.
    Raises:
        InputError: an unknown mode.
        ShapeError: other ranks, or no such axis.
    Source:
        scipy.signal.fftconvolve
    """
    need_one_of("fftconvolve", "mode", mode, MODES)
    x, w, dtype = operands_of("fftconvolve", in1, in2)
    places = range(-x.type.ndim, 0) if axes is None else axes_from_end(axes, x.type.ndim, "fftconvolve")
    if mode == "valid" and axes is None:
        x = ordered("fftconvolve", x, w)
    parts = [_part(mode, x.shape[k], w.shape[k]) for k in places]
    return in_dtype(by_transforms(x, w, parts, turned=True, axes=tuple(places)), dtype)


BOUNDARIES = ("fill", "wrap", "symm")


def _continued(x: Variable, axis: int, width: Size, boundary: str, fill: Any) -> Variable:
    """An axis that goes on by a width at both ends, which may be a length known at run time only."""
    n = x.shape[axis]
    if boundary == "fill":
        shape = list(x.shape)
        shape[axis] = width
        border = full(shape, fill, dtype=x.type.dtype)
        return concatenate([border, x, border], axis)
    places = subtract(iota(add(n, add(width, width))), as_size_variable(width))
    size = as_size_variable(n)
    if boundary == "wrap":
        return take(x, remainder(places, size), axis, mode="clip")
    mirrored = remainder(places, add_values(size, size))
    return take(x, least(mirrored, subtract(add_values(size, size), add_values(mirrored, 1))), axis, mode="clip")


def _of_matrices(what: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, *, turned: bool) -> Variable:
    """Products of matrices, of which the first goes on beyond its border."""
    need_one_of(what, "mode", mode, MODES)
    need_one_of(what, "boundary", boundary, BOUNDARIES)
    x, w, dtype = operands_of(what, in1, in2)
    if x.type.ndim != 2:
        raise ShapeError(message(f"{what}: found {x.type}, needed matrices"))
    if mode == "valid":
        x = ordered(what, x, w)
    parts = [_part(mode, n, m) for n, m in zip(x.shape, w.shape, strict=True)]
    if mode == "same" and not turned:  # SciPy's middle of an even length is a step further on in this function alone
        parts = [Part(floor_divide(m, 2), part.size) for part, m in zip(parts, w.shape, strict=True)]
    if mode != "valid":
        widths = [subtract_lengths(m, 1) for m in w.shape]
        for axis, width in zip((-2, -1), widths, strict=True):
            x = _continued(x, axis, width, boundary, fillvalue)
        parts = [Part(add(part.start, k), part.size) for part, k in zip(parts, widths, strict=True)]
    return in_dtype(direct(x, w, parts, turned=turned), dtype)


def convolve2d(
    in1: TensorLike, in2: TensorLike, mode: ConvolutionMode = "full", boundary: Boundary = "fill", fillvalue: Any = 0
) -> Variable:
    """The convolution of two matrices, of which the first goes on beyond its border.

    Args:
        boundary: "fill" with `fillvalue`, "wrap" round, or "symm" (mirrored, the border twice).
    Raises:
        InputError: an unknown mode or boundary.
        ShapeError: as `convolve`, and arrays that are no matrices.
    Source:
        scipy.signal.convolve2d
    """
    return _of_matrices("convolve2d", in1, in2, mode, boundary, fillvalue, turned=True)


def correlate2d(
    in1: TensorLike, in2: TensorLike, mode: ConvolutionMode = "full", boundary: Boundary = "fill", fillvalue: Any = 0
) -> Variable:
    """The correlation of two matrices, of which the first goes on beyond its border: as `convolve2d`.

    Source:
        scipy.signal.correlate2d
    """
    return _of_matrices("correlate2d", in1, in2, mode, boundary, fillvalue, turned=False)


FAMILY = Family(
    "signal/convolving",
    functions=(convolve, correlate, correlation_lags, fftconvolve, convolve2d, correlate2d),
    module="signal",
)
