"""Loops of inner graphs: the function of a step is called once for each, and what it traces is written in its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.checks import STEP
from tg.ops import loops as t
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import LONGEST
from tg_native.graphs.failure import STATUS, Failure
from tg_native.graphs.steps import Stepped, Steps
from tg_native.loops.costs import LIGHT
from tg_native.plan.shapes import follows_from_inputs
from tg_native.plan.values import Array, Scalar, count
from tg_native.rules.control import POINTER, argument, cleared, lengths_inside

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.function import GraphFunction
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value

LOOKS: Final = (4096, 64, 8)  # steps of numbers, vectors, and of matrices or loops between looks at the clock
CALL: Final = 5.0  # nanoseconds
FEW: Final = 8
Arguments = list[tuple[str, str]]  # dtypes, POINTER among them, and texts


def scan(op: t.Scan, site: Site) -> Any:
    """A loop over the steps."""
    body, function, n = op.body, site.function, op.carries
    if not all(follows_from_inputs(body, k) for k in body.outputs):
        return NotImplemented  # memory for what a step gives must be there before it
    starts, sequences, captured = op.parts(site.inputs)
    types = body.input_types
    length = str(op.length) if op.length is not None else function.number(site.inputs[0])  # type: ignore[arg-type]
    carries = [_Carry(site, k, value, types[k]) for k, value in enumerate(starts)]
    slices = [_Slices(site, value, types[n + k]) for k, value in enumerate(sequences)]
    held = _held(site, captured, types[n + op.sequences :])
    operands = site.inputs[op.first :]
    traces = [_Trace(site, body, operands, k, body.outputs[k]) for k in range(n, len(body.outputs))]
    status = _Status(site, body.checks, len(body.outputs))
    if not n and site.shares_steps and function.unit.ticks is None:
        shared = Steps(
            body, length, op.reverse, _looks(op), [s.stepped for s in slices], held, [y.stepped for y in traces]
        )
        function.share_steps(shared, status.array and status.array.pointer, _time_of(body))
        return [*(y.array for y in traces), *status.result]
    # in front of the loop: what is computed in it is not there behind it, where another loop may ask for the same
    last = function.local("int64", function.expression("+", length, "-1")) if op.reverse else ""
    with _steps(op, function, length) as step:
        place = step
        if op.reverse:
            place = function.local("int64", function.expression("+", last, function.expression("*", step, "-1")))
        arguments = [a for c in carries for a in c.before(step)]
        arguments += [a for s in slices for a in s.at(place)]
        arguments += [*held, *((POINTER, c.after(step)) for c in carries), *((POINTER, y.at(place)) for y in traces)]
        status.after(function.called(body, arguments, status.pointer(body)), 0, place)
    return [*(c.result(length) for c in carries), *(y.array for y in traces), *status.result]


def _looks(op: t.Scan) -> int:
    """After how many steps the clock is looked at."""
    has_loops = any(type(one.op).graph_fields for one in op.body.nodes)
    return LOOKS[2 if has_loops else min(2, max(t.ndim for t in op.body.types))]


def _time_of(graph: FrozenGraph) -> float:
    """About how many nanoseconds the function of a graph takes at least; a length that is not known counts as few."""

    def elements(shape: Sequence[int | Length | None]) -> int:
        return math.prod(n if type(n) is int else FEW for n in shape)

    total = CALL
    for node in graph.nodes:
        inner = node.op.inner_graphs()
        if inner:
            steps = getattr(node.op, "length", 1)
            total += min(map(_time_of, inner)) * (FEW if steps is None else steps)
        else:
            moved = max(elements(graph.types[k].shape) for k in (*node.inputs, *node.outputs))
            total += LIGHT * 8 * moved
    return total


def _steps(op: t.Scan, function: GraphFunction, length: str) -> contextlib.AbstractContextManager[str]:
    """The loop over the steps, which is left between parts of less than a second where it is interrupted.

    It takes as long as a loop in one part: of five recurrences with their gradients one, an epidemic's, took LLVM 1.03
    times as long, and none took gcc longer.
    """
    size = _looks(op)
    if op.length is not None and op.length <= size:
        return function.steps(length)
    return function.steps_in_parts(length, size, function.clock())


def _held(site: Site, captured: Sequence[Value], types: Sequence[TensorType]) -> Arguments:
    """The arguments that are the same in all steps, for a graph with inputs of these types."""
    return [a for v, wanted in zip(captured, types, strict=True) for a in argument(site, v, wanted)]


@final
class _Carry:
    """State that goes from step to step: a scalar in a place of its own, an array to and fro between two.

    Args:
        wanted: its type in each of the graphs that are given it.
    """

    def __init__(self, site: Site, k: int, value: Value, *wanted: TensorType) -> None:
        self.site, self.k = site, k
        self.places: tuple[Array, ...]
        self.lengths: list[Arguments] = []
        if isinstance(value, Scalar):
            self.places = (site.memory(value),)
            return
        self.places = (site.temporary(value.dtype, value.shape), site.temporary(value.dtype, value.shape))
        site.copy(value, self.places[0])
        self.lengths = [argument(site, self.places[0], one)[1:] for one in wanted]

    def before(self, step: str, k: int = 0) -> Arguments:
        """The arguments that are the carry before a step, of the graph with this one of the types."""
        if len(self.places) == 1:
            return [(self.places[0].dtype, self.site.first(self.places[0]))]
        there = self.site.function.alternating(step, self.places[0], self.places[1])
        return [(POINTER, there.pointer), *self.lengths[k]]

    def after(self, step: str) -> str:
        """The pointer to where the carry after a step goes: a scalar has been read by then."""
        if len(self.places) == 1:
            return self.places[0].pointer
        return self.site.function.alternating(step, self.places[1], self.places[0]).pointer

    def result(self, length: str) -> Value:
        """The carry after so many steps."""
        if len(self.places) == 1:
            return self.site.scalar(self.site.first(self.places[0]), self.k)
        array = self.site.allocate(self.k)
        self.site.copy(self.site.function.alternating(length, self.places[0], self.places[1]), array)
        return array


@final
class _Slices:
    """The slices of a sequence."""

    def __init__(self, site: Site, value: Value, wanted: TensorType) -> None:
        self.site, self.array = site, site.contiguous(value)
        self.is_scalar = not wanted.ndim
        inside = self.array.viewed(self.array.shape[1:], self.array.strides[1:])
        self.size = site.function.local("int64", site.length(count(inside.shape)))
        self.lengths = [] if self.is_scalar else argument(site, inside, wanted)[1:]

    @property
    def stepped(self) -> Stepped:
        """The slices as an argument of steps."""
        return Stepped(self.array.dtype, self.array.pointer, self.size, self.is_scalar, self.lengths)

    def at(self, place: str) -> Arguments:
        """The arguments that are the slice at a place."""
        site = self.site
        if self.is_scalar:
            return [(self.array.dtype, site.first(site.target(self.array, place)))]
        there = site.target(self.array, site.function.expression("*", place, self.size))
        return [(POINTER, there.pointer), *self.lengths]


@final
class _Trace:
    """An array with a slice for what each step gives."""

    def __init__(self, site: Site, body: FrozenGraph, operands: Sequence[Value], k: int, inside: int) -> None:
        self.site, number, function = site, site.node.outputs[k], site.function
        lengths = [site.length(n) for n in lengths_inside(body, inside, operands)]
        shape, dtype = function.shape(number), body.types[inside].dtype
        function.give_lengths(shape[1:], number, lengths)
        self.array = site.allocate(k)
        self.size = function.local("int64", site.length(count(shape[1:])))
        self.zero = function.literal(numpy_dtype(dtype).type(0), dtype)

    @property
    def stepped(self) -> Stepped:
        """The slices as an argument of steps."""
        return Stepped(self.array.dtype, self.array.pointer, self.size)

    def at(self, place: str) -> str:
        """The pointer to the slice at a place."""
        return self.site.target(self.array, self.site.function.expression("*", place, self.size)).pointer


def while_loop(op: t.While, site: Site) -> Any:
    """A loop that asks before each step."""
    condition, body, function, n = op.condition, op.body, site.function, op.carries
    if not all(follows_from_inputs(body, k) for k in body.outputs):
        return NotImplemented
    input_types = list(dict.fromkeys([condition.input_types, body.input_types]))  # which may know different lengths
    carries = [_Carry(site, k, value, *(types[k] for types in input_types)) for k, value in enumerate(site.inputs[:n])]
    captured = [v if isinstance(v, Scalar) else site.contiguous(v) for v in site.inputs[n:]]
    held = [_held(site, captured, types[n:]) for types in input_types]
    steps, second = function.place("int64", "0"), function.clock()
    flag = site.memory(Scalar("bool", function.literal(np.False_, "bool")))
    traces = [_Trace(site, op.body, site.inputs, n + 1 + k, body.outputs[n + k]) for k in range(op.traces)]
    for trace in traces:
        site.copy(
            Array(trace.array.dtype, "", trace.array.shape, (0,) * trace.array.ndim, None, trace.zero), trace.array
        )
    status = _Status(site, op.inner_descriptors, n + 1 + op.traces)
    most = op.max_steps if op.max_steps is not None else LONGEST
    with function.steps(str(most)) as step:
        function.leave_if_interrupted(step, second)
        before = [[*(a for c in carries for a in c.before(step, k)), *same] for k, same in enumerate(held)]
        code = function.called(condition, [*before[0], (POINTER, flag.pointer)], status.pointer(condition))
        status.after(code, 0, step)
        function.leave_loop_unless(function.holds(flag))
        places = [(POINTER, c.after(step)) for c in carries] + [(POINTER, y.at(step)) for y in traces]
        code = function.called(body, [*before[-1], *places], status.pointer(body))
        status.after(code, len(condition.checks), step)
        function.put(steps.pointer, 0, function.local("int64", function.expression("+", step, "1")))
    count = function.got(steps.pointer, 0)
    results = [*(c.result(count) for c in carries), site.scalar(count, n), *(y.array for y in traces)]
    return [*results, *status.result]


def cond(op: t.Cond, site: Site) -> Any:
    """The call of the branch that is numbered; results of all go to the same places."""
    function, last = site.function, len(op.branches) - 1
    if not all(follows_from_inputs(graph, k) for graph in op.branches for k in graph.outputs):
        return NotImplemented
    results = [_Branched(site, op, k) for k in range(len(op.branches[0].outputs))]
    status = _Status(site, op.inner_descriptors, len(results))
    index = function.number(site.inputs[0])  # type: ignore[arg-type]
    index = function.local("int64", function.expression("min", index, str(last)))
    index = function.local("int64", function.expression("max", index, "0"))
    arguments = [
        [a for v, w in zip(site.inputs[1:], graph.input_types, strict=True) for a in argument(site, v, w)]
        for graph in op.branches
    ]
    sizes = [[n for r in results for n in r.lengths_in(graph)] for graph in op.branches]
    # in front of the branches, as all else: what is computed in one is not there behind it, where it may be asked for
    fits = [
        [function.expression("==", a, b) for a, b in zip(own, sizes[0], strict=True) if a != b]
        for own in sizes  # memory is as long as what the first branch gives
    ]
    for k, graph in enumerate(op.branches):
        with function.where(function.expression("==", index, str(k))):
            for condition in fits[k]:
                function.require(condition, Failure.UNEQUAL)
            places = [(POINTER, r.array.pointer) for r in results]
            code = function.called(graph, [*arguments[k], *places], status.pointer(graph))
            status.after(code, op.first_check(k))
    return [*(r.result() for r in results), *status.result]


@final
class _Status:
    """The status of a loop or of branches, if anything can fail there."""

    def __init__(self, site: Site, descriptors: Sequence[object], k: int) -> None:
        self.site, self.array = site, site.allocate(k) if descriptors else None
        if self.array is not None:
            cleared(site, self.array.pointer, STATUS)
            self.values = site.target(self.array, "1").pointer

    def pointer(self, graph: FrozenGraph) -> str | None:
        """Place of the values of a check of a graph that fails; None if it has none."""
        return self.values if graph.checks else None

    def after(self, code: str, before: int, step: str | None = None) -> None:
        """Keep what a call gave, whose graph's checks come behind so many, and leave the loop where one failed.

        Args:
            step: of the loop; None where there is none.
        """
        function = self.site.function
        function.leave_unless(function.expression(">=", code, "0"), code)
        if self.array is None:
            return
        if step is not None:
            with function.where(function.expression("!=", code, "0")):
                self._keep(code, before)
                function.put(self.array.pointer, STEP, step)
            function.leave_loop_unless(function.expression("==", code, "0"))
        else:
            self._keep(code, before)

    def _keep(self, code: str, before: int) -> None:
        function = self.site.function
        assert self.array is not None
        number = code
        if before:
            shift = function.expression("*", function.expression("min", code, "1"), str(before))
            number = function.local("int64", function.expression("+", code, shift))
        function.put(self.array.pointer, 0, number)

    @property
    def result(self) -> list[Value]:
        """The status as a result."""
        return [] if self.array is None else [self.array]


@final
class _Branched:
    """A result of branches: memory that each may fill."""

    def __init__(self, site: Site, op: t.Cond, k: int) -> None:
        graph, self.site, self.k, function = op.branches[0], site, k, site.function
        inside, shape = graph.outputs[k], function.shape(site.node.outputs[k])
        dtype = graph.types[inside].dtype
        self.is_scalar = not shape
        if self.is_scalar:
            self.array = site.memory(Scalar(dtype, function.literal(numpy_dtype(dtype).type(0), dtype)))
            return
        lengths = [site.length(n) for n in lengths_inside(graph, inside, site.inputs[1:])]
        function.give_lengths(shape, site.node.outputs[k], lengths)
        self.array = site.allocate(k)

    def lengths_in(self, graph: FrozenGraph) -> list[str]:
        """The lengths that a branch gives it."""
        lengths = lengths_inside(graph, graph.outputs[self.k], self.site.inputs[1:])
        return [self.site.length(n) for n in lengths]

    def result(self) -> Value:
        """The result after one of the branches."""
        return self.site.scalar(self.site.first(self.array), self.k) if self.is_scalar else self.array


RULES: Final[dict[object, Rule]] = {t.Scan: scan, t.While: while_loop, t.Cond: cond}
"""The rules of loops."""
