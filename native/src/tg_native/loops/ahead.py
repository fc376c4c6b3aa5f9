"""The next row, fetched while one is worked on.

A loop of several stages goes through a row once for each, and waits for memory in the first one alone, which has no
other work: what fetches neighbours by itself has seen the same addresses again and again. So the stage that takes
longest has the caches fetch the next row of whatever an earlier one is going to read: of 1000 rows of 1000 numbers,
softmax takes a quarter less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import Pointer
from tg_native.loops.costs import AHEAD, time_of
from tg_native.plan.values import is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_native.kernels.index import Index
    from tg_native.kernels.routine import Block
    from tg_native.loops.nest import LoopNest

    Where = tuple[str, int]


LINE: Final = 64  # bytes of a line of the cache


class Ahead(NamedTuple):
    """Place of the next row of an operand."""

    place: Pointer

    def fetch(self, block: Block) -> None:
        """Fetch the lines that the elements of a block lie in."""
        body, size = self.place.body, item_size(self.place.dtype)
        for k in range(0, body.lanes, max(1, LINE // size)):
            body.prefetch(self.place.moved(block.first + k))


def longest_stage(nest: LoopNest) -> int:
    """The stage that has most to do for an element, the first of several."""
    stages = nest.op.stages
    inner = [s for s in range(len(stages)) if nest.staging.is_inner(s)]

    def time(s: int) -> float:
        program = stages[s].program
        return time_of(program.nodes, [t.dtype for t in program.types])

    return max(inner, key=time, default=-1)


def read_before(nest: LoopNest, s: int) -> list[Where]:
    """The operands over whole rows that stages before one read, and which are others for the next outer index."""
    if not nest.lead or len(nest.body) != 1:
        return []
    earlier = {k for stage in nest.op.stages[:s] for k in stage.reads if k >= 0}
    places = [where for where in nest.placed if where[0] == "operand" and where[1] in earlier]
    return [where for where in places if _follows(nest, where)]


def _follows(nest: LoopNest, where: Where) -> bool:
    """Whether a row lies element by element, and the next one elsewhere."""
    a = nest.placed[where]
    return isinstance(a.place, Pointer) and is_one(a.inner[-1]) and not is_zero(a.outer[-1])


def rows_ahead(nest: LoopNest, places: Sequence[Where], indices: Sequence[Index]) -> list[Ahead]:
    """The next rows of operands; this row again, which costs nothing, where they are too long for the cache."""
    kernel = nest.kernel
    most = AHEAD // max(1, sum(item_size(nest.placed[where].place.dtype) for where in places))
    length: int | Length = nest.body[-1]
    if type(length) is int and length > most:
        return []
    rows = []
    for where in places:
        a = nest.placed[where]
        step = kernel.as_index(a.outer[-1])
        if type(length) is not int:
            step = step * (kernel.as_index(length) <= most).number()
        rows.append(Ahead(kernel.moved(a.place, indices, a.outer).moved(step)))
    return rows
