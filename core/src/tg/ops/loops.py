"""Control flow as ops: `Scan` runs a graph once for each step, `While` until a condition fails, `Cond` one of several.

What goes from step to step are *carries*. A sequence gives each step its slice, a trace collects what each step gives;
captured operands are the same in all steps. Where the graph has checks the last result is the status of the first that
fails; the loop ends there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, NotDifferentiable, ShapeError, message
from tg.graph.frozen import FrozenGraph, ValueSlot
from tg.graph.interpret import prepared
from tg.graph.op import InnerInput, Op
from tg.ops.control import lower_checks
from tg.ops.family import Family
from tg.ops.inner import (
    InnerTypes,
    copies,
    inner_types,
    placeholders,
    refused_by_shapes,
    respecialize,
    status_array,
    status_type,
)
from tg.ops.length_checks import size_checks
from tg.types import requirements, substitution
from tg.types.atoms import AxisLength, ScalarValue
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.checks import Check, Descriptor
    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]


@final
class Scan(Op):
    """A graph applied once for each of `length` steps, its first results being its first operands in the next.

    The graph's inputs are the carries, one slice of each sequence, and what is captured; its outputs the carries after
    the step, and what is traced. With `reverse` the last slices come first, and traces are filled from their ends.

    Shapes:
        [length ()], carries (*c), sequences (t, *x), captured (*w) -> carries (*c), traces (t, *y), [status (9)]
    Source:
        `lax.scan` of JAX: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
    """

    body: FrozenGraph
    carries: int
    sequences: int
    length: int | None = None
    """How many steps; None where the first operand says it."""
    reverse: bool = False
    told: tuple[int, ...] = (1, 0)
    """Which of the user's steps step t is: (stride, start) for start + stride · t, () where messages say none of it.

    With a stride that is not 1 the steps between are those of a loop in it.
    """

    @property
    def told_steps(self) -> tuple[int, ...]:
        """The field."""
        return self.told

    @property
    def spelled(self) -> str:
        """The function that makes it."""
        return "tg.scan"

    @property
    def inner_descriptors(self) -> tuple[Descriptor, ...]:
        """The checks of the graph."""
        return tuple(c.descriptor for c in self.body.checks)

    @property
    def lowered(self) -> FrozenGraph:
        """The graph with its checks as a status output: what a backend that cannot raise compiles."""
        return lower_checks(self.body)

    @property
    def first(self) -> int:
        """The position of the first carry among the operands."""
        return 0 if self.length is not None else 1

    @property
    def traces(self) -> int:
        """The number of results that have a slice for each step."""
        return len(self.body.outputs) - self.carries

    @property
    def counts_only(self) -> bool:
        """Whether the length is an ordinary operand: nothing has an axis of that length."""
        return self.length is None and not self.traces and not self.sequences

    def size_operands(self, count: int) -> range:
        """The length, unless it only counts steps."""
        return range(self.first if not self.counts_only else 0)

    def inner_inputs(self, count: int) -> tuple[tuple[InnerInput, ...], ...]:
        """Carries and slices change from step to step, what is captured does not."""
        carries, sequences, captured = self.parts(range(count))
        inputs = [InnerInput(k, is_same=False) for k in carries]
        inputs += [InnerInput(k, is_same=False, is_slice=True) for k in sequences]
        return ((*inputs, *map(InnerInput, captured)),)

    def parts(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Of operands the carries, the sequences and what is captured."""
        at = self.first + self.carries
        return operands[self.first : at], operands[at : at + self.sequences], operands[at + self.sequences :]

    def infer(self, *inputs: Any) -> tuple[TensorType, ...]:
        """The carries' own types, the traces' with the length in front, and that of the status."""
        needed = self.first + self.body.arity
        if len(inputs) != needed:
            raise InputError(message(f"scan: found {len(inputs)} operands, needed {needed}"))
        carries, sequences, _ = self.parts(inputs)
        length: Any = self.length if self.length is not None else inputs[0]
        if self.counts_only and length != TensorType("int64"):
            raise ShapeError(message(f"scan: length: found {length}, needed an int64 scalar"))
        types = self._step_types(inputs)
        for t in sequences:
            requirements.require_same(length, t.shape[0], lambda: "scan: the length and that of a sequence")
        for k, (before, after) in enumerate(zip(carries, types.inside, strict=False)):
            need_same("scan", k, before, after, types)
        traces = []
        for k, (inside, outside) in enumerate(zip(types.inside, types.outside, strict=True)):
            if k >= self.carries:
                self._need_one_length(k - self.carries, inside, types)
                traces.append(TensorType(outside.dtype, (length, *outside.shape)))
        return (*carries, *traces, *([status_type()] if self.body.checks else []))

    def _step_types(self, inputs: Sequence[TensorType]) -> InnerTypes:
        carries, sequences, captured = self.parts(inputs)
        for k, t in enumerate(sequences):
            if not t.shape:
                raise ShapeError(message(f"scan: sequence {k}: found {t}, needed an axis for the steps"))
        slices = [t.with_shape(t.shape[1:]) for t in sequences]
        return inner_types("scan", self.body, [*carries, *slices, *captured])

    def _need_one_length(self, k: int, t: TensorType, types: InnerTypes) -> None:
        """Refuse a trace of which each step decides a length."""
        for n in t.shape:
            for atom in substitution.atoms(n):
                if atom not in types.known and not self._is_captured(atom):
                    text = f"scan: result {k} of a step has a length that each step decides, needed one for all steps"
                    hint = "made before the loop it has one length, and so has what an argument size= gives"
                    raise ShapeError(message(text, *_made_at(self.body, atom), hint=hint))

    def _is_captured(self, atom: Any) -> bool:
        """Whether a length inside the graph is the value of a scalar that is captured."""
        owner = getattr(atom, "owner", None)
        if type(atom) is not ScalarValue or not isinstance(owner, ValueSlot):
            return False
        return self.carries + self.sequences <= owner.number < self.body.arity

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """A length given at run time is one."""
        return size_checks(inputs[: self.first])

    def specialize(self, types: Sequence[TensorType]) -> Op:
        """The graph with types re-inferred for these operands."""
        carries, sequences, captured = self.parts(types)
        body = respecialize(self.body, [*carries, *(t.with_shape(t.shape[1:]) for t in sequences), *captured])
        return self if body is self.body else self.with_body(body)

    def with_body(self, body: FrozenGraph) -> Scan:
        """The same loop over another graph."""
        return Scan(body, self.carries, self.sequences, self.length, self.reverse, self.told)

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """The graph interpreted step by step; where a check fails, placeholders and the status."""
        carries, sequences, captured = self.parts(arrays)
        length = self.length if self.length is not None else int(arrays[0])
        step = prepared(self.body)
        traces: list[Array] = []
        status: tuple[int, ...] = ()
        carries, place = tuple(carries), 0
        for t in range(length):
            place = length - 1 - t if self.reverse else t
            outputs, status = step.run([*carries, *(x[place] for x in sequences), *captured])
            if status:
                break
            carries = outputs[: self.carries]
            for k, y in enumerate(outputs[self.carries :]):
                if t == 0:
                    traces.append(np.empty((length, *y.shape), y.dtype))
                traces[k][place] = y
        if not length:
            types = self.body.output_types[self.carries :]
            traces = [
                np.empty((0, *shape), t.numpy_dtype) for shape, t in zip(self.trace_shapes(arrays), types, strict=True)
            ]
        if status:
            results = [*placeholders("scan", self.body, self._step_shapes(arrays), (length,), self.carries)]
        else:
            results = [*copies([np.asarray(v) for v in carries], arrays), *traces]
        return (*results, status_array(status, place)) if self.body.checks else tuple(results)

    def applications(self, *arrays: Any) -> Iterator[tuple[FrozenGraph, Sequence[Any]]]:
        """The graph, once for each step; a check that fails is the last."""
        carries, sequences, captured = self.parts(arrays)
        length = self.length if self.length is not None else int(arrays[0])
        step = prepared(self.body)
        for t in range(length):
            place = length - 1 - t if self.reverse else t
            operands = [*carries, *(x[place] for x in sequences), *captured]
            yield self.body, operands
            outputs, status = step.run(operands)
            if status:
                return
            carries = outputs[: self.carries]

    def _step_shapes(self, operands: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes of what a step is given, for operands of any library."""
        carries, sequences, captured = self.parts(operands)
        shapes = [tuple(v.shape) for v in carries]
        return [*shapes, *(tuple(v.shape)[1:] for v in sequences), *(tuple(v.shape) for v in captured)]

    def trace_shapes(self, operands: Sequence[Any]) -> list[tuple[int, ...]]:
        """For operands of any library the shape of a slice of each trace, where there is no step that shows it."""
        captured = self.parts(operands)[2]

        def value_of(atom: Any) -> int | None:
            return int(captured[atom.owner.number - self.carries - self.sequences]) if self._is_captured(atom) else None

        pairs = zip(self.body.input_types, self._step_shapes(operands), strict=True)
        types = [t.with_shape(shape) for t, shape in pairs]
        outputs = inner_types("scan", self.body, types).inside[self.carries :]
        return [tuple(int(substitution.evaluate(n, value_of)) for n in t.shape) for t in outputs]  # type: ignore[arg-type]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """A loop in the other direction, which computes each step again from the carries before it."""
        return tools.vjp_scan(self, inputs, outputs, cotangents)  # type: ignore[no-any-return]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """One loop of the values and their tangents."""
        return tools.jvp_scan(self, inputs, tangents)  # type: ignore[no-any-return]

    def batch(self, tools: Any, size: int | Length, inputs: Any, batched: Any) -> Sequence[Any]:
        """One loop, whose steps are batched."""
        return tools.batch_scan(self, size, inputs, batched)  # type: ignore[no-any-return]


def _made_at(graph: FrozenGraph, atom: Any) -> list[tuple[str, str]]:
    """The line of a message that says where a length came up that a graph computes."""
    number = getattr(getattr(atom, "owner", None), "number", None)
    for k, node in enumerate(graph.nodes):
        if number in node.outputs and k in graph.origins and graph.origins[k].locs:
            loc = graph.origins[k].locs[0]
            return [("created at", f"{loc}:  {loc.source}")]
    return []


def _follows(graph: FrozenGraph, number: int) -> bool:
    """Whether the lengths of a value follow from those of the inputs of its graph."""
    atoms = [a for n in graph.symbolic[number].shape if n is not None for a in substitution.atoms(n)]
    return all(type(a) is AxisLength and a.owner.number < graph.arity for a in atoms)  # type: ignore[attr-defined]


def need_same(name: str, k: int, before: TensorType, after: TensorType, types: InnerTypes) -> None:
    """Require the type of a carry after a step to be that before it, as far as the operands decide that.

    Raises:
        InputError: they are of different dtypes or ranks.
    """
    if before.dtype != after.dtype or len(before.shape) != len(after.shape):
        raise InputError(message(f"{name}: carry {k}: found {after} after a step, needed {before} as before"))
    for a, b in zip(before.shape, after.shape, strict=True):
        if types.known.issuperset(substitution.atoms(b)):
            requirements.require_same(a, b, lambda: f"{name}: carry {k} before and after a step")


@final
class While(Op):
    """A graph applied as long as a condition on the carries holds, and at most `max_steps` times.

    Both graphs take the carries and what is captured. Where there is a limit the body may give traces besides: they
    have a slice for every possible step, zeros where none was made.

    Shapes:
        carries (*c), captured (*w) -> carries (*c), steps (), traces (max_steps, *y), [status (9)]
    Source:
        `lax.while_loop` of JAX: https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
    """

    condition: FrozenGraph
    body: FrozenGraph
    carries: int
    max_steps: int | None = None

    @property
    def told_steps(self) -> tuple[int, ...]:
        """Each step is one of the user's."""
        return (1, 0)

    @property
    def spelled(self) -> str:
        """The function that makes it."""
        return "tg.while_loop"

    @property
    def inner_descriptors(self) -> tuple[Descriptor, ...]:
        """The checks of the condition, then those of the body."""
        return tuple(c.descriptor for c in (*self.condition.checks, *self.body.checks))

    @property
    def traces(self) -> int:
        """The number of results that have a slice for each step."""
        return len(self.body.outputs) - self.carries

    def inner_inputs(self, count: int) -> tuple[tuple[InnerInput, ...], ...]:
        """Carries change from step to step, what is captured does not."""
        return (tuple(InnerInput(k, is_same=k >= self.carries) for k in range(count)),) * 2

    def applications(self, *arrays: Any) -> Iterator[tuple[FrozenGraph, Sequence[Any]]]:
        """The condition, then the body, with the carries before each step."""
        operands, steps = list(arrays), 0
        while self.max_steps is None or steps < self.max_steps:
            yield self.condition, operands
            goes_on, status = prepared(self.condition).run(operands)
            if status or not goes_on[0]:
                return
            yield self.body, operands
            outputs, status = prepared(self.body).run(operands)
            if status:
                return
            operands, steps = [*outputs[: self.carries], *arrays[self.carries :]], steps + 1

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The carries' own types, an int64 scalar, the traces' types with the limit in front, that of the status."""
        if len(inputs) != self.body.arity:
            raise InputError(message(f"while: found {len(inputs)} operands, needed {self.body.arity}"))
        (test,) = inner_types("while", self.condition, inputs).inside
        if test != TensorType("bool"):
            raise InputError(message(f"while: condition: found {test}, needed a bool scalar"))
        types = inner_types("while", self.body, inputs, requires=False)
        for k, (before, after) in enumerate(zip(inputs[: self.carries], types.inside, strict=False)):
            need_same("while", k, before, after, types)
        traces = []
        for t in types.outside[self.carries :]:
            if self.max_steps is None or None in t.shape:
                raise ShapeError(message(f"while: trace of {t}: needed max_steps and lengths that do not change"))
            traces.append(TensorType(t.dtype, (self.max_steps, *t.shape)))
        status = [status_type()] if self.condition.checks or self.body.checks else []
        return (*inputs[: self.carries], TensorType("int64"), *traces, *status)

    def specialize(self, types: Sequence[TensorType]) -> Op:
        """The graphs with types re-inferred for these operands."""
        return self.with_inner_graphs([respecialize(g, types) for g in self.inner_graphs()])

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """The graphs interpreted step by step; where a check fails, placeholders and the status."""
        carries, captured = tuple(arrays[: self.carries]), arrays[self.carries :]
        condition, step, steps = prepared(self.condition), prepared(self.body), 0
        status: tuple[int, ...] = ()
        traces: list[Array] = []
        while self.max_steps is None or steps < self.max_steps:
            goes_on, status = condition.run([*carries, *captured])
            if status or not goes_on[0]:
                break
            outputs, status = step.run([*carries, *captured])
            if status:
                status = (status[0] + len(self.condition.checks), *status[1:])
                break
            carries = outputs[: self.carries]
            for k, y in enumerate(outputs[self.carries :]):
                if not steps:
                    traces.append(np.zeros((self.max_steps or 0, *y.shape), y.dtype))
                traces[k][steps] = y
            steps += 1
        if self.traces and not traces:
            shapes, types = self.trace_shapes(arrays), self.body.output_types[self.carries :]
            traces = [
                np.zeros((self.max_steps or 0, *shape), t.numpy_dtype) for shape, t in zip(shapes, types, strict=True)
            ]
        last = copies([np.asarray(v) for v in carries], arrays)
        results = (*last, np.array(steps, np.int64), *traces)
        return (*results, status_array(status, steps)) if self.inner_descriptors else results

    def refused(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The status with which a step fails on carries and captured operands of these shapes; () if it may run."""
        status = refused_by_shapes(self.body, shapes)
        return (status[0] + len(self.condition.checks), *status[1:]) if status else ()

    def trace_shapes(self, operands: Sequence[Any]) -> list[tuple[int, ...]]:
        """For operands of any library the shape of a slice of each trace, where there is no step that shows it."""
        shapes = [t.shape for t in self.body.output_types[self.carries :]]
        if not any(None in shape for shape in shapes):
            return shapes  # type: ignore[return-value]
        pairs = zip(self.body.input_types, operands, strict=True)
        types = [t.with_shape(tuple(v.shape)) for t, v in pairs]
        outputs = inner_types("while", self.body, types, requires=False).outside[self.carries :]
        return [tuple(int(n) for n in t.shape) for t in outputs]  # type: ignore[arg-type]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """A loop backwards over the steps that were made, of at most `max_steps`."""
        if self.max_steps is None:
            text = "while_loop: reverse mode needs to keep every step, found no limit of how many there are"
            raise NotDifferentiable(message(text, hint="max_steps= is such a limit; tg.jvp needs none"))
        return tools.vjp_while(self, inputs, outputs, cotangents)  # type: ignore[no-any-return]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """One loop of the values and their tangents."""
        return tools.jvp_while(self, inputs, tangents)  # type: ignore[no-any-return]

    def batch(self, tools: Any, size: int | Length, inputs: Any, batched: Any) -> Sequence[Any]:
        """One loop, until no element of the batch goes on."""
        return tools.batch_while(self, size, inputs, batched)  # type: ignore[no-any-return]


@final
class Cond(Op):
    """One of several graphs, applied to operands: the one that the first operand numbers; the others do not run.

    A number below 0 counts as 0, one above the last as the last.

    Shapes:
        index (), operands (*x) -> results (*y), [status (9)]
    Source:
        `lax.switch` of JAX: https://docs.jax.dev/en/latest/_autosummary/jax.lax.switch.html
    """

    branches: tuple[FrozenGraph, ...]

    @property
    def spelled(self) -> str:
        """The function that makes it."""
        return "tg.cond"

    @property
    def inner_descriptors(self) -> tuple[Descriptor, ...]:
        """The checks of all branches."""
        return tuple(c.descriptor for graph in self.branches for c in graph.checks)

    def first_check(self, branch: int) -> int:
        """The number of checks before those of a branch."""
        return sum(len(graph.checks) for graph in self.branches[:branch])

    def has_known_lengths(self, k: int) -> bool:
        """Whether the lengths of result k follow from those of the operands in every branch.

        Then branches that differ from the first have a check, which fails where lengths do; else each has its own.
        """
        return all(_follows(graph, graph.outputs[k]) for graph in self.branches)

    def refused(self, branch: int, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The status with which a branch fails on operands of these shapes, whatever they hold; () if it may run."""
        return refused_by_shapes(self.branches[branch], shapes)

    def branch(self, index: int) -> int:
        """The branch that a number stands for."""
        return min(max(index, 0), len(self.branches) - 1)

    def inner_inputs(self, count: int) -> tuple[tuple[InnerInput, ...], ...]:
        """The operands behind the number."""
        return (tuple(map(InnerInput, range(1, count))),) * len(self.branches)

    def applications(self, *arrays: Any) -> Iterator[tuple[FrozenGraph, Sequence[Any]]]:
        """The branch that runs."""
        yield self.branches[self.branch(int(arrays[0]))], arrays[1:]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The branches' common types: of lengths that several know the first one's."""
        if len(inputs) != 1 + self.branches[0].arity:
            raise InputError(message(f"cond: found {len(inputs)} operands, needed {1 + self.branches[0].arity}"))
        if inputs[0] != TensorType("int64"):
            raise InputError(message(f"cond: index: found {inputs[0]}, needed an int64 scalar"))
        kinds = [inner_types("cond", graph, inputs[1:], requires=False).outside for graph in self.branches]
        results = []
        for k, types in enumerate(zip(*kinds, strict=True)):
            if len({(t.dtype, len(t.shape)) for t in types}) > 1:
                shown = " and ".join(str(t) for t in types)
                raise InputError(message(f"cond: result {k}: found {shown}, needed one dtype and rank"))
            shape = [
                next((n for n in each if n is not None), None) for each in zip(*(t.shape for t in types), strict=True)
            ]
            for t in types:
                for n, m in zip(shape, t.shape, strict=True):
                    if type(n) is int and type(m) is int and n != m:
                        raise ShapeError(message(f"cond: result {k}: lengths differ: {n} and {m}"))
            results.append(types[0].with_shape(shape))
        return (*results, status_type()) if self.inner_descriptors else tuple(results)

    def specialize(self, types: Sequence[TensorType]) -> Op:
        """The branches with types re-inferred for these operands."""
        return self.with_inner_graphs([respecialize(graph, types[1:]) for graph in self.branches])

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """The branch interpreted; where a check fails, placeholders and the status."""
        k = self.branch(int(arrays[0]))
        graph = self.branches[k]
        outputs, status = prepared(graph).run(arrays[1:])
        results = copies([np.asarray(v) for v in outputs], arrays)
        if status:
            status = (status[0] + self.first_check(k), *status[1:])
            results = placeholders("cond", self.branches[0], [a.shape for a in arrays[1:]])
        return (*results, status_array(status)) if self.inner_descriptors else results

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of the branch that ran."""
        return tools.vjp_cond(self, inputs, cotangents)  # type: ignore[no-any-return]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pushforward of the branch that runs."""
        return tools.jvp_cond(self, inputs, tangents)  # type: ignore[no-any-return]

    def batch(self, tools: Any, size: int | Length, inputs: Any, batched: Any) -> Sequence[Any]:
        """The branches batched; where the number differs along the batch, each element has its own."""
        return tools.batch_cond(self, size, inputs, batched)  # type: ignore[no-any-return]


FAMILY = Family("loops", ops=(Scan, While, Cond))
