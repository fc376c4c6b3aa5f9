"""Determinants: logarithms of them without them, and those of matrices whose structure is known."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import TRIANGULAR, facts_of
from tg.ops.creation import ones
from tg.ops.elementwise.arithmetic import absolute, add, gate, multiply, sign, square, subtract
from tg.ops.elementwise.comparison import isnan, less, where
from tg.ops.elementwise.complex import real
from tg.ops.elementwise.exponential import log
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.matrices import diagonals
from tg.ops.linalg.solving import Det, SlogDet
from tg.ops.reduction import prod, reduce_sum
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE, STABILIZE
from tg.rewrite.rule import Checked, rule_of
from tg.rules.linalg.solving.structure import definite, is_definite, lower, spoilt, spoilt_number
from tg.rules.shape import made_by
from tg.types.dtypes import is_complex, numpy_dtype

MOST_BY_MINORS: Final = 3
"""Rows of a matrix whose determinant is written out: 1e5 of three rows take 0.2 ms on C, by LU factors 1.0. What is
rounded is in both a few units in the last place of the sum of all products, each without its sign."""

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(Det,), example=lambda x: log(Det()(lower(x) + lower(x).T)))
def _log_of_det(op: Any, y: Variable) -> Variable | None:
    """NaN below 0, as the logarithm has it.

    The determinant of a hundred rows overflows or underflows; its logarithm does not.
    """
    if not made_by(y, Det) or is_complex(y.type.dtype):
        return None
    signs, size = SlogDet()(*y.inputs)
    kind = numpy_dtype(y.type.dtype).type
    return where(less(signs, kind(0)), kind(float("nan")), size)


@rule_of(
    log,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(absolute,),
    example=lambda x: log(absolute(Det()(lower(x) + lower(x).T))),
)
def _log_of_absolute_det(op: Any, y: Variable) -> Variable | None:
    """The determinant of a hundred rows overflows or underflows; its logarithm does not."""
    if y.op is not absolute.op or not made_by(y.inputs[0], Det):
        return None
    return SlogDet()(*y.inputs[0].inputs)[1]  # type: ignore[no-any-return]


@rule_of(Det, phase=SPECIALIZE, kind=REASSOCIATES, example=lambda x: Det()(lower(x)))
def _det_of_triangular(op: Any, a: Variable) -> Variable | None:
    """The determinant of a triangular matrix is the product of its diagonal."""
    return spoilt_number(prod(diagonals(a), -1), a) if facts_of(a) & TRIANGULAR else None


@rule_of(SlogDet, phase=STABILIZE, kind=REASSOCIATES, example=lambda x: list(SlogDet()(lower(x))))
def _slogdet_of_triangular(op: Any, a: Variable) -> tuple[Variable, Variable] | None:
    """The determinant of a triangular matrix is the product of its diagonal."""
    if not facts_of(a) & TRIANGULAR:
        return None
    d = diagonals(a)
    return spoilt_number(prod(sign(d), -1), a), spoilt_number(reduce_sum(log(absolute(d)), (-1,)), a)


@rule_of(Det, phase=SPECIALIZE, kind=REASSOCIATES, example=lambda x: Det()(x[..., : x.shape[-2]]))
def _det_of_few_rows(op: Any, a: Variable) -> Variable | None:
    """The nine products of three rows take a fraction of LU factors: no pivot is looked for, nothing divided."""
    n = a.type.shape[-1]
    if n is None or not 0 < n <= MOST_BY_MINORS:
        return None
    determinant = _by_minors(a, list(range(n)))
    return determinant if n < MOST_BY_MINORS else add(determinant, _nothing_of(a[..., 1:, :]))


def _by_minors(a: Variable, columns: list[int]) -> Variable:
    """The determinant of the last rows of a matrix in so many columns, along the first of these rows."""
    n: Any = a.type.shape[-1]
    row = n - len(columns)
    terms = [(a[..., row, k], [j for j in columns if j != k]) for k in columns]
    times = gate if len(columns) == MOST_BY_MINORS else multiply  # the minor beside a 0 may overflow
    products = [times(x, _by_minors(a, others)) if others else x for x, others in terms]
    total = products[0]
    for k, term in enumerate(products[1:]):
        total = add(total, term) if k % 2 else subtract(total, term)
    return total


def _nothing_of(a: Variable) -> Variable:
    """0, or NaN where an element is not finite."""
    zero = numpy_dtype(a.type.dtype).type(0)
    rows, columns = a.type.shape[-2:]
    assert rows is not None
    assert columns is not None
    return functools.reduce(add, [multiply(a[..., i, j], zero) for i in range(rows) for j in range(columns)])


@rule_of(Det, phase=SPECIALIZE, kind=REASSOCIATES, example=lambda x: Det()(definite(x)))
def _det_of_positive_definite(op: Any, a: Variable) -> Checked | None:
    """A Cholesky factor takes half the work of LU factors, and what else is asked of the matrix shares it."""
    if not is_definite(a):
        return None
    return Checked((square(prod(diagonals(Cholesky()(a)[0]), -1)),))


@rule_of(SlogDet, phase=SPECIALIZE, kind=REASSOCIATES, example=lambda x: list(SlogDet()(definite(x))))
def _slogdet_of_positive_definite(op: Any, a: Variable) -> Checked | None:
    """A Cholesky factor takes half the work of LU factors, and what else is asked of the matrix shares it."""
    if not is_definite(a):
        return None
    half = reduce_sum(log(_magnitudes(Cholesky()(a)[0])), (-1,))
    signs = ones(a.shape[:-2], dtype=a.type.dtype)
    return Checked((spoilt(signs, isnan(half)), add(half, half)))


def _magnitudes(factor: Variable) -> Variable:
    """The diagonal of a Cholesky factor, which is real."""
    d = diagonals(factor)
    return real(d) if is_complex(d.type.dtype) else d


RULES = (
    _det_of_few_rows,
    _log_of_det,
    _log_of_absolute_det,
    _det_of_triangular,
    _slogdet_of_triangular,
    _det_of_positive_definite,
    _slogdet_of_positive_definite,
)
