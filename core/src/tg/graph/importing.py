"""Importing: an expression copied into a function graph, specialised, with checks explicit and names beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.errors import RewriteError, message
from tg.graph.checks import Check
from tg.graph.freezing import holds
from tg.graph.nodes import Constant, Variable, as_size_variable, describe_operands
from tg.graph.op import Op
from tg.graph.traversal import key_of, sorted_applies
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.function_graph import FunctionGraph
    from tg.graph.nodes import Apply
    from tg.types.tensor_type import TensorType

    Copies = dict[int | tuple[int, int], Variable]  # by the id of a variable, and by the key of a result


def input_types(inputs: Sequence[Variable], ones: frozenset[tuple[int, int]]) -> list[TensorType]:
    """The types of inputs with the lengths at these places (input, axis from the front) being 1."""
    return [
        v.type.with_shape([1 if (k, axis) in ones else n for axis, n in enumerate(v.type.shape)])
        for k, v in enumerate(inputs)
    ]


def import_apply(graph: FunctionGraph, node: Apply, results: Sequence[Variable | None], copies: Copies) -> None:
    """Copy an apply into a graph, and note the copies of its results."""
    operands = tuple([copies[id(v)] if id(v) in copies else imported(graph, v, copies) for v in node.inputs])
    identity = node.op.named_identity
    placement = None if graph.mesh is None or graph.keeps_derivatives else node.op.on_mesh(graph.mesh)
    if placement is not None or (graph.keeps_derivatives and node.op.is_removed):
        outputs = _specialized(graph, node, operands, placement)
    elif identity is not None:
        outputs = operands[:1]
        graph.assume(operands[0], node.op.assumed_facts)
        for check in node.op.checks(operands, operands[:1]):
            graph._add_check(check._replace(descriptor=check.descriptor.as_stated()), None)
        if identity and operands[0].apply is not None:
            graph.names.setdefault(id(operands[0].apply), identity)
    elif not operands and node.op.named_length is not None:
        outputs = (graph.absorb(as_size_variable(graph.dims.length(node.op.named_length))),)
    elif node.op.stands_for is not None:
        outputs = _inlined(graph, node.op.stands_for, operands)
    elif node.op.is_removed:
        outputs = _expanded(graph, node.op, operands)
    else:
        outputs = _specialized(graph, node, operands)
    first = outputs[0].apply
    if first is not None and results[0] is not None and results[0].name is not None:
        graph.names.setdefault(id(first), results[0].name)
    for k, (old, new) in enumerate(zip(results, outputs, strict=False)):
        copies[id(node), k + 1] = new
        if old is not None:
            copies[id(old)] = new


def _expanded(graph: FunctionGraph, op: Op, operands: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The expansion of an op that differs from it in its derivative, or to re-typing, alone."""
    expansion = op.expansion(*operands)
    outputs = expansion if isinstance(expansion, tuple) else (expansion,)
    values = (*operands, *graph.inputs)  # an expansion may ask for lengths of inputs
    copies: Copies = {id(v): v for v in values}
    for inner, results in sorted_applies(outputs, boundary=values):
        import_apply(graph, inner, results, copies)
    return tuple(imported(graph, v, copies) for v in outputs)


def _inlined(graph: FunctionGraph, frozen: FrozenGraph, operands: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The outputs of a graph on values of this one, with its checks."""
    outputs, checks = frozen.instantiate_with_checks(operands)
    copies: Copies = {id(v): v for v in operands}
    of_checks = [v for check in checks for v in (check.condition, *check.values)]
    for inner, results in sorted_applies([*outputs, *of_checks], boundary=operands):
        import_apply(graph, inner, results, copies)
    import_checks(graph, checks, copies)
    return tuple(imported(graph, v, copies) for v in outputs)


def _specialized(
    graph: FunctionGraph, node: Apply, operands: tuple[Variable, ...], instead: Op | None = None
) -> tuple[Variable, ...]:
    """The results of a node's op, or of one that stands in its place, for operands of these types."""
    op = node.op if instead is None else instead
    if type(op).specialize is not Op.specialize:
        op = op.specialize([v.symbolic_type for v in operands])
    if type(op).graph_fields and not graph.keeps_derivatives:
        op = op.with_inner_graphs([_derived(graph, inner) for inner in op.inner_graphs()])
    try:
        outputs = graph.intern(op, _repeated(graph, op, operands))
    except (TypeError, ValueError) as error:
        describe_operands(error, node.inputs)
        raise
    if op.may_fail or graph._handled < len(graph.needs.found):
        interned = outputs[0].apply
        assert interned is not None
        graph._make_checks(interned)
        outputs = graph.intern(op, _repeated(graph, op, operands))  # which may have turned out to have lengths of 1
    return outputs


def _repeated(graph: FunctionGraph, op: Op, operands: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The operands, lengths of 1 that are known by a check stated where they may be repeated.

    So the type of each says whether it is. That of an input counts as different from 1: a check that it is fails.
    """
    return tuple(map(graph._with_ones, operands)) if graph.needs.ones and type(op).repeats else operands


def import_checks(graph: FunctionGraph, checks: Sequence[Check], copies: Copies) -> None:
    """Copy checks into a graph, on the copies of their values."""
    for condition, values, descriptor in checks:
        taken = imported(graph, condition, copies), tuple(imported(graph, v, copies) for v in values)
        graph._add_check(Check(*taken, descriptor), None)


def imported(graph: FunctionGraph, v: Variable, copies: Copies) -> Variable:
    """The copy of a value in a graph: one that is there, or of a constant."""
    copy = copies.get(id(v))
    if copy is None and v.apply is not None and key_of(v) in copies:  # another variable of the same result
        copy = copies[id(v)] = copies[key_of(v)]
    if copy is None:
        if not isinstance(v, Constant):
            where = (("created at", str(v.loc)),) if v.loc is not None else ()
            hint = "list it among the inputs, or give it a value"
            raise RewriteError(message(f"graph: {v!r} is neither an input nor computed", *where, hint=hint))
        copy = copies[id(v)] = graph.canonical_constant(v)
    return copy


def _derived(graph: FunctionGraph, frozen: FrozenGraph) -> FrozenGraph:
    """A graph that an op holds, without what is said of derivatives or to re-typing alone; itself where none is."""
    if not holds(frozen, lambda op: op.is_removed):
        return frozen
    inputs = [Variable(t, name=frozen.names.get(k)) for k, t in enumerate(frozen.input_types)]
    with Requirements():  # found again where it is imported
        outputs, checks = frozen.instantiate_with_checks(inputs)
    return graph.of(inputs, outputs, checks=checks, mesh=graph.mesh).freeze()
