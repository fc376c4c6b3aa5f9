"""Normalization: elements shifted and scaled to mean 0 and variance 1, or to length 1, over parts of an array.

Variances divide by the number of elements. Of halves all is computed in float32, and rounded once.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import add, asked_opposite, divide, maximum, multiply, sqrt, square, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, where
from tg.ops.family import Family
from tg.ops.linalg.norms import vector_norm
from tg.ops.nn.operands import along_axes, channel_axis, multiple_of, wide, wide_if_any
from tg.ops.reduction import reduce_sum
from tg.ops.shape import broadcast_to, expand_dims_at, reshape, squeeze
from tg.ops.statistics import mean, var
from tg.types.dtypes import is_float, numpy_dtype
from tg.types.lengths import floor_divide, product
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import axes_from_end, axis_from_end, need_axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import Layout
    from tg.variables.like import Integers, TensorLike


class OfChannels(Op):
    """The common part of batch norm and its gradient: the channels lie along `axis`."""

    axis: int
    eps: float
    has_expansion = True

    def over(self, x: Variable) -> tuple[int, ...]:
        """The axes that statistics are over."""
        return tuple(k for k in range(-x.type.ndim, 0) if k != self.axis)

    def beside(self, v: Variable, x: Variable) -> Variable:
        """The values of each channel, with the axes of x."""
        over = self.over(x)
        return expand_dims_at(v, over) if over else v

    def root(self, var: Variable) -> Variable:
        """The root that deviations are divided by."""
        return sqrt(add(var, numpy_dtype(var.type.dtype).type(self.eps)))

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """Each element of the batch has statistics of its own."""
        return tools.batch_expansion(self, size, inputs, batched)  # type: ignore[no-any-return]

    def need(self, x: TensorType, *of_channels: TensorType) -> None:
        """Refuse operands that are not of one floating dtype, and those of channels that do not have one for each.

        Raises:
            DtypeError: another dtype.
            ShapeError: another shape.
        """
        need_axes("batch_norm", (self.axis,), len(x.shape))
        if not is_float(x.dtype) or any(t.dtype != x.dtype for t in of_channels):
            actual = ", ".join(map(str, (x, *of_channels)))
            raise DtypeError(message(f"batch_norm: dtypes: found {actual}, needed one real floating dtype"))
        for t in of_channels:
            if len(t.shape) != 1:
                raise ShapeError(message(f"batch_norm: found {t}, needed a number for each channel of {x}"))
            require_same(t.shape[0], x.shape[self.axis], lambda: "batch_norm: channels")


@final
class BatchNorm(OfChannels):
    """(x - mean) / sqrt(var + eps) * weight + bias, with the mean and the variance of each channel; and these.

    Shapes:
        x (..., c, ...), weight (c), bias (c) -> y (..., c, ...), mean (c), var (c); the channels lie along `axis`
    Dtypes:
        one real floating dtype
    Raises:
        DtypeError, ShapeError: operands of other dtypes or lengths.
    Source:
        Ioffe and Szegedy 2015; torch.nn.functional.batch_norm with training=True. The variance divides by the number of
        elements.
    """

    of_training = "batch statistics of batch_norm"

    def infer(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The types of x and of the parameters."""
        x, weight, bias = types
        self.need(x, weight, bias)
        of_channels = TensorType(x.dtype, (x.shape[self.axis],))
        return x, of_channels, of_channels

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """As it is written."""
        x, weight, bias = inputs
        over, n = self.over(x), _count(x, self.over(x))
        middle = divide(reduce_sum(x, over), n)
        deviations = subtract(x, self.beside(middle, x))
        spread = divide(reduce_sum(square(deviations), over), n)
        y = divide(deviations, self.beside(self.root(spread), x))
        return add(multiply(y, self.beside(weight, x)), self.beside(bias, x)), middle, spread

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A variance is not below 0."""
        return ((), (), ("nonnegative", "no_negative_zero"))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """By `BatchNormGradient`; what flows to the statistics goes through their formulas.

        In channels of which all of the cotangent is 0 by selection nothing meets what they are divided by.
        """
        (x, weight, _), (_, middle, spread), (dy, dmean, dvar) = inputs, outputs, cotangents
        over, n = self.over(x), _count(x, self.over(x))
        gradients: list[Variable | None] = [None, None, None]
        if dy is not None:
            support = tools.supports.of(reduce_sum(dy, over))
            slopes = BatchNormGradient(self.axis, self.eps)(x, weight, middle, spread, dy)
            gradients = [self._where_given(v, x, support) for v in slopes]
        terms = [gradients[0]]
        if dmean is not None:
            terms.append(broadcast_to(self.beside(divide(dmean, n), x), x.shape))
        if dvar is not None:
            kind = numpy_dtype(x.type.dtype).type
            share = broadcast_to(self.beside(divide(multiply(dvar, kind(2)), n), x), x.shape)
            terms.append(tools.times(share, subtract(x, self.beside(middle, x))))
        parts = [v for v in terms if v is not None]
        return (functools.reduce(add, parts) if parts else None), *gradients[1:]

    def _where_given(self, v: Variable, x: Variable, support: Any) -> Variable | None:
        """A cotangent of x or of a parameter: 0 in channels without a cotangent by the support of its sums."""
        if support.selected is False or support.asked is False:
            return None
        for condition, choose in ((support.selected, _or_zero), (support.asked, asked_opposite)):
            if condition is not True:
                is_whole = v.type.ndim == x.type.ndim and condition.type.ndim > 0
                v = choose(self.beside(condition, x) if is_whole else condition, v)
        return v

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Through the expansion."""
        return tools.pushforward_of_expansion(self, inputs, tangents)  # type: ignore[no-any-return]


@final
class BatchNormGradient(OfChannels):
    """The cotangents of x, weight and bias for that of y = `BatchNorm`, dy.

    For z = (x - mean) / sqrt(var + eps) and n elements of a channel: d_bias = sum(dy), d_weight = sum(dy z),
    dx = weight / sqrt(var + eps) (dy - (d_bias + z d_weight) / n).

    Shapes:
        x (..., c, ...), weight (c), mean (c), var (c), dy (..., c, ...) -> (..., c, ...), (c), (c)
    Dtypes:
        one real floating dtype
    Raises:
        DtypeError, ShapeError: operands of other dtypes or lengths.
    Source:
        torch.ops.aten.native_batch_norm_backward
    """

    def infer(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The types of x and of the parameters."""
        x, *of_each, dy = types
        self.need(x, *of_each)
        if dy.dtype != x.dtype or len(dy.shape) != len(x.shape):
            raise DtypeError(message(f"batch_norm: found a cotangent {dy}, needed one of {x}"))
        for m, n in zip(dy.shape, x.shape, strict=True):
            require_same(m, n, lambda: "batch_norm: cotangent")
        of_channels = TensorType(x.dtype, (x.shape[self.axis],))
        return x, of_channels, of_channels

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """Two passes: one for the sums, and one for dx."""
        x, weight, middle, spread, dy = inputs
        over, n, root = self.over(x), _count(x, self.over(x)), self.root(spread)
        z = divide(subtract(x, self.beside(middle, x)), self.beside(root, x))
        of_bias, of_weight = reduce_sum(dy, over), reduce_sum(multiply(dy, z), over)
        shift, slope = (self.beside(divide(v, n), x) for v in (of_bias, of_weight))
        deviations = subtract(dy, add(shift, multiply(z, slope)))
        return multiply(deviations, self.beside(divide(weight, root), x)), of_weight, of_bias


def _or_zero(c: Variable, v: Variable) -> Variable:
    return where(c, v, numpy_dtype(v.type.dtype).type(0))


def _count(x: Variable, over: tuple[int, ...]) -> Variable:
    """The number of elements over some axes, in the dtype of x."""
    return cast_variable(as_size_variable(product(tuple(x.shape[k] for k in over))), x.type.dtype)


def layer_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
    axes: Integers | None = None,
) -> Variable:
    """(x - mean) / sqrt(variance + eps) * weight + bias over some axes of each sample.

    Args:
        axes: those that are normalized over; by default the last ones, as many as the weight or the bias has, or one.
    Shapes:
        x (..., n), weight (n), bias (n) -> y (..., n)
    Dtypes:
        that of x and the parameters together.
    Raises:
        ShapeError: weight or bias does not have the lengths of x along the axes.
    Source:
        torch.nn.functional.layer_norm
    """
    x, (w, b), dtype = wide_if_any("layer_norm", x, weight, bias)
    over = _axes("layer_norm", x, axes, w, b)
    return cast_variable(_affine("layer_norm", _standardized(x, over, eps), w, b, over), dtype)


def rms_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    *,
    eps: float | None = None,
    axes: Integers | None = None,
) -> Variable:
    """x / sqrt(mean(x**2) + eps) * weight over some axes of each sample.

    Args:
        eps: by default the distance from 1 to the next number of the dtype that is computed in, as in PyTorch.
        axes: as in `layer_norm`.
    Shapes:
        x (..., n), weight (n) -> y (..., n)
    Raises:
        ShapeError: the weight does not have the lengths of x along the axes.
    Source:
        torch.nn.functional.rms_norm
    """
    x, (w,), dtype = wide_if_any("rms_norm", x, weight)
    over = _axes("rms_norm", x, axes, w)
    least = float(np.finfo(numpy_dtype(x.type.dtype)).eps) if eps is None else eps
    y = divide(x, sqrt(add(mean(square(x), over, keepdims=True), least)))
    return cast_variable(_affine("rms_norm", y, w, None, over), dtype)


def batch_norm(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
    axis: int = 1,
) -> Variable:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel, with statistics that are given.

    Args:
        axis: that of channels; -1 for layout "NHWC".
    Shapes:
        x (n, c, ...), each of the others (c) -> y (n, c, ...)
    Raises:
        ShapeError: another operand does not have a number for each channel.
    Source:
        torch.nn.functional.batch_norm with training=False
    """
    x, (m, v, w, b), dtype = wide_if_any("batch_norm", x, mean, var, weight, bias)
    channels = [axis_from_end(axis, x.type.ndim, "batch_norm")]
    if m is None or v is None:
        raise InputError(message(f"batch_norm: found the mean {mean!r} and the var {var!r}, needed both"))
    middle = along_axes("batch_norm: mean", m, x, channels)
    spread = along_axes("batch_norm: var", v, x, channels)
    y = divide(subtract(x, middle), sqrt(add(spread, eps)))
    return cast_variable(_affine("batch_norm", y, w, b, channels), dtype)


def batch_norm_training(
    x: TensorLike, weight: TensorLike | None = None, bias: TensorLike | None = None, *, eps: float = 1e-5, axis: int = 1
) -> tuple[Variable, Variable, Variable]:
    """`batch_norm` with the statistics of the batch, and these: the values, their means and their variances.

    Values are divided by the root of the variance of all n elements of a channel. The variance that is returned divides
    by n - 1, as that which PyTorch's running statistics are made of: `running + momentum * (var - running)`.

    Shapes:
        x (n, c, ...), weight (c), bias (c) -> y (n, c, ...), mean (c), var (c)
    Raises:
        ShapeError: weight or bias does not have a number for each channel, or a channel has just one element.
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> y, mean, var = tg.nn.batch_norm_training(x)
        >>> [v.tolist() for v in tg.evaluate([mean, var], {"x": [[1.0, 2.0], [3.0, 8.0]]})]
        [[2.0, 5.0], [2.0, 18.0]]
    Source:
        torch.nn.functional.batch_norm with training=True
    """
    what = "batch_norm_training"
    x, (w, b), dtype = wide_if_any(what, x, weight, bias)
    channel = axis_from_end(axis, x.type.ndim, what)
    over = tuple(k for k in range(-x.type.ndim, 0) if k != channel)
    x = _several(what, x, over)
    scale, shift = _of_channels(f"{what}: weight", w, x, channel, 1), _of_channels(f"{what}: bias", b, x, channel, 0)
    y, middle, spread = BatchNorm(channel, float(eps))(x, scale, shift)
    n = _count(x, over)
    results = y, middle, multiply(spread, divide(n, subtract(n, 1)))
    return tuple(cast_variable(v, dtype) for v in results)  # type: ignore[return-value]


def _of_channels(what: str, v: Variable | None, x: Variable, channel: int, default: float) -> Variable:
    """A parameter, of which it is made sure that it has a number for each channel of x; by default all are one."""
    if v is None:
        return broadcast_to(numpy_dtype(x.type.dtype).type(default), (x.shape[channel],))
    return squeeze(along_axes(what, v, x, [channel]), tuple(range(channel + 1, 0)))


def _several(what: str, x: Variable, over: tuple[int, ...]) -> Variable:
    """x, of which it is made sure that there is more than one element over some axes."""
    n = product(tuple(x.shape[k] for k in over))
    text = f"{what}: found {{0}} element for each channel, needed at least 2"
    if isinstance(n, int):
        if n < 2:
            raise ShapeError(message(text.format(n)))
        return x
    count = as_size_variable(n)
    return required(x, greater(count, 1), [count], Descriptor("ShapeError", text))


def group_norm(
    x: TensorLike,
    groups: int,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
    layout: Layout = "NCHW",
) -> Variable:
    """(x - mean) / sqrt(variance + eps) over the elements of each group of channels of a sample, scaled by channel.

    Args:
        groups: their number, which divides that of channels.
        layout: "NCHW", or "NHWC" for channels along the last axis; the same with W alone, or DHW.
    Shapes:
        x (n, c, ...), weight (c), bias (c) -> y (n, c, ...)
    Raises:
        ShapeError: the number of channels is no multiple of `groups`, or weight or bias has another length.
    Source:
        torch.nn.functional.group_norm
    """
    x, (w, b), dtype = wide_if_any("group_norm", x, weight, bias)
    if not isinstance(groups, int) or groups < 1:
        raise ShapeError(message(f"group_norm: groups: found {groups!r}, needed a positive integer"))
    k = channel_axis("group_norm", x, layout)
    x = multiple_of("group_norm", x, k, groups)
    place = k + x.type.ndim
    parted = (*x.shape[:place], groups, floor_divide(x.shape[k], groups), *x.shape[place + 1 :])
    over = tuple(axis - len(parted) for axis in range(1, len(parted)) if axis != place)
    y = reshape(_standardized(reshape(x, parted), over, eps), x.shape)
    return cast_variable(_affine("group_norm", y, w, b, [k]), dtype)


def instance_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
    layout: Layout = "NCHW",
) -> Variable:
    """(x - mean) / sqrt(variance + eps) over each channel of each sample, scaled by channel.

    Args:
        layout: as in `group_norm`.
    Shapes:
        x (n, c, ...), weight (c), bias (c) -> y (n, c, ...)
    Raises:
        ShapeError: weight or bias has another length, or x has no axis besides samples and channels.
    Source:
        torch.nn.functional.instance_norm, which takes running statistics too; here `batch_norm` does
    """
    x, (w, b), dtype = wide_if_any("instance_norm", x, weight, bias)
    k = channel_axis("instance_norm", x, layout)
    over = tuple(axis for axis in range(1 - x.type.ndim, 0) if axis != k)
    if not over:
        raise ShapeError(message(f"instance_norm: found {x.type}, needed at least 3 axes"))
    return cast_variable(_affine("instance_norm", _standardized(x, over, eps), w, b, [k]), dtype)


def normalize(x: TensorLike, p: float = 2, axis: Integers = 1, eps: float = 1e-12) -> Variable:
    """x / max(norm(x), eps), the norm of order p along an axis, or along several as one.

    Where the norm is less than eps the derivative is 1 / eps.

    Args:
        p: as `ord` of `tg.linalg.vector_norm`.
    Source:
        torch.nn.functional.normalize
    """
    (x,), dtype = wide("normalize", x)
    over = axes_from_end(axis, x.type.ndim, "normalize")
    size = vector_norm(x, axis=over, keepdims=True, ord=p)
    return cast_variable(divide(x, maximum(size, eps)), dtype)


def _axes(what: str, x: Variable, axes: Any, *parameters: Variable | None) -> tuple[int, ...]:
    """The axes to normalize over: those given, or as many of the last as the first parameter has."""
    if axes is not None:
        return axes_from_end(axes, x.type.ndim, what)
    ranks = [v.type.ndim for v in parameters if v is not None]
    count = ranks[0] if ranks else 1
    if not 0 < count <= x.type.ndim:
        raise ShapeError(message(f"{what}: found {count} axes of parameters for {x.type}, needed 1 to {x.type.ndim}"))
    return tuple(range(-count, 0))


def _standardized(x: Variable, over: tuple[int, ...], eps: float) -> Variable:
    middle = mean(x, over, keepdims=True)
    return divide(subtract(x, middle), sqrt(add(var(x, over, keepdims=True, mean=middle), eps)))


def _affine(what: str, y: Variable, w: Variable | None, b: Variable | None, axes: Sequence[int]) -> Variable:
    """y * w + b, with parameters that have an axis for each of some axes of y."""
    if w is not None:
        y = multiply(y, along_axes(f"{what}: weight", w, y, axes))
    return y if b is None else add(y, along_axes(f"{what}: bias", b, y, axes))


FAMILY = Family(
    "nn/normalization",
    ops=(BatchNorm, BatchNormGradient),
    functions=(
        layer_norm, rms_norm, batch_norm, batch_norm_training, group_norm, instance_norm, normalize,
    ),
    module="nn",
)  # fmt: skip
