"""Sums of exponentials, and what is made of them, without overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.facts import NONE, facts_of
from tg.graph.op import Op
from tg.graph.traversal import key_of
from tg.keywords import explained
from tg.ops.control import StopGradient
from tg.ops.elementwise.arithmetic import add, divide, maximum, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, greater, isfinite, where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.family import Family
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape import ExpandDims, broadcast_to, expand_dims_at, moveaxis, reshape
from tg.types.dtypes import in_float32, is_float, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, need_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import Integers, TensorLike

    Times = Callable[[Variable, Variable], Variable | None]


@final
class LogSumExp(Op):
    """log(sum(exp(x))) over `axes` without overflow; all -inf gives -inf.

    Shapes:
        x (..., n, ...) -> y (... ...)
    Source:
        scipy.special.logsumexp
    """

    axes: tuple[int, ...]
    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        return Reduce(add, self.axes).infer(x)

    def expansion(self, *inputs: Variable) -> Variable:
        """The maximum is taken out; an infinite one is replaced by 0."""
        _, total, shift = powers_of(widened(inputs[0]), self.axes)
        y = add(log(total), shift)
        return cast_variable(y, inputs[0].type.dtype)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Of real numbers only NaN makes NaN; -inf comes of nothing."""
        return (facts_of(inputs[0]) & {"not_nan"} if is_float(inputs[0].type.dtype) else NONE,)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent times the softmax, exp(x - y); 0 where y is -inf."""
        (x,), (y,), (dy,) = inputs, outputs, cotangents
        if dy is None:
            return (None,)
        dtype = x.type.dtype
        if in_float32(dtype) != dtype:  # a share computed of a rounded logarithm would be off by its rounding
            x = widened(x)
            y, dy = LogSumExp(self.axes)(x), widened(dy)
        base = expand_dims_at(y, self.axes)
        share = Share(self.axes)(x, base)
        dx = tools.times(broadcast_to(expand_dims_at(dy, self.axes), x.shape), share)
        return (None if dx is None else cast_variable(dx, dtype),)


def powers_of(x: Variable, axes: tuple[int, ...]) -> tuple[Variable, Variable, Variable]:
    """exp(x - m), their sum over `axes`, and m, the largest element of x if that is finite, else 0."""
    top = Reduce(maximum, axes, total=True)(x)
    shift = where(isfinite(top), top, numpy_dtype(x.type.dtype).type(0))
    powers = exp(subtract(x, expand_dims_at(shift, axes)))
    return powers, reduce_sum(powers, axes), shift


class Shares(Op):
    """Parts of a whole, along axes: the derivative is its own transpose, so both modes have one formula."""

    def along(self) -> tuple[int, ...]:
        """The axes."""
        return (self.axis,)  # type: ignore[attr-defined]

    def slopes(self, inputs: Sequence[Variable], y: Variable) -> Variable:
        """The shares as they are in the derivative."""
        return y

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """y * (dy - sum(dy * y)); of operands that are made of the first, none."""
        return (self._through(tools.times, inputs, outputs, cotangents), *[None] * (len(inputs) - 1))

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """y * (dx - sum(dx * y))."""
        return (self._through(tools.forward.times, inputs, outputs, tangents),)

    def _through(
        self, times: Times, inputs: Sequence[Variable], outputs: Sequence[Variable], flowing: Sequence[Variable | None]
    ) -> Variable | None:
        v = flowing[0]
        return None if v is None else through_shares(times, v, self.slopes(inputs, outputs[0]), self.along())


@final
class Share(Shares):
    """exp(x - y) for y = logsumexp(x) over `axes`, kept; 0 where y is -inf, and then without a derivative.

    Shapes:
        x (..., n, ...), y (..., 1, ...) -> z (..., n, ...)
    """

    axes: tuple[int, ...]
    has_expansion = True
    only_derives = True

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes("share", self.axes, len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By the exponentials of which y is the logarithm, where it is seen to be; else as it is written."""
        x, y = inputs
        kind = numpy_dtype(x.type.dtype).type
        if not _is_logarithm(y, x, self.axes):
            return where(equal(y, kind(-np.inf)), kind(0), exp(subtract(x, y)))
        powers, total, _ = powers_of(x, self.axes)
        total = expand_dims_at(total, self.axes)
        return where(equal(total, kind(0)), kind(0), divide(powers, total))

    def along(self) -> tuple[int, ...]:
        """The axes of the sum."""
        return self.axes

    def slopes(self, inputs: Sequence[Variable], y: Variable) -> Variable:
        """NaN where the whole is nothing."""
        kind = numpy_dtype(y.type.dtype).type
        return where(equal(inputs[1], kind(-np.inf)), kind(np.nan), y)


def _is_logarithm(y: Variable, x: Variable, axes: tuple[int, ...]) -> bool:
    """Whether a value is the logarithm of the sum over axes of the exponentials of another one."""
    node = y.apply
    below = node.inputs[0].apply if node is not None and type(node.op) is ExpandDims else None
    return below is not None and below.op == LogSumExp(axes) and key_of(below.inputs[0]) == key_of(x)


def through_shares(times: Times, dy: Variable, y: Variable, axes: tuple[int, ...]) -> Variable | None:
    """y * (dy - sum(dy * y)) for shares y.

    Where one share is nearly 1, dy has lost against the sum what is left: the dy of that share is taken off before.
    """
    if is_float(y.type.dtype):
        of_most = where(_is_most(y), dy, _nothing(dy))
        dy = subtract(dy, expand_dims_at(reduce_sum(of_most, axes), axes))
    product = times(dy, y)
    if product is None:
        return None
    inner = expand_dims_at(reduce_sum(product, axes), axes)
    return times(subtract(dy, inner), y)


def _is_most(y: Variable) -> Variable:
    return greater(y, numpy_dtype(y.type.dtype).type(0.5))


def _nothing(y: Variable) -> Variable:
    """0, of which nothing is read: it selects nothing, as a constant would."""
    return StopGradient()(as_variable(np.zeros((), numpy_dtype(y.type.dtype))))  # type: ignore[no-any-return]


@final
class WeightedLogSumExp(Op):
    """log(sum(w * exp(x))) over `axes` without overflow; by a weight of 0 its derivative is exp(x - y).

    Shapes:
        w, x (..., n, ...) -> y (... ...)
    """

    axes: tuple[int, ...]
    has_expansion = True
    only_derives = True

    def infer(self, w: TensorType, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        return Reduce(add, self.axes).infer(x)

    def expansion(self, *inputs: Variable) -> Variable:
        """The logarithm of a weight beside its exponent."""
        w, x = inputs
        return LogSumExp(self.axes)(add(log(w), x))  # type: ignore[no-any-return]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent times exp(x - y), and that times w."""
        (w, x), (y,), (dy,) = inputs, outputs, cotangents
        if dy is None:
            return (None, None)
        share = exp(subtract(x, expand_dims_at(y, self.axes)))
        spread = broadcast_to(expand_dims_at(dy, self.axes), x.shape)
        return (tools.times(spread, share), tools.times(spread, multiply(w, share)))


@final
class Softmax(Shares):
    """exp(x) / sum(exp(x)) along `axis` without overflow.

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Source:
        scipy.special.softmax
    """

    axis: int
    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes("softmax", (self.axis,), len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The maximum is taken out first."""
        x = widened(inputs[0])
        top = expand_dims_at(Reduce(maximum, (self.axis,), total=True)(x), (self.axis,))
        powers = exp(subtract(x, top))
        y = divide(powers, expand_dims_at(reduce_sum(powers, (self.axis,)), (self.axis,)))
        return cast_variable(y, inputs[0].type.dtype)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A share is not below 0; infinite operands may have none, and complex ones a sum of 0."""
        x = inputs[0]
        return (("nonnegative", "no_negative_zero", *(facts_of(x) & {"finite"})) if is_float(x.type.dtype) else NONE,)


@final
class LogSoftmax(Op):
    """x - logsumexp(x) along `axis`; its derivative has the softmax, of one exponential for each element.

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    """

    axis: int
    has_expansion = True
    only_derives = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes("log_softmax", (self.axis,), len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written."""
        (x,) = inputs
        return subtract(x, expand_dims_at(LogSumExp((self.axis,))(x), (self.axis,)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent less its sum times the softmax; all add up to 0, which gives that of a share of nearly 1."""
        (x,), (dy,) = inputs, cotangents
        if dy is None:
            return (None,)
        axes, shares = (self.axis,), Softmax(self.axis)(x)
        product = tools.times(broadcast_to(expand_dims_at(reduce_sum(dy, axes), axes), x.shape), shares)
        if product is None or not is_float(x.type.dtype):
            return (dy if product is None else subtract(dy, product),)
        dx, most = subtract(dy, product), _is_most(shares)
        rest = expand_dims_at(reduce_sum(where(most, _nothing(dx), dx), axes), axes)
        return (where(most, negative(rest), dx),)


def logsumexp(x: TensorLike, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """log(sum(exp(x))) over axes (all by default) without overflow; -inf where all elements are.

    Source:
        scipy.special.logsumexp
    """
    x = _as_floating(x)
    axes = axes_from_end(axis, x.type.ndim, "logsumexp")
    y = LogSumExp(axes)(x) if axes else x
    return expand_dims_at(y, axes) if keepdims and axes else y


@explained
def softmax(x: TensorLike, axis: Integers = -1) -> Variable:
    """exp(x) / sum(exp(x)) along an axis, or over several (None: all of them), without overflow.

    Source:
        scipy.special.softmax, whose axis is None by default
    """
    x = _as_floating(x)
    if axis is not None and not isinstance(axis, tuple | list):
        return Softmax(axis_from_end(axis, x.type.ndim, "softmax"))(x)  # type: ignore[no-any-return]
    axes = axes_from_end(axis, x.type.ndim, "softmax")
    if not axes:
        return exp(subtract(x, x))  # each element is all that its sum is over
    if len(axes) == 1:
        return Softmax(axes[0])(x)  # type: ignore[no-any-return]
    last = tuple(range(-len(axes), 0))
    moved = moveaxis(x, axes, last)
    joined = reshape(moved, (*moved.shape[: moved.type.ndim - len(axes)], -1))
    return moveaxis(reshape(Softmax(-1)(joined), moved.shape), last, axes)


@explained
def log_softmax(x: TensorLike, axis: Integers = -1) -> Variable:
    """log(softmax(x)) along an axis, or over several (None: all of them), without overflow.

    Source:
        scipy.special.log_softmax, whose axis is None by default
    """
    x = _as_floating(x)
    wide = widened(x)  # the cotangents of 70,000 elements add up to more than float16 holds
    return cast_variable(subtract(wide, logsumexp(wide, axis, keepdims=True)), x.type.dtype)


def _as_floating(x: Any) -> Variable:
    x = as_variable(x)
    return x if is_inexact(x.type.dtype) else cast_variable(x, "float64")


FAMILY = Family(
    "softmax",
    ops=(LogSumExp, WeightedLogSumExp, Share, Softmax, LogSoftmax),
    functions=(logsumexp, softmax, log_softmax),
)
