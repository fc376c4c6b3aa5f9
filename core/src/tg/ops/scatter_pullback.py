"""Pullback of `Scatter`: the cotangents of the array and of the values, for each way it combines them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.creation import iota, ones_like, zeros_like
from tg.ops.elementwise.arithmetic import add, divide, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.indexing import Gather, Scatter
from tg.ops.shape import reshape
from tg.types.lengths import product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable

    Pair = tuple[Variable | None, Variable | None]


def scatter_pullback(
    tools: Any, op: Scatter, x: Variable, v: Variable, at: Sequence[Variable], y: Variable, dy: Variable
) -> Pair:
    """The cotangents of the array x and of the values v: those of the record, or of what is replaced."""
    if op.reduction is None:
        return _replaced(op, x, v, at, dy)
    assert op.reduction.scatter_pullback is not None
    return op.reduction.scatter_pullback(tools, op, x, v, at, y, dy)


def of_sum(
    tools: Any, op: Scatter, x: Variable, v: Variable, at: Sequence[Variable], y: Variable, dy: Variable
) -> Pair:
    """To x and to v what became of their elements."""
    return dy, Gather(op.axes)(dy, *at)


def _replaced(op: Scatter, x: Variable, v: Variable, at: Sequence[Variable], dy: Variable) -> Pair:
    """To x what was not replaced, to v what its element became: nothing where another one overwrote it."""
    read = Gather(op.axes)
    order = reshape(iota(product(v.shape)), v.shape)
    winner = read(op(zeros_like(x, dtype="int64"), order, *at), *at)
    zero = zeros_like(v, dtype=dy.type.dtype)
    return op(dy, zero, *at), where(equal(winner, order), read(dy, *at), zero)


def of_product(
    tools: Any, op: Scatter, x: Variable, v: Variable, at: Sequence[Variable], y: Variable, dy: Variable
) -> Pair:
    """To each factor the product of the others, which factors of 0 must not divide.

    Where two factors are 0 the products are 0, yet written with these factors: so second derivatives are right too.
    """
    read = Gather(op.axes)
    is_zero = equal(v, 0)
    zeros = Scatter(op.axes, add)(zeros_like(x, dtype="int64"), cast_variable(is_zero, "int64"), *at)
    dx = tools.times(dy, op(ones_like(x), v, *at))
    rest = read(op(x, where(is_zero, ones_like(v), v), *at), *at)  # the product of x and the values that are not 0
    count, nothing = read(zeros, *at), zeros_like(v)
    safe = where(is_zero, ones_like(v), v)
    null = read(Scatter(op.axes, add)(zeros_like(x), where(is_zero, v, nothing), *at), *at)  # the sum of the zeros
    of_zero = where(equal(count, 1), rest, where(equal(count, 2), multiply(null - v, rest), nothing))
    quotient = divide(rest, safe)
    of_other = where(equal(count, 0), quotient, where(equal(count, 1), multiply(null, quotient), nothing))
    others = where(is_zero, of_zero, of_other)
    return dx, tools.times(read(dy, *at), others)


def of_extreme(
    tools: Any, op: Scatter, x: Variable, v: Variable, at: Sequence[Variable], y: Variable, dy: Variable
) -> Pair:
    """To whatever the least or the largest is, in equal shares."""
    read, dtype = Gather(op.axes), dy.type.dtype
    of_x, of_v = equal(x, y), equal(v, read(y, *at))
    count = Scatter(op.axes, add)(cast_variable(of_x, dtype), cast_variable(of_v, dtype), *at)
    share = divide(dy, where(equal(count, 0), ones_like(dy), count))
    return where(of_x, share, zeros_like(dy)), where(of_v, read(share, *at), zeros_like(v, dtype=dtype))
