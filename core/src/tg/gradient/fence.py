"""Derivatives through an op that mixes elements, as a solution of equations does, are 0 where nothing is selected.

The op's own rule knows no selection: of a matrix that has no inverse it makes NaN of cotangents that are 0 because the
branch was not taken. So what it gives is chosen: where no element of any cotangent is selected it is 0 by selection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.gradient.conditions import computed, disjunction, has_axes, narrow, without_places
from tg.gradient.products import is_chosen_within, or_zero, stripped
from tg.gradient.reading import READERS
from tg.graph.nodes import Variable
from tg.ops.cumulative import Accumulate, CumProdPullback
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.comparison import logical_or
from tg.ops.elementwise.record import Elementwise
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at
from tg.types.lengths import same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.conditions import Condition
    from tg.gradient.selection import Supports
    from tg.graph.nodes import Apply

    Values = Sequence[Variable | None]

MATRIX = 2  # axes


def fenced(supports: Supports, node: Apply, flows: Values, rule: Callable[[Values], Values]) -> Values:
    """Cotangents of operands, or tangents of results, 0 by selection where those that the rule is given are."""
    op = node.op
    is_running = type(op) is CumProdPullback or (type(op) is Accumulate and op.fn is multiply)
    knows = isinstance(op, Elementwise) or node.key in READERS or bool(op.graph_fields)
    if knows and not op.by_matrix and not is_running:
        return rule(flows)
    selections = [(v, supports.of(v).selected) for v in flows if v is not None]
    if any(s is True for _, s in selections):
        return rule(flows)
    together = disjunction(_of_batch(s, v, 0) for v, s in selections)
    if isinstance(together, Variable):
        flows = [None if v is None else stripped(v, together) for v in flows]
    results = rule(flows)
    batch = max(v.type.ndim for v in node.inputs) - MATRIX if op.by_matrix else 0
    values = (*(v for v, _ in selections), *(v for v in results if v is not None))
    if not all(_has_batch(v, selections[0][0], batch) for v in values):
        batch = 0
    condition = disjunction(_of_batch(s, v, batch) for v, s in selections)
    return [None if v is None else _chosen(condition, v, batch) for v in results]


def _has_batch(v: Variable, other: Variable, batch: int) -> bool:
    return v.type.ndim >= batch and all(map(same, v.shape[:batch], other.shape[:batch]))


def _of_batch(s: Condition, v: Variable, batch: int) -> Condition:
    """A selection by values reduced to a condition with the axes of a batch alone, or to a scalar."""
    s = without_places(s)
    if isinstance(s, bool) or not s.type.ndim:
        return s
    scalar = narrow(s)
    if not scalar.type.ndim:
        return scalar
    axes = tuple(range(batch - v.type.ndim, 0))
    return computed(Reduce(logical_or, axes), s) if axes else s


def _chosen(condition: Condition, v: Variable, batch: int) -> Variable | None:
    if isinstance(condition, bool):
        return v if condition else None
    if is_chosen_within(v, condition):
        return v
    rest = v.type.ndim - batch
    if has_axes(condition) and rest:
        condition = expand_dims_at(condition, tuple(range(-rest, 0)))
    return or_zero(condition, v)
