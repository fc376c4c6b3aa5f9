"""Lengths: nothing is computed to know them, and known ones stand in the ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import as_size_variable, size_value
from tg.ops.elementwise.arithmetic import add, floor_divide, maximum, minimum, multiply, remainder, subtract
from tg.ops.shape import AxisLength, BroadcastTo, Reshape, SumTo, Transpose, merge_sizes
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule
from tg.types.lengths import same
from tg.types.magnitudes import is_exact
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ARITHMETIC = (add, subtract, multiply, minimum, maximum, floor_divide, remainder)


def _axis_length(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    n = x.shape[op.axis]
    return None if any(getattr(a, "owner", None) is x for a in atoms(n)) else as_size_variable(n)


def _known_sizes(node: Apply, outputs: Any) -> Any:
    op: Any = node.op
    x, *sizes = node.inputs
    values = [size_value(v) for v in sizes]
    if not any(isinstance(n, int) for n in values):
        return None
    field = tuple(n if isinstance(n, int) else None for n in merge_sizes(op.shape, values))
    rest = [v for v, n in zip(sizes, values, strict=True) if not isinstance(n, int)]
    return type(op)(field)(x, *rest)


def _arithmetic(node: Apply, outputs: Any) -> Variable | None:
    """Arithmetic on lengths whose result is a number, or one of the operands.

    What is known by a check only is not used: the check may be made of this.
    """
    if outputs[0].type.shape != () or outputs[0].type.dtype != "int64":
        return None
    operands = [size_value(v) for v in node.inputs]
    if not all(map(is_exact, operands)):
        return None
    length = size_value(outputs[0])
    if type(length) is int:
        return as_size_variable(length)
    return next((v for v, n in zip(node.inputs, operands, strict=True) if same(length, n)), None)


RULES = (
    node_rule(
        "length_without_value",
        keys=(AxisLength,),
        apply=_axis_length,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length follows from the lengths of the inputs: nothing is computed to know it.",
        example=lambda x: AxisLength(-1)(Transpose((-1, -2))(x)),
    ),
    node_rule(
        "known_sizes",
        keys=(Reshape, BroadcastTo, SumTo),
        apply=_known_sizes,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length that is known belongs into the op: equal programs are one, and backends see it.",
        example=lambda x: Reshape((None,))(x, as_size_variable(x.size)),
    ),
    node_rule(
        "arithmetic_of_lengths",
        keys=ARITHMETIC,
        below=(AxisLength, *ARITHMETIC),
        apply=_arithmetic,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Lengths are kept in a canonical form, in which more is known to be equal.",
        example=lambda x: maximum(AxisLength(-1)(x) + 1, AxisLength(-1)(x)),
    ),
)
