"""Masks made by comparing the numbers of rows with those of columns: which triangle of a matrix they leave out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import NONE, ZEROS
from tg.graph.nodes import Constant
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]
    Numbers = tuple[int, int, int | Length]  # the axis along which they count, where they start, how many there are

STEPS: Final = 4  # how much may stand between a comparison and the numbers themselves
LARGE: Final = 1 << 62
MOST_COUNTED: Final = 1 << 16  # elements of a constant that are looked at
NEGATED: Final = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}
ZEROS_ABOVE: Final = {"lower_triangular": 0, "lower_hessenberg": 1}  # above how many diagonals beside the main one
ZEROS_BELOW: Final = {"upper_triangular": 0, "upper_hessenberg": 1}
MIRROR: Final = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def of_positions(name: str) -> Callable[[Variable, Variable], set[str]]:
    """The facts of a comparison, which are those of a triangle or a diagonal where it compares rows with columns."""

    def facts(x: Variable, y: Variable) -> set[str]:
        if x.type.dtype != "int64" or x.type.ndim != 2:
            return set()
        a, b = _numbers(x), _numbers(y)
        if a is None or b is None or {a[0], b[0]} != {-1, -2} or not equal_here(a[2], b[2]):
            return set()
        return _of_diagonals(name, a[1] - b[1]) if a[0] == -2 else _of_diagonals(MIRROR.get(name, name), b[1] - a[1])

    return facts


def complement(mask: Variable) -> set[str]:
    """The facts of the mask that is true where one is false."""
    name = NEGATED.get(mask.op.name) if mask.op is not None else None
    return of_positions(name)(*mask.inputs) if name is not None else set()


def _of_diagonals(name: str, d: int) -> set[str]:
    """Of where row + d compares with column: the diagonals that a mask has, numbered from the main one to the right."""
    high = {"equal": d, "greater_equal": d, "greater": d - 1}.get(name)
    low = {"equal": d, "less_equal": d, "less": d + 1}.get(name)
    facts = set()
    if high is not None:
        facts |= {name for name, last in ZEROS_ABOVE.items() if high <= last}
    if low is not None:
        facts |= {name for name, last in ZEROS_BELOW.items() if low >= -last}
    if (high is None or high >= 0) and (low is None or low <= 0):
        facts.add("unit_diagonal")
    return facts


def zeros_beside(rows: Variable, columns: Variable) -> frozenset[str]:
    """The facts of zeros that a matrix keeps where elements of a diagonal are written."""
    if rows is columns:
        return ZEROS
    a, b = (_numbers(v) if v.type.ndim == 1 else None for v in (rows, columns))
    if a is None or b is None or min(a[1], b[1]) < 0:  # places below 0 are from the end
        return NONE
    return ZEROS.intersection(_of_diagonals("equal", b[1] - a[1]))


def _numbers(v: Variable) -> Numbers | None:
    """The numbers that a vector or matrix counts, one row or one column of it being the numbers from some start on."""
    expand, arange, shifts = _ops()
    axis = -1 if v.type.ndim == 1 else 0
    start = 0
    for _ in range(STEPS):
        if isinstance(v, Constant):
            counted = _counted(v.data)
            return counted and (axis or counted[0], start + counted[1], counted[2])
        op: Any = v.op
        if isinstance(op, arange):
            return (axis, start, v.shape[0]) if axis else None
        if isinstance(op, expand) and v.type.ndim == 2 and op.axes in ((-1,), (-2,)):
            axis = -3 - op.axes[0]
            v = v.inputs[0]
            continue
        shift = shifts.get(op)
        if shift is None:
            return None
        base, c = v.inputs if isinstance(v.inputs[1], Constant) or shift < 0 else v.inputs[::-1]
        if not isinstance(c, Constant) or c.data.size != 1 or abs(int(c.data.reshape(()))) > LARGE:
            return None
        start += shift * int(c.data.reshape(()))
        v = base
    return None


def _counted(data: Array) -> tuple[int, int, int] | None:
    """The numbers that a constant counts, being a vector, or of one row or column, whose numbers were folded."""
    if data.ndim not in (1, 2) or (data.ndim == 2 and 1 not in data.shape) or not 0 < data.size <= MOST_COUNTED:
        return None
    row = data.reshape(-1)
    follows = row[1:] - row[:-1] == 1
    return (-2 if data.ndim == 2 and data.shape[1] == 1 else -1, int(row[0]), row.size) if follows.all() else None


@functools.cache
def _ops() -> tuple[Any, Any, dict[Any, int]]:
    from tg.ops.creation import Arange
    from tg.ops.elementwise.arithmetic import add, subtract
    from tg.ops.shape import ExpandDims

    return ExpandDims, Arange, {add.op: 1, subtract.op: -1}
