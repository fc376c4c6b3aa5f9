"""Images at other resolutions: resized, cut into patches and put together, channels as pixels and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.assumptions import required
from tg.ops.contraction import matmul
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import absolute, add, divide, floor_divide, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, less_equal, logical_and, where
from tg.ops.elementwise.rounding import floor
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.nn.windows import LAYOUTS, added, fitting, gathered, images_of, numbers, places, windows_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, reshape, swapaxes, transpose
from tg.types.dtypes import is_float
from tg.types.lengths import Length, product
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import multiply as multiply_lengths
from tg.variables.conversion import as_variable, known_integer, plain_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.choices import Layout, ResizeConvention, ResizeMethod
    from tg.variables.like import Integers, TensorLike

    Size = int | Length

METHODS: Final = ("nearest", "bilinear", "bicubic")
CONVENTIONS: Final = ("torch", "jax")
SLOPES: Final = {"torch": -0.75, "jax": -0.5}  # of the cubic at 1, where it is no antialiasing, which has -0.5 in both


def resize(
    x: TensorLike,
    size: Any,
    method: ResizeMethod = "nearest",
    *,
    antialias: bool = False,
    convention: ResizeConvention = "torch",
    layout: Layout | None = None,
) -> Variable:
    """Images of other lengths: each new pixel is a mean of those around its place in the old image.

    Shapes:
        x (n, c, w), (n, c, h, w) or (n, c, d, h, w) -> y (n, c, size); layout "NHWC" and the like have channels behind
    Dtypes:
        of other than floating images, "nearest" keeps the dtype, and the others give float64.
    Args:
        size: the new lengths, one for all or one for each axis; None keeps one.
        method: "nearest", "bilinear" (of two pixels along each axis) or "bicubic" (of four).
        antialias: a smaller image is made of means over all the pixels that a new one covers.
        convention: "torch" has the numbers of `interpolate` with align_corners=False; "jax" those of
            `jax.image.resize`, whose "nearest" takes the pixel around the middle and whose cubic has the slope -0.5 and
            leaves out what is outside.
    Raises:
        InputError: a size, method, convention or layout that there is not; "nearest" with antialias.
        ShapeError: no image.
    Example:
        >>> import tg
        >>> x = tg.tensor("x", shape=(1, 1, 2))
        >>> tg.nn.resize(x, 4, "bilinear").eval({x: [[[0.0, 4.0]]]})
        array([[[0., 1., 3., 4.]]])
    Source:
        torch.nn.functional.interpolate, jax.image.resize
    """
    for what, value, choices in (("method", method, METHODS), ("convention", convention, CONVENTIONS)):
        if value not in choices:
            raise InputError(message(f"resize: {what}: found {value!r}, needed {' or '.join(map(repr, choices))}"))
    if method == "nearest" and antialias:
        raise InputError(message("resize: antialias: found True with 'nearest', needed 'bilinear' or 'bicubic'"))
    v = as_variable(x)
    axes = v.type.ndim - 2
    if axes not in LAYOUTS:
        raise ShapeError(message(f"resize: ranks: x has {v.type.ndim} axes, needed 3, 4 or 5", ("x", repr(v))))
    images = images_of("resize", v, axes, layout)
    v = images.x
    if method != "nearest" and not is_float(v.type.dtype):
        v = cast_variable(v, "float64")
    for k, (n, m) in enumerate(zip(v.shape[2:], _new_lengths(size, v.shape[2:]), strict=True)):
        axis = k + 2
        if method == "nearest":
            v = take(v, _nearest(n, m, convention), axis=axis, mode="promise")
        elif antialias:
            weights = cast_variable(_covering(n, m, method), v.type.dtype)
            v = swapaxes(matmul(swapaxes(v, axis, -1), swapaxes(weights, 0, 1)), axis, -1)
        else:
            v = _interpolated(v, axis, n, m, method, convention)
    return images.back(v)


def _new_lengths(size: Any, lengths: Sequence[Size]) -> list[Size]:
    several = tuple(size) if isinstance(size, tuple | list) else (size,) * len(lengths)
    sizes = [n if one is None else known_integer(one) for one, n in zip(several, lengths, strict=False)]
    if len(several) != len(lengths) or not all(type(n) is Length or (type(n) is int and n >= 1) for n in sizes):
        text = f"resize: size: found {size!r}, needed a length of at least 1 or None, or one for each axis"
        raise InputError(message(text))
    return sizes


def _in_floats(n: Size) -> Variable:
    return cast_variable(as_size_variable(n), "float64")


def _nearest(n: Size, m: Size, convention: str) -> Variable:
    """The pixel of n that each of m is: the one at its beginning, or around its middle."""
    at, old, new = iota(m), as_size_variable(n), as_size_variable(m)
    if convention == "torch":
        return floor_divide(multiply(at, old), new)
    doubled = add(multiply(at, np.int64(2)), np.int64(1))
    return floor_divide(multiply(doubled, old), multiply(new, np.int64(2)))


def _middles(n: Size, m: Size) -> Variable:
    """The positions of the middles of m pixels among those of n, as float64."""
    at = add(cast_variable(iota(m), "float64"), 0.5)
    return subtract(multiply(at, divide(_in_floats(n), _in_floats(m))), 0.5)


def _triangle(x: Variable) -> Variable:
    """1 at 0, and 0 from 1 on."""
    return maximum(subtract(1.0, absolute(x)), 0.0)


def _cubic(x: Variable, slope: float) -> Variable:
    """Keys's cubic convolution: 1 at 0, 0 at 1 and from 2 on."""
    r = absolute(x)
    inner = add(multiply(multiply(subtract(multiply(slope + 2, r), slope + 3), r), r), 1.0)
    outer = multiply(slope, subtract(multiply(add(multiply(subtract(r, 5.0), r), 8.0), r), 4.0))
    return where(less_equal(r, 1.0), inner, where(less(r, 2.0), outer, 0.0))


def _interpolated(v: Variable, axis: int, n: Size, m: Size, method: str, convention: str) -> Variable:
    """The pixels around each new one, taken and weighted; what is outside is the nearest within."""
    middle, last = _middles(n, m), subtract(as_size_variable(n), np.int64(1))
    first = floor(middle)
    steps = (0, 1) if method == "bilinear" else (-1, 0, 1, 2)
    leaves_out = method == "bicubic" and convention == "jax"
    parts, weights = [], []
    for step in steps:
        at = add(first, float(step))
        distance = subtract(middle, at)
        weight = _triangle(distance) if method == "bilinear" else _cubic(distance, SLOPES[convention])
        place = cast_variable(at, "int64")
        if leaves_out:
            within = logical_and(greater_equal(place, np.int64(0)), less_equal(place, last))
            weight = where(within, weight, 0.0)
        weights.append(weight)
        parts.append(take(v, minimum(maximum(place, np.int64(0)), last), axis=axis, mode="promise"))
    if leaves_out:
        total = weights[0]
        for weight in weights[1:]:
            total = add(total, weight)
        weights = [divide(weight, total) for weight in weights]
    behind = tuple(range(axis + 1 - v.type.ndim, 0))
    image: Variable | None = None
    for part, weight in zip(parts, weights, strict=True):
        own = cast_variable(expand_dims_at(weight, behind) if behind else weight, v.type.dtype)
        term = multiply(part, own)
        image = term if image is None else add(image, term)
    assert image is not None
    return image


def _covering(n: Size, m: Size, method: str) -> Variable:
    """The weights (m, n) of means over the pixels that new ones cover: wider kernels, whose weights add up to 1."""
    scale = maximum(divide(_in_floats(n), _in_floats(m)), 1.0)
    old = cast_variable(iota(n), "float64")
    distance = divide(subtract(old, expand_dims_at(_middles(n, m), (-1,))), scale)
    weights = _triangle(distance) if method == "bilinear" else _cubic(distance, -0.5)
    return divide(weights, expand_dims_at(reduce_sum(weights, (-1,)), (-1,)))


# --- patches ---------------------------------------------------------------------------------------------------------


def unfold(
    x: TensorLike,
    window: Integers,
    dilation: Integers = 1,
    padding: Integers = 0,
    stride: Integers = 1,
) -> Variable:
    """The windows of images as columns.

    Shapes:
        x (n, c, h, w), or (c, h, w) -> y (n, c * kh * kw, windows)
    Args:
        window, dilation, padding, stride: as of `conv2d`, whose weights multiply these columns.
    Raises:
        ShapeError, InputError: as `conv2d`.
    Example:
        >>> import tg
        >>> x = tg.tensor("x", shape=(1, 1, 2, 3))
        >>> tg.nn.unfold(x, 2).eval({x: [[[[1.0, 2, 3], [4, 5, 6]]]]})
        array([[[1., 2.],
                [2., 3.],
                [4., 5.],
                [5., 6.]]])
    Source:
        torch.nn.functional.unfold
    """
    images = images_of("unfold", x, 2, None)
    kernel = numbers(window, 2, "unfold: window", 1)
    windows, unknown = windows_of("unfold", images.x.shape[2:], kernel, stride, padding, dilation)
    v = fitting("unfold", images.x, unknown)
    fields = zip(v.shape[2:], kernel, windows.strides, windows.dilations, windows.before, windows.sizes, strict=True)
    at = [places(n, k, s, d, 1, b, size) for n, k, s, d, b, size in fields]
    columns = gathered(v, at)
    y = reshape(columns, (v.shape[0], product((v.shape[1], *kernel)), product(windows.sizes)))
    return y[0] if images.is_one else y


def fold(
    x: TensorLike,
    size: Integers,
    window: Integers,
    dilation: Integers = 1,
    padding: Integers = 0,
    stride: Integers = 1,
) -> Variable:
    """The transpose of `unfold`: images whose pixels are the sums of all entries of columns that were read there.

    Shapes:
        x (n, c * kh * kw, windows), or without n -> y (n, c, size)
    Args:
        size: the lengths of the images.
        window, dilation, padding, stride: as of `unfold`.
    Raises:
        ShapeError: x has other numbers of rows or columns than such windows have.
        InputError: as `unfold`.
    Source:
        torch.nn.functional.fold
    """
    v = as_variable(x)
    if v.type.ndim not in (2, 3):
        raise ShapeError(message(f"fold: ranks: x has {v.type.ndim} axes, needed 3, or 2", ("x", repr(v))))
    is_one = v.type.ndim == 2
    v = expand_dims_at(v, (-3,)) if is_one else v
    kernel = numbers(window, 2, "fold: window", 1)
    lengths = numbers(size, 2, "fold: size", 1)
    windows, _ = windows_of("fold", lengths, kernel, stride, padding, dilation)
    count, columns = int(np.prod(kernel)), int(np.prod([int(n) for n in windows.sizes if type(n) is int]))
    v = _with_length(v, -1, columns, f"fold: windows: x has {{0}} columns, needed {columns}: one for each window")
    text = f"fold: rows: found {{0}}, needed a multiple of {count}: the positions of a window"
    rows = v.shape[1]
    if type(rows) is int and rows % count:
        raise ShapeError(message(text.format(rows), ("x", repr(v))))
    channels = part_of(rows, count)
    if type(rows) is not int:
        whole = equal(as_size_variable(rows), multiply(as_size_variable(channels), np.int64(count)))
        v = required(v, whole, (as_size_variable(rows),), Descriptor("ShapeError", text))
    fields = zip(lengths, kernel, windows.strides, windows.dilations, windows.before, windows.sizes, strict=True)
    at = [places(n, k, s, d, 1, b, one) for n, k, s, d, b, one in fields]
    apart = reshape(v, (v.shape[0], channels, *kernel, *windows.sizes))
    y = added(apart, at, (v.shape[0], channels), lengths)
    return y[0] if is_one else y


def _with_length(v: Variable, axis: int, length: int, text: str) -> Variable:
    """v, of which it is made sure that an axis has a length."""
    n = v.shape[axis]
    if type(n) is int:
        if n != length:
            raise ShapeError(message(text.format(n), ("x", repr(v))))
        return v
    actual = as_size_variable(n)
    return required(v, equal(actual, np.int64(length)), (actual,), Descriptor("ShapeError", text))


def pixel_shuffle(x: TensorLike, factor: int) -> Variable:
    """Images `factor` times as long along both axes, of as many channels fewer: each block of pixels was channels.

    Shapes:
        x (..., c * factor**2, h, w) -> y (..., c, h * factor, w * factor)
    Raises:
        ShapeError: fewer than three axes, or a number of channels that is no multiple.
    Source:
        torch.nn.functional.pixel_shuffle
    """
    v, r = _shuffled("pixel_shuffle", x, factor)
    c, h, w = v.shape[-3:]
    if type(c) is int and c % (r * r):
        raise ShapeError(message(f"pixel_shuffle: channels: found {c}, needed a multiple of {r * r}", ("x", repr(v))))
    lead = v.shape[:-3]
    apart = reshape(v, (*lead, part_of(c, r * r), r, r, h, w))
    n = len(lead)
    moved = transpose(apart, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(moved, (*lead, part_of(c, r * r), multiply_lengths(h, r), multiply_lengths(w, r)))


def pixel_unshuffle(x: TensorLike, factor: int) -> Variable:
    """The inverse of `pixel_shuffle`: blocks of pixels as channels.

    Shapes:
        x (..., c, h * factor, w * factor) -> y (..., c * factor**2, h, w)
    Raises:
        ShapeError: fewer than three axes, or a length that is no multiple.
    Source:
        torch.nn.functional.pixel_unshuffle
    """
    v, r = _shuffled("pixel_unshuffle", x, factor)
    c, h, w = v.shape[-3:]
    for n in (h, w):
        if type(n) is int and n % r:
            raise ShapeError(message(f"pixel_unshuffle: lengths: found {n}, needed a multiple of {r}", ("x", repr(v))))
    lead = v.shape[:-3]
    n = len(lead)
    apart = reshape(v, (*lead, c, part_of(h, r), r, part_of(w, r), r))
    moved = transpose(apart, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(moved, (*lead, multiply_lengths(c, r * r), part_of(h, r), part_of(w, r)))


def _shuffled(what: str, x: Any, factor: Any) -> tuple[Variable, int]:
    v, r = as_variable(x), plain_integer(factor)
    if v.type.ndim < 3:
        raise ShapeError(message(f"{what}: ranks: x has {v.type.ndim} axes, needed at least 3", ("x", repr(v))))
    if type(r) is not int or r < 1:
        raise InputError(message(f"{what}: factor: found {factor!r}, needed an integer of at least 1"))
    return v, r


FAMILY = Family("nn/resizing", functions=(resize, unfold, fold, pixel_shuffle, pixel_unshuffle), module="nn")
