"""Loops of several stages as one C function: outer loops, in them stage after stage, each over the inner axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.link.values import Array, collapsed, is_one, is_zero, row_major, spread
from tg.ops.indexing import Gather, WrapIndex
from tg_c.block import Block, Place
from tg_c.ends import CHUNK, Accumulator
from tg_c.pointwise import pointwise, program_of, split, uniform, vectors_for
from tg_c.positions import add_at, gathered, never_empty, wrapped
from tg_c.text import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg.link.loop import Loop, Result, Stage
    from tg.link.values import Value
    from tg.types.lengths import Length
    from tg_c.site import Site

LIGHT: Final = 6  # steps of a stage up to which waiting for an accumulator takes longer than they do
COPIES: Final = 4  # of the accumulators of such a stage


def loop(op: Loop, site: Site) -> list[Value]:
    """A loop: as a single pass of elementwise ops if it is no more than that."""
    stage = op.stages[0]
    program = program_of(stage.program)
    if len(op.stages) == 1 and all(r.op is None for r in stage.results) and all(n.op.pointwise for n in program.nodes):
        stored = tuple(program.outputs[r.value] for r in stage.results)
        return pointwise(site, program._replace(outputs=stored), [site.inputs[k] for k in stage.reads])
    return _Nest(op, site).write()


class _Strided(NamedTuple):
    """An array over the space: its name in the kernel, and its strides over the outer and over the inner axes."""

    name: str
    dtype: str
    outer: Sequence[int | Length]
    inner: Sequence[int | Length]


@final
class _Nest:
    """The function of a loop in the making."""

    def __init__(self, op: Loop, site: Site) -> None:
        self.op, self.site, self.kernel = op, site, site.kernel()
        self.rank = len(op.extents)
        self.results = [(s, r) for s, stage in enumerate(op.stages) for r in stage.results]
        self.elements = {k for stage in op.stages for k in self._element_operands(stage)}
        self.space = [self._length(axis) for axis in range(self.rank)]
        self.stored = self._allocate()
        self.arrays = self._arrays()
        self._name_arrays()
        self.stages = [_StageWriter(self, s) for s in range(len(op.stages))]

    def _element_operands(self, stage: Stage) -> list[int]:
        return [k for k, t in zip(stage.reads, stage.program.input_types, strict=True) if k >= 0 and not t.ndim]

    def _length(self, axis: int) -> int | Length:
        shapes = [v.shape for k in sorted(self.elements) if isinstance(v := self.site.inputs[k], Array)]
        return next((s[axis] for s in shapes if not is_one(s[axis])), 1)

    # --- memory ------------------------------------------------------------------------------------------------------

    def is_inner(self, s: int) -> bool:
        """Whether a stage runs over the inner axes."""
        stage = self.op.stages[s]
        given = zip(stage.reads, stage.program.input_types, strict=True)
        return any(self._spans(k) for k, t in given if not t.ndim) or len(self.op.stages) == 1

    def _spans(self, read: int) -> bool:
        """Whether what a stage reads has the inner axes."""
        if read < 0:
            s, result = self.results[~read]
            return result.fn is None and self.is_inner(s)
        v = self.site.inputs[read]
        return isinstance(v, Array) and any(not is_one(n) for n in v.shape[self.op.outer :])

    def is_scalar(self, j: int) -> bool:
        """Whether a result is one number for each outer index, which later stages find in a local."""
        s, result = self.results[j]
        return result.into is None and (result.fn is not None or not self.is_inner(s))

    def is_total(self, result: Result) -> bool:
        """Whether a result is reduced over all axes."""
        return result.into is None and result.fn is not None and len(result.axes) == self.rank

    def _allocate(self) -> dict[int, Array]:
        """Memory for the results, by their numbers among all: of the loop, or of this call for rows read later."""
        found: dict[int, Array] = {}
        stored = iter(range(len(self.site.types)))
        read = {~k for stage in self.op.stages for k in stage.reads if k < 0}
        for j, (s, result) in enumerate(self.results):
            if result.stored:
                found[j] = self.site.allocate(next(stored))
                if result.into is not None:
                    self.site.copy(self.site.inputs[result.into], found[j])
            elif j in read and not self.is_scalar(j):
                program = self.op.stages[s].program
                row = self.site.temporary(
                    program.types[program.outputs[result.value]].dtype, self.space[self.op.outer :]
                )
                strides = (*([0] * self.op.outer), *row_major(row.shape))
                found[j] = row.viewed(self.space, strides)
        return found

    def _arrays(self) -> dict[tuple[str, int], Array]:
        """What lies in memory over the space: operands and results."""
        found: dict[tuple[str, int], Array] = {}
        for k in sorted(self.elements):
            v = self.site.inputs[k]
            if uniform(v) is None:
                assert isinstance(v, Array)
                found["operand", k] = spread(v, self.space)
        for j, y in self.stored.items():
            if self.results[j][1].into is None:
                found["result", j] = spread(y, self.space)
        return found

    def _name_arrays(self) -> None:
        """Collapse outer and inner axes, and make all arrays parameters."""
        outer = self.op.outer
        strides = [a.strides for a in self.arrays.values()]
        lead = collapsed(self.space[:outer], [s[:outer] for s in strides])
        body = collapsed(self.space[outer:], [s[outer:] for s in strides])
        self.lead, self.body = lead.shape, body.shape
        self.placed: dict[tuple[str, int], _Strided] = {}
        for (what, k), a, o, i in zip(self.arrays, self.arrays.values(), lead.strides, body.strides, strict=True):
            name = self.kernel.read(a) if what == "operand" else self.kernel.write(a)
            self.placed[what, k] = _Strided(name, a.dtype, o, i)

    # --- the function ------------------------------------------------------------------------------------------------

    def write(self) -> list[Value]:
        """Write the function and call it."""
        kernel, several = self.kernel, len(self.stages) > 1
        for stage in self.stages:
            stage.begin_totals()
        self.indices = kernel.loops(self.lead)
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
        self.site.call(kernel)
        return [self.stored[j] for j, (_, r) in enumerate(self.results) if r.stored]


@final
class _StageWriter:
    """One stage: what it reads is loaded, its steps run, its values kept, reduced and scattered."""

    def __init__(self, nest: _Nest, s: int) -> None:
        self.nest, self.site, self.kernel = nest, nest.site, nest.kernel
        self.stage = nest.op.stages[s]
        self.first = sum(len(stage.results) for stage in nest.op.stages[:s])
        self.inner = nest.is_inner(s)
        self.program = program_of(self.stage.program)
        self.body: Sequence[int | Length] = nest.body if self.inner else ()
        self.varying = {k for k in self._inputs() if self._varies(k)}
        self.early, self.late = split(self.program.nodes, self.varying)
        self.block = self._block()
        self.tables = self._tables()
        self.bases = self._bases()
        self.limits = self._limits()
        self.accumulators = {
            j: Accumulator(self.site, self.kernel, self.block, str(j), r, self._value(r))
            for j, r in self._numbered()
            if r.fn is not None and r.into is None
        }

    def _numbered(self) -> list[tuple[int, Result]]:
        return list(enumerate(self.stage.results, self.first))

    def _value(self, result: Result) -> int:
        return self.program.outputs[result.value]

    # --- what it reads -----------------------------------------------------------------------------------------------

    def _read(self, number: int) -> tuple[str, int] | None:
        """Where an input of the program lies in memory, None if it is a scalar of this outer index."""
        read = self.stage.reads[number]
        if read < 0:
            return None if self.nest.is_scalar(~read) else ("result", ~read)
        return ("operand", read) if ("operand", read) in self.nest.placed else None

    def _inputs(self) -> list[int]:
        """The inputs of the program that are elements."""
        return [k for k, t in enumerate(self.stage.program.input_types) if not t.ndim]

    def _varies(self, number: int) -> bool:
        """Whether an input differs along the innermost axis."""
        where = self._read(number)
        return where is not None and bool(self.body) and not is_zero(self.nest.placed[where].inner[-1])

    def _tables(self) -> dict[int, Array]:
        """The arrays that the program gathers from, by its inputs, with the names that they have in the kernel."""
        found: dict[int, Array] = {}
        for k, t in enumerate(self.stage.program.input_types):
            if t.ndim:
                table = self.site.memory(self.site.inputs[self.stage.reads[k]])
                read = table._replace(pointer=self.kernel.read(table))
                found[k] = never_empty(self.block, read, read.pointer)
        return found

    def _bases(self) -> dict[int, Array]:
        """The results that are scattered into, with the names that they have in the kernel."""
        found: dict[int, Array] = {}
        for j, r in self._numbered():
            if r.into is not None and j in self.nest.stored:
                y = self.nest.stored[j]
                found[j] = y._replace(pointer=self.kernel.write(y))
        return found

    def _limits(self) -> dict[int, str]:
        """Below what wrapped indices stay, so that no array that they are used for need be asked again."""
        lengths: dict[int, list[int | Length]] = {}
        for node in self.program.nodes:
            if type(node.op) is Gather:
                for number, n in zip(node.inputs[1:], self.tables[node.inputs[0]].shape, strict=True):
                    lengths.setdefault(number, []).append(n)
        for j, base in self.bases.items():
            for k, n in zip(self.nest.results[j][1].at, base.shape, strict=True):
                lengths.setdefault(self.program.outputs[k], []).append(n)
        found: dict[int, str] = {}
        for node in self.program.nodes:
            (out,) = node.outputs
            size = self.block.values.get(node.inputs[-1])
            if type(node.op) is WrapIndex and out in lengths and size is not None:
                found[out] = f"m{out}"
                texts = dict.fromkeys(self.kernel.length(n) for n in lengths[out])
                self.kernel.line(f"i64 m{out} = {size.text};")
                for text in texts:
                    self.kernel.line(f"if (m{out} > {text}) m{out} = {text};")
        return found

    def _block(self) -> Block:
        vectors = vectors_for(self.site, self.program, self.varying, self.body[-1]) if self.body else None
        block = Block(self.kernel, self.site, self.program.dtypes, vectors)
        for k, text in self.program.literals.items():
            block.share(k, text)
        for k in self._inputs():
            read = self.stage.reads[k]
            if self._read(k) is None:
                scalar = uniform(self.site.inputs[read]) if read >= 0 else None
                block.share(k, self.kernel.value(scalar) if scalar is not None else f"r{~read}")
        return block

    # --- what surrounds it -------------------------------------------------------------------------------------------

    def begin_totals(self) -> None:
        """Begin the reductions over all axes."""
        for j, accumulator in self.accumulators.items():
            if self.nest.is_total(self.nest.results[j][1]):
                accumulator.begin()

    def end_totals(self) -> None:
        """End the reductions over all axes."""
        for j, accumulator in self.accumulators.items():
            if self.nest.is_total(self.nest.results[j][1]) and j in self.nest.stored:
                self.kernel.line(f"{self.nest.placed['result', j].name}[0] = {accumulator.total()};")

    def declare_scalars(self) -> None:
        """Declare the results that later stages find in locals."""
        for j, r in self._numbered():
            if self.nest.is_scalar(j) and not self.nest.is_total(r):
                self.kernel.line(f"{C_TYPES[self.program.dtypes[self._value(r)]]} r{j};")

    # --- the stage ---------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The lines of the stage inside of the outer loops."""
        kernel, block = self.kernel, self.block
        rows = [a for j, a in self.accumulators.items() if not self.nest.is_total(self.nest.results[j][1])]
        for accumulator in rows:
            accumulator.begin()
        inner = kernel.loops(self.body[:-1], "j")
        for k in self._inputs():
            where = self._read(k)
            if where is not None and not self._varies(k):
                kernel.line(f"const {C_TYPES[self.program.dtypes[k]]} t{k} = {self._element(where, inner)};")
                block.share(k, f"t{k}")
        loads = [self._place(k, where, inner) for k in self._inputs() if (where := self._read(k)) and self._varies(k)]
        kept = [(j, self._value(r)) for j, r in self._numbered() if r.op is None and ("result", j) in self.nest.placed]
        stores = [self._place(n, ("result", j), inner) for j, n in kept]
        self._steps(block, self.early)
        block.invert(self.late)
        if self.body:
            self._rounds(loads, stores)
        else:
            self._round(block, loads, stores, "")
        kernel.close(len(inner))
        self._finish_rows()

    def _finish_rows(self) -> None:
        """Give the locals of this outer index their values, and store them."""
        for j, r in self._numbered():
            if not self.nest.is_scalar(j) or self.nest.is_total(r):
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
        self.kernel.line(f"{const}{C_TYPES[a.dtype]} *const {row} = {start};")
        return Place(number, row, stride)

    # --- rounds ------------------------------------------------------------------------------------------------------

    def _rounds(self, loads: Sequence[Place], stores: Sequence[Place]) -> None:
        """The rounds along the innermost axis, in chunks where sums want them."""
        kernel, n = self.kernel, self.kernel.length(self.body[-1])
        count = self.block.vectors.count if self.block.vectors is not None else 1
        sums = [a for a in self.accumulators.values() if a.is_sum]
        start, stop = "0", n
        if sums:
            size = CHUNK * count * (COPIES if self._is_light(stores) else 1)
            kernel.open(f"for (i64 c = 0; c < {n}; c += {size})")
            kernel.line(f"const i64 e = {n} - c > {size} ? c + {size} : {n};")
            start, stop = "c", "e"
        for accumulator in sums:
            accumulator.begin_chunk()
        if self._is_light(stores):
            start = self._unrolled(loads, start, stop, count)
        self.block.open_between(start, stop)
        self._round(self.block, loads, stores, "")
        kernel.close()
        for accumulator in sums:
            accumulator.end_chunk()
        if sums:
            kernel.close()

    def _is_light(self, stores: Sequence[Place]) -> bool:
        """Whether rounds would wait for their accumulator."""
        if self.block.vectors is None or not self.accumulators or stores or self.bases:
            return False
        length = self.body[-1]
        return len(self.late) <= LIGHT and not (type(length) is int and length < 2 * COPIES * self.block.vectors.count)

    def _unrolled(self, loads: Sequence[Place], start: str, stop: str, count: int) -> str:
        """Several rounds at once, each with accumulators of its own; the name of the index that is left."""
        kernel = self.kernel
        for accumulator in self.accumulators.values():
            for copy in range(1, COPIES):
                accumulator.declare(f"_{copy}")
        kernel.line(f"i64 h = {start};")
        kernel.open(f"for (; h + {COPIES * count} <= {stop}; h += {COPIES * count})")
        for copy in range(COPIES):
            kernel.open("")
            kernel.line(f"const i64 i = h + {copy * count};")
            self._round(self.block.full(), loads, (), f"_{copy}" if copy else "")
            kernel.close()
        kernel.close()
        for accumulator in self.accumulators.values():
            accumulator.join([f"_{copy}" for copy in range(1, COPIES)])
        return "h"

    def _round(self, block: Block, loads: Sequence[Place], stores: Sequence[Place], copy: str) -> None:
        block.load(loads)
        self._steps(block, self.late)
        if stores:
            block.store(stores)
        fed = [accumulator.feed(block, copy) for accumulator in self.accumulators.values()]
        if fed:
            block.either(*zip(*fed, strict=True))
        for j, base in self.bases.items():
            result = self.nest.results[j][1]
            at = [self.program.outputs[k] for k in result.at]
            add_at(block, base, result.fn, self._value(result), at, set(self.limits))

    def _steps(self, block: Block, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if type(node.op) is Gather:
                table, *at = node.inputs
                block.name(node.outputs[0], gathered(block, self.tables[table], at, set(self.limits)))
            elif type(node.op) is WrapIndex:
                (out,) = node.outputs
                block.name(out, wrapped(block, node, self.limits.get(out)))
            else:
                block.run([node])
