"""Reductions of what is repeated, or is known without a loop: repeats, one-hot rows and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant, as_size_variable
from tg.ops.creation import Arange, iota
from tg.ops.elementwise.arithmetic import add, floor_divide, gate, maximum, multiply, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
)
from tg.ops.elementwise.rounding import floor
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, ExpandDims, Squeeze, broadcast_to, expand_dims_at
from tg.rewrite.phases import EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.reduction.axes import reduced, without
from tg.rules.shape import made_by, wanted_shape
from tg.rules.shape.moved import Moved
from tg.types.dtypes import is_complex, is_float
from tg.types.lengths import Length, product
from tg.types.lengths import subtract as subtract_lengths

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

LARGEST_RANGE: Final = 1 << 14  # elements of a constant that is compared with a range


def _unrepeated(node: Apply) -> tuple[Variable, int | Length, tuple[int | Length, ...]] | None:
    """The reduction over the axes along which nothing repeats, how often it repeats, and the shape of the result."""
    op: Any = node.op
    (y,) = node.inputs
    assert y.apply is not None
    x, wanted = Moved.of(y, BroadcastTo, most=1), wanted_shape(y.op, y.apply)
    repeats = [k for k in op.axes if x.is_alike_along(k) and (x.source(k) is None or y.type.shape[k] != 1)]
    if not repeats:
        return None
    one = x.unrepeated(without=repeats)
    rest = reduced(op, tuple(without(k, repeats) for k in op.axes if k not in repeats), one)
    left = [n for k, n in zip(range(-len(wanted), 0), wanted, strict=True) if k not in op.axes]
    return rest, product(tuple(wanted[k] for k in repeats)), tuple(left)


@rule_of_node(
    Reduce,
    kind=REASSOCIATES,
    below=(BroadcastTo,),
    example=lambda x: Reduce(add, (-3,))(broadcast_to(x, (7, *x.shape))),
)
def _sum_of_repeated(node: Apply, outputs: Any) -> Variable | None:
    """The sum of what is repeated is a multiple, and 0 of what is repeated no times. One product in place of a loop."""
    op: Any = node.op
    dtype = node.inputs[0].type.dtype
    if op.fn is not add or is_complex(dtype):
        return None
    match = _unrepeated(node)
    if match is None:
        return None
    one, n, left = match
    wide = "float32" if dtype == "float16" else dtype  # float16 has no number for a large count
    count = cast_variable(as_size_variable(n), wide)
    x = cast_variable(one, wide)
    return broadcast_to(cast_variable(gate(count, x), dtype), left)


@rule_of_node(
    Reduce,
    kind=SIGNED_ZERO,
    below=(BroadcastTo,),
    example=lambda x: Reduce(maximum, (-3,))(broadcast_to(x, (3, *x.shape))),
)
def _extreme_of_repeated(node: Apply, outputs: Any) -> Variable | None:
    """A value repeated at least once has the same extremes, and holds anywhere or everywhere where it holds once.

    More of the same changes no extreme, but which of two equal zeros it is.
    """
    op: Any = node.op
    if not op.reduction.idempotent:
        return None
    match = _unrepeated(node)
    if match is None:
        return None
    one, n, left = match
    if not (isinstance(n, int) and n > 0) and (op.total or not op.reduction.needs_elements):
        some = greater(as_size_variable(n), 0)
        if op.fn is logical_or:
            one = logical_and(one, some)
        elif op.fn is logical_and:
            one = logical_or(one, logical_not(some))
        else:
            return None
    return broadcast_to(one, left)


@rule_of(
    Reduce,
    kind=EXACT,
    below=(Cast,),
    example=lambda x: Reduce(add, (-1,))(
        cast_variable(equal(expand_dims_at(cast_variable(x, "int64"), (-1,)), iota(5)), x.type.dtype)
    ),
)
def _sum_of_one_hot(op: Any, y: Variable) -> Variable | None:
    """Along the axis of a range, how often a number equals an element: once where it lies inside, else never.

    A row of a one-hot table has at most a single one, so the table need not be made.
    """
    cast = made_by(y, Cast)
    if not cast or op.fn is not add or y.inputs[0].op is not equal.op:
        return None
    for x, places in (y.inputs[0].inputs, y.inputs[0].inputs[::-1]):
        if x.type.ndim != places.type.ndim or is_complex(x.type.dtype):
            continue
        for k in op.axes:
            if x.type.shape[k] == 1 and _counts_along(places, k):
                once = cast_variable(_is_one_of(Squeeze((k,))(x), places, k), cast.dtype)
                return reduced(op, tuple(without(a, (k,)) for a in op.axes if a != k), once)
    return None


def _is_one_of(number: Variable, places: Variable, axis: int) -> Variable:
    """Whether a number is among 0, 1, ... along an axis: not below 0, not beyond the last, which the dtype holds."""
    n = places.shape[axis]
    last = cast_variable(as_size_variable(subtract_lengths(n, 1)), number.type.dtype)
    inside = logical_and(greater_equal(number, 0), less_equal(number, last))
    return logical_and(inside, equal(number, floor(number))) if is_float(number.type.dtype) else inside


def _counts_along(v: Variable, axis: int) -> bool:
    """Whether a value holds 0, 1, 2, ... along an axis, and nothing else varies."""
    if isinstance(v, Constant):
        n = v.data.shape[axis]
        return 0 < n <= LARGEST_RANGE and np.array_equal(v.data.ravel(), np.arange(n))
    below = Moved.of(v, ExpandDims, most=1)
    return below.source(axis) is not None and below.made_by(Arange) is not None


@rule_of(
    Reduce,
    kind=EXACT,
    below=(Arange,),
    example=lambda x: cast_variable(Reduce(add, (-1,))(Arange(None)(as_size_variable(7))), x.type.dtype) + x,
)
def _reduce_range(op: Any, x: Variable) -> Variable | None:
    """The sum and the ends of 0, 1, ..., n - 1. The sum and the ends of a range follow from its length."""
    n = as_size_variable(*x.shape)
    if op.fn is add:
        half = floor_divide(n, 2)  # halved first: only the sum itself may wrap
        return multiply(half, add(subtract(n, 1), subtract(n, multiply(half, 2))))
    if op.reduction.is_extreme and not op.total:
        return subtract(n, 1) if op.reduction.sign > 0 else Constant(np.asarray(0, np.int64))
    return None


RULES = (_sum_of_repeated, _extreme_of_repeated, _sum_of_one_hot, _reduce_range)
