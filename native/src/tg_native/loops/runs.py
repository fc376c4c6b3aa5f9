"""Runs: neighbours whose values are added to one position, as most are where positions are sorted.

In a block whose positions follow from the same indices in all lanes, what is gathered is read once, and what is
scattered is added to a vector, which goes to the array when a block for another position comes.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, final

from tg.types.dtypes import is_integer
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import constant, in_all_lanes, lane_of
from tg_native.loops.costs import FEW_BLOCKS
from tg_native.loops.folds import across
from tg_native.loops.staging import roots as roots_of
from tg_native.loops.staging import split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.loops.divisors import Inverse
    from tg_native.loops.stages import StageWriter


def runs_of(stage: StageWriter) -> Runs | None:
    """Runs that a stage goes through; None if it scatters no sums, or not in lanes."""
    every = stage.scattered.values()
    if not stage.lanes or not every or not all(one.is_sum for one in every) or stage.columns:
        return None
    length, roots = (
        stage.axes[-1],
        roots_of((number for j in stage.scattered for number in stage.places(j)), stage.late, stage.varying),
    )
    if not all(is_integer(stage.program.dtypes[k]) for k in roots):  # 0.0 is equal to -0.0, whose sign is another
        return None
    if not roots or (type(length) is int and length < FEW_BLOCKS * stage.lanes):
        return None
    return Runs(stage, sorted(roots))


@final
class Runs:
    """The blocks of a stage whose positions are one, and what is summed for it."""

    def __init__(self, stage: StageWriter, roots: Sequence[int]) -> None:
        """With the inputs from which the positions follow."""
        self.stage, self.body, self.roots = stage, stage.body, roots
        lanes = {k for k in stage.inputs if k in stage.varying} - set(roots)
        self.single, self.late = split(stage.late, lanes)
        with self.body.of(0):
            self._begun = self.body.variable("int64")
            self._indices = [self.body.variable(stage.program.dtypes[root]) for root in roots]
            self._at = {j: self.body.variable("int64") for j in stage.scattered}
        with self.body.of(stage.lanes):
            self._sums = {j: self.body.variable(one.dtype) for j, one in stage.scattered.items()}

    def begin(self) -> None:
        """Before the rounds."""
        self._begun.set(index(self.body, 0).value)

    def are_one(self, values: Mapping[int, Elements]) -> Condition:
        """Whether all positions of a block are one."""
        tests = []
        for root in self.roots:
            lanes: Any = values[root]
            tests.append(self.body.everywhere(lanes == in_all_lanes(lane_of(lanes, 0))))
        return functools.reduce(operator.and_, tests)

    def run(
        self, block_values: dict[int, Elements], known: Mapping[int, Elements], shared: Mapping[int, Inverse]
    ) -> None:
        """The steps of a block whose positions are one, and its sums.

        Args:
            block_values: what is known of the block; gets the values of the steps.
            known: what all elements along the axis share, as single elements.
            shared: inverses of divisors that all of them share.
        """
        body, stage = self.body, self.stage
        singles = {root: lane_of(block_values[root], 0) for root in self.roots}
        values = {**known, **singles}
        with body.of(0):
            stage.run(self.single, values)
            at = {j: stage.offset(one.base, stage.places(j), values) for j, one in stage.scattered.items()}
        numbers = [number for node in self.single for number in node.outputs]
        block_values.update((number, in_all_lanes(values[number])) for number in numbers)
        stage.run(self.late, block_values, shared)
        self._go_to(singles, at)
        for j, one in stage.scattered.items():
            value: Any = block_values[stage.value_of(j)]
            assert one.rule is not None
            total: Any = one.rule(one.fn.op, (self._sums[j].get(), value), value.dtype)
            self._sums[j].set(total)

    def _go_to(self, singles: Mapping[int, Elements], at: Mapping[int, Lanes]) -> None:
        """Begin new sums, unless the positions are those of the block before."""
        body = self.body
        tests = [Index(self._begun.get()) != 0]
        for root, place in zip(self.roots, self._indices, strict=True):
            one: Any = singles[root]
            with body.of(0):
                tests.append(Condition(one == place.get()))
        with body.when(~functools.reduce(operator.and_, tests)):
            self.end()
            self._begun.set(index(body, 1).value)
            for root, place in zip(self.roots, self._indices, strict=True):
                first: Any = singles[root]
                place.set(first)
            for j, one in self.stage.scattered.items():
                self._at[j].set(at[j])
                self._sums[j].set(constant(body, -0.0, one.dtype))

    def end(self) -> None:
        """Add the last sums, if there are some, to their arrays."""
        body = self.body
        with body.when(Index(self._begun.get()) != 0):
            for j, one in self.stage.scattered.items():
                assert one.rule is not None
                whole = across(one.rule, one.fn, self._sums[j].get())
                with body.of(0):
                    one.put(whole, Index(self._at[j].get()))
