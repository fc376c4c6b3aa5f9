"""Norms of vectors and matrices. The derivative of a norm at 0 is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.ops.elementwise.arithmetic import absolute, power, sqrt, square
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, not_equal, where
from tg.ops.family import Family
from tg.ops.linalg.spectral import svdvals
from tg.ops.reduction import max, min, sum
from tg.ops.shape import expand_dims_at, moveaxis, squeeze
from tg.types.dtypes import is_complex, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def root(x: Variable) -> Variable:
    """The square root, whose derivative at 0 is taken as 0."""
    kind = numpy_dtype(x.type.dtype).type
    null = equal(x, kind(0))
    return where(null, kind(0), sqrt(where(null, kind(1), x)))


def norm(x: Any, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The norm of vectors along an axis, of matrices along two, or of all elements as one vector.

    Args:
        ord: of vectors inf, -inf, 0 (how many differ from 0) or a number p: sum(|x|**p)**(1/p), 2 by default; of
            matrices "fro" (default), "nuc" (the sum of the singular values), 1, -1, inf, -inf, 2 or -2 (the largest,
            the smallest singular value).
        axis: an integer for vectors, two for matrices; None takes the array as the vector or matrix it is, and all
            elements if `ord` is None too.
    Dtypes:
        that of x, of its parts if it is complex, float64 for bool and integers.
    Raises:
        InputError: no such norm.
        ShapeError: `axis` is None and the array is neither vector nor matrix.
    Source:
        numpy.linalg.norm
    """
    x = as_variable(x)
    x = x if is_inexact(x.type.dtype) else cast_variable(x, "float64")
    if axis is None and ord is not None and x.type.ndim not in (1, 2):
        raise ShapeError(message(f"norm: found {x.type} and no axis, needed a vector or a matrix"))
    given = axis if isinstance(axis, tuple | list) else None if axis is None else (axis,)
    places = (
        tuple(range(-x.type.ndim, 0)) if given is None else tuple(axis_from_end(k, x.type.ndim, "norm") for k in given)
    )
    if ord is None:
        return root(sum(_squares(x), places, keepdims=keepdims))
    if len(places) == 1:
        return _vector_norm(x, ord, places, keepdims)
    if len(places) == 2:
        return _matrix_norm(x, ord, places, keepdims)
    raise ShapeError(message(f"norm: axis: found {axis}, needed one axis for vectors or two for matrices"))


def _squares(x: Variable) -> Variable:
    return square(absolute(x) if is_complex(x.type.dtype) else x)


def _vector_norm(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if isinstance(ord, str):
        raise InputError(message(f"norm: ord: found {ord!r} for vectors, needed a number"))
    if ord == 2:
        return root(sum(_squares(x), axes, keepdims=keepdims))
    size = absolute(x)
    if ord in (np.inf, -np.inf):
        return (max if ord > 0 else min)(size, axes, keepdims=keepdims)
    kind = numpy_dtype(size.type.dtype).type
    if ord == 0:
        return sum(cast_variable(not_equal(size, kind(0)), size.type.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    total = sum(_power(size, kind(ord), positive=ord > 0), axes, keepdims=keepdims)
    return _power(total, kind(1 / ord), positive=ord > 0)


def _power(x: Variable, exponent: Any, *, positive: bool) -> Variable:
    """A power; at 0 the derivative of a positive one is taken as 0."""
    if not positive:
        return power(x, exponent)
    kind = numpy_dtype(x.type.dtype).type
    null = equal(x, kind(0))
    return where(null, kind(0), power(where(null, kind(1), x), exponent))


def _matrix_norm(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if ord == "fro":
        return root(sum(_squares(x), axes, keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        values = svdvals(moveaxis(x, axes, (-2, -1)))
        combined = sum(values, -1) if ord == "nuc" else (max if ord > 0 else min)(values, -1)
        return expand_dims_at(combined, tuple(sorted(axes))) if keepdims else combined
    if ord not in (1, -1, np.inf, -np.inf):
        needed = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise InputError(message(f"norm: ord: found {ord!r} for matrices, needed {needed}"))
    inner, outer = axes if ord in (1, -1) else axes[::-1]
    sums = sum(absolute(x), inner, keepdims=True)
    found = (max if ord > 0 else min)(sums, outer, keepdims=True)
    kept = tuple(sorted(axes))
    return found if keepdims else squeeze(found, kept)


FAMILY = Family("norm", functions=(norm,))
