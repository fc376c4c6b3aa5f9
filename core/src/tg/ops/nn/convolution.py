"""Convolutions of one, two or three axes, and their transposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal
from tg.ops.family import Family
from tg.ops.nn.convolved import LEAD, Convolution, convolution, swapped
from tg.ops.nn.windows import fitting, images_of, numbers, padding_pairs, windows_of
from tg.ops.shape import expand_dims_at, reshape
from tg.types.lengths import Length, same
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, plain_integer, promoted

if TYPE_CHECKING:
    from tg.types.choices import ImageLayout, SequenceLayout, VolumeLayout
    from tg.variables.like import Integers, PaddingLike, TensorLike

    Array = np.ndarray[Any, Any]
    Size = int | Length


def operands_of(what: str, x: Variable, w: Any, bias: Any) -> tuple[Variable, Variable, Variable | None]:
    """Images, weights and a bias in one dtype.

    Raises:
        DtypeError: truth values.
        ShapeError: weights of another rank than the images.
    """
    w = as_variable(w)
    if w.type.ndim != x.type.ndim:
        raise ShapeError(
            message(f"{what}: ranks: the weights have {w.type.ndim} axes, needed {x.type.ndim}", ("w", repr(w)))
        )
    operands = [x, w] if bias is None else [x, w, as_variable(bias)]
    operands, dtype = promoted(operands)
    if dtype == "bool":
        raise DtypeError(message(f"{what}: found truth values, needed numbers"))
    values = [cast_variable(v, dtype) for v in operands]
    return values[0], values[1], values[2] if bias is not None else None


def with_bias(what: str, y: Variable, bias: Variable | None) -> Variable:
    """y with a number for each channel added."""
    if bias is None:
        return y
    if bias.type.ndim != 1 or (type(bias.type.shape[0]) is int and not same(bias.shape[0], y.shape[1])):
        shape = tuple(bias.type.shape)
        raise ShapeError(message(f"{what}: bias: found the shape {shape}, needed ({y.type.shape[1]},): the channels"))
    bias = required_length(what, bias, y.shape[1])
    return add(y, expand_dims_at(bias, tuple(range(2 - y.type.ndim, 0))))


def required_length(what: str, v: Variable, n: Size) -> Variable:
    """A vector, of which it is made sure that it has a number for each channel."""
    if same(v.shape[0], n):
        return v
    actual, needed = as_size_variable(v.shape[0]), as_size_variable(n)
    text = f"{what}: bias: found {{0}} numbers, needed {{1}}: one for each channel"
    return required(v, equal(actual, needed), (actual, needed), Descriptor("ShapeError", text))


def same_channels(what: str, x: Variable, w: Variable, groups: Any, *, inner: int) -> tuple[int, Variable]:
    """The number of groups, and images of which it is made sure that their channels are those of the weights.

    Args:
        inner: the axis of the weights along which their channels lie: 1 of one group, 0 of all groups together.
    """
    count = plain_integer(groups)
    if type(count) is not int or count < 1:
        raise InputError(message(f"{what}: groups: found {groups!r}, needed an integer of at least 1"))
    outer = w.shape[0]
    if type(outer) is int and outer % count:
        text = f"{what}: groups: found {count} for weights of {outer} outer channels, needed a divisor"
        raise ShapeError(message(text, ("w", repr(w))))
    channels = w.shape[1] if inner else outer
    needed = multiply_lengths(channels, count) if inner else channels
    if same(x.shape[1], needed):
        return count, x
    if type(x.shape[1]) is int and type(needed) is int:
        of_groups = f" in each of {count} groups" if inner and count > 1 else ""
        text = f"{what}: channels: x has {x.shape[1]}, the weights take {channels}{of_groups}"
        hint = "channels are the second axis: layout= says where else they are" if x.shape[-1] == needed else None
        raise ShapeError(message(text, ("x", repr(x)), ("w", repr(w)), hint=hint))
    actual, want = as_size_variable(x.shape[1]), as_size_variable(needed)
    failure = Descriptor("ShapeError", f"{what}: channels: x has {{0}}, the weights take {{1}}")
    return count, required(x, equal(actual, want), (actual, want), failure)


def grouped(v: Variable, axis: int, groups: int, own: Size) -> Variable:
    """An axis of channels as one of groups and one of the channels of each."""
    if groups == 1:
        return expand_dims_at(v, (axis - v.type.ndim - 1,))
    return reshape(v, (*v.shape[:axis], groups, own, *v.shape[axis + 1 :]))


def _convolved(
    what: str, axes: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any, layout: Any
) -> Variable:
    images = images_of(what, x, axes, layout)
    v, w, bias = operands_of(what, images.x, w, bias)
    count, v = same_channels(what, v, w, groups, inner=1)
    windows, unknown = windows_of(what, v.shape[2:], w.shape[2:], stride, padding, dilation)
    v = fitting(what, v, unknown)
    outer = part_of(w.shape[0], count) if count > 1 else w.shape[0]
    y = convolution(
        grouped(v, 1, count, w.shape[1]), grouped(w, 0, count, outer), windows.strides, windows.dilations,
        (1,) * axes, windows.before, windows.sizes,
    )  # fmt: skip
    y = reshape(y, (y.shape[0], w.shape[0], *y.shape[LEAD:]))
    return images.back(with_bias(what, y, bias))


def _transposed(
    what: str,
    axes: int,
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
    layout: Any,
) -> Variable:
    images = images_of(what, x, axes, layout)
    v, w, bias = operands_of(what, images.x, w, bias)
    count, v = same_channels(what, v, w, groups, inner=0)
    strides = numbers(stride, axes, f"{what}: stride", 1)
    dilations = numbers(dilation, axes, f"{what}: dilation", 1)
    more = numbers(output_padding, axes, f"{what}: output_padding", 0)
    pairs = padding_pairs(padding, axes, what)
    if any(m >= max(s, d) for m, s, d in zip(more, strides, dilations, strict=True)):
        text = f"{what}: output_padding: found {output_padding!r}, needed less than the stride or the dilation"
        raise InputError(message(text))
    sizes, unknown = [], []
    for n, k, s, d, m, (a, b) in zip(v.shape[2:], w.shape[2:], strides, dilations, more, pairs, strict=True):
        span = multiply_lengths(subtract_lengths(k, 1), d)
        size = add_lengths(add_lengths(multiply_lengths(subtract_lengths(n, 1), s), span), 1 + m - a - b)
        if type(size) is int and size < 1:
            raise ShapeError(message(f"{what}: padding: found {padding!r}, which leaves a length of {size}"))
        if type(size) is not int:
            unknown.append((as_size_variable(subtract_lengths(size, 1)), as_size_variable(n)))
        sizes.append(size)
    text = f"{what}: padding: found more than is made of a length of {{0}}, needed less"
    for room, length in unknown:
        v = required(v, greater_equal(room, np.int64(0)), (length,), Descriptor("ShapeError", text))
    inner = part_of(w.shape[0], count) if count > 1 else w.shape[0]
    kernel = swapped(grouped(w, 0, count, inner), 1, 2)
    begins = [-a for a, _ in pairs]
    backwards = tuple(-d for d in dilations)
    y = convolution(
        grouped(v, 1, count, inner), kernel, (1,) * axes, backwards, strides, begins, sizes,
    )  # fmt: skip
    y = reshape(y, (y.shape[0], multiply_lengths(w.shape[1], count), *y.shape[LEAD:]))
    return images.back(with_bias(what, y, bias))


def conv1d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    groups: int = 1,
    *,
    layout: SequenceLayout = "NCW",
) -> Variable:
    """The sums of products of weights with the windows of sequences, as `conv2d`.

    Shapes:
        x (n, c, w), or (c, w), w (o, c / groups, kw), bias (o) -> y (n, o, sizes); layout "NWC" has the
        channels of x and y behind
    Raises:
        ShapeError, InputError: as `conv2d`.
    Source:
        torch.nn.functional.conv1d
    """
    return _convolved("conv1d", 1, x, w, bias, stride, padding, dilation, groups, layout)


def conv2d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    groups: int = 1,
    *,
    layout: ImageLayout = "NCHW",
) -> Variable:
    """The sums of products of weights with the windows of images, without flipping the weights.

    Shapes:
        x (n, c, h, w), or (c, h, w), w (o, c / groups, kh, kw), bias (o) -> y (n, o, sizes); layout "NHWC" has the
        channels of x and y behind
    Dtypes:
        promoted to one; 16 bits are added up in 32.
    Args:
        stride, dilation: numbers, one for all axes or one for each.
        padding: zeros around the images: a number, one for each axis, a pair (before, after) for each, "valid" (0), or
            "same", which keeps lengths: half of the window before, the rest behind.
        groups: parts of the channels, each of which has outputs of its own.
    Raises:
        ShapeError: channels or ranks do not fit, or a window is larger than its image.
        InputError: a stride, padding, dilation, layout or number of groups that there is not.
    Example:
        >>> import tg
        >>> x, w = tg.tensor("x", shape=(1, 1, 3, 3)), tg.tensor("w", shape=(1, 1, 2, 2))
        >>> f = tg.function([x, w], tg.nn.conv2d(x, w, padding=1, stride=2))
        >>> f([[[[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]]], [[[[1.0, 10], [100, 1000]]]])
        array([[[[1000., 3200.],
                 [7040., 9865.]]]])
    Source:
        torch.nn.functional.conv2d
    """
    return _convolved("conv2d", 2, x, w, bias, stride, padding, dilation, groups, layout)


def conv3d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    groups: int = 1,
    *,
    layout: VolumeLayout = "NCDHW",
) -> Variable:
    """The sums of products of weights with the windows of volumes, as `conv2d`.

    Shapes:
        x (n, c, d, h, w), or (c, d, h, w), w (o, c / groups, kd, kh, kw), bias (o) -> y (n, o, sizes); layout "NDHWC"
        has the channels of x and y behind
    Raises:
        ShapeError, InputError: as `conv2d`.
    Source:
        torch.nn.functional.conv3d
    """
    return _convolved("conv3d", 3, x, w, bias, stride, padding, dilation, groups, layout)


def conv_transpose1d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    output_padding: PaddingLike = 0,
    groups: int = 1,
    dilation: Integers = 1,
    *,
    layout: SequenceLayout = "NCW",
) -> Variable:
    """The transpose of `conv1d` as a linear map of its images, as `conv_transpose2d`.

    Shapes:
        x (n, c, w), or (c, w), w (c, o / groups, kw), bias (o) -> y (n, o, sizes)
    Raises:
        ShapeError, InputError: as `conv_transpose2d`.
    Source:
        torch.nn.functional.conv_transpose1d
    """
    return _transposed("conv_transpose1d", 1, x, w, bias, stride, padding, output_padding, groups, dilation, layout)


def conv_transpose2d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    output_padding: PaddingLike = 0,
    groups: int = 1,
    dilation: Integers = 1,
    *,
    layout: ImageLayout = "NCHW",
) -> Variable:
    """The transpose of `conv2d` as a linear map of its images: what multiplies cotangents of its results.

    Shapes:
        x (n, c, h, w), or (c, h, w), w (c, o / groups, kh, kw), bias (o) -> y (n, o, sizes), each size
        (length - 1) * stride - 2 * padding + dilation * (window - 1) + output_padding + 1
    Args:
        stride, padding, dilation, groups: those of the convolution whose transpose it is.
        output_padding: so much longer are results, less than the stride or the dilation.
    Raises:
        ShapeError, InputError: as `conv2d`; a padding that leaves nothing, an output_padding that is too large.
    Example:
        >>> import tg
        >>> x, w = tg.tensor("x", shape=(1, 1, 2, 2)), tg.tensor("w", shape=(1, 1, 2, 2))
        >>> f = tg.function([x, w], tg.nn.conv_transpose2d(x, w))
        >>> f([[[[1.0, 2], [3, 4]]]], [[[[1.0, 10], [20, 30]]]])
        array([[[[  1.,  12.,  20.],
                 [ 23., 104., 100.],
                 [ 60., 170., 120.]]]])
    Source:
        torch.nn.functional.conv_transpose2d
    """
    return _transposed("conv_transpose2d", 2, x, w, bias, stride, padding, output_padding, groups, dilation, layout)


def conv_transpose3d(
    x: TensorLike,
    w: TensorLike,
    bias: TensorLike | None = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    output_padding: PaddingLike = 0,
    groups: int = 1,
    dilation: Integers = 1,
    *,
    layout: VolumeLayout = "NCDHW",
) -> Variable:
    """The transpose of `conv3d` as a linear map of its images, as `conv_transpose2d`.

    Shapes:
        x (n, c, d, h, w), or (c, d, h, w), w (c, o / groups, kd, kh, kw), bias (o) -> y (n, o, sizes)
    Raises:
        ShapeError, InputError: as `conv_transpose2d`.
    Source:
        torch.nn.functional.conv_transpose3d
    """
    return _transposed("conv_transpose3d", 3, x, w, bias, stride, padding, output_padding, groups, dilation, layout)


__all__ = [
    "LEAD", "Convolution", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

FAMILY = Family(
    "nn/convolution",
    ops=(Convolution,),
    functions=(conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d),
    module="nn",
)
