"""Checks in steps and branches of lengths that are known to be equal where these stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg.graph.checks import STATUS_LENGTH
from tg.graph.frozen import FrozenGraph
from tg.graph.nodes import Constant, apply, size_value
from tg.ops.elementwise.comparison import equal
from tg.ops.elementwise.record import Elementwise
from tg.ops.iteration import scan
from tg.ops.loops import Cond, Scan, While
from tg.ops.shape import ravel
from tg.ops.shape_ops import AxisLength
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of_node
from tg.rules.loops.steps import constants_of
from tg.types.lengths import same
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenCheck, Node
    from tg.graph.nodes import Apply, Variable
    from tg.rewrite.rule import Outputs


def _checked(x: Variable) -> Variable:
    """Result of a loop whose steps add a vector to a carry, and check that they are of one length."""
    return scan(lambda c, v: (c * v + ravel(x), c), ravel(x), ravel(x))[1]  # type: ignore[no-any-return]


@rule_of_node(Scan, While, Cond, kind=EXACT, example=_checked)
def _checked_outside(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop, or branches, without checks that lengths are equal which are known to be where it stands.

    Lengths that are known to be equal where a loop stands need not be compared in each step.
    """
    op = node.op
    before = op.inner_graphs()
    after = []
    for graph, inner in zip(before, op.inner_inputs(len(node.inputs)), strict=True):
        has_lengths = [one.is_same or t.ndim for one, t in zip(inner, graph.input_types, strict=True)]
        operands = [node.inputs[one.operand] if has else None for one, has in zip(inner, has_lengths, strict=True)]
        after.append(_unchecked(graph, operands, required=isinstance(op, Scan)))
    if all(a is b for a, b in zip(before, after, strict=True)):
        return None
    results = apply(op.with_inner_graphs(after), node.inputs)
    return results if len(results) == len(outputs) else (*results, Constant(np.zeros(STATUS_LENGTH, np.int64)))


def _unchecked(graph: FrozenGraph, operands: Sequence[Variable | None], *, required: bool) -> FrozenGraph:
    """A graph without the checks of lengths that hold for operands of the lengths that these have.

    Args:
        operands: what has the lengths of the inputs; None for an input that is a number.
        required: whether where the operands are the graph's own requirements are checked before it runs.
    """
    if not any(map(_is_of_lengths, graph.checks)):
        return graph
    makers = {number: one for one in graph.nodes for number in one.outputs}
    values: dict[int, Variable | None] = {**dict(enumerate(operands)), **constants_of(graph)}
    is_equal = equal_here if required else same
    checks = []
    for check in graph.checks:
        node = makers.get(check.condition)
        if node is not None and node.op is equal.op and _is_of_lengths(check):
            a, b = (_length_outside(k, makers, values) for k in node.inputs)
            if a is not None and b is not None and is_equal(size_value(a), size_value(b)):
                continue
        checks.append(check)
    if len(checks) == len(graph.checks):
        return graph
    parts = (graph.arity, graph.types, graph.constants, graph.nodes, graph.outputs, checks)
    return FrozenGraph(*parts, graph.names, graph.origins, graph.assumed)


def _is_of_lengths(check: FrozenCheck) -> bool:
    """Whether a check is one that an op needs of the lengths of its operands."""
    return check.descriptor.error == "ShapeError" and not check.descriptor.stated


def _length_outside(number: int, makers: Mapping[int, Node], values: dict[int, Variable | None]) -> Variable | None:
    """An integer of a graph that follows from the lengths of its inputs, computed from what these lengths are of."""
    if number not in values:
        one = makers[number]
        of_lengths = type(one.op) is AxisLength and one.inputs[0] not in makers
        if of_lengths or (isinstance(one.op, Elementwise) and one.op.fn.checks is None and len(one.outputs) == 1):
            lengths = [_length_outside(k, makers, values) for k in one.inputs]
            operands = [v for v in lengths if v is not None]
            values[number] = one.op(*operands) if len(operands) == len(lengths) else None
        else:
            values[number] = None
    return values[number]


RULES = (_checked_outside,)
