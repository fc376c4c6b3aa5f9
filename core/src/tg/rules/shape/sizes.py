"""Lengths: nothing is computed to know them, known ones stand in the ops, and what they decide is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant, as_size_variable, size_value
from tg.ops.elementwise.arithmetic import add, floor_divide, maximum, minimum, multiply, negative, remainder, subtract
from tg.ops.elementwise.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import AxisLength, BroadcastTo, Reshape, SumTo, Transpose, merge_sizes
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule
from tg.types.lengths import Length, is_natural, same
from tg.types.lengths import subtract as subtract_lengths
from tg.types.magnitudes import is_exact
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable

ARITHMETIC = (add, subtract, multiply, minimum, maximum, floor_divide, remainder)
RING = (add, subtract, multiply, negative)  # modulo 2 ** 64 as without end
DEPTH: Final = 16  # how far below a comparison the arithmetic is looked through
COMPARISONS = (equal, not_equal, less, less_equal, greater, greater_equal)


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


def _wraps_as_read(v: Variable, depth: int = DEPTH) -> bool:
    """Whether equal polynomials stand for equal values of int64, as they do where nothing but sums and products wraps.

    A quotient, a remainder, or the lesser of two numbers that have wrapped around is another one.
    """
    op: Any = v.op
    if type(op) is not Elementwise or op.fn not in (*ARITHMETIC, negative):
        return True
    if op.fn not in RING and not all(is_exact(size_value(u)) for u in v.inputs):
        return False
    return depth > 0 and all(_wraps_as_read(u, depth - 1) for u in v.inputs)


def _arithmetic(node: Apply, outputs: Any) -> Variable | None:
    """Arithmetic on lengths whose result is a number, or one of the operands.

    What is known by a check only is not used: the check may be made of this.
    """
    if outputs[0].type.shape != () or outputs[0].type.dtype != "int64":
        return None
    operands = [size_value(v) for v in node.inputs]
    if not all(map(is_exact, operands)):
        return None
    found = size_value(outputs[0])
    if type(found) is int:
        return as_size_variable(found)
    return next((v for v, n in zip(node.inputs, operands, strict=True) if same(found, n)), None)


def _comparison(node: Apply, outputs: Any) -> Constant | None:
    """A comparison of lengths that is decided whatever the lengths of the inputs are."""
    x, y = node.inputs
    if outputs[0].type.shape != () or x.type.dtype != "int64":
        return None
    op: Any = node.op
    a, b = size_value(x), size_value(y)
    if same(a, b) and _wraps_as_read(x) and _wraps_as_read(y):
        return Constant(np.array(op.fn in (equal, less_equal, greater_equal)))
    if not is_exact(a) or not is_exact(b):
        return None
    found = DECIDED[op.fn](subtract_lengths(a, b))
    return None if found is None else Constant(np.array(found))


def _is_equal(d: int | Length) -> bool | None:
    return False if is_natural(subtract_lengths(d, 1)) or is_natural(subtract_lengths(-1, d)) else None


def _is_less(d: int | Length) -> bool | None:
    return False if is_natural(d) else True if is_natural(subtract_lengths(-1, d)) else None


def _negated(found: bool | None) -> bool | None:
    return None if found is None else not found


DECIDED: dict[Any, Callable[[int | Length], bool | None]] = {
    equal: _is_equal,
    not_equal: lambda d: _negated(_is_equal(d)),
    less: _is_less,
    greater_equal: lambda d: _negated(_is_less(d)),
    greater: lambda d: _is_less(subtract_lengths(0, d)),
    less_equal: lambda d: _negated(_is_less(subtract_lengths(0, d))),
}
"""Whether a comparison holds, by the difference of its operands; None where that is not known."""


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
    node_rule(
        "comparison_of_lengths",
        keys=COMPARISONS,
        below=(AxisLength, *ARITHMETIC),
        apply=_comparison,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A check on lengths that always holds is no check.",
        example=lambda x: less(AxisLength(-1)(x), AxisLength(-1)(x) + 1),
    ),
)
