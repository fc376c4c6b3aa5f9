"""What a rule for an op works with."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, final

from tg.link.declines import taken
from tg.types.tensor_type import TensorType
from tg_native.plan.values import Array, Scalar, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_c.function import GraphFunction
    from tg_c.kernel import Kernel
    from tg_c.prelude import Element, Prelude


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

    __slots__ = ("function", "inputs", "names", "node", "types")

    def __init__(self, function: GraphFunction, node: Node) -> None:
        self.function, self.node = function, node
        self.inputs: list[Value] = [function.values[k] for k in node.inputs]
        self.types: list[TensorType] = [function.shapes.types[k] for k in node.outputs]
        self.names = [function.name_of(k) for k in node.outputs]

    @property
    def prelude(self) -> Prelude:
        """The declarations of the unit."""
        return self.function.unit.prelude

    @property
    def is_strict(self) -> bool:
        """Whether each operation is to give its own result, however long it takes."""
        return bool(self.function.unit.request.options.accuracy == "strict")

    @property
    def threads(self) -> int:
        """How many threads may share a loop."""
        return int(self.function.unit.request.options.threads)

    def element(self, op: Op, element: Element) -> str:
        """The C expression of an op on single elements."""
        return str(taken(self.rule(op)(op, element), op, [*map(TensorType, element.dtypes)]))

    def rule(self, op: Op) -> Rule:
        """The rule for an op on single elements."""
        return self.function.unit.rule(op)

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""
        t = self.types[k]
        return self.function.allocate(t.dtype, t.shape, self.node.outputs[k])

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

    def pointer(self, array: Array, offset: str) -> str:
        """A pointer into an array, as a local."""
        if offset == "0":
            return array.pointer
        return self.function.pointer(array.dtype, f"{array.pointer} + {offset}")

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

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        self.function.same(a, b)

    def line(self, text: str) -> None:
        """Add a statement to the function."""
        self.function.line(text)

    def kernel(self) -> Kernel:
        """A new loop nest."""
        return self.function.kernel()

    def call(self, kernel: Kernel) -> None:
        """Call a finished loop nest."""
        self.function.call(kernel)

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

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        self.function.copy(source, target)
