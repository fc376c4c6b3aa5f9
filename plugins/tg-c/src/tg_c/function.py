"""One frozen graph as one C function: names, lengths, checks, memory for values, results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.frozen import Origin
from tg.link.blame import rule_error
from tg.link.declines import taken
from tg.link.linker import operand_types
from tg.link.schedule import Test, plan_schedule, schedule
from tg.ops.shape import ExpandDims, Squeeze
from tg.types.lengths import AxisLength, Derived, Length, atoms, evaluate, key, same
from tg_c.memory import CMemory
from tg_c.nest import INDENT, Nest
from tg_c.overwriting import Overwriting
from tg_c.pieces import Local, in_pieces
from tg_c.shapes import length_text, rounded_text
from tg_c.site import Failure, Site
from tg_c.text import elements, identifier, literal
from tg_native.kernels.dtypes import WORDS, item_size
from tg_native.loops.pointwise import one_op
from tg_native.plan.shapes import (
    follows_from_inputs,
    inexact,
    is_countable,
    is_scalar,
    is_within,
    new_shapes,
    number_of,
)
from tg_native.plan.values import Array, Scalar, Value, collapsed, is_one, row_major, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import FrozenCheck, FrozenGraph
    from tg.graph.nodes import Constant
    from tg.link.schedule import Run
    from tg.types.lengths import Atom
    from tg_c.program import Unit

LARGE_CONSTANT: Final = 4096  # bytes; what is larger is an argument of the code


@final
class GraphFunction:
    """Writes the C function of a graph: `static i64 NAME(data, inputs, outputs, status)`.

    An array is passed as a pointer to contiguous elements and the lengths that are not known. The result is 0, or 1 +
    the number of the first check that failed, with its values in `status`, or a `Failure`.
    """

    def __init__(self, unit: Unit, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> None:
        """Prepare the function.

        Args:
            is_main: memory for all outputs is given, else only where their lengths follow from those of the inputs.
            plans: compute only the lengths of the outputs.
        """
        self.unit, self.graph, self.name, self.is_main, self.plans = unit, graph, name, is_main, plans
        self.shapes = unit.shapes(graph)
        self.values: dict[int, Value] = {}
        self.lines: list[str | None] = []
        self.scalars: dict[int, Local] = {}  # by the lines that declare them
        self.marks: dict[int, int] = {}  # line -> node, for the user's lines in the source that is shown
        self.memory = CMemory(self.lines, self.length, Failure.MEMORY.statement)
        self._lengths: dict[object, str] = {}
        self._atoms: dict[Atom, str] = {}
        self._ensured: set[object] = set()
        self._counter = itertools.count(1)
        self._viewed: set[int] = set()  # outputs of which a value is made that has other axes of length 1
        self._targets = self._wanted() if not plans else {}  # value -> the output whose memory is its own
        wanted = unit.request.reusable if is_main and not plans else ()
        self.overwriting = Overwriting(self, wanted, {k: number for number, k in self._targets.items()})

    def text(self) -> str:
        """The whole function."""
        parameters = self._parameters()
        for k in range(self.graph.arity if self.is_main else 0):
            self._not_endless(k)
        for k, constant in enumerate(self.graph.constants):
            self.values[self.graph.arity + k] = self._constant(self.graph.arity + k, constant)
        for step in self._schedule():
            if isinstance(step, Test):
                self._check(step.check, self.graph.checks[step.check])
            else:
                self.overwriting.begin(step.node)
                self._node(step)
        (self._store_lengths if self.plans else self._store_outputs)()
        return self._assembled(parameters)

    def _schedule(self) -> list[Run | Test]:
        graph, makers = self.graph, self.unit.makers(self.graph)
        if self.plans:
            lengths = (d for number in graph.outputs for d in self._shape(number))
            return plan_schedule(graph, makers, {number_of(a) for d in lengths for a in atoms(d)})
        return schedule(graph, makers, self.overwriting.last)

    def _wanted(self) -> dict[int, int]:
        """The values that are made in the memory of outputs: outputs themselves, or such but for axes of length 1."""
        graph, makers = self.graph, self.unit.makers(self.graph)
        given = [k for k in range(len(graph.outputs)) if self._is_given(k)]
        found: dict[int, int] = {}
        for k in given:
            if graph.outputs[k] in makers:
                found.setdefault(graph.outputs[k], k)
        for number, k in list(found.items()):
            inside = self._without_ones(number)
            if inside != number and inside in makers and inside not in found and self._has_lengths(k, inside):
                del found[number]
                found[inside] = k
                self._viewed.add(k)
        return found

    def _without_ones(self, number: int) -> int:
        """The value of which another is made by axes of length 1 alone."""
        makers = self.unit.makers(self.graph)
        while number in makers and type(self.graph.nodes[makers[number]].op) in (ExpandDims, Squeeze):
            number = self.graph.nodes[makers[number]].inputs[0]
        return number

    def _has_lengths(self, k: int, number: int) -> bool:
        """Whether a value has as many lengths as the caller computes for an output, those of 1 apart."""
        return not self.planned(k) and len(_long(self._shape(number))) == len(_long(self._known_lengths(k)))

    def _assembled(self, parameters: list[str]) -> str:
        shared, pieces, written = in_pieces(self.name, self.lines, self.scalars, self._scalars_given())
        body = [line for line in written if line is not None]
        heap = len(self.memory.heap)
        leaves = any("goto done" in line for line in body)
        ticks = self.unit.ticks if self.is_main and not self.plans else None
        begin = [
            *(["i64 code = 0;"] if leaves else []),
            *([ticks.begin] if ticks is not None else []),
            *self.memory.frames,
            *([f"void *heap[{heap}] = {{0}};"] if heap else []),
        ]
        end = [
            *([f"for (i64 k = 0; k < {heap}; k++) tg_drop(heap[k]);"] if heap else []),
            *([ticks.end] if ticks is not None else []),
            "return code;" if leaves else "return 0;",
        ]
        head = f"static i64 {self.name}({', '.join(parameters)}) {{"
        inside = [INDENT + line for line in (*begin, *body)] + (["done:"] if leaves else []) + [INDENT + s for s in end]
        places = [*itertools.accumulate((_height(line) for line in written), initial=sum(map(_height, begin)))]
        moved = {at for piece in pieces for at in piece.places.values()}
        self.unit.note_marks(self, head, {places[at]: node for at, node in self.marks.items() if at not in moved})
        for piece in pieces:
            marks = {k: self.marks[at] for k, at in piece.places.items() if at in self.marks}
            self.unit.note_marks(self, piece.head, marks)
        return "\n".join([*([shared] if pieces else []), *(piece.text for piece in pieces), head, *inside, "}"])

    def _scalars_given(self) -> dict[str, str]:
        """The dtypes of inputs without axes, and of lengths, by their names."""
        found = {name: "int64" for name in (*self._lengths.values(), *self._atoms.values()) if name.isidentifier()}
        inputs = (self.values[k] for k in range(self.graph.arity))
        return found | {v.text: v.dtype for v in inputs if isinstance(v, Scalar)}

    # --- statements --------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append(text)

    def fresh(self, letter: str) -> str:
        """A name that nothing else has: names of values end in an underscore and a number."""
        return f"{letter}{next(self._counter)}"

    def local(self, dtype: str, expression: str, name: str | None = None) -> str:
        """A local that holds the value of an expression; its name."""
        name = name or self.fresh("t")
        self.scalars[len(self.lines)] = Local(dtype, name)
        self.line(f"const {WORDS[dtype]} {name} = {expression};")
        return name

    def pointer(self, dtype: str, expression: str, const: str = "const ") -> str:
        """A local pointer to elements; its name."""
        name = self.fresh("p")
        self.line(f"{const}{WORDS[dtype]} *const {name} = {expression};")
        return name

    def place(self, dtype: str, text: str) -> str:
        """Memory of this frame that holds one value; its name."""
        name = self.fresh("c")
        self.line(f"const {WORDS[dtype]} {name}[1] = {{{text}}};")
        return name

    def nest(self) -> Nest:
        """A new loop whose text is written as such."""
        return Nest(self.length, self.overwriting.pointers)

    def call(self, kernel: Nest, guard: str = "") -> None:
        """Call a finished loop nest, under a condition if there is one."""
        name, given, division = self.unit.kernel(kernel), kernel.arguments, kernel.division
        if not self.plans:
            parameters = (text.split()[-1].lstrip("*") for text in kernel.parameters)
            self.unit.calls.note(name, self.values, self.graph, dict(zip(parameters, given, strict=True)))
        if division is not None:
            name, given = f"divided_{name}", [division.length, str(division.unit), division.parts, *given]
        self.line(f"{guard}{name}({', '.join(given)});")

    def name_of(self, number: int) -> str:
        """The C name of a value."""
        return identifier(self.graph.names.get(number, ""), number)

    def origin(self, node: int) -> Origin:
        """Where a node comes from."""
        return self.graph.origins.get(node, Origin())

    # --- lengths -----------------------------------------------------------------------------------------------------

    def _shape(self, number: int) -> tuple[Any, ...]:
        return self.shapes.types[number].shape

    def length(self, length: int | Length) -> str:
        """A length as C text: a literal, or the name of a local."""
        if type(length) is not Length:
            return length_text(length, self._atom)
        known = self._lengths.get(key(length))
        if known is None:
            known = length_text(length, self._atom)
            if not known.isidentifier():
                expression, known = known, f"n{len(self._lengths)}"
                self.line(f"const i64 {known} = {expression};")
            self._lengths[key(length)] = known
        return known

    def _atom(self, atom: Atom) -> str:
        known = self._atoms.get(atom)
        if known is None and type(atom) is Derived:  # a product, of what has names
            known = self._atoms[atom] = " * ".join((self.length(atom.lhs), self.length(atom.rhs)))
        if known is None:
            value = self.values[number_of(atom)]
            assert isinstance(value, Scalar), "a length that is no parameter is the value of a scalar"
            known = self._atoms[atom] = value.text if value.dtype == "int64" else f"(i64){value.text}"
        return known

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        if not same(a, b):
            self._ensure((key(a), key(b)), lambda: f"{self.length(a)} == {self.length(b)}", Failure.UNEQUAL)

    def natural(self, length: int | Length) -> None:
        """Leave the function unless a length is one: from 0 to the longest that there is."""
        if is_within(length):
            return
        for part in inexact(length):
            self._ensure(("fits", part.key), lambda part=part: self._fits(part), Failure.NEGATIVE)
        self._ensure(key(length), lambda: f"{self.length(length)} >= 0", Failure.NEGATIVE)

    def _fits(self, length: Length) -> str:
        """The condition that int64 holds a length."""
        if is_scalar(length):
            return f"{self.length(length)} <= TG_LONGEST"
        return f"tg_length_fits({self.length(length)}, {rounded_text(length, self._atom)})"

    def countable(self, shape: Sequence[Any], item: int, others: Iterable[Sequence[Any]]) -> None:
        """Leave the function where int64 does not count the bytes of an array, or the elements of a loop."""
        if not is_countable(shape, others):
            lengths = [n for n in shape if not is_one(n)]
            found = ", ".join(map(self.length, lengths))
            fact = ("bytes", item, *map(key, lengths))
            if fact not in self._ensured:
                self._ensured.add(fact)
                self.line(f"if ((code = tg_uncounted({item}, {len(lengths)}, (const i64[]){{{found}}}))) goto done;")

    def _not_endless(self, k: int) -> None:
        """Leave the function where input k has no elements and axes too long to be gone over."""
        t, shape = self.graph.types[k], [n for n in self._shape(k) if not is_one(n)]
        lengths = [self.length(n) for n in shape]
        if len(lengths) > 1 and not all(type(n) is int and n for n in shape):
            call = f"tg_uncounted({t.numpy_dtype.itemsize}, {len(lengths)}, (const i64[]){{{', '.join(lengths)}}})"
            self.line(f"if (!({' && '.join(lengths)}) && (code = {call})) goto done;")

    def _ensure(self, fact: object, condition: Any, failure: Failure) -> None:
        if fact not in self._ensured:
            self._ensured.add(fact)
            self.require(condition(), failure)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.line(f"if (!({condition})) {{ {failure.statement} }}")

    # --- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, shape: Sequence[Any], number: int | None = None) -> Array:
        """Contiguous memory, not initialised: of the output that value `number` is, else of this call."""
        target = self._targets.pop(number, None) if number is not None else None
        if target is not None:
            return self._output(target, dtype, shape)
        buffer = self.memory.take(shape, item_size(dtype))
        name = self.fresh("m")
        self.line(f"{WORDS[dtype]} *const {name} = (void *){buffer.name};")
        return Array(dtype, name, tuple(shape), row_major(shape), buffer)

    def adopt(self, number: int) -> Array:
        """An array whose memory and lengths an inner graph gives, into `&heap…` and `d…`: see `adopted`."""
        t, shape = self.shapes.types[number], self._shape(number)
        buffer = self.memory.adopted(f"adopted {number}")
        self.line(f"i64 d{number}[{t.ndim}] = {{0}};")
        self.give_lengths(number, [f"d{number}[{axis}]" for axis in range(t.ndim)])
        return Array(t.dtype, f"((const {WORDS[t.dtype]} *){buffer.name})", shape, row_major(shape), buffer)

    def adopted(self, number: int, array: Array, code: str) -> None:
        """Make sure of the lengths that the inner graph gave; where it failed, there is memory all the same."""
        assert array.buffer is not None
        name = array.buffer.name
        for axis, n in enumerate(array.shape):
            if not self._is_own(n, number):
                self.require(f"{code} || d{number}[{axis}] == {self.length(n)}", Failure.UNEQUAL)
        size = self.memory.size_text(array.shape, item_size(array.dtype))
        self.line(f"if (!{name} && !({name} = tg_take({size}))) {{ {Failure.MEMORY.statement} }}")

    def give_lengths(self, number: int, texts: Sequence[str]) -> None:
        """Say what the lengths are called that nothing but a value itself determines."""
        for n, text in zip(self._shape(number), texts, strict=True):
            if self._is_own(n, number):
                self._atoms[n.atom] = text

    @staticmethod
    def _is_own(n: int | Length, number: int) -> bool:
        return type(n) is Length and type(n.atom) is AxisLength and number_of(n.atom) == number

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap, or is the same."""
        kernel = self.nest()
        if isinstance(source, Scalar) or source.fill is not None:
            text = source.text if isinstance(source, Scalar) else str(source.fill)
            space = collapsed(target.shape, [target.strides])
            read, place = kernel.value(Scalar(source.dtype, text)), kernel.write(target)
            indices = kernel.loops(space.shape)
        else:
            source = spread(source, target.shape)
            space = collapsed(target.shape, [target.strides, source.strides])
            origin, place = kernel.read(source), kernel.write(target)
            indices = kernel.loops(space.shape)
            read = kernel.at(origin, indices, space.strides[1])
        kernel.line(f"{kernel.at(place, indices, space.strides[0])} = {read};")
        kernel.close(len(indices))
        self.call(kernel, self.overwriting.guard(source, target))

    # --- nodes and checks --------------------------------------------------------------------------------------------

    def _node(self, step: Run) -> None:
        node = self.graph.nodes[step.node]
        self.require_lengths(step.node)
        self.marks[len(self.lines)] = step.node
        start, ticks = len(self.lines), self.unit.ticks if not self.plans else None
        if ticks is not None:
            self.lines.append(None)
        site = Site(self, node)
        rule = self.unit.request.rule(node.op, self.graph, step.node)
        try:
            found: Any = one_op(node.op, site) if node.op.pointwise else rule(node.op, site)
            found = taken(found, node.op, operand_types(self.graph, step.node))
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise rule_error(error, self.unit.request, self.graph, step.node, in_call=False)  # noqa: B904
        for number, value in zip(node.outputs, found if isinstance(found, list) else [found], strict=True):
            self.values[number] = value
            if isinstance(value, Array) and value.buffer is not None:
                value.buffer.users.add(number)
        self.overwriting.made(step.node)
        if ticks is not None:
            ticks.around(self.lines, start, self.graph, step.node)
        self.memory.bury(step.dying, self.values)

    def require_lengths(self, k: int) -> None:
        """Leave the function unless the lengths fit that node k needs."""
        node = self.graph.nodes[k]
        for a, b in self.shapes.equal[k]:
            self.same(a, b)
        for n in (n for number in node.outputs for n in self._shape(number)):
            if not any(number_of(a) in node.outputs for a in atoms(n)):
                self.natural(n)
        for shape, item in new_shapes(self.graph, self.shapes, k):
            self.countable(shape, item, (self._shape(number) for number in node.inputs))

    def require_known_lengths(self, k: int, shape: Sequence[Any]) -> None:
        """Leave the function unless an output is as long as the caller takes it to be."""
        known = self._known_lengths(k)
        if k in self._viewed:
            shape, known = _long(shape), _long(known)
        for n, m in zip(shape, known, strict=True):
            self.same(n, m)

    def _check(self, k: int, check: FrozenCheck) -> None:
        condition, *shown = (self.values[number] for number in (check.condition, *check.values))
        texts = [value.text for value in (condition, *shown) if isinstance(value, Scalar)]
        sets = [f"status[{i}] = {text};" for i, text in enumerate(texts[1:])]
        self.line(f"if (!{texts[0]}) {{ {' '.join((*sets, f'code = {k + 1};'))} goto done; }}")

    def _constant(self, number: int, constant: Constant) -> Value:
        array, dtype = constant.data, constant.type.dtype
        if array.ndim == 0:
            return Scalar(dtype, literal(array[()], dtype))
        strides = row_major(array.shape)
        if _is_uniform(array):
            return Array(dtype, "", array.shape, (0,) * array.ndim, None, literal(array.flat[0], dtype))
        if array.nbytes > LARGE_CONSTANT:
            name = self.name_of(number)
            self.line(f"const {WORDS[dtype]} *const {name} = data[{self.unit.argument(constant)}];")
            return Array(dtype, name, array.shape, strides)
        return Array(dtype, self.unit.table(dtype, elements(array, dtype) or "0"), array.shape, strides)

    # --- parameters and results --------------------------------------------------------------------------------------

    def _parameters(self) -> list[str]:
        parameters = ["const void *const *data"]
        for k in range(self.graph.arity):
            parameters += self._input(k)
        if self.plans:
            return [*parameters, "i64 *out_dims", "i64 *status"]
        for k, number in enumerate(self.graph.outputs):
            if self._is_given(k):
                parameters.append(f"{WORDS[self.graph.types[number].dtype]} *out{k}")
                parameters += [f"i64 {name}" for name in self.planned(k)]
            else:
                parameters += [f"void **out{k}", f"i64 *dims{k}"]
        return [*parameters, "i64 *status"]

    def _input(self, k: int) -> list[str]:
        t, name, shape = self.graph.types[k], self.name_of(k), self._shape(k)
        kind = WORDS[t.dtype]
        if t.ndim == 0:
            self.values[k] = Scalar(t.dtype, name)
            return [f"const {kind} {name}"]
        self.values[k] = Array(t.dtype, name, shape, row_major(shape))
        parameters = [f"const {kind} *{name}"]
        for axis, n in enumerate(shape):
            if type(n) is Length:
                assert n.atom is not None
                self._atoms[n.atom] = f"d{k}a{axis}"
                parameters.append(f"i64 d{k}a{axis}")
        return parameters

    def _is_given(self, k: int) -> bool:
        """Whether memory for an output is the caller's."""
        return self.is_main or follows_from_inputs(self.graph, self.graph.outputs[k])

    def planned(self, k: int) -> list[str]:
        """The parameters that say how long an output is, where the caller had to ask."""
        number = self.graph.outputs[k]
        if follows_from_inputs(self.graph, number):
            return []
        return [f"o{k}a{a}" for a in range(self.graph.types[number].ndim)]

    def _output(self, k: int, dtype: str, shape: Sequence[Any]) -> Array:
        """The caller's memory for an output, which has the lengths that the caller knows: they must be those found."""
        planned = self.planned(k)
        for n, name in zip(shape, planned, strict=False):
            self.require(f"{self.length(n)} == {name}", Failure.UNEQUAL)
        if not planned:
            self.require_known_lengths(k, shape)
        return Array(dtype, f"out{k}", tuple(shape), row_major(shape))

    def _known_lengths(self, k: int) -> list[Any]:
        """The lengths of an output as the caller computes them, in terms of this function's parameters."""

        def own(atom: Atom) -> Any:
            return self._shape(number_of(atom))[atom.axis] if type(atom) is AxisLength else None

        symbolic: Any = self.graph.symbolic[self.graph.outputs[k]]
        return [evaluate(n, own) for n in symbolic.shape]

    def _store_outputs(self) -> None:
        for k, number in enumerate(self.graph.outputs):
            value = self.values[number]
            if isinstance(value, Scalar):
                self.line(f"*out{k} = {value.text};")
            elif not self._is_given(k):
                self._hand_over(k, value)
            elif value.pointer != f"out{k}":
                self.overwriting.stored(k)
                self.copy(value, self._output(k, value.dtype, value.shape))

    def _hand_over(self, k: int, value: Array) -> None:
        """An output whose lengths the caller learns here, in memory that the caller will release."""
        size = self.memory.size_text(value.shape, item_size(value.dtype))
        self.line(f"if (!(*out{k} = tg_take({size}))) {{ {Failure.MEMORY.statement} }}")
        for axis, n in enumerate(value.shape):
            self.line(f"dims{k}[{axis}] = {self.length(n)};")
        pointer = self.pointer(value.dtype, f"*out{k}", const="")
        self.copy(value, Array(value.dtype, pointer, value.shape, row_major(value.shape)))

    def _store_lengths(self) -> None:
        for at, n in enumerate(itertools.chain.from_iterable(map(self._shape, self.graph.outputs))):
            self.natural(n)
            self.line(f"out_dims[{at}] = {self.length(n)};")


def _long(shape: Sequence[Any]) -> list[Any]:
    """The lengths that are not known to be 1."""
    return [n for n in shape if not is_one(n)]


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are one value, bit by bit: of one sign if they are 0."""
    if array.size == 0:
        return False
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.itemsize)
    return bool((rows == rows[0]).all())


def _height(line: str | None) -> int:
    """How many lines of the text one is: none that was taken back, several that were joined."""
    return 0 if line is None else line.count("\n") + 1
