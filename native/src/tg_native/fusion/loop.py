"""`Loop`: a program on single elements run over an index space, in stages that may reduce and scatter.

Only backends that generate code make loops, by `tg_native.fusion.fusion`: loops exist after lowering only and have no
derivative. What a loop computes is what its stages' ops compute one after the other on whole arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.interpret import interpret
from tg.graph.op import Op
from tg.ops.elementwise.record import ElementwiseFunction, broadcast_shapes
from tg.ops.family import Family
from tg.ops.indexing import Scatter
from tg.ops.reduction import Reduce
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph

    Array = np.ndarray[Any, Any]


@final
class Result(Op):
    """Use of value number `value` of a stage's program, which is computed at every index of the stage.

    Kept at every index; or reduced by `fn` over `axes`, which stay with length 1; or, where `into` is the number of an
    operand of the loop, combined by `fn` into a copy of that array (replaced if `fn` is None) at the positions that
    the values `at` of the program are, one for each of its axes. `stored` results are results of the loop; later
    stages may read all that are not scattered.
    """

    value: int
    fn: ElementwiseFunction | None = None
    axes: tuple[int, ...] = ()
    into: int | None = None
    at: tuple[int, ...] = ()
    stored: bool = True

    @property
    def op(self) -> Op | None:
        """Op on the value as a whole array, after the operand `into` if there is one; None: it is kept."""
        if self.into is not None:
            return Scatter(tuple(range(-len(self.at), 0)), self.fn)
        return Reduce(self.fn, self.axes, total=True) if self.fn is not None else None

    def infer_from(self, program: FrozenGraph, shape: Sequence[Any], operands: Sequence[TensorType]) -> TensorType:
        """The type, for a stage over this shape."""
        if self.into is not None:
            return operands[self.into]
        dtype = program.types[program.outputs[self.value]].dtype
        return TensorType(dtype, [1 if k - len(shape) in self.axes else n for k, n in enumerate(shape)])

    def perform_on(self, values: Sequence[Array], operands: Sequence[Array]) -> Array:
        """The result, from all values of the program on whole arrays."""
        value, op = values[self.value], self.op
        if op is None:
            return value.copy()
        if self.into is not None:
            return op.perform(operands[self.into], value, *(values[k] for k in self.at))[0]
        return np.expand_dims(op.perform(value)[0], self.axes)


@final
class Stage(Op):
    """A program on single elements, run at each index of a loop, and what becomes of its values.

    Inputs of the program are 0-d, elements of what `reads` names, or whole arrays that it gathers from. In `reads`,
    k >= 0 is operand k of the loop, and ~k the k-th result of the stages before. A stage that reads nothing but
    results reduced over the inner axes, and operands of length 1 there, runs once for each outer index.
    """

    program: FrozenGraph
    reads: tuple[int, ...]
    results: tuple[Result, ...]

    def elements(self, inputs: Sequence[Any]) -> list[Any]:
        """Inputs of the program that it reads element by element."""
        return [v for v, t in zip(inputs, self.program.input_types, strict=True) if not t.ndim]

    def infer_results(self, inputs: Sequence[TensorType], operands: Sequence[TensorType]) -> list[TensorType]:
        """The types of the results, for what the program is given and the loop's operands."""
        shape = broadcast_shapes("loop", self.elements(inputs))
        return [r.infer_from(self.program, shape, operands) for r in self.results]

    def perform_results(self, inputs: Sequence[Array], operands: Sequence[Array]) -> list[Array]:
        """The program interpreted on whole arrays, then each result."""
        shape = np.broadcast_shapes(*(a.shape for a in self.elements(inputs)))
        values = [np.broadcast_to(y, shape) for y in interpret(self.program, _aligned(self.program, inputs, shape))]
        return [r.perform_on(values, operands) for r in self.results]


def _aligned(program: FrozenGraph, inputs: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    """Operands read element by element, repeated where positions may be among them: `Gather` wants one shape."""
    if all(not t.ndim for t in program.input_types):
        return list(inputs)
    pairs = zip(inputs, program.input_types, strict=True)
    return [a if t.ndim else np.broadcast_to(a, shape) for a, t in pairs]


@final
class Loop(Op):
    """Stages over one index space, one after the other for each index of the first `outer` axes, which they share.

    `extents` are the lengths of the space where they are known; the axes behind the outer ones are the inner ones.

    Shapes:
        operands of the space's rank, of length 1 where they are repeated, or 0-d; of any rank where they are gathered
        from or scattered into -> the stored results of all stages, in order: of the space's rank, or of the rank of
        what they are scattered into
    """

    extents: tuple[int | None, ...]
    outer: int
    stages: tuple[Stage, ...]

    @property
    def element_programs(self) -> tuple[FrozenGraph, ...]:
        """The programs of the stages."""
        return tuple(stage.program for stage in self.stages)

    @property
    def element_steps(self) -> tuple[str, ...]:
        """The ops of the programs, then what results are combined by."""
        ops = [node.op.name for stage in self.stages for node in stage.program.nodes]
        return (*ops, *(r.fn.name for r in self._results() if r.fn is not None))

    @property
    def is_total(self) -> bool:
        """Whether it is one stage that reads element by element, all results of which are reductions over all axes."""
        if len(self.stages) > 1:
            return False
        (stage,) = self.stages
        rank = len(self.extents)
        is_reduced = all(r.fn is not None and r.into is None and len(r.axes) == rank for r in stage.results)
        return is_reduced and all(not t.ndim for t in stage.program.input_types)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The types of what the stages store."""
        types: list[TensorType] = []
        spaces: list[TensorType] = []
        for stage in self.stages:
            program_inputs = [inputs[k] if k >= 0 else types[~k] for k in stage.reads]
            spaces += stage.elements(program_inputs)
            types += stage.infer_results(program_inputs, inputs)
        space = broadcast_shapes("loop", spaces)
        for extent, n in zip(self.extents, space, strict=True):
            require_same(extent, n, lambda: "loop")
        return tuple(self._with_extents(t, r) for t, r in zip(types, self._results(), strict=True) if r.stored)

    def _with_extents(self, t: TensorType, result: Result) -> TensorType:
        if result.into is not None:
            return t
        pairs: Any = zip(t.shape, self.extents, strict=True)
        return t.with_shape([n if extent is None or is_one(n) else extent for n, extent in pairs])

    def _results(self) -> list[Result]:
        return [r for stage in self.stages for r in stage.results]

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """Stage by stage, each on whole arrays."""
        results: list[Array] = []
        for stage in self.stages:
            results += stage.perform_results([arrays[k] if k >= 0 else results[~k] for k in stage.reads], arrays)
        return tuple(y for y, r in zip(results, self._results(), strict=True) if r.stored)


FAMILY = Family("loop", ops=(Result, Stage, Loop), is_lowered=True)
