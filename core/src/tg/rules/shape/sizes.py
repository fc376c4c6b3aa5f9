"""Lengths: nothing is computed to know them, and known ones stand in the ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import as_size_variable, size_value
from tg.ops.elementwise.arithmetic import add, floor_divide, maximum, minimum, multiply, remainder, subtract
from tg.ops.shape import AxisLength, BroadcastTo, Reshape, SumTo, Transpose, merge_sizes
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of, rule_of_node
from tg.types.lengths import same
from tg.types.magnitudes import is_exact
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ARITHMETIC = (add, subtract, multiply, minimum, maximum, floor_divide, remainder)


@rule_of(AxisLength, kind=EXACT, example=lambda x: AxisLength(-1)(Transpose((-1, -2))(x)))
def _length_without_value(op: Any, x: Variable) -> Variable | None:
    """A length follows from the lengths of the inputs: nothing is computed to know it."""
    n = x.shape[op.axis]
    return None if any(getattr(a, "owner", None) is x for a in atoms(n)) else as_size_variable(n)


@rule_of(Reshape, BroadcastTo, SumTo, kind=EXACT, example=lambda x: Reshape((None,))(x, as_size_variable(x.size)))
def _known_sizes(op: Any, x: Variable, *sizes: Variable) -> Any:
    """A length that is known belongs into the op: equal programs are one, and backends see it."""
    values = [size_value(v) for v in sizes]
    if not any(isinstance(n, int) for n in values):
        return None
    field = tuple(n if isinstance(n, int) else None for n in merge_sizes(op.shape, values))
    rest = [v for v, n in zip(sizes, values, strict=True) if not isinstance(n, int)]
    return type(op)(field)(x, *rest)


@rule_of_node(
    *ARITHMETIC,
    kind=EXACT,
    below=(AxisLength, *ARITHMETIC),
    example=lambda x: maximum(AxisLength(-1)(x) + 1, AxisLength(-1)(x)),
)
def _arithmetic_of_lengths(node: Apply, outputs: Any) -> Variable | None:
    """Arithmetic on lengths whose result is a number, or one of the operands.

    What is known by a check only is not used: the check may be made of this.

    Lengths are kept in a canonical form, in which more is known to be equal.
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


RULES = (_length_without_value, _known_sizes, _arithmetic_of_lengths)
