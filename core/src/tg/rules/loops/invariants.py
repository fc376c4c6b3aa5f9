"""Loop-invariant code motion: what depends on captured values alone is computed before the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.graph.frozen import FrozenGraph
from tg.graph.nodes import Constant, Variable, apply
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.comparison import less
from tg.ops.elementwise.exponential import exp
from tg.ops.iteration import scan, while_loop
from tg.ops.loops import Scan, While
from tg.ops.reduction import sum as sum_of
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import pass_of
from tg.rules.loops.steps import (
    VIEWS,
    constants_of,
    has_given_lengths,
    is_safe,
    kept_inputs,
    may_be_length,
    read_by_checks,
    with_parts,
)
from tg.types.lengths import product, same
from tg.types.lengths import subtract as length_less

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import Node
    from tg.graph.nodes import Apply
    from tg.graph.view import View
    from tg.types.tensor_type import TensorType


def _is_constant(v: Variable) -> bool:
    return isinstance(v, Constant)


@pass_of(Scan, phase=SPECIALIZE, kind=EXACT, example=lambda x, y: scan(lambda c, _: (c * exp(y), c), x, None, 9)[1])
def _scan_invariants(view: View) -> dict[int, Variable]:
    """Loops that capture what their steps would compute of captured values alone.

    What depends on captured values alone is the same in all steps.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan):
            replacements.update(_hoisted(node, node.op, view))
    return replacements


def _hoisted(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, held, operands = op.body, op.carries + op.sequences, node.inputs[op.first :]
    leaving = _leaving(body, held, operands, _may_leave)
    if not leaving:
        return {}
    live = kept_inputs(body, held, leaving)
    smaller = with_parts(body, [*live, *leaving], body.outputs)
    results = apply(op.with_body(smaller), [*node.inputs[: op.first], *(operands[k] for k in live), *leaving.values()])
    return {id(old): new for old, new in zip(view.results(node), results, strict=True)}


def _leaving(
    body: FrozenGraph, held: int, operands: Sequence[Variable], may_leave: Callable[..., bool]
) -> dict[int, Variable]:
    """The values of a step that are worth computing where no step is made, as they are there."""
    values: dict[int, Variable] = {**dict(enumerate(operands[held:], held)), **constants_of(body)}
    makers: dict[int, Node] = {}
    for one in body.nodes:
        inputs = [values[k] for k in one.inputs if k in values]
        if len(inputs) == len(one.inputs) and may_leave(one, body, inputs) and not all(map(_is_constant, inputs)):
            (number,) = one.outputs
            (values[number],), makers[number] = apply(one.op, inputs), one
    reads = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack, leaving = [*reads, *body.outputs, *read_by_checks(body)], dict[int, Variable]()
    while stack:
        number = stack.pop()
        if number in makers and number not in leaving:
            if _pays(makers[number], body):
                leaving[number] = values[number]
            else:
                stack.extend(makers[number].inputs)
    return leaving


def _until_larger(x: Variable, y: Variable) -> Variable:
    """Result of three steps at most, as long as a sum is below one of exponentials."""
    return while_loop(lambda c: less(sum_of(c), sum_of(exp(y))), lambda c: add(c, exp(y)), x, max_steps=3)  # type: ignore[no-any-return]


@pass_of(While, phase=SPECIALIZE, kind=EXACT, example=_until_larger)
def _while_invariants(view: View) -> dict[int, Variable]:
    """Loops that capture what asking and stepping would compute of captured values alone.

    What depends on captured values alone is the same in all steps, and whenever it is asked for the next.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, While):
            replacements.update(_hoisted_from_both(node, node.op, view))
    return replacements


def _hoisted_from_both(node: Apply, op: While, view: View) -> dict[int, Variable]:
    n, graphs = op.carries, op.inner_graphs()
    of_condition, stepped = (_leaving(graph, n, node.inputs, _may_leave_unasked) for graph in graphs)
    if not of_condition and not stepped:
        return {}
    read = {k for graph, out in zip(graphs, (of_condition, stepped), strict=True) for k in kept_inputs(graph, n, out)}
    live = [k for k in range(len(node.inputs)) if k in read]
    smaller = []
    for graph, out, ahead, behind in ((op.condition, of_condition, {}, stepped), (op.body, stepped, of_condition, {})):
        others = [v.type for v in (*ahead.values(), *behind.values())]
        wider, own = _with_more_inputs(graph, others), [k + len(others) for k in out]
        more = list(range(graph.arity, graph.arity + len(others)))
        inputs = [*live, *(more if ahead else []), *own, *(more if behind else [])]
        smaller.append(with_parts(wider, inputs, wider.outputs))
    operands = [*(node.inputs[k] for k in live), *of_condition.values(), *stepped.values()]
    results = apply(op.with_inner_graphs(smaller), operands)
    return {id(old): new for old, new in zip(view.results(node), results, strict=True)}


def _with_more_inputs(graph: FrozenGraph, types: Sequence[TensorType]) -> FrozenGraph:
    """A graph with inputs besides, the last ones, which it does not read."""
    first, by = graph.arity, len(types)
    number = [*range(first), *range(first + by, len(graph.types) + by)]
    nodes = [
        one._replace(inputs=tuple(number[k] for k in one.inputs), outputs=tuple(number[k] for k in one.outputs))
        for one in graph.nodes
    ]
    checks = [
        check._replace(condition=number[check.condition], values=tuple(number[k] for k in check.values))
        for check in graph.checks
    ]
    return FrozenGraph(
        first + by,
        [*graph.types[:first], *types, *graph.types[first:]],
        graph.constants,
        nodes,
        [number[k] for k in graph.outputs],
        checks,
        {number[k]: name for k, name in graph.names.items()},
        graph.origins,
        {number[k]: facts for k, facts in graph.assumed.items()},
    )


def _may_leave_unasked(node: Node, body: FrozenGraph, inputs: Sequence[Variable]) -> bool:
    """Whether a node may be computed where nothing is required of its operands' lengths but what is known."""
    if not _may_leave(node, body, inputs):
        return False
    shapes = [v.shape for v in inputs if v.type.ndim]
    return not body.checks or all(len(s) == len(shapes[0]) and all(map(same, s, shapes[0])) for s in shapes)


def _may_leave(node: Node, body: FrozenGraph, inputs: Sequence[Variable]) -> bool:
    """Whether a node may be computed where no step is made, before what the checks of a step guard.

    Lengths stay: what is known of them inside follows from how they are computed.
    """
    op = node.op
    if len(node.outputs) != 1 or op.has_effect or op.calls_python or op.inner_descriptors:
        return False
    if may_be_length(node.outputs[0], body) or not has_given_lengths(node.outputs[0], body):
        return False
    return is_safe(node) if body.checks else True


def _pays(node: Node, body: FrozenGraph) -> bool:
    """Whether a value is worth memory: not if it is a view, or much of little."""
    if isinstance(node.op, VIEWS):
        return False
    if not node.op.pointwise:
        return True
    types: Sequence[TensorType] = body.types
    if any(None in types[k].shape for k in (node.outputs[0], *node.inputs)):
        types = body.symbolic
    size, *sizes = (product(types[k].shape) for k in (node.outputs[0], *node.inputs))  # type: ignore[arg-type]
    return any(type(more := length_less(size, n)) is int and more <= 0 for n in sizes)


PASSES = (_scan_invariants, _while_invariants)
