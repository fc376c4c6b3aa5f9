"""Rules of indices that are known to lie inside: they are not wrapped, and their checks are gone."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.creation import Arange, iota
from tg.ops.elementwise.arithmetic import (
    add,
    clip,
    floor_divide,
    maximum,
    minimum,
    multiply,
    negative,
    remainder,
    subtract,
)
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import greater, greater_equal, less, less_equal, where
from tg.ops.indexing import Nonzero, Slice, WrapIndex, split_starts
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from tg.ops.sorting import ArgSort, SearchSorted
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import rule_of
from tg.rules.indexing.bounds import at_most, interval
from tg.rules.indexing.windows import made_by
from tg.types import lengths
from tg.types.lengths import LONGEST
from tg.types.requirements import equal_here

BOUNDED = (
    AxisLength, Arange, WrapIndex, Nonzero, ArgReduce, ArgSort, SearchSorted, Reduce, Cast, Constant, BroadcastTo,
    Slice, Reshape, ExpandDims, Squeeze, Transpose, Concatenate, add, subtract, multiply, negative, remainder,
    floor_divide, minimum, maximum, where, clip,
)  # fmt: skip


@rule_of(
    WrapIndex,
    kind=EXACT,
    below=BOUNDED,
    example=lambda x: cast_variable(WrapIndex("raise")(iota(x.shape[0]), Constant(np.array(4))), x.dtype),
)
def _index_inside(op: Any, i: Variable, n: Variable) -> Variable | None:
    """An index that is known to lie in its axis is what it is."""
    low, high = interval(i)
    if low is None or high is None or not at_most(0, low):
        return None
    return cast_variable(i, "int64") if at_most(lengths.add(high, 1), size_value(n)) else None


@rule_of(
    less, less_equal, greater, greater_equal, kind=EXACT, below=BOUNDED, example=lambda x: where(iota(4) + 1 > 0, x, -x)
)
def _comparison_by_bounds(op: Any, a: Variable, b: Variable) -> bool | None:
    """A comparison of integers that their bounds decide.

    Numbers of which it is known where they lie need not be compared: checks of indices go.
    """
    if op.fn in (greater, greater_equal):
        a, b = b, a
    slack = 1 if op.fn in (less, greater) else 0
    first, second = interval(a), interval(b)
    if first.high is not None and second.low is not None and at_most(lengths.add(first.high, slack), second.low):
        return True
    if first.low is not None and second.high is not None and at_most(lengths.add(second.high, 1 - slack), first.low):
        return False
    return None


@rule_of(
    Slice,
    phase=SPECIALIZE,
    kind=EXACT,
    below=(WrapIndex,),
    example=lambda x: Slice((None, 0), (1, 4), (1, 1))(x, WrapIndex("raise")(Constant(np.array(-1)), _first_length(x))),
)
def _slice_at_constant(op: Any, x: Variable, *rest: Variable) -> Variable | None:
    """A slice clamps its start as `WrapIndex` does: a constant index needs no op of its own.

    A slice clamps its start itself.
    """
    operands = iter(rest)
    indices = [next(operands) if start is None else start for start in op.starts]
    places = list(map(_constant_place, indices, x.shape[x.type.ndim - len(indices) :]))
    if all(map(is_, indices, places)):
        return None
    starts, moving = split_starts(places)
    return Slice(starts, op.sizes, op.steps)(x, *moving, *operands)  # type: ignore[no-any-return]


def _constant_place(start: int | Variable, n: Any) -> int | Variable:
    """Position of a constant index into an axis of length n, before it is clamped; other starts as they are."""
    wrap = made_by(start, WrapIndex) if isinstance(start, Variable) else None
    if wrap is None:
        return start
    i, length = wrap.inputs
    op: Any = wrap.op
    if not isinstance(i, Constant) or op.mode == "clip" or not equal_here(size_value(length), n):
        return start
    k = int(i.data.reshape(()))
    if abs(k) > LONGEST:
        return start
    return k if k >= 0 else subtract(length, -k)


RULES = (_index_inside, _comparison_by_bounds, _slice_at_constant)


def _first_length(x: Variable) -> Variable:
    """The first length of an array: an example."""
    return AxisLength(-x.type.ndim)(x)  # type: ignore[no-any-return]
