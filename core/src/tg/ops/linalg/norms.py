"""Norms of vectors and matrices, condition numbers and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.ops.elementwise.arithmetic import divide, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, isnan, logical_and, logical_not, not_equal, where
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.linalg.least_squares import limit
from tg.ops.linalg.matrices import matrix
from tg.ops.linalg.solving import inv
from tg.ops.linalg.spectral import svdvals
from tg.ops.norm import norm
from tg.ops.reduction import any as any_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import Squeeze, expand_dims_at, moveaxis, ravel, reshape
from tg.types.dtypes import numpy_dtype
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import Integers, TensorLike


def vector_norm(x: TensorLike, /, *, axis: Integers | None = None, keepdims: bool = False, ord: Any = 2) -> Variable:
    """The norm of vectors along an axis, along several as one, or of all elements.

    Args:
        ord: inf, -inf, 0 (how many differ from 0) or a number p: sum(|x|**p)**(1/p).
    Source:
        numpy.linalg.vector_norm
    """
    x = as_variable(x)
    rank = x.type.ndim
    axes = tuple(range(rank)) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    places = sorted(axis_from_end(k, rank, "vector_norm") for k in axes)
    moved = moveaxis(x, tuple(places), tuple(range(-len(places), 0))) if places else expand_dims_at(x, (-1,))
    lead = moved.shape[: rank - len(places)]
    flat = ravel(moved) if not lead else reshape(moved, (*lead, -1)) if len(places) > 1 else moved
    value = norm(flat, ord, -1)
    return expand_dims_at(value, tuple(places)) if keepdims and places else value


def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Variable:
    """The norm of matrices along the last two axes.

    Args:
        ord: "fro", "nuc" (the sum of the singular values), 1, -1, inf, -inf, 2 or -2 (the largest, the smallest
            singular value).
    Source:
        numpy.linalg.matrix_norm
    """
    return norm(matrix("matrix_norm", x), ord, (-2, -1), keepdims=keepdims)


def cond(x: TensorLike, p: float | str | None = None) -> Variable:
    """The condition number of matrices: the norm times that of the inverse; inf of a singular matrix.

    Args:
        p: None or 2: the quotient of the largest and the smallest singular value; -2: its inverse; or another norm.
    Shapes:
        x (..., m, n) -> (...)
    Source:
        numpy.linalg.cond
    """
    x = matrix("cond", x)
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = Squeeze((-1,))(slice_axis(s, -1, 0, 1)), Squeeze((-1,))(s[..., -1:])
        return divide(last, first) if p == -2 else divide(first, last)
    number = multiply(norm(x, p, (-2, -1)), norm(inv(x, on_error="nan"), p, (-2, -1)))
    singular = logical_and(isnan(number), logical_not(any_of(isnan(x), (-2, -1))))
    return where(singular, numpy_dtype(number.type.dtype).type(np.inf), number)


def matrix_rank(A: TensorLike, tol: Any = None, hermitian: bool = False, *, rtol: TensorLike | None = None) -> Variable:
    """The number of singular values of matrices that are above a limit.

    Args:
        tol: the limit, or one for each matrix; unless given, `rtol` times the largest one.
        hermitian: taken, and of no use: any matrix will do.
        rtol: a number, or one for each matrix; the longer side times the precision of the dtype unless given.
    Shapes:
        A (..., m, n), tol and rtol () or (...) -> int64 (...)
    Source:
        numpy.linalg.matrix_rank
    """
    A = as_variable(A)
    if tol is not None and rtol is not None:
        raise InputError(message("matrix_rank: found tol and rtol, needed one of them"))
    if A.type.ndim < 2:
        return cast_variable(any_of(not_equal(A, 0)), "int64")
    A = matrix("matrix_rank", A)
    s = svdvals(A)
    bound = limit(A, s, rtol) if tol is None else cast_variable(as_variable(tol), s.type.dtype)
    return reduce_sum(cast_variable(greater(s, expand_dims_at(bound, (-1,))), "int64"), (-1,))


FAMILY = Family("linalg/norms", functions=(vector_norm, matrix_norm, cond, matrix_rank), module="linalg")
