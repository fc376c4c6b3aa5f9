"""One frozen graph as one Python function: names, lengths, checks, memory for values, results."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.frozen import Origin
from tg.link.schedule import Test, plan_schedule, schedule
from tg.link.shapes import follows_from_inputs, length_text, number_of
from tg.link.shown import lines_of
from tg.link.values import Array, Scalar, Value, row_major
from tg.types.lengths import AxisLength, Length, atoms, evaluate, is_natural, key, same
from tg_numba.memory import ArenaMemory
from tg_numba.nest import INDENT
from tg_numba.pointwise import copied, one_op
from tg_numba.site import Failure, Site
from tg_numba.text import SYNTAX, WORDS, identifier, item_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenCheck, FrozenGraph
    from tg.graph.nodes import Constant
    from tg.link.schedule import Run
    from tg.types.lengths import Atom
    from tg_numba.kernel import Kernel
    from tg_numba.nest import Nest
    from tg_numba.program import Unit

RETURN: Final = re.compile(r"^( *)return (.*)$", re.MULTILINE)


@final
class GraphFunction:
    """Writes the function of a graph.

    The main function is called with arrays: inputs, outputs, and (if the graph has checks) int64[5] for the values of
    a check that fails. The function of an inner graph is called with pointers, scalars and the lengths that are not
    known. The result is 0, or 1 + the number of the first check that failed, or a `Failure`.
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
        self.marks: dict[int, int] = {}  # line -> node, for the user's lines in the source that is shown
        self.memory = ArenaMemory(self.lines, self.length, Failure.MEMORY.statement)
        self.parameters: list[str] = []
        self._head: list[str] = []  # what comes before the first node
        self._lengths: dict[object, str] = {}
        self._atoms: dict[Atom, str] = {}
        self._ensured: set[object] = set()
        self._counter = itertools.count(1)
        self._targets: dict[int, int] = {}  # value -> the output whose memory is its own

    def text(self) -> str:
        """The whole function."""
        for k in range(self.graph.arity):
            self._input(k)
        self._results()
        for k, constant in enumerate(self.graph.constants):
            self.values[self.graph.arity + k] = self._constant(constant)
        for step in self._schedule():
            if isinstance(step, Test):
                self._check(step.check, self.graph.checks[step.check])
            else:
                self._node(step)
        (self._store_lengths if self.plans else self._store_outputs)()
        return self._assembled()

    def _schedule(self) -> list[Run | Test]:
        graph, makers = self.graph, self.unit.makers(self.graph)
        if self.plans:
            lengths = (d for number in graph.outputs for d in self._shape(number))
            return plan_schedule(graph, makers, {number_of(a) for d in lengths for a in atoms(d)})
        for k, number in enumerate(graph.outputs):
            if number in makers and self._is_given(k):
                self._targets.setdefault(number, k)
        return schedule(graph, makers)

    def _assembled(self) -> str:
        """The text; a function that takes memory gives it back wherever it returns."""
        body: list[str] = []
        last: tuple[str, ...] = ()
        for at, line in enumerate(self.lines):
            node = self.marks.get(at)
            notes = lines_of(self.origin(node).locs) if node is not None else ()
            if notes and notes != last:
                body += [f"# {note}" for note in notes]
            last = notes or last
            if line is not None:
                body.append(line)
        if self.unit.ticks is not None and self.is_main and not self.plans:
            body = [self.unit.ticks.begin, *body, self.unit.ticks.end]
        text = "\n".join((*self._head, *self.memory.frames, *body, "return 0"))
        if self.memory.needs_arena:
            text = "arena = at(frame(8), i64)\narena[0] = 0\n" + RETURN.sub(r"\1return leave(arena, \2)", text)
        inside = "\n".join(INDENT + line for line in text.split("\n"))
        return f"def {self.name}({', '.join(self.parameters)}):\n{inside}"

    # --- statements --------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append(text)

    def fresh(self, letter: str) -> str:
        """A name that nothing else has: names of values end in an underscore and a number."""
        return f"{letter}{next(self._counter)}"

    def local(self, expression: str, name: str | None = None) -> str:
        """A local that holds the value of an expression; its name."""
        name = name or self.fresh("t")
        self.line(f"{name} = {expression}")
        return name

    def call(self, nest: Nest, result: str = "0") -> str:
        """Call a finished loop nest; the text of what it returns."""
        text, arguments, used = nest.finish(result)
        call = f"{self.unit.nest(text, used)}({', '.join(arguments)})"
        if result == "0":
            self.line(call)
            return "0"
        return self.local(call)

    def run(self, kernel: Kernel) -> None:
        """Call a finished loop over lanes."""
        written, words, arguments = kernel.finish()
        self.line(f"{self.unit.call_of(words)}({', '.join((self.unit.loop(written), *arguments))})")

    def name_of(self, number: int) -> str:
        """The Python name of a value."""
        return identifier(self.graph.names.get(number, ""), number)

    def origin(self, node: int) -> Origin:
        """Where a node comes from."""
        return self.graph.origins.get(node, Origin())

    # --- lengths -----------------------------------------------------------------------------------------------------

    def _shape(self, number: int) -> tuple[Any, ...]:
        return self.shapes.types[number].shape

    def length(self, length: int | Length) -> str:
        """A length as text: a literal, or the name of a local."""
        if type(length) is not Length:
            return length_text(length, self._atom, SYNTAX)
        known = self._lengths.get(key(length))
        if known is None:
            known = length_text(length, self._atom, SYNTAX)
            if not known.isidentifier():
                expression, known = known, f"n{len(self._lengths)}"
                self.line(f"{known} = {expression}")
            self._lengths[key(length)] = known
        return known

    def _atom(self, atom: Atom) -> str:
        known = self._atoms.get(atom)
        if known is None:
            value = self.values[number_of(atom)]
            assert isinstance(value, Scalar), "a length that is no parameter is the value of a scalar"
            known = self._atoms[atom] = value.text if value.dtype == "int64" else f"i64({value.text})"
        return known

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        if not same(a, b):
            self._ensure((key(a), key(b)), lambda: f"{self.length(a)} == {self.length(b)}", Failure.UNEQUAL)

    def natural(self, length: int | Length) -> None:
        """Leave the function if a length is below 0."""
        if not is_natural(length):
            self._ensure(key(length), lambda: f"{self.length(length)} >= 0", Failure.NEGATIVE)

    def _ensure(self, fact: object, condition: Any, failure: Failure) -> None:
        if fact not in self._ensured:
            self._ensured.add(fact)
            self.require(condition(), failure)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.line(f"if not ({condition}):\n{INDENT}{failure.statement}")

    # --- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, shape: Sequence[Any], number: int | None = None) -> Array:
        """Contiguous memory, not initialised: of the output that value `number` is, else of this call."""
        target = self._targets.pop(number, None) if number is not None else None
        if target is not None:
            return self._output(target, dtype, shape)
        for n in shape:
            self.length(n)
        buffer = self.memory.take(shape, item_size(dtype))
        name = self.local(f"at({buffer.name}, {WORDS[dtype]})")
        return Array(dtype, name, tuple(shape), row_major(shape), buffer)

    def give_lengths(self, number: int, texts: Sequence[str]) -> None:
        """Say what the lengths are called that nothing but a value itself determines."""
        for n, text in zip(self._shape(number), texts, strict=True):
            if self.is_own(n, number):
                self._atoms[n.atom] = text

    @staticmethod
    def is_own(n: int | Length, number: int) -> bool:
        """Whether nothing but value `number` itself determines a length."""
        return type(n) is Length and type(n.atom) is AxisLength and number_of(n.atom) == number

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        if isinstance(source, Scalar) and not target.shape:
            self.line(f"{target.pointer}[0] = {source.text}")
        else:
            copied(self, source, target)

    # --- nodes and checks --------------------------------------------------------------------------------------------

    def _node(self, step: Run) -> None:
        node = self.graph.nodes[step.node]
        self.marks[len(self.lines)] = step.node
        for a, b in self.shapes.equal[step.node]:
            self.same(a, b)
        for n in (n for number in node.outputs for n in self._shape(number)):
            if not any(number_of(a) in node.outputs for a in atoms(n)):
                self.natural(n)
        start, ticks = len(self.lines), self.unit.ticks if not self.plans else None
        if ticks is not None:
            self.lines.append(None)
        site = Site(self, node)
        rule = self.unit.request.rule(node.op, self.graph, step.node)
        found: Any = one_op(node.op, site) if node.op.pointwise else rule(node.op, site)
        for number, value in zip(node.outputs, found if isinstance(found, list) else [found], strict=True):
            self.values[number] = value
            if isinstance(value, Array) and value.buffer is not None:
                value.buffer.users.add(number)
        if ticks is not None:
            ticks.around(self.lines, start, self.graph, step.node)
        self.memory.bury(step.dying, self.values)

    def _check(self, k: int, check: FrozenCheck) -> None:
        condition, *shown = (self.values[number] for number in (check.condition, *check.values))
        texts = [value.text for value in (condition, *shown) if isinstance(value, Scalar)]
        sets = [f"{INDENT}status[{i}] = {text}" for i, text in enumerate(texts[1:])]
        self.line("\n".join((f"if not {texts[0]}:", *sets, f"{INDENT}return {k + 1}")))

    def _constant(self, constant: Constant) -> Value:
        array, dtype = constant.data, constant.type.dtype
        if array.ndim == 0:
            return Scalar(dtype, self.unit.literal(array[()], dtype))
        if _is_uniform(array):
            text = self.unit.literal(array.flat[0], dtype)
            return Array(dtype, "", array.shape, (0,) * array.ndim, None, text)
        name = self.local(f"at({self.unit.data(constant)}, {WORDS[dtype]})")
        return Array(dtype, name, array.shape, row_major(array.shape))

    # --- parameters and results --------------------------------------------------------------------------------------

    def _input(self, k: int) -> None:
        t, name, shape = self.graph.types[k], self.name_of(k), self._shape(k)
        unknown = [(axis, n) for axis, n in enumerate(shape) if type(n) is Length]
        if t.ndim:
            self.values[k] = Array(t.dtype, name, shape, row_major(shape))
        else:
            self.values[k] = Scalar(t.dtype, name)
        for axis, n in unknown:
            assert n.atom is not None
            self._atoms[n.atom] = f"d{k}a{axis}"
        if not self.is_main:
            self.parameters += [name, *(f"d{k}a{axis}" for axis, _ in unknown)]
            return
        self.parameters.append(f"a{k}")
        element = f"data(a{k})[0]" + (" != 0" if t.dtype == "bool" else "")
        self._head.append(f"{name} = {f'data(a{k})' if t.ndim else element}")
        self._head += [f"d{k}a{axis} = dim(a{k}, {axis})" for axis, _ in unknown]

    def _results(self) -> None:
        """The parameters for outputs and status."""
        if self.plans:
            self.parameters.append("lengths")
            self._head.append("out_dims = data(lengths)")
        elif self.is_main:
            for k in range(len(self.graph.outputs)):
                self.parameters.append(f"y{k}")
                self._head.append(f"out{k} = data(y{k})")
                self._head += [f"{name} = dim(y{k}, {axis})" for axis, name in enumerate(self.planned(k))]
        else:
            for k in range(len(self.graph.outputs)):
                self.parameters += [f"out{k}"] if self._is_given(k) else [f"out{k}", f"dims{k}"]
            if not all(map(self._is_given, range(len(self.graph.outputs)))):
                self.parameters.append("outer")
        if self.graph.checks:
            self.parameters.append("report" if self.is_main else "status")
            self._head += ["status = data(report)"] if self.is_main else []

    def _is_given(self, k: int) -> bool:
        """Whether memory for an output is the caller's."""
        return self.is_main or follows_from_inputs(self.graph, self.graph.outputs[k])

    def planned(self, k: int) -> list[str]:
        """The names for the lengths of an output, where the caller had to ask."""
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
            for n, known in zip(shape, self._known_lengths(k), strict=True):
                self.same(n, known)
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
                self.line(f"out{k}[0] = {value.text}")
            elif not self._is_given(k):
                self._hand_over(k, value)
            elif value.pointer != f"out{k}":
                self.copy(value, self._output(k, value.dtype, value.shape))

    def _hand_over(self, k: int, value: Array) -> None:
        """An output whose lengths the caller learns here, in memory of the caller's arena."""
        size = self.memory.size_text(value.shape, item_size(value.dtype))
        start = self.local(f"take(outer, {size})")
        self.require(f"{start} != 0", Failure.MEMORY)
        self.line(f"out{k}[0] = {start}")
        for axis, n in enumerate(value.shape):
            self.line(f"dims{k}[{axis}] = {self.length(n)}")
        pointer = self.local(f"at({start}, {WORDS[value.dtype]})")
        self.copy(value, Array(value.dtype, pointer, value.shape, row_major(value.shape)))

    def _store_lengths(self) -> None:
        for at, n in enumerate(itertools.chain.from_iterable(map(self._shape, self.graph.outputs))):
            self.natural(n)
            self.line(f"out_dims[{at}] = {self.length(n)}")


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are the same bits."""
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.itemsize)
    return array.size > 0 and bool((rows == rows[0]).all())
