"""Rules of shape: lengths that are known, movements that cancel or are one, and repetition that is not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import Constant, as_size_variable, size_value
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import (
    AxisLength,
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    SumTo,
    Transpose,
    broadcast_to,
    merge_sizes,
    reshape,
    sum_to,
)
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES
from tg.rewrite.rule import node_rule
from tg.types.lengths import Length, atoms, equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.op import Op

    Shape = tuple[int | Length, ...]


def wanted_shape(op: Any, node: Apply) -> Shape:
    """The shape that an op with sizes is asked for."""
    return merge_sizes(op.shape, [size_value(v) for v in node.inputs[1:]])


def is_shape_of(v: Variable, shape: Shape) -> bool:
    """Whether a value is known to have a shape."""
    return len(v.shape) == len(shape) and all(map(equal_here, v.shape, shape))


def made_by(v: Variable, kind: type[Op]) -> Any:
    """The op that makes a value, if it is one of a class."""
    return v.apply.op if v.apply is not None and type(v.apply.op) is kind else None


def _axis_length(node: Apply, outputs: Any) -> Variable | None:
    op: Any = node.op
    (x,) = node.inputs
    n = x.shape[op.axis]
    return None if any(getattr(a, "owner", None) is x for a in atoms(n)) else as_size_variable(n)


def _known_sizes(node: Apply, outputs: Any) -> Any:
    op: Any = node.op
    if None not in op.shape:
        return None
    x, *sizes = node.inputs
    values = [size_value(v) for v in sizes]
    if not any(isinstance(n, int) for n in values):
        return None
    field = tuple(n if isinstance(n, int) else None for n in merge_sizes(op.shape, values))
    rest = [v for v, n in zip(sizes, values, strict=True) if not isinstance(n, int)]
    return type(op)(field)(x, *rest)


def _same_shape(node: Apply, outputs: Any) -> Variable | None:
    x = node.inputs[0]
    return x if is_shape_of(x, wanted_shape(node.op, node)) else None


def _sum_to(node: Apply, outputs: Any) -> Any:
    return node.op.expansion(*node.inputs)


def _reshape_of_movement(node: Apply, outputs: Any) -> Any:
    x, *sizes = node.inputs
    if x.apply is None or not isinstance(x.apply.op, Reshape | ExpandDims | Squeeze):
        return None
    return node.op(x.apply.inputs[0], *sizes)


def _broadcast_of_broadcast(node: Apply, outputs: Any) -> Any:
    x, *sizes = node.inputs
    if made_by(x, BroadcastTo):
        return node.op(x.inputs[0], *sizes)
    expand = made_by(x, ExpandDims)
    if expand and expand.axes == tuple(range(-x.type.ndim, -x.type.ndim + len(expand.axes))):
        return node.op(x.inputs[0], *sizes)
    return None


def _transpose_of_transpose(node: Apply, outputs: Any) -> Any:
    outer: Any = node.op
    (x,) = node.inputs
    inner = made_by(x, Transpose)
    axes = outer.axes
    if inner:
        n = max(len(axes), len(inner.axes))
        first, second = _padded(inner.axes, n), _padded(axes, n)
        axes = tuple(first[k] for k in second)
        (x,) = x.inputs
    moved = next((k for k, a in enumerate(axes) if a != k - len(axes)), len(axes))
    axes = axes[moved:]
    if not axes:
        return x
    return None if not inner and axes == outer.axes else Transpose(axes)(x)


def _padded(axes: tuple[int, ...], n: int) -> tuple[int, ...]:
    return (*range(-n, -len(axes)), *axes)


def _expand(node: Apply, outputs: Any) -> Any:
    op: Any = node.op
    (x,) = node.inputs
    if not op.axes:
        return x
    inner = made_by(x, ExpandDims)
    if inner:
        ndim = x.type.ndim + len(op.axes)
        kept = [k for k in range(-ndim, 0) if k not in op.axes]  # where the axes of x are in the result
        return ExpandDims(tuple(sorted((*op.axes, *(kept[a] for a in inner.axes)))))(x.inputs[0])
    squeeze = made_by(x, Squeeze)
    return x.inputs[0] if squeeze and squeeze.axes == op.axes else None


def _squeeze(node: Apply, outputs: Any) -> Any:
    op: Any = node.op
    (x,) = node.inputs
    if not op.axes:
        return x
    squeeze = made_by(x, Squeeze)
    if squeeze:
        ndim = x.inputs[0].type.ndim
        kept = [k for k in range(-ndim, 0) if k not in squeeze.axes]  # where the axes of x are in its operand
        return Squeeze(tuple(sorted((*squeeze.axes, *(kept[a] for a in op.axes)))))(x.inputs[0])
    expand = made_by(x, ExpandDims)
    return _squeeze_of_expand(x, op.axes, expand.axes) if expand else None


def _squeeze_of_expand(x: Variable, dropped: tuple[int, ...], added: tuple[int, ...]) -> Any:
    """The axes that are added and dropped cancel; those left are counted anew."""
    both = [k for k in dropped if k in added]
    if not both:
        return None
    kept = [k for k in range(-x.type.ndim, 0) if k not in both]
    added = tuple(kept.index(k) - len(kept) for k in added if k not in both)
    dropped = tuple(kept.index(k) - len(kept) for k in dropped if k not in both)
    y = x.inputs[0]
    if added:
        y = ExpandDims(added)(y)
    return Squeeze(dropped)(y) if dropped else y


def _single_piece(node: Apply, outputs: Any) -> Variable | None:
    return node.inputs[0] if len(node.inputs) == 1 else None


def _elementwise_of_broadcast(node: Apply, outputs: Any) -> Any:
    """f(broadcast_to(x), y) is f(x, y), repeated where y does not repeat it anyway."""
    for v in node.inputs:
        if v.apply is not None and type(v.apply.op) is BroadcastTo:
            break
    else:
        return None
    op: Any = node.op
    return op.fn(*(v.inputs[0] if made_by(v, BroadcastTo) else v for v in node.inputs))


def _elementwise_of_expanded(node: Apply, outputs: Any) -> Any:
    """f(expand_dims(x)) is expand_dims(f(x)) for one operand, and for several with axes in the same places."""
    inputs = node.inputs
    first = made_by(inputs[0], ExpandDims) or (len(inputs) > 1 and made_by(inputs[-1], ExpandDims))
    if not first:
        return None
    rank = len(outputs[0].type.shape)
    operands: list[Variable] = []
    for v in inputs:
        if isinstance(v, Constant) and v.data.size == 1:
            operands.append(Constant(v.data.reshape(())) if v.data.ndim else v)
        elif made_by(v, ExpandDims) is not None and v.apply.op == first and v.type.ndim == rank:  # type: ignore[union-attr]
            operands.append(v.inputs[0])
        elif v.type.ndim == 0:
            operands.append(v)
        else:
            return None
    op: Any = node.op
    return ExpandDims(first.axes)(op.fn(*operands))


RULES = (
    node_rule(
        "length_without_value",
        keys=(AxisLength,),
        apply=_axis_length,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length follows from the lengths of the inputs: nothing is computed to know it.",
        example=lambda x: AxisLength(-1)(Transpose((-1, -2))(x)),
    ),
    node_rule(
        "known_sizes",
        keys=(Reshape, BroadcastTo, SumTo),
        apply=_known_sizes,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length that is known belongs into the op: equal programs are one, and backends see it.",
        example=lambda x: Reshape((None,))(x, as_size_variable(x.size)),
    ),
    node_rule(
        "reshape_to_same",
        keys=(Reshape,),
        apply=_same_shape,
        phase=CANONICALIZE,
        kind=EXACT,
        why="It changes nothing.",
        example=lambda x: Reshape(x.type.shape)(x),
    ),
    node_rule(
        "reshape_of_reshape",
        keys=(Reshape,),
        apply=_reshape_of_movement,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Only the last shape counts; the number of elements is checked by the first.",
        example=lambda x: reshape(reshape(x, (-1,)), (1, -1)),
    ),
    node_rule(
        "broadcast_to_same",
        keys=(BroadcastTo, SumTo),
        apply=_same_shape,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Nothing is repeated.",
        example=lambda x: BroadcastTo(x.type.shape)(x),
    ),
    node_rule(
        "broadcast_of_broadcast",
        keys=(BroadcastTo,),
        apply=_broadcast_of_broadcast,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Only the last shape counts; axes in front are added by repeating.",
        example=lambda x: broadcast_to(broadcast_to(x, (2, *x.shape)), (3, 2, *x.shape)),
    ),
    node_rule(
        "sum_to_is_known",
        keys=(SumTo,),
        apply=_sum_to,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="A specialised graph knows which lengths are 1, and so the axes to sum.",
        example=lambda x: sum_to(x, (1, x.shape[-1])),
    ),
    node_rule(
        "transpose_of_transpose",
        keys=(Transpose,),
        apply=_transpose_of_transpose,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Two permutations are one; axes that stay in front are not named.",
        example=lambda x: Transpose((-1, -2))(Transpose((-1, -2))(x)),
    ),
    node_rule(
        "expand_dims_of_movement",
        keys=(ExpandDims,),
        apply=_expand,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Axes that were dropped come back; axes added twice are added once.",
        example=lambda x: ExpandDims((-2,))(ExpandDims((-1,))(x)),
    ),
    node_rule(
        "squeeze_of_movement",
        keys=(Squeeze,),
        apply=_squeeze,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Axes that were added go; axes dropped twice are dropped once.",
        example=lambda x: Squeeze((-2,))(ExpandDims((-2,))(x)),
    ),
    node_rule(
        "concatenate_one",
        keys=(Concatenate,),
        apply=_single_piece,
        phase=CANONICALIZE,
        kind=EXACT,
        why="There is nothing to join.",
        example=Concatenate(-1),
    ),
    node_rule(
        "elementwise_of_broadcast",
        keys=(Elementwise,),
        apply=_elementwise_of_broadcast,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Operands repeat by themselves, and what is computed before repeating is computed once.",
        example=lambda x: -broadcast_to(x, (2, *x.shape)),
    ),
    node_rule(
        "elementwise_of_expanded",
        keys=(Elementwise,),
        apply=_elementwise_of_expanded,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Movements go outwards, where they meet others and rules see the functions below.",
        example=lambda x: -ExpandDims((-2,))(x),
    ),
)
