"""One frozen graph as one function in LLVM's language: lengths, checks, memory for values, results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.frozen import Origin
from tg.link.blame import rule_error
from tg.link.declines import taken
from tg.link.linker import operand_types
from tg.link.schedule import Test, plan_schedule, schedule
from tg.link.timed import lines_of
from tg.types.lengths import AxisLength, Length, atoms, evaluate, key, same
from tg_native.calls.objects import HEAD
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.lanes import Lanes
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import copied, one_op
from tg_native.plan.shapes import follows_from_inputs, inexact, is_countable, is_within, new_shapes, number_of
from tg_native.plan.values import Array, Scalar, Value, is_one, row_major
from tg_numba.body import Body
from tg_numba.kernel import Kernel
from tg_numba.lengths import countable, fits, operand
from tg_numba.memory import ArenaMemory, in_slots
from tg_numba.operands import literal, loaded, store, type_of
from tg_numba.site import Failure, Site
from tg_numba.text import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tg.graph.frozen import FrozenCheck, FrozenGraph
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.schedule import Run
    from tg.plugin.records import Rule
    from tg.types.lengths import Atom
    from tg_native.loops import kernel as loops
    from tg_numba.program import Unit

LENGTHS: Final = HEAD + 16  # in an array's object: where its lengths are


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
        self.body = Body(unit.module)
        self.marks: dict[int, int] = {}  # line -> node, for the user's lines in the source that is shown
        self.memory = ArenaMemory(self.body, self.length, lambda condition: self.require(condition, Failure.MEMORY))
        self.parameters: list[str] = []
        self._lengths: dict[object, str] = {}
        self._atoms: dict[Atom, str] = {}
        self._ensured: set[object] = set()
        self._exits: list[tuple[str, str]] = []  # codes to leave with, and the blocks that leave
        self._targets: dict[int, int] = {}  # value -> the output whose memory is its own
        self.outputs: list[str] = []  # pointers
        self._planned: dict[int, list[str]] = {}  # the lengths of outputs where the caller had to ask

    def text(self) -> str:
        """The whole function."""
        for k in range(self.graph.arity):
            self._input(k)
        self._results()
        if self.unit.ticks is not None and self.is_main and not self.plans:
            self.unit.ticks.begin(self.body)
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
        """The text; a function that takes memory gives it back wherever it leaves."""
        body, ticks = self.body, self.unit.ticks if self.is_main and not self.plans else None
        if ticks is not None:
            ticks.end(body)
        body.do("br label %leave")
        self._exits.append(("0", body.label))
        body.lines[:] = [*self.memory.frames, *in_slots([*self._with_notes()])]
        body.open("leave")
        code = body.made(f"phi i64 {', '.join(f'[{code}, %{block}]' for code, block in self._exits)}")
        if self.memory.needs_arena:
            body.lines[:0] = ["  %arena = alloca ptr", "  store ptr null, ptr %arena"]
            body.do("call void @tg.leave(ptr %arena)")
        body.do(f"ret i64 {code}")
        linkage = "" if self.is_main else "internal "
        return f"define {linkage}i64 @{self.name}({', '.join(self.parameters)}) nounwind {{\n{body.text()}\n}}\n"

    def _with_notes(self) -> Iterator[str]:
        """The lines, with the user's as comments."""
        last: tuple[str, ...] = ()
        for at, line in enumerate(self.body.lines):
            node = self.marks.get(at)
            notes = lines_of(self.origin(node).locs) if node is not None else ()
            if notes and notes != last:
                yield from (f"  ; {note}" for note in notes)
            last = notes or last
            if line is not None:
                yield line

    # --- instructions ------------------------------------------------------------------------------------------------

    def leave_unless(self, condition: str, code: str) -> None:
        """Leave the function with a code unless a condition holds."""
        label = self.body.fresh()[1:]
        self._exits.append((code, self.body.label))
        self.body.do(f"br i1 {condition}, label %{label}, label %leave")
        self.body.open(label)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.leave_unless(condition, str(int(failure)))

    def put(self, pointer: str, at: int, number: str) -> None:
        """Write an int64 into a table."""
        self.body.do(f"store i64 {number}, ptr {self.body.made(f'getelementptr i64, ptr {pointer}, i64 {at}')}")

    def divide(self, kernel: loops.Kernel, *given: Any) -> None:
        """Loops have one thread."""

    def rule(self, op: Op) -> Rule:
        """The rule for an op on elements."""
        return self.unit.rule(op)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""
        return Kernel(self, dtypes, vectors=vectors, length=length)

    def run(self, kernel: loops.Kernel) -> None:
        """Call a finished loop over lanes."""
        assert isinstance(kernel, Kernel)
        written, arguments = kernel.finish()
        name = self.unit.loop(written)
        self._note(name, {f"%a{k}": argument.rpartition(" ")[2] for k, argument in enumerate(arguments)})
        self.body.do(f"call void @{name}({', '.join(arguments)})")

    def _note(self, name: str, given: dict[str, str]) -> None:
        if not self.plans:
            self.unit.calls.note(name, self.values, self.graph, given)

    def origin(self, node: int) -> Origin:
        """Where a node comes from."""
        return self.graph.origins.get(node, Origin())

    # --- lengths -----------------------------------------------------------------------------------------------------

    def _shape(self, number: int) -> tuple[Any, ...]:
        return self.shapes.types[number].shape

    def length(self, length: int | Length) -> str:
        """A length as an operand."""
        if type(length) is not Length:
            return str(length)
        known = self._lengths.get(key(length))
        if known is None:
            known = self._lengths[key(length)] = operand(self.body, length, self._atom)
        return known

    def _atom(self, atom: Atom) -> str:
        known = self._atoms.get(atom)
        if known is None:
            value = self.values[number_of(atom)]
            assert isinstance(value, Scalar), "a length that is no parameter is the value of a scalar"
            known = self._atoms[atom] = self.number(value)
        return known

    def number(self, value: Scalar) -> str:
        """A real scalar as an int64."""
        return str(Lanes(self.body, value.dtype, value.text).to("int64").text)

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        if not same(a, b):
            self._ensure((key(a), key(b)), "eq", a, b, Failure.UNEQUAL)

    def natural(self, length: int | Length) -> None:
        """Leave the function unless a length is one: from 0 to the longest that there is."""
        if is_within(length):
            return
        for part in inexact(length):
            if ("fits", part.key) not in self._ensured:
                self._ensured.add(("fits", part.key))
                self.require(fits(self.body, part, self._atom), Failure.NEGATIVE)
        self._ensure(key(length), "sge", length, 0, Failure.NEGATIVE)

    def countable(self, shape: Sequence[Any], item: int, others: Iterable[Sequence[Any]]) -> None:
        """Leave the function where int64 does not count the bytes of an array, or the elements of a loop."""
        fact = ("bytes", item, *map(key, shape))
        if fact not in self._ensured and not is_countable(shape, others):
            self._ensured.add(fact)
            counted, short = countable(self.body, item, list(map(self.length, shape)))
            self.require(counted, Failure.NEGATIVE)
            self.require(short, Failure.EMPTY)

    def _ensure(self, fact: object, order: str, a: int | Length, b: int | Length, failure: Failure) -> None:
        if fact not in self._ensured:
            self._ensured.add(fact)
            self.require(self.body.find(f"icmp {order} i64 {self.length(a)}, {self.length(b)}"), failure)

    # --- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, shape: Sequence[Any], number: int | None = None) -> Array:
        """Contiguous memory, not initialised: of the output that value `number` is, else of this call."""
        target = self._targets.pop(number, None) if number is not None else None
        if target is not None:
            return self._output(target, dtype, shape)
        for n in shape:
            self.length(n)
        buffer = self.memory.take(shape, item_size(dtype))
        return Array(dtype, f"%{buffer.name}", tuple(shape), row_major(shape), buffer)

    def give_lengths(self, number: int, operands: Sequence[str]) -> None:
        """Say what the lengths are that nothing but a value itself determines."""
        for n, known in zip(self._shape(number), operands, strict=True):
            if self.is_own(n, number):
                self._atoms[n.atom] = known

    @staticmethod
    def is_own(n: int | Length, number: int) -> bool:
        """Whether nothing but value `number` itself determines a length."""
        return type(n) is Length and type(n.atom) is AxisLength and number_of(n.atom) == number

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        if isinstance(source, Scalar) and not target.shape:
            store(self.body, target.dtype, source.text, target.pointer)
        else:
            copied(self, source, target)

    # --- nodes and checks --------------------------------------------------------------------------------------------

    def _node(self, step: Run) -> None:
        node = self.graph.nodes[step.node]
        self.marks[len(self.body.lines)] = step.node
        for a, b in self.shapes.equal[step.node]:
            self.same(a, b)
        for n in (n for number in node.outputs for n in self._shape(number)):
            if not any(number_of(a) in node.outputs for a in atoms(n)):
                self.natural(n)
        for shape, item in new_shapes(self.graph, self.shapes, step.node):
            self.countable(shape, item, (self._shape(number) for number in node.inputs))
        start, ticks = len(self.body.lines), self.unit.ticks if not self.plans else None
        if ticks is not None:
            self.body.lines.append(None)
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
            self._show_name(number)
        if ticks is not None:
            ticks.around(self.body, start, self.graph, step.node)
        self.memory.bury(step.dying, self.values)

    def _show_name(self, number: int) -> None:
        """Say in a comment what the user calls a value: names are no part of what is compiled."""
        name, value = self.graph.names.get(number), self.values[number]
        operand = value.text if isinstance(value, Scalar) else value.fill or value.pointer
        if name:
            self.body.do(f"; {identifier(name, number)} is {operand}")

    def _check(self, k: int, check: FrozenCheck) -> None:
        condition, *shown = (self.values[number] for number in (check.condition, *check.values))
        assert isinstance(condition, Scalar)
        body, label = self.body, self.body.fresh()[1:]
        numbers = [self.number(value) for value in shown if isinstance(value, Scalar)]
        body.do(f"br i1 {condition.text}, label %{label}, label %fails{k}")
        body.open(f"fails{k}")
        for i, number in enumerate(numbers):
            self.put("%status", i, number)
        body.do("br label %leave")
        self._exits.append((str(k + 1), f"fails{k}"))
        body.open(label)

    def _constant(self, constant: Constant) -> Value:
        array, dtype = constant.data, constant.type.dtype
        if array.ndim == 0:
            return Scalar(dtype, literal(array[()], dtype))
        if _is_uniform(array):
            return Array(dtype, "", array.shape, (0,) * array.ndim, None, literal(array.flat[0], dtype))
        return Array(dtype, self.unit.data(constant), array.shape, row_major(array.shape))

    # --- parameters and results --------------------------------------------------------------------------------------

    def _input(self, k: int) -> None:
        t, name, shape = self.graph.types[k], f"%x{k}", self._shape(k)
        lengths = [(axis, n.atom) for axis, n in enumerate(shape) if type(n) is Length]
        given = [f"%x{k}n{axis}" for axis, _ in lengths]
        if self.is_main:
            self.parameters.append(f"ptr %a{k}")
            name, given = self._data(f"%a{k}"), [self._dimension(f"%a{k}", axis) for axis, _ in lengths]
        else:
            kind = "ptr" if t.ndim else type_of(t.dtype)
            self.parameters += [f"{kind} {name}", *(f"i64 {n}" for n in given)]
        for (_, atom), n in zip(lengths, given, strict=True):
            assert atom is not None
            self._atoms[atom] = n
        if t.ndim:
            self.values[k] = Array(t.dtype, name, shape, row_major(shape))
        else:
            self.values[k] = Scalar(t.dtype, loaded(self.body, t.dtype, name) if self.is_main else name)
        self._show_name(k)
        long = [n for n in shape if not is_one(n)]
        if self.is_main and len(long) > 1 and not all(type(n) is int and n for n in long):
            _, short = countable(self.body, t.numpy_dtype.itemsize, list(map(self.length, long)))
            self.require(short, Failure.EMPTY)  # there are no elements, and axes too long to be gone over

    def _field(self, array: str, offset: int, kind: str) -> str:
        """A field of an array's object."""
        return self.body.made(f"load {kind}, ptr {self.body.made(f'getelementptr i8, ptr {array}, i64 {offset}')}")

    def _data(self, array: str) -> str:
        """The pointer to the first element of an array."""
        return self._field(array, HEAD, "ptr")

    def _dimension(self, array: str, axis: int) -> str:
        return self._field(self._field(array, LENGTHS, "ptr"), 8 * axis, "i64")

    def _results(self) -> None:
        """The parameters for outputs and status."""
        count = len(self.graph.outputs)
        if self.plans:
            self.parameters.append("ptr %lengths")
            self.outputs = [self._data("%lengths")]
        elif self.is_main:
            self.parameters += [f"ptr %y{k}" for k in range(count)]
            self.outputs = [self._data(f"%y{k}") for k in range(count)]
            for k, number in enumerate(self.graph.outputs):
                axes = () if follows_from_inputs(self.graph, number) else range(self.graph.types[number].ndim)
                self._planned[k] = [self._dimension(f"%y{k}", axis) for axis in axes]
        else:
            self.outputs = [f"%y{k}" for k in range(count)]
            for k, pointer in enumerate(self.outputs):
                self.parameters += [f"ptr {pointer}", *([] if self._is_given(k) else [f"ptr %y{k}n"])]
            if not all(map(self._is_given, range(count))):
                self.parameters.append("ptr %outer")
        if self.graph.checks:
            self.parameters.append("ptr %report" if self.is_main else "ptr %status")
            if self.is_main:
                self.body.do(f"%status = getelementptr i8, ptr {self._data('%report')}, i64 0")

    def _is_given(self, k: int) -> bool:
        """Whether memory for an output is the caller's."""
        return self.is_main or follows_from_inputs(self.graph, self.graph.outputs[k])

    def _output(self, k: int, dtype: str, shape: Sequence[Any]) -> Array:
        """The caller's memory for an output, which has the lengths that the caller knows: they must be those found."""
        planned = self._planned.get(k, [])
        for n, known in zip(shape, planned, strict=False):
            self.require(self.body.find(f"icmp eq i64 {self.length(n)}, {known}"), Failure.UNEQUAL)
        if not planned:
            for n, length in zip(shape, self._known_lengths(k), strict=True):
                self.same(n, length)
        return Array(dtype, self.outputs[k], tuple(shape), row_major(shape))

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
                store(self.body, value.dtype, value.text, self.outputs[k])
            elif not self._is_given(k):
                self._hand_over(k, value)
            elif value.pointer != self.outputs[k]:
                self.copy(value, self._output(k, value.dtype, value.shape))

    def _hand_over(self, k: int, value: Array) -> None:
        """An output whose lengths the caller learns here, in memory of the caller's arena."""
        start = self.body.fresh()
        self.memory.take_from("%outer", self.memory.size_text(value.shape, item_size(value.dtype)), start)
        self.body.do(f"store ptr {start}, ptr {self.outputs[k]}")
        for axis, n in enumerate(value.shape):
            self.put(f"%y{k}n", axis, self.length(n))
        self.copy(value, Array(value.dtype, start, value.shape, row_major(value.shape)))

    def _store_lengths(self) -> None:
        for at, n in enumerate(itertools.chain.from_iterable(map(self._shape, self.graph.outputs))):
            self.natural(n)
            self.put(self.outputs[0], at, self.length(n))


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are the same bits."""
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.itemsize)
    return array.size > 0 and bool((rows == rows[0]).all())
