"""Movements: permuting, inserting and dropping axes, and reshaping. Several become one, in one order.

The canonical order from the value outwards is reshape (of no lengths of 1, and never of another movement than a
transpose), squeeze, transpose, expand_dims, broadcast_to; each stands there once, or not at all.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose, broadcast_to, expand_dims_at, reshape
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule_of, rule_of_node
from tg.rules.shape.terms import (
    MOVEMENTS,
    arranged,
    below_movements,
    entries,
    is_one,
    made_by,
    places_of,
    same_shape,
    sized,
    steps,
    wanted_shape,
)
from tg.types.atoms import key
from tg.types.lengths import multiply, product
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rules.shape.terms import Entry, Places, Shape


@rule_of_node(
    *MOVEMENTS,
    kind=EXACT,
    example=lambda x: ExpandDims((-1,))(Transpose((-1, -2))(ExpandDims((-2,))(Transpose((-1, -2))(x)))),
)
def _movement_of_movement(node: Apply, outputs: Any) -> Variable | None:
    """A chain of expand_dims, squeeze and transpose in its canonical form.

    Permutations, dropped and added axes are each one op at most, in one order, and cancel.
    """
    x, places, chain = below_movements(outputs[0])
    return None if steps(x, places) == chain else arranged(x, places)


@rule_of(
    *MOVEMENTS,
    kind=EXACT,
    below=(BroadcastTo,),
    example=lambda x: Transpose((-3, -1, -2))(broadcast_to(x, (2, *x.shape))),
)
def _movement_of_broadcast(op: Any, y: Variable) -> Variable | None:
    """A movement of broadcast_to(x) is broadcast_to of a movement of x: where it drops an axis both have length 1.

    What is repeated is moved before it is repeated, and broadcasts meet what uses them.
    """
    if not made_by(y, BroadcastTo):
        return None
    assert y.apply is not None
    x, lengths = y.apply.inputs[0], entries(y.apply)
    missing = y.type.ndim - x.type.ndim
    places = places_of(op, y.type.ndim)
    own: Places = [None if p is None or p < missing else p - missing for p in places]
    first = next((k for k, p in enumerate(own) if p is not None), len(own))
    return sized(BroadcastTo, arranged(x, own[first:]), [1 if p is None else lengths[p] for p in places])


@rule_of(
    Reshape, kind=EXACT, below=(Reshape, ExpandDims, Squeeze), example=lambda x: reshape(reshape(x, (-1,)), (2, 8))
)
def _reshape_of_movement(op: Any, x: Variable, *sizes: Variable) -> Any:
    """Only the last shape counts; the number of elements is checked by the first."""
    if x.apply is None or not isinstance(x.apply.op, Reshape | ExpandDims | Squeeze):
        return None
    return op(x.apply.inputs[0], *sizes)


@rule_of_node(Reshape, kind=EXACT, example=Reshape((1, 16, 1)))
def _reshape_of_ones(node: Apply, outputs: Any) -> Variable | None:
    """A reshape that adds or drops lengths of 1 adds or drops axes; those that it adds come last.

    Axes of length 1 are added and dropped by ops that say so, which merge with movements and broadcasts.
    """
    x, wanted = node.inputs[0], wanted_shape(node.op, node)
    ones = [is_one(n) for n in wanted]
    own = [k for k, n in enumerate(x.shape) if not is_one(n)]
    if ones.count(False) == len(own):
        rest = iter(own)
        places: Places = [None if one else next(rest) for one in ones]
        if all(p is None or equal_here(x.shape[p], n) for p, n in zip(places, wanted, strict=True)):
            return arranged(x, places)
    if not any(ones):
        return None
    lengths: list[Entry] = [n for n, one in zip(entries(node), ones, strict=True) if not one]
    return ExpandDims(tuple(k - len(ones) for k, one in enumerate(ones) if one))(sized(Reshape, x, lengths))  # type: ignore[no-any-return]


@rule_of_node(
    Reshape,
    kind=EXACT,
    below=(BroadcastTo,),
    example=lambda x: reshape(broadcast_to(expand_dims_at(x, (-3,)), (3, *x.shape)), (3, -1)),
)
def _reshape_of_broadcast(node: Apply, outputs: Any) -> Variable | None:
    """A reshape that keeps repeated axes apart from others repeats what is reshaped.

    The reshaped array is the smaller one, and it may not have to be repeated at all.
    """
    y = node.inputs[0]
    if not made_by(y, BroadcastTo):
        return None
    assert y.apply is not None
    x, wanted, lengths = y.apply.inputs[0], wanted_shape(node.op, node), entries(node)
    if x.type.ndim == 0:
        return sized(BroadcastTo, x, lengths)
    missing = y.type.ndim - x.type.ndim
    inside: list[Any] = []
    for (a, b), (c, d) in itertools.pairwise(_cuts(y.shape, wanted)):
        repeated = [k < missing or is_one(x.shape[k - missing]) for k in range(a, c) if not is_one(y.shape[k])]
        if not any(repeated) and equal_here(product(y.shape[a:c]), product(wanted[b:d])):
            inside.extend(wanted[b:d])
        elif repeated and all(repeated):
            inside.extend([1] * (d - b))
        else:
            return None
    return sized(BroadcastTo, reshape(x, tuple(inside)), lengths)


def _cuts(old: Shape, new: Shape) -> list[tuple[int, int]]:
    """Cuts of two shapes of one number of elements into parts, of equal numbers unless one before has none."""
    ends = {n: i for i, n in enumerate(_products(old), 1)}
    cuts = {ends[n]: j for j, n in enumerate(_products(new), 1) if n in ends}
    return sorted({0: 0, **cuts, len(old): len(new)}.items())


def _products(shape: Shape) -> list[object]:
    """The products of the first lengths, of one, two and so on, in a form that can be compared."""
    return [key(n) for n in itertools.accumulate(shape, multiply)]


RULES = (
    _movement_of_movement,
    _movement_of_broadcast,
    node_rule(
        "reshape_to_same",
        keys=(Reshape,),
        apply=same_shape,
        phase=CANONICALIZE,
        kind=EXACT,
        why="It changes nothing.",
        example=lambda x: Reshape(x.type.shape)(x),
    ),
    _reshape_of_movement,
    _reshape_of_ones,
    _reshape_of_broadcast,
)
