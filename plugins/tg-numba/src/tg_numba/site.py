"""What a rule for an op works with."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, final

from tg_native.kernels.lanes import constant_of
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import ScalarProgram, run
from tg_native.plan.values import Array, Scalar, Value
from tg_numba.assembly import memory_cell
from tg_numba.blas import calls
from tg_numba.operands import elements, loaded, operand_of, store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg_native.loops import kernel as loops
    from tg_numba.blas import Calls
    from tg_numba.body import Body
    from tg_numba.function import GraphFunction
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit


class Failure(IntEnum):
    """What a generated function returns where no check of the graph announces the failure."""

    MEMORY = -1
    NEGATIVE = -2  # a length below 0
    UNEQUAL = -3  # lengths that must be equal
    BOUNDS = -4  # a slice that leaves its axis
    EMPTY = -5  # an array without elements whose axes are too long to be gone over: the reference has no loops
    RAISED = -6  # a function of an author's


@final
class Site:
    """What a rule is given besides the op: operands, types of the results, and means to write code."""

    threads = most_parts = 1  # those of tg-c are its own

    __slots__ = ("function", "inputs", "is_graphs", "node", "types")

    def __init__(self, function: GraphFunction, node: Node) -> None:
        self.function, self.node = function, node
        self.is_graphs = True  # whether the results are values of the graph
        self.inputs: list[Value] = [function.values[k] for k in node.inputs]
        self.types: list[TensorType] = [function.shapes.types[k] for k in node.outputs]

    def given(self, inputs: Sequence[Value], types: Sequence[TensorType] | None = None) -> Site:
        """The same with other operands; with other types, of results that are no values of the graph."""
        found = Site.__new__(Site)
        found.function, found.inputs, found.node = self.function, list(inputs), self.node
        found.types, found.is_graphs = self.types, self.is_graphs
        if types is not None:
            found.types, found.is_graphs = list(types), False
        return found

    @property
    def unit(self) -> Unit:
        """The generated module."""
        return self.function.unit

    @property
    def body(self) -> Body:
        """Where the function's instructions are written."""
        return self.function.body

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""
        t = self.types[k]
        return self.function.allocate(t.dtype, t.shape, self.node.outputs[k] if self.is_graphs else None)

    def temporary(self, dtype: str, shape: Sequence[int | Length]) -> Array:
        """Memory for the time of this op."""
        return self.function.allocate(dtype, tuple(shape))

    def scalar(self, operand: str, k: int = 0) -> Scalar:
        """Result k as a scalar."""
        return Scalar(self.types[k].dtype, operand)

    def first(self, array: Array) -> str:
        """The first element of an array."""
        return loaded(self.body, array.dtype, array.pointer)

    def has_length(self, count: Array) -> None:
        """Say that the only length of the result, which nothing but its value determines, stands in an array."""
        self.function.give_lengths(self.node.outputs[0], [self.first(count)])

    def single(self, program: ScalarProgram, operands: Sequence[Scalar]) -> list[Value]:
        """The results of a scalar program that is run once, for all indices alike."""
        values = {k: constant_of(self.body, value, program.dtypes[k]) for k, value in program.constants.items()}
        values.update((k, elements(self.body, s.dtype, s.text)) for k, s in enumerate(operands))
        run(self, program, values)
        found: list[Value] = []
        for k, number in enumerate(program.outputs):
            dtype, shape, operand = program.dtypes[number], self.types[k].shape, operand_of(values[number])
            if shape:
                found.append(Array(dtype, "", shape, (0,) * len(shape), None, operand))  # type: ignore[arg-type]
            else:
                found.append(Scalar(dtype, operand))
        return found

    def target(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""
        return array._replace(pointer=self.body.place(memory_cell(array.dtype), array.pointer, offset))

    source = target

    def length(self, length: int | Length) -> str:
        """A length as an operand."""
        return self.function.length(length)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.function.require(condition, failure)

    def require_room(self, size: int | Length, room: int | Length) -> None:
        """Leave the function where a slice has more positions than an axis has for it."""
        self.require(self.body.find(f"icmp sle i64 {self.length(size)}, {self.length(room)}"), Failure.BOUNDS)

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        self.function.same(a, b)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""
        return self.function.kernel(dtypes, vectors, length)

    def run(self, kernel: loops.Kernel) -> None:
        """Call a finished loop over lanes."""
        self.function.run(kernel)

    def divide(self, kernel: loops.Kernel, *given: Any) -> None:
        """Loops have one thread."""

    def rule(self, op: Op) -> Rule:
        """The rule for an op on elements."""
        return self.unit.rule(op)

    def memory(self, value: Value) -> Array:
        """An array that has a pointer; a value that all elements share gets a place for one."""
        if isinstance(value, Array) and value.fill is None:
            return value
        text = value.text if isinstance(value, Scalar) else str(value.fill)
        place = self.temporary(value.dtype, ())
        store(self.body, value.dtype, text, place.pointer)
        if isinstance(value, Scalar):
            return place
        return value._replace(pointer=place.pointer, fill=None, buffer=place.buffer)

    def contiguous(self, value: Value) -> Array:
        """An array whose elements follow one another in C order, copied if need be."""
        if isinstance(value, Array) and value.is_contiguous:
            return value
        if isinstance(value, Scalar):
            return self.memory(value)
        target = self.temporary(value.dtype, value.shape)
        self.copy(value, target)
        return target

    def blas(self, dtype: str) -> Calls | None:
        """How functions of BLAS for a dtype are called, None if there are none."""
        return calls(self.unit, dtype)

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        self.function.copy(source, target)
