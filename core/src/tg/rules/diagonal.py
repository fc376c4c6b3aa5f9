"""Rules of diagonals and triangles: the conditions of two triangles are that of one, or of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.graph.nodes import Constant
from tg.ops.creation import Arange, iota
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.elementwise.comparison import greater_equal, less_equal, logical_and, logical_not, logical_or
from tg.ops.shape import ExpandDims, expand_dims_at
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule
from tg.rules.shape.moved import Moved
from tg.rules.shape.terms import made_by

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


LARGE: Final = 1 << 53  # numbers beyond might wrap around where they are added to those of rows


class Below(NamedTuple):
    """The places of a matrix on and below the k-th diagonal, by the numbers of its rows and columns."""

    k: int
    rows: Variable
    columns: Variable


def below_of(condition: Variable) -> Below | None:
    """A condition that is rows + k >= columns."""
    node = condition.apply
    if node is None or node.op not in (greater_equal.op, less_equal.op):
        return None
    row, column = node.inputs if node.op is greater_equal.op else node.inputs[::-1]
    rows, columns = _numbers(row, -1), _numbers(column, -2)
    if rows is None or columns is None:
        return None
    return Below(rows[1] - columns[1], rows[0], columns[0])


def _numbers(v: Variable, axis: int) -> tuple[Variable, int] | None:
    """What stands along an axis of a value, and the number that is added to it: to a range 0, 1, ... alone."""
    u = Moved.of(v, ExpandDims).with_axes((axis,))
    if u is None:
        return None
    for fn, sign in ((add, 1), (subtract, -1)):
        if u.op is fn.op and type(u.inputs[1]) is Constant and u.inputs[1].data.ndim == 0:
            k = int(u.inputs[1].data)
            return (u.inputs[0], sign * k) if made_by(u.inputs[0], Arange) and abs(k) < LARGE else None
    return (u, 0)


def _joined(node: Apply, outputs: Any) -> Variable | bool | None:
    """Below both diagonals is below the lower one; below the lower one and not below the higher one is nowhere."""
    whole = node.op is logical_or.op
    a, b = node.inputs
    first, second = (below_of(_without_not(v)) for v in (a, b))
    if first is None or second is None or first.rows is not second.rows or first.columns is not second.columns:
        return None
    a_is_not, b_is_not = (v.op is logical_not.op for v in (a, b))
    if a_is_not is b_is_not:
        return a if (first.k >= second.k) is (whole is not a_is_not) else b
    inside, outside = (second.k, first.k) if a_is_not else (first.k, second.k)
    if whole:
        return True if inside >= outside else None
    return False if inside <= outside else None


def _without_not(v: Variable) -> Variable:
    return v.inputs[0] if v.op is logical_not.op else v


def _example(x: Variable) -> Variable:
    rows, columns = (iota(x.shape[k]) for k in (0, 1))
    numbers = expand_dims_at(columns, (-2,))
    high, low = (greater_equal(expand_dims_at(rows + k, (-1,)), numbers) for k in (3, 1))
    return logical_or(logical_and(high, low), logical_and(low, logical_not(high)))


RULES = (
    node_rule(
        "triangle_of_triangle",
        keys=(logical_and, logical_or),
        below=(greater_equal, less_equal, logical_not),
        apply=_joined,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Of two triangles in the same corner of a matrix one contains the other.",
        example=_example,
    ),
)
