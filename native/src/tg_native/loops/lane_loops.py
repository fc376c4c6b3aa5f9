"""Loops over steps inside of loops over lanes: a vector, or some abreast, runs all steps before the next one begins.

What is carried from step to step are values of the function, which compilers keep in registers. What one stage traces
for the next alone has memory for the elements of one round, which the cache holds.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.graph.frozen import ValueSlot
from tg.ops.elementwise.record import Elementwise
from tg.types.atoms import ScalarValue
from tg.types.dtypes import is_complex
from tg.types.lengths import LONGEST, of_atom
from tg_native.kernels.dtypes import working
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import Pair, constant_of, parts
from tg_native.loops.costs import has_many_steps
from tg_native.loops.looks import EVERY, Counter, Looks
from tg_native.loops.pointwise import program_of, run, uniform
from tg_native.plan.values import Array, collapsed, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_native.fusion.lane_loops import LaneLoop, LaneStage
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.plan.values import Value

    Values = dict[int, Elements]

NOTHING: Final[Mapping[int, Elements]] = MappingProxyType({})
FEW: Final = 16
"""Steps up to which four vectors go abreast, of which one alone would wait for what it has computed.

1,000 chains of an epidemic with an autoregression, 16 steps: 260, 133, 106 µs of a processor with one, two, four; those
of an autoregression, 4: 102, 56, 32; its gradient 138 and 100 with two and four. The gradient of the epidemic, 24: 413
and 450, on Numba 425 and 550. Memory for what is traced is no matter: of 1,600 steps, a mebibyte, each takes as long as
of 200.
"""
MANY: Final = 64
"""Steps from which one goes alone: more values are at work than there are registers."""
SOME: Final = 10
"""Steps that a loop makes that asks whether it goes on, about, for the division of its elements."""
LONG: Final = 8
"""As how many a function counts that takes long."""


class _Place(NamedTuple):
    """Start of the elements of an array in one round, and their distances from lane to lane and step to step."""

    place: Pointer
    stride: int | Length
    row: int | Length


def lane_loop(op: LaneLoop, site: Site) -> list[Value]:
    """The loop as a function of its own."""
    return _Nest(op, site).write()


@final
class _Nest:
    """The function in the making: loops over the outer axes of the space, rounds of lanes, in them loops over steps."""

    def __init__(self, op: LaneLoop, site: Site) -> None:
        self.op, self.site = op, site
        self.programs = [program_of(stage.program) for stage in op.stages]
        self.lengths = [self._length(stage) for stage in op.stages]
        self.results = [(s, k) for s, stage in enumerate(op.stages) for k in range(len(stage.stored))]
        self.stored = self._allocated()
        self.read = {k: site.inputs[k] for _, _, k in op.read_operands}
        self._place()

    def _length(self, stage: LaneStage) -> int | Length:
        """The number of steps of a stage, or as many as there may be."""
        if stage.count < 0:
            return stage.length if stage.length is not None else LONGEST
        return of_atom(ScalarValue(ValueSlot(self.site.node.inputs[stage.count])))

    def _allocated(self) -> dict[int, Array]:
        """Memory for the results of the loop, by their numbers among those of all stages."""
        stored = iter(range(len(self.site.types)))
        stages = self.op.stages
        return {j: self.site.allocate(next(stored)) for j, (s, k) in enumerate(self.results) if stages[s].stored[k]}

    def _has_steps(self, j: int) -> bool:
        """Whether a result is a trace."""
        s, k = self.results[j]
        return k >= self.op.stages[s].carries

    # --- the space ---------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Collapse the axes of the space, choose the lanes, and make all arrays arguments."""
        op, site = self.op, self.site
        types = [site.function.shapes.types[k] for k in site.node.inputs]
        sizes = [self._size(k) for k in range(op.sizes)]
        space = op.space([*sizes, *types[op.sizes :]])
        with_steps = {read for stage, k, read in op.read_operands if stage.is_sequence(k)}
        wide: dict[tuple[str, int], Array] = {}
        for k, v in self.read.items():
            lead = int(k in with_steps)
            if isinstance(v, Array) and v.ndim > lead and uniform(v) is None:
                wide["operand", k] = spread(v, (*v.shape[:lead], *space))
        for j, y in self.stored.items():
            wide["result", j] = y
        strides = [a.strides[a.ndim - len(space) :] for a in wide.values()]
        layout = collapsed(space, strides)
        self.shape = layout.shape or (1,)
        inner = self.shape[-1]
        dtypes = {working(dtype) for program in self.programs for dtype in program.dtypes}
        self.kernel = site.kernel(dtypes, self._vectors(), inner)
        self._divide(wide)
        self.placed: dict[tuple[str, int], tuple[Pointer, Sequence[int | Length], int | Length]] = {}
        for (what, k), a, s in zip(wide, wide.values(), layout.strides, strict=True):
            pointer = self.kernel.read(a) if what == "operand" else self.kernel.write(a)
            row = a.strides[0] if a.ndim > len(space) else 0
            self.placed[what, k] = pointer, s or (0,), row
        self.single: dict[int, tuple[Pointer, int | Length]] = {}  # sequences of one number for all elements
        for k, v in self.read.items():
            if isinstance(v, Array) and ("operand", k) not in self.placed and uniform(v) is None:
                self.single[k] = self.kernel.read(v), v.strides[0]
        self.scratch = self._scratch()
        self.looks = Looks(site, self.kernel)

    def _size(self, k: int) -> int | Length:
        return next(length for stage, length in zip(self.op.stages, self.lengths, strict=True) if stage.count == k)

    def _vectors(self) -> int:
        """Number of vectors that go abreast."""
        most = max(map(_weight, self.programs))
        return 4 if most <= FEW else 2 if most < MANY else 1

    def _divide(self, wide: dict[tuple[str, int], Array]) -> None:
        """Let threads share the rounds."""
        programs = [(program.nodes, program.dtypes) for program in self.programs]
        moved = [a.dtype for (what, k), a in wide.items() if what == "operand" or self._has_steps(k)]
        unit = max(self.kernel.body.lanes, 1) if len(self.shape) == 1 else 1
        steps = SOME if self.op.stages[0].asks else self.lengths[0]
        self.site.divide(self.kernel, (*self.shape, steps), programs, moved, unit=unit)

    def _scratch(self) -> dict[int, tuple[Pointer, int]]:
        """Memory for the traces of one round that no one but later stages read."""
        op, site, kernel = self.op, self.site, self.kernel
        wanted = {~read for stage in op.stages for read in stage.reads if read < 0}
        lanes = max(kernel.body.lanes, 1)
        places: dict[int, tuple[Pointer, int]] = {}
        for j in sorted(wanted - self.stored.keys()):
            if not self._has_steps(j):
                continue
            s, k = self.results[j]
            dtype = self.programs[s].dtypes[self.programs[s].outputs[k]]
            memory = site.temporary(dtype, (site.threads, self.lengths[s], lanes))
            place = kernel.write(memory)
            if kernel.share is not None:
                place = place.moved(kernel.share.slot * (kernel.length(self.lengths[s]) * lanes))
            places[j] = place, lanes
        return places

    # --- the function ------------------------------------------------------------------------------------------------

    def write(self) -> list[Value]:
        """Write the function and call it."""
        kernel = self.kernel
        for length in (*self.shape, *self.lengths):
            kernel.length(length)
        with kernel.loops(self.shape[:-1], first=True) as outer:
            self.starts = {
                what: _Place(kernel.moved(place, outer, strides[:-1]), strides[-1], row)
                for what, (place, strides, row) in self.placed.items()
            }
            kernel.blocks(self.shape[-1], self._round, twice=True, first=len(self.shape) == 1)
        self.site.run(kernel)
        self.looks.leave()
        return list(self.stored.values())

    def _round(self, block: Block) -> None:
        """All stages for the elements of one block, unless an interrupt was there."""
        with self.kernel.body.when(self.looks.goes_on()):
            self._stages(block)
            steps = index(self.kernel.body, 0)
            for stage, length in zip(self.op.stages, self.lengths, strict=True):
                steps = steps + (SOME if stage.asks else self.kernel.length(length))
            self.looks.between_blocks(steps)

    def _stages(self, block: Block) -> None:
        carries: dict[int, Elements] = {}  # the carries after all steps, by their numbers among all results
        first = 0
        for s, stage in enumerate(self.op.stages):
            finals = self._stage(s, stage, block, carries, first)
            carries.update((first + k, value) for k, value in enumerate(finals))
            first += len(stage.stored)

    def _stage(
        self, s: int, stage: LaneStage, block: Block, carries: dict[int, Elements], first: int
    ) -> Sequence[Elements]:
        """The steps of one stage: the carries after these; `first` is the number of its first result."""
        body, program, n = self.kernel.body, self.programs[s], stage.carries
        values: Values = {k: constant_of(body, c, program.dtypes[k]) for k, c in program.constants.items()}
        held = n + stage.sequences
        for k, read in enumerate(stage.reads):
            if not stage.is_sequence(k):
                values[k] = carries[~read] if read < 0 else self._loaded(read, block)
        starts = [values.pop(k) for k in range(n)]
        run(self.site.function, program, values)  # what is the same in all steps
        length = self.kernel.length(self.lengths[s])
        last = length - 1 if stage.reverse else length
        targets = [(k, first + k) for k in range(n, len(stage.stored))]

        def step(at: Index, *lanes: Lanes, known: Mapping[int, Elements] = NOTHING) -> Sequence[Lanes]:
            place = last - at if stage.reverse else at
            state = {**values, **known}
            carried = iter(lanes)
            state.update((k, _together(program.dtypes[k], carried)) for k in range(n))
            with body.vector_by_vector():
                for k in range(n, held):
                    state[k] = self._slice(stage.reads[k], place, block)
                run(self.site.function, program, state)
                for k, j in targets:
                    self._trace(j, state[program.outputs[k]], place, block)
            return parts([state[k] for k in program.outputs[:n]])

        if stage.asks:
            after = iter(self._while(stage, program, values, parts(starts), step, block, first))
        else:
            is_short = type(self.lengths[s]) is int and self.lengths[s] <= EVERY
            after = iter(self.looks.fold(length, parts(starts), step, is_short=is_short))
        finals = [_together(program.dtypes[k], after) for k in range(n)]
        for k, value in enumerate(finals):
            if first + k in self.stored:
                where = self.starts["result", first + k]
                self.kernel.store(value, where.place, where.stride, block)
        return finals

    def _clear(self, stage: LaneStage, block: Block, first: int) -> None:
        """Write 0 where elements of the block may trace nothing."""
        body, n = self.kernel.body, stage.carries
        traced = [first + k for k in range(n, len(stage.stored)) if self._is_kept(first + k)]
        if not traced:
            return
        assert stage.length is not None
        with body.loop(0, stage.length) as at:
            for j in traced:
                s, k = self.results[j]
                self._trace(j, constant_of(body, 0, self.programs[s].dtypes[self.programs[s].outputs[k]]), at, block)

    def _is_kept(self, j: int) -> bool:
        return j in self.stored or j in self.scratch

    def _while(
        self,
        stage: LaneStage,
        program: ScalarProgram,
        values: Values,
        starts: Sequence[Lanes],
        step: Callable[..., Sequence[Lanes]],
        block: Block,
        first: int,
    ) -> Sequence[Lanes]:
        """Steps for as long as some element of the block goes on; the carries after these."""
        body, function = self.kernel.body, self.site.function
        goes_on = program.outputs[-1]
        asking = program._replace(nodes=_needed(program, goes_on))
        self._clear(stage, block, first)
        counter = Counter(body)
        state: Values = {}

        def holds(*lanes: Lanes) -> Condition:
            state.clear()
            state.update(values)
            carried = iter(lanes)
            state.update((k, _together(program.dtypes[k], carried)) for k in range(stage.carries))
            run(function, asking, state)
            flag: Any = state[goes_on]
            mask = block.mask
            some: Condition = body.anywhere(flag if mask is None else flag & mask)
            return some

        def write(*lanes: Lanes) -> Sequence[Lanes]:
            at = counter.get()
            carries = step(at, *lanes, known=state)
            counter.set(at + 1)
            return carries

        return self.looks.while_loop(counter, stage.length, starts, holds, write)

    # --- elements ----------------------------------------------------------------------------------------------------

    def _loaded(self, k: int, block: Block) -> Elements:
        """The elements of an operand that has no axis of steps."""
        where = self.starts.get(("operand", k))
        if where is not None:
            return self.kernel.load(where.place, where.stride, block)
        value = uniform(self.read[k])
        assert value is not None
        return self.kernel.scalar(value)

    def _slice(self, read: int, place: Index, block: Block) -> Elements:
        """The elements of a sequence in one step."""
        body, kernel = self.kernel.body, self.kernel
        if read < 0 and ~read in self.scratch:
            start, lanes = self.scratch[~read]
            return body.load_row(self._row(start, place, lanes), block) if body.lanes else body.load(start.moved(place))
        if read >= 0 and read in self.single:
            start, stride = self.single[read]
            return body.load(self._row(start, place, stride))
        what = ("operand", read) if read >= 0 else ("result", ~read)
        where = self.starts.get(what)
        if where is None:
            value = uniform(self.read[read])
            assert value is not None
            return kernel.scalar(value)
        return kernel.load(self._row(where.place, place, where.row), where.stride, block)

    def _trace(self, j: int, value: Elements, place: Index, block: Block) -> None:
        """Write what a step traces, for a result and for later stages."""
        body = self.kernel.body
        if j in self.scratch:
            start, lanes = self.scratch[j]
            row = self._row(start, place, lanes)
            if body.lanes:
                body.store_row(value, row, block)
            else:
                body.store(value, row)
        elif j in self.stored:
            where = self.starts["result", j]
            self.kernel.store(value, self._row(where.place, place, where.row), where.stride, block)

    def _row(self, start: Pointer, place: Index, distance: int | Length) -> Pointer:
        return start.moved(place * self.kernel.length(distance))


def _needed(program: ScalarProgram, wanted: int) -> tuple[Node, ...]:
    """The steps that a value needs."""
    numbers, steps = {wanted}, []
    for node in reversed(program.nodes):
        if not numbers.isdisjoint(node.outputs):
            numbers.update(node.inputs)
            steps.append(node)
    return tuple(reversed(steps))


def _weight(program: ScalarProgram) -> int:
    """Number of steps that a program counts as."""
    return sum(LONG if isinstance(n.op, Elementwise) and has_many_steps(n.op.fn) else 1 for n in program.nodes)


def _together(dtype: str, values: Iterator[Lanes]) -> Elements:
    """The next of some values: of a complex number its two parts."""
    return Pair(next(values), next(values)) if is_complex(dtype) else next(values)
