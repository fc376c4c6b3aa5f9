"""Rules of joining: pieces that are nothing, that are one piece, or that are made alike.

Movements and repetition that all pieces share go outwards. That an elementwise function of joined arrays joins its
results where the arrays were cut at the same places needs to know who else reads them, and is a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant, as_size_variable, size_value
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Slice, read_slices
from tg.ops.shape import BroadcastTo, Concatenate, ExpandDims, Transpose, broadcast_to
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import pass_of, rule_of, rule_of_node
from tg.rules.shape.moved import Moved, is_repeated_along
from tg.rules.shape.terms import entries, is_one, made_by
from tg.types.lengths import add as add_lengths
from tg.types.lengths import is_natural, minimum, same
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View
    from tg.types.lengths import Length

    Merge = Callable[[Variable, Variable, int], Variable | None]

MANY: Final = 64  # pieces; of more, concatenations within one another stay, so that a chain of them costs no squares
FEW: Final = 8  # pieces that elementwise functions are applied to one by one
LARGEST: Final = 1 << 14  # elements of a constant that is joined of several


@rule_of(Concatenate, kind=EXACT, example=Concatenate(-1))
def _concatenate_one(op: Any, *operands: Variable) -> Variable | None:
    """There is nothing to join."""
    return operands[0] if len(operands) == 1 else None


@rule_of(Concatenate, kind=EXACT, example=lambda x, y: Concatenate(-1)(x, Slice((0,), (0,), (1,))(y)))
def _concatenate_empty(op: Any, *operands: Variable) -> Variable | None:
    """A piece of no entries adds nothing."""
    pieces = [v for v in operands if not equal_here(v.shape[op.axis], 0)]
    if len(pieces) == len(operands):
        return None
    return op(*pieces) if pieces else operands[0]


@rule_of(Concatenate, kind=EXACT, below=(Concatenate,), example=lambda x, y: Concatenate(-1)(x, Concatenate(-1)(y, x)))
def _concatenate_nested(op: Any, *operands: Variable) -> Variable | None:
    """Every element is copied once."""
    pieces = [u for v in operands for u in (v.inputs if made_by(v, Concatenate) == op else (v,))]
    return op(*pieces) if len(operands) < len(pieces) <= MANY else None


def _merged(node: Apply, merge: Merge) -> Variable | None:
    """The pieces with neighbours merged where that is possible."""
    op: Any = node.op
    pieces = [node.inputs[0]]
    for v in node.inputs[1:]:
        both = merge(pieces[-1], v, op.axis)
        pieces[-1:] = [pieces[-1], v] if both is None else [both]
    return op(*pieces) if len(pieces) < len(node.inputs) else None


@rule_of_node(
    Concatenate,
    kind=EXACT,
    below=(Constant,),
    example=lambda x: Concatenate(-1)(
        x, Constant(np.ones((4, 2), x.type.numpy_dtype)), Constant(np.zeros((4, 1), x.type.numpy_dtype))
    ),
)
def _concatenate_constants(node: Apply, outputs: Any) -> Variable | None:
    """Neighbouring constants are one."""
    return _merged(node, _joined_constants)


def _joined_constants(a: Variable, b: Variable, axis: int) -> Variable | None:
    if type(a) is not Constant or type(b) is not Constant or a.data.size + b.data.size > LARGEST:
        return None
    return Constant(np.concatenate([a.data, b.data], axis))


@rule_of_node(
    Concatenate,
    kind=EXACT,
    below=(BroadcastTo,),
    example=lambda x: Concatenate(-3)(x[None], broadcast_to(x, (2, *x.shape)), broadcast_to(x, (3, *x.shape))),
)
def _concatenate_fills(node: Apply, outputs: Any) -> Variable | None:
    """Neighbouring pieces that repeat one value are one."""
    return _merged(node, _joined_fills)


def _joined_fills(a: Variable, b: Variable, axis: int) -> Variable | None:
    """Two broadcasts of one value, which has not this axis or length 1 along it."""
    if not all(is_repeated_along(v, axis) for v in (a, b)):
        return None
    first, second = (Moved.of(v, BroadcastTo) for v in (a, b))
    if not first.is_of(second):
        return None
    assert a.apply is not None
    lengths = entries(a.apply)
    lengths[axis] = as_size_variable(add_lengths(a.shape[axis], b.shape[axis]))
    return first.repeated(lengths)


@rule_of_node(Concatenate, kind=EXACT, below=(Slice,), example=lambda x: Concatenate(-1)(*_two_parts(x)))
def _concatenate_slices(node: Apply, outputs: Any) -> Variable | None:
    """Neighbouring slices of one array are one, and all of them are the array."""
    return _merged(node, _joined_slices)


def _joined_slices(a: Variable, b: Variable, axis: int) -> Variable | None:
    """Two neighbouring slices of one array, which lie in it, as one."""
    if not made_by(a, Slice) or not made_by(b, Slice) or a.inputs[0] is not b.inputs[0]:
        return None
    x, first, second = a.inputs[0], _windows(a), _windows(b)
    if len(first) != len(second) or len(first) < -axis:
        return None
    others = [k for k in range(-len(first), 0) if k != axis]
    if not all(_reads_as(first[k], second[k]) for k in others):
        return None
    n, (start, size, step), (then, more, other) = x.shape[axis], first[axis], second[axis]
    start, then = minimum(start, n), minimum(then, n)  # a start behind the end belongs to a slice of nothing
    end = add_lengths(start, size)
    left = subtract_lengths(n, add_lengths(end, more))
    if (step, other) != (1, 1) or not same(end, then):
        return None
    if not all(map(is_natural, (start, size, more, left))):
        return None
    first[axis] = (start, add_lengths(size, more), 1)
    return read_slices(x, first)


def _windows(v: Variable) -> list[tuple[int | Length, int | Length, int]]:
    """The start, size and step of a slice along each of its axes."""
    assert v.apply is not None
    op: Any = v.apply.op
    rest = iter([size_value(u) for u in v.inputs[1:]])
    starts = [next(rest) if n is None else n for n in op.starts]
    sizes = [next(rest) if n is None else n for n in op.sizes]
    return list(zip(starts, sizes, op.steps, strict=True))


def _reads_as(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two windows of one size, as those beside one another in a join are, read the same positions."""
    return same(a[0], b[0]) and a[2] == b[2]


def _repeated(node: Apply, outputs: Any) -> Variable | None:
    """Broadcasts that repeat along the same other axes are joined before they are repeated along these."""
    op: Any = node.op
    below = [Moved.of(v, BroadcastTo) for v in node.inputs]
    if not all(v.is_moved for v in below):
        return None
    rank = outputs[0].type.ndim
    axes = [k for k in range(-rank, 0) if k != op.axis and all(_repeats(v, k) for v in node.inputs)]
    if not axes:
        return None
    pieces = []
    for v, u in zip(node.inputs, below, strict=True):
        assert v.apply is not None
        lengths = entries(v.apply)
        for k in axes:
            lengths[k] = 1
        pieces.append(u.repeated(lengths))
    return broadcast_to(op(*pieces), outputs[0].shape)


def _repeats(v: Variable, axis: int) -> bool:
    return is_repeated_along(v, axis) and not is_one(v.shape[axis])


@rule_of(
    Concatenate,
    kind=EXACT,
    below=(ExpandDims, Transpose),
    example=lambda x, y: Concatenate(-1)(Transpose((-1, -2))(x), Transpose((-1, -2))(y)),
)
def _concatenate_moved(op: Any, *operands: Variable) -> Variable | None:
    """Pieces that one expand_dims or transpose has made are joined before it.

    One movement in place of one for each piece.
    """
    first, *others = (Moved.of(v, ExpandDims, Transpose, most=1) for v in operands)
    axis, below = first.source(op.axis), first.together(*others)
    if axis is None or below is None or not first.is_moved:
        return None
    return below.again(lambda pieces: Concatenate(axis)(*pieces))  # type: ignore[no-any-return]


@pass_of(Concatenate, phase=SPECIALIZE, kind=EXACT, example=lambda x, y: Concatenate(-1)(x, y) * Concatenate(-1)(y, x))
def _elementwise_of_pieces(view: View) -> dict[int, Variable]:
    """Elementwise functions of arrays that are joined of pieces of the same lengths, and that nothing else reads.

    Arrays that are cut at the same places are joined once, after what is done to their elements.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if type(node.op) is Elementwise:
            new = _over_pieces(node, view)
            if new is not None:
                replacements[id(view.results(node)[0])] = new
    return replacements


def _over_pieces(node: Apply, view: View) -> Variable | None:
    joined = [v for v in node.inputs if made_by(v, Concatenate)]
    if len({id(v) for v in joined}) < 2 or not all(v.type.ndim == 0 or made_by(v, Concatenate) for v in node.inputs):
        return None
    first = joined[0]
    if not all(v.op == first.op and _is_cut_as(v, first) for v in joined):
        return None
    if len(first.inputs) > FEW or not all(view.uses(v) == 1 for v in joined):
        return None
    op: Any = node.op
    rows = zip(*(v.inputs if made_by(v, Concatenate) else (v,) * len(first.inputs) for v in node.inputs), strict=True)
    join: Any = first.op
    return join(*(op.fn(*row) for row in rows))  # type: ignore[no-any-return]


def _is_cut_as(v: Variable, first: Variable) -> bool:
    return len(v.inputs) == len(first.inputs) and all(
        all(map(equal_here, u.shape, w.shape)) for u, w in zip(v.inputs, first.inputs, strict=True)
    )


def _two_parts(x: Variable) -> tuple[Variable, Variable]:
    return Slice((0,), (2,), (1,))(x), Slice((2,), (2,), (1,))(x)


RULES = (
    _concatenate_one,
    _concatenate_empty,
    _concatenate_nested,
    _concatenate_constants,
    _concatenate_fills,
    _concatenate_slices,
    _concatenate_moved,
)

PASSES = (_elementwise_of_pieces,)
