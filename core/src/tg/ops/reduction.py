"""Reductions along axes. Sums of bool and of small integers accumulate in 64 bits; max and min propagate NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, InputError, NotDifferentiable, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import Variable, as_size_variable
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater
from tg.ops.elementwise.comparison import where as choose
from tg.ops.family import Family
from tg.ops.reductions import ALL, ANY, LARGEST, LEAST, PRODUCT, REDUCTIONS, SUM, Reduction
from tg.ops.shape import Transpose, expand_dims_at, inverse_permutation, ravel, reshape
from tg.types.dtypes import BOOL, accumulator, dtype_name, is_inexact, numpy_dtype
from tg.types.lengths import product
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, need_axes, weakly_cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.variables.like import Integers, TensorLike

    Array = np.ndarray[Any, Any]


def identity(fn: ElementwiseFunction, dtype: str) -> Any:
    """The value that a reduction by `fn` starts from, as a scalar of the dtype."""
    return REDUCTIONS[fn].identity(dtype)


@final
class Reduce(Op):
    """The elements along `axes` combined by `fn`, which has a record in `tg.ops.reductions`.

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

    @property
    def reduction(self) -> Reduction:
        """The record."""
        return REDUCTIONS[self.fn]

    @property
    def expands(self) -> bool:
        """Whether the record has an expansion."""
        return self.reduction.expansion is not None

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        if self.fn not in REDUCTIONS:
            raise DtypeError(message(f"reduce: {self.fn} has no reduction"))
        self.reduction.check(x.dtype)
        n = len(x.shape)
        need_axes("reduce", self.axes, n)
        return (TensorType(x.dtype, [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k not in self.axes]),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The record's reference."""
        return (self.reduction.perform(x, self.axes).astype(x.dtype),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The record's."""
        assert self.reduction.expansion is not None
        return self.reduction.expansion(inputs[0], self.axes)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Max and min need at least one element."""
        if self.total or not self.reduction.needs_elements:
            return ()
        return _not_empty(self.reduction.name, inputs[0], self.axes)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts of the result from the record, and if there may be no elements, only those of the identity too."""
        reduction, result_facts = self.reduction, self.reduction.facts(inputs[0])
        return (result_facts & reduction.facts_of_none if self.total and reduction.needs_elements else result_facts,)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The record's: sums repeat dy, products multiply it by the others, ties of extremes share it equally."""
        (x,), (y,), (dy,) = inputs, outputs, cotangents
        reduction = self.reduction
        if dy is None or not is_inexact(x.type.dtype) or reduction.kind == "logical":
            return (None,)
        if reduction.pullback is None:
            raise NotDifferentiable(message(f"{reduction.name}: has no derivative"))
        return (reduction.pullback(tools, self, x, y, dy),)

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
        need_axes("prod", (-1,), len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """Product of those before it and those after it: no division, so no digit lost that the product has lost."""
        from tg.ops.cumulative import products_around

        return products_around(*inputs)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Through the same products written as a table, in which zeros need no cases."""
        return tools.vjp_of(_products_of_others, inputs, cotangents)  # type: ignore[no-any-return]


def _products_of_others(x: Variable) -> Variable:
    """The products over rows of a table, in row j of which x[j] is 1."""
    from tg.ops.creation import eye

    own = eye(x.shape[-1], dtype="bool")
    table = choose(own, numpy_dtype(x.type.dtype).type(1), expand_dims_at(x, (-2,)))
    return Reduce(multiply, (-1,))(table)  # type: ignore[no-any-return]


def product_of_others(x: Variable, axes: tuple[int, ...]) -> Variable:
    """For each element the product of the others along `axes`."""
    n = x.type.ndim
    lead = tuple(k for k in range(-n, 0) if k not in axes)
    order = (*lead, *axes)
    moved = Transpose(order)(x) if order != tuple(range(-n, 0)) else x
    flat = _merge_last(moved, len(axes))
    products = ProductOfOthers()(flat)
    back = reshape(products, moved.shape)
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

    @property
    def reduction(self) -> Reduction:
        """The record of the extreme."""
        return REDUCTIONS[self.fn]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """int64, without the axis."""
        n = len(x.shape)
        need_axes("argmax" if self.fn is maximum else "argmin", (self.axis,), n)
        return (TensorType("int64", [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k != self.axis]),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.argmax`, `np.argmin`; 0 for no elements, which the check refuses."""
        if x.shape[self.axis] == 0:
            shape = list(x.shape)
            shape.pop(self.axis)
            return (np.zeros(shape, np.int64),)
        find = np.argmax if self.reduction.sign > 0 else np.argmin
        return (np.asarray(find(x, axis=self.axis)).astype(np.int64),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There is at least one element."""
        return _not_empty(f"arg{self.reduction.name}", inputs[0], (self.axis,))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A position is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: positions have no derivative."""
        return (None,)


def reduced(
    reduction: Reduction,
    x: Any,
    axis: Any,
    *,
    dtype: str | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Variable:
    """The reduction; `where` takes what is not chosen out of it, and `initial` is combined into the result."""
    x = as_variable(x)
    kind = dtype or (accumulator(x.type.dtype) if reduction.widens else x.type.dtype)
    x = cast_variable(x, reduction.fn.loop((kind, kind))[0][0])
    if where is not None:
        x = _only(reduction, x, where, initial)
    axes = axes_from_end(axis, x.type.ndim, reduction.name)
    op = Reduce(reduction.fn, axes, reduction.needs_elements and initial is not None)
    y: Variable = op(x) if axes else x
    if initial is not None:
        y = reduction.fn(y, weakly_cast(initial, x.type.dtype))
    return op.restore(y) if keepdims else y


def _only(reduction: Reduction, x: Variable, chosen: Any, initial: Any) -> Variable:
    """The elements that are chosen, the others replaced by the identity."""
    mask = as_variable(chosen)
    if mask.type.dtype != BOOL:
        raise DtypeError(message(f"{reduction.name}: where: found {mask.type.dtype}, needed bool"))
    if initial is None and reduction.needs_elements:
        hint = "what a reduction starts from is its result where no element is chosen"
        raise InputError(message(f"{reduction.name}: where: found no initial, needed one", hint=hint))
    return choose(mask, x, reduction.identity(x.type.dtype))


def sum(
    x: Any, axis: Any = None, dtype: object = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Variable:
    """The sum over axes (all by default).

    Of n floating numbers it is off by at most n * eps * sum(|x|), on any backend. The reference adds them pairwise in
    their dtype, halves in float32; C and Numba add in float64; frameworks add as their own sums do.

    Args:
        initial: what is added to the sum.
        where: a mask that broadcasts with x: elements to leave out are False.
    Dtypes:
        int64 or uint64 for bool and integers, that of x for others; or `dtype`.
    Source:
        numpy.sum
    """
    kind = None if dtype is None else dtype_name(dtype)
    return reduced(SUM, x, axis, dtype=kind, keepdims=keepdims, initial=initial, where=where)


def prod(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    keepdims: bool = False,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Variable:
    """The product over axes (all by default).

    Args:
        initial: what the product is multiplied with.
        where: a mask that broadcasts with x: elements to leave out are False.
    Dtypes:
        int64 or uint64 for bool and integers, that of x for others; or `dtype`.
    Source:
        numpy.prod
    """
    kind = None if dtype is None else dtype_name(dtype)
    return reduced(PRODUCT, x, axis, dtype=kind, keepdims=keepdims, initial=initial, where=where)


def max(
    x: TensorLike,
    axis: Integers | None = None,
    *,
    keepdims: bool = False,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Variable:
    """The largest element over axes (all by default); NaN if there is one. Ties share the derivative.

    Args:
        initial: what elements are compared with besides, and the result if there are none.
        where: a mask that broadcasts with x: elements to leave out are False; it needs `initial`.
    Raises:
        DomainError: no elements, and no `initial`.
    Source:
        numpy.max
    """
    return reduced(LARGEST, x, axis, keepdims=keepdims, initial=initial, where=where)


def min(
    x: TensorLike,
    axis: Integers | None = None,
    *,
    keepdims: bool = False,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Variable:
    """The least element over axes (all by default); NaN if there is one. Ties share the derivative.

    Args:
        initial: what elements are compared with besides, and the result if there are none.
        where: a mask that broadcasts with x: elements to leave out are False; it needs `initial`.
    Raises:
        DomainError: no elements, and no `initial`.
    Source:
        numpy.min
    """
    return reduced(LEAST, x, axis, keepdims=keepdims, initial=initial, where=where)


def ptp(x: TensorLike, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """The difference of the largest and the least element over axes (all by default).

    Raises:
        DomainError: no elements.
    Source:
        numpy.ptp
    """
    return subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def all(x: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Variable:
    """Whether every element over axes (all by default) differs from 0; True for no elements.

    Source:
        numpy.all
    """
    return reduced(ALL, x, axis, keepdims=keepdims, where=where)


def any(x: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Variable:
    """Whether an element over axes (all by default) differs from 0; False for no elements.

    Source:
        numpy.any
    """
    return reduced(ANY, x, axis, keepdims=keepdims, where=where)


def count_nonzero(x: TensorLike, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """Number of elements over axes (all by default) that differ from 0, as int64.

    Source:
        numpy.count_nonzero
    """
    return sum(cast_variable(as_variable(x), BOOL), axis, keepdims=keepdims)


def _arg(fn: ElementwiseFunction, x: Any, axis: Any, keepdims: bool, what: str) -> Variable:
    x = as_variable(x)
    if axis is None:
        y: Variable = ArgReduce(fn, -1)(ravel(x))
        return expand_dims_at(y, tuple(range(-x.type.ndim, 0))) if keepdims and x.type.ndim else y
    k = axis_from_end(axis, x.type.ndim, what)
    y = ArgReduce(fn, k)(x)
    return expand_dims_at(y, (k,)) if keepdims else y


def argmax(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The position of the first maximum along an axis, or in C order; of the first NaN if there is one.

    Raises:
        DomainError: no elements.
    Source:
        numpy.argmax
    """
    return _arg(maximum, x, axis, keepdims, "argmax")


def argmin(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The position of the first minimum along an axis, or in C order; of the first NaN if there is one.

    Raises:
        DomainError: no elements.
    Source:
        numpy.argmin
    """
    return _arg(minimum, x, axis, keepdims, "argmin")


FAMILY = Family(
    "reduction",
    ops=(Reduce, ArgReduce, ProductOfOthers),
    functions=(sum, prod, max, min, ptp, all, any, count_nonzero, argmax, argmin),
    aliases=(("amax", max), ("amin", min)),
    reductions=(SUM, PRODUCT, LEAST, LARGEST, ALL, ANY),
)
