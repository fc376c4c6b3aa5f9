"""Terms of the rules of shape: the op that makes a value, the shape it is asked for, the arrangement of its axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.shape import ExpandDims, Squeeze, Transpose, merge_sizes
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.types.lengths import Length

    Shape = tuple[int | Length, ...]
    Entry = int | Variable  # a length as an op with sizes has it: in its field, or as an operand
    Places = list[int | None]  # for each axis of a result: the axis of the operand, from the front; None is a new one

MOVEMENTS = (ExpandDims, Squeeze, Transpose)
DEPTH = 4  # a chain of movements in canonical form is at most three long


def made_by(v: Variable, kind: type[Op]) -> Any:
    """The op that makes a value, if it is one of a class."""
    return v.apply.op if v.apply is not None and type(v.apply.op) is kind else None


def wanted_shape(op: Any, node: Apply) -> Shape:
    """The shape that an op with sizes is asked for."""
    return merge_sizes(op.shape, [size_value(v) for v in node.inputs[1:]])


def is_shape_of(v: Variable, shape: Sequence[int | Length]) -> bool:
    """Whether a value is known to have a shape."""
    return len(v.shape) == len(shape) and all(map(equal_here, v.shape, shape))


def same_shape(node: Apply, outputs: Any) -> Variable | None:
    """The operand of an op with sizes, where it is known to have the shape that the op is asked for."""
    x = node.inputs[0]
    return x if is_shape_of(x, wanted_shape(node.op, node)) else None


def is_one(length: int | Length) -> bool:
    """Whether a length is known to be 1."""
    return equal_here(length, 1)


def entries(node: Apply) -> list[Entry]:
    """The lengths of an op with sizes, those that are operands as variables."""
    op: Any = node.op
    rest = iter(node.inputs[1:])
    return [next(rest) if n is None else n for n in op.shape]


def sized(kind: Any, x: Variable, lengths: Sequence[Entry]) -> Variable:
    """An op with sizes applied to x and lengths given as `entries` gives them."""
    field = tuple(None if isinstance(n, Variable) else n for n in lengths)
    return kind(field)(x, *(n for n in lengths if isinstance(n, Variable)))  # type: ignore[no-any-return]


def places_of(op: Any, rank: int) -> Places:
    """Arrangement of the axes of an operand of a rank by an expand_dims, squeeze or transpose."""
    if type(op) is Transpose:
        return list(op.order(rank))
    if type(op) is Squeeze:
        return [k for k in range(rank) if k - rank not in op.axes]
    total = rank + len(op.axes)
    rest = iter(range(rank))
    return [None if k - total in op.axes else next(rest) for k in range(total)]


def steps(x: Variable, places: Places) -> list[Any]:
    """The ops that arrange the axes of x in the canonical way: squeeze, transpose, expand_dims, the needed ones."""
    rank, shape = x.type.ndim, x.type.shape
    moved = [p for p in places if p is not None and shape[p] != 1]
    if moved == sorted(moved):  # axes of length 1 need no transpose
        ordered = [p for p in places if p is not None]
        if ordered != sorted(ordered):
            places = [None if p is not None and shape[p] == 1 else p for p in places]
    places = _reused(places, shape)
    sources = [p for p in places if p is not None]
    ops: list[Any] = []
    if len(sources) < rank:
        ops.append(Squeeze(tuple(k - rank for k in range(rank) if k not in sources)))
    order = sorted(sources)
    axes = tuple(order.index(p) - len(sources) for p in sources)
    first = next((k for k, a in enumerate(axes) if a != k - len(axes)), len(axes))
    if axes[first:]:
        ops.append(Transpose(axes[first:]))
    if len(sources) < len(places):
        ops.append(ExpandDims(tuple(k - len(places) for k, p in enumerate(places) if p is None)))
    return ops


def _reused(places: Places, shape: Sequence[int | Length | None]) -> Places:
    """The same with new axes taken from dropped ones of length 1 that stand at the same place."""
    sources = {p for p in places if p is not None}
    free = [k for k, n in enumerate(shape) if k not in sources and n == 1]
    if not free or None not in places:
        return places
    arrangement: Places = []
    last = -1
    for j, p in enumerate(places):
        following = next((q for q in places[j:] if q is not None), len(shape))
        one = next((k for k in free if last < k < following), None) if p is None else p
        if p is None and one is not None:
            free.remove(one)
        arrangement.append(one)
        last = last if one is None else one
    return arrangement


def arranged(x: Variable, places: Places) -> Variable:
    """The axes of x arranged: dropped, permuted and added, in the canonical way."""
    for op in steps(x, places):
        x = op(x) if not isinstance(x, Constant) else Constant(op.perform(x.data)[0])
    return x


def below_movements(v: Variable) -> tuple[Variable, Places, list[Any]]:
    """The value below a chain of movements, how they arrange its axes, and their ops from the inside."""
    chain: list[Any] = []
    base = v
    while base.apply is not None and type(base.apply.op) in MOVEMENTS and len(chain) < DEPTH:
        chain.append(base.apply.op)
        (base,) = base.apply.inputs
    chain.reverse()
    places: Places = list(range(base.type.ndim))
    for op in chain:
        places = [None if p is None else places[p] for p in places_of(op, len(places))]
    return base, places, chain
