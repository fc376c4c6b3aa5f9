"""Running results along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.op import Op
from tg.ops.creation import eye, full, iota
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, less_equal, logical_and, logical_or, not_equal, where
from tg.ops.elementwise.exponential import logaddexp
from tg.ops.elementwise.record import in_loop
from tg.ops.family import Family
from tg.ops.indexing import flip, slice_axis, take
from tg.ops.iteration import scan
from tg.ops.reduction import identity, reduce_sum
from tg.ops.reductions import REDUCTIONS
from tg.ops.shape import Concatenate, expand_dims_at, moveaxis, ravel
from tg.ops.sorting import along
from tg.types.dtypes import accumulator, dtype_name, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axis_from_end, need_axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.reductions import Reduction
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

WIDER: Final = {"float16": "float32", "bfloat16": "float32"}


@final
class Accumulate(Op):
    """The running result of `fn` along `axis`: y[0] = x[0], y[i] = fn(y[i - 1], x[i]).

    `fn` has a record in `tg.ops.reductions` with a derivative for this: of core add, multiply, maximum and minimum,
    whose results are all NaN from the first NaN on.

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Dtypes:
        those of x; `tg.cumsum` and `tg.cumprod` cast to the accumulator first (int8 -> int64, float32 -> float32). Of
        bool, add and maximum are the running any, multiply and minimum the running all.
    Raises:
        DtypeError: `fn` is another function.
        ShapeError: `axis` is not an axis of x.
    Source:
        numpy.ufunc.accumulate
    """

    fn: ElementwiseFunction
    axis: int  # counted from the end: -1 is the last

    @property
    def reduction(self) -> Reduction:
        """The record."""
        return REDUCTIONS[self.fn]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        if self.fn not in REDUCTIONS or self.reduction.running_pullback is None:
            raise DtypeError(message(f"accumulate: {self.fn} has no running result"))
        need_axes("accumulate", (self.axis,), len(x.shape))
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The record's reference."""
        return (self.reduction.perform_running(x, self.axis),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """As those of the reduction; extrema are among the elements."""
        return (self.reduction.facts(inputs[0]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The record's."""
        (x,), (y,), (dy,) = inputs, outputs, cotangents
        if dy is None or not is_inexact(x.type.dtype):
            return (None,)
        assert self.reduction.running_pullback is not None
        return (self.reduction.running_pullback(self, x, y, dy),)


def pullback_of_sums(op: Accumulate, x: Variable, y: Variable, dy: Variable) -> Variable:
    """Summed from the far end."""
    return _from_the_end(dy, op.axis)


def pullback_of_products(op: Accumulate, x: Variable, y: Variable, dy: Variable) -> Variable:
    """See `CumProdPullback`."""
    last = [moveaxis(v, op.axis, -1) for v in (x, y, dy)]
    return moveaxis(CumProdPullback()(last[0], last[2]), -1, op.axis)


def pullback_of_extremes(op: Accumulate, x: Variable, y: Variable, dy: Variable) -> Variable:
    """Ties so far share equally."""
    return moveaxis(_extreme_pullback(*(moveaxis(v, op.axis, -1) for v in (x, y, dy))), -1, op.axis)


def _from_the_end(x: Variable, axis: int) -> Variable:
    """The running sum from the far end."""
    return flip(Accumulate(add, axis)(flip(x, axis)), axis)


@final
class CumProdPullback(Op):
    """The cotangent of a running product along the last axis: dx[j] = sum over i >= j of dy[i] * y[i] without x[j].

    Shapes:
        x (..., n), dy (..., n) -> dx (..., n)
    """

    has_expansion = True

    def infer(self, x: TensorType, dy: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes("cumprod", (-1,), len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """Sums from the end over x[j] where that is not 0; at the first 0 with that taken as 1; at others 0 of dy."""
        x, dy = inputs
        kind = numpy_dtype(x.type.dtype).type
        null = equal(x, kind(0))
        first = logical_and(null, equal(Accumulate(add, -1)(cast_variable(null, "int64")), 1))
        plain = _from_the_end(multiply(dy, Accumulate(multiply, -1)(x)), -1)
        filled = _from_the_end(multiply(dy, Accumulate(multiply, -1)(where(first, kind(1), x))), -1)
        return where(first, filled, divide(plain, where(null, kind(1), x)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Through the same sums written as a table, in which zeros need no cases."""
        return tools.vjp_of(_from_a_table, inputs, cotangents)  # type: ignore[no-any-return]


def _from_a_table(x: Variable, dy: Variable) -> Variable:
    """The cotangent of a running product: row j of the table has the products in which x[j] is 1."""
    kind = numpy_dtype(x.type.dtype).type
    n = x.shape[-1]
    table = Accumulate(multiply, -1)(where(eye(n, dtype="bool"), kind(1), expand_dims_at(x, (-2,))))
    later = less_equal(expand_dims_at(iota(n), (-1,)), expand_dims_at(iota(n), (-2,)))
    return reduce_sum(where(later, multiply(table, expand_dims_at(dy, (-2,))), kind(0)), (-1,))


def products_around(x: Variable) -> Variable:
    """For each element along the last axis the product of those before it times that of those after it."""
    return multiply(_products_before(x), flip(_products_before(flip(x, -1)), -1))


def _products_before(x: Variable) -> Variable:
    one = full((*x.shape[:-1], 1), 1, dtype=x.type.dtype)
    return slice_axis(Concatenate(-1)(one, Accumulate(multiply, -1)(x)), -1, 0, x.shape[-1])


def _extreme_pullback(x: Variable, y: Variable, dy: Variable) -> Variable:
    """Each dy[i] shared by the x[j], j <= i, that equal y[i]: these lie in the run of equal y that i lies in."""
    n = y.shape[-1]
    place = iota(n)
    starts = logical_or(equal(place, 0), not_equal(y, take(y, place - 1, -1, mode="clip")))
    ends = logical_or(equal(place, n - 1), not_equal(y, take(y, place + 1, -1, mode="clip")))
    hit = equal(x, y)
    count = Accumulate(add, -1)(cast_variable(hit, "int64"))
    earlier = Accumulate(maximum, -1)(where(starts, count, 0)) - 1
    share = divide(dy, cast_variable(subtract(count, earlier), dy.type.dtype))
    last = flip(Accumulate(minimum, -1)(flip(where(ends, place, n), -1)), -1)
    sums = _from_the_end(share, -1)
    beyond = subtract(sums, share)
    zero = numpy_dtype(x.type.dtype).type(0)
    return where(hit, subtract(sums, along(beyond, last)), zero)


def _accumulate(fn: ElementwiseFunction, x: Any, axis: int | None, dtype: object, what: str) -> Variable:
    x = as_variable(x)
    if dtype is not None:
        x = cast_variable(x, dtype_name(dtype))
    elif REDUCTIONS[fn].widens:
        x = cast_variable(x, accumulator(x.type.dtype))
    if axis is None:
        return Accumulate(fn, -1)(ravel(x))  # type: ignore[no-any-return]
    return Accumulate(fn, axis_from_end(axis, x.type.ndim, what))(x)  # type: ignore[no-any-return]


def cumsum(x: TensorLike, axis: int | None = None, dtype: object = None) -> Variable:
    """Running sum along an axis, or in C order if `axis` is None.

    Dtypes:
        bool and integers accumulate in 64 bits, floats in their own dtype; or `dtype`.
    Source:
        numpy.cumsum
    """
    return _accumulate(add, x, axis, dtype, "cumsum")


def cumprod(x: TensorLike, axis: int | None = None, dtype: object = None) -> Variable:
    """Running product along an axis, or in C order if `axis` is None. Its derivative is right at zeros too.

    Dtypes:
        bool and integers accumulate in 64 bits, floats in their own dtype; or `dtype`.
    Source:
        numpy.cumprod
    """
    return _accumulate(multiply, x, axis, dtype, "cumprod")


def cummax(x: TensorLike, axis: int | None = None) -> Variable:
    """The largest element so far along an axis, or in C order if `axis` is None; NaN from the first NaN on.

    Elements that tie so far share the derivative.

    Source:
        numpy.maximum.accumulate
    """
    return _accumulate(maximum, x, axis, None, "cummax")


def cummin(x: TensorLike, axis: int | None = None) -> Variable:
    """The least element so far along an axis, or in C order if `axis` is None; NaN from the first NaN on.

    Elements that tie so far share the derivative.

    Source:
        numpy.minimum.accumulate
    """
    return _accumulate(minimum, x, axis, None, "cummin")


def cumulative_sum(
    x: TensorLike, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Variable:
    """Running sum along an axis, which a vector need not name; with 0 in front if `include_initial`.

    Raises:
        ShapeError: `axis` is None and x is no vector.
    Source:
        numpy.cumulative_sum
    """
    return _cumulative(add, x, axis, dtype, include_initial, "cumulative_sum")


def cumulative_prod(
    x: TensorLike, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Variable:
    """Running product along an axis, which a vector need not name; with 1 in front if `include_initial`.

    Raises:
        ShapeError: `axis` is None and x is no vector.
    Source:
        numpy.cumulative_prod
    """
    return _cumulative(multiply, x, axis, dtype, include_initial, "cumulative_prod")


def _cumulative(
    fn: ElementwiseFunction, x: Any, axis: int | None, dtype: object, include_initial: bool, what: str
) -> Variable:
    x = as_variable(x)
    if axis is None and x.type.ndim != 1:
        raise ShapeError(message(f"{what}: found {x.type} and no axis, needed a vector", hint="axis=0 takes the first"))
    y = _accumulate(fn, x, -1 if axis is None else axis, dtype, what)
    if not include_initial:
        return y
    k = -1 if axis is None else axis_from_end(axis, x.type.ndim, what)
    lengths = [1 if j == k else n for j, n in zip(range(-y.type.ndim, 0), y.shape, strict=True)]
    start = int(identity(fn, y.type.dtype))
    return Concatenate(k)(full(lengths, start, dtype=y.type.dtype), y)  # type: ignore[no-any-return]


def logcumsumexp(x: TensorLike, axis: int | None = None) -> Variable:
    """log(cumsum(exp(x))) along an axis, or in C order if `axis` is None, without overflow of any term or sum.

    Dtypes:
        integers become floats as in `tg.exp`; halves are added up in float32.
    Source:
        torch.logcumsumexp, whose axis has no default; jax.lax.cumlogsumexp
    """
    (x,) = in_loop("logcumsumexp", np.cbrt, x)
    dtype = x.type.dtype
    if axis is None:
        x, axis = ravel(x), -1
    rows = moveaxis(cast_variable(x, WIDER.get(dtype, dtype)), axis_from_end(axis, x.type.ndim, "logcumsumexp"), 0)

    def step(total: Variable, row: Variable) -> tuple[Variable, Variable]:
        total = logaddexp(total, row)
        return total, total

    _, sums = scan(step, full(rows.shape[1:], -np.inf, dtype=rows.type.dtype), rows)
    return moveaxis(cast_variable(sums, dtype), 0, axis)


FAMILY = Family(
    "cumulative",
    ops=(Accumulate, CumProdPullback),
    functions=(cumsum, cumprod, cummax, cummin, cumulative_sum, cumulative_prod, logcumsumexp),
)
