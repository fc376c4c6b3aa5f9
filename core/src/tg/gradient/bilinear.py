"""Products that an op makes itself, as of matrices, beside conventions: NaN where they have no product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg.gradient.conditions import anywhere, both, disjunction, either, wide
from tg.gradient.reading import READERS
from tg.graph.traversal import key_of
from tg.ops.contraction import MatMul
from tg.ops.cumulative import CumProdPullback
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import not_equal, where
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import matrix_transpose, sum_to
from tg.types.dtypes import is_inexact, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.conditions import Condition
    from tg.gradient.selection import Supports
    from tg.graph.nodes import Apply, Variable

    Values = Sequence[Variable | None]


def of_pullback(supports: Supports, node: Apply, dys: Values, dxs: Values) -> Values:
    """The cotangents of operands, NaN where another operand is a convention that has no product with a cotangent."""
    if not _multiplies(supports, node):
        return dxs
    if type(node.op) is MatMul and dys[0] is not None:
        (x, y), dz = node.inputs, dys[0]
        conditions: list[Condition] = [
            _of_matrices(supports, dz, y, lambda a, b: MatMul()(a, matrix_transpose(b))),
            _of_matrices(supports, dz, x, lambda a, b: MatMul()(matrix_transpose(b), a)),
        ]
    else:
        conditions = [
            disjunction(_of_whole(supports, dy, v) for dy in dys if dy is not None for v in _others(node, k))
            for k in range(len(node.inputs))
        ]
    return [dx if dx is None else _poisoned(dx, s) for dx, s in zip(dxs, conditions, strict=True)]


def of_pushforward(supports: Supports, node: Apply, tangents: Values, made: Values) -> Values:
    """The tangents of results, NaN where an operand is a convention that has no product with the tangent of another."""
    if not _multiplies(supports, node):
        return made
    if type(node.op) is MatMul:
        (x, y), (dx, dy) = node.inputs, tangents
        conditions = [
            False if dx is None else _of_matrices(supports, dx, y, MatMul()),
            False if dy is None else _of_matrices(supports, dy, x, lambda a, b: MatMul()(b, a)),
        ]
    else:
        conditions = [
            _of_whole(supports, t, v) for k, t in enumerate(tangents) if t is not None for v in _others(node, k)
        ]
    return [t if t is None else _poisoned(t, disjunction(conditions)) for t in made]


def _multiplies(supports: Supports, node: Apply) -> bool:
    """Whether an op may multiply its operands, and does not leave that to `Tools.times`."""
    op = node.op
    if not supports.kinks or isinstance(op, Elementwise) or op.graph_fields or type(op) is CumProdPullback:
        return False
    if node.key in READERS and type(op) is not MatMul:
        return False
    return sum(is_inexact(v.type.dtype) for v in node.inputs) > 1


def _others(node: Apply, k: int) -> list[Variable]:
    own = key_of(node.inputs[k])
    return [v for v in node.inputs if is_inexact(v.type.dtype) and key_of(v) != own]


def _pairs(supports: Supports, flowing: Variable, slope: Variable) -> list[tuple[Condition, Condition]]:
    """Pairs of conditions: of a cotangent or tangent, and of a slope that has no product with it."""
    first, second = supports.of(flowing), supports.of(slope)
    asked, there = both(first.selected, first.asked), both(second.selected, second.asked)
    kinked = both(asked, either(first.inward, first.outward))
    pairs = ((asked, both(there, second.inward)), (kinked, both(there, second.outward)))
    return [(s, t) for s, t in pairs if s is not False and t is not False]


def _of_whole(supports: Supports, flowing: Variable, slope: Variable) -> Condition:
    pairs = _pairs(supports, flowing, slope)
    return disjunction(both(anywhere(s, flowing), anywhere(t, slope)) for s, t in pairs)


def _of_matrices(
    supports: Supports, flowing: Variable, slope: Variable, product: Callable[[Variable, Variable], Variable]
) -> Condition:
    total: Condition = False
    for s, t in _pairs(supports, flowing, slope):
        counts = product(*(cast_variable(wide(c, v), "float32") for c, v in ((s, flowing), (t, slope))))
        total = either(total, not_equal(counts, np.float32(0)))
    return total


def _poisoned(v: Variable, condition: Condition) -> Variable:
    """A product with NaN: it stays NaN if the map is turned round."""
    if condition is False:
        return v
    one, nan = (numpy_dtype(v.type.dtype).type(c) for c in (1, np.nan))
    if not isinstance(condition, bool) and condition.type.ndim == v.type.ndim:
        counts = sum_to(cast_variable(condition, "int64"), v.shape)
        condition = not_equal(counts, 0)
    return multiply(v, where(condition, nan, one))
