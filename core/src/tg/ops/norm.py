"""Norms of vectors and matrices. The derivative of a norm at 0 is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import absolute, add, divide, flat_power, kink, power, sqrt, square
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, not_equal, where
from tg.ops.family import Family
from tg.ops.linalg.spectral import svdvals
from tg.ops.reduction import Reduce, max, min, reduce_sum, sum
from tg.ops.shape import broadcast_to, expand_dims_at, moveaxis, squeeze
from tg.types.dtypes import in_float32, is_complex, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType
    from tg.variables.like import Integers, TensorLike


@final
class Norm(Op):
    """The root of the sum of squares over axes; its derivative at 0 is 0, once.

    Shapes:
        x (..., n, ...) -> y (... ...), without the axes
    Dtypes:
        real floating in, the same out.
    """

    axes: tuple[int, ...]
    has_expansion = True
    only_derives = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        return Reduce(add, self.axes).infer(x)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written."""
        return sqrt(reduce_sum(square(inputs[0]), self.axes))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent times x / y; the slope at 0 has no slope itself."""
        (x,), (y,), (dy,) = inputs, outputs, cotangents
        if dy is None:
            return (None,)
        length = expand_dims_at(y, self.axes)
        null = equal(length, numpy_dtype(x.type.dtype).type(0))
        slope = where(null, kink(length), divide(x, length))
        return (tools.times(broadcast_to(expand_dims_at(dy, self.axes), x.shape), slope),)


def norm(x: TensorLike, ord: Any = None, axis: Integers | None = None, *, keepdims: bool = False) -> Variable:
    """The norm of vectors along an axis, of matrices along two, or of all elements as one vector.

    Args:
        ord: of vectors inf, -inf, 0 (how many differ from 0) or a number p: sum(|x|**p)**(1/p), 2 by default; of
            matrices "fro" (default), "nuc" (the sum of the singular values), 1, -1, inf, -inf, 2 or -2 (the largest,
            the smallest singular value).
        axis: an integer for vectors, two for matrices; None takes the array as the vector or matrix it is, and all
            elements if `ord` is None too.
    Dtypes:
        that of x, of its parts if it is complex, float64 for bool and integers. Of halves all is computed in float32,
        and rounded once.
    Raises:
        InputError: no such norm.
        ShapeError: `axis` is None and the array is neither vector nor matrix.
    Source:
        numpy.linalg.norm
    """
    x = as_variable(x)
    if in_float32(x.type.dtype) != x.type.dtype:
        return cast_variable(norm(widened(x), ord, axis, keepdims=keepdims), x.type.dtype)
    x = x if is_inexact(x.type.dtype) else cast_variable(x, "float64")
    if axis is None and ord is not None and x.type.ndim not in (1, 2):
        raise ShapeError(message(f"norm: found {x.type} and no axis, needed a vector or a matrix"))
    axes = axis if isinstance(axis, tuple | list) else None if axis is None else (axis,)
    places = (
        tuple(range(-x.type.ndim, 0)) if axes is None else tuple(axis_from_end(k, x.type.ndim, "norm") for k in axes)
    )
    if ord is None:
        return _length(x, places, keepdims)
    if len(places) == 1:
        return _vector_norm(x, ord, places, keepdims)
    if len(places) == 2:
        return _matrix_norm(x, ord, places, keepdims)
    raise ShapeError(message(f"norm: axis: found {axis}, needed one axis for vectors or two for matrices"))


def _length(x: Variable, axes: tuple[int, ...], keepdims: bool) -> Variable:
    size = Norm(axes)(absolute(x) if is_complex(x.type.dtype) else x)
    return expand_dims_at(size, axes) if keepdims and axes else size


def _vector_norm(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if isinstance(ord, str):
        raise InputError(message(f"norm: ord: found {ord!r} for vectors, needed a number"))
    if ord == 2:
        return _length(x, axes, keepdims)
    size = absolute(x)
    if ord in (np.inf, -np.inf):
        return (max if ord > 0 else min)(size, axes, keepdims=keepdims)
    kind = numpy_dtype(size.type.dtype).type
    if ord == 0:
        return sum(cast_variable(not_equal(size, kind(0)), size.type.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    inner, outer = (power, power) if ord < 0 else (flat_power if ord < 1 else power, flat_power)
    return outer(sum(inner(size, kind(ord)), axes, keepdims=keepdims), kind(1 / ord))


def _matrix_norm(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if ord == "fro":
        return _length(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        values = svdvals(moveaxis(x, axes, (-2, -1)))
        combined = sum(values, -1) if ord == "nuc" else (max if ord > 0 else min)(values, -1)
        return expand_dims_at(combined, tuple(sorted(axes))) if keepdims else combined
    if ord not in (1, -1, np.inf, -np.inf):
        needed = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise InputError(message(f"norm: ord: found {ord!r} for matrices, needed {needed}"))
    inner, outer = axes if ord in (1, -1) else axes[::-1]
    sums = sum(absolute(x), inner, keepdims=True)
    value = (max if ord > 0 else min)(sums, outer, keepdims=True)
    places = tuple(sorted(axes))
    return value if keepdims else squeeze(value, places)


FAMILY = Family("norm", ops=(Norm,), functions=(norm,))
