"""Pooling: one number for each window of an image, its largest, its mean or a norm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.contraction import matmul
from tg.ops.creation import iota, ones
from tg.ops.elementwise.arithmetic import add, divide, floor_divide, maximum, minimum, multiply, power, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, logical_and
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.nn.convolved import convolution
from tg.ops.nn.max_pool import MaxPool
from tg.ops.nn.windows import Windows, fitting, images_of, numbers, windows_of
from tg.ops.places import take_along_axis
from tg.ops.reduction import argmax
from tg.ops.shape import expand_dims_at, reshape, squeeze, swapaxes
from tg.types.dtypes import is_inexact, numpy_dtype
from tg.types.lengths import Length
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import multiply as multiply_lengths
from tg.variables.conversion import plain_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.choices import ImageLayout, SequenceLayout, VolumeLayout
    from tg.variables.like import Integers, PaddingLike, TensorLike

    Size = int | Length


def _window(what: str, window: Any, axes: int) -> tuple[int, ...]:
    return numbers(window, axes, f"{what}: window", 1)


def _need_half(what: str, window: tuple[int, ...], windows: Windows, padding: Any) -> None:
    """Refuse a padding in which a window could lie as a whole.

    Raises:
        InputError: more than half of the window.
    """
    widths = zip(window * 2, (*windows.before, *windows.after), strict=True)
    if padding != "same" and any(type(n) is int and 2 * n > k for k, n in widths):
        raise InputError(message(f"{what}: padding: found {padding!r}, needed at most half of the window {window}"))


def _max_pooled(
    what: str,
    axes: int,
    x: Any,
    window: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
    layout: str,
) -> Any:
    images = images_of(what, x, axes, layout)
    kernel = _window(what, window, axes)
    strides = kernel if stride is None else stride
    windows, unknown = windows_of(what, images.x.shape[2:], kernel, strides, padding, dilation, ceil_mode=ceil_mode)
    _need_half(what, kernel, windows, padding)
    v = fitting(what, images.x, unknown)
    before = tuple(b for b in windows.before if type(b) is int)
    field = tuple(n if type(n) is int else None for n in windows.sizes)
    op = MaxPool(kernel, windows.strides, windows.dilations, before, field)
    y, places = op(v, *(as_size_variable(n) for n in windows.sizes if type(n) is not int))
    return (images.back(y), images.back(places)) if return_indices else images.back(y)


def _summed(x: Variable, windows: Windows, kernel: Sequence[int]) -> Variable:
    """The sums of windows: a convolution of each channel with ones."""
    axes = len(kernel)
    count = multiply_lengths(x.shape[0], x.shape[1])
    flat = reshape(x, (count, 1, 1, *x.shape[2:]))
    kernel_of_ones = ones((1, 1, 1, *kernel), dtype=x.type.dtype)
    y = convolution(
        flat, kernel_of_ones, windows.strides, windows.dilations, (1,) * axes, windows.before, windows.sizes
    )
    return reshape(y, (*x.shape[:2], *y.shape[3:]))


def _averaged(
    what: str,
    axes: int,
    x: Any,
    window: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    layout: str,
) -> Variable:
    images = images_of(what, x, axes, layout)
    v = _floating(images.x)
    kernel = _window(what, window, axes)
    strides = kernel if stride is None else stride
    windows, unknown = windows_of(what, v.shape[2:], kernel, strides, padding, 1, ceil_mode=ceil_mode)
    _need_half(what, kernel, windows, padding)
    v = fitting(what, v, unknown)
    counts_padding = count_include_pad or all(n == 0 for n in (*windows.before, *windows.after))
    return images.back(_means(v, windows, kernel, ceil_mode=ceil_mode, counts_padding=counts_padding))


def _means(v: Variable, windows: Windows, kernel: Sequence[int], *, ceil_mode: bool, counts_padding: bool) -> Variable:
    """The sums of windows over how many entries each has; a window beyond the padding has fewer."""
    total = _summed(v, windows, kernel)
    if counts_padding and not ceil_mode:
        return divide(total, numpy_dtype(v.type.dtype).type(math.prod(kernel)))
    counts: Variable | None = None
    pads = zip(windows.before, windows.after, strict=True)
    for k, (n, size, s, (b, a)) in enumerate(zip(v.shape[2:], windows.sizes, windows.strides, pads, strict=True)):
        least, more = (b, a) if counts_padding else (0, 0)
        first = subtract(multiply(iota(size), np.int64(s)), as_size_variable(b))
        last = minimum(add(first, np.int64(kernel[k])), as_size_variable(add_lengths(n, more)))
        own = subtract(last, maximum(first, as_size_variable(multiply_lengths(least, -1))))
        behind = tuple(range(k - len(kernel) + 1, 0))
        own = expand_dims_at(own, behind) if behind else own
        counts = own if counts is None else multiply(counts, own)
    assert counts is not None
    return divide(total, cast_variable(counts, v.type.dtype))


def _floating(v: Variable) -> Variable:
    return v if is_inexact(v.type.dtype) else cast_variable(v, "float64")


def _normed(what: str, axes: int, x: Any, p: Any, window: Any, stride: Any, ceil_mode: bool, layout: str) -> Variable:
    images = images_of(what, x, axes, layout)
    v = _floating(images.x)
    kernel = _window(what, window, axes)
    strides = kernel if stride is None else stride
    windows, unknown = windows_of(what, v.shape[2:], kernel, strides, 0, 1, ceil_mode=ceil_mode)
    v = fitting(what, v, unknown)
    mean = _means(power(v, p), windows, kernel, ceil_mode=ceil_mode, counts_padding=True)
    total = multiply(mean, numpy_dtype(v.type.dtype).type(math.prod(kernel)))
    return images.back(power(total, 1 / p))


def _sizes_of(what: str, size: Any, lengths: Sequence[Size]) -> list[Size]:
    """The lengths of results: numbers, or None for that of the image."""
    several = tuple(size) if isinstance(size, tuple | list) else (size,) * len(lengths)
    sizes = [n if one is None else plain_integer(one) for one, n in zip(several, lengths, strict=False)]
    if len(several) != len(lengths) or not all(type(n) is Length or (type(n) is int and n >= 1) for n in sizes):
        text = f"{what}: size: found {size!r}, needed a number of at least 1 or None, or one for each axis"
        raise InputError(message(text))
    return sizes


def _spans(n: Size, size: Size) -> tuple[Variable, Variable]:
    """The bounds of the parts of an axis: i * n / size rounded down, and (i + 1) * n / size rounded up."""
    at, whole, parts = iota(size), as_size_variable(n), as_size_variable(size)
    first = floor_divide(multiply(at, whole), parts)
    last = floor_divide(add(multiply(add(at, np.int64(1)), whole), subtract(parts, np.int64(1))), parts)
    return first, last


def _adaptive_means(what: str, axes: int, x: Any, size: Any, layout: str) -> Variable:
    images = images_of(what, x, axes, layout)
    v = _floating(images.x)
    for k, (n, m) in enumerate(zip(v.shape[2:], _sizes_of(what, size, v.shape[2:]), strict=True)):
        first, last = (expand_dims_at(one, (-1,)) for one in _spans(n, m))
        at = iota(n)
        taken = logical_and(greater_equal(at, first), less(at, last))
        share = divide(cast_variable(taken, v.type.dtype), cast_variable(subtract(last, first), v.type.dtype))
        axis = k - axes
        v = _moved(matmul(_moved(v, axis), _moved(share, -2)), axis)
    return images.back(v)


def _moved(v: Variable, axis: int) -> Variable:
    """The axis exchanged with the last one."""
    return v if axis == -1 else swapaxes(v, axis, -1)


def _adaptive_largest(what: str, axes: int, x: Any, size: Any, layout: str) -> Variable:
    images = images_of(what, x, axes, layout)
    v = images.x
    sizes = _sizes_of(what, size, v.shape[2:])
    for k, (n, m) in reversed([*enumerate(zip(v.shape[2:], sizes, strict=True))]):  # the first row has a say first
        first, last = _spans(n, m)
        most = add_lengths(part_of(n, m), 2)
        steps = add(expand_dims_at(first, (-1,)), iota(most))
        at = minimum(steps, expand_dims_at(subtract(last, np.int64(1)), (-1,)))
        axis = k + 2
        windows = take(v, at, axis=axis)  # the parts, then the positions in each
        place = expand_dims_at(argmax(windows, axis=axis + 1), (k + 1 - axes - 1,))
        v = squeeze(take_along_axis(windows, place, axis=axis + 1), axis + 1)
    return images.back(v)


def max_pool1d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    *,
    ceil_mode: bool = False,
    return_indices: bool = False,
    layout: SequenceLayout = "NCW",
) -> Any:
    """The largest element of each window of sequences, as `max_pool2d`.

    Shapes:
        x (n, c, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `max_pool2d`.
    Source:
        torch.nn.functional.max_pool1d
    """
    args = (window, stride, padding, dilation)
    return _max_pooled("max_pool1d", 1, x, *args, ceil_mode, return_indices, layout)


def max_pool2d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    *,
    ceil_mode: bool = False,
    return_indices: bool = False,
    layout: ImageLayout = "NCHW",
) -> Any:
    """The largest element of each window; its gradient goes to the first of equal ones.

    Shapes:
        x (n, c, h, w), or without n -> y (n, c, sizes)
    Args:
        window: its lengths, a number for all axes or one for each; `stride` is the same unless given.
        padding: as of `conv2d`, at most half of the window; what is outside is never the largest.
        ceil_mode: a last window may reach beyond the end.
        return_indices: besides, where each is: its number in C order of the image.
    Raises:
        ShapeError: a window is larger than its image.
        InputError: a window, stride, padding, dilation or layout that there is not.
    Example:
        >>> import tg
        >>> x = tg.tensor("x", shape=(1, 1, 2, 4))
        >>> tg.nn.max_pool2d(x, 2).eval({x: [[[[1.0, 5, 2, 3], [4, 0, 7, 6]]]]})
        array([[[[5., 7.]]]])
    Source:
        torch.nn.functional.max_pool2d
    """
    args = (window, stride, padding, dilation)
    return _max_pooled("max_pool2d", 2, x, *args, ceil_mode, return_indices, layout)


def max_pool3d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    *,
    ceil_mode: bool = False,
    return_indices: bool = False,
    layout: VolumeLayout = "NCDHW",
) -> Any:
    """The largest element of each window of volumes, as `max_pool2d`.

    Shapes:
        x (n, c, d, h, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `max_pool2d`.
    Source:
        torch.nn.functional.max_pool3d
    """
    args = (window, stride, padding, dilation)
    return _max_pooled("max_pool3d", 3, x, *args, ceil_mode, return_indices, layout)


def avg_pool1d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: SequenceLayout = "NCW",
) -> Variable:
    """The mean of each window of sequences, as `avg_pool2d`.

    Shapes:
        x (n, c, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `avg_pool2d`.
    Source:
        torch.nn.functional.avg_pool1d
    """
    return _averaged("avg_pool1d", 1, x, window, stride, padding, ceil_mode, count_include_pad, layout)


def avg_pool2d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: ImageLayout = "NCHW",
) -> Variable:
    """The mean of each window.

    Shapes:
        x (n, c, h, w), or without n -> y (n, c, sizes)
    Args:
        window, stride, padding, ceil_mode: as of `max_pool2d`.
        count_include_pad: whether zeros of the padding count as elements.
    Raises:
        ShapeError, InputError: as `max_pool2d`.
    Example:
        >>> import tg
        >>> x = tg.tensor("x", shape=(1, 1, 2, 4))
        >>> tg.nn.avg_pool2d(x, 2).eval({x: [[[[1.0, 5, 2, 3], [4, 0, 7, 6]]]]})
        array([[[[2.5, 4.5]]]])
    Source:
        torch.nn.functional.avg_pool2d
    """
    return _averaged("avg_pool2d", 2, x, window, stride, padding, ceil_mode, count_include_pad, layout)


def avg_pool3d(
    x: TensorLike,
    window: Integers,
    stride: Integers | None = None,
    padding: PaddingLike = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: VolumeLayout = "NCDHW",
) -> Variable:
    """The mean of each window of volumes, as `avg_pool2d`.

    Shapes:
        x (n, c, d, h, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `avg_pool2d`.
    Source:
        torch.nn.functional.avg_pool3d
    """
    return _averaged("avg_pool3d", 3, x, window, stride, padding, ceil_mode, count_include_pad, layout)


def lp_pool1d(
    x: TensorLike,
    p: float,
    window: Integers,
    stride: Integers | None = None,
    *,
    ceil_mode: bool = False,
    layout: SequenceLayout = "NCW",
) -> Variable:
    """The `lp_pool2d` of windows of sequences.

    Shapes:
        x (n, c, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `avg_pool2d`.
    Source:
        torch.nn.functional.lp_pool1d
    """
    return _normed("lp_pool1d", 1, x, p, window, stride, ceil_mode, layout)


def lp_pool2d(
    x: TensorLike,
    p: float,
    window: Integers,
    stride: Integers | None = None,
    *,
    ceil_mode: bool = False,
    layout: ImageLayout = "NCHW",
) -> Variable:
    """The root of order p of the sum of p-th powers of each window; NaN where that is below 0.

    Shapes:
        x (n, c, h, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `avg_pool2d`.
    Source:
        torch.nn.functional.lp_pool2d
    """
    return _normed("lp_pool2d", 2, x, p, window, stride, ceil_mode, layout)


def lp_pool3d(
    x: TensorLike,
    p: float,
    window: Integers,
    stride: Integers | None = None,
    *,
    ceil_mode: bool = False,
    layout: VolumeLayout = "NCDHW",
) -> Variable:
    """The `lp_pool2d` of windows of volumes.

    Shapes:
        x (n, c, d, h, w), or without n -> y (n, c, sizes)
    Raises:
        ShapeError, InputError: as `avg_pool2d`.
    Source:
        torch.nn.functional.lp_pool3d
    """
    return _normed("lp_pool3d", 3, x, p, window, stride, ceil_mode, layout)


def adaptive_avg_pool1d(x: TensorLike, size: Any, *, layout: SequenceLayout = "NCW") -> Variable:
    """The means of as many parts of each axis as are asked for: i * n / size up to (i + 1) * n / size.

    Shapes:
        x (n, c, w), or without n -> y (n, c, size); None keeps a length, 1 is the mean of all
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_avg_pool1d
    """
    return _adaptive_means("adaptive_avg_pool1d", 1, x, size, layout)


def adaptive_avg_pool2d(x: TensorLike, size: Any, *, layout: ImageLayout = "NCHW") -> Variable:
    """The means of as many parts of each axis as are asked for: i * n / size up to (i + 1) * n / size.

    Shapes:
        x (n, c, h, w), or without n -> y (n, c, size); None keeps a length, 1 is the mean of all
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_avg_pool2d
    """
    return _adaptive_means("adaptive_avg_pool2d", 2, x, size, layout)


def adaptive_avg_pool3d(x: TensorLike, size: Any, *, layout: VolumeLayout = "NCDHW") -> Variable:
    """The means of as many parts of each axis as are asked for: i * n / size up to (i + 1) * n / size.

    Shapes:
        x (n, c, d, h, w), or without n -> y (n, c, size); None keeps a length, 1 is the mean of all
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_avg_pool3d
    """
    return _adaptive_means("adaptive_avg_pool3d", 3, x, size, layout)


def adaptive_max_pool1d(x: TensorLike, size: Any, *, layout: SequenceLayout = "NCW") -> Variable:
    """The largest of as many parts of each axis as are asked for, as `adaptive_avg_pool1d`.

    Shapes:
        x (n, c, w), or without n -> y (n, c, size)
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_max_pool1d
    """
    return _adaptive_largest("adaptive_max_pool1d", 1, x, size, layout)


def adaptive_max_pool2d(x: TensorLike, size: Any, *, layout: ImageLayout = "NCHW") -> Variable:
    """The largest of as many parts of each axis as are asked for, as `adaptive_avg_pool2d`.

    Shapes:
        x (n, c, h, w), or without n -> y (n, c, size)
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_max_pool2d
    """
    return _adaptive_largest("adaptive_max_pool2d", 2, x, size, layout)


def adaptive_max_pool3d(x: TensorLike, size: Any, *, layout: VolumeLayout = "NCDHW") -> Variable:
    """The largest of as many parts of each axis as are asked for, as `adaptive_avg_pool3d`.

    Shapes:
        x (n, c, d, h, w), or without n -> y (n, c, size)
    Raises:
        InputError: a size that is no number of at least 1.
    Source:
        torch.nn.functional.adaptive_max_pool3d
    """
    return _adaptive_largest("adaptive_max_pool3d", 3, x, size, layout)


__all__ = [
    "MaxPool", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

FAMILY = Family(
    "nn/pooling",
    ops=(MaxPool,),
    functions=(
        max_pool1d, max_pool2d, max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d,
        lp_pool1d, lp_pool2d, lp_pool3d, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d,
        adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d,
    ),
    module="nn",
)  # fmt: skip
