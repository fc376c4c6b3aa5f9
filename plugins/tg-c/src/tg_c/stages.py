"""One stage of a loop in C: what it reads is loaded, its steps run, its values are kept, reduced and scattered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.ops.indexing import Gather, WrapIndex
from tg_c.affine import SharedSums
from tg_c.block import Block, Place
from tg_c.columns import Column
from tg_c.division import time_of
from tg_c.ends import CHUNK, Accumulator
from tg_c.pointwise import program_of, uniform, vectors_for
from tg_c.positions import Limit, gathered, never_empty, wrapped
from tg_c.runs import runs_of
from tg_c.scatters import Scatter, Scatters
from tg_native.fusion.affine import FLOAT
from tg_native.kernels.dtypes import WORDS
from tg_native.loops.staging import split
from tg_native.plan.values import is_zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_c.loops import Nest
    from tg_c.positions import Table
    from tg_native.fusion.loop import Result

LIGHT: Final = 8  # steps of a stage up to which waiting for an accumulator takes longer than they do
COPIES: Final = 4  # of the accumulators of such a stage
PER_PLACE: Final = 0.2  # nanoseconds of steps for each computed position up to which a stage goes element by element
PLACES: Final = 4  # that count: more do not outweigh a function that vectors have
FEW: Final = 12  # steps of such a stage up to which it takes `COPIES` elements at once: registers hold what they need
MANY: Final = 32  # steps up to which it takes two


@final
class StageWriter:
    """One stage: what it reads is loaded, its steps run, its values kept, reduced and scattered."""

    def __init__(self, nest: Nest, s: int) -> None:
        self.nest, self.site, self.kernel = nest, nest.site, nest.kernel
        self.stage = nest.op.stages[s]
        self.numbered = nest.staging.numbered(s)
        self.inner = nest.staging.is_inner(s)
        self.program = program_of(self.stage.program)
        self.body: Sequence[int | Length] = nest.body if self.inner else ()
        self.varying = {k for k in self._inputs() if self._varies(k)}
        self.early, self.late = split(self.program.nodes, self.varying)
        self.by_elements = bool(self.body) and self._goes_by_elements()
        self.block = self._block()
        self.tables = self._tables()
        scatters = self._scatters()
        self.limits = self._limits(scatters)
        self.scatters = Scatters(scatters, set(self.limits))
        self.accumulators = {
            j: Accumulator(self.site, self.kernel, self.block, str(j), r, self._value(r))
            for j, r in self.numbered
            if r.fn is not None and r.into is None and not nest.staging.is_column(j)
        }
        columns = (j for j, _ in self.numbered if nest.staging.is_column(j) and j in nest.stored)
        self.columns = {j: self._column(j, nest.staging.results[j][1]) for j in columns}
        self.runs = runs_of(self)

    def _column(self, j: int, result: Result) -> Column:
        accumulator = Accumulator(self.site, self.kernel, self.block, str(j), result, self._value(result))
        inner = self.nest.space[self.nest.op.outer :]
        return Column(self.site, accumulator, self.nest.placed["column", j].name, inner)

    def _value(self, result: Result) -> int:
        return self.program.outputs[result.value]

    # --- what it reads -----------------------------------------------------------------------------------------------

    def _read(self, number: int) -> tuple[str, int] | None:
        """Where an input of the program lies in memory, None if it is a scalar of this outer index."""
        read = self.stage.reads[number]
        if read < 0:
            return None if self.nest.staging.is_scalar(~read) else ("result", ~read)
        return ("operand", read) if ("operand", read) in self.nest.placed else None

    def _inputs(self) -> list[int]:
        """The inputs of the program that are elements."""
        return [k for k, t in enumerate(self.stage.program.input_types) if not t.ndim]

    def _varies(self, number: int) -> bool:
        """Whether an input differs along the innermost axis."""
        where = self._read(number)
        return where is not None and bool(self.body) and not is_zero(self.nest.placed[where].inner[-1])

    def _tables(self) -> dict[int, Table]:
        """The arrays that the program gathers from, by its inputs, with the names that they have in the kernel."""
        found: dict[int, Table] = {}
        for k, t in enumerate(self.stage.program.input_types):
            if t.ndim:
                table = self.site.memory(self.site.inputs[self.stage.reads[k]])
                read = table._replace(pointer=self.kernel.read(table))
                found[k] = never_empty(self.block, read, read.pointer)
        return found

    def _scatters(self) -> list[Scatter]:
        """What is scattered into results, with the names that they have in the kernel."""
        found: list[Scatter] = []
        for j, r in self.numbered:
            if r.into is not None and j in self.nest.stored:
                base = self.nest.scattered(j)
                table = never_empty(self.block, base, base.pointer, const="")
                found.append(Scatter(str(j), table, r.fn, self._value(r), tuple(self.program.outputs[k] for k in r.at)))
        return found

    def _limits(self, scatters: Sequence[Scatter]) -> dict[int, Limit]:
        """Below what wrapped indices stay, so that no array that they are used for need be asked again."""
        lengths: dict[int, list[str]] = {}
        for node in self.program.nodes:
            if type(node.op) is Gather:
                for number, n in zip(node.inputs[1:], self.tables[node.inputs[0]].lengths, strict=True):
                    lengths.setdefault(number, []).append(n)
        for scatter in scatters:
            for number, n in zip(scatter.at, scatter.table.lengths, strict=True):
                lengths.setdefault(number, []).append(n)
        found: dict[int, Limit] = {}
        for node in self.program.nodes:
            (out,) = node.outputs
            size = self.block.values.get(node.inputs[-1])
            if type(node.op) is WrapIndex and out in lengths and size is not None:
                found[out] = Limit(f"m{out}", f"near{node.inputs[0]}")
                self._least(found[out].text, [size.text, *dict.fromkeys(lengths[out])])
        for near in dict.fromkeys(limit.near for limit in found.values()):
            self._least(near, [limit.text for limit in found.values() if limit.near == near])
        return found

    def _least(self, name: str, lengths: Sequence[str]) -> None:
        """A local that is the least of some lengths."""
        self.kernel.line(f"i64 {name} = {lengths[0]};")
        for text in lengths[1:]:
            self.kernel.line(f"if ({name} > {text}) {name} = {text};")

    def _block(self) -> Block:
        vectors = None
        if self.body and not self.by_elements:
            vectors = vectors_for(self.site, self.program, self.varying, self.body[-1])
        block = Block(self.kernel, self.site, self.program.dtypes, vectors)
        for k, text in self.program.literals.items():
            block.share(k, text)
        for k in self._inputs():
            read = self.stage.reads[k]
            if self._read(k) is None:
                scalar = uniform(self.site.inputs[read]) if read >= 0 else None
                block.share(k, self.kernel.value(scalar) if scalar is not None else f"r{~read}")
        return block

    def _goes_by_elements(self) -> bool:
        """Whether so much is read and written at computed positions that the little that is done gains from no vectors.

        To make vectors of single elements, or take them apart, takes longer than arithmetic with them saves.
        """
        gathers = [node.outputs[0] for node in self.late if type(node.op) is Gather]
        scatters = sum(r.into is not None for r in self.stage.results)
        if not scatters and self._vectors_gather(gathers):
            return False
        places = len(gathers) + scatters
        steps = [node for node in self.late if type(node.op) not in (Gather, WrapIndex)]
        return places > 0 and time_of(steps, self.program.dtypes) <= PER_PLACE * min(places, PLACES)

    def _vectors_gather(self, gathered: Sequence[int]) -> bool:
        """Whether there are instructions that read vectors of these values at computed positions."""
        vectors = vectors_for(self.site, self.program, self.varying, self.body[-1])
        return vectors is not None and all(vectors.gathers(WORDS[self.program.dtypes[k]]) for k in gathered)

    # --- what surrounds it -------------------------------------------------------------------------------------------

    def begin_totals(self) -> None:
        """Begin the reductions over all axes."""
        for j, accumulator in self.accumulators.items():
            if self.nest.staging.is_total(j):
                accumulator.begin()
        for column in self.columns.values():
            column.begin()

    def end_totals(self) -> None:
        """End the reductions over all axes."""
        for j, accumulator in self.accumulators.items():
            if self.nest.staging.is_total(j) and j in self.nest.stored:
                self.nest.store_total(j, accumulator)
        for j, column in self.columns.items():
            self.nest.store_column(j, column)

    def declare_scalars(self) -> None:
        """Declare the results that later stages find in locals."""
        for j, r in self.numbered:
            if self.nest.staging.is_scalar(j) and not self.nest.staging.is_total(j):
                self.kernel.line(f"{WORDS[self.program.dtypes[self._value(r)]]} r{j};")

    # --- the stage ---------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The lines of the stage inside of the outer loops."""
        kernel, block = self.kernel, self.block
        rows = [a for j, a in self.accumulators.items() if not self.nest.staging.is_total(j)]
        for accumulator in rows:
            accumulator.begin()
        inner = kernel.loops(self.body[:-1], "j", divided=kernel.division is not None and not self.nest.lead)
        for k in self._inputs():
            where = self._read(k)
            if where is not None and not self._varies(k):
                kernel.line(f"const {WORDS[self.program.dtypes[k]]} t{k} = {self._element(where, inner)};")
                block.share(k, f"t{k}")
        loads = [self._place(k, where, inner) for k in self._inputs() if (where := self._read(k)) and self._varies(k)]
        kept = [(j, self._value(r)) for j, r in self.numbered if r.op is None and ("result", j) in self.nest.placed]
        stores = [self._place(n, ("result", j), inner) for j, n in kept]
        self.columns_at = [(c, self._place(c.of.number, ("column", j), inner)) for j, c in self.columns.items()]
        self.steps(block, self.early)
        block.invert(self.late)
        if self.body:
            self._rounds(loads, stores)
        else:
            self._round(block, loads, stores, "")
            self.scatters.write(block)
        kernel.close(len(inner))
        for column in self.columns.values():
            column.end_row()
        self._finish_rows()

    def _finish_rows(self) -> None:
        """Give the locals of this outer index their values, and store them."""
        for j, r in self.numbered:
            if not self.nest.staging.is_scalar(j) or self.nest.staging.is_total(j):
                continue
            text = self.accumulators[j].total() if j in self.accumulators else self.block.values[self._value(r)].text
            self.kernel.line(f"r{j} = {text};")
            if j in self.accumulators and ("result", j) in self.nest.placed:
                self.kernel.line(f"{self._element(('result', j), ())} = r{j};")

    def _element(self, where: tuple[str, int], inner: Sequence[str]) -> str:
        """An element that the innermost axis does not move."""
        a = self.nest.placed[where]
        indices, strides = [*self.nest.indices, *inner], [*a.outer, *a.inner[: len(inner)]]
        return self.kernel.at(a.name, indices, strides)

    def _place(self, number: int, where: tuple[str, int], inner: Sequence[str]) -> Place:
        """Where the row of an array begins, in a local."""
        a = self.nest.placed[where]
        indices, strides = [*self.nest.indices, *inner], [*a.outer, *a.inner[: len(inner)]]
        start = self.kernel.place(a.name, indices, strides)
        stride = a.inner[-1] if self.body else 0
        if start == a.name:
            return Place(number, a.name, stride)
        row = f"{'p' if where[0] == 'operand' else 'q'}{where[1]}"
        const = "const " if where[0] == "operand" else ""
        self.kernel.line(f"{const}{WORDS[a.dtype]} *const {row} = {start};")
        return Place(number, row, stride)

    # --- rounds ------------------------------------------------------------------------------------------------------

    def _rounds(self, loads: Sequence[Place], stores: Sequence[Place]) -> None:
        """The rounds along the innermost axis, in chunks where sums want them."""
        kernel, (start, stop) = self.kernel, self.nest.bounds()
        if self.runs is not None:
            self.runs.write(loads, stores, start, stop)
            return
        count = self.block.vectors.count if self.block.vectors is not None else 1
        shared = self._shared_sums(stores)
        copies = self._copies(count, self.late if shared is None else shared.nodes)
        sums = [a for a in self.accumulators.values() if a.is_sum]
        if shared is not None and copies > 1:
            shared.begin()
        if sums:
            size = CHUNK * count * (1 if shared is not None and shared.is_checked else copies)
            kernel.loop_between("c", start, stop, size)
            kernel.line(f"const i64 e = {stop} - c > {size} ? c + {size} : {stop};")
            start, stop = "c", "e"
        for accumulator in sums:
            accumulator.begin_chunk()
        if shared is not None and copies > 1:
            start = self._summed(shared, loads, start, stop, copies)
        elif copies > 1:
            start = self._unrolled(loads, stores, start, stop, copies)
        self.block.open_between(start, stop)
        self._round(self.block, loads, stores, "")
        self.scatters.write(self.block)
        kernel.close()
        for accumulator in sums:
            accumulator.end_chunk()
        if sums:
            kernel.close()

    def _copies(self, count: int, steps: Sequence[Node]) -> int:
        """How many rounds are run at once: several where they would wait for an accumulator, or for single elements."""
        length = self.body[-1]
        if type(length) is int and length < 2 * COPIES * count:
            return 1
        if self.by_elements:
            return COPIES if len(self.late) <= FEW else 2 if len(self.late) <= MANY else 1
        is_light = self.block.vectors is not None and len(steps) <= LIGHT
        return COPIES if self.accumulators and not self.scatters.every and is_light else 1

    def _shared_sums(self, stores: Sequence[Place]) -> SharedSums | None:
        """What is summed in place of the values of the stage, if that is less, and if nothing else becomes of them."""
        accumulators = list(self.accumulators.values())
        others = stores or self.columns_at or self.scatters.every or self.block.vectors is None or self.site.is_strict
        if others or len(self.late) > MANY or any(not a.is_sum or a.dtype != FLOAT for a in accumulators):
            return None
        found = SharedSums(self.block, self.kernel, accumulators, self.late)
        return found if found.pays else None

    def _summed(self, shared: SharedSums, loads: Sequence[Place], start: str, stop: str, copies: int) -> str:
        """Several rounds at once, summed by what their sums share; the name of the index that is left."""
        kernel, vectors = self.kernel, self.block.vectors
        assert vectors is not None
        for copy in range(copies):
            shared.declare(f"_{copy}" if copy else "")
        kernel.line(f"i64 h = {start};")
        step = copies * vectors.count
        kernel.open(f"for (; {shared.condition}h + {step} <= {stop}; h += {step})")
        for copy in range(copies):
            kernel.open("")
            kernel.line(f"const i64 i = h + {copy * vectors.count};")
            block = self.block.full()
            block.load(loads)
            self.steps(block, shared.nodes)
            shared.feed(block, f"_{copy}" if copy else "")
            kernel.close()
        kernel.close()
        shared.end(copies, start)
        return "h"

    def _unrolled(self, loads: Sequence[Place], stores: Sequence[Place], start: str, stop: str, copies: int) -> str:
        """Several rounds at once, each with accumulators of its own; the name of the index that is left."""
        kernel, count = self.kernel, self.block.vectors.count if self.block.vectors is not None else 1
        for accumulator in self.accumulators.values():
            for copy in range(1, copies):
                accumulator.declare(f"_{copy}")
        kernel.line(f"i64 h = {start};")
        kernel.open(f"for (; h + {copies * count} <= {stop}; h += {copies * count})")
        self.scatters.declare(self.block, copies)
        for copy in range(copies):
            kernel.open("")
            kernel.line(f"const i64 i = h + {copy * count};")
            block = self.block.full()
            self._round(block, loads, stores, f"_{copy}" if copy else "")
            self.scatters.keep(block, copy)
            kernel.close()
        self.scatters.combine(self.block, copies)
        kernel.close()
        for accumulator in self.accumulators.values():
            accumulator.join([f"_{copy}" for copy in range(1, copies)])
        return "h"

    def _round(self, block: Block, loads: Sequence[Place], stores: Sequence[Place], copy: str) -> None:
        block.load(loads)
        self.steps(block, self.late)
        if stores:
            block.store(stores)
        fed = [accumulator.feed(block, copy) for accumulator in self.accumulators.values()]
        fed += [column.feed(block, place) for column, place in self.columns_at]
        if fed:
            block.either(*zip(*fed, strict=True))

    def steps(self, block: Block, nodes: Sequence[Node]) -> None:
        """Steps of the program."""
        for node in nodes:
            if type(node.op) is Gather:
                table, *at = node.inputs
                block.name(node.outputs[0], gathered(block, self.tables[table], at, set(self.limits)))
            elif type(node.op) is WrapIndex:
                (out,) = node.outputs
                block.name(out, wrapped(block, node, self.limits.get(out)))
            else:
                block.run([node])
