"""Reductions over axes that need no loop, of other reductions, and of elements that were moved.

Movements go outwards, as they do through elementwise functions: the result is smaller than the operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, maximum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import logical_or
from tg.ops.indexing import Slice, flip
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import Concatenate, ExpandDims, Reshape, Squeeze, Transpose, concatenate, expand_dims_at, reshape
from tg.ops.sorting import Sort
from tg.rewrite.phases import EXACT, SIGNED_ZERO, SPECIALIZE
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.reduction.order import reordering
from tg.rules.shape import made_by, wanted_shape
from tg.rules.shape.moved import Moved
from tg.types.dtypes import is_complex, is_inexact
from tg.types.lengths import product, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.types.lengths import Length

    Axes = tuple[int, ...]
    Lengths = Sequence[int | Length]

MOST_PIECES = 8  # how many pieces of a join are reduced one by one


def without(k: int, gone: Sequence[int]) -> int:
    """Place of an axis, counted from the end, after others are gone."""
    return k + sum(g > k for g in gone)


def reduced(op: Any, axes: Axes, x: Variable) -> Variable:
    """The reduction of another operand over other axes."""
    reduction: Variable = Reduce(op.fn, axes, op.total)(x) if axes else x
    return reduction


def _single(node: Apply) -> Variable | None:
    """The reduction over the axes whose length is not 1, the others dropped."""
    op: Any = node.op
    (x,) = node.inputs
    single = tuple(k for k in op.axes if x.type.shape[k] == 1)
    if op.axes and not single:
        return None
    rest = tuple(k for k in op.axes if k not in single)
    y = reduced(op, rest, x)
    return Squeeze(tuple(without(k, rest) for k in single))(y) if single else y


@rule_of_node(Reduce, kind=EXACT, example=lambda x: _max(expand_dims_at(x, (-1,)), -1))
def _reduce_one_element(node: Apply, outputs: Any) -> Variable | None:
    """An axis of length 1, or no axis, leaves nothing to combine."""
    op: Any = node.op
    (x,) = node.inputs
    if op.fn is add or (op.fn is multiply and is_complex(x.type.dtype)):  # 1 * z has a NaN where z is infinite
        return None
    return _single(node)


@rule_of_node(Reduce, kind=SIGNED_ZERO, example=lambda x: _sum(expand_dims_at(x, (-1,)), -1))
def _sum_one_element(node: Apply, outputs: Any) -> Variable | None:
    """An axis of length 1, or no axis, leaves nothing to add; a sum may turn -0.0 into 0.0."""
    op: Any = node.op
    return _single(node) if op.fn is add else None


@rule_of(Reduce, kind=EXACT, example=lambda x: _sum(Slice((0,), (0,), (1,))(x), -1))
def _reduce_nothing(op: Any, x: Variable) -> Variable | None:
    """The result of no elements is what the reduction starts from."""
    if not any(x.type.shape[k] == 0 for k in op.axes) or (op.reduction.needs_elements and not op.total):
        return None
    return Constant(np.asarray(op.reduction.identity(x.type.dtype)))


def _of_reduction(node: Apply) -> Variable | None:
    """One reduction over both sets of axes."""
    op: Any = node.op
    (x,) = node.inputs
    inner: Any = x.op
    if inner.fn is not op.fn:
        return None
    y = x.inputs[0]
    rest = [k for k in range(-y.type.ndim, 0) if k not in inner.axes]
    axes = tuple(sorted((*inner.axes, *(rest[k] for k in op.axes))))
    return Reduce(op.fn, axes, op.total or inner.total)(y)  # type: ignore[no-any-return]


@rule_of(Reduce, kind=EXACT, below=(ExpandDims, Squeeze, Transpose), example=lambda x: _sum(_swapped(x), -1))
def _reduce_of_movement(op: Any, x: Variable) -> Variable | None:
    """Reductions of expanded, squeezed and transposed arrays whose elements are combined in the order they had.

    Less is moved after the reduction, or nothing.
    """
    below = Moved.of(x, ExpandDims, Squeeze, Transpose, most=1)
    inner = [below.source(k) for k in op.axes]
    if not inner or None in inner or inner != sorted(inner):  # type: ignore[type-var]
        return None
    return below.along(op.axes, lambda axes, y: reduced(op, axes, y))


@rule_of(
    ArgReduce, kind=EXACT, below=(ExpandDims, Squeeze, Transpose), example=lambda x: ArgReduce(maximum, -1)(_swapped(x))
)
def _position_of_movement(op: Any, x: Variable) -> Variable | None:
    """Less is moved after the reduction, or nothing."""
    below = Moved.of(x, ExpandDims, Squeeze, Transpose, most=1)
    return below.along((op.axis,), lambda axes, y: ArgReduce(op.fn, *axes)(y))


def _of_transpose(node: Apply) -> Variable | None:
    """The reduction below the transpose; where its axes come in the same order there `reduce_of_movement` is first."""
    op: Any = node.op
    (x,) = node.inputs
    return Moved.of(x, Transpose, most=1).along(op.axes, lambda axes, y: reduced(op, tuple(sorted(axes)), y))


def _of_reshape(node: Apply) -> Variable | None:
    """The reduction below the reshape, where the reduced axes are axes there too, several perhaps."""
    op: Any = node.op
    (x,) = node.inputs
    y = Moved.of(x, Reshape, most=1).in_order()
    assert x.apply is not None
    assert y is not None
    new = wanted_shape(x.apply.op, x.apply)
    below = _axes_below(op.axes, y.shape, new)
    if not below:
        return None
    return reshape(
        reduced(op, below, y), [n for k, n in zip(range(-len(new), 0), new, strict=True) if k not in op.axes]
    )


def _axes_below(axes: Axes, old: Lengths, new: Lengths) -> Axes | None:
    """The axes of the old shape that hold the same elements as axes of the new one."""
    old_axes: list[int] = []
    i = j = 0
    for a, b in _cuts(old, new):
        chosen = [k - len(new) in axes for k in range(j, b)]
        if any(chosen):
            if not all(chosen):
                return None
            old_axes.extend(k - len(old) for k in range(i, a))
        i, j = a, b
    return tuple(old_axes)


def _cuts(old: Lengths, new: Lengths) -> list[tuple[int, int]]:
    """Places where both shapes can be cut in two such that both parts hold as many elements."""
    cuts = []
    i = 0
    before, after = _products(old)
    for j, (head, tail) in enumerate(zip(*_products(new), strict=True)):
        for k in range(i, len(old) + 1):
            if j < len(new) and same(before[k], head) and same(after[k], tail):
                cuts.append((k, j))
                i = k + 1
                break
    return [*cuts, (len(old), len(new))]


def _products(shape: Lengths) -> tuple[list[int | Length], list[int | Length]]:
    """The numbers of elements before and after each place between axes."""
    cuts = range(len(shape) + 1)
    return [product(tuple(shape[:k])) for k in cuts], [product(tuple(shape[k:])) for k in cuts]


def _of_permuted(node: Apply) -> Variable | None:
    """The reduction of what was sorted or reversed along reduced axes."""
    op: Any = node.op
    (x,) = node.inputs
    if op.fn is multiply and is_inexact(x.type.dtype):
        return None  # in another order a product may leave the range before it meets a 0: NaN
    sort = made_by(x, Sort)
    if sort:
        return reduced(op, op.axes, x.inputs[0]) if sort.axis in op.axes else None
    return reduced(op, op.axes, x.inputs[0]) if _reverses(x, op.axes) else None


def _reverses(x: Variable, axes: Axes) -> bool:
    """Whether a value is a slice that takes all of its operand, with some of these axes from the end."""
    op: Any = made_by(x, Slice)
    last = zip(range(-len(op.sizes), 0), op.sizes, op.steps, strict=True)  # starts are set to where so many fit
    shape = x.inputs[0].type.shape
    return all(n == shape[k] is not None and (step == 1 or (step == -1 and k in axes)) for k, n, step in last)


def _of_pieces(node: Apply) -> Variable | None:
    """The pieces of a join along a reduced axis, reduced each and combined."""
    op: Any = node.op
    (x,) = node.inputs
    join: Any = x.op
    if join.axis not in op.axes or len(x.inputs) > MOST_PIECES:
        return None
    total, *others = (Reduce(op.fn, op.axes, op.reduction.needs_elements)(piece) for piece in x.inputs)
    for other in others:
        total = op.fn(total, other)
    return total  # type: ignore[no-any-return]


def _any(x: Variable, *axes: int) -> Variable:
    return Reduce(logical_or, axes)(cast_variable(x, "bool"))  # type: ignore[no-any-return]


def _max(x: Variable, *axes: int) -> Variable:
    return Reduce(maximum, axes, total=True)(x)  # type: ignore[no-any-return]


def _sum(x: Variable, *axes: int) -> Variable:
    return Reduce(add, axes)(x)  # type: ignore[no-any-return]


def _swapped(x: Variable) -> Variable:
    return Transpose((-1, -2))(x)  # type: ignore[no-any-return]


def _examples(change: Callable[[Variable], Variable], *axes: int) -> Any:
    """Examples of the three classes of a rule that reorders."""
    return (
        lambda x: Reduce(logical_or, axes)(change(cast_variable(x, "bool"))),
        lambda x: _max(change(x), *axes),
        lambda x: _sum(change(x), *axes),
    )


RULES = (
    _reduce_one_element,
    _sum_one_element,
    _reduce_nothing,
    *reordering(
        "of_reduction",
        apply=_of_reduction,
        why="One loop over all axes.",
        below=(Reduce,),
        examples=(lambda x: _any(_any(x, -1), -1), lambda x: _max(_max(x, -1), -1), lambda x: _sum(_sum(x, -1), -1)),
    ),
    _reduce_of_movement,
    _position_of_movement,
    *reordering(
        "of_transpose",
        apply=_of_transpose,
        why="Less is moved after the reduction, or nothing.",
        below=(Transpose,),
        examples=_examples(_swapped, -2, -1),
    ),
    *reordering(
        "of_reshape",
        apply=_of_reshape,
        why="The elements lie beside one another under the old shape too.",
        below=(Reshape,),
        examples=_examples(lambda x: reshape(x, (-1,)), -1),
    ),
    *reordering(
        "of_permuted",
        apply=_of_permuted,
        why="Elements that are all combined need not be put in order first.",
        below=(Sort, Slice),
        examples=_examples(lambda x: flip(x, -1), -1),
    ),
    *reordering(
        "of_pieces",
        apply=_of_pieces,
        why="What is reduced need not be joined first.",
        below=(Concatenate,),
        examples=_examples(lambda x: concatenate([x, x], -1), -1),
        extremes=SPECIALIZE,  # until then a softmax is looked for, which sees its operand and the maximum of that
    ),
)
