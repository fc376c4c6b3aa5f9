"""Systems and determinants of s I + t U U', where U has few columns: by a matrix of as many rows as U has columns.

With M = s I + t U'U, (s I + t U U')⁻¹ = (I - t U M⁻¹ U') / s, and det(s I + t U U') = sⁿ⁻ᵏ det M (Woodbury's identity,
written so that nothing is divided by s before the difference).

Only a multiple of the identity is taken apart. s is an eigenvalue of the whole matrix then, and the others are those of
M, so the difference loses no more digits than the condition of the matrix does in any case. With another diagonal it
may lose all of them where the sum is well conditioned: where its smallest element meets a column of U.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.facts import facts_of
from tg.ops.contraction import MatMul
from tg.ops.creation import eye
from tg.ops.elementwise.arithmetic import absolute, add, divide, multiply, power, sign, subtract
from tg.ops.elementwise.comparison import equal, less_equal, where
from tg.ops.elementwise.exponential import log
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve, identities
from tg.ops.linalg.lu import LU
from tg.ops.linalg.solving import Det, SlogDet
from tg.ops.linalg.spectral import Eigh, Eigvalsh
from tg.ops.shape import ExpandDims, Squeeze, Transpose, broadcast_to, matrix_transpose, squeeze
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import pass_of
from tg.rules.linalg.solving.structure import bounded, failed, outer_parts, spoilt
from tg.rules.shape import made_by
from tg.rules.shape.moved import Moved, untransposed
from tg.types.dtypes import is_complex, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

LEAST_RATIO: Final = 2
"""Rows of U for one of its columns from which on the smaller matrix pays: its factors take an eighth of the work."""
FACTORISATIONS: Final = (Cholesky, LU, Eigh, Eigvalsh)  # what is computed of a matrix whatever becomes of the others


class Parts(NamedTuple):
    """s I + t U U': s and t are of one element for each matrix, or of one for all; without t it is 1."""

    s: Variable
    t: Variable | None
    u: Variable

    def times(self, x: Variable) -> Variable:
        """T x."""
        return x if self.t is None else multiply(self.t, x)


def parts_of(a: Variable) -> Parts | None:
    """The parts of a real matrix, where U is known to have few columns."""
    if a.op is not add.op or is_complex(a.type.dtype):
        return None
    for d, product in (a.inputs, a.inputs[::-1]):
        s, t, u = _of_identity(d), *_gram(product)
        if s is None or u is None:
            continue
        n, k = u.type.shape[-2:]
        if n is not None and k is not None and n >= LEAST_RATIO * k > 0:
            return Parts(s, t, u)
    return None


def _of_identity(d: Variable) -> Variable | None:
    """By what the identity is multiplied."""
    if d.op is not multiply.op:
        return None
    for s, one in (d.inputs, d.inputs[::-1]):
        if _is_number(s) and {"diagonal", "unit_diagonal"} <= facts_of(one):
            return s
    return None


def _is_number(s: Variable) -> bool:
    """Whether a value has one element for each matrix."""
    return all(n == 1 for n in s.type.shape[-2:])


def _gram(v: Variable) -> tuple[Variable | None, Variable | None]:
    """t and U of the product t U U'; no U where it is not one."""
    if v.op is multiply.op:
        for t, product in (v.inputs, v.inputs[::-1]):
            if _is_number(t) and (u := _gram_alone(product)) is not None:
                return t, u
    return None, _gram_alone(v)


def _gram_alone(v: Variable) -> Variable | None:
    """U of the product U U', which of one column is one of a column and a row."""
    parts = v.inputs if made_by(v, MatMul) else outer_parts(v)
    if parts is None:
        return None
    x, y = parts
    if untransposed(y) is x or untransposed(x) is y:
        return x
    column, row = (Moved.of(u, ExpandDims, Squeeze, Transpose).in_order() for u in (x, y))
    return x if v.type.ndim == 2 and x.type.shape[-1] == 1 and column is not None and column is row else None


def _untransposed(a: Variable) -> Variable:
    """A matrix of which the transpose is asked, as where the upper triangle is read: such sums are symmetric."""
    below = untransposed(a)
    return a if below is None else below


@pass_of(
    Solve,
    Inv,
    Det,
    SlogDet,
    phase=STABILIZE,
    kind=REASSOCIATES,
    example=lambda x, y: [
        Solve("n", False, False)(_sum(x, y), bounded(y))[0],
        *SlogDet()(_sum(x, y)),
    ],
)
def _smaller_of_low_rank(view: View) -> dict[int, Variable]:
    """Ops on such matrices by the smaller ones; not where a factorisation of the whole is wanted as well.

    A multiple of the identity with a product of low rank is known by a matrix of the rank's size.
    """
    readers: dict[int, list[Apply]] = {}
    whole: set[int] = set()
    for node in view.applies:
        if type(node.op) in BY_OP:
            readers.setdefault(id(_untransposed(node.inputs[0])), []).append(node)
        elif type(node.op) in FACTORISATIONS:
            whole.add(id(_untransposed(node.inputs[0])))
    replacements: dict[int, Variable] = {}
    for matrix, nodes in readers.items():
        parts = None if matrix in whole else parts_of(_untransposed(nodes[0].inputs[0]))
        if parts is not None:
            for node in nodes:
                new = BY_OP[type(node.op)](node, *_operands(node, parts))
                replacements.update({id(v): w for v, w in zip(view.results(node), new, strict=True)})
    return replacements


def _operands(node: Apply, parts: Parts) -> tuple[Parts, Variable]:
    """The parts with one of each for every matrix, and the smaller matrix."""
    lead = node.inputs[0].shape[:-2]
    every = Parts(
        broadcast_to(parts.s, (*lead, 1, 1)),
        None if parts.t is None else broadcast_to(parts.t, (*lead, 1, 1)),
        broadcast_to(parts.u, (*lead, *parts.u.shape[-2:])),
    )
    turned = every.times(MatMul()(matrix_transpose(every.u), every.u))
    return every, add(multiply(every.s, eye(parts.u.shape[-1], dtype=turned.type.dtype)), turned)


def _info(info: Variable, parts: Parts, positive: bool) -> Variable:
    """Info of the smaller matrix; behind the columns of U where s alone makes the whole one singular, or indefinite."""
    s = squeeze(parts.s, (-2, -1))
    lost = less_equal(s, _zero(s)) if positive else equal(s, _zero(s))
    columns = parts.u.type.shape[-1]
    assert columns is not None
    return where(lost, np.int32(columns + 1), info)


def _zero(v: Variable) -> Any:
    return numpy_dtype(v.type.dtype).type(0)


def _solved(node: Apply, parts: Parts, m: Variable) -> tuple[Variable, Variable]:
    op: Any = node.op
    b = node.inputs[1]
    inner, info = Solve("n", op.positive, raises=False)(m, MatMul()(matrix_transpose(parts.u), b))
    info = _info(info, parts, op.positive)
    x = divide(subtract(b, parts.times(MatMul()(parts.u, inner))), parts.s)
    return spoilt(x, failed(info, op)), info


def _inverse(node: Apply, parts: Parts, m: Variable) -> tuple[Variable, Variable]:
    a = node.inputs[0]
    inner, info = Solve("n", False, raises=False)(m, matrix_transpose(parts.u))
    info = _info(info, parts, False)
    x = divide(subtract(identities(a), parts.times(MatMul()(parts.u, inner))), parts.s)
    return spoilt(x, failed(info, node.op)), info


def _more_rows(parts: Parts) -> Any:
    """Number of rows of U beyond that of its columns, in the dtype of the matrix."""
    n, k = parts.u.type.shape[-2:]
    assert n is not None
    assert k is not None
    return numpy_dtype(parts.u.type.dtype).type(n - k)


def _determinant(node: Apply, parts: Parts, m: Variable) -> tuple[Variable]:
    return (multiply(power(squeeze(parts.s, (-2, -1)), _more_rows(parts)), Det()(m)),)


def _logarithm(node: Apply, parts: Parts, m: Variable) -> tuple[Variable, Variable]:
    signs, size = SlogDet()(m)
    s, more = squeeze(parts.s, (-2, -1)), _more_rows(parts)
    return multiply(power(sign(s), more), signs), add(multiply(more, log(absolute(s))), size)


BY_OP: Final[dict[type, Any]] = {Solve: _solved, Inv: _inverse, Det: _determinant, SlogDet: _logarithm}


def _sum(x: Variable, y: Variable) -> Variable:
    """s I + U U' with one column for the rows of x, for examples."""
    u = bounded(x[..., :1])
    s = add(absolute(bounded(y[..., :1, :1])), numpy_dtype(y.type.dtype).type(1))
    return add(multiply(s, eye(x.shape[-2], dtype=x.type.dtype)), MatMul()(u, matrix_transpose(u)))


PASSES = (_smaller_of_low_rank,)
