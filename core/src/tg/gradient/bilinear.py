"""Products that an op makes itself, as of matrices, beside conventions: NaN where they have no product.

What is given to the op is asked for as a whole, and so is what it makes; of matrices each term is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg.gradient.conditions import anywhere, both, disjunction, either, nan_where, wide
from tg.gradient.products import defined as without_nan
from tg.gradient.reading import READERS
from tg.graph.traversal import key_of
from tg.ops.contraction import MatMul
from tg.ops.cumulative import CumProdPullback
from tg.ops.elementwise.arithmetic import asked_where
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import not_equal
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import matrix_transpose, sum_to
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.conditions import Condition
    from tg.gradient.selection import Supports
    from tg.graph.nodes import Apply, Variable

    Values = Sequence[Variable | None]


def defined(supports: Supports, node: Apply, flowing: Values) -> Values:
    """Cotangents or tangents without what is NaN because a convention has no product with it: the product is asked."""
    if not _multiplies(supports, node) or type(node.op) is MatMul:
        return flowing
    return [None if v is None else without_nan(supports.of(v), v) for v in flowing]


def of_pullback(supports: Supports, node: Apply, dys: Values, dxs: Values) -> Values:
    """The cotangents of operands, NaN where another operand is a convention that has no product with a cotangent."""
    dxs = _asked(supports, node, dys, dxs)
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


def of_pushforward(supports: Supports, node: Apply, tangents: Values, results: Values) -> Values:
    """The tangents of results, NaN where an operand is a convention that has no product with the tangent of another."""
    results = _asked_together(supports, node, tangents, results)
    if not _multiplies(supports, node):
        return results
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
    return [t if t is None else _poisoned(t, disjunction(conditions)) for t in results]


def _asked(supports: Supports, node: Apply, dys: Values, dxs: Values) -> Values:
    """The cotangents of operands, asked for where one that they are made of is.

    An op is linear in those of its operands that are given tangents or cotangents, or made of such: together they are
    in the cotangent of another operand, but not in their own.
    """
    if not _mixes(supports, node):
        return dxs
    flowing = disjunction(_somewhere(supports, dy) for dy in dys if dy is not None)
    linear = _linear(supports, node)
    beside = both(flowing, _together(linear))
    return [_where_asked(flowing if s is not True else beside, dx) for s, dx in zip(linear, dxs, strict=True)]


def _asked_together(supports: Supports, node: Apply, tangents: Values, results: Values) -> Values:
    """The tangents of results, asked for where one that they are made of is: as cotangents."""
    if not _mixes(supports, node):
        return results
    linear = _linear(supports, node)
    beside = _together(linear)
    condition = disjunction(
        both(_somewhere(supports, t), beside if s is True else True)
        for s, t in zip(linear, tangents, strict=True)
        if t is not None
    )
    return [_where_asked(condition, t) for t in results]


def _linear(supports: Supports, node: Apply) -> list[Condition]:
    """Of each operand whether one of its elements is asked for: of what is not given, always."""
    return [_somewhere(supports, v) if is_inexact(v.type.dtype) else True for v in node.inputs]


def _together(linear: list[Condition]) -> Condition:
    """Whether one of those that are given is asked for, if there are any."""
    some = [s for s in linear if s is not True]
    return disjunction(some) if some else True


def _somewhere(supports: Supports, v: Variable) -> Condition:
    support = supports.of(v)
    return True if support.asked is True else anywhere(both(support.selected, support.asked), v)


def _where_asked(condition: Condition, v: Variable | None) -> Variable | None:
    if v is None or condition is False:
        return None
    return v if condition is True else asked_where(condition, v)


def _mixes(supports: Supports, node: Apply) -> bool:
    """Whether an op mixes elements, and no more is known of it."""
    return supports.kinks and not (isinstance(node.op, Elementwise) or node.op.graph_fields or node.key in READERS)


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
    here, there = both(first.selected, first.asked), both(second.selected, second.asked)
    kinked = both(here, either(first.inward, first.outward))
    pairs = ((here, both(there, second.inward)), (kinked, both(there, second.outward)))
    return [(s, t) for s, t in pairs if s is not False and t is not False]


def _of_whole(supports: Supports, flowing: Variable, slope: Variable) -> Condition:
    """Whether one element of each has no product with the other, or is NaN."""
    first, second = supports.of(flowing), supports.of(slope)
    here, there = both(first.selected, first.asked), both(second.selected, second.asked)
    pairs = [(both(here, first.undefined), there), (here, both(there, second.undefined))]
    pairs += _pairs(supports, flowing, slope)
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
    """NaN where a condition holds of what a value is the sum of."""
    if not isinstance(condition, bool) and condition.type.ndim == v.type.ndim:
        condition = not_equal(sum_to(cast_variable(condition, "int64"), v.shape), 0)
    return nan_where(condition, v)
