"""Data parallel: from the program of one process the program of each of several, which gives the same results.

A value is whole, the same in every process, or split along one axis, of which each process has its own part. What is
sharded is split; elementwise functions, movements, reductions and products of split values are computed of the parts,
and a sum along the split axis is followed by one over the processes. Wherever else a split value is read it is brought
together before, so every program keeps its meaning, and inputs, results and checks are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import mlx.core as mx

from tg import OptionError
from tg.backend import (
    AxisLength,
    ExpandDims,
    FrozenGraph,
    Gather,
    MatMul,
    Node,
    Op,
    Placement,
    Reduce,
    Reshape,
    Squeeze,
    SumTo,
    TensorType,
    Transpose,
    arithmetic,
    convolution,
    message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Mesh

Axis = int | None
"""The axis along which a value is split, counted from the end; None if it is whole."""


class Plan(NamedTuple):
    """The way in which a node is computed of parts: the axes of its operands, that of its result, and what follows."""

    operands: tuple[Axis, ...]
    result: Axis
    is_summed: bool = False  # over the processes, each of which has a sum over its part
    op: Op | None = None  # in place of the node's


@final
class OwnPart(Op):
    """The part of a whole value that a process has."""

    axis: int
    parts: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """A part of the axis."""
        return (part_of(x, self.axis, self.parts),)


@final
class Joined(Op):
    """The whole value, of the parts of all processes in their order."""

    axis: int
    parts: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """All of the axis."""
        n = x.shape[self.axis]
        return (with_length(x, self.axis, None if n is None else n * self.parts),)


@final
class SummedOver(Op):
    """The sum over all processes."""

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)


def own_part(op: OwnPart, x: Any) -> Any:
    """A window."""
    n = x.shape[op.axis] // op.parts
    first = mx.distributed.init().rank() * n
    return x[(..., slice(first, first + n), *(slice(None) for _ in range(-1 - op.axis)))]


def joined(op: Joined, x: Any) -> Any:
    """MLX joins along the first axis."""
    return mx.moveaxis(mx.distributed.all_gather(mx.moveaxis(x, op.axis, 0)), 0, op.axis)


def summed_over(op: SummedOver, x: Any) -> Any:
    """The sum that every process gets."""
    return mx.distributed.all_sum(x)


RULES: Final[dict[object, Callable[..., Any]]] = {OwnPart: own_part, Joined: joined, SummedOver: summed_over}


def need_processes(mesh: Mesh, *, is_compiled: bool) -> None:
    """Raise unless the mesh is one axis of all processes that were started.

    Raises:
        OptionError: it has another size, or several axes; `mx.compile` is to compile, whose programs wait for good.
    """
    if is_compiled:
        text = f"backend 'mlx': option compile: found True beside {mesh}, needed False: what is sent is not compiled"
        raise OptionError(message(text))
    count = mx.distributed.init().size()
    if mesh.size != count or len(mesh.names) > 1:
        text = f"backend 'mlx': option mesh: found {mesh}, needed one axis of {count}, the processes that there are"
        hint = f"mlx.launch -n {mesh.size} starts a script in {mesh.size} processes" if mesh.size != count else None
        raise OptionError(message(text, hint=hint))


def spread(graph: FrozenGraph, parts: int) -> FrozenGraph:
    """The program of one of so many processes."""
    return _Spread(graph, parts).graph()


def part_of(t: TensorType, axis: int, parts: int) -> TensorType:
    """The type of a part of a value."""
    n = t.shape[axis]
    return with_length(t, axis, n if n is None else n // parts)


def with_length(t: TensorType, axis: int, length: Any) -> TensorType:
    """The type with another length of an axis."""
    shape = [length if k == axis else n for k, n in enumerate(t.shape, -t.ndim)]
    return TensorType(t.dtype, shape)


@final
class _Spread:
    """One program under way: the values of the new one, and in which forms it has those of the old one."""

    def __init__(self, graph: FrozenGraph, parts: int) -> None:
        self.old, self.parts = graph, parts
        count = graph.arity + len(graph.constants)
        self.types = list(graph.types[:count])
        self.nodes: list[Node] = []
        self.origins: dict[int, Any] = {}
        self.forms: dict[tuple[int, Axis], int] = {(k, None): k for k in range(count)}
        self.axes: dict[int, Axis] = dict.fromkeys(range(count))  # the form in which a value is made

    def graph(self) -> FrozenGraph:
        """The program, whose results and checks are whole."""
        old = self.old
        for k, node in enumerate(old.nodes):
            before = len(self.nodes)
            self.add(node)
            if k in old.origins:
                self.origins.update(dict.fromkeys(range(before, len(self.nodes)), old.origins[k]))
        outputs = [self.form(k, None) for k in old.outputs]
        checks = [
            c._replace(condition=self.form(c.condition, None), values=tuple(self.form(k, None) for k in c.values))
            for c in old.checks
        ]
        numbers = {k: self.forms[k, axis] for k, axis in self.axes.items()}
        names = {numbers[k]: name for k, name in old.names.items()}
        assumed = {numbers[k]: facts for k, facts in old.assumed.items()}
        return FrozenGraph(
            old.arity, self.types, old.constants, self.nodes, outputs, checks, names, self.origins, assumed
        )

    def add(self, node: Node) -> None:
        """Compute a node in the form that is planned for it; whole where there is no plan."""
        plan = self.plan(node)
        operands = [self.form(k, axis) for k, axis in zip(node.inputs, plan.operands, strict=True)]
        if isinstance(node.op, Placement):
            self.give(node.outputs[0], plan.result, operands[0])
            return
        types = [self.old.types[k] for k in node.outputs]
        if plan.result is not None:
            types = [part_of(t, plan.result, self.parts) for t in types]
        numbers = self.emit(plan.op or node.op, operands, types)
        if plan.is_summed:
            numbers = self.emit(SummedOver(), numbers, types)
        for k, number in zip(node.outputs, numbers, strict=True):
            self.give(k, plan.result, number)

    def plan(self, node: Node) -> Plan:
        """The plan of a node."""
        axes = [self.axes[k] for k in node.inputs]
        types = [self.old.types[k] for k in node.inputs]
        plan = None
        if isinstance(node.op, Placement):
            plan = _placed(node.op, types[0])
        elif any(axis is not None for axis in axes):
            plan = self.of_parts(node, axes, types)
        return plan or Plan((None,) * len(axes), None)

    def of_parts(self, node: Node, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
        """The plan of a node that has an operand which is split; None where it is computed of whole values."""
        op, result = node.op, self.old.types[node.outputs[0]]
        if isinstance(op, Reshape):
            return _reshaped(op, axes[0], types[0], result, self.parts)
        if isinstance(op, SumTo):
            return _summed_to(axes, result)
        return next((make(op, axes, types) for cls, make in PLANS if isinstance(op, cls)), None)

    def form(self, value: int, axis: Axis) -> int:
        """The number of a value in a form, in which it is brought where it has not been before."""
        number = self.forms.get((value, axis))
        if number is None:
            t = self.old.types[value]
            own = self.axes[value]
            if axis is None:
                assert own is not None
                (number,) = self.emit(Joined(own, self.parts), [self.forms[value, own]], [t])
            else:
                whole = self.form(value, None)
                (number,) = self.emit(OwnPart(axis, self.parts), [whole], [part_of(t, axis, self.parts)])
            self.forms[value, axis] = number
        return number

    def emit(self, op: Op, operands: Sequence[int], types: Sequence[TensorType]) -> tuple[int, ...]:
        numbers = tuple(range(len(self.types), len(self.types) + len(types)))
        self.nodes.append(Node(op, tuple(operands), numbers))
        self.types.extend(types)
        return numbers

    def give(self, value: int, axis: Axis, number: int) -> None:
        self.axes[value] = axis
        self.forms[value, axis] = number


def _placed(op: Placement, x: TensorType) -> Plan:
    """The operand, split along the first axis that is to be, whole without one; the axes of a batch come before."""
    axis = next((k for k, parts in enumerate(op.parts, -len(op.parts)) if parts > 1), None)
    return Plan((axis,), axis)


def _by_element(op: Op, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    """Elements of parts, all operands split as the first is that is; those of length 1 there are repeated."""
    axis = next((k for k in axes if k is not None), None)
    if not op.pointwise or axis is None:
        return None
    return Plan(tuple(axis if _has(t, axis) else None for t in types), axis)


def _has(t: TensorType, axis: int) -> bool:
    """Whether a value has elements of its own along an axis."""
    return t.ndim >= -axis and t.shape[axis] != 1


def _reduced(op: Reduce, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    """Along other axes in each part, and sums over the processes along the axis that is split."""
    (axis,) = axes
    assert axis is not None
    if axis not in op.axes:
        return Plan((axis,), axis + sum(k > axis for k in op.axes))
    return Plan((axis,), None, is_summed=True) if op.fn is arithmetic.add else None


def _multiplied(op: MatMul, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    """Rows of the first and columns of the second by themselves, sums over the processes along what is contracted."""
    x, y = axes
    if (x, y) == (-1, -2):
        return Plan((-1, -2), None, is_summed=True)
    if x == -2:
        return Plan((-2, None), -2)
    if y == -1:
        return Plan((None, -1), -1)
    if x == -1 or y == -2:
        return Plan((-1, -2), None, is_summed=True)
    batch = x if x is not None else y
    assert batch is not None
    return Plan(tuple(batch if _has(t, batch) else None for t in types), batch)


def _transposed(op: Transpose, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan:
    (axis,) = axes
    assert axis is not None
    return Plan((axis,), op.axes.index(axis) - len(op.axes) if axis in op.axes else axis)


def _expanded(op: ExpandDims, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan:
    (axis,) = axes
    assert axis is not None
    others = [k for k in range(-types[0].ndim - len(op.axes), 0) if k not in op.axes]
    return Plan((axis,), others[axis])


def _squeezed(op: Squeeze, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    (axis,) = axes
    others = [k for k in range(-types[0].ndim, 0) if k not in op.axes]
    return Plan((axis,), others.index(axis) - len(others)) if axis in others else None


def _reshaped(op: Reshape, axis: Axis, x: TensorType, y: TensorType, parts: int) -> Plan | None:
    """Parts along a first axis that stays, all lengths being known."""
    if axis != -x.ndim or y.ndim == 0 or x.shape[0] != y.shape[0] or None in op.shape:
        return None
    first, *rest = op.shape
    assert first is not None
    return Plan((axis,), -y.ndim, op=Reshape((first // parts, *rest)))


def _summed_to(axes: Sequence[Axis], y: TensorType) -> Plan | None:
    """Sums along an axis of which one element is left."""
    axis, *rest = axes
    if axis is None or y.ndim < -axis or y.shape[axis] != 1:
        return None
    return Plan((axis, *(None for _ in rest)), None, is_summed=True)


def _length(op: AxisLength, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    """Lengths of axes that are whole."""
    return Plan(tuple(axes), None) if axes[0] != op.axis else None


def _gathered(op: Gather, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan | None:
    """Elements of a whole value at places that are split: the axes of these come first."""
    x, first, *_ = axes
    if x is not None or first is None:
        return None
    return Plan((None, *(first for _ in op.axes)), first - (types[0].ndim - len(op.axes)))


def _convolved(op: convolution.Convolution, axes: Sequence[Axis], types: Sequence[TensorType]) -> Plan:
    """Images by themselves, and sums over the processes along channels: in the gradient of kernels these are images."""
    images, channels = -types[0].ndim, 2 - types[0].ndim
    rest = (None,) * (len(axes) - 2)
    if channels in axes[:2]:
        return Plan((channels, channels, *rest), None, is_summed=True)
    return Plan((images, None, *rest), images)


PLANS: Final[tuple[tuple[type[Op], Callable[..., Plan | None]], ...]] = (
    (Reduce, _reduced),
    (MatMul, _multiplied),
    (Transpose, _transposed),
    (ExpandDims, _expanded),
    (Squeeze, _squeezed),
    (AxisLength, _length),
    (Gather, _gathered),
    (convolution.Convolution, _convolved),
    (Op, _by_element),
)
