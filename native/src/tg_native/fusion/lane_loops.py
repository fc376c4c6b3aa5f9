"""`LaneLoop`: loops over steps that each element of an index space runs by itself, with what it carries in registers.

Only backends that generate code make them, by `tg_native.fusion.interchange`: they exist after lowering only and have
no derivative. What one computes is what its stages compute one after the other, each step on whole arrays.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.interpret import interpret
from tg.graph.op import Op
from tg.ops.family import Family
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.frozen import FrozenGraph

    Array = np.ndarray[Any, Any]


@final
class LaneStage(Op):
    """One loop over steps: `Scan`, or `While` for each element, with a program on single elements as its body.

    Inputs of the program are the carries, an element of each sequence, and what is captured. In `reads`, k >= 0 is
    operand k of the loop, ~k the k-th result of the stages before: of each stage first the carries after all steps,
    then the traces. Operands for carries and captured ones are arrays over the space or 0-d, sequences have an axis for
    the steps in front. `stored` says which results are those of the loop.

    With `asks`, the last output of the program is none of a step: it says whether an element makes that step. One that
    does not, makes no later one; what it carries stays, and what it traces is 0.
    """

    program: FrozenGraph
    carries: int
    sequences: int
    length: int | None
    """How many steps, with `asks` at most; None where an operand says it, or nothing."""
    count: int
    """Which operand says it, among those that are sizes; -1 if none does."""
    reverse: bool
    reads: tuple[int, ...]
    stored: tuple[bool, ...]
    asks: bool = False

    def is_sequence(self, k: int) -> bool:
        """Whether input k of the program is an element of a sequence."""
        return self.carries <= k < self.carries + self.sequences

    def steps(self, operands: Sequence[Any]) -> Any:
        """The number of steps, given the operands, of which sizes are numbers; None if nothing says it."""
        return self.length if self.count < 0 else operands[self.count]

    def perform_on(self, arrays: Sequence[Array], length: int | None, space: tuple[int, ...]) -> list[Array]:
        """All results, from what the program is given as whole arrays."""
        n = self.carries
        carries = [np.broadcast_to(v, space) for v in arrays[:n]]
        dtypes = [self.program.types[k].numpy_dtype for k in self.program.outputs[: len(self.stored)]]
        traces = [np.zeros((length or 0, *space), dtype) for dtype in dtypes[n:]]
        for t in itertools.count() if length is None else range(length):
            place = length - 1 - t if self.reverse and length is not None else t
            slices = [v[place] for v in arrays[n : n + self.sequences]]
            results = interpret(self.program, [*carries, *slices, *arrays[n + self.sequences :]])
            if self.asks:
                if not results[-1].any():
                    break
                results = results[:-1]
            carries = [np.broadcast_to(v, space) for v in results[:n]]
            for trace, v in zip(traces, results[n:], strict=True):
                trace[place] = v
        return [*(v.copy() for v in carries), *traces]


@final
class LaneLoop(Op):
    """Loops over steps that run one after the other for each element of a space.

    Shapes:
        lengths (), then of each stage carries (*s) or (), sequences (t, *s) or (t), captured (*s) or () -> the stored
        results of all stages, in order: carries (*s), traces (t, *s)
    """

    sizes: int
    """How many operands are sizes."""
    stages: tuple[LaneStage, ...]

    @property
    def element_programs(self) -> tuple[FrozenGraph, ...]:
        """The programs of the stages."""
        return tuple(stage.program for stage in self.stages)

    @property
    def element_steps(self) -> tuple[str, ...]:
        """The ops of the programs."""
        return tuple(node.op.name for stage in self.stages for node in stage.program.nodes)

    def size_operands(self, count: int) -> range:
        """The numbers of steps."""
        return range(self.sizes)

    @property
    def read_operands(self) -> Iterator[tuple[LaneStage, int, int]]:
        """Of each stage the inputs of its program that are operands of the loop: their numbers, and the operands'."""
        for stage in self.stages:
            yield from ((stage, k, read) for k, read in enumerate(stage.reads) if read >= 0)

    def space(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The lengths of the space, for operands of these types; they are required to agree."""
        lengths: tuple[Any, ...] = ()
        for stage, k, read in self.read_operands:
            shape = inputs[read].shape
            if stage.is_sequence(k):
                require_same(stage.steps(inputs), shape[0], lambda: "scan: the length and that of a sequence")
                shape = shape[1:]
            if shape:
                pairs = zip(lengths or shape, shape, strict=True)
                lengths = tuple(require_same(a, b, lambda: "scan: the elements of a step") for a, b in pairs)
        return lengths

    def infer(self, *inputs: Any) -> tuple[TensorType, ...]:
        """The types of what the stages store."""
        space = self.space(inputs)
        types = []
        for stage in self.stages:
            for k, (number, is_stored) in enumerate(zip(stage.program.outputs, stage.stored, strict=False)):
                if is_stored:
                    shape = space if k < stage.carries else (stage.steps(inputs), *space)
                    types.append(TensorType(stage.program.types[number].dtype, shape))
        return tuple(types)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """Stage by stage, each on whole arrays."""
        space = self.space(arrays)
        results: list[Array] = []
        for stage in self.stages:
            operands = [arrays[k] if k >= 0 else results[~k] for k in stage.reads]
            length = stage.steps(arrays)
            results += stage.perform_on(operands, None if length is None else int(length), space)
        stored = [is_stored for stage in self.stages for is_stored in stage.stored]
        return tuple(v for v, is_stored in zip(results, stored, strict=True) if is_stored)


FAMILY = Family("lane_loop", ops=(LaneStage, LaneLoop), is_lowered=True)
