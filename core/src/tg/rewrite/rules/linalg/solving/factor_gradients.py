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

from tg.ops.contraction import MatMul
from tg.ops.creation import Arange
from tg.ops.diagonal import diag, tril
from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative
from tg.ops.elementwise.comparison import equal, where
from tg.ops.indexing import Gather, Scatter
from tg.ops.linalg.cholesky import Cholesky, cotangent_by_factor
from tg.ops.linalg.matrices import diagonals
from tg.ops.linalg.solving import identities
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import ExpandDims, Squeeze, expand_dims_at, matrix_transpose, squeeze
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.contraction.products import is_all_zero
from tg.rewrite.rules.diagonal import below_of
from tg.rewrite.rules.elementwise.arithmetic import is_scalar_constant
from tg.rewrite.rules.linalg.solving.structure import bounded, definite
from tg.rewrite.rules.linalg.triangular import is_matrix_transpose
from tg.rewrite.rules.shape import made_by
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.graph.nodes import Apply, Variable


class Solution(NamedTuple):
    """What the transpose of a factor is solved for."""

    factor: Variable
    sides: Variable


def _solution(v: Variable) -> Solution | None:
    """The parts of a solution with the transpose of a lower triangular matrix."""
    op: Any = made_by(v, SolveTriangular)
    return Solution(*v.inputs) if op and (op.lower, op.transpose, op.unit_diagonal) == (True, "t", False) else None


def _of_factor(node: Apply, outputs: Any) -> Variable | None:
    outer = _solution(outputs[0])
    if outer is None or not is_matrix_transpose(outer.sides) or not _is_factor(outer.factor):
        return None
    inner = _solution(outer.sides.inputs[0])
    if inner is None or inner.factor is not outer.factor:
        return None
    dfactor = _cotangent(inner.sides, inner.factor)
    if dfactor is None:
        return None
    terms = list(_terms(dfactor))
    found = [v for term in terms if (v := _term(inner.factor, term)) is not None]
    return functools.reduce(add, found) if len(found) == len(terms) else None


def _is_factor(v: Variable) -> bool:
    return bool(made_by(v, Cholesky)) and not is_complex(v.type.dtype)


def _cotangent(s: Variable, factor: Variable) -> Variable | None:
    """D, where s is the sum of the lower triangle of L'D, with half its diagonal, and of the transpose."""
    if s.op is not add.op:
        return None
    for half, turned in (s.inputs, s.inputs[::-1]):
        if not is_matrix_transpose(turned) or turned.inputs[0] is not half or half.op is not multiply.op:
            continue
        for triangle, weights in (half.inputs, half.inputs[::-1]):
            product = _below(triangle)
            if product is None or not made_by(product, MatMul) or not _halves_diagonal(weights):
                continue
            left, right = product.inputs
            if is_matrix_transpose(left) and left.inputs[0] is factor:
                return right
    return None


def _below(v: Variable) -> Variable | None:
    """The matrix of which v is the lower triangle."""
    if v.op is not where.op or not is_all_zero(v.inputs[2]):
        return None
    found = below_of(v.inputs[0])
    return v.inputs[1] if found is not None and found.k == 0 else None


def _halves_diagonal(v: Variable) -> bool:
    """Whether v is 1/2 on the diagonal and 1 elsewhere."""
    if v.op is not where.op or v.inputs[0].op is not equal.op:
        return False
    condition, half, one = v.inputs
    row, column = condition.inputs
    is_place = all(
        (op := made_by(u, ExpandDims)) and op.axes == axes and made_by(u.inputs[0], Arange)
        for u, axes in ((row, (-1,)), (column, (-2,)))
    )
    return is_place and all(is_scalar_constant(u) and u.data == n for u, n in ((half, 0.5), (one, 1)))  # type: ignore[attr-defined]


class Term(NamedTuple):
    """A part of a cotangent: a matrix, or the elements of a diagonal; whether it is subtracted."""

    value: Variable
    is_diagonal: bool
    is_negative: bool

    def signed(self, v: Variable) -> Variable:
        """v with the sign of the term."""
        return negative(v) if self.is_negative else v


def _terms(v: Variable, *, is_negative: bool = False) -> Iterator[Term]:
    """The parts of which a matrix is the sum, where the upper triangle does not matter."""
    below, scatter = _below(v), made_by(v, Scatter)
    if below is not None:
        yield from _terms(below, is_negative=is_negative)
    elif v.op is negative.op:
        yield from _terms(v.inputs[0], is_negative=not is_negative)
    elif v.op is add.op:
        for part in v.inputs:
            yield from _terms(part, is_negative=is_negative)
    elif scatter and _is_on_diagonal(v):
        yield Term(v.inputs[1], True, is_negative)
        if not is_all_zero(v.inputs[0]):
            yield from _terms(v.inputs[0], is_negative=is_negative)
    else:
        yield Term(v, False, is_negative)


def _is_on_diagonal(v: Variable) -> bool:
    """Whether elements are added to the diagonal of a matrix, or taken from it."""
    op: Any = v.op
    rows, columns = v.inputs[-2], v.inputs[-1]
    if op.axes != (-2, -1) or rows is not columns or not made_by(rows, Arange):
        return False
    return type(op) is Gather or op.fn is add


def _term(factor: Variable, term: Term) -> Variable | None:
    """What a term of the cotangent of the factor is for the matrix."""
    return _of_diagonal(factor, term) if term.is_diagonal else _of_product(factor, term)


def _of_diagonal(factor: Variable, term: Term) -> Variable | None:
    """k L'⁻¹ L⁻¹, where the elements are k / L[i, i]."""
    v = term.value
    if v.op is gate.op:
        number = _number_of_each(v.inputs[0])
        inner = None if number is None else _of_diagonal(factor, term._replace(value=v.inputs[1]))
        return None if number is None or inner is None else gate(number, inner)
    if v.op is not divide.op or not _is_diagonal_of(v.inputs[1], factor):
        return None
    number = _number_of_each(v.inputs[0])
    if number is None:
        return None
    left = SolveTriangular(True, "n", False)(factor, identities(factor))
    return term.signed(multiply(number, MatMul()(matrix_transpose(left), left)))


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
    w, turned = term.value.inputs
    found = _solution(w)
    if found is None or found.factor is not factor:
        return None
    if _are_transposed(found.sides, turned):
        return term.signed(MatMul()(w, matrix_transpose(w)))
    if found.sides.op is negative.op and _are_transposed(found.sides.inputs[0], turned):
        return negative(term.signed(MatMul()(w, matrix_transpose(w))))
    if found.sides.op is multiply.op:
        for z, s in (found.sides.inputs, found.sides.inputs[::-1]):
            if (s.type.ndim < 2 or s.type.shape[-2] == 1) and _are_transposed(z, turned):
                left = SolveTriangular(True, "t", False)(factor, z)
                return term.signed(MatMul()(w, matrix_transpose(left)))
    return None


def _are_transposed(z: Variable, turned: Variable) -> bool:
    """Whether matrices are one another's transposes; those of one column may be vectors with an axis put in."""
    if (is_matrix_transpose(turned) and turned.inputs[0] is z) or (is_matrix_transpose(z) and z.inputs[0] is turned):
        return True
    vectors = [_vector(z, -1), _vector(turned, -2)]
    return vectors[0] is not None and vectors[0] is vectors[1]


def _vector(v: Variable, axis: int) -> Variable | None:
    """The vectors of which v has one column, or row, each: what is before an axis was put in, or in one place."""
    op: Any = made_by(v, ExpandDims)
    if op and op.axes == (axis,):
        v = v.inputs[0]
        op = made_by(v, Squeeze)
        return v.inputs[0] if op and op.axes == (-1,) else v
    return v if axis == -1 and v.type.ndim >= 2 and v.type.shape[-1] == 1 else None


def _of_density(x: Variable, y: Variable) -> Variable:
    """The gradient by a covariance of a Gaussian log-density, for examples."""
    factor = Cholesky(raises=False)(definite(x))[0]
    z = SolveTriangular(True, "n", False, raises=False)(factor, bounded(y))
    w = SolveTriangular(True, "t", False, raises=False)(factor, negative(z))
    by_determinant = diag(divide(negative(diagonals(factor)) / diagonals(factor), diagonals(factor)))
    return cotangent_by_factor(factor, add(by_determinant, tril(negative(MatMul()(w, matrix_transpose(z))))))


RULES = (
    node_rule(
        "gradient_by_factor_of_density",
        keys=(SolveTriangular,),
        apply=_of_factor,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The gradient of a Gaussian log-density is an outer product and an inverse: no product, no systems of it.",
        example=_of_density,
    ),
)
