"""Inner graphs: each a function of its own, one for equal graphs, whose result is the status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.checks import STATUS_LENGTH
from tg.ops import control as t
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import AxisLength, evaluate
from tg_native.kernels.dtypes import item_size
from tg_native.plan.shapes import follows_from_inputs, number_of
from tg_native.plan.values import Array, Scalar, row_major
from tg_numba.operands import literal, loaded, store, type_of
from tg_numba.site import Failure

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph
    from tg.plugin.records import Rule
    from tg_native.plan.values import Value
    from tg_numba.site import Site


def call(op: t.Call, site: Site) -> list[Value]:
    """Call the function of the graph; a check that fails in it is a status for the caller's own check."""
    graph = op.graph
    name = site.unit.function(graph)
    arguments: list[str] = []
    for value, wanted in zip(site.inputs, graph.input_types, strict=True):
        if isinstance(value, Scalar):
            arguments.append(f"{type_of(value.dtype)} {value.text}")
            continue
        array = site.contiguous(value)
        arguments.append(f"ptr {array.pointer}")
        for n, known in zip(array.shape, wanted.shape, strict=True):
            if known is None:
                arguments.append(f"i64 {site.length(n)}")
            else:
                site.same(n, known)
    results = [_Result(site, graph, k) for k in range(len(graph.outputs))]
    arguments += [f"ptr {place}" for result in results for place in result.places]
    if any(not result.is_given for result in results):
        site.function.memory.needs_arena = True
        arguments.append("ptr %arena")
    status = site.allocate(len(graph.outputs)) if graph.checks else None
    if status is not None:
        for k in range(STATUS_LENGTH):
            site.function.put(status.pointer, k, "0")
        arguments.append(f"ptr {site.body.place('i64', status.pointer, '1')}")
    code = site.body.made(f"call i64 @{name}({', '.join(arguments)})")
    site.function.leave_unless(site.body.made(f"icmp sge i64 {code}, 0"), code)
    if status is not None:
        site.function.put(status.pointer, 0, code)
    found = [result.value(code) for result in results]
    return [*found, status] if status is not None else found


class _Result:
    """Where a result of the call goes, and the pointers that say so."""

    def __init__(self, site: Site, graph: FrozenGraph, k: int) -> None:
        inside = graph.outputs[k]
        self.site, self.k, self.number = site, k, site.node.outputs[k]
        self.dtype, self.ndim = graph.types[inside].dtype, graph.types[inside].ndim
        self.is_given = follows_from_inputs(graph, inside)
        if not self.ndim:
            self.places = [site.body.frame("[2 x i64]")]
            store(site.body, self.dtype, literal(numpy_dtype(self.dtype).type(0), self.dtype), self.places[0])
        elif self.is_given:
            site.function.give_lengths(self.number, [site.length(n) for n in _lengths(site, graph, inside)])
            self.array = site.allocate(k)
            self.places = [self.array.pointer]
        else:
            self.places = [site.body.frame("ptr"), site.body.frame("i64", self.ndim)]
            site.body.do(f"store ptr null, ptr {self.places[0]}")
            for axis in range(self.ndim):
                site.function.put(self.places[1], axis, "0")

    def value(self, code: str) -> Value:
        """The result, after the call with this code."""
        if not self.ndim:
            return self.site.scalar(loaded(self.site.body, self.dtype, self.places[0]), self.k)
        return self.array if self.is_given else self._adopted(code)

    def _adopted(self, code: str) -> Array:
        """An array in memory that the call took; where it failed, there is memory all the same."""
        site, body, known = self.site, self.site.body, self.site.types[self.k].shape
        lengths = [
            body.made(f"load i64, ptr {body.place('i64', self.places[1], str(axis))}") for axis in range(self.ndim)
        ]
        site.function.give_lengths(self.number, lengths)
        failed = body.find(f"icmp ne i64 {code}, 0")
        for found, n in zip(lengths, known, strict=True):
            if n is not None and not site.function.is_own(n, self.number):
                is_same = body.find(f"icmp eq i64 {found}, {site.length(n)}")
                site.require(body.find(f"or i1 {failed}, {is_same}"), Failure.UNEQUAL)
        shape: Any = known
        memory = site.function.memory
        buffer = memory.adopted(f"adopted {self.number}")
        there = body.made(f"load ptr, ptr {self.places[0]}")
        memory.take_unless(there, memory.size_text(shape, item_size(self.dtype)), f"%{buffer.name}")
        return Array(self.dtype, f"%{buffer.name}", shape, row_major(shape), buffer)


def _lengths(site: Site, graph: FrozenGraph, number: int) -> list[Any]:
    """The lengths of a result that follow from those of the operands."""

    def value_of(atom: Any) -> Any:
        if type(atom) is not AxisLength:
            return None
        operand = site.inputs[number_of(atom)]
        assert isinstance(operand, Array)
        return operand.shape[atom.axis]

    symbolic: Any = graph.symbolic[number]
    return [evaluate(n, value_of) for n in symbolic.shape]


RULES: Final[dict[object, Rule]] = {t.Call: call}
