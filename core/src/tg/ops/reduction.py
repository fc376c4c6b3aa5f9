"""Reductions along axes. Sums of bool and of small integers accumulate in 64 bits; max and min propagate NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import Variable, as_size_variable
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, sqrt, square, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isfinite, logical_and, logical_or, where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.family import Family
from tg.ops.shape import Transpose, broadcast_to, expand_dims_at, inverse_permutation, ravel, reshape
from tg.types.dtypes import BOOL, accumulator, is_complex, is_inexact, numpy_dtype
from tg.types.lengths import Length, product
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.ops.elementwise.record import ElementwiseFunction

    Array = np.ndarray[Any, Any]

UFUNCS: Final[dict[ElementwiseFunction, np.ufunc]] = {
    add: np.add,
    multiply: np.multiply,
    maximum: np.maximum,
    minimum: np.minimum,
    logical_and: np.logical_and,
    logical_or: np.logical_or,
}


def identity(fn: ElementwiseFunction, dtype: str) -> Any:
    """The value that a reduction by `fn` starts from, as a scalar of the dtype."""
    kind = numpy_dtype(dtype)
    if fn is add or fn is logical_or:
        return kind.type(0)
    if fn is multiply or fn is logical_and:
        return kind.type(1)
    if dtype == BOOL:
        return kind.type(fn is minimum)
    if is_inexact(dtype):
        return kind.type(-np.inf if fn is maximum else np.inf)
    limits = np.iinfo(dtype)
    return kind.type(limits.min if fn is maximum else limits.max)


@final
class Reduce(Op):
    """The elements along `axes` combined by `fn`: add, multiply, maximum, minimum, logical_and or logical_or.

    Shapes:
        x (..., n, ...) -> y (... ...), without the axes
    Dtypes:
        those of x; the functions that users call cast to the accumulator first.
    Raises:
        DomainError: the maximum or minimum of no elements, unless `total`, which gives the identity.
    Source:
        numpy.sum, numpy.prod, numpy.max, numpy.min, numpy.all, numpy.any. Sums are pairwise on the reference.
    """

    fn: ElementwiseFunction
    axes: tuple[int, ...]
    total: bool = False

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        if self.fn not in UFUNCS:
            raise DtypeError(message(f"reduce: {self.fn} has no reduction"))
        n = len(x.shape)
        if self.axes and self.axes[0] < -n:
            raise ShapeError(message(f"reduce: axis {self.axes[0]} is out of range: the array has {n} axes"))
        return (TensorType(x.dtype, [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k not in self.axes]),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The ufunc's reduction; floating sums are pairwise whatever the axes."""
        start = identity(self.fn, x.dtype.name)
        if self.fn is add and x.dtype.kind in "fc" and self.axes:
            lead = [k for k in range(-x.ndim, 0) if k not in self.axes]
            rows = np.ascontiguousarray(np.transpose(x, (*lead, *self.axes)))
            flat = rows.reshape((*(x.shape[k] for k in lead), int(np.prod([x.shape[k] for k in self.axes]))))
            return (np.asarray(np.add.reduce(flat, axis=-1)).astype(x.dtype),)
        found = UFUNCS[self.fn].reduce(x, axis=self.axes, initial=start)
        return (np.asarray(found).astype(x.dtype),)

    def checks(self, *inputs: Variable) -> tuple[Check, ...]:
        """Max and min need at least one element."""
        if self.total or self.fn not in (maximum, minimum):
            return ()
        return _not_empty(self.fn.name, inputs[0], self.axes)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Sum: repeated. Product: times the product of the others. Max, min: shared equally by the ties."""
        (x,), (y,), (dy,) = inputs, outputs, cotangents
        if dy is None or not is_inexact(x.type.dtype) or self.fn in (logical_and, logical_or):
            return (None,)
        spread = broadcast_to(self.restore(dy), x.shape)
        if self.fn is add:
            return (spread,)
        if self.fn is multiply:
            return (tools.gate(spread, product_of_others(x, self.axes)),)
        chosen = equal(x, self.restore(y))
        ties = self.restore(reduce_sum(cast_variable(chosen, x.type.dtype), self.axes))
        return (where(chosen, divide(spread, ties), numpy_dtype(x.type.dtype).type(0)),)

    def restore(self, y: Variable) -> Variable:
        """A result with the reduced axes back, of length 1."""
        return expand_dims_at(y, self.axes) if self.axes else y


def _not_empty(name: str, x: Variable, axes: tuple[int, ...]) -> tuple[Check, ...]:
    count = product(tuple(x.shape[k] for k in axes))
    if isinstance(count, int) and count > 0:
        return ()
    n = as_size_variable(count)
    hint = "an element to start from can be joined first: tg.concatenate([x, start])"
    descriptor = Descriptor("DomainError", f"{name}: found an array of no elements, needed at least one", hint)
    return (Check(greater(n, 0), (n,), descriptor),)


def reduce_sum(x: Variable, axes: tuple[int, ...]) -> Variable:
    """The sum over axes, in the dtype of x."""
    return Reduce(add, axes)(x) if axes else x


def total_min(x: Variable) -> Variable:
    """The least element, or the largest value of the dtype if there is none."""
    axes = tuple(range(-x.type.ndim, 0))
    return Reduce(minimum, axes, total=True)(x) if axes else x


def total_max(x: Variable) -> Variable:
    """The largest element, or the least value of the dtype if there is none."""
    axes = tuple(range(-x.type.ndim, 0))
    return Reduce(maximum, axes, total=True)(x) if axes else x


@final
class ProductOfOthers(Op):
    """For each element along the last axis the product of all the others: the derivative of a product.

    Shapes:
        x (..., n) -> y (..., n)
    """

    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The product over the element; where elements are 0, the product of the rest for a single one, else 0."""
        (x,) = inputs
        kind = numpy_dtype(x.type.dtype).type
        null = equal(x, kind(0))
        filled = where(null, kind(1), x)
        rest = expand_dims_at(Reduce(multiply, (-1,))(filled), (-1,))
        nulls = expand_dims_at(Reduce(add, (-1,))(cast_variable(null, "int64")), (-1,))
        alone = where(null, where(equal(nulls, 1), rest, kind(0)), kind(0))
        return where(equal(nulls, 0), divide(rest, filled), alone)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Through the same products written as a table, in which zeros need no cases."""
        from tg.ops.creation import eye

        (x,), (dy,) = inputs, cotangents
        if dy is None:
            return (None,)
        own = eye(x.shape[-1], dtype="bool")
        table = where(own, numpy_dtype(x.type.dtype).type(1), expand_dims_at(x, (-2,)))
        return (tools.vjp_of(Reduce(multiply, (-1,))(table), x, dy),)


def product_of_others(x: Variable, axes: tuple[int, ...]) -> Variable:
    """For each element the product of the others along `axes`."""
    n = x.type.ndim
    lead = tuple(k for k in range(-n, 0) if k not in axes)
    order = (*lead, *axes)
    moved = Transpose(order)(x) if order != tuple(range(-n, 0)) else x
    flat = _merge_last(moved, len(axes))
    found = ProductOfOthers()(flat)
    back = reshape(found, moved.shape)
    return Transpose(inverse_permutation(order))(back) if order != tuple(range(-n, 0)) else back


def _merge_last(x: Variable, count: int) -> Variable:
    return x if count == 1 else reshape(x, (*x.shape[: x.type.ndim - count], product(x.shape[x.type.ndim - count :])))


@final
class ArgReduce(Op):
    """The position of the first maximum or minimum along `axis`; the first NaN counts as both.

    Shapes:
        x (..., n, ...) -> y (... ...), int64
    Raises:
        DomainError: no elements.
    Source:
        numpy.argmax, numpy.argmin
    """

    fn: ElementwiseFunction
    axis: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """int64, without the axis."""
        n = len(x.shape)
        return (TensorType("int64", [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k != self.axis]),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.argmax`, `np.argmin`; 0 for no elements, which the check refuses."""
        if x.shape[self.axis] == 0:
            shape = list(x.shape)
            shape.pop(self.axis)
            return (np.zeros(shape, np.int64),)
        find = np.argmax if self.fn is maximum else np.argmin
        return (np.asarray(find(x, axis=self.axis)).astype(np.int64),)

    def checks(self, *inputs: Variable) -> tuple[Check, ...]:
        """There is at least one element."""
        return _not_empty("argmax" if self.fn is maximum else "argmin", inputs[0], (self.axis,))

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: positions have no derivative."""
        return (None,)


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
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The maximum is taken out first."""
        (x,) = inputs
        top = expand_dims_at(Reduce(maximum, (self.axis,), total=True)(x), (self.axis,))
        powers = exp(subtract(x, top))
        return divide(powers, expand_dims_at(reduce_sum(powers, (self.axis,)), (self.axis,)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Y * (dy - sum(dy * y))."""
        (y,), (dy,) = outputs, cotangents
        if dy is None:
            return (None,)
        inner = expand_dims_at(reduce_sum(multiply(dy, y), (self.axis,)), (self.axis,))
        return (multiply(y, subtract(dy, inner)),)


def _reduce(
    fn: ElementwiseFunction, x: Any, axis: Any, keepdims: bool, what: str, dtype: str | None = None
) -> Variable:
    x = as_variable(x)
    axes = axes_from_end(axis, x.type.ndim, what)
    if dtype is not None:
        x = cast_variable(x, dtype)
    op = Reduce(fn, axes)
    y: Variable = op(x) if axes else x
    return op.restore(y) if keepdims else y


def sum(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The sum over axes (all by default), pairwise or better on the reference and in compiled loops.

    Dtypes:
        bool and integers accumulate in 64 bits, floats in their own dtype.
    Source:
        numpy.sum
    """
    x = as_variable(x)
    return _reduce(add, x, axis, keepdims, "sum", accumulator(x.type.dtype))


def prod(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The product over axes (all by default).

    Dtypes:
        bool and integers accumulate in 64 bits, floats in their own dtype.
    Source:
        numpy.prod
    """
    x = as_variable(x)
    return _reduce(multiply, x, axis, keepdims, "prod", accumulator(x.type.dtype))


def max(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The largest element over axes (all by default); NaN if there is one. Ties share the derivative.

    Raises:
        DomainError: no elements.
    Source:
        numpy.max
    """
    return _reduce(maximum, x, axis, keepdims, "max")


def min(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The least element over axes (all by default); NaN if there is one. Ties share the derivative.

    Raises:
        DomainError: no elements.
    Source:
        numpy.min
    """
    return _reduce(minimum, x, axis, keepdims, "min")


def all(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """Whether every element over axes (all by default) differs from 0; True for no elements.

    Source:
        numpy.all
    """
    return _reduce(logical_and, x, axis, keepdims, "all", BOOL)


def any(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """Whether an element over axes (all by default) differs from 0; False for no elements.

    Source:
        numpy.any
    """
    return _reduce(logical_or, x, axis, keepdims, "any", BOOL)


def mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The arithmetic mean over axes (all by default); NaN for no elements.

    Dtypes:
        float64 for bool and integers.
    Source:
        numpy.mean
    """
    x = as_variable(x)
    if not is_inexact(x.type.dtype):
        x = cast_variable(x, "float64")
    axes = axes_from_end(axis, x.type.ndim, "mean")
    count: int | Length = product(tuple(x.shape[k] for k in axes))
    n = cast_variable(as_size_variable(count), x.type.dtype)
    return divide(sum(x, axis, keepdims=keepdims), n)


def var(x: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Variable:
    """The variance over axes (all by default): the mean of squared deviations, dividing by n - ddof.

    Source:
        numpy.var
    """
    x = as_variable(x)
    if not is_inexact(x.type.dtype):
        x = cast_variable(x, "float64")
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"var: found {x.type.dtype}, needed a real dtype"))
    axes = axes_from_end(axis, x.type.ndim, "var")
    deviations = square(subtract(x, mean(x, axis, keepdims=True)))
    count = product(tuple(x.shape[k] for k in axes))
    n = cast_variable(subtract(as_size_variable(count), ddof), x.type.dtype)
    return divide(sum(deviations, axis, keepdims=keepdims), n)


def std(x: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Variable:
    """The standard deviation over axes (all by default).

    Source:
        numpy.std
    """
    return sqrt(var(x, axis, ddof=ddof, keepdims=keepdims))


def _arg(fn: ElementwiseFunction, x: Any, axis: Any, what: str) -> Variable:
    x = as_variable(x)
    if axis is None:
        return ArgReduce(fn, -1)(ravel(x))  # type: ignore[no-any-return]
    return ArgReduce(fn, axis_from_end(axis, x.type.ndim, what))(x)  # type: ignore[no-any-return]


def argmax(x: Any, axis: int | None = None) -> Variable:
    """The position of the first maximum along an axis, or in C order; of the first NaN if there is one.

    Raises:
        DomainError: no elements.
    Source:
        numpy.argmax
    """
    return _arg(maximum, x, axis, "argmax")


def argmin(x: Any, axis: int | None = None) -> Variable:
    """The position of the first minimum along an axis, or in C order; of the first NaN if there is one.

    Raises:
        DomainError: no elements.
    Source:
        numpy.argmin
    """
    return _arg(minimum, x, axis, "argmin")


def logsumexp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """log(sum(exp(x))) over axes (all by default) without overflow; -inf where all elements are.

    Source:
        scipy.special.logsumexp
    """
    x = _as_floating(x)
    axes = axes_from_end(axis, x.type.ndim, "logsumexp")
    y = LogSumExp(axes)(x) if axes else x
    return expand_dims_at(y, axes) if keepdims and axes else y


def softmax(x: Any, axis: int = -1) -> Variable:
    """exp(x) / sum(exp(x)) along an axis without overflow.

    Source:
        scipy.special.softmax
    """
    x = _as_floating(x)
    return Softmax(axis_from_end(axis, x.type.ndim, "softmax"))(x)  # type: ignore[no-any-return]


def log_softmax(x: Any, axis: int = -1) -> Variable:
    """log(softmax(x)) along an axis without overflow.

    Source:
        scipy.special.log_softmax
    """
    x = _as_floating(x)
    return subtract(x, logsumexp(x, axis, keepdims=True))


def _as_floating(x: Any) -> Variable:
    x = as_variable(x)
    return x if is_inexact(x.type.dtype) else cast_variable(x, "float64")


FAMILY = Family(
    "reduction",
    ops=(Reduce, ArgReduce, ProductOfOthers, LogSumExp, Softmax),
    functions=(
        sum,
        prod,
        max,
        min,
        all,
        any,
        mean,
        var,
        std,
        argmax,
        argmin,
        logsumexp,
        softmax,
        log_softmax,
    ),
)  # fmt: skip
