"""Convolutions of any number of axes: one op whose adjoints are itself, and the functions that users call.

The op has an axis of groups and says where windows begin and how many there are, so it needs no other op for strides,
paddings, groups and transposes. A dilation below 0 reads the kernel from its end: that turns a convolution round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.assumptions import required
from tg.ops.contraction import matmul
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal
from tg.ops.family import Family
from tg.ops.indexing import flip
from tg.ops.length_checks import natural_checks
from tg.ops.nn.windows import fitting, gathered, images_of, numbers, padding_pairs, places, windows_of
from tg.ops.shape import expand_dims_at, merge_sizes, moveaxis, reshape, transpose
from tg.types.dtypes import in_float32, numpy_dtype
from tg.types.lengths import Length, product, same
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, plain_integer, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]
    Size = int | Length

LEAD: Final = 3  # axes of the op in front of those of windows: batch, groups, channels


@final
class Convolution(Op):
    """The products of a kernel with the windows of images, summed over channels and positions of the window.

    y[n, g, o, p] is the sum over c and k of w[g, o, c, k] * x[n, g, c, q] with q * spread = p * strides + k * dilations
    - before along each axis of windows. Where no such q is a position of x nothing is added, or w times 0: which of the
    two is up to the backend, and shows where w is not finite. The kernel is not flipped. Operands after the kernel are
    the entries that are None in `before`, then in `sizes`: int64 scalars.

    Shapes:
        x (n, g, c, l...), w (g, o, c, k...) -> y (n, g, o, sizes...)
    Dtypes:
        operands of one dtype, which the result has; 16 bits are added up in 32.
    Raises:
        ShapeError: groups or channels differ, or a size is below 0.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    spread: tuple[int, ...]
    before: tuple[int | None, ...]
    sizes: tuple[int | None, ...]
    has_expansion = True

    def size_operands(self, count: int) -> range:
        """Where windows begin, and how many there are."""
        return range(2, count)

    def numbers(self, rest: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """`before` and `sizes`, with the operands in their places."""
        split = self.before.count(None)
        return merge_sizes(self.before, rest[:split]), merge_sizes(self.sizes, rest[split:])

    def infer(self, x: TensorType, w: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """Groups and channels agree; lengths of windows are the sizes."""
        axes = len(self.strides)
        if {len(x.shape), len(w.shape)} != {LEAD + axes} or not all(
            len(field) == axes for field in (self.dilations, self.spread, self.before, self.sizes)
        ):
            raise ShapeError(
                message(f"convolution: ranks: x has {len(x.shape)}, w has {len(w.shape)}, needed {LEAD + axes}")
            )
        if x.dtype != w.dtype:
            raise DtypeError(message(f"convolution: dtypes differ: x has {x.dtype}, w has {w.dtype}"))
        groups = require_same(x.shape[1], w.shape[0], lambda: "convolution: groups")
        require_same(x.shape[2], w.shape[2], lambda: "convolution: channels")
        _, sizes = self.numbers(rest)
        return (TensorType(x.dtype, (x.shape[0], groups, w.shape[1], *sizes)),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are at least 0."""
        return natural_checks(inputs[2 + self.before.count(None) :])

    def perform(self, x: Array, w: Array, *rest: Array) -> tuple[Array, ...]:
        """Windows of the padded images as a view, and a matrix product for each group."""
        before, sizes = ([int(n) for n in field] for field in self.numbers(rest))
        n, groups, channels = x.shape[:LEAD]
        outer, kernel = w.shape[1], w.shape[LEAD:]
        work = np.dtype(numpy_dtype(in_float32(x.dtype.name)))
        windows = self._windows(x.astype(work, copy=False), kernel, before, sizes)
        count = channels * int(np.prod(kernel, dtype=np.int64))
        columns = windows.reshape(n, groups, count, int(np.prod(sizes, dtype=np.int64)))
        y = np.matmul(w.astype(work, copy=False).reshape(groups, outer, count), columns)
        return (np.asarray(y).reshape(n, groups, outer, *sizes).astype(x.dtype, copy=False),)

    def _windows(self, x: Array, kernel: Sequence[int], before: Sequence[int], sizes: Sequence[int]) -> Array:
        """x[n, g, c, q] by n, g, c, k and p, 0 where there is no q."""
        axes = len(kernel)
        for axis, (k, d, s, u, b, size) in enumerate(
            zip(kernel, self.dilations, self.strides, self.spread, before, sizes, strict=True)
        ):
            at = np.arange(k)[:, None] * d + np.arange(size) * s - b
            q, part = np.divmod(at, u)
            length = x.shape[LEAD + 2 * axis]
            is_there = (part == 0) & (q >= 0) & (q < length)
            x = np.moveaxis(x, LEAD + 2 * axis, 0)
            found = np.zeros((k, size, *x.shape[1:]), x.dtype)
            found[is_there] = x[q[is_there]]
            x = np.moveaxis(found, (0, 1), (LEAD + 2 * axis, LEAD + 2 * axis + 1))
        own = range(LEAD)
        pairs = range(LEAD, LEAD + 2 * axes)
        return np.transpose(x, (*own, *pairs[::2], *pairs[1::2]))

    def expansion(self, *inputs: Variable) -> Variable:
        """The windows gathered into columns, and a matrix product for each group."""
        x, w, *rest = inputs
        before, sizes = self.numbers([*map(size_value, rest)])
        n, groups, channels = x.shape[:LEAD]
        kernel = w.shape[LEAD:]
        rows = reshape(w, (*w.shape[:2], product((channels, *kernel))))
        columns = gathered(x, self._places(x, kernel, before, sizes))
        flat = reshape(columns, (n, groups, product((channels, *kernel)), product(sizes)))
        return reshape(matmul(rows, flat), (n, groups, w.shape[1], *sizes))

    def _places(
        self, x: Variable, kernel: Sequence[Size], before: Sequence[Any], sizes: Sequence[Any]
    ) -> list[Variable]:
        fields = zip(x.shape[LEAD:], kernel, self.strides, self.dilations, self.spread, before, sizes, strict=True)
        return [places(*field) for field in fields]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """For x the convolution turned round; for w that of images and cotangents, which stand for a kernel."""
        (x, w, *rest), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        return (self._of_images(x, w, rest, dy), self._of_kernel(x, w, rest, dy), *(None for _ in rest))

    def _of_images(self, x: Variable, w: Variable, rest: Sequence[Variable], dy: Variable) -> Variable:
        """Strides and spread change their parts, inner and outer channels too, and the kernel is read backwards."""
        before, _ = self.numbers([*map(size_value, rest)])
        dilations = tuple(-d for d in self.dilations)
        return convolution(
            dy, swapped(w, 1, 2), self.spread, dilations, self.strides, [_negative(b) for b in before], x.shape[LEAD:]
        )

    def _of_kernel(self, x: Variable, w: Variable, rest: Sequence[Variable], dy: Variable) -> Variable:
        """Channels are the batch, and the batch is the channels; windows are as many as the kernel is long.

        A dilation below 0 would be a stride below 0: the result is made from its other end, and flipped.
        """
        before, _ = self.numbers([*map(size_value, rest)])
        kernel = w.shape[LEAD:]
        turned = [k for k, d in enumerate(self.dilations) if d < 0]
        begins = [
            add_lengths(b, multiply_lengths(subtract_lengths(n, 1), -d)) if d < 0 else b
            for b, n, d in zip(before, kernel, self.dilations, strict=True)
        ]
        strides = tuple(abs(d) for d in self.dilations)
        images, slopes = swapped(x, 0, 2), _cycled(dy)
        found = convolution(images, slopes, strides, self.strides, self.spread, begins, kernel)
        found = _cycled(found)
        return flip(found, tuple(LEAD + k for k in turned)) if turned else found

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Of each operand by itself: the op is linear in both."""
        (x, w, *rest), (dx, dw) = inputs, tangents[:2]
        terms = ([] if dx is None else [self(dx, w, *rest)]) + ([] if dw is None else [self(x, dw, *rest)])
        return (add(*terms) if len(terms) == 2 else terms[0] if terms else None,)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """A batch of images joins theirs, one of kernels the outer channels, one of both the groups."""
        x, w, *rest = inputs
        tools.need_unbatched(self, batched[2:], "a place or a number of windows")
        if not batched[1]:
            y = self(_joined(x, 0), w, *rest)
            return (reshape(y, (*x.shape[:2], *y.shape[1:])),)
        if not batched[0]:
            y = self(x, _joined(moveaxis(w, 0, 1), 1), *rest)
            return (moveaxis(reshape(y, (*y.shape[:2], size, w.shape[2], *y.shape[LEAD:])), 2, 0),)
        y = self(_joined(moveaxis(x, 0, 1), 1), _joined(w, 0), *rest)
        return (moveaxis(reshape(y, (y.shape[0], size, w.shape[1], *y.shape[2:])), 1, 0),)


def convolution(
    x: Variable,
    w: Variable,
    strides: Sequence[int],
    dilations: Sequence[int],
    spread: Sequence[int],
    before: Sequence[Size],
    sizes: Sequence[Size],
) -> Variable:
    """The op on lengths that are known or not."""
    field, begins = _numbers(before)
    lengths, counts = _numbers(sizes)
    op = Convolution(tuple(strides), tuple(dilations), tuple(spread), field, lengths)
    return op(x, w, *begins, *counts)  # type: ignore[no-any-return]


def _numbers(given: Sequence[Size]) -> tuple[tuple[int | None, ...], list[Variable]]:
    field = tuple(n if type(n) is int else None for n in given)
    return field, [as_size_variable(n) for n in given if type(n) is not int]


def _negative(b: Size) -> Size:
    return multiply_lengths(b, -1)


def _joined(v: Variable, axis: int) -> Variable:
    """Two neighbouring axes as one."""
    shape = v.shape
    return reshape(v, (*shape[:axis], multiply_lengths(shape[axis], shape[axis + 1]), *shape[axis + 2 :]))


def swapped(v: Variable, a: int, b: int) -> Variable:
    """v with two axes exchanged."""
    order = [*range(v.type.ndim)]
    order[a], order[b] = b, a
    return transpose(v, order)


def _cycled(v: Variable) -> Variable:
    """The first axis behind the two that follow it."""
    return transpose(v, (1, 2, 0, *range(LEAD, v.type.ndim)))


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
    given = [x, w] if bias is None else [x, w, as_variable(bias)]
    given, dtype = promoted(given)
    if dtype == "bool":
        raise DtypeError(message(f"{what}: found truth values, needed numbers"))
    found = [cast_variable(v, dtype) for v in given]
    return found[0], found[1], found[2] if bias is not None else None


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
    found, needed = as_size_variable(v.shape[0]), as_size_variable(n)
    text = f"{what}: bias: found {{0}} numbers, needed {{1}}: one for each channel"
    return required(v, equal(found, needed), (found, needed), Descriptor("ShapeError", text))


def _groups(what: str, x: Variable, w: Variable, groups: Any, *, inner: int) -> tuple[int, Variable]:
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
    found, want = as_size_variable(x.shape[1]), as_size_variable(needed)
    failure = Descriptor("ShapeError", f"{what}: channels: x has {{0}}, the weights take {{1}}")
    return count, required(x, equal(found, want), (found, want), failure)


def _grouped(v: Variable, axis: int, groups: int, own: Size) -> Variable:
    """An axis of channels as one of groups and one of the channels of each."""
    if groups == 1:
        return expand_dims_at(v, (axis - v.type.ndim - 1,))
    return reshape(v, (*v.shape[:axis], groups, own, *v.shape[axis + 1 :]))


def _convolved(
    what: str, axes: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any, layout: Any
) -> Variable:
    images = images_of(what, x, axes, layout)
    v, w, bias = operands_of(what, images.x, w, bias)
    count, v = _groups(what, v, w, groups, inner=1)
    windows, unknown = windows_of(what, v.shape[2:], w.shape[2:], stride, padding, dilation)
    v = fitting(what, v, unknown)
    outer = part_of(w.shape[0], count) if count > 1 else w.shape[0]
    y = convolution(
        _grouped(v, 1, count, w.shape[1]), _grouped(w, 0, count, outer), windows.strides, windows.dilations,
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
    count, v = _groups(what, v, w, groups, inner=0)
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
    kernel = swapped(_grouped(w, 0, count, inner), 1, 2)
    begins = [-a for a, _ in pairs]
    backwards = tuple(-d for d in dilations)
    y = convolution(
        _grouped(v, 1, count, inner), kernel, (1,) * axes, backwards, strides, begins, sizes,
    )  # fmt: skip
    y = reshape(y, (y.shape[0], multiply_lengths(w.shape[1], count), *y.shape[LEAD:]))
    return images.back(with_bias(what, y, bias))


def conv1d(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCW",
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
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
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
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCDHW",
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
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCW",
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
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
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
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCDHW",
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


FAMILY = Family(
    "nn/convolution",
    ops=(Convolution,),
    functions=(conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d),
    module="nn",
)
