"""What a rule for an op works with."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, final

from tg.link.declines import taken
from tg.types.tensor_type import TensorType
from tg_c.blas import LETTERS, Calls
from tg_c.division import divide, most_parts
from tg_c.kernel import Kernel
from tg_c.lanes import by_text
from tg_c.prelude import Element
from tg_c.printed import Printed
from tg_c.text import literal
from tg_native.loops.costs import time_of, time_to_move
from tg_native.loops.joins import MOST_SHARED
from tg_native.loops.kernel import MOST
from tg_native.plan.values import Array, Scalar, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg_c.function import GraphFunction
    from tg_c.nest import Nest
    from tg_c.prelude import Prelude
    from tg_native.loops import kernel as loops
    from tg_native.loops.pointwise import ScalarProgram


class Failure(IntEnum):
    """What a C function returns where no check of the graph announces the failure."""

    MEMORY = -1
    NEGATIVE = -2  # a length below 0
    UNEQUAL = -3  # lengths that must be equal
    BOUNDS = -4  # a slice that leaves its axis
    EMPTY = -5  # an array without elements whose axes are too long to be gone over: the reference has no loops

    @property
    def statement(self) -> str:
        """The C statement that leaves the function with it."""
        return f"code = {int(self)}; goto done;"


@final
class Site:
    """What a rule is given besides the op: operands, types of the results, and means to write C."""

    __slots__ = ("function", "inputs", "is_graphs", "names", "node", "types")

    def __init__(self, function: GraphFunction, node: Node) -> None:
        self.function, self.node = function, node
        self.is_graphs = True  # whether the results are values of the graph
        self.inputs: list[Value] = [function.values[k] for k in node.inputs]
        self.types: list[TensorType] = [function.shapes.types[k] for k in node.outputs]
        self.names = [function.name_of(k) for k in node.outputs]

    def given(self, inputs: Sequence[Value], types: Sequence[TensorType] | None = None) -> Site:
        """The same with other operands; with other types, of results that are no values of the graph."""
        found = Site.__new__(Site)
        found.function, found.inputs, found.node, found.names = self.function, list(inputs), self.node, self.names
        found.types, found.is_graphs = self.types, self.is_graphs
        if types is not None:
            found.types, found.is_graphs, found.names = list(types), False, [""] * len(types)
        return found

    @property
    def prelude(self) -> Prelude:
        """The declarations of the unit."""
        return self.function.unit.prelude

    @property
    def threads(self) -> int:
        """How many threads may share a loop."""
        return int(self.function.unit.request.options.threads)

    @property
    def most_parts(self) -> int:
        """How many parts such a loop has at most."""
        return most_parts(self)

    def element(self, op: Op, element: Element) -> str:
        """The C expression of an op on single elements."""
        return str(taken(self.function.unit.rule(op)(op, element), op, [*map(TensorType, element.dtypes)]))

    def rule(self, op: Op) -> Any:
        """The rule for an op on elements in lanes."""
        rule = self.function.unit.rule(op)
        return rule.kernel if isinstance(rule, Printed) else by_text(rule)

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""
        t = self.types[k]
        return self.function.allocate(t.dtype, t.shape, self.node.outputs[k] if self.is_graphs else None)

    def temporary(self, dtype: str, shape: Sequence[int | Length]) -> Array:
        """Memory for the time of this op."""
        return self.function.allocate(dtype, tuple(shape))

    def local(self, dtype: str, expression: str, name: str | None = None) -> str:
        """A local that holds the value of an expression; its name."""
        return self.function.local(dtype, expression, name)

    def scalar(self, expression: str, k: int = 0) -> Scalar:
        """Result k as a scalar."""
        dtype = self.types[k].dtype
        return Scalar(dtype, self.function.local(dtype, expression, self.names[k]))

    def first(self, array: Array) -> str:
        """The expression of the first element of an array."""
        return f"{array.pointer}[0]"

    def source(self, array: Array, offset: str) -> Array:
        """The array from an offset on, to be read."""
        if offset == "0":
            return array
        return array._replace(pointer=self.function.pointer(array.dtype, f"{array.pointer} + {offset}"))

    def target(self, array: Array, offset: str) -> Array:
        """The array from an offset on, to be written."""
        if offset == "0":
            return array
        return array._replace(pointer=self.function.pointer(array.dtype, f"{array.pointer} + {offset}", const=""))

    def length(self, length: int | Length) -> str:
        """A length as C text."""
        return self.function.length(length)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.function.require(condition, failure)

    def require_room(self, size: int | Length, room: int | Length) -> None:
        """Leave the function where a slice has more positions than an axis has for it."""
        self.require(f"{self.length(size)} <= {self.length(room)}", Failure.BOUNDS)

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        self.function.same(a, b)

    def line(self, text: str) -> None:
        """Add a statement to the function."""
        self.function.line(text)

    def nest(self) -> Nest:
        """A new loop whose text is written as such."""
        return self.function.nest()

    def call(self, nest: Nest) -> None:
        """Call it when it is finished."""
        self.function.call(nest)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""
        return Kernel(self.function, dtypes, vectors, length)

    def run(self, kernel: loops.Kernel) -> None:
        """Call a finished loop over lanes."""
        assert isinstance(kernel, Kernel)
        self.call(kernel.finish())

    def divide(
        self,
        kernel: loops.Kernel,
        space: Sequence[int | Length],
        programs: Iterable[tuple[Sequence[Node], Sequence[str]]],
        moved: Iterable[str],
        small: Sequence[int | Length] = (),
    ) -> None:
        """Let threads share a loop over a space, if there are some and it is worth it; see `tg_native.loops.site`."""
        assert isinstance(kernel, Kernel)
        if self.threads == 1 or any(type(n) is int and n > MOST_SHARED for n in small):
            return
        each = time_to_move(moved) + sum(time_of(nodes, dtypes) for nodes, dtypes in programs)
        division = divide(self, space, each, in_row=len(space) == 1)
        if division is None:
            return
        if small:
            fits = " && ".join(f"{self.length(n)} <= {MOST_SHARED}" for n in small)
            division = division._replace(parts=self.local("int64", f"{fits} ? {division.parts} : 1"))
        kernel.divided(division, self.most_parts, self.threads)

    def has_length(self, count: Array) -> None:
        """Say that the only length of the result, which nothing but its value determines, stands in an array."""
        self.function.give_lengths(self.node.outputs[0], [self.local("int64", self.first(count))])

    def single(self, program: ScalarProgram, operands: Sequence[Scalar]) -> list[Value]:
        """The results of a scalar program that is run once, for all indices alike."""
        texts = {k: literal(value, program.dtypes[k]) for k, value in program.constants.items()}
        texts.update((k, s.text) for k, s in enumerate(operands))
        for node in program.nodes:
            (number,) = node.outputs
            given, dtypes = (tuple(v[k] for k in node.inputs) for v in (texts, program.dtypes))
            expression = self.element(node.op, Element(given, dtypes, program.dtypes[number], self.prelude))
            name = self.names[program.outputs.index(number)] if number in program.outputs else None
            texts[number] = self.local(program.dtypes[number], expression, name)
        found: list[Value] = []
        for k, number in enumerate(program.outputs):
            dtype, shape = program.dtypes[number], self.types[k].shape
            if shape:
                found.append(Array(dtype, "", shape, (0,) * len(shape), None, texts[number]))  # type: ignore[arg-type]
            else:
                found.append(Scalar(dtype, texts[number]))
        return found

    def memory(self, value: Value) -> Array:
        """An array that has a pointer; a value that all elements share gets a place for one."""
        if isinstance(value, Array) and value.fill is None:
            return value
        text = value.text if isinstance(value, Scalar) else value.fill
        pointer = self.function.place(value.dtype, str(text))
        if isinstance(value, Scalar):
            return Array(value.dtype, pointer, (), ())
        return value._replace(pointer=pointer, fill=None)

    def contiguous(self, value: Value) -> Array:
        """An array whose elements follow one another in C order, copied if need be."""
        if isinstance(value, Array) and value.is_contiguous:
            return value
        source = self.memory(value)
        if not source.shape:
            return source
        target = self.temporary(source.dtype, source.shape)
        self.copy(source, target)
        return target

    def blas(self, dtype: str) -> Calls | None:
        """How functions of BLAS for a dtype are called, None if there are none."""
        if dtype not in LETTERS:
            return None
        self.function.unit.blas(dtype)
        return Calls(dtype)

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        self.function.copy(source, target)
