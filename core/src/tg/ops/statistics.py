"""Means and spreads of elements over axes, covariances, and the same without NaN: all built of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.ops.assumptions import required
from tg.ops.contraction import matmul
from tg.ops.cumulative import cumprod, cumsum
from tg.ops.diagonal import diagonal
from tg.ops.elementwise.arithmetic import absolute, clip, divide, flat_root, maximum, multiply, sqrt, square, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import greater, isnan, logical_not
from tg.ops.elementwise.comparison import where as choose
from tg.ops.elementwise.complex import conjugate, real
from tg.ops.family import Family
from tg.ops.reduction import all, any, argmax, argmin, max, min, prod, sum
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, reshape, squeeze, transpose, with_lengths
from tg.types.dtypes import dtype_name, in_float32, is_complex, is_inexact, numpy_dtype
from tg.types.lengths import product
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.variables.like import Integers, TensorLike


def as_floating(x: Any, dtype: object = None) -> Variable:
    """The operand in a floating or complex dtype: `dtype`, its own, or float64 for bool and integers.

    Raises:
        DtypeError: `dtype` is bool or an integer one.
    """
    x = as_variable(x)
    if dtype is not None:
        name = dtype_name(dtype)
        if not is_inexact(name):
            raise DtypeError(message(f"dtype: found {name}, needed a floating or complex one to average in"))
        return cast_variable(x, name)
    return x if is_inexact(x.type.dtype) else cast_variable(x, "float64")


def _count(x: Variable, axis: Any, keepdims: bool, chosen: Any, what: str) -> Variable:
    """Number of elements that are averaged, as an integer."""
    if chosen is not None:
        return sum(broadcast_to(as_variable(chosen), x.shape), axis, keepdims=keepdims)
    axes = axes_from_end(axis, x.type.ndim, what)
    return as_size_variable(product(tuple(x.shape[k] for k in axes)))


def mean(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    keepdims: bool = False,
    where: TensorLike | None = None,
) -> Variable:
    """The arithmetic mean over axes (all by default); NaN for no elements.

    Args:
        where: a mask that broadcasts with x: elements to leave out are False.
    Dtypes:
        float64 for bool and integers; or `dtype`. Halves are averaged in float32, and rounded once.
    Source:
        numpy.mean
    """
    x = as_floating(x, dtype)
    return cast_variable(_mean(widened(x), axis, keepdims, where), x.type.dtype)


def _mean(x: Variable, axis: Any, keepdims: bool, chosen: Any) -> Variable:
    n = cast_variable(_count(x, axis, keepdims, chosen, "mean"), x.type.dtype)
    return divide(sum(x, axis, keepdims=keepdims, where=chosen), n)


def average(
    x: TensorLike,
    axis: Integers | None = None,
    weights: TensorLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Variable | tuple[Variable, Variable]:
    """The mean with weights: sum(x * weights) / sum(weights).

    Args:
        weights: of the shape of x, or of its lengths along `axis`; all equal by default.
        returned: whether the sums of the weights come too.
    Raises:
        ShapeError: weights have another rank than x and than `axis` names, or another length.
    Source:
        numpy.average
    """
    x = as_variable(x)
    if weights is None:
        y = mean(x, axis, keepdims=keepdims)
        n = cast_variable(_count(x, axis, keepdims, None, "average"), y.type.dtype)
        return (y, broadcast_to(n, y.shape)) if returned else y
    w = weights_beside(x, axis, as_variable(weights), "average")
    (x, w), dtype = promoted([as_floating(x), as_floating(w)])
    wide = in_float32(dtype)
    x, w = cast_variable(x, wide), broadcast_to(cast_variable(w, wide), x.shape)
    scale = sum(w, axis, keepdims=keepdims)
    y = cast_variable(divide(sum(multiply(x, w), axis, keepdims=keepdims), scale), dtype)
    return (y, cast_variable(scale, dtype)) if returned else y


def weights_beside(x: Variable, axis: Any, w: Variable, what: str) -> Variable:
    """Weights with an axis for each of x.

    Raises:
        ShapeError: they have another rank than x and than `axis` names, or another length.
    """
    if w.type.ndim == x.type.ndim:
        return with_lengths(w, dict(zip(range(-x.type.ndim, 0), x.shape, strict=True)), f"{what}: weights")
    axes = [] if axis is None else [axis] if not isinstance(axis, tuple | list) else list(axis)
    places = [axis_from_end(k, x.type.ndim, what) for k in axes]
    if len(places) != w.type.ndim:
        text = f"{what}: weights: found {w.type} for {x.type}, needed its shape, or its lengths along the axes"
        raise ShapeError(message(text))
    w = with_lengths(w, {k - len(places): x.shape[p] for k, p in enumerate(places)}, f"{what}: weights")
    ordered = transpose(w, sorted(range(len(places)), key=places.__getitem__))
    missing = tuple(k for k in range(-x.type.ndim, 0) if k not in places)
    return expand_dims_at(ordered, missing) if missing else ordered


def var(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> Variable:
    """The variance over axes (all by default): the mean of squared deviations, dividing by n - ddof.

    Args:
        where: a mask that broadcasts with x: elements to leave out are False.
        mean: the mean, if it is known, with the axes kept.
        correction: another name for `ddof`.
    Dtypes:
        float64 for bool and integers, the dtype of the parts for complex; or `dtype`. Of halves all is computed in
        float32, and rounded once.
    Source:
        numpy.var
    """
    x = as_floating(x, dtype)
    return _rounded(_variance(x, axis, _freedom(ddof, correction), keepdims, where, mean), x)


def _freedom(ddof: float, correction: float | None) -> float:
    return ddof if correction is None else correction


def _rounded(y: Variable, x: Variable) -> Variable:
    """A real result that was computed of `widened(x)`, in the dtype of x, or of its parts."""
    return y if is_complex(x.type.dtype) else cast_variable(y, x.type.dtype)


def _variance(x: Variable, axis: Any, ddof: float, keepdims: bool, chosen: Any, mean: Any = None) -> Variable:
    """The variance, that of halves in float32."""
    x = widened(x)
    middle = _mean(x, axis, True, chosen) if mean is None else widened(as_variable(mean))
    deviations = subtract(x, middle)
    squares = square(absolute(deviations) if is_complex(x.type.dtype) else deviations)
    total = sum(squares, axis, keepdims=keepdims, where=chosen)
    left = subtract(_count(x, axis, keepdims, chosen, "var"), ddof)
    return divide(total, cast_variable(maximum(left, 0), total.type.dtype))


def std(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> Variable:
    """The standard deviation over axes (all by default): the root of the variance; of constants the derivative is 0.

    Args:
        ddof, where, mean, correction: as in `tg.var`.
    Source:
        numpy.std
    """
    x = as_floating(x, dtype)
    return _rounded(flat_root(_variance(x, axis, _freedom(ddof, correction), keepdims, where, mean)), x)


def nansum(x: TensorLike, axis: Integers | None = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """The sum of the elements that are not NaN.

    Source:
        numpy.nansum
    """
    return sum(x, axis, dtype, keepdims=keepdims, where=_present(x))


def nanprod(x: TensorLike, axis: Integers | None = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """The product of the elements that are not NaN.

    Source:
        numpy.nanprod
    """
    return prod(x, axis, dtype, keepdims=keepdims, where=_present(x))


def nanmax(x: TensorLike, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """The largest element that is not NaN; NaN if all are.

    Raises:
        DomainError: no elements.
    Source:
        numpy.nanmax
    """
    return _extreme(max, x, axis, keepdims, -np.inf)


def nanmin(x: TensorLike, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """The least element that is not NaN; NaN if all are.

    Raises:
        DomainError: no elements.
    Source:
        numpy.nanmin
    """
    return _extreme(min, x, axis, keepdims, np.inf)


def nanmean(x: TensorLike, axis: Integers | None = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """The mean of the elements that are not NaN; NaN if there are none.

    Source:
        numpy.nanmean
    """
    return mean(x, axis, dtype, keepdims=keepdims, where=_present(x))


def nanvar(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Variable:
    """The variance of the elements that are not NaN; NaN if there are no more than `ddof`.

    Source:
        numpy.nanvar
    """
    x = as_floating(x, dtype)
    return _rounded(_variance_of_present(x, axis, ddof, keepdims), x)


def _variance_of_present(x: Variable, axis: Any, ddof: float, keepdims: bool) -> Variable:
    present = _present(x)
    y = _variance(x, axis, ddof, keepdims, present)
    left = subtract(_count(x, axis, keepdims, present, "nanvar"), ddof)
    return choose(greater(left, 0), y, numpy_dtype(y.type.dtype).type(np.nan))


def nanstd(
    x: TensorLike,
    axis: Integers | None = None,
    dtype: object = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Variable:
    """The standard deviation of the elements that are not NaN; NaN if there are no more than `ddof`.

    Source:
        numpy.nanstd
    """
    x = as_floating(x, dtype)
    return _rounded(flat_root(_variance_of_present(x, axis, ddof, keepdims)), x)


def nanargmax(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The place of the largest element that is not NaN, the first of equal ones.

    Raises:
        DomainError: all elements along the axis are NaN, or there are none.
    Source:
        numpy.nanargmax
    """
    return _place_of_extreme("nanargmax", argmax, x, axis, keepdims, -np.inf)


def nanargmin(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The place of the least element that is not NaN, the first of equal ones.

    Raises:
        DomainError: all elements along the axis are NaN, or there are none.
    Source:
        numpy.nanargmin
    """
    return _place_of_extreme("nanargmin", argmin, x, axis, keepdims, np.inf)


def _place_of_extreme(
    what: str, place_of: Callable[..., Variable], x: Any, axis: Any, keepdims: bool, filling: float
) -> Variable:
    x = as_variable(x)
    if not is_inexact(x.type.dtype):
        return place_of(x, axis, keepdims=keepdims)
    missing = isnan(x)
    there = logical_not(any(all(missing, axis)))
    text = f"{what}: found nothing but NaN along an axis, needed a number"
    filled = choose(missing, numpy_dtype(x.type.dtype).type(filling), x)
    return place_of(required(filled, there, (), Descriptor("DomainError", text, None)), axis, keepdims=keepdims)


def nancumsum(x: TensorLike, axis: int | None = None, dtype: object = None) -> Variable:
    """Running sum along an axis (or in C order), NaN counting as 0.

    Source:
        numpy.nancumsum
    """
    return cumsum(_filled(x, 0), axis, dtype)


def nancumprod(x: TensorLike, axis: int | None = None, dtype: object = None) -> Variable:
    """Running product along an axis (or in C order), NaN counting as 1.

    Source:
        numpy.nancumprod
    """
    return cumprod(_filled(x, 1), axis, dtype)


def _filled(x: Any, value: int) -> Variable:
    x = as_variable(x)
    return choose(isnan(x), numpy_dtype(x.type.dtype).type(value), x) if is_inexact(x.type.dtype) else x


def _present(x: Any) -> Variable:
    return logical_not(isnan(as_variable(x)))


def _extreme(reduction: Callable[..., Variable], x: Any, axis: Any, keepdims: bool, filling: float) -> Variable:
    x = as_variable(x)
    if not is_inexact(x.type.dtype):
        return reduction(x, axis, keepdims=keepdims)
    kind = numpy_dtype(x.type.dtype).type
    extreme = reduction(choose(isnan(x), kind(filling), x), axis, keepdims=keepdims)
    return choose(any(_present(x), axis, keepdims=keepdims), extreme, kind(np.nan))


def cov(
    m: TensorLike,
    y: TensorLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
) -> Variable:
    """The covariances of variables, of which each row is one (each column, if not `rowvar`).

    Args:
        y: further variables.
        bias: whether to divide by n rather than n - 1; `ddof` overrides it: n - ddof.
        fweights: how often each observation counts, integers.
        aweights: the weight of each observation.
    Shapes:
        m (k, n) -> (k, k); () for a single variable
    Source:
        numpy.cov
    """
    x = _observations(m, rowvar)
    if y is not None:
        x = concatenate([x, _observations(y, rowvar)], 0)
    kind, x = x.type.dtype, widened(x)
    dtype = x.type.dtype
    weights = [cast_variable(as_variable(w), dtype) for w in (fweights, aweights) if w is not None]
    freedom = ddof if ddof is not None else 0 if bias else 1
    if weights:
        w = weights[0] if len(weights) == 1 else multiply(*weights)
        total = sum(w)
        spent = divide(sum(multiply(w, weights[-1])), total) if aweights is not None else np.ones((), dtype)
        factor = subtract(total, multiply(spent, np.asarray(freedom, dtype)))
        apart = subtract(x, divide(sum(multiply(x, w), 1, keepdims=True), total))
        weighted = multiply(apart, w)
    else:
        factor = cast_variable(subtract(as_size_variable(x.shape[1]), freedom), dtype)
        apart = weighted = subtract(x, _mean(x, 1, True, None))
    size = real(factor) if is_complex(dtype) else factor
    least = maximum(size, np.zeros((), size.type.dtype))
    products = divide(matmul(apart, conjugate(weighted).T), cast_variable(least, dtype))
    y = cast_variable(products, kind)
    return squeeze(y, (0, 1)) if x.type.shape[0] == 1 else y


def _observations(m: Any, rowvar: bool) -> Variable:
    """Variables as the rows of a floating matrix."""
    x = as_floating(m)
    if x.type.ndim > 2:
        raise ShapeError(message(f"cov: found {x.type}, needed at most 2 axes"))
    if x.type.ndim == 2:
        return x if rowvar else transpose(x)
    return reshape(x, (1, -1))


def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True) -> Variable:
    """The correlations of variables, of which each row is one (each column, if not `rowvar`), in [-1, 1].

    Shapes:
        x (k, n) -> (k, k); () for a single variable
    Source:
        numpy.corrcoef
    """
    operands = [as_floating(v) for v in ((x,) if y is None else (x, y))]
    kind = promoted(operands)[1]
    first, *second = map(widened, operands)
    c = cov(first, second[0] if second else None, rowvar)
    if c.type.ndim == 0:
        return cast_variable(divide(c, c), kind)
    if is_complex(c.type.dtype):
        raise DtypeError(message(f"corrcoef: found {c.type.dtype}, needed a real dtype"))
    spread = sqrt(diagonal(c))
    scaled = divide(divide(c, expand_dims_at(spread, (-1,))), expand_dims_at(spread, (-2,)))
    one = numpy_dtype(c.type.dtype).type(1)
    return cast_variable(clip(scaled, -one, one), kind)


FAMILY = Family(
    "statistics",
    functions=(
        mean, average, var, std, nansum, nanprod, nanmax, nanmin, nanmean, nanvar, nanstd, nanargmax, nanargmin,
        nancumsum, nancumprod, cov, corrcoef,
    ),
)  # fmt: skip
