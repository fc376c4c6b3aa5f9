"""Cholesky factors of sparse matrices whose pattern is known to hold all that elimination fills in.

A symmetric matrix is given by the values of its lower triangle at the places of the factor, column by column; each
column begins with its diagonal, its rows ascend. `tg.sparse.linalg.cholesky` finds these places.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, NotDifferentiable, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.creation import iota, ones_like, zeros_like
from tg.ops.elementwise.arithmetic import add, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, logical_and
from tg.ops.elementwise.exponential import log
from tg.ops.family import Family
from tg.ops.fronts import factored, inverse, substituted
from tg.ops.indexing import Gather, Scatter, slice_axis, wrap_index
from tg.ops.linalg.matrices import info_check
from tg.ops.reduction import all as all_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at
from tg.ops.sparse import SparseDots, SparseProduct, pattern_checks, row_numbers
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import maximum as longest
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]


@final
class SparseCholesky(Op):
    """The lower factor of a symmetric positive-definite matrix, at the places of its values, and what was found.

    `info` is 0, or k where the leading minor of order k is the first that is not positive: the factor is NaN then, and
    with `raises` that is an error.

    Shapes:
        a (..., n), indices (n), pointers (rows + 1) -> l (..., n), info int32 (...)
    Dtypes:
        float32 or float64; indices and pointers int32 or int64
    Raises:
        LinAlgError: with `raises`, a matrix is not positive definite.
        BoundsError: indices and pointers are not those of a factor.
    Source:
        Left-looking elimination with lists of the columns that touch a row: George and Liu, Computer Solution of Large
        Sparse Positive Definite Systems, 1981.
    """

    raises: bool = True

    def infer(self, a: TensorType, indices: TensorType, pointers: TensorType) -> tuple[TensorType, ...]:
        """The type of the values, and an integer for each matrix."""
        _need_factor("sparse cholesky", a, indices, pointers)
        return a, TensorType("int32", a.shape[:-1])

    def perform(self, a: Array, indices: Array, pointers: Array) -> tuple[Array, ...]:
        """Block by block of columns, as one front."""
        flat = _one_by_one(a, 1)
        results = [factored(v, indices, pointers) for v in flat]
        factors = np.array([v for v, _ in results], a.dtype).reshape(a.shape)
        return factors, np.array([k for _, k in results], np.int32).reshape(a.shape[:-1])

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The places are those of a factor, and every matrix is positive definite."""
        fact = "is not positive definite: its leading minor of order {0} is not positive"
        positive = (
            (info_check(outputs[1], "sparse cholesky", fact, "tg.sparse.linalg.cholesky"),) if self.raises else ()
        )
        return (*_factor_checks(*inputs[1:]), *positive)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: whatever is computed of a factor has its derivative by the matrix's values."""
        if cotangents[0] is not None:
            hint = "its logarithm of the determinant and solutions with it have derivatives"
            raise NotDifferentiable(message("sparse cholesky: the factor itself has no derivative", hint=hint))
        return (None,) * len(inputs)

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """None, as in reverse mode."""
        return (None, None)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis of values."""
        tools.need_unbatched(self, batched[1:], "the pattern of a sparse matrix")
        return self(*inputs)  # type: ignore[no-any-return]


@final
class SparseSolve(Op):
    """The solution of a x = b for a symmetric matrix whose factor there is.

    Shapes:
        a (..., n), l (..., n), indices (n), pointers (rows + 1), b (..., rows, k) -> x (..., rows, k)
    Raises:
        BoundsError: indices and pointers are not those of a factor.
    Source:
        scipy.sparse.linalg.spsolve. The pullback solves with the same factor.
    """

    def infer(
        self, a: TensorType, l: TensorType, indices: TensorType, pointers: TensorType, b: TensorType
    ) -> tuple[TensorType, ...]:
        """The type of b."""
        _need_factor("sparse solve", a, indices, pointers)
        _need_factor("sparse solve", l, indices, pointers)
        if b.dtype != a.dtype or l.dtype != a.dtype or len(b.shape) != len(a.shape) + 1:
            raise ShapeError(message(f"sparse solve: found {b} for values {a}, needed matrices of right sides"))
        require_same(b.shape[-2], _row_count(pointers), lambda: "sparse solve: rows")
        for m, n in zip(a.shape[:-1], b.shape[:-2], strict=True):
            require_same(m, n, lambda: "sparse solve: leading axes")
        return (b,)

    def perform(self, a: Array, l: Array, indices: Array, pointers: Array, b: Array) -> tuple[Array, ...]:
        """Forward and back substitution."""
        x = _one_by_one(b, 2).copy()
        for factor, sides in zip(_one_by_one(l, 1), x, strict=True):
            substituted(factor, indices, pointers, sides)
        return (x.reshape(b.shape),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The places are those of a factor."""
        return _factor_checks(*inputs[2:4])

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The solution for the cotangent, and its products with x at the places, of both triangles."""
        (a, l, indices, pointers, _), (x,), (dx,) = inputs, outputs, cotangents
        if dx is None:
            return (None,) * 5
        db = self(a, l, indices, pointers, dx)
        both = add(SparseDots()(indices, pointers, db, x), SparseDots()(indices, pointers, x, db))
        half = multiply(_weights(a, pointers), numpy_dtype(a.type.dtype).type(0.5))
        return (negative(multiply(both, half)), None, None, None, db)

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The solution for db - da x."""
        (a, l, indices, pointers, _), (x,), (da, *_, db) = inputs, outputs, tangents
        side = db
        if da is not None:
            off = multiply(da, subtract(_weights(a, pointers), numpy_dtype(a.type.dtype).type(1)))
            moved = SparseProduct(True)(da, indices, pointers, x, as_size_variable(x.shape[-2]))
            moved = add(moved, SparseProduct(False)(off, indices, pointers, x))
            side = negative(moved) if db is None else subtract(db, moved)
        return (None if side is None else self(a, l, indices, pointers, side),)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        tools.need_unbatched(self, batched[2:4], "the pattern of a sparse matrix")
        a, l, b = (tools.lead(inputs[k], batched[k], size) for k in (0, 1, 4))
        return (self(a, l, *inputs[2:4], b),)


@final
class SparseLogDet(Op):
    """The logarithm of the determinant of a symmetric positive-definite matrix whose factor there is.

    Shapes:
        a (..., n), l (..., n), indices (n), pointers (rows + 1) -> y (...)
    Source:
        The pullback is the inverse at the places of the factor: Takahashi, Fagan and Chen 1973.
    """

    has_expansion = True

    def infer(self, a: TensorType, l: TensorType, indices: TensorType, pointers: TensorType) -> tuple[TensorType, ...]:
        """A number for each matrix."""
        _need_factor("sparse logdet", a, indices, pointers)
        _need_factor("sparse logdet", l, indices, pointers)
        return (TensorType(l.dtype, l.shape[:-1]),)

    def expansion(self, *inputs: Variable) -> Variable:
        """Twice the sum of the logarithms on the factor's diagonal."""
        _, l, _, pointers = inputs
        pivots = Gather((-1,))(l, _diagonal(l, pointers))  # the index axis is in front
        return multiply(reduce_sum(log(pivots), (-pivots.type.ndim,)), numpy_dtype(l.type.dtype).type(2))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The places are those of a factor."""
        return _factor_checks(*inputs[2:4])

    def _slopes(self, inputs: Sequence[Variable]) -> Variable:
        a, l, indices, pointers = inputs
        return multiply(SparseInverse()(l, indices, pointers), _weights(a, pointers))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The inverse at the places, what stands for two elements twice."""
        (dy,) = cotangents
        if dy is None:
            return (None,) * 4
        return (multiply(expand_dims_at(dy, (-1,)), self._slopes(inputs)), None, None, None)

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The sum of products with the inverse."""
        da = tangents[0]
        return (None if da is None else reduce_sum(multiply(da, self._slopes(inputs)), (-1,)),)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        tools.need_unbatched(self, batched[2:], "the pattern of a sparse matrix")
        a, l = (tools.lead(v, own, size) for v, own in zip(inputs[:2], batched[:2], strict=True))
        return (self(a, l, *inputs[2:]),)


@final
class SparseInverse(Op):
    """The elements of the inverse of a matrix at the places of its factor, of which no others are computed.

    Shapes:
        l (..., n), indices (n), pointers (rows + 1) -> z (..., n)
    Raises:
        BoundsError: indices and pointers are not those of a factor.
    Source:
        Takahashi, Fagan and Chen 1973; Erisman and Tinney, CACM 18 (1975), 177
    """

    def infer(self, l: TensorType, indices: TensorType, pointers: TensorType) -> tuple[TensorType, ...]:
        """The type of the factor."""
        _need_factor("sparse inverse", l, indices, pointers)
        return (l,)

    def perform(self, l: Array, indices: Array, pointers: Array) -> tuple[Array, ...]:
        """Block by block of columns, from the last one."""
        return (np.array([inverse(v, indices, pointers) for v in _one_by_one(l, 1)]).reshape(l.shape),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The places are those of a factor."""
        return _factor_checks(*inputs[1:])

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """Refused: it needs elements of the inverse that are not computed."""
        if cotangents[0] is None:
            return (None,) * 3
        text = "sparse inverse: has no derivative: it needs elements of the inverse at other places"
        raise NotDifferentiable(message(text, hint="tg.linalg.slogdet of a.todense() has derivatives of any order"))

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        tools.need_unbatched(self, batched[1:], "the pattern of a sparse matrix")
        return (self(*inputs),)


# --- types and checks ------------------------------------------------------------------------------------------------


def _need_factor(what: str, values: TensorType, indices: TensorType, pointers: TensorType) -> None:
    if values.dtype not in ("float32", "float64") or not values.shape:
        raise DtypeError(message(f"{what}: found {values}, needed values in float32 or float64"))
    for v in (indices, pointers):
        if v.dtype not in ("int32", "int64") or len(v.shape) != 1:
            raise DtypeError(message(f"{what}: found {v}, needed vectors of int32 or int64"))
    require_same(values.shape[-1], indices.shape[0], lambda: f"{what}: values and indices")


def _one_by_one(array: Array, rank: int) -> Array:
    """An array with one leading axis before so many of its own, which may have no elements."""
    lead = array.ndim - rank
    return array.reshape(math.prod(array.shape[:lead]), *array.shape[lead:])


def _row_count(pointers: TensorType) -> Any:
    return longest(subtract_lengths(pointers.shape[0], 1), 0)  # type: ignore[arg-type]


def _diagonal(values: Variable, pointers: Variable) -> Variable:
    """The place of each diagonal element."""
    rows = longest(subtract_lengths(pointers.shape[0], 1), 0)
    return wrap_index(slice_axis(pointers, -1, 0, rows), values.shape[-1], "promise")


def _weights(a: Variable, pointers: Variable) -> Variable:
    """Number of elements of the symmetric matrix that each value stands for: 1 on the diagonal, 2 beside it."""
    one = numpy_dtype(a.type.dtype).type(1)
    like = zeros_like(
        slice_axis(a, -1, 0, a.shape[-1]) if a.type.ndim == 1 else reduce_sum(a, tuple(range(-a.type.ndim, -1)))
    )
    at = _diagonal(like, pointers)
    pivots = Scatter((-1,), None)(like, cast_variable(ones_like(at), a.type.dtype), at)
    return subtract(one + one, pivots)


def _factor_checks(indices: Variable, pointers: Variable) -> tuple[Check, ...]:
    """A pattern of square matrices whose columns begin with the diagonal, with rows that ascend."""
    rows = longest(subtract_lengths(pointers.shape[0], 1), 0)
    begins, ends = slice_axis(pointers, -1, 0, rows), slice_axis(pointers, -1, 1, rows)
    first = Gather((-1,))(indices, wrap_index(begins, indices.shape[0], "promise"))
    whole = logical_and(all_of(greater(ends, begins)), all_of(equal(cast_variable(first, "int64"), iota(rows))))
    columns = row_numbers(pointers, indices.shape[0])
    count = longest(subtract_lengths(indices.shape[0], 1), 0)
    before, behind = (slice_axis(v, -1, 0, count) for v in (indices, columns))
    after, beyond = (slice_axis(v, -1, subtract_lengths(indices.shape[0], count), count) for v in (indices, columns))
    ascends = all_of(greater(after, before) | greater(beyond, behind))
    text = "sparse factor: found {0} columns that do not all begin with their diagonal, with rows that ascend"
    fine = logical_and(whole, ascends)
    size = as_size_variable(rows)
    return (
        *pattern_checks(indices, pointers, size),
        Check(fine, (size,), Descriptor("BoundsError", text, "tg.sparse.linalg.symbolic(a) has such places")),
    )


FAMILY = Family("sparse_factors", ops=(SparseCholesky, SparseSolve, SparseLogDet, SparseInverse))
