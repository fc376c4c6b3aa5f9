"""Convolutions of 8-bit integers with sums of 32 bits, and the zero points that are taken off images and kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.creation import ones
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.integer_products import SUM, IntegerMatMul, need_small, zero_along
from tg.ops.nn.convolution import grouped, same_channels
from tg.ops.nn.convolved import LEAD, Windowed, applied
from tg.ops.nn.windows import LAYOUTS, Windows, fitting, images_of, windows_of
from tg.ops.padding import pad
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, reshape
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import product
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    import numpy as np

    from tg.graph.nodes import Variable
    from tg.types.choices import Layout
    from tg.variables.like import Integers, PaddingLike, TensorLike

    Array = np.ndarray[Any, Any]


@final
class IntegerConvolution(Windowed):
    """The products of a kernel with the windows of images, of 8-bit integers, summed in int32.

    Fields and operands are those of `Convolution`; where a window reaches beyond the images nothing is added.

    Shapes:
        x (n, g, c, l...), w (g, o, c, k...) -> y (n, g, o, sizes...)
    Dtypes:
        x and w int8 or uint8, each by itself; y int32, which wraps.
    Raises:
        ShapeError: groups or channels differ, or a size is below 0.
    Source:
        ONNX, ConvInteger
    """

    def infer(self, x: TensorType, w: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """Groups and channels agree; lengths of windows are the sizes."""
        need_small("integer_conv", x.dtype, w.dtype)
        return (TensorType(SUM, self.result_shape("integer_conv", x, w, rest)),)

    def perform(self, x: Array, w: Array, *rest: Array) -> tuple[Array, ...]:
        """Windows of the padded images, and an exact matrix product for each group."""
        rows, columns, shape = self.arrays(x, w, rest)
        (y,) = IntegerMatMul().perform(rows, columns)
        return (y.reshape(shape),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The windows gathered into columns, and a matrix product for each group."""
        rows, columns, shape = self.as_product(inputs)
        return reshape(IntegerMatMul()(rows, columns), shape)


def integer_conv(
    x: TensorLike,
    w: TensorLike,
    x_zero_point: TensorLike | None = None,
    w_zero_point: Any = None,
    stride: Integers = 1,
    padding: PaddingLike = 0,
    dilation: Integers = 1,
    groups: int = 1,
    *,
    layout: Layout | None = None,
) -> Variable:
    """The convolution of 8-bit integers less their zero points over one, two or three axes, exact in int32.

    Args:
        x_zero_point: one number of the dtype of x, which the padding has too; 0 by default.
        w_zero_point: of the dtype of w, one number or one for each outer channel; 0 by default.
        stride, padding, dilation, groups, layout: as `conv2d`.
    Shapes:
        x (n, c, l...), or (c, l...), w (o, c / groups, k...) -> y (n, o, sizes...)
    Dtypes:
        int8 or uint8, each by itself -> int32, which wraps where a sum leaves it
    Raises:
        DtypeError: other images or kernels, or a zero point of another dtype than its array.
        ShapeError, InputError: as `conv2d`.
    Example:
        >>> import numpy as np, tg
        >>> x = tg.constant(np.array([[[10, 12, 9]]], "uint8"))
        >>> w = tg.constant(np.array([[[1, -2]]], "int8"))
        >>> tg.nn.integer_conv(x, w, x_zero_point=10, padding=1).eval()
        array([[[ 0, -4,  4, -1]]], dtype=int32)
    Source:
        ONNX, ConvInteger
    """
    what = "integer_conv"
    w = as_variable(w)
    axes = w.type.ndim - 2
    if axes not in LAYOUTS:
        raise ShapeError(message(f"{what}: ranks: the weights have {w.type.ndim} axes, needed 3, 4 or 5"))
    images = images_of(what, x, axes, layout)
    v = images.x
    need_small(what, v.type.dtype, w.type.dtype)
    count, v = same_channels(what, v, w, groups, inner=1)
    windows, unknown = windows_of(what, v.shape[2:], w.shape[2:], stride, padding, dilation)
    v = fitting(what, v, unknown)
    a = _one(what, zero_along(what, "x_zero_point", x_zero_point, v, -1))
    b = zero_along(what, "w_zero_point", w_zero_point, w, 0)
    if a is not None:
        v, windows = _padded(what, v, windows, x_zero_point)
    outer = part_of(w.shape[0], count) if count > 1 else w.shape[0]
    parts = grouped(v, 1, count, w.shape[1])
    kernel = grouped(w, 0, count, outer)
    y = _sums(parts, kernel, windows)
    if a is not None:  # of all channels and places of a window the kernel's sum
        y = subtract(y, multiply(a, _total(kernel)))
    if b is not None:
        b = b if b.type.ndim == 0 else reshape(b, (1, *kernel.shape[:2], *(1,) * axes))
        alike = ones((count, 1, *kernel.shape[2:]), dtype="int8")
        y = subtract(y, multiply(b, _sums(parts, alike, windows)))
    if a is not None and b is not None:
        terms = cast_variable(as_size_variable(product(tuple(kernel.shape[2:]))), SUM)
        y = add(y, multiply(multiply(a, b), terms))
    return images.back(reshape(y, (y.shape[0], w.shape[0], *y.shape[LEAD:])))


def _one(what: str, zero: Variable | None) -> Variable | None:
    """A zero point of images, which is one number."""
    if zero is None or zero.type.ndim == 0:
        return zero
    if all(n == 1 for n in zero.type.shape):
        return reshape(zero, ())
    raise ShapeError(message(f"{what}: x_zero_point: found the shape {zero.type.shape}, needed one number"))


def _padded(what: str, x: Variable, windows: Windows, zero: Any) -> tuple[Variable, Windows]:
    """Images between copies of their zero point, and their windows, which are beyond them nowhere."""
    widths = [*zip(windows.before, windows.after, strict=True)]
    if any(type(n) is not int for pair in widths for n in pair):
        text = f'{what}: padding: found "same" for a kernel of unknown lengths beside a zero point, needed numbers'
        raise InputError(message(text))
    if any(pair != (0, 0) for pair in widths):
        z = reshape(as_variable(zero), ()) if not isinstance(zero, int) else zero
        x = pad(x, ((0, 0), (0, 0), *widths), constant_values=z)
    return x, windows._replace(before=(0,) * len(widths), after=(0,) * len(widths))


def _sums(x: Variable, w: Variable, windows: Windows) -> Variable:
    axes = len(windows.sizes)
    fields = windows.strides, windows.dilations, (1,) * axes
    return applied(IntegerConvolution, x, w, *fields, windows.before, windows.sizes)


def _total(kernel: Variable) -> Variable:
    """The sum of each outer channel's kernel, with axes of length 1 for images and windows."""
    axes = tuple(range(2 - kernel.type.ndim, 0))
    totals = reduce_sum(cast_variable(kernel, SUM), axes)
    return expand_dims_at(expand_dims_at(totals, (-3,)), tuple(range(3 - kernel.type.ndim, 0)))


FAMILY = Family("nn/integer_convolution", ops=(IntegerConvolution,), functions=(integer_conv,), module="nn")
