"""One frozen graph as one function, whatever the language: steps in their order, checks, constants, memory, results."""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.frozen import Origin
from tg.link.blame import rule_error
from tg.link.declines import taken
from tg.link.linker import operand_types
from tg.link.schedule import Test, plan_schedule, schedule
from tg.link.timed import lines_of
from tg.types.lengths import Length, atoms
from tg_native.graphs.lengths import Lengths
from tg_native.graphs.outputs import Outputs
from tg_native.graphs.overwriting import Overwriting
from tg_native.graphs.tiles import TileWriter, may_be_written
from tg_native.kernels.dtypes import item_size
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import one_op
from tg_native.plan.shapes import new_shapes, number_of
from tg_native.plan.tiles import Tiles, in_tiles
from tg_native.plan.values import Array, Scalar, row_major

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.schedule import Run
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.site import Site
    from tg_native.graphs.unit import Unit
    from tg_native.loops.blas import Blas
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.plan.memory import Buffer, Memory
    from tg_native.plan.values import Value


class GraphFunction(Lengths):
    """Writes the function of a graph.

    An array is contiguous elements behind a pointer, and the lengths that are not known. The result is 0, or 1 + the
    number of the first check that failed, with its values where the caller wants them, or a `Failure`.

    A printer says how such a function, its parameters and single statements look; `leaves` is what only lines contain
    that may leave it.
    """

    leaves: str
    overwrites: bool
    """Whether outputs may be given the memory of inputs."""
    memory: Memory
    lines: list[str | None]  # None: one that was taken back

    def __init__(self, unit: Unit, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> None:
        """Prepare the function.

        Args:
            is_main: memory for all outputs is given, else only where their lengths follow from those of the inputs.
            plans: compute only the lengths of the outputs.
        """
        super().__init__()
        self.unit, self.graph, self.name, self.is_main, self.plans = unit, graph, name, is_main, plans
        self.shapes, self.makers = unit.shapes(graph), unit.makers(graph)
        self.values: dict[int, Value] = {}
        self.parameters: list[str] = []
        self.marks: dict[int, int] = {}  # line -> node, for the user's lines in the source that is shown
        self.outputs = Outputs(self)

    def text(self) -> str:
        """The whole function."""
        for k in range(self.graph.arity):
            self._input(k)
        self.declare_outputs()
        self.overwriting = Overwriting(self)
        if self.is_main:
            for t, k in zip(self.graph.input_types, range(self.graph.arity), strict=True):
                self.not_endless(self.shape(k), t.numpy_dtype.itemsize)
        for k, constant in enumerate(self.graph.constants):
            self.values[self.graph.arity + k] = self._constant(self.graph.arity + k, constant)
        for step in self._schedule():
            if isinstance(step, Test):
                self._check(step.check, self.graph.checks[step.check])
            elif isinstance(step, Tiles):
                self._tiles(step)
            else:
                self.overwriting.begin(step.node)
                self._node(step)
        (self.outputs.store_lengths if self.plans else self.outputs.store)()
        return self.assembled()

    def _schedule(self) -> Iterable[Run | Test | Tiles]:
        if self.plans:
            lengths = (d for number in self.graph.outputs for d in self.shape(number))
            return plan_schedule(self.graph, self.makers, {number_of(a) for d in lengths for a in atoms(d)})
        steps = schedule(self.graph, self.makers, self.overwriting.last)
        # threads share whole loops; what shares memory with an input is written when all else is done
        is_alone = self.unit.threads == 1 and not self.overwriting.pairs
        return in_tiles(steps, self.graph, self.shapes.types) if is_alone else steps

    def shape(self, number: int) -> tuple[Any, ...]:
        """The lengths of a value."""
        return self.shapes.types[number].shape

    def with_places(
        self, lines: Iterable[str | None], marks: Mapping[int, int], comment: Callable[[str], str]
    ) -> Iterator[str]:
        """Lines of the function, and before those that nodes became, by their places, the user's lines as comments."""
        last: tuple[str, ...] = ()
        for at, line in enumerate(lines):
            notes = lines_of(self._origin(marks[at]).locs) if at in marks else ()
            if notes and notes != last:
                yield from map(comment, notes)
            last = notes or last
            if line is not None:
                yield line

    def _origin(self, node: int) -> Origin:
        return self.graph.origins.get(node, Origin())

    def _input(self, k: int) -> None:
        t, shape = self.graph.types[k], self.shape(k)
        axes = [axis for axis, n in enumerate(shape) if type(n) is Length]
        text, lengths = self.declare_input(k, axes)
        for axis, length in zip(axes, lengths, strict=True):
            self.known_atoms[shape[axis].atom] = length
        self.values[k] = Array(t.dtype, text, shape, row_major(shape)) if t.ndim else Scalar(t.dtype, text)
        self.show_name(k)

    def _constant(self, number: int, constant: Constant) -> Value:
        array, dtype = constant.data, constant.type.dtype
        if array.ndim == 0:
            return Scalar(dtype, self.literal(array[()], dtype))
        if _is_uniform(array):
            return Array(dtype, "", array.shape, (0,) * array.ndim, None, self.literal(array.flat[0], dtype))
        return Array(dtype, self.table(number, constant), array.shape, row_major(array.shape))

    # --- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, shape: Sequence[Any], number: int | None = None) -> Array:
        """Contiguous memory, not initialised: of the output that value `number` is, else of this call."""
        target = self.outputs.targets.pop(number, None) if number is not None else None
        if target is not None:
            return self.outputs.place(target, dtype, shape)
        return self.array(dtype, shape, self.memory.take(shape, item_size(dtype)))

    def array(self, dtype: str, shape: Sequence[Any], buffer: Buffer) -> Array:
        """A contiguous array in memory of this call."""
        return Array(dtype, self.start(buffer, dtype), tuple(shape), row_major(shape), buffer)

    # --- nodes and checks --------------------------------------------------------------------------------------------

    def _node(self, step: Run) -> None:
        node = self.graph.nodes[step.node]
        self.require_lengths(step.node)
        self.marks[len(self.lines)] = step.node
        start, ticks = len(self.lines), self.unit.ticks if not self.plans else None
        if ticks is not None:
            self.lines.append(None)
        for number, value in zip(node.outputs, self._ruled(step.node, self.site(node)), strict=True):
            self.keep(number, value)
        self.overwriting.made(step.node)
        if ticks is not None:
            ticks.around(self.lines, start, self.graph, step.node)
        self.memory.bury(step.dying, self.values)

    def _ruled(self, k: int, site: Site) -> list[Value]:
        """What the rule for node k makes."""
        op, request = self.graph.nodes[k].op, self.unit.request
        rule = request.rule(op, self.graph, k)
        try:
            found: Any = one_op(op, site) if op.pointwise else rule(op, site)
            found = taken(found, op, operand_types(self.graph, k))
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise rule_error(error, request, self.graph, k, in_call=False)  # noqa: B904
        return found if isinstance(found, list) else [found]

    def keep(self, number: int, value: Value) -> None:
        """A value is known from now on, and its memory needed."""
        self.values[number] = value
        if isinstance(value, Array) and value.buffer is not None:
            value.buffer.users.add(number)
        self.show_name(number)

    # --- tiles -------------------------------------------------------------------------------------------------------

    def _tiles(self, tiles: Tiles) -> None:
        if not may_be_written(self, tiles):
            for step in tiles.steps:
                self._node(step)
            return
        TileWriter(self, tiles).write()
        self.memory.bury([number for step in tiles.steps for number in step.dying], self.values)

    def write_part(self, k: int, targets: Sequence[Array], types: Sequence[TensorType]) -> None:
        """Write node k for a tile, of operands whose values are those of the tile."""
        self.marks[len(self.lines)] = k
        start, ticks = len(self.lines), self.unit.ticks
        if ticks is not None:
            self.lines.append(None)
        self._ruled(k, self.site(self.graph.nodes[k]).part(targets, types))
        if ticks is not None:
            ticks.around(self.lines, start, self.graph, k)

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """What is found out about lengths inside holds there alone."""
        before = self.known_lengths, self.known_atoms, self.ensured
        self.known_lengths, self.known_atoms, self.ensured = (dict(before[0]), dict(before[1]), set(before[2]))
        yield
        self.known_lengths, self.known_atoms, self.ensured = before

    def require_lengths(self, k: int) -> None:
        """Leave the function unless the lengths fit that node k needs."""
        node = self.graph.nodes[k]
        for a, b in self.shapes.equal[k]:
            self.same(a, b)
        for n in (n for number in node.outputs for n in self.shape(number)):
            if not any(number_of(a) in node.outputs for a in atoms(n)):
                self.natural(n)
        for shape, item in new_shapes(self.graph, self.shapes, k):
            self.countable(shape, item, (self.shape(number) for number in node.inputs))

    def _check(self, k: int, check: FrozenCheck) -> None:
        condition, *shown = (self.values[number] for number in (check.condition, *check.values))
        scalars = [value for value in (condition, *shown) if isinstance(value, Scalar)]
        self.report_unless(scalars[0].text, k + 1, scalars[1:])

    @abc.abstractmethod
    def over_tiles(self, length: str, rows: int) -> contextlib.AbstractContextManager[tuple[str, str]]:
        """A loop over tiles of so many indices: gives the first index of each, and how many there are in it."""

    # --- the function, as a printer writes it ------------------------------------------------------------------------

    @abc.abstractmethod
    def declare_input(self, k: int, axes: Sequence[int]) -> tuple[str, Sequence[str]]:
        """Declare the parameters for input k: what its pointer, or a scalar, is called, and its lengths along axes."""

    @abc.abstractmethod
    def declare_outputs(self) -> None:
        """Declare the parameters for outputs and status, and say in `outputs` what they are called."""

    @abc.abstractmethod
    def assembled(self) -> str:
        """The whole text, of `parameters` and `lines`."""

    @abc.abstractmethod
    def report_unless(self, condition: str, code: int, values: Sequence[Scalar]) -> None:
        """Leave the function with a code, and values as int64 for the caller, unless a condition holds."""

    @abc.abstractmethod
    def show_name(self, number: int) -> None:
        """Say in a comment what the user calls a value, where that is no part of what is compiled."""

    @abc.abstractmethod
    def site(self, node: Node) -> Site:
        """What the rule for a node is given."""

    # --- values ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def table(self, number: int, constant: Constant) -> str:
        """The pointer to the elements of a constant, which follow one another."""

    @abc.abstractmethod
    def local(self, dtype: str, text: str, number: int | None = None) -> str:
        """What holds the value of an expression from now on; `number` is its number in the graph, if it has one."""

    @abc.abstractmethod
    def evaluated(
        self, program: ScalarProgram, operands: Sequence[Scalar], results: Mapping[int, int]
    ) -> Sequence[str]:
        """The outputs of a scalar program that is run once.

        Args:
            results: values of the graph that outputs are, by their numbers in the program.
        """

    @abc.abstractmethod
    def first(self, array: Array) -> str:
        """The first element of an array."""

    @abc.abstractmethod
    def moved(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""

    @abc.abstractmethod
    def place(self, dtype: str, text: str) -> Array:
        """Memory of this call that holds one value."""

    @abc.abstractmethod
    def store(self, dtype: str, text: str, pointer: str) -> None:
        """Write an element."""

    @abc.abstractmethod
    def put(self, pointer: str, at: int, number: str) -> None:
        """Write an int64 into a table."""

    @abc.abstractmethod
    def got(self, pointer: str, at: int) -> str:
        """Read an int64 from a table."""

    @abc.abstractmethod
    def start(self, buffer: Buffer, dtype: str) -> str:
        """The pointer to memory of this call, for elements of a dtype."""

    # --- calls -------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""

    @abc.abstractmethod
    def run(self, kernel: Kernel) -> None:
        """Call a finished loop over lanes."""

    def divide(self, kernel: Kernel, *given: Any) -> None:
        """Nothing that is not of a rule is shared by threads."""

    @abc.abstractmethod
    def share(self, kernel: Kernel, space: Sequence[int | Length], each: float, small: Sequence[int | Length]) -> None:
        """Let threads share a loop, where the unit has several.

        Args:
            each: nanoseconds that one index of the space takes.
            small: numbers of elements of which none is known to be large, and none may be.
        """

    @abc.abstractmethod
    def blas(self, dtype: str) -> Blas | None:
        """How functions of BLAS for a dtype are called, None if there are none."""

    @abc.abstractmethod
    def rule(self, op: Op) -> Any:
        """The rule for an op on elements in lanes."""

    @abc.abstractmethod
    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""

    @abc.abstractmethod
    def called(self, graph: FrozenGraph, arguments: Sequence[tuple[str, str]], status: str | None) -> str:
        """Call the function of an inner graph: the code that it gives.

        Args:
            arguments: the text of each, and before it its dtype, which a pointer has not: "".
            status: the pointer to where the values of a check go that fails; None if there are no checks.
        """

    @abc.abstractmethod
    def handed_over(self, dtype: str, size: str, place: str) -> str:
        """Take memory for the caller, and tell where it is at a place; the pointer to it."""


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are one value, bit by bit: of one sign if they are 0."""
    if array.size == 0:
        return False
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.itemsize)
    return bool((rows == rows[0]).all())
