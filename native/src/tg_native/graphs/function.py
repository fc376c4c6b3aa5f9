"""One frozen graph as one function, whatever the language: steps in their order, checks, constants, memory, results."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.frozen import Origin
from tg.link.blame import rule_error
from tg.link.declines import taken
from tg.link.linker import operand_types
from tg.link.schedule import Test, plan_schedule, schedule
from tg.link.timed import lines_of
from tg.types.lengths import Length
from tg.types.substitution import atoms
from tg_native.fusion.loop import Loop
from tg_native.graphs.outputs import Outputs
from tg_native.graphs.overwriting import Overwriting
from tg_native.graphs.statements import Statements
from tg_native.graphs.tiles import TileWriter, may_be_written
from tg_native.kernels.dtypes import item_size
from tg_native.loops.pointwise import one_op
from tg_native.plan.counts import counts_of
from tg_native.plan.readers import readers_of
from tg_native.plan.shapes import new_shapes, number_of
from tg_native.plan.tiles import Tiles, in_tiles
from tg_native.plan.values import Array, Scalar, row_major

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
    from tg.graph.nodes import Constant
    from tg.link.schedule import Run
    from tg.types.tensor_type import TensorType
    from tg_native.fusion.loop import Stage
    from tg_native.graphs.site import Site
    from tg_native.graphs.unit import Unit
    from tg_native.loops.repeats import Forms
    from tg_native.plan.memory import Buffer
    from tg_native.plan.values import Value


class GraphFunction(Statements):
    """Writes the function of a graph.

    An array is contiguous elements behind a pointer, and the lengths that are not known. The result is 0, or 1 + the
    number of the first check that failed, with its values where the caller wants them, or a `Failure`.

    What its statements look like is a printer's.
    """

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
        self.overwrites_late = False  # whether inputs are overwritten when all else is done
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
        self.overwriting.take_early()
        return self.assembled()

    def _schedule(self) -> Iterable[Run | Test | Tiles]:
        if self.plans:
            lengths = (d for number in self.graph.outputs for d in self.shape(number))
            return plan_schedule(self.graph, self.makers, {number_of(a) for d in lengths for a in atoms(d)})
        steps = schedule(self.graph, self.makers, self.overwriting.waiting)
        # threads share whole loops; what shares memory with an input is written when nothing reads that any more
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

    @functools.cached_property
    def repeated(self) -> frozenset[tuple[Stage, ...]]:
        """The stages of loops of which the graph has several, over spaces of other lengths."""
        extents: dict[tuple[Stage, ...], set[tuple[int | None, ...]]] = {}
        for node in self.graph.nodes:
            if type(node.op) is Loop:
                extents.setdefault(node.op.stages, set()).add(node.op.extents)
        return frozenset(stages for stages, sizes in extents.items() if len(sizes) > 1)

    @functools.cached_property
    def counts(self) -> frozenset[int]:
        """The values that are counts without memory."""
        return counts_of(self.graph)

    @functools.cached_property
    def readers(self) -> Mapping[int, Sequence[Node]]:
        """The nodes that read each value."""
        return readers_of(self.graph)

    @property
    def forms(self) -> Forms:
        return self.unit.forms

    # --- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, shape: Sequence[Any], number: int | None = None, *, as_read: bool = False) -> Array:
        """Contiguous memory, not initialised: of the output that value `number` is, else of this call.

        Args:
            as_read: the axes are in the order in which the value is read: they may be permuted in the output.
        """
        target = None
        if number is not None and (as_read or number not in self.outputs.permuted):
            target = self.outputs.targets.pop(number, None)
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
        """Values that the rule for node k makes."""
        op, request = self.graph.nodes[k].op, self.unit.request
        rule = request.rule(op, self.graph, k)
        try:
            values: Any = one_op(op, site) if op.pointwise else rule(op, site)
            values = taken(values, op, operand_types(self.graph, k))
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise rule_error(error, request, self.graph, k, in_call=False)  # noqa: B904
        return values if isinstance(values, list) else [values]

    def keep(self, number: int, value: Value) -> None:
        """A value is known from now on, and its memory needed."""
        assert isinstance(value, Scalar) or value.shape, "a value without axes is a scalar: sizes and checks read it"
        self.values[number] = value
        if isinstance(value, Array) and value.buffer is not None:
            value.buffer.users.add(number)
        self.show_name(number)

    def noted(self, name: str, arguments: dict[str, str]) -> None:
        """A loop is called with arguments, by the names of its parameters: it is shown under those of the values."""
        if not self.plans:
            self.unit.calls.note(name, self.values, self.graph, arguments)

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
        """Scope of facts about lengths: what is found out inside holds there alone."""
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


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are one value, bit by bit: of one sign if they are 0."""
    if array.size == 0:
        return False
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.itemsize)
    return bool((rows == rows[0]).all())
