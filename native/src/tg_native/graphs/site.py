"""Context that a rule for an op works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tg_native.fusion.loop import Loop
from tg_native.graphs.failure import Failure
from tg_native.loops.costs import LEAST, SHARE, time_of, time_to_move
from tg_native.loops.joins import MOST_SHARED
from tg_native.loops.kernel import MOST
from tg_native.plan.readers import reading
from tg_native.plan.values import Array, Scalar, Value, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.function import GraphFunction
    from tg_native.loops.blas import Blas
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.loops.repeats import Forms
    from tg_native.loops.transforms import Transforms


class Site:
    """Arguments of a rule besides the op: operands, types of the results, and means to write code.

    A printer's adds what only its own rules need.
    """

    __slots__ = ("function", "inputs", "is_graphs", "node", "targets", "types")

    function: GraphFunction

    def __init__(self, function: GraphFunction, node: Node) -> None:
        self.function, self.node = function, node
        self.is_graphs = True  # whether the results are values of the graph
        self.targets: Sequence[Array] | None = None  # where the results go, if that is known
        self.inputs: list[Value] = [function.values[k] for k in node.inputs]
        self.types: list[TensorType] = [function.shapes.types[k] for k in node.outputs]

    def given(self, inputs: Sequence[Value], types: Sequence[TensorType] | None = None) -> Self:
        """The same with other operands; with other types, of results that are no values of the graph."""
        copy = type(self)(self.function, self.node)
        copy.inputs, copy.types, copy.is_graphs = list(inputs), self.types, self.is_graphs
        if types is not None:
            copy.types, copy.is_graphs = list(types), False
        return copy

    def part(self, targets: Sequence[Array], types: Sequence[TensorType]) -> Self:
        """The same for a part of the space of the results, of these types, which goes to these places."""
        copy = self.given(self.inputs, types)
        copy.targets = targets
        return copy

    @property
    def is_part(self) -> bool:
        """Whether it becomes code for a part of the space, of which totals are as they are worked with."""
        return self.targets is not None

    @property
    def is_repeated(self) -> bool:
        """Whether other arrays of the graph are run through by the same steps."""
        op = self.node.op
        return isinstance(op, Loop) and op.stages in self.function.repeated

    def number(self, k: int) -> int | None:
        """The value of the graph that result k is, if it is one."""
        return self.node.outputs[k] if self.is_graphs else None

    # --- loops -------------------------------------------------------------------------------------------------------

    @property
    def threads(self) -> int:
        """Number of threads that may share a loop."""
        return self.function.unit.threads

    @property
    def shares_steps(self) -> bool:
        """Whether threads may share steps of which none needs another."""
        return self.threads > 1 and not self.function.plans

    @property
    def most_parts(self) -> int:
        """Largest number of parts of such a loop."""
        return SHARE * self.threads

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""
        return self.function.kernel(dtypes, vectors, length)

    def run(self, kernel: Kernel) -> None:
        """Call a finished loop over lanes."""
        self.function.run(kernel)

    def divide(
        self,
        kernel: Kernel,
        space: Sequence[int | Length],
        programs: Iterable[tuple[Sequence[Node], Sequence[str]]],
        moved: Iterable[str],
        small: Sequence[int | Length] = (),
        unit: int = 0,
    ) -> None:
        """Let threads share a loop over a space, if there are some and it is worth it: see `loops.function`."""
        if self.threads == 1 or not space or any(type(n) is int and n > MOST_SHARED for n in small):
            return
        each = time_to_move(moved) + sum(time_of(nodes, dtypes) for nodes, dtypes in programs)
        size = count(space)
        if type(size) is not int or size * each > LEAST:
            self.function.share(kernel, space, each, small, unit)

    @property
    def forms(self) -> Forms:
        """The loops of the unit that are written."""
        return self.function.unit.forms

    def rule(self, op: Op) -> Any:
        """The rule for an op on elements in lanes."""
        return self.function.rule(op)

    # --- results -----------------------------------------------------------------------------------------------------

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""
        if self.targets is not None:
            return self.targets[k]
        t = self.types[k]
        return self.function.allocate(t.dtype, t.shape, self.number(k))

    def allocate_as_read(self, k: int) -> Array:
        """Memory for result k in which its axes lie in the order that what reads it gives them."""
        number = self.number(k)
        shape: Any = self.types[k].shape
        if number is None or self.targets is not None:
            return self.allocate(k)
        order = reading(self.function.graph, self.function.readers, number).order
        memory = self.function.allocate(self.types[k].dtype, [shape[axis] for axis in order], number, as_read=True)
        strides = dict(zip(order, memory.strides, strict=True))
        return memory.viewed(shape, [strides[axis] for axis in range(len(shape))])

    def scalar(self, text: str, k: int = 0) -> Scalar:
        """Result k as a scalar."""
        dtype = self.types[k].dtype
        return Scalar(dtype, self.function.local(dtype, text, self.number(k)))

    def has_length(self, array: Array) -> None:
        """Say that the only length of the result, which nothing but its value determines, stands in an array."""
        number = self.node.outputs[0]
        length = self.function.local("int64", self.first(array))
        self.function.give_lengths(self.function.shape(number), number, [length])

    def single(self, program: ScalarProgram, operands: Sequence[Scalar]) -> list[Value]:
        """The results of a scalar program that is run once, for all indices alike."""
        results: dict[int, int] = {}
        for k, number in enumerate(program.outputs if self.is_graphs else ()):
            results.setdefault(number, self.node.outputs[k])
        values: list[Value] = []
        for k, text in enumerate(self.function.evaluated(program, operands, results)):
            dtype, shape = program.dtypes[program.outputs[k]], self.types[k].shape
            if shape:
                values.append(Array(dtype, "", shape, (0,) * len(shape), None, text))  # type: ignore[arg-type]
            else:
                values.append(Scalar(dtype, text))
        return values

    # --- memory ------------------------------------------------------------------------------------------------------

    def temporary(self, dtype: str, shape: Sequence[int | Length]) -> Array:
        """Memory for the time of this op."""
        return self.function.allocate(dtype, tuple(shape))

    def memory(self, value: Value) -> Array:
        """An array that has a pointer; a value that all elements share gets a place for one."""
        if isinstance(value, Scalar):
            return self.function.place(value.dtype, value.text)
        if value.counts:
            target = self.temporary(value.dtype, value.shape)
            self.copy(value, target)
            return target
        if value.fill is None:
            return value
        place = self.function.place(value.dtype, value.fill)
        return value._replace(pointer=place.pointer, fill=None, buffer=place.buffer)

    def contiguous(self, value: Value) -> Array:
        """An array whose elements follow one another in C order, copied if need be."""
        if isinstance(value, Scalar):
            return self.memory(value)
        if value.is_contiguous:
            return value
        target = self.temporary(value.dtype, value.shape)
        self.copy(value, target)
        return target

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        self.function.copy(source, target)

    def first(self, array: Array) -> str:
        """The first element of an array, as text."""
        return self.function.first(array)

    def target(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""
        return self.function.moved(array, offset)

    def blas(self, dtype: str) -> Blas | None:
        """Functions of BLAS for a dtype as they are called, None if there are none."""
        return self.function.blas(dtype)

    def lapack(self, dtype: str) -> Lapack | None:
        """Functions of LAPACK for a dtype as they are called, None if there are none."""
        return self.function.lapack(dtype)

    def transforms(self, dtype: str) -> Transforms | None:
        """Fourier transforms of a real dtype as they are called, None if there are none."""
        return self.function.transforms(dtype)

    # --- lengths -----------------------------------------------------------------------------------------------------

    def length(self, length: int | Length) -> str:
        """A length as text."""
        return self.function.length(length)

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.function.require(condition, failure)

    def require_room(self, size: int | Length, room: int | Length) -> None:
        """Leave the function where a slice has more positions than an axis has for it."""
        self.require(self.function.expression(">=", self.length(room), self.length(size)), Failure.BOUNDS)

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        self.function.same(a, b)
