"""Inner graphs: each a function of its own, one for equal graphs, whose result is the status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import control as t
from tg.types.atoms import AxisLength
from tg.types.dtypes import numpy_dtype
from tg.types.substitution import evaluate
from tg_native.graphs.failure import STATUS, Failure
from tg_native.kernels.dtypes import item_size
from tg_native.plan.shapes import follows_from_inputs, number_of
from tg_native.plan.values import Array, Scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.plugin.records import Rule
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value

POINTER: Final = ""  # the dtype of an argument that has none


def call(op: t.Call, site: Site) -> list[Value]:
    """Call the function of the graph; a check that fails in it is a status for the caller's own check."""
    graph, function = op.graph, site.function
    pairs = zip(site.inputs, graph.input_types, strict=True)
    arguments = [each for value, wanted in pairs for each in argument(site, value, wanted)]
    results = [_Result(site, graph, k) for k in range(len(graph.outputs))]
    arguments += [(POINTER, place) for result in results for place in result.places]
    status = site.allocate(len(graph.outputs)) if graph.checks else None
    values = None
    if status is not None:
        cleared(site, status.pointer, STATUS)
        values = site.target(status, "1").pointer
    code = function.called(graph, arguments, values)
    function.leave_unless(function.expression(">=", code, "0"), code)
    if status is not None:
        function.put(status.pointer, 0, code)
    outputs = [result.value(code) for result in results]
    return [*outputs, status] if status is not None else outputs


def argument(site: Site, value: Value, wanted: TensorType) -> list[tuple[str, str]]:
    """The arguments that are an operand, with the lengths that the graph does not know."""
    if isinstance(value, Scalar):
        return [(value.dtype, value.text)]
    array = site.contiguous(value)
    arguments = [(POINTER, array.pointer)]
    for n, length in zip(array.shape, wanted.shape, strict=True):
        if length is None:
            arguments.append(("int64", site.length(n)))
        else:
            site.same(n, length)
    return arguments


@final
class _Result:
    """Place of a result of the call, and the pointers that say so."""

    def __init__(self, site: Site, graph: FrozenGraph, k: int) -> None:
        inside = graph.outputs[k]
        self.site, self.k, self.number = site, k, site.node.outputs[k]
        self.dtype, self.ndim = graph.types[inside].dtype, graph.types[inside].ndim
        self.is_handed_over = bool(self.ndim) and not follows_from_inputs(graph, inside)
        function, shape = site.function, site.function.shape(self.number)
        if not self.ndim:
            zero = numpy_dtype(self.dtype).type(0)
            self.array = site.memory(Scalar(self.dtype, function.literal(zero, self.dtype)))
        elif not self.is_handed_over:
            lengths = [site.length(n) for n in lengths_inside(graph, inside, site.inputs)]
            function.give_lengths(shape, self.number, lengths)
            self.array = site.allocate(k)
        else:
            self.buffer = function.memory.adopted(f"adopted {self.number}")
            self.there = function.memory.there(self.buffer)
            self.lengths = site.temporary("int64", (self.ndim,)).pointer
            cleared(site, self.lengths, self.ndim)

    @property
    def places(self) -> tuple[str, ...]:
        """The pointers that the function is given."""
        return (self.there, self.lengths) if self.is_handed_over else (self.array.pointer,)

    def value(self, code: str) -> Value:
        """The result, after the call with this code."""
        if not self.ndim:
            return self.site.scalar(self.site.first(self.array), self.k)
        return self._received(code) if self.is_handed_over else self.array

    def _received(self, code: str) -> Array:
        """An array in memory that the call took; where it failed, there is memory all the same."""
        function, shape = self.site.function, self.site.function.shape(self.number)
        lengths = [function.got(self.lengths, axis) for axis in range(self.ndim)]
        function.give_lengths(shape, self.number, lengths)
        for length, n in zip(lengths, shape, strict=True):
            if not function.is_own(n, self.number):
                is_same = function.expression("==", length, function.length(n))
                failed = function.expression("!=", code, "0")
                function.require(function.expression("or", failed, is_same), Failure.UNEQUAL)
        size = function.memory.size_text(shape, item_size(self.dtype))
        function.memory.received(self.buffer, self.there, size)
        return function.array(self.dtype, shape, self.buffer)


def cleared(site: Site, table: str, count: int) -> None:
    """Write 0 into a table of int64."""
    for at in range(count):
        site.function.put(table, at, "0")


def lengths_inside(graph: FrozenGraph, number: int, operands: Sequence[Value]) -> list[Any]:
    """The lengths of a value of a graph that follow from those of the operands."""

    def value_of(atom: Any) -> Any:
        if type(atom) is not AxisLength:
            return None
        operand = operands[number_of(atom)]
        assert isinstance(operand, Array)
        return operand.shape[atom.axis]

    symbolic: Any = graph.symbolic[number]
    return [evaluate(n, value_of) for n in symbolic.shape]


RULES: Final[dict[object, Rule]] = {t.Call: call}
"""The rules of inner graphs."""
