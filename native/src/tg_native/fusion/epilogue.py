"""`WithEpilogue`: an op and the loop over its result, which runs while parts of this are in the cache.

A convolution's result is read at least once more: for a shift of each channel, a residual, a rectifier. Where a loop on
elements is all that reads it, the convolution runs the loop on what it has just made, and the result is never stored
but as what becomes of it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.graph.frozen import FrozenGraph, Node, Origin
from tg.graph.op import Op
from tg.ops.family import Family
from tg.ops.nn.convolved import Convolution
from tg.ops.shape import ExpandDims, Reshape, Squeeze
from tg.types.atoms import key
from tg.types.lengths import product
from tg.types.tensor_type import TensorType
from tg_native.fusion.fused import Writer
from tg_native.fusion.fusion import kept_values
from tg_native.fusion.loop import Loop, Result, Stage
from tg_native.plan.shapes import resolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    Array = np.ndarray[Any, Any]
    Axes = tuple[tuple[int, ...], ...]

NAME: Final = "run_epilogues"
VIEWS: Final = (ExpandDims, Squeeze, Reshape)
DTYPES: Final = ("float32", "float64")


@final
class WithEpilogue(Op):
    """An op's result under a view, and a loop of one stage that reads it at each index and keeps what it computes.

    Operands are those of the op, `arity` many, then those of the loop but for the one at `place`: the op's result.
    Each axis of that operand is several axes of the result as one, by `axes`; those left out have length 1.
    """

    op: Op
    arity: int
    axes: tuple[tuple[int, ...], ...]
    loop: Op
    place: int

    @property
    def element_programs(self) -> tuple[FrozenGraph, ...]:
        """The loop's."""
        return self.loop.element_programs

    @property
    def element_steps(self) -> tuple[str, ...]:
        """The op, then the loop's steps."""
        return (self.op.name, *self.loop.element_steps)

    def size_operands(self, count: int) -> range:
        """The op's."""
        return self.op.size_operands(self.arity)

    def lengths(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The lengths of the loop's operand, for those of the op's result."""
        return tuple(product(tuple(shape[k] for k in axes)) for axes in self.axes)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The types of what the loop stores."""
        (y,) = self.op.infer(*inputs[: self.arity])
        return self.loop.infer(*self._given(inputs, TensorType(y.dtype, self.lengths(y.shape))))

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """The loop on the op's result."""
        (y,) = self.op.perform(*arrays[: self.arity])
        return self.loop.perform(*self._given(arrays, y.reshape(self.lengths(y.shape))))

    def _given(self, values: Sequence[Any], y: Any) -> list[Any]:
        rest = values[self.arity :]
        return [*rest[: self.place], y, *rest[self.place :]]


class _Below(NamedTuple):
    """The convolution below an operand, the views between them, and what its axes become."""

    convolution: int
    views: tuple[int, ...]
    axes: Axes


def with_epilogues(frozen: FrozenGraph) -> FrozenGraph:
    """The graph whose convolutions run the loops over their results."""
    if all(type(node.op) is not Convolution for node in frozen.nodes):
        return frozen
    return _Search(frozen).rebuilt()


@final
class _Search:
    """Loops over what convolutions have made, each beside the convolution of it that comes last."""

    def __init__(self, frozen: FrozenGraph) -> None:
        self.frozen, self.shapes = frozen, resolved(frozen)
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.uses: dict[int, int] = {}
        for number in itertools.chain(kept_values(frozen), *(node.inputs for node in frozen.nodes)):
            self.uses[number] = self.uses.get(number, 0) + 1
        self.found: dict[int, tuple[_Below, WithEpilogue]] = {}
        for k, node in enumerate(frozen.nodes):
            loop = _loop_of(node, frozen)
            if loop is not None:
                self._look(k, loop)

    def _look(self, k: int, loop: Loop) -> None:
        """Find the convolutions that a loop reads."""
        node = self.frozen.nodes[k]
        pairs = ((place, self._below(number)) for place, number in enumerate(node.inputs))
        every = [(place, below) for place, below in pairs if below is not None]
        fitting = [(place, below) for place, below in every if self._fits(loop, node, place, below)]
        if fitting:
            place, below = max(fitting, key=lambda one: one[1].convolution)
            convolution = self.frozen.nodes[below.convolution]
            op = WithEpilogue(convolution.op, len(convolution.inputs), below.axes, loop, place)
            self.found[k] = below, op

    def _below(self, number: int) -> _Below | None:
        """The convolution whose result a value is a view of, if nothing else reads it."""
        views: list[int] = []
        while self.uses[number] == 1 and number in self.maker:
            k = self.maker[number]
            node = self.frozen.nodes[k]
            if type(node.op) is Convolution:
                axes = self._axes(node, views[::-1])
                return None if axes is None else _Below(k, tuple(views), axes)
            if type(node.op) not in VIEWS:
                return None
            views.append(k)
            number = node.inputs[0]
        return None

    def _axes(self, convolution: Node, views: Sequence[int]) -> Axes | None:
        """Axes of a convolution's result after views; None where these do more than merge some."""
        axes: list[tuple[int, ...]] = [(k,) for k in range(self.frozen.types[convolution.outputs[0]].ndim)]
        for k in views:
            node = self.frozen.nodes[k]
            op: Any = node.op
            if type(op) is Squeeze:
                axes = [axis for at, axis in enumerate(axes, -len(axes)) if at not in op.axes]
            elif type(op) is ExpandDims:
                rest = iter(axes)
                rank = self.frozen.types[node.outputs[0]].ndim
                axes = [() if at in op.axes else next(rest) for at in range(-rank, 0)]
            else:
                at = _merged(self.shapes[node.inputs[0]], self.shapes[node.outputs[0]])
                if at is None:
                    return None
                axes[at : at + 2] = [axes[at] + axes[at + 1]]
        return tuple(axes)

    def _fits(self, loop: Loop, node: Node, place: int, below: _Below) -> bool:
        """Whether a loop reads a convolution's result as it is, everywhere, and computes in its dtype."""
        types, number = self.frozen.types, node.inputs[place]
        dtype = types[number].dtype
        (stage,) = loop.stages
        is_whole = [*map(key, self.shapes[number])] == [*map(key, self.shapes[node.outputs[0]])]
        alike = {t.dtype for t in stage.program.types} <= {dtype, "bool"}
        return dtype in DTYPES and is_whole and alike and stage.reads.count(place) == 1

    def rebuilt(self) -> FrozenGraph:
        """The graph with loops and convolutions as one."""
        if not self.found:
            return self.frozen
        frozen, writer = self.frozen, Writer(self.frozen)
        gone = {k for below, _ in self.found.values() for k in (below.convolution, *below.views)}
        for k, node in enumerate(frozen.nodes):
            if k in gone:
                continue
            op, inputs, origin = node.op, node.inputs, frozen.origins.get(k, Origin())
            if k in self.found:
                below, op = self.found[k]
                inputs = (*frozen.nodes[below.convolution].inputs, *inputs[: op.place], *inputs[op.place + 1 :])
                earlier = frozen.origins.get(below.convolution, Origin())
                origin = Origin((*earlier.locs, *origin.locs), (*earlier.rules, *origin.rules, NAME))
            operands = tuple(writer.number[n] for n in inputs)
            types = [frozen.types[n] for n in node.outputs]
            for n, new in zip(node.outputs, writer.add(op, operands, types, origin), strict=True):
                writer.call(n, new)
        return writer.graph()


def _loop_of(node: Node, frozen: FrozenGraph) -> Loop | None:
    """A loop on elements alone, which an elementwise op is too."""
    op = node.op
    if op.pointwise and frozen.types[node.outputs[0]].ndim:
        dtypes = [frozen.types[n].with_shape(()) for n in (*node.inputs, *node.outputs)]
        step = Node(op, tuple(range(len(node.inputs))), (len(node.inputs),))
        program = FrozenGraph(len(node.inputs), dtypes, (), [step], [len(node.inputs)], (), {}, {})
        stage = Stage(program, tuple(range(len(node.inputs))), (Result(0),))
        shape: Any = frozen.types[node.outputs[0]].shape
        return Loop(tuple(shape), 0, (stage,))
    if type(op) is not Loop or len(op.stages) > 1 or op.outer:
        return None
    (stage,) = op.stages
    is_plain = all(r.op is None for r in stage.results) and all(step.op.pointwise for step in stage.program.nodes)
    return op if is_plain and all(not t.ndim for t in stage.program.input_types) else None


def _merged(old: Sequence[Any], new: Sequence[Any]) -> int | None:
    """The axis that a reshape makes one with the next; None if it does something else."""
    if len(new) != len(old) - 1:
        return None
    before, behind = [*map(key, old)], [*map(key, new)]
    for at in range(len(new)):
        if before[:at] == behind[:at] and before[at + 2 :] == behind[at + 1 :]:
            return at if key(product(tuple(old[at : at + 2]))) == behind[at] else None
    return None


FAMILY = Family("epilogue", ops=(WithEpilogue,), is_lowered=True)
