"""Conditions that hold on and below a diagonal, recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.graph.nodes import Constant
from tg.ops.creation import Arange
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.elementwise.comparison import greater_equal, less_equal
from tg.ops.shape import ExpandDims
from tg.rules.shape.moved import Moved
from tg.rules.shape.terms import made_by

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


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
    """The value along an axis of another, and the number that is added to it: to a range 0, 1, ... alone."""
    u = Moved.of(v, ExpandDims).with_axes((axis,))
    if u is None:
        return None
    for fn, sign in ((add, 1), (subtract, -1)):
        if u.op is fn.op and type(u.inputs[1]) is Constant and u.inputs[1].data.ndim == 0:
            k = int(u.inputs[1].data)
            return (u.inputs[0], sign * k) if made_by(u.inputs[0], Arange) and abs(k) < LARGE else None
    return (u, 0)
