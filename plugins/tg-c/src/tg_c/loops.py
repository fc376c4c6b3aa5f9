"""Loops of several stages as one C function: outer loops, in them stage after stage, each over the inner axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_c.columns import rows
from tg_c.division import divide, most_parts, time_of, time_to_move
from tg_c.pointwise import pointwise, program_of, uniform
from tg_c.shares import joined, may_share, share_of, with_one
from tg_c.stages import StageWriter
from tg_native.kernels.dtypes import WORDS, item_size
from tg_native.loops.staging import Staging
from tg_native.plan.values import Array, collapsed, is_zero, row_major, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_c.columns import Column
    from tg_c.division import Division
    from tg_c.ends import Accumulator
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_native.fusion.loop import Loop
    from tg_native.plan.values import Value

LINE: Final = 128  # bytes between what different threads write: two lines, which some caches fetch together


def loop(op: Loop, site: Site) -> list[Value]:
    """A loop: as a single pass of elementwise ops if it is no more than that."""
    stage = op.stages[0]
    program = program_of(stage.program)
    if len(op.stages) == 1 and all(r.op is None for r in stage.results) and all(n.op.pointwise for n in program.nodes):
        stored = tuple(program.outputs[r.value] for r in stage.results)
        return pointwise(site, program._replace(outputs=stored), [site.inputs[k] for k in stage.reads])
    return Nest(op, site).write()


class _Strided(NamedTuple):
    """An array over the space: its name in the kernel, and its strides over the outer and over the inner axes."""

    name: str
    dtype: str
    outer: Sequence[int | Length]
    inner: Sequence[int | Length]


@final
class Nest:
    """The function of a loop in the making."""

    def __init__(self, op: Loop, site: Site) -> None:
        self.op, self.site, self.kernel = op, site, site.kernel()
        self.staging = Staging(op, site.inputs)
        self.space = self.staging.space
        self.joiners: list[Kernel] = []
        self.hosts = self.staging.hosts()  # a result may lie where an operand is
        self.stored = self._allocate()
        self.columns: dict[int, Array] = {}
        self.arrays = self._arrays()
        self._name_arrays()
        self.stages = [StageWriter(self, s) for s in range(len(op.stages))]

    # --- memory ------------------------------------------------------------------------------------------------------

    def _allocate(self) -> dict[int, Array]:
        """Memory for the results, by their numbers among all: of the loop, or of this call for rows read later."""
        found: dict[int, Array] = {}
        stored = iter(range(len(self.site.types)))
        for j, (_, result) in enumerate(self.staging.results):
            if result.stored:
                found[j] = self.site.allocate(next(stored))
                if result.into is not None:
                    self.site.copy(self.site.inputs[result.into], found[j])
        for j in range(len(self.staging.results)):
            if self.staging.is_row(j) and j not in self.hosts:
                found[j] = self._row(self.staging.dtype_of(j))
        return found

    def _row(self, dtype: str) -> Array:
        """Memory for a row that later stages read: one for each thread, not closer than a line of the cache."""
        shape = self.space[self.op.outer :]
        if self._may_be_divided():
            row = self.site.temporary(dtype, (self.site.threads, *shape[:-1], shape[-1] + LINE // item_size(dtype)))
        else:
            row = self.site.temporary(dtype, shape)
        return row.viewed(self.space, (*([0] * self.op.outer), *row_major(tuple(shape))))

    def _arrays(self) -> dict[tuple[str, int], Array]:
        """What lies in memory over the space: operands and results."""
        found: dict[tuple[str, int], Array] = {}
        for k in self.staging.elements:
            v = self.site.inputs[k]
            if uniform(v) is None:
                assert isinstance(v, Array)
                found["operand", k] = spread(v, self.space)
        for j, y in self.stored.items():
            if self.staging.results[j][1].into is None:
                found["result", j] = spread(y, self.space)
            if self.staging.is_column(j):
                found["column", j] = self._column_rows(j, y.dtype)
        return found

    def _column_rows(self, j: int, dtype: str) -> Array:
        """Memory for the partial results of columns, as one row over the space: the first of each part."""
        inner, result = self.space[self.op.outer :], self.staging.results[j][1]
        parts = most_parts(self.site) if self._may_be_divided() else 1
        self.columns[j] = rows(self.site, result, dtype, inner, parts)
        return self.columns[j].viewed(self.space, (*([0] * self.op.outer), *row_major(tuple(inner))))

    def _name_arrays(self) -> None:
        """Collapse outer and inner axes, and make all arrays parameters."""
        outer = self.op.outer
        strides = [a.strides for a in self.arrays.values()]
        lead = collapsed(self.space[:outer], [s[:outer] for s in strides])
        body = collapsed(self.space[outer:], [s[outer:] for s in strides])
        self.lead, self.body = lead.shape, body.shape
        self.kernel.division = self._division()
        self.placed: dict[tuple[str, int], _Strided] = {}
        for (what, k), a, o, i in zip(self.arrays, self.arrays.values(), lead.strides, body.strides, strict=True):
            is_divided = self.kernel.division is not None
            result = self.staging.results[k][1] if what != "operand" else None
            if is_divided and what == "result" and result and (self.staging.is_total(k) or self.staging.is_column(k)):
                continue  # each part has its own
            name = self.kernel.read(a) if what == "operand" else self.kernel.write(a)
            if is_divided and what == "result" and result and not result.stored:
                name = self._own_row(name, a.dtype)
            elif is_divided and what == "column":
                name = self._own_part(name, self.columns[k])
            self.placed[what, k] = _Strided(name, a.dtype, o, i)
        for row, host in self.hosts.items():
            self.placed["result", row] = self.placed["result", host]

    def _own_row(self, name: str, dtype: str) -> str:
        """The row of the thread that runs a part: a local."""
        *shape, n = (self.kernel.length(length) for length in self.space[self.op.outer :])
        size = " * ".join((*shape, f"({n} + {LINE // item_size(dtype)})"))
        self.kernel.line(f"{WORDS[dtype]} *restrict own{name} = {name} + slot * {size};")
        return f"own{name}"

    def _own_part(self, name: str, rows: Array) -> str:
        """The rows of the part that is run: a local."""
        stride = self.kernel.length(rows.strides[0])
        self.kernel.line(f"{WORDS[rows.dtype]} *restrict own{name} = {name} + part * {stride};")
        return f"own{name}"

    # --- threads -----------------------------------------------------------------------------------------------------

    def _may_be_divided(self) -> bool:
        """Whether threads could share the loop: where elements are scattered, if that is all, and they are added."""
        if self.site.threads == 1 or all(r.into is None for _, r in self.staging.results):
            return self.site.threads > 1
        is_row = self.staging.rank == len(self.op.stages) == 1
        return is_row and may_share(self.site, [r for _, r in self.staging.results])

    def _division(self) -> Division | None:
        """How the calls are divided: along the outer axes, or along all of a loop that has one stage."""
        results = [r for _, r in self.staging.results]
        ends = (j for j, r in enumerate(results) if r.fn is not None and r.into is None)
        is_whole = len(self.op.stages) == 1 and all(map(self.staging.is_total, ends))
        if not self._may_be_divided() or not (self.lead or is_whole):
            return None
        inner = [stage for s, stage in enumerate(self.op.stages) if self.staging.is_inner(s)]
        each = time_to_move(a.dtype for a in self.arrays.values() if not all(map(is_zero, a.strides)))
        each += sum(time_of(stage.program.nodes, [t.dtype for t in stage.program.types]) for stage in inner)
        division = divide(self.site, (*self.lead, *self.body), each, in_row=self._is_row())
        scattered = [self.stored[j] for j, r in enumerate(results) if r.into is not None and j in self.stored]
        return with_one(self.site, division, scattered) if division is not None and scattered else division

    def _is_row(self) -> bool:
        """Whether there is nothing but the innermost axis."""
        return not self.lead and len(self.body) == 1

    def bounds(self) -> tuple[str, str]:
        """Where the loop over the innermost axis begins and ends."""
        if self.kernel.division is not None and self._is_row():
            return "lo", "hi"
        return "0", self.kernel.length(self.body[-1])

    def scattered(self, j: int) -> Array:
        """What a stage scatters into, with the name that it has in the kernel: its own for each part."""
        y, division = self.stored[j], self.kernel.division
        if division is None:
            return y._replace(pointer=self.kernel.write(y))
        alone = f"hi - lo == {self.kernel.length(self.body[-1])}"
        name, memory = share_of(self.site, self.kernel, y, alone)
        self.joiners.append(joined(self.site, memory, division.parts, y))
        return y._replace(pointer=name)

    def store_total(self, j: int, accumulator: Accumulator) -> None:
        """Store a reduction over all axes, or what a part has met, to be joined after all parts."""
        division = self.kernel.division
        if division is None:
            self.kernel.line(f"{self.placed['result', j].name}[0] = {accumulator.total()};")
            return
        parts = self.site.temporary(accumulator.work, (most_parts(self.site),))
        self.kernel.line(f"{self.kernel.write(parts)}[part] = {accumulator.total_of_part()};")
        self.joiners.append(accumulator.joined(parts, division.parts, self.stored[j]))

    def store_column(self, j: int, column: Column) -> None:
        """Store a reduction over the outer axes, or what a part has met, to be joined after all parts."""
        division = self.kernel.division
        column.end(self.placed["result", j].name if division is None else None)
        if division is not None:
            self.joiners.append(column.joined(self.columns[j], division.parts, self.stored[j]))

    # --- the function ------------------------------------------------------------------------------------------------

    def write(self) -> list[Value]:
        """Write the function and call it."""
        kernel, several = self.kernel, len(self.stages) > 1
        for stage in self.stages:
            stage.begin_totals()
        self.indices = kernel.loops(self.lead, divided=kernel.division is not None)
        for stage in self.stages:
            stage.declare_scalars()
        for stage in self.stages:
            if several:
                kernel.open("")
            stage.write()
            if several:
                kernel.close()
        kernel.close(len(self.lead))
        for stage in self.stages:
            stage.end_totals()
        for one in (kernel, *self.joiners):
            self.site.call(one)
        return [self.stored[j] for j, (_, r) in enumerate(self.staging.results) if r.stored]
