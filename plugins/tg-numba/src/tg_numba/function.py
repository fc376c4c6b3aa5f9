"""The function of a graph in LLVM's language."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, final

from tg_native.calls.blas import blas
from tg_native.calls.objects import HEAD
from tg_native.calls.transforms import transforms
from tg_native.graphs import function as graphs
from tg_native.graphs.failure import Failure
from tg_native.kernels.index import Index
from tg_native.kernels.lanes import Lanes, constant_of
from tg_native.loops.blas import LETTERS
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import run
from tg_native.plan.shapes import needs_plan
from tg_native.plan.values import Array, Scalar, Slot
from tg_native.show.shown import identifier
from tg_numba.assembly import memory_cell
from tg_numba.blas import NumbaBlas, NumbaLapack
from tg_numba.body import Body
from tg_numba.interrupts import interrupted
from tg_numba.kernel import Kernel
from tg_numba.lengths import countable, derived
from tg_numba.memory import ArenaMemory, in_slots
from tg_numba.operands import elements, literal, loaded, operand_of, store, type_of
from tg_numba.pieces import in_pieces
from tg_numba.site import Site
from tg_numba.transforms import NumbaTransforms
from tg_numba.written import operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.backend import Constant, FrozenGraph, Length, Node, Op
    from tg_native.loops import kernel as loops
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.plan.memory import Buffer
    from tg_native.plan.values import Value
    from tg_numba.program import Unit

LENGTHS: Final = HEAD + 16  # in an array's object: where its lengths are


@final
class GraphFunction(graphs.GraphFunction):
    """Writes the function of a graph.

    The main function is called with arrays: inputs, outputs, and (if the graph has checks) int64[5] for the values of
    a check that fails. The function of an inner graph is called with pointers, scalars and the lengths that are not
    known.
    """

    leaves = "label %leave"
    overwrites = False
    unit: Unit
    memory: ArenaMemory

    def __init__(self, unit: Unit, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> None:
        super().__init__(unit, graph, name, is_main=is_main, plans=plans)
        self.body = Body(unit.module)
        self.lines = self.body.lines
        self.memory = ArenaMemory(self.body, self.length, lambda condition: self.require(condition, Failure.MEMORY))
        self.slots: dict[str, Slot] = {}  # by what their pointers are called
        self._ends: list[str] = []  # of the loops over steps that are open: the blocks behind them
        self._exits: list[tuple[str, str]] = []  # codes to leave with, and the blocks that leave

    def assembled(self) -> str:
        """The text; a function that takes memory gives it back wherever it leaves."""
        body, ticks = self.body, self.unit.ticks if self.is_main and not self.plans else None
        if ticks is not None:
            ticks.end(body)
        body.do("br label %leave")
        self._exits.append(("0", body.label))
        lines = in_slots([*self.with_places(body.lines, self.marks, "  ; {}".format)])
        pieces, lines = in_pieces(self.name, lines)
        body.lines[:] = [*self.memory.frames, *lines]
        body.open("leave")
        code = body.made(f"phi i64 {', '.join(f'[{code}, %{block}]' for code, block in self._exits)}")
        if ticks is not None:
            body.lines[:0] = ticks.begin(body)
        if self.memory.needs_arena:
            body.lines[:0] = ["  %arena = alloca ptr", "  store ptr null, ptr %arena"]
            body.do("call void @tg.leave(ptr %arena)")
        body.do(f"ret i64 {code}")
        linkage = "" if self.is_main else "internal "
        head = f"define {linkage}i64 @{self.name}({', '.join(self.parameters)}) nounwind {{"
        return "\n".join((*pieces, head, body.text(), "}\n"))

    def show_name(self, number: int) -> None:
        name, value = self.graph.names.get(number), self.values[number]
        operand = value.text if isinstance(value, Scalar) else value.fill or value.pointer
        if name:
            self.body.do(f"; {identifier(name, number)} is {operand}")

    # --- parameters --------------------------------------------------------------------------------------------------

    def declare_input(self, k: int, axes: Sequence[int]) -> tuple[str, Sequence[str]]:
        t = self.graph.types[k]
        if not self.is_main:
            name, lengths = f"%x{k}", [f"%x{k}n{axis}" for axis in axes]
            self.parameters += [f"{'ptr' if t.ndim else type_of(t.dtype)} {name}", *(f"i64 {n}" for n in lengths)]
            return name, lengths
        self.parameters.append(f"ptr %a{k}")
        data = self._data(f"%a{k}")
        lengths = [self._dimension(f"%a{k}", axis) for axis in axes]
        return data if t.ndim else loaded(self.body, t.dtype, data), lengths

    def _field(self, array: str, offset: int, kind: str) -> str:
        """A field of an array's object."""
        return self.body.made(f"load {kind}, ptr {self.body.made(f'getelementptr i8, ptr {array}, i64 {offset}')}")

    def _data(self, array: str) -> str:
        """The pointer to the first element of an array."""
        return self._field(array, HEAD, "ptr")

    def _dimension(self, array: str, axis: int) -> str:
        return self._field(self._field(array, LENGTHS, "ptr"), 8 * axis, "i64")

    def declare_outputs(self) -> None:
        outputs, count = self.outputs, len(self.graph.outputs)
        if self.plans:
            self.parameters.append("ptr %lengths")
            outputs.pointers = [self._data("%lengths")]
        elif self.is_main:
            self.parameters += [f"ptr %y{k}" for k in range(count)]
            outputs.pointers = [self._data(f"%y{k}") for k in range(count)]
            for k, number in enumerate(self.graph.outputs):
                axes = () if outputs.follows(k) else range(self.graph.types[number].ndim)
                outputs.planned[k] = [self._dimension(f"%y{k}", axis) for axis in axes]
        else:
            outputs.pointers = [f"%y{k}" for k in range(count)]
            outputs.told = {k: f"%y{k}n" for k in range(count) if not outputs.is_given(k)}
            for k, pointer in enumerate(outputs.pointers):
                self.parameters += [f"ptr {pointer}", *([f"ptr {outputs.told[k]}"] if k in outputs.told else [])]
            if outputs.told:
                self.parameters.append("ptr %outer")
        if self.graph.checks:
            self.parameters.append("ptr %report" if self.is_main else "ptr %status")
            if self.is_main:
                self.body.do(f"%status = getelementptr i8, ptr {self._data('%report')}, i64 0")

    # --- where the function ends -------------------------------------------------------------------------------------

    def leave_unless(self, condition: str, code: str) -> None:
        label = self.body.fresh()[1:]
        self._exits.append((code, self.body.label))
        self.body.do(f"br i1 {condition}, label %{label}, label %leave")
        self.body.open(label)

    def report_unless(self, condition: str, code: int, values: Sequence[Scalar]) -> None:
        body, label, block = self.body, self.body.fresh()[1:], f"fails{code - 1}"
        numbers = [*map(self.number, values)]
        body.do(f"br i1 {condition}, label %{label}, label %{block}")
        body.open(block)
        for at, number in enumerate(numbers):
            self.put("%status", at, number)
        body.do("br label %leave")
        self._exits.append((str(code), block))
        body.open(label)

    @contextlib.contextmanager
    def over_tiles(self, length: str, rows: int) -> Iterator[tuple[str, str]]:
        n = Index(Lanes(self.body, "int64", length))
        with self.body.loop(0, n, rows) as first:
            yield str(first.value.text), str((n - first).least(rows).value.text)

    @contextlib.contextmanager
    def steps(self, length: str) -> Iterator[str]:
        body, place, (head, inside, end) = self.body, self.body.frame("i64"), (self.body.fresh()[1:] for _ in range(3))
        body.do(f"store i64 0, ptr {place}")
        body.do(f"br label %{head}")
        body.open(head)
        step = body.made(f"load i64, ptr {place}")
        body.do(f"br i1 {body.made(f'icmp slt i64 {step}, {length}')}, label %{inside}, label %{end}")
        body.open(inside)
        self.unit.has_steps = True
        self._ends.append(end)
        yield step
        self._ends.pop()
        body.do(f"store i64 {body.made(f'add i64 {step}, 1')}, ptr {place}")
        body.do(f"br label %{head}")
        body.open(end)

    def clock(self) -> str:
        place = self.body.frame("i64")
        self.body.do(f"store i64 0, ptr {place}")
        return place

    @contextlib.contextmanager
    def steps_in_parts(self, length: str, size: int, second: str) -> Iterator[str]:
        body, place, (outer, inner) = self.body, self.body.frame("i64"), (self.body.fresh()[1:] for _ in range(2))
        part, inside, look, end = (self.body.fresh()[1:] for _ in range(4))
        body.do(f"store i64 0, ptr {place}")
        body.do(f"br label %{outer}")
        body.open(outer)
        first = body.made(f"load i64, ptr {place}")
        body.do(f"br i1 {body.made(f'icmp slt i64 {first}, {length}')}, label %{part}, label %{end}")
        body.open(part)
        left = body.made(f"sub i64 {length}, {first}")
        many = body.made(f"icmp sgt i64 {left}, {size}")
        limit = body.made(f"add i64 {first}, {body.made(f'select i1 {many}, i64 {size}, i64 {left}')}")
        body.do(f"br label %{inner}")
        body.open(inner)
        step = body.made(f"load i64, ptr {place}")
        body.do(f"br i1 {body.made(f'icmp slt i64 {step}, {limit}')}, label %{inside}, label %{look}")
        body.open(inside)
        self.unit.has_steps = True
        self._ends.append(end)
        yield step
        self._ends.pop()
        body.do(f"store i64 {body.made(f'add i64 {step}, 1')}, ptr {place}")
        body.do(f"br label %{inner}")
        body.open(look)
        self._leave_if_interrupted(body.made(f"icmp slt i64 {limit}, {length}"), second)
        body.do(f"br label %{outer}")
        body.open(end)

    def leave_loop_unless(self, condition: str) -> None:
        label = self.body.fresh()[1:]
        self.body.do(f"br i1 {condition}, label %{label}, label %{self._ends[-1]}")
        self.body.open(label)

    def leave_if_interrupted(self, step: str, second: str) -> None:
        number = self.body.made(f"and i64 {step}, 63")
        self._leave_if_interrupted(self.body.made(f"icmp eq i64 {number}, 63"), second)

    def _leave_if_interrupted(self, looks: str, second: str) -> None:
        with self.where(looks):
            flag = interrupted(self.body, second)
            self.leave_unless(self.body.made(f"icmp eq i32 {flag}, 0"), str(int(Failure.INTERRUPTED)))

    @contextlib.contextmanager
    def where(self, condition: str) -> Iterator[None]:
        body, (inside, end) = self.body, (self.body.fresh()[1:] for _ in range(2))
        body.do(f"br i1 {condition}, label %{inside}, label %{end}")
        body.open(inside)
        yield
        body.do(f"br label %{end}")
        body.open(end)

    def holds(self, place: Array) -> str:
        return self.body.made(f"icmp ne i8 {self.body.made(f'load i8, ptr {place.pointer}')}, 0")

    def alternating(self, number: str, even: Array, odd: Array) -> Array:
        is_odd = self.body.made(f"trunc i64 {number} to i1")
        return even._replace(pointer=self.body.made(f"select i1 {is_odd}, ptr {odd.pointer}, ptr {even.pointer}"))

    # --- lengths -----------------------------------------------------------------------------------------------------

    def expression(self, word: str, *operands: str) -> str:
        return derived(self.body, word, *operands)

    def number(self, scalar: Scalar) -> str:
        return str(Lanes(self.body, scalar.dtype, scalar.text).to("int64").text)

    def leave_if_uncounted(self, item: int, lengths: Sequence[str], *, empty_only: bool) -> None:
        counted, short = countable(self.body, item, lengths)
        if not empty_only:
            self.require(counted, Failure.NEGATIVE)
        self.require(short, Failure.EMPTY)

    # --- values ------------------------------------------------------------------------------------------------------

    def literal(self, value: Any, dtype: str) -> str:
        return literal(value, dtype)

    def table(self, number: int, constant: Constant) -> str:
        return operand(f"data{self.unit.argument(constant)}")

    def evaluated(
        self, program: ScalarProgram, operands: Sequence[Scalar], results: Mapping[int, int]
    ) -> Sequence[str]:
        values = {k: constant_of(self.body, value, program.dtypes[k]) for k, value in program.constants.items()}
        values.update((k, elements(self.body, s.dtype, s.text)) for k, s in enumerate(operands))
        run(self, program, values)
        return [operand_of(values[number]) for number in program.outputs]

    def first(self, array: Array) -> str:
        return loaded(self.body, array.dtype, array.pointer)

    def moved(self, array: Array, offset: str) -> Array:
        return array._replace(pointer=self.body.place(memory_cell(array.dtype), array.pointer, offset))

    def slot(self, array: Array, offset: int) -> Array:
        name = f"%slot{len(self.slots)}"
        self.slots[name] = Slot(array.dtype, array.pointer, offset)
        return array._replace(pointer=name)

    def place(self, dtype: str, text: str) -> Array:
        array = self.allocate(dtype, ())
        self.store(dtype, text, array.pointer)
        return array

    def store(self, dtype: str, text: str, pointer: str) -> None:
        store(self.body, dtype, text, pointer)

    def put(self, pointer: str, at: int, number: str) -> None:
        self.body.do(f"store i64 {number}, ptr {self.body.made(f'getelementptr i64, ptr {pointer}, i64 {at}')}")

    def got(self, pointer: str, at: int) -> str:
        return self.body.made(f"load i64, ptr {self.body.made(f'getelementptr i64, ptr {pointer}, i64 {at}')}")

    def start(self, buffer: Buffer, dtype: str) -> str:
        return f"%{buffer.name}"

    # --- calls -------------------------------------------------------------------------------------------------------

    def site(self, node: Node) -> Site:
        return Site(self, node)

    def rule(self, op: Op) -> Any:
        return self.unit.rule(op)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        return Kernel(self, dtypes, vectors=vectors, length=length)

    def run(self, kernel: loops.Kernel) -> None:
        assert isinstance(kernel, Kernel)
        named = {f"%a{k}": operand for k, (_, operand) in enumerate(kernel.arguments)}
        name = self.unit.loop(kernel.finish())
        self.noted(name, named)
        arguments = ", ".join(f"{kind} {self._operand(operand)}" for kind, operand in kernel.arguments)
        self.body.do(f"call void @{name}({arguments})")

    def _operand(self, name: str) -> str:
        """Operand that an argument of a loop is: of a slot the pointer, computed here."""
        slot = self.slots.get(name)
        return name if slot is None else self.body.place(memory_cell(slot.dtype), slot.base, str(slot.offset))

    def copier(self, source: Value, target: Array) -> GraphFunction:
        return self

    def blas(self, dtype: str) -> NumbaBlas | None:
        has_any = dtype in LETTERS and blas().source == "numpy-openblas64"  # whose interface it is
        return NumbaBlas(self.unit, dtype) if has_any else None

    def lapack(self, dtype: str) -> NumbaLapack | None:
        has_any = dtype in LETTERS and blas().source == "numpy-openblas64"  # whose integers have 64 bits
        return NumbaLapack(self.unit, dtype) if has_any else None

    def transforms(self, dtype: str) -> NumbaTransforms | None:
        return NumbaTransforms(self.unit, dtype) if transforms() else None

    def called(self, graph: FrozenGraph, arguments: Sequence[tuple[str, str]], status: str | None) -> str:
        name = self.unit.function(graph)
        operands = [f"{type_of(dtype) if dtype else 'ptr'} {text}" for dtype, text in arguments]
        if needs_plan(graph):
            self.memory.needs_arena = True
            operands.append("ptr %arena")
        if status is not None:
            operands.append(f"ptr {status}")
        attribute = " alwaysinline" if self._ends else ""  # in a step
        return self.body.made(f"call i64 @{name}({', '.join(operands)}){attribute}")

    def handed_over(self, dtype: str, size: str, place: str) -> str:
        start = self.body.fresh()
        self.memory.take_from("%outer", size, start)
        self.body.do(f"store ptr {start}, ptr {place}")
        return start
