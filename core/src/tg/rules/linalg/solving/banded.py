"""Systems, inverses and determinants of matrices of which the three diagonals in the middle are all that there is.

The determinant is that of the leading minors, each from the two before it: f[i] = a[i, i] f[i-1] - a[i, i-1] a[i-1, i]
f[i-2]. What it rounds is as much as a change of each element by a few units in its last place (W. Barth, R. S. Martin
and J. H. Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method of bisection",
Numerische Mathematik 9 (1967), 386): no pivot is looked for, and a minor that is 0 does no harm.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tg.graph.facts import facts_of
from tg.ops.creation import ones, zeros
from tg.ops.diagonal import tril, triu
from tg.ops.elementwise.arithmetic import absolute, add, divide, maximum, multiply, sign, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import log
from tg.ops.iteration import scan
from tg.ops.linalg.banded import SolveBanded, SolvehBanded, band_of
from tg.ops.linalg.linear_systems import Inv, Solve, identities
from tg.ops.linalg.matrices import adjoint
from tg.ops.linalg.solving import Det, SlogDet
from tg.ops.reduction import prod, reduce_sum
from tg.ops.shape import matrix_transpose, moveaxis
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule_of
from tg.rules.linalg.solving.structure import (
    bounded,
    has_nan,
    is_band,
    is_definite,
    spoilt,
    spoilt_number,
    without_nan,
)
from tg.types.dtypes import numpy_dtype
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(
    Solve,
    phase=STABILIZE,
    kind=REASSOCIATES,
    example=lambda x, y: Solve("n", False, False)(tridiagonal(bounded(x)), bounded(y))[0],
)
def _solve_of_tridiagonal(op: Any, a: Variable, b: Variable) -> tuple[Variable, Variable] | None:
    """Elimination within three diagonals takes work by rows, not by their cube."""
    if not is_band(a) or (is_definite(a) and not op.positive):
        return None
    return _solution(a, b, op.transpose, op.positive)


@rule_of(Inv, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Inv(raises=False)(tridiagonal(bounded(x)))[0])
def _inv_of_tridiagonal(op: Any, a: Variable) -> tuple[Variable, Variable] | None:
    """Elimination within three diagonals takes work by the elements of the inverse."""
    return None if not is_band(a) or is_definite(a) else _solution(a, identities(a), "n", positive=False)


def _solution(a: Variable, b: Variable, transpose: str, positive: bool) -> tuple[Variable, Variable]:
    read = {"n": a, "t": matrix_transpose(a), "c": adjoint(a)}[transpose]
    facts = facts_of(read)
    below, above = (0 if f"{side}_triangular" in facts else 1 for side in ("upper", "lower"))
    if positive:
        x, info = SolvehBanded(1, raises=False)(band_of(read, 1, 0), b)
    else:
        x, info = SolveBanded(below, above, raises=False)(band_of(read, below, above), b)
    return spoilt(x, has_nan(a, (-2, -1)), has_nan(b, (-2,))), without_nan(info, a)


@rule_of(Det, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: Det()(tridiagonal(bounded(x))))
def _det_of_tridiagonal(op: Any, a: Variable) -> Variable | None:
    """The minors of a matrix with three diagonals follow from one another."""
    if not is_band(a):
        return None
    minor, scales = _minor(a)
    product = multiply(minor, cast_variable(prod(scales, -1), minor.type.dtype))
    return spoilt_number(where(equal(minor, 0), minor, product), a)  # 0, though the product may overflow


@rule_of(SlogDet, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: list(SlogDet()(tridiagonal(bounded(x)))))
def _slogdet_of_tridiagonal(op: Any, a: Variable) -> tuple[Variable, Variable] | None:
    """The minors of a matrix with three diagonals follow from one another."""
    if not is_band(a):
        return None
    minor, scales = _minor(a)
    return spoilt_number(sign(minor), a), spoilt_number(add(reduce_sum(log(scales), (-1,)), log(absolute(minor))), a)


def _minor(a: Variable) -> tuple[Variable, Variable]:
    """A number near 1, or 0, and by what each row's minor was divided to keep it so: the determinant is the product.

    Shapes:
        a (..., n, n) -> (...), (..., n)
    """
    rows = [moveaxis(row, -1, 0) for row in _rows_of(a)]
    size = _not_zero(functools.reduce(maximum, map(absolute, rows)))
    divisor = cast_variable(size, a.type.dtype)

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        last, previous = carry  # the minor, and the one before it times the element beside the diagonal in this row
        left, middle, right = row
        minor = subtract(multiply(middle, last), multiply(left, previous))
        scale = _not_zero(maximum(absolute(minor), absolute(last)))
        by = cast_variable(scale, minor.type.dtype)
        return (divide(minor, by), divide(multiply(right, last), by)), scale

    with Requirements():  # lengths of the steps are no values of a graph that is being rewritten
        lead, dtype = a.shape[:-2], a.type.dtype
        start = ones(lead, dtype=dtype), zeros(lead, dtype=dtype)
        (minor, _), scale = scan(step, start, tuple(divide(row, divisor) for row in rows))
    return minor, moveaxis(multiply(scale, size), 0, -1)


def _rows_of(a: Variable) -> tuple[Variable, Variable, Variable]:
    """Of each row the element left of the diagonal, that on it, and that right of it; zeros beyond the corners.

    Shapes:
        a (..., n, n) -> (..., n) each
    """
    turned = band_of(matrix_transpose(a), 1, 1)
    return turned[..., 0, :], turned[..., 1, :], turned[..., 2, :]


def _not_zero(size: Variable) -> Variable:
    one = numpy_dtype(size.type.dtype).type(1)
    return where(equal(size, 0), one, size)


def tridiagonal(x: Variable) -> Variable:
    """Three diagonals of the square part of a matrix, for examples."""
    return triu(tril(x[..., : x.shape[-2]], 1), -1)


RULES = (_solve_of_tridiagonal, _inv_of_tridiagonal, _det_of_tridiagonal, _slogdet_of_tridiagonal)
