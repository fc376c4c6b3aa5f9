"""Systems and inverses of matrices whose structure is known: diagonal, triangular, orthogonal, positive definite.

Elimination carries a NaN of the matrix, or of a column of the right side, into the whole column. What skips zeros does
not, so it is put there. These are forms that lose fewer digits, too: a matrix that is singular by rounding alone, in
the course of elimination, need not be so for substitution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import TRIANGULAR, facts_of
from tg.graph.nodes import as_size_variable
from tg.ops.assumptions import assume_facts
from tg.ops.contraction import MatMul
from tg.ops.creation import eye, iota, zeros
from tg.ops.diagonal import tril, triu
from tg.ops.elementwise.arithmetic import absolute, add, clip, divide, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import isnan, less, not_equal, where
from tg.ops.elementwise.complex import complex as complex_of
from tg.ops.elementwise.complex import conjugate, imag, real
from tg.ops.elementwise.trigonometric import tanh
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve, identities
from tg.ops.linalg.matrices import adjoint, conjugated, diagonals, on_diagonal, zero_place
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.reduction import any as any_of
from tg.ops.shape import Transpose, expand_dims_at, matrix_transpose, squeeze
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import Checked, rule_of
from tg.rules.shape.moved import untransposed
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

    Pair = tuple[Variable, Variable]

FEW_ROWS: Final = 16
"""Rows up to which a matrix is eliminated whole though it has three diagonals alone: 2.3 us on C, 3.3 within them; of
100 rows 154 us and 18, of 1,000 84 ms and 0.16."""


def is_diagonal(a: Variable) -> bool:
    """Whether nothing is off the diagonal."""
    return "diagonal" in facts_of(a)


def is_band(a: Variable) -> bool:
    """Whether three diagonals are all that a matrix has, and enough rows that elimination within them pays."""
    n, facts = a.type.shape[-1], facts_of(a)
    return "tridiagonal" in facts and "diagonal" not in facts and (n is None or n > FEW_ROWS)


def triangle_of(a: Variable) -> str | None:
    """The fact of a matrix that is triangular, and nothing simpler is known."""
    facts = facts_of(a) & TRIANGULAR
    return next(iter(facts)) if len(facts) == 1 and not is_band(a) else None


def is_orthogonal(a: Variable) -> bool:
    """Whether the adjoint is the inverse, and nothing simpler is known."""
    return "orthogonal" in facts_of(a) and not facts_of(a) & TRIANGULAR


def is_definite(a: Variable) -> bool:
    """Whether a matrix is positive definite, and nothing simpler is known."""
    return "positive_definite" in facts_of(a) and not facts_of(a) & (TRIANGULAR | {"orthogonal"})


def none_found(a: Variable) -> Variable:
    """The info of matrices that nothing can be wrong with."""
    return zeros(a.shape[:-2], dtype="int32")


def has_nan(a: Variable, axes: tuple[int, ...]) -> Variable | None:
    """Whether there is a NaN along axes, which stay; None where there is none."""
    return None if "not_nan" in facts_of(a) else any_of(isnan(a), axes, keepdims=True)


def without_nan(info: Variable, a: Variable) -> Variable:
    """The pivots that are 0 of matrices without NaN: one with a NaN gives NaN, and is no failure."""
    return info if "not_nan" in facts_of(a) else where(any_of(isnan(a), (-2, -1)), np.int32(0), info)


def spoilt(x: Variable, *conditions: Variable | None) -> Variable:
    """x with NaN wherever one of some conditions holds."""
    nan = numpy_dtype(x.type.dtype).type(float("nan"))
    for condition in conditions:
        if condition is not None:
            x = where(condition, nan, x)
    return x


def spoilt_number(x: Variable, a: Variable) -> Variable:
    """A number for each matrix, NaN for those that have one beside their diagonals."""
    lost = None if is_diagonal(a) else has_nan(a, (-2, -1))
    return x if lost is None else spoilt(x, squeeze(lost, (-2, -1)))


def failed(info: Variable, op: Any) -> Variable | None:
    """Whether something is wrong with a matrix, for each of its elements; None where that is an error."""
    return None if op.raises else expand_dims_at(not_equal(info, 0), (-2, -1))


@rule_of(
    Solve, phase=STABILIZE, kind=REASSOCIATES, example=lambda x, y: Solve("n", False, False)(only_diagonal(x), y)[0]
)
def _solve_of_diagonal(op: Any, a: Variable, b: Variable) -> Pair | None:
    """A diagonal divides rows."""
    if op.positive or not is_diagonal(a):
        return None
    d = diagonals(a)
    info = without_nan(zero_place(d), d[..., None])
    x = divide(b, expand_dims_at(conjugated(d) if op.transpose == "c" else d, (-1,)))
    return spoilt(x, has_nan(d[..., None], (-2, -1)), has_nan(b, (-2,)), failed(info, op)), info


@rule_of(
    Solve,
    phase=STABILIZE,
    kind=REASSOCIATES,
    example=lambda x, y: Solve("n", False, False)(lower(bounded(x)), bounded(y))[0],
)
def _solve_of_triangular(op: Any, a: Variable, b: Variable) -> Pair | None:
    """Triangular systems are solved by substitution: there is nothing to eliminate."""
    triangle = triangle_of(a)
    if op.positive or triangle is None:
        return None
    x = SolveTriangular(triangle == "lower_triangular", op.transpose, False, raises=False)(a, b)
    return spoilt(x, has_nan(a, (-2, -1)), has_nan(b, (-2,))), without_nan(zero_place(diagonals(a)), a)


@rule_of(Solve, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Solve("n", False, False)(reflection(x), x)[0])
def _solve_of_orthogonal(op: Any, a: Variable, b: Variable) -> Pair | None:
    """The inverse of an orthogonal matrix is its adjoint."""
    if op.positive or not is_orthogonal(a):
        return None
    inverse = adjoint(a) if op.transpose == "n" else conjugated(a) if op.transpose == "t" else a
    return MatMul()(inverse, b), none_found(a)


@rule_of(
    Solve, phase=STABILIZE, kind=REASSOCIATES, example=lambda x, y: Solve("n", False, False)(definite(x), bounded(y))[0]
)
def _solve_of_positive_definite(op: Any, a: Variable, b: Variable) -> Checked | None:
    """Cholesky factors take half the work of LU factors, and no exchange of rows."""
    if op.positive or not is_definite(a):
        return None
    solve = Solve("n", positive=True, raises=op.raises)
    if op.transpose != "t":
        x, info = solve(a, b)
    else:
        x, info = solve(a, conjugated(b))
        x = conjugated(x)
    return Checked((x, none_found(a) if op.raises else info))


@rule_of(
    Cholesky,
    Solve,
    kind=REASSOCIATES,
    below=(Transpose,),
    example=lambda x: Cholesky(raises=False)(matrix_transpose(definite(x)))[0],
)
def _factor_of_symmetric_transpose(op: Any, *operands: Variable) -> Any:
    """An op that reads the other triangle of a matrix that is symmetric, or Hermitian, reads its own.

    Whichever triangle is read, the factor is the same, and is shared.
    """
    a = _same_when_turned(operands[0])
    if a is None or (type(op) is Solve and not op.positive):
        return None
    return op(a, *operands[1:])


def _same_when_turned(a: Variable) -> Variable | None:
    """The matrix of which a is the adjoint, if that is the same matrix; complex ones need be Hermitian for it."""
    below = untransposed(a)
    if below is None:
        return None
    if not is_complex(a.type.dtype):
        return below if facts_of(below) & {"symmetric", "hermitian"} else None
    return below.inputs[0] if below.op is conjugate.op and "hermitian" in facts_of(below.inputs[0]) else None


def outer_parts(v: Variable) -> Pair | None:
    """The column and the row of which a matrix, neither of one column nor of one row, is the outer product."""
    if (below := untransposed(v)) is not None:
        parts = outer_parts(below)
        return None if parts is None else (matrix_transpose(parts[1]), matrix_transpose(parts[0]))
    if v.op is not multiply.op or v.type.ndim < 2 or 1 in v.type.shape[-2:]:
        return None
    for u, w in (v.inputs, v.inputs[::-1]):
        if u.type.ndim == w.type.ndim == v.type.ndim and u.type.shape[-1] == 1 and w.type.shape[-2] == 1:
            return u, w
    return None


@rule_of(
    Solve,
    kind=REASSOCIATES,
    example=lambda x, y: Solve("n", False, False)(
        bounded(x[..., : x.shape[-2]]), multiply(bounded(y[..., :1]), bounded(x[..., :1, :]))
    )[0],
)
def _solve_of_outer(op: Any, a: Variable, b: Variable) -> Pair | None:
    """The columns of an outer product are multiples of one, and so are the solutions."""
    parts = outer_parts(b)
    if parts is None or not all(map(equal_here, parts[0].shape[:-2], a.shape[:-2])):
        return None
    x, info = op(a, parts[0])
    return multiply(x, parts[1]), info


@rule_of(Inv, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Inv(raises=False)(only_diagonal(x))[0])
def _inv_of_diagonal(op: Any, a: Variable) -> Pair | None:
    """The inverse of a diagonal matrix is that of its elements."""
    if not is_diagonal(a):
        return None
    d = diagonals(a)
    info = without_nan(zero_place(d), d[..., None])
    kind = numpy_dtype(a.type.dtype).type
    inverse = divide(kind(1), d)
    return spoilt(where(on_diagonal(a), expand_dims_at(inverse, (-1,)), kind(0)), failed(info, op)), info


# tanh: of large elements a substitution overflows where an elimination that exchanges rows does not
@rule_of(Inv, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Inv(raises=False)(lower(tanh(x)))[0])
def _inv_of_triangular(op: Any, a: Variable) -> Pair | None:
    """Triangular matrices are inverted by substitution: there is nothing to eliminate."""
    triangle = triangle_of(a)
    if triangle is None:
        return None
    x = SolveTriangular(triangle == "lower_triangular", "n", False, raises=False)(a, identities(a))
    return spoilt(x, has_nan(a, (-2, -1))), without_nan(zero_place(diagonals(a)), a)


@rule_of(Inv, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Inv(raises=False)(definite(x))[0])
def _inv_of_positive_definite(op: Any, a: Variable) -> Checked | None:
    """Cholesky factors take half the work of LU factors, and what else is asked of the matrix shares them."""
    if not is_definite(a):
        return None
    x, info = Solve("n", positive=True, raises=op.raises)(a, identities(a))
    return Checked((x, none_found(a) if op.raises else info))


def reflection(x: Variable) -> Variable:
    """An orthogonal matrix of as many rows as x has, for examples: a reflection, I - 2 v v' / v'v."""
    n, dtype = x.shape[-2], x.type.dtype
    v = cast_variable(iota(n), dtype) + 1
    size = cast_variable(as_size_variable(n), dtype)
    total = size * (size + 1) * (2 * size + 1) / 6  # of the squares of 1 to n
    outer = multiply(expand_dims_at(v, (-1,)), expand_dims_at(v, (-2,)))
    return assume_facts(subtract(eye(n, dtype=dtype), 2 * outer / total), ("orthogonal",))


def definite(x: Variable) -> Variable:
    """A positive-definite matrix of as many rows as x has, for examples: its diagonal outweighs each of its rows."""
    y = MatMul()(x, matrix_transpose(x))
    kind = numpy_dtype(x.type.dtype).type
    small = clip(y, kind(-0.5), kind(0.5))
    size = cast_variable(as_size_variable(y.shape[-1]), y.type.dtype)
    return assume_facts(add(small, eye(y.shape[-1], dtype=y.type.dtype) * size), ("positive_definite",))


def bounded(x: Variable) -> Variable:
    """x without what overflows or underflows in products and quotients, for examples: zeros and NaN stay."""
    kind = numpy_dtype(x.type.dtype).type
    if is_complex(x.type.dtype):
        return complex_of(bounded(real(x)), bounded(imag(x)))
    return clip(where(less(absolute(x), kind(1e-3)), kind(0), x), kind(-100), kind(100))


def lower(x: Variable) -> Variable:
    """The lower triangle of the square part of a matrix, for examples."""
    return tril(x[..., : x.shape[-2]])


def only_diagonal(x: Variable) -> Variable:
    """The diagonal of a matrix and zeros elsewhere, for examples."""
    return triu(lower(x))


RULES = (
    _solve_of_diagonal,
    _solve_of_triangular,
    _solve_of_orthogonal,
    _solve_of_positive_definite,
    _factor_of_symmetric_transpose,
    _solve_of_outer,
    _inv_of_diagonal,
    _inv_of_triangular,
    _inv_of_positive_definite,
)
