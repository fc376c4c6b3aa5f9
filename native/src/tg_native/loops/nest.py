"""Loops of several stages as one function: outer loops, in them stage after stage, each over the inner axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from tg_native.loops.columns import rows
from tg_native.loops.pointwise import pointwise, program_of, uniform
from tg_native.loops.stages import StageWriter
from tg_native.loops.staging import Staging
from tg_native.plan.values import Array, collapsed, row_major, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_native.fusion.loop import Loop
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.loops.site import Site
    from tg_native.plan.values import Value


def loop(op: Loop, site: Site) -> list[Value]:
    """A loop: as a single pass of elementwise ops if it is no more than that."""
    stage = op.stages[0]
    program = program_of(stage.program)
    if len(op.stages) == 1 and all(r.op is None for r in stage.results) and all(n.op.pointwise for n in program.nodes):
        stored = tuple(program.outputs[r.value] for r in stage.results)
        return pointwise(site, program._replace(outputs=stored), [site.inputs[k] for k in stage.reads])
    return LoopNest(op, site).write()


class Strided(NamedTuple):
    """An array over the space: where it lies, and its strides over the outer and over the inner axes."""

    place: Pointer
    outer: Sequence[int | Length]
    inner: Sequence[int | Length]


@final
class LoopNest:
    """The function of a loop in the making."""

    def __init__(self, op: Loop, site: Site) -> None:
        self.op, self.site, self.kernel = op, site, site.kernel()
        self.staging = Staging(op, site.inputs)
        self.hosts = self.staging.hosts()
        self.stored = self._allocate()
        self.placed: dict[tuple[str, int], Strided] = {}  # ("operand", "result" or "column", its number)
        self._place(self._arrays())
        self.rows: dict[int, Elements] = {}  # results that are one number for each outer index, at the current one
        self.stages = [StageWriter(self, s) for s in range(len(op.stages))]

    # --- memory ------------------------------------------------------------------------------------------------------

    def _allocate(self) -> dict[int, Array]:
        """Memory for the results, by their numbers: of the loop, or of this call for rows that are read later."""
        found: dict[int, Array] = {}
        stored = iter(range(len(self.site.types)))
        for j, (_, result) in enumerate(self.staging.results):
            if result.stored:
                found[j] = self.site.allocate(next(stored))
                if result.into is not None:
                    self.site.copy(self.site.inputs[result.into], found[j])
            elif self.staging.is_row(j) and j not in self.hosts:
                row = self.site.temporary(self.staging.dtype_of(j), self.staging.space[self.op.outer :])
                found[j] = row.viewed(self.staging.space, (*([0] * self.op.outer), *row_major(row.shape)))
        return found

    def _arrays(self) -> dict[tuple[str, int], Array]:
        """What lies in memory over the space: operands and results."""
        found: dict[tuple[str, int], Array] = {}
        for k in self.staging.elements:
            v = self.site.inputs[k]
            if uniform(v) is None:
                assert isinstance(v, Array)
                found["operand", k] = spread(v, self.staging.space)
        for j, y in self.stored.items():
            if self.staging.results[j][1].into is None:
                found["result", j] = spread(y, self.staging.space)
            if self.staging.is_column(j):
                found["column", j] = self._rows(j, y.dtype)
        return found

    def _rows(self, j: int, dtype: str) -> Array:
        """Memory for what is found of columns, as one row over the space."""
        outer, space = self.op.outer, self.staging.space
        memory = rows(self.site, self.staging.results[j][1], dtype, space[outer:])
        return memory.viewed(space, (*([0] * outer), *row_major(space[outer:])))

    def _place(self, arrays: dict[tuple[str, int], Array]) -> None:
        """Collapse outer and inner axes, and make all arrays arguments."""
        outer, space = self.op.outer, self.staging.space
        strides = [a.strides for a in arrays.values()]
        lead = collapsed(space[:outer], [s[:outer] for s in strides])
        body = collapsed(space[outer:], [s[outer:] for s in strides])
        self.lead, self.body = lead.shape, body.shape
        for (what, k), a, o, i in zip(arrays, arrays.values(), lead.strides, body.strides, strict=True):
            place = self.kernel.read(a) if what == "operand" else self.kernel.write(a)
            self.placed[what, k] = Strided(place, o, i)
        for row, host in self.hosts.items():
            self.placed["result", row] = self.placed["result", host]

    # --- the function ------------------------------------------------------------------------------------------------

    def write(self) -> list[Value]:
        """Write the function and call it."""
        for stage in self.stages:
            stage.begin()
        with self.kernel.loops(self.lead) as outer:
            for stage in self.stages:
                stage.write(outer)
        for stage in self.stages:
            stage.end()
        self.site.run(self.kernel)
        return [self.stored[j] for j, (_, r) in enumerate(self.staging.results) if r.stored]
