"""The function of a graph in C: `static i64 NAME(data, inputs, outputs, status)`."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.backend import TensorType, is_complex, taken
from tg_c.blas import CBlas, CLapack
from tg_c.division import Division, driver, functions
from tg_c.frames import frame, valued
from tg_c.interrupts import INTERRUPTED, LEFT
from tg_c.kernel import Kernel
from tg_c.lanes import by_text
from tg_c.lengths import FORMS
from tg_c.machine import blas, has_transforms
from tg_c.memory import CMemory
from tg_c.own_transforms import OwnTransforms
from tg_c.pieces import Local, in_pieces
from tg_c.prelude import Element
from tg_c.printed import Printed
from tg_c.site import Site
from tg_c.steps import FAILED, SharedSteps
from tg_c.text import INDENT, initializer, literal
from tg_c.transforms import CTransforms
from tg_native.calls.blas import NO_BLAS
from tg_native.graphs import function as graphs
from tg_native.graphs.failure import Failure
from tg_native.kernels.dtypes import PARTS, WORDS
from tg_native.loops.blas import LETTERS
from tg_native.loops.costs import SHARE, UNIT
from tg_native.loops.joins import MOST_SHARED
from tg_native.loops.kernel import MOST
from tg_native.plan.values import Array, Scalar, Slot
from tg_native.show.shown import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.backend import Constant, FrozenGraph, Length, Node, Op
    from tg_c.frames import Frame
    from tg_c.program import Unit
    from tg_native.graphs.steps import Steps
    from tg_native.loops import kernel as loops
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.loops.repeats import Forms
    from tg_native.loops.transforms import Transforms
    from tg_native.plan.memory import Buffer
    from tg_native.plan.values import Value

LARGE_CONSTANT: Final = 4096  # bytes; what is larger is an argument of the code
# Statements of a function that does little itself from which on it is compiled as it stands. What compilers do about
# all of it at once takes time that grows with its square and more: of the gradient of 200 layers, 17,000 calls and
# pointers, 40 s of gcc's; as they stand 1 s. Fewer than half of the statements are of scalars, each for a nanosecond.
LONG: Final = 1000
AS_IT_STANDS: Final = """\
#ifdef __clang__
#define TG_AS_IT_STANDS __attribute__((noinline, optnone))
#else
#define TG_AS_IT_STANDS __attribute__((noinline, optimize("O0")))
#endif
"""


@final
class GraphFunction(graphs.GraphFunction):
    """Writes the C function of a graph.

    An array is passed as a pointer to contiguous elements and the lengths that are not known.
    """

    leaves = "goto done"
    overwrites = True
    unit: Unit

    def __init__(self, unit: Unit, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> None:
        super().__init__(unit, graph, name, is_main=is_main, plans=plans)
        self.lines = []
        self.before: list[str] = []  # functions that this one calls alone
        self.parameters.append("const void *const *data")
        self.scalars: dict[int, Local] = {}  # by the lines that declare them
        self.slots: dict[str, Slot] = {}  # by the texts of their pointers
        self.memory = CMemory(self.lines, self.length, lambda condition: self.require(condition, Failure.MEMORY))
        self.memory.has_arena = unit.has_arena
        self.calls: list[tuple[str, Sequence[str]]] = []  # of functions of inner graphs: names, and arguments
        self.frame: Frame | None = None
        self._counter = itertools.count(1)
        self._ways_out: list[str] = []  # of the loops over steps that are open

    def assembled(self) -> str:
        parameters = ", ".join((*self.parameters, "i64 *status"))
        shared, pieces, written = in_pieces(self.name, self.lines, self.scalars, self._scalars_given())
        body = [line for line in written if line is not None]
        heap = len(self.memory.heap)
        leaves = any(self.leaves in line for line in body)
        ticks = self.unit.ticks if self.is_main and not self.plans else None
        drop = [f"for (i64 k = 0; k < {heap}; k++) tg_drop(heap[k]);"] if heap else []
        if self.unit.has_arena:
            self.frame = frame(self, [(self.unit.written[name], arguments) for name, arguments in self.calls])
            drop = [*self.frame.end] if self.frame is not None else []
            self.before += [self.frame.text] if self.frame is not None else []
        begin = [
            *(["i64 code = 0;"] if leaves else []),
            *(self.frame.begin if self.frame is not None else ()),
            *([ticks.begin] if ticks is not None else []),
            *self.memory.frames,
            *([f"void *heap[{heap}] = {{0}};"] if heap else []),
        ]
        end = [
            *drop,
            *([ticks.end] if ticks is not None else []),
            "return code;" if leaves else "return 0;",
        ]
        head = f"static {self._how(body)}i64 {self.name}({parameters}) {{"
        inside = [INDENT + line for line in (*begin, *body)] + (["done:"] if leaves else []) + [INDENT + s for s in end]
        places = [*itertools.accumulate((_height(line) for line in written), initial=sum(map(_height, begin)))]
        moved = {at for piece in pieces for at in piece.places.values()}
        self.unit.note_marks(self, head, {places[at]: node for at, node in self.marks.items() if at not in moved})
        for piece in pieces:
            marks = {k: self.marks[at] for k, at in piece.places.items() if at in self.marks}
            self.unit.note_marks(self, piece.head, marks)
        return "\n".join(
            [*self.before, *([shared] if pieces else []), *(piece.text for piece in pieces), head, *inside, "}"]
        )

    def _how(self, body: Sequence[str]) -> str:
        """Attribute to compile the function by, for these statements: as it stands if it is long and has no loops."""
        own = sum(self.lines[at] is not None for at in self.scalars)
        if len(body) < LONG or 2 * own > len(body) or any("for (" in line for line in body):
            return ""
        self.unit.prelude.need("as it stands", AS_IT_STANDS)
        return "TG_AS_IT_STANDS "

    def _scalars_given(self) -> dict[str, str]:
        """The dtypes of inputs without axes, and of lengths, by their names."""
        lengths = (*self.known_lengths.values(), *self.known_atoms.values())
        inputs = (self.values[k] for k in range(self.graph.arity))
        return {name: "int64" for name in lengths if name.isidentifier()} | {
            v.text: v.dtype for v in inputs if isinstance(v, Scalar)
        }

    # --- parameters --------------------------------------------------------------------------------------------------

    def declare_input(self, k: int, axes: Sequence[int]) -> tuple[str, Sequence[str]]:
        t, name, lengths = self.graph.types[k], self.name_of(k), [f"d{k}a{axis}" for axis in axes]
        self.parameters.append(f"const {WORDS[t.dtype]} {'*' if t.ndim else ''}{name}")
        self.parameters += [f"i64 {n}" for n in lengths]
        return name, lengths

    def declare_outputs(self) -> None:
        outputs = self.outputs
        if self.plans:
            self.parameters.append("i64 *out_dims")
            outputs.pointers.append("out_dims")
            return
        for k, number in enumerate(self.graph.outputs):
            outputs.pointers.append(f"out{k}")
            if not outputs.is_given(k):
                outputs.told[k] = f"dims{k}"
                self.parameters += [f"void **out{k}", f"i64 *dims{k}"]
                continue
            t = self.graph.types[number]
            if not outputs.follows(k):
                outputs.planned[k] = [f"o{k}a{a}" for a in range(t.ndim)]
            self.parameters += [f"{WORDS[t.dtype]} *out{k}", *(f"i64 {n}" for n in outputs.planned.get(k, ()))]

    def name_of(self, number: int) -> str:
        """The C name of a value."""
        return identifier(self.graph.names.get(number, ""), number)

    # --- statements --------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append(text)

    def fresh(self, letter: str) -> str:
        """A name that nothing else has: names of values end in an underscore and a number."""
        return f"{letter}{next(self._counter)}"

    def local(self, dtype: str, text: str, number: int | None = None) -> str:
        name = self.fresh("t") if number is None else self.name_of(number)
        self.scalars[len(self.lines)] = Local(dtype, name)
        self.line(f"const {WORDS[dtype]} {name} = {text};")
        return name

    def pointer(self, dtype: str, expression: str, const: str = "const ") -> str:
        """A local pointer to elements; its name."""
        name = self.fresh("p")
        self.line(f"{const}{WORDS[dtype]} *const {name} = {expression};")
        return name

    @contextlib.contextmanager
    def over_tiles(self, length: str, rows: int) -> Iterator[tuple[str, str]]:
        first, count = self.fresh("first"), self.fresh("count")
        self.line(f"for (i64 {first} = 0; {first} < {length}; {first} += {rows}) {{")
        self.line(f"const i64 {count} = {self.expression('min', f'{length} - {first}', str(rows))};")
        yield first, count
        self.line("}")

    @contextlib.contextmanager
    def steps(self, length: str) -> Iterator[str]:
        step = self.fresh("step")
        self.line(f"for (i64 {step} = 0; {step} < {length}; {step}++) {{")
        self._ways_out.append("break")
        yield step
        self._ways_out.pop()
        self.line("}")

    def clock(self) -> str:
        return self.place("int64", "0").pointer

    @contextlib.contextmanager
    def steps_in_parts(self, length: str, size: int, second: str) -> Iterator[str]:
        first, end, step, out = (self.fresh(name) for name in ("first", "end", "step", "out"))
        self.unit.prelude.need("interrupted", INTERRUPTED)
        self.line(f"for (i64 {first} = 0; {first} < {length}; {first} += {size}) {{")
        self.line(f"const i64 {end} = {self.expression('min', f'{length} - {first}', str(size))} + {first};")
        self.line(f"for (i64 {step} = {first}; {step} < {end}; {step}++) {{")
        self._ways_out.append(f"goto {out}")
        yield step
        self._ways_out.pop()
        condition = f"{end} < {length} && tg_interrupted({second})"
        self.line(f"}} if ({condition}) {{ code = {int(Failure.INTERRUPTED)}; goto done; }} }} {out}:;")

    def leave_loop_unless(self, condition: str) -> None:
        self.line(f"if (!({condition})) {self._ways_out[-1]};")

    def leave_if_interrupted(self, step: str, second: str) -> None:
        self.unit.prelude.need("interrupted", INTERRUPTED)
        condition = f"({step} & 63) == 63 && tg_interrupted({second})"
        self.line(f"if ({condition}) {{ code = {int(Failure.INTERRUPTED)}; goto done; }}")

    @contextlib.contextmanager
    def where(self, condition: str) -> Iterator[None]:
        self.line(f"if ({condition}) {{")
        yield
        self.line("}")

    def holds(self, place: Array) -> str:
        return f"{place.pointer}[0]"

    def alternating(self, number: str, even: Array, odd: Array) -> Array:
        there = f"({number}) & 1 ? {odd.pointer} : {even.pointer}"
        return even._replace(pointer=self.pointer(even.dtype, there, const=""))

    def leave_unless(self, condition: str, code: str) -> None:
        self.line(f"if (!({condition})) {{ code = {code}; goto done; }}")

    def report_unless(self, condition: str, code: int, values: Sequence[Scalar]) -> None:
        sets = [f"status[{i}] = {value.text};" for i, value in enumerate(values)]
        self.line(f"if (!{condition}) {{ {' '.join((*sets, f'code = {code};'))} goto done; }}")

    # --- lengths -----------------------------------------------------------------------------------------------------

    def expression(self, word: str, *operands: str) -> str:
        return FORMS[word].format(*operands)

    def number(self, scalar: Scalar) -> str:
        return scalar.text if scalar.dtype == "int64" else f"(i64){scalar.text}"

    def named_length(self, text: str, count: int) -> str:
        if text.isidentifier():
            return text
        self.line(f"const i64 n{count} = {text};")
        return f"n{count}"

    def leave_if_uncounted(self, item: int, lengths: Sequence[str], *, empty_only: bool) -> None:
        code = f"(code = tg_uncounted({item}, {len(lengths)}, (const i64[]){{{', '.join(lengths)}}}))"
        unknown = [n for n in lengths if not n.isdigit()]
        is_empty = f"!({' && '.join(unknown or lengths)}) && " if empty_only and "0" not in lengths else ""
        self.line(f"if ({is_empty}{code}) goto done;")

    # --- values ------------------------------------------------------------------------------------------------------

    def literal(self, value: Any, dtype: str) -> str:
        return literal(value, dtype)

    def table(self, number: int, constant: Constant) -> str:
        array, dtype = constant.data, constant.type.dtype
        if array.nbytes <= LARGE_CONSTANT:
            return self.unit.table(dtype, initializer(array, dtype) or "0")
        name = self.name_of(number)
        self.line(f"const {WORDS[dtype]} *const {name} = data[{self.unit.argument(constant)}];")
        return name

    def element(self, op: Op, element: Element) -> str:
        """The C expression of an op on single elements."""
        return str(taken(self.unit.rule(op)(op, element), op, [*map(TensorType, element.dtypes)]))

    def evaluated(
        self, program: ScalarProgram, operands: Sequence[Scalar], results: Mapping[int, int]
    ) -> Sequence[str]:
        texts = {k: literal(value, program.dtypes[k]) for k, value in program.constants.items()}
        texts.update((k, s.text) for k, s in enumerate(operands))
        for node in program.nodes:
            (number,) = node.outputs
            arguments, dtypes = (tuple(v[k] for k in node.inputs) for v in (texts, program.dtypes))
            expression = self.element(node.op, Element(arguments, dtypes, program.dtypes[number], self.unit.prelude))
            texts[number] = self.local(program.dtypes[number], expression, results.get(number))
        return [texts[number] for number in program.outputs]

    def first(self, array: Array) -> str:
        return f"{array.pointer}[0]"

    def moved(self, array: Array, offset: str) -> Array:
        if offset == "0":
            return array
        there = f"(void *)({array.pointer} + {offset})"  # of an input too, which may be const
        return array._replace(pointer=self.pointer(array.dtype, there, const=""))

    def slot(self, array: Array, offset: int) -> Array:
        text = f"({array.pointer} + {offset})"
        self.slots[text] = Slot(array.dtype, array.pointer, offset)
        return array._replace(pointer=text)

    # A complex number is stored as its two parts. Of one that is stored as a whole and handed on, -fipa-cp of gcc 12
    # takes a part that is a constant for what is read at the first place (`tests/unit/tg_c/test_complex_cells.py`).

    def place(self, dtype: str, text: str) -> Array:
        name = self.fresh("cell")
        if is_complex(dtype):
            self.line(f"{WORDS[PARTS[dtype]]} {name}[2] = {{__real__ ({text}), __imag__ ({text})}};")
            return Array(dtype, self.pointer(dtype, f"(void *){name}", const=""), (), ())
        self.line(f"{WORDS[dtype]} {name}[1] = {{{text}}};")
        return Array(dtype, name, (), ())

    def store(self, dtype: str, text: str, pointer: str) -> None:
        if not is_complex(dtype):
            self.line(f"*{pointer} = {text};")
            return
        for k, part in enumerate(("__real__", "__imag__")):
            self.line(f"(({WORDS[PARTS[dtype]]} *){pointer})[{k}] = {part} ({text});")

    def put(self, pointer: str, at: int, number: str) -> None:
        self.line(f"{pointer}[{at}] = {number};")

    def got(self, pointer: str, at: int) -> str:
        return self.local("int64", f"{pointer}[{at}]")

    def start(self, buffer: Buffer, dtype: str) -> str:
        name = self.fresh("m")
        self.line(f"{WORDS[dtype]} *const {name} = (void *){buffer.name};")
        return name

    # --- calls -------------------------------------------------------------------------------------------------------

    def site(self, node: Node) -> Site:
        return Site(self, node)

    def rule(self, op: Op) -> Any:
        rule = self.unit.rule(op)
        return rule.kernel if isinstance(rule, Printed) else by_text(rule)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        return Kernel(self, dtypes, vectors, length)

    def run(self, kernel: loops.Kernel) -> None:
        self.call(kernel)

    def share(
        self, kernel: loops.Kernel, space: Sequence[int | Length], each: float, small: Sequence[int | Length], unit: int
    ) -> None:
        assert isinstance(kernel, Kernel)
        most, texts = SHARE * self.unit.threads, [self.length(n) for n in space]
        self.unit.prelude.need("division", functions(most))
        unit = unit or (UNIT if len(space) == 1 else 1)  # of a loop whose first axis is that of the innermost one
        parts = f"tg_parts({texts[0]}, {unit}, {' * '.join((f'{each:.3g}', *texts[1:]))})"
        parts = self.local("int64", parts)
        if small:
            fits = " && ".join(f"{self.length(n)} <= {MOST_SHARED}" for n in small)
            parts = self.local("int64", f"{fits} ? {parts} : 1")
        kernel.divided(Division(texts[0], unit, parts), most, self.unit.threads)

    def share_steps(self, steps: Steps, status: str | None, each: float) -> None:
        most, name = SHARE * self.unit.threads, f"{self.name}_{self.fresh('steps')}"
        self.unit.prelude.need("division", functions(most))
        self.unit.prelude.need("interrupted", INTERRUPTED)
        self.unit.prelude.need("left", LEFT)
        written = SharedSteps(steps, self.unit.function(steps.body), name)
        self.before += [written.text(), driver(name, written.parameters, self.unit.threads)]
        parts = self.local("int64", f"tg_parts({steps.length}, 1, {each:.3g})")
        pointer = self.allocate("int64", (written.words(most),)).pointer
        self.line(f"for (i64 k = 0; k < {written.words(most)}; k++) {pointer}[k] = 0;")
        self.line(f"divided_{name}({', '.join((steps.length, '1', parts, *written.arguments, pointer))});")
        self.line(f"if ({pointer}[0]) {{ code = {int(Failure.INTERRUPTED)}; goto done; }}")
        first = self.fresh("first")
        self.line(f"const i64 {first} = tg_failed({pointer} + 1, {parts}, {status or 0});")
        self.unit.prelude.need("failed", FAILED)
        self.line(f"if ({first} < 0) {{ code = {first}; goto done; }}")

    def call(self, kernel: loops.Kernel, guard: str = "") -> None:
        """Call a finished loop, under a condition if there is one."""
        assert isinstance(kernel, Kernel)
        named = kernel.named()
        kernel.finish()
        name, arguments, division = self.unit.kernel(kernel), kernel.arguments, kernel.division
        self.noted(name, named)
        if division is not None:
            name, arguments = f"divided_{name}", [division.length, str(division.unit), division.parts, *arguments]
        self.line(f"{guard}{name}({', '.join(arguments)});")

    def copier(self, source: Value, target: Array) -> _Copy:
        return _Copy(self, source, target)

    def blas(self, dtype: str) -> CBlas | None:
        if dtype not in LETTERS:
            return None
        self.unit.blas(dtype)
        return CBlas(self.unit, dtype)

    def lapack(self, dtype: str) -> CLapack | None:
        if dtype not in LETTERS or blas() is NO_BLAS:
            return None
        return CLapack(self.unit, dtype)

    def transforms(self, dtype: str) -> Transforms:
        return CTransforms(self.unit, dtype) if has_transforms() else OwnTransforms(self.unit, dtype)

    def called(self, graph: FrozenGraph, arguments: Sequence[tuple[str, str]], status: str | None) -> str:
        name, code = self.unit.function(graph), self.fresh("code")
        argument_list = ", ".join(("data", *(text for _, text in arguments), status or "0"))
        self.calls.append((name, [text for _, text in arguments]))
        self.line(f"const i64 {code} = {name}({argument_list});")
        return code

    def handed_over(self, dtype: str, size: str, place: str) -> str:
        if self.unit.has_arena:
            raise valued(self)
        self.require(f"*{place} = tg_take({size})", Failure.MEMORY)
        return self.pointer(dtype, f"*{place}", const="")


@final
class _Copy(NamedTuple):
    """Writer of a copy, which is run only if the two are not the same memory."""

    function: GraphFunction
    source: Value
    target: Array

    def kernel(self, *arguments: Any) -> Kernel:
        """One over single elements, of which compilers of C make vectors at any distance, and of rows of any length."""
        return self.function.kernel()

    def run(self, kernel: loops.Kernel) -> None:
        is_pair = isinstance(self.source, Array) and self.function.overwriting.guards(self.source, self.target)
        pointers = (v.pointer for v in (self.source, self.target) if isinstance(v, Array))
        self.function.call(kernel, f"if ({' != '.join(pointers)}) " if is_pair else "")

    def divide(self, kernel: loops.Kernel, *arguments: Any) -> None:
        """One thread copies."""

    @property
    def forms(self) -> Forms:
        return self.function.unit.forms

    def rule(self, op: Op) -> Any:
        return self.function.rule(op)


def _height(line: str | None) -> int:
    """Number of lines of the text that one is: none that was taken back, several that were joined."""
    return 0 if line is None else line.count("\n") + 1
