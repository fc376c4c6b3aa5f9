"""Sums of exponentials, and what is made of them, without overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.facts import NONE, facts_of
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, divide, maximum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isfinite, where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.family import Family
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape import broadcast_to, expand_dims_at, moveaxis, reshape
from tg.types.dtypes import is_float, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, need_axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType


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
        (x,) = inputs
        top = Reduce(maximum, self.axes, total=True)(x)
        shift = where(isfinite(top), top, numpy_dtype(x.type.dtype).type(0))
        return add(log(reduce_sum(exp(subtract(x, expand_dims_at(shift, self.axes))), self.axes)), shift)

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
        zero = numpy_dtype(x.type.dtype).type(0)
        base = expand_dims_at(y, self.axes)
        share = where(equal(base, numpy_dtype(x.type.dtype).type(-np.inf)), zero, exp(subtract(x, base)))
        return (tools.gate(broadcast_to(expand_dims_at(dy, self.axes), x.shape), share),)


@final
class Softmax(Op):
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
        (x,) = inputs
        top = expand_dims_at(Reduce(maximum, (self.axis,), total=True)(x), (self.axis,))
        powers = exp(subtract(x, top))
        return divide(powers, expand_dims_at(reduce_sum(powers, (self.axis,)), (self.axis,)))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A share is not below 0; infinite operands may have none, and complex ones a sum of 0."""
        x = inputs[0]
        return (("nonnegative", "no_negative_zero", *(facts_of(x) & {"finite"})) if is_float(x.type.dtype) else NONE,)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """y * (dy - sum(dy * y))."""
        (y,), (dy,) = outputs, cotangents
        if dy is None:
            return (None,)
        inner = expand_dims_at(reduce_sum(multiply(dy, y), (self.axis,)), (self.axis,))
        return (multiply(y, subtract(dy, inner)),)


def logsumexp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """log(sum(exp(x))) over axes (all by default) without overflow; -inf where all elements are.

    Source:
        scipy.special.logsumexp
    """
    x = _as_floating(x)
    axes = axes_from_end(axis, x.type.ndim, "logsumexp")
    y = LogSumExp(axes)(x) if axes else x
    return expand_dims_at(y, axes) if keepdims and axes else y


def softmax(x: Any, axis: Any = -1) -> Variable:
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


def log_softmax(x: Any, axis: Any = -1) -> Variable:
    """log(softmax(x)) along an axis, or over several (None: all of them), without overflow.

    Source:
        scipy.special.log_softmax, whose axis is None by default
    """
    x = _as_floating(x)
    return subtract(x, logsumexp(x, axis, keepdims=True))


def _as_floating(x: Any) -> Variable:
    x = as_variable(x)
    return x if is_inexact(x.type.dtype) else cast_variable(x, "float64")


FAMILY = Family("softmax", ops=(LogSumExp, Softmax), functions=(logsumexp, softmax, log_softmax))
