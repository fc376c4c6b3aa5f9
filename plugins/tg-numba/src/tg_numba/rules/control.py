"""Inner graphs: each a function of its own, one for equal graphs, whose result is the status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.checks import STATUS_LENGTH
from tg.link.shapes import follows_from_inputs, number_of
from tg.link.values import Array, Scalar, row_major
from tg.ops import control as t
from tg.types.lengths import AxisLength, evaluate
from tg_numba.nest import INDENT
from tg_numba.site import Failure
from tg_numba.text import item_size

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph
    from tg.link.values import Value
    from tg.plugin.records import Rule
    from tg_numba.site import Site


def call(op: t.Call, site: Site) -> list[Value]:
    """Call the function of the graph; a check that fails in it is a status for the caller's own check."""
    graph = op.graph
    name = site.unit.function(graph)
    arguments: list[str] = []
    for value, wanted in zip(site.inputs, graph.input_types, strict=True):
        if isinstance(value, Scalar):
            arguments.append(value.text)
            continue
        array = site.contiguous(value)
        arguments.append(array.pointer)
        for n, known in zip(array.shape, wanted.shape, strict=True):
            if known is None:
                arguments.append(site.length(n))
            else:
                site.same(n, known)
    results = [_Result(site, graph, k) for k in range(len(graph.outputs))]
    arguments += [text for result in results for text in result.arguments]
    if any(not result.is_given for result in results):
        site.function.memory.needs_arena = True
        arguments.append("arena")
    status = site.allocate(len(graph.outputs)) if graph.checks else None
    if status is not None:
        for k in range(STATUS_LENGTH):
            site.line(f"{status.pointer}[{k}] = 0")
        arguments.append(f"shift({status.pointer}, 1)")
    code = site.local(f"{name}({', '.join(arguments)})")
    site.line(f"if {code} < 0:\n{INDENT}return {code}")
    if status is not None:
        site.line(f"{status.pointer}[0] = {code}")
    found = [result.value(code) for result in results]
    return [*found, status] if status is not None else found


class _Result:
    """Where a result of the call goes, and the arguments that say so."""

    def __init__(self, site: Site, graph: FrozenGraph, k: int) -> None:
        inside = graph.outputs[k]
        self.site, self.k, self.number = site, k, site.node.outputs[k]
        self.dtype, self.ndim = graph.types[inside].dtype, graph.types[inside].ndim
        self.is_given = follows_from_inputs(graph, inside)
        if not self.ndim:
            self.place = site.local(f"at(frame(16), {site.word(self.dtype)})")
            site.line(f"{self.place}[0] = {site.unit.literal(0, self.dtype)}")
            self.arguments = [self.place]
        elif self.is_given:
            site.function.give_lengths(self.number, [site.length(n) for n in _lengths(site, graph, inside)])
            self.array = site.allocate(k)
            self.arguments = [self.array.pointer]
        else:
            self.place, self.lengths = (site.local(f"at(frame({size}), i64)") for size in (8, 8 * self.ndim))
            site.line(f"{self.place}[0] = 0")
            for axis in range(self.ndim):
                site.line(f"{self.lengths}[{axis}] = 0")
            self.arguments = [self.place, self.lengths]

    def value(self, code: str) -> Value:
        """The result, after the call with this code."""
        if not self.ndim:
            element = f"{self.place}[0]" + (" != 0" if self.dtype == "bool" else "")
            return self.site.scalar(element, self.k)
        return self.array if self.is_given else self._adopted(code)

    def _adopted(self, code: str) -> Array:
        """An array in memory that the call took; where it failed, there is memory all the same."""
        site, shape = self.site, self.site.types[self.k].shape
        texts = [site.local(f"{self.lengths}[{axis}]") for axis in range(self.ndim)]
        site.function.give_lengths(self.number, texts)
        for text, n in zip(texts, shape, strict=True):
            if n is not None and not site.function.is_own(n, self.number):
                site.require(f"{code} != 0 or {text} == {site.length(n)}", Failure.UNEQUAL)
        buffer = site.function.memory.adopted(f"adopted {self.number}")
        site.line(f"{buffer.name} = {self.place}[0]")
        known: Any = shape
        size = site.function.memory.size_text(known, item_size(self.dtype))
        site.line(f"if {buffer.name} == 0:\n{INDENT}{buffer.name} = take(arena, {size})")
        site.require(f"{buffer.name} != 0", Failure.MEMORY)
        pointer = site.local(f"at({buffer.name}, {site.word(self.dtype)})")
        return Array(self.dtype, pointer, known, row_major(known), buffer)


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
