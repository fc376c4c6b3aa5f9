"""What a rule for an op works with."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, final

from tg.link.values import Array, Scalar, Value
from tg_numba.kernel import MOST, Kernel
from tg_numba.nest import Nest
from tg_numba.text import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg_numba.function import GraphFunction
    from tg_numba.program import Unit


class Failure(IntEnum):
    """What a generated function returns where no check of the graph announces the failure."""

    MEMORY = -1
    NEGATIVE = -2  # a length below 0
    UNEQUAL = -3  # lengths that must be equal
    BOUNDS = -4  # a slice that leaves its axis

    @property
    def statement(self) -> str:
        """The statement that leaves the function with it."""
        return f"return {int(self)}"


@final
class Site:
    """What a rule is given besides the op: operands, types of the results, and means to write code."""

    __slots__ = ("function", "inputs", "is_graphs", "names", "node", "types")

    def __init__(self, function: GraphFunction, node: Node) -> None:
        self.function, self.node = function, node
        self.is_graphs = True  # whether the results are values of the graph
        self.inputs: list[Value] = [function.values[k] for k in node.inputs]
        self.types: list[TensorType] = [function.shapes.types[k] for k in node.outputs]
        self.names: list[str | None] = [function.name_of(k) for k in node.outputs]

    def given(self, inputs: Sequence[Value], types: Sequence[TensorType] | None = None) -> Site:
        """The same with other operands; with other types, of results that are no values of the graph."""
        found = Site.__new__(Site)
        found.function, found.inputs, found.node = self.function, list(inputs), self.node
        found.types, found.names, found.is_graphs = self.types, self.names, self.is_graphs
        if types is not None:
            found.types, found.names, found.is_graphs = list(types), [None] * len(types), False
        return found

    @property
    def unit(self) -> Unit:
        """The generated module."""
        return self.function.unit

    def element(self, op: Op, operands: Sequence[str], dtypes: tuple[str, ...], result: str) -> str:
        """The expression of an op on single elements."""
        return f"{self.unit.element(op, dtypes, result)}({', '.join(operands)})"

    def combine(self, fn: Any, dtype: str, x: str, y: str) -> str:
        """The expression of a function of two elements of one dtype, which the result has."""
        return self.element(fn.op, (x, y), (dtype, dtype), dtype)

    def compiled(self, function: Callable[..., Any], *, small: bool = False) -> str:
        """The name of a Python function that Numba compiles; a `small` one becomes part of loop nests."""
        return self.unit.function_of(function) if small else self.unit.row_function_of(function)

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""
        t = self.types[k]
        return self.function.allocate(t.dtype, t.shape, self.node.outputs[k] if self.is_graphs else None)

    def temporary(self, dtype: str, shape: Sequence[int | Length]) -> Array:
        """Memory for the time of this op."""
        return self.function.allocate(dtype, tuple(shape))

    def local(self, expression: str, name: str | None = None) -> str:
        """A local that holds the value of an expression; its name."""
        return self.function.local(expression, name)

    def scalar(self, expression: str, k: int = 0) -> Scalar:
        """Result k as a scalar."""
        return Scalar(self.types[k].dtype, self.function.local(expression, self.names[k]))

    def first(self, array: Array) -> str:
        """The expression of the first element of an array."""
        return f"{array.pointer}[0]" + (" != 0" if array.dtype == "bool" else "")

    def target(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""
        if offset == "0":
            return array
        return array._replace(pointer=self.function.local(f"shift({array.pointer}, {offset})"))

    def length(self, length: int | Length) -> str:
        """A length as text."""
        return self.function.length(length)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.function.require(condition, failure)

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        self.function.same(a, b)

    def line(self, text: str) -> None:
        """Add a statement to the function."""
        self.function.line(text)

    def nest(self) -> Nest:
        """A new loop nest."""
        return Nest(self.function)

    def call(self, nest: Nest, result: str = "0") -> str:
        """Call a finished loop nest; what it returns."""
        return self.function.call(nest, result)

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""
        return Kernel(self.function, dtypes, vectors=vectors, length=length)

    def run(self, kernel: Kernel) -> None:
        """Call a finished loop over lanes."""
        self.function.run(kernel)

    def memory(self, value: Value) -> Array:
        """An array that has a pointer; a value that all elements share gets a place for one."""
        if isinstance(value, Array) and value.fill is None:
            return value
        text = value.text if isinstance(value, Scalar) else str(value.fill)
        place = self.temporary(value.dtype, ())
        self.line(f"{place.pointer}[0] = {text}")
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

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        self.function.copy(source, target)

    def word(self, dtype: str) -> str:
        """The word for a dtype in generated code."""
        return WORDS[dtype]
