"""Runs: neighbours whose values are added to one position, as most are where positions are sorted.

A block whose positions follow from the same indices in all lanes is done in vectors: what it gathers is read once, and
what it scatters is added to a vector, which goes to the array when a run for another position comes. The elements of
other blocks are done one by one, without a look at each index where all are known to be inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.types.dtypes import is_integer
from tg_c.block import Block
from tg_c.ends import Accumulator, tree
from tg_c.lanes import Lane, as_vector
from tg_c.pointwise import vectors_for
from tg_c.positions import position
from tg_native.kernels.dtypes import WORDS
from tg_native.loops.costs import CHUNK, FEW_BLOCKS
from tg_native.loops.staging import roots as roots_of
from tg_native.loops.staging import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_c.block import Place
    from tg_c.scatters import Scatter
    from tg_c.stages import StageWriter
    from tg_c.vectors import Vectors

OWN: Final = "_1"  # ends the names of the accumulators of a block whose elements are done one by one
WIDE: Final = "w"  # those of the accumulators of blocks that are done in vectors


def runs_of(stage: StageWriter) -> Runs | None:
    """How a stage goes through runs, None if it scatters no sums, or not element by element."""
    every, length = stage.scatters.every, stage.body[-1] if stage.body else 0
    if not stage.by_elements or not every or not all(one.is_sum for one in every) or stage.columns:
        return None
    if any(a.dtype == "bool" for a in stage.accumulators.values()):
        return None
    roots = roots_of((number for one in every for number in one.at), stage.late, stage.varying)
    if not all(is_integer(stage.program.dtypes[k]) for k in roots):
        return None
    lanes = stage.varying - roots - {number for node in stage.late for number in node.outputs}
    split(stage.program.nodes, lanes)
    vectors = vectors_for(stage.site, stage.program, lanes | roots, length)
    if vectors is None or (type(length) is int and length < FEW_BLOCKS * vectors.count):
        return None
    return Runs(stage, vectors, sorted(roots))


@final
class Runs:
    """The rounds of a stage that scatters sums, element by element but for runs."""

    def __init__(self, stage: StageWriter, vectors: Vectors, roots: Sequence[int]) -> None:
        """With the vectors of blocks in which all positions are equal, and the inputs from which those follow."""
        self.stage, self.kernel, self.vectors = stage, stage.kernel, vectors
        self.scatters, self.roots = stage.scatters, roots
        self.block = Block(stage.kernel, stage.site, stage.program.dtypes, vectors)
        pairs = [(a, self._wide(a)) for a in stage.accumulators.values()]
        self.sums = [(narrow, wide) for narrow, wide in pairs if narrow.is_sum]
        self.others = [(narrow, wide) for narrow, wide in pairs if not narrow.is_sum]
        self.of_roots = [wide for narrow, wide in self.others if narrow.number in roots]
        self.of_values = [(narrow, wide) for narrow, wide in pairs if narrow.number not in roots]

    def _wide(self, narrow: Accumulator) -> Accumulator:
        """The accumulator of the blocks that are done in vectors."""
        stage, name = self.stage, f"{narrow.name}{WIDE}"
        return Accumulator(stage.site, stage.kernel, self.block, name, narrow.result, narrow.number)

    def write(self, loads: Sequence[Place], stores: Sequence[Place], start: str, stop: str) -> None:
        """All rounds."""
        kernel, count = self.kernel, self.vectors.count
        self.block.values.update(self.stage.block.values)
        for one in self.scatters.every:
            kernel.line(f"i64 at{one.name} = -1;")
            kernel.line(f"{self._type(one)} run{one.name};")
        for _, wide in self.others:
            wide.declare("")
        size = CHUNK * count
        kernel.loop_between("c", start, stop, size)
        kernel.line(f"const i64 e = {stop} - c > {size} ? c + {size} : {stop};")
        for narrow, wide in self.sums:
            narrow.begin_chunk()
            wide.begin_chunk()
        kernel.loop_between("h", "c", "e", count)
        self._whole(loads, stores)
        kernel.line(f"const i64 last = e - h > {count} ? h + {count} : e;")
        kernel.loop_between("i", "h", "last")
        self._element(self.stage.block.full(), loads, stores)
        kernel.close()
        self._end_elements()
        kernel.close()
        for narrow, wide in self.sums:
            narrow.take(wide)
            narrow.end_chunk()
        kernel.close()
        for narrow, wide in self.others:
            narrow.take(wide)
        for one in self.scatters.every:
            self._end(one)

    def _type(self, one: Scatter) -> str:
        return self.vectors.type(WORDS[one.base.dtype])

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _whole(self, loads: Sequence[Place], stores: Sequence[Place]) -> None:
        """A block of as many elements as there are lanes, if all its indices are equal."""
        kernel, block = self.kernel, self.block.full()
        kernel.open(f"if (h + {self.vectors.count} <= e)")
        kernel.line("const i64 i = h;")
        block.load([place for place in loads if place.number in self.roots])
        lanes = [block.values[root] for root in self.roots]
        for accumulator in self.of_roots:
            kernel.line(accumulator.feed(block, "")[0])
        equal = " && ".join(map(self._is_one, lanes)) or "1"
        kernel.open(f"if (__builtin_expect({equal}, 0))")  # the other loop is the one that wants all registers
        for root, lane in zip(self.roots, lanes, strict=True):
            kernel.line(f"const {WORDS[lane.dtype]} one{root} = {lane.text}[0];")
            block.share(root, f"one{root}")
        block.load([place for place in loads if place.number not in self.roots])
        self.stage.steps(block, self.stage.late)
        if stores:
            block.store(stores)
        for _, accumulator in self.of_values:
            kernel.line(accumulator.feed(block, "")[0])
        for one in self.scatters.every:
            self._add(block, one)
        kernel.line("continue;")
        kernel.close()
        self._near(lanes, loads, stores)
        kernel.close()
        if self.of_roots:
            self._last_roots(loads)
        for accumulator, _ in self.sums:
            accumulator.declare(OWN)

    def _last_roots(self, loads: Sequence[Place]) -> None:
        """What is reduced of the indices, for elements that are no whole block."""
        kernel, block = self.kernel, self.block.full()
        kernel.open("else")
        kernel.line("const i64 i = h;")
        block.rest = "e - i"
        block.load_last([place for place in loads if place.number in self.roots])
        for accumulator in self.of_roots:
            kernel.line(accumulator.feed(block, "")[1])
        kernel.close()

    def _is_one(self, lane: Lane) -> str:
        """Whether all lanes are equal."""
        every = f"{self.vectors.function('all', lane.kind)}({lane.text}[0])"
        return f"!{self.vectors.function('any', lane.kind)}({lane.text} ^ {every})"

    # --- single elements ---------------------------------------------------------------------------------------------

    def _near(self, lanes: Sequence[Lane], loads: Sequence[Place], stores: Sequence[Place]) -> None:
        """A block of elements, each by itself, where all indices that are wrapped are positions as they are."""
        kernel, block, count = self.kernel, self.stage.block.full(), self.vectors.count
        limits = {limit.near for limit in self.stage.limits.values()}
        pairs = [(root, lane) for root, lane in zip(self.roots, lanes, strict=True) if f"near{root}" in limits]
        block.near.update(root for root, _ in pairs)
        near = [f"!{self.vectors.function('outside', v.kind)}({v.text}, near{root})" for root, v in pairs]
        is_near = " && ".join(near) or "1"
        kernel.open(f"if (__builtin_expect({is_near}, 1))")
        for accumulator, _ in self.sums:
            accumulator.declare(OWN)
        kernel.line(f"#pragma GCC unroll {count}")
        kernel.open(f"for (i64 k = 0; k < {count}; k++)")
        kernel.line("const i64 i = h + k;")
        self._element(block, loads, stores)
        kernel.close()
        self._end_elements()
        kernel.line("continue;")
        kernel.close()

    def _element(self, block: Block, loads: Sequence[Place], stores: Sequence[Place]) -> None:
        """One element."""
        block.load(loads)
        self.stage.steps(block, self.stage.late)
        if stores:
            block.store(stores)
        for accumulator, _ in self.of_values:
            self.kernel.line(accumulator.feed(block, OWN if accumulator.is_sum else "")[0])
        self.scatters.write(block)

    def _end_elements(self) -> None:
        for accumulator, _ in self.sums:
            accumulator.join([OWN])

    # --- what is scattered -------------------------------------------------------------------------------------------

    def _add(self, block: Block, one: Scatter) -> None:
        """Add the values of a block to those for the same position before it."""
        kernel, name = self.kernel, one.name
        at = position(block, one.table, one.at, self.scatters.safe)
        given = as_vector(self.vectors, block.values[one.number], WORDS[one.base.dtype])
        kernel.line(f"const i64 to{name} = {at.text};")
        kernel.open(f"if (__builtin_expect(to{name} == at{name}, 1))")
        kernel.line(f"run{name} += {given};")
        kernel.close()
        kernel.open("else")
        self._end(one)
        kernel.line(f"at{name} = to{name};")
        kernel.line(f"run{name} = {given};")
        kernel.close()

    def _end(self, one: Scatter) -> None:
        """Add what has been added up to the array."""
        total = tree([f"run{one.name}[{k}]" for k in range(self.vectors.count)], "+")
        self.kernel.line(f"if (at{one.name} >= 0) {one.base.pointer}[at{one.name}] += {total};")
