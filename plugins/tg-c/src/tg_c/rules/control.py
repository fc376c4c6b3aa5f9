"""Inner graphs: each a C function of its own, one for equal graphs, whose result is the status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.checks import STATUS_LENGTH
from tg.ops import control as t
from tg.types.lengths import AxisLength, evaluate
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.shapes import follows_from_inputs, number_of
from tg_native.plan.values import Array, Scalar

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph
    from tg.plugin.records import Rule
    from tg_c.site import Site
    from tg_native.plan.values import Value


def call(op: t.Call, site: Site) -> list[Value]:
    """Call the function of the graph; a check that fails in it is a status for the caller's own check."""
    graph, function = op.graph, site.function
    name = function.unit.function(graph)
    arguments = ["data"]
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
    found = [_result(site, op, k, number, arguments) for k, number in enumerate(graph.outputs)]
    status = site.allocate(len(graph.outputs)) if graph.checks else None
    code = f"code{site.node.outputs[0]}"
    place = f"{status.pointer} + 1" if status is not None else "0"
    if status is not None:
        site.line(f"for (int i = 0; i < {STATUS_LENGTH}; i++) {status.pointer}[i] = 0;")
    site.line(f"const i64 {code} = {name}({', '.join(arguments)}, {place});")
    site.line(f"if ({code} < 0) {{ code = {code}; goto done; }}")
    if status is not None:
        site.line(f"{status.pointer}[0] = {code};")
    for number, inside, value in zip(site.node.outputs, graph.outputs, found, strict=False):
        if isinstance(value, Array) and not follows_from_inputs(graph, inside):
            function.adopted(number, value, code)
    return [*found, status] if status is not None else found


def _result(site: Site, op: t.Call, k: int, number: int, arguments: list[str]) -> Value:
    """Where a result of the call goes, and the arguments that say so."""
    graph = op.graph
    dtype = graph.types[number].dtype
    name = site.names[k]
    if not graph.types[number].shape:
        site.line(f"{WORDS[dtype]} {name} = {{0}};")
        arguments.append(f"&{name}")
        return Scalar(dtype, name)
    if follows_from_inputs(graph, number):
        site.function.give_lengths(site.node.outputs[k], [site.length(n) for n in _lengths(site, graph, number)])
        array = site.allocate(k)
        arguments.append(array.pointer)
        return array
    array = site.function.adopt(site.node.outputs[k])
    assert array.buffer is not None
    arguments += [f"&{array.buffer.name}", f"d{site.node.outputs[k]}"]
    return array


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
