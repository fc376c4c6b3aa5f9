"""Gradients through Cholesky factors that are solutions of their own: of densities, quadratic forms and determinants.

Of the cotangent D of a factor L, `cotangent_by_factor` takes the lower triangle of L'D, makes it symmetric, and solves
with L' from both sides: a product of matrices and two systems of as many sides as rows. What a Gaussian log-density
gives needs less (S is what is solved for from both sides):

* D = W Z' with L'W = Z s, s a number for each column, so that L'D = Z s Z' = S, and the result is W (L'⁻¹ Z)';
* D diagonal with k / L[i, i], so that S = k I, and the result is k L'⁻¹ L⁻¹.

Above the diagonal D is not read: L' has only zeros where that would be multiplied into the lower triangle.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.contraction import MatMul
from tg.ops.creation import Arange, iota, zeros_like
from tg.ops.diagonal import tril
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.comparison import equal, where
from tg.ops.indexing import Gather, Scatter
from tg.ops.linalg.cholesky import Cholesky, cotangent_by_factor
from tg.ops.linalg.linear_systems import identities
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import ExpandDims, Squeeze, expand_dims_at, matrix_transpose, squeeze
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule_of_node
from tg.rules.contraction.products import is_all_zero
from tg.rules.elementwise.arithmetic import is_scalar_constant
from tg.rules.linalg.solving.structure import bounded, definite
from tg.rules.linalg.solving.triangles import below_of
from tg.rules.shape import made_by
from tg.rules.shape.moved import Moved, untransposed
from tg.types.dtypes import is_complex
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg.graph.nodes import Apply, Variable


class Solution(NamedTuple):
    """Right sides that the transpose of a factor is solved for."""

    factor: Variable
    sides: Variable


def _solution(v: Variable) -> Solution | None:
    """The parts of a solution with the transpose of a lower triangular matrix."""
    op: Any = made_by(v, SolveTriangular)
    return Solution(*v.inputs) if op and (op.lower, op.transpose, op.unit_diagonal) == (True, "t", False) else None


def _of_density(x: Variable, y: Variable) -> Variable:
    """The gradient by a covariance of a Gaussian log-density, for examples."""
    factor = Cholesky(raises=False)(definite(x))[0]
    z = SolveTriangular(True, "n", False, raises=False)(factor, bounded(y))
    w = SolveTriangular(True, "t", False, raises=False)(factor, negative(z))
    places = iota(factor.shape[-1])
    quotients = divide(-1.0, Gather((-2, -1))(factor, places, places))
    by_determinant = Scatter((-2, -1), add)(zeros_like(factor), quotients, places, places)
    return cotangent_by_factor(factor, add(by_determinant, tril(negative(MatMul()(w, matrix_transpose(z))))))


@rule_of_node(SolveTriangular, phase=STABILIZE, kind=REASSOCIATES, example=_of_density)
def _gradient_by_factor_of_density(node: Apply, outputs: Any) -> Variable | None:
    """The gradient of a Gaussian log-density is an outer product and an inverse: no product, no systems of it."""
    outer = _solution(outputs[0])
    sides = None if outer is None else untransposed(outer.sides)
    if outer is None or sides is None or not _is_factor(outer.factor):
        return None
    inner = _solution(sides)
    if inner is None or inner.factor is not outer.factor:
        return None
    dfactor = _cotangent(inner.sides, inner.factor)
    if dfactor is None:
        return None
    terms = list(_terms(dfactor))
    summands = [v for term in terms if (v := _term(inner.factor, term)) is not None]
    return functools.reduce(add, summands) if len(summands) == len(terms) else None


def _is_factor(v: Variable) -> bool:
    return bool(made_by(v, Cholesky)) and not is_complex(v.type.dtype)


def _cotangent(s: Variable, factor: Variable) -> Variable | None:
    """D, where s is the sum of the lower triangle of L'D, with half its diagonal, and of the transpose."""
    if s.op is not add.op:
        return None
    for half, turned in (s.inputs, s.inputs[::-1]):
        if untransposed(turned) is not half or half.op is not multiply.op:
            continue
        for triangle, weights in (half.inputs, half.inputs[::-1]):
            product = _triangle(triangle)
            if product is None or not made_by(product, MatMul) or not _halves_diagonal(weights):
                continue
            left, right = product.inputs
            if untransposed(left) is factor:
                return right
    return None


def _triangle(v: Variable, *, lower: bool = True) -> Variable | None:
    """The matrix of which v is the lower triangle, or the upper one, as `tril` and `triu` make them."""
    if v.op is not where.op:
        return None
    condition, x, zero = v.inputs if lower else (v.inputs[0], v.inputs[2], v.inputs[1])
    k = 0 if lower else -1
    if type(condition) is Constant:
        is_below = _equals(condition, lambda n: np.tri(n, k=k, dtype=bool))
    else:
        is_below = (below := below_of(condition)) is not None and below.k == k
    return x if is_below and is_all_zero(zero) else None


def _halves_diagonal(v: Variable) -> bool:
    """Whether v is 1/2 on the diagonal and 1 elsewhere."""
    if type(v) is Constant:
        return _equals(v, lambda n: 1 - np.eye(n) / 2)
    if v.op is not where.op or v.inputs[0].op is not equal.op:
        return False
    condition, half, one = v.inputs
    row, column = condition.inputs
    is_place = all(
        (places := Moved.of(u, ExpandDims).with_axes(axes)) is not None and _is_range(places)
        for u, axes in ((row, (-1,)), (column, (-2,)))
    )
    return is_place and all(is_scalar_constant(u) and u.data == n for u, n in ((half, 0.5), (one, 1)))  # type: ignore[attr-defined]


def _equals(v: Constant, matrix: Callable[[int], Any]) -> bool:
    """Whether each matrix of a constant, if square, is what is made for so many rows."""
    n = v.data.shape[-1] if v.type.ndim >= 2 and v.data.shape[-2] == v.data.shape[-1] else None
    return n is not None and bool((v.data == matrix(n)).all())


def _is_range(v: Variable) -> bool:
    """Whether a vector is 0, 1, 2 and so on."""
    return bool(made_by(v, Arange)) or (
        type(v) is Constant and v.type.ndim == 1 and np.array_equal(v.data, np.arange(v.data.size))
    )


class Term(NamedTuple):
    """A part of a cotangent: a matrix, transposed or not, or the elements of a diagonal; whether it is subtracted."""

    value: Variable
    is_diagonal: bool
    is_turned: bool
    is_negative: bool

    def signed(self, v: Variable) -> Variable:
        """v with the sign of the term."""
        return negative(v) if self.is_negative else v


def _terms(v: Variable, *, is_turned: bool = False, is_negative: bool = False) -> Iterator[Term]:
    """The parts of which a matrix, or its transpose, is the sum, where the upper triangle does not matter."""
    read, scatter = _triangle(v, lower=not is_turned), made_by(v, Scatter)
    if read is not None:
        yield from _terms(read, is_turned=is_turned, is_negative=is_negative)
    elif (below := untransposed(v)) is not None:
        yield from _terms(below, is_turned=not is_turned, is_negative=is_negative)
    elif v.op is negative.op:
        yield from _terms(v.inputs[0], is_turned=is_turned, is_negative=not is_negative)
    elif v.op is add.op:
        for part in v.inputs:
            yield from _terms(part, is_turned=is_turned, is_negative=is_negative)
    elif v.op is subtract.op:
        for part, is_taken in zip(v.inputs, (False, True), strict=True):
            yield from _terms(part, is_turned=is_turned, is_negative=is_negative is not is_taken)
    elif scatter and _is_on_diagonal(v):
        yield Term(v.inputs[1], True, is_turned, is_negative)
        if not is_all_zero(v.inputs[0]):
            yield from _terms(v.inputs[0], is_turned=is_turned, is_negative=is_negative)
    else:
        yield Term(v, False, is_turned, is_negative)


def _is_on_diagonal(v: Variable) -> bool:
    """Whether elements are added to the whole diagonal of a matrix, or are all that is on it."""
    op: Any = v.op
    rows, columns = v.inputs[-2:]
    lengths = v.inputs[0].shape[-2:]
    are_whole = all(_is_range(u) and all(equal_here(u.shape[0], n) for n in lengths) for u in (rows, columns))
    return op.axes == (-2, -1) and are_whole and (type(op) is Gather or op.fn is add)


def _term(factor: Variable, term: Term) -> Variable | None:
    """The term of the matrix's cotangent for a term of the cotangent of the factor."""
    if not term.is_diagonal:
        return _of_product(factor, term)
    value = _of_quotients(factor, term.value)
    return None if value is None else term.signed(value)


def _of_quotients(factor: Variable, v: Variable) -> Variable | None:
    """k L'⁻¹ L⁻¹, where the elements of a diagonal are k / L[i, i]."""
    if v.op is negative.op:
        inner = _of_quotients(factor, v.inputs[0])
        return None if inner is None else negative(inner)
    if v.op is add.op:
        parts = [part for u in v.inputs if (part := _of_quotients(factor, u)) is not None]
        return add(*parts) if len(parts) == 2 else None
    if v.op is divide.op and _is_diagonal_of(v.inputs[1], factor):
        number = _number_of_each(v.inputs[0])
        if number is None:
            return None
        left = SolveTriangular(True, "n", False)(factor, identities(factor))
        return multiply(number, MatMul()(matrix_transpose(left), left))
    if v.op is multiply.op:
        for k, u in (v.inputs, v.inputs[::-1]):
            number = _number_of_each(k)
            inner = None if number is None else _of_quotients(factor, u)
            if number is not None and inner is not None:
                return multiply(number, inner)
    return None


def _is_diagonal_of(v: Variable, factor: Variable) -> bool:
    return bool(made_by(v, Gather)) and v.inputs[0] is factor and _is_on_diagonal(v)


def _number_of_each(v: Variable) -> Variable | None:
    """A factor of the elements of all diagonals as one of matrices; the elements of a diagonal are along axis 0."""
    if v.type.ndim == 0:
        return v
    if v.type.shape[0] != 1:
        return None
    return expand_dims_at(squeeze(v, (-v.type.ndim,)), (-2, -1))


def _of_product(factor: Variable, term: Term) -> Variable | None:
    """W (L'⁻¹ Z)', where the matrix is W Z' and W solves L'W = Z s."""
    if not made_by(term.value, MatMul):
        return None
    left, right = term.value.inputs
    w = _transpose_of(right) if term.is_turned else left
    solution = None if w is None else _solution(w)
    if w is None or solution is None or solution.factor is not factor:
        return None
    side = _without_factors(solution.sides, lambda z: z is left if term.is_turned else _are_transposed(z, right))
    if side is None:
        return None
    if side.is_multiple:
        other = SolveTriangular(True, "t", False)(factor, side.value)
        return term.signed(MatMul()(w, matrix_transpose(other)))
    product = term.signed(MatMul()(w, matrix_transpose(w)))
    return negative(product) if side.is_negative else product


class Side(NamedTuple):
    """Base that right sides are multiples of, by columns; if they are no multiples, whether they are its negatives."""

    value: Variable
    is_multiple: bool
    is_negative: bool


def _without_factors(v: Variable, is_side: Callable[[Variable], bool]) -> Side | None:
    """The first of which a condition holds of v, what v is the negative of, and what it is a multiple of."""
    if is_side(v):
        return Side(v, False, False)
    if v.op is negative.op:
        side = _without_factors(v.inputs[0], is_side)
        return None if side is None else side._replace(is_negative=not side.is_negative)
    if v.op is multiply.op:
        for z, s in (v.inputs, v.inputs[::-1]):
            side = _without_factors(z, is_side) if _is_of_columns(s) else None
            if side is not None:
                return side._replace(is_multiple=True)
    return None


def _are_transposed(z: Variable, turned: Variable) -> bool:
    return z is _transpose_of(turned) or turned is _transpose_of(z)


def _is_of_columns(s: Variable) -> bool:
    """Whether a factor is a number for each column, or for all."""
    return s.type.ndim < 2 or s.type.shape[-2] == 1


def _transpose_of(v: Variable) -> Variable | None:
    """The matrices of which v has the transposes, if they are a value; those of one column may have been vectors."""
    below = untransposed(v)
    return Moved.of(v, ExpandDims, Squeeze).transposed() if below is None else below


RULES = (_gradient_by_factor_of_density,)
