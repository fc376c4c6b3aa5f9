"""Runs: neighbours whose values are added to one position, as most are where positions are sorted.

In a block whose positions follow from the same indices in all lanes, what is gathered is read once, and what is
scattered is added to a vector, which goes to the array when a block for another position comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.types.dtypes import is_integer
from tg_native.kernels.lanes import Lanes, constant, in_all_lanes, lane_of
from tg_native.loops.staging import roots as roots_of
from tg_native.loops.staging import split
from tg_numba.body import everywhere
from tg_numba.folds import across

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_native.kernels.lanes import Elements
    from tg_numba.divisors import Inverse
    from tg_numba.positions import Scattering
    from tg_numba.stages import StageWriter

FEW: Final = 8  # blocks in a row up to which they are not looked at


def runs_of(stage: StageWriter) -> Runs | None:
    """How a stage goes through runs; None if it scatters no sums, or not in lanes."""
    every = stage.scattered.values()
    if not stage.lanes or not every or not all(one.is_sum for one in every) or stage.columns:
        return None
    length, roots = (
        stage.axes[-1],
        roots_of((number for j in stage.scattered for number in stage.places(j)), stage.late, stage.varying),
    )
    if not all(is_integer(stage.program.dtypes[k]) for k in roots):  # 0.0 is equal to -0.0, whose sign is another
        return None
    if not roots or (type(length) is int and length < FEW * stage.lanes):
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
        self._begun = self.body.frame("i64")
        self._indices = [self.body.frame(self.body.kind(stage.program.dtypes[root])) for root in roots]
        self._at = {j: self.body.frame("i64") for j in stage.scattered}
        with self.body.of(stage.lanes):
            self._sums = {j: self.body.frame(self._kind(one)) for j, one in stage.scattered.items()}

    def _kind(self, one: Scattering) -> str:
        return self.body.kind(one.base.dtype)

    def begin(self) -> None:
        """Before the rounds."""
        self.body.do(f"store i64 0, ptr {self._begun}")

    def are_one(self, found: Mapping[int, Elements]) -> str:
        """Whether all positions of a block are one."""
        tests = []
        for root in self.roots:
            lanes: Any = found[root]
            tests.append(everywhere(lanes == in_all_lanes(lane_of(lanes, 0))))
        return self._all(tests)

    def _all(self, tests: Sequence[str]) -> str:
        whole = tests[0]
        for test in tests[1:]:
            whole = self.body.find(f"and i1 {whole}, {test}")
        return whole

    def run(self, found: dict[int, Elements], known: Mapping[int, Elements], shared: Mapping[int, Inverse]) -> None:
        """The steps of a block whose positions are one, and its sums.

        Args:
            found: what is known of the block; gets the values of the steps.
            known: what all elements along the axis share, as single elements.
            shared: inverses of divisors that all of them share.
        """
        body, stage = self.body, self.stage
        singles = {root: lane_of(found[root], 0) for root in self.roots}
        values = {**known, **singles}
        with body.of(0):
            stage.run(self.single, values)
            at = {j: stage.offset(one.base, stage.places(j), values).text for j, one in stage.scattered.items()}
        made = [number for node in self.single for number in node.outputs]
        found.update((number, in_all_lanes(values[number])) for number in made)
        stage.run(self.late, found, shared)
        self._go_to(singles, at)
        for j, one in stage.scattered.items():
            value: Any = found[stage.value_of(j)]
            total = Lanes(body, value.dtype, body.made(f"load {value.kind}, ptr {self._sums[j]}, align 64"))
            assert one.rule is not None
            total = one.rule(one.fn.op, (total, value), value.dtype)  # type: ignore[assignment]
            body.do(f"store {total.kind} {total.text}, ptr {self._sums[j]}, align 64")

    def _go_to(self, singles: Mapping[int, Elements], at: Mapping[int, str]) -> None:
        """Begin new sums, unless the positions are those of the block before."""
        body = self.body
        begun = body.made(f"load i64, ptr {self._begun}")
        tests = [body.find(f"icmp ne i64 {begun}, 0")]
        for root, place in zip(self.roots, self._indices, strict=True):
            one: Any = singles[root]
            with body.of(0):
                before = Lanes(body, one.dtype, body.made(f"load {one.kind}, ptr {place}"))
                tests.append((one == before).text)
        with body.when(body.find(f"xor i1 {self._all(tests)}, true")):
            self.end()
            body.do(f"store i64 1, ptr {self._begun}")
            for root, place in zip(self.roots, self._indices, strict=True):
                index: Any = singles[root]
                with body.of(0):
                    body.do(f"store {index.kind} {index.text}, ptr {place}")
            for j, one in self.stage.scattered.items():
                body.do(f"store i64 {at[j]}, ptr {self._at[j]}")
                nothing = constant(body, -0.0, one.base.dtype)
                body.do(f"store {nothing.kind} {nothing.text}, ptr {self._sums[j]}, align 64")

    def end(self) -> None:
        """Add the last sums, if there are some, to their arrays."""
        body = self.body
        begun = body.made(f"load i64, ptr {self._begun}")
        with body.when(body.find(f"icmp ne i64 {begun}, 0")):
            for j, one in self.stage.scattered.items():
                assert one.rule is not None
                dtype = one.base.dtype
                total = Lanes(body, dtype, body.made(f"load {self._kind(one)}, ptr {self._sums[j]}, align 64"))
                whole = across(one.rule, one.fn, total)
                with body.of(0):
                    one.put(whole, body.made(f"load i64, ptr {self._at[j]}"))
