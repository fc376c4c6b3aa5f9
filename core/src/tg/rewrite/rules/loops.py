"""Loops: what nobody reads is not computed, what does not change is no carry, what a step need not compute leaves it.

What depends on captured values alone is computed before the loop. Functions of single numbers that take long go out of
it as one operation on all steps, which computes several at a time: before it if they are of sequences, and behind it if
no later step needs them. What a loop has computed is kept for the one that reads its traces, and sums of what there is
of all steps are no carries.
"""

from __future__ import annotations

import functools
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.checks import STATUS_LENGTH
from tg.graph.frozen import LENGTH_TYPE, FrozenCheck, FrozenGraph, Node, Origin, ValueSlot
from tg.graph.nodes import Constant, Variable, apply, size_value
from tg.ops.contraction import matmul
from tg.ops.creation import zeros
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import equal, less
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.record import Elementwise
from tg.ops.iteration import scan, while_loop
from tg.ops.loops import Cond, Scan, While
from tg.ops.reduction import Reduce
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, expand_dims, ravel, stack, swapaxes
from tg.ops.shape_ops import AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import INEXACT, Pass, node_rule
from tg.types.lengths import AxisLength as AxisAtom
from tg.types.lengths import atoms, equal_here, evaluate, product, same
from tg.types.lengths import subtract as length_less

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tg.graph.function_graph import View
    from tg.graph.nodes import Apply
    from tg.rewrite.rule import Outputs
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType

ARRAY: Final = 4.0  # what it costs to write an element and to read it again, in additions
VIEWS: Final = (AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)  # which compute nothing
MOST_STEPS: Final = 8  # of a loop that is written out, and
MOST_NODES: Final = 32  # nodes of what takes its place: on `c` 48, over vectors, took 1.7 times as long as the loop
SHARED: Final = 0.5  # of a step's nodes that another has too: then both are one
LARGE: Final = 16  # elements of an array: with fewer a step has little to do at a time
NONE: Final[Mapping[int, Constant]] = MappingProxyType({})


def _of_known_length(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop whose length is a constant."""
    op = node.op
    assert isinstance(op, Scan)
    length = node.inputs[0] if op.first else None
    if not isinstance(length, Constant) or int(length.data) < 0:
        return None
    return apply(Scan(op.body, op.carries, op.sequences, int(length.data), op.reverse), node.inputs[1:])


def _of_one_step(node: Apply, outputs: Outputs) -> Outputs | None:
    """What a loop of no step or one gives, without a loop."""
    op = node.op
    assert isinstance(op, Scan)
    return _unrolled(op, node, outputs) if op.length in (0, 1) else None


def _of_few_steps(node: Apply, outputs: Outputs) -> Outputs | None:
    """What a loop of few steps gives, written out, where these can be computed with one another."""
    op = node.op
    assert isinstance(op, Scan)
    if op.length is None or op.length > MOST_STEPS or op.length * len(op.body.nodes) > MOST_NODES:
        return None
    is_fusible = all(one.op.pointwise or isinstance(one.op, VIEWS) for one in op.body.nodes)
    return _unrolled(op, node, outputs) if is_fusible else None


def _unrolled(op: Scan, node: Apply, outputs: Outputs) -> Outputs | None:
    body, n, length = op.body, op.carries, op.length
    carries, sequences, captured = op.parts(node.inputs)
    if length is None or body.checks or body.assumed or _has_effect(body):
        return None
    if any(v.type.shape[0] != length for v in sequences):
        return None
    traces: list[list[Variable]] = [[] for _ in range(op.traces)]
    for t in reversed(range(length)) if op.reverse else range(length):
        made = body.instantiate([*carries, *(v[t] for v in sequences), *captured])
        carries = made[:n]
        for found, v in zip(traces, made[n:], strict=True):
            found.append(v)
    results = list(carries)
    for old, found in zip(outputs[n:], traces, strict=True):
        if found:
            results.append(stack(found[::-1] if op.reverse else found))
        elif any(getattr(a, "owner", None) is old for k in old.shape for a in atoms(k)):
            return None  # a length that nothing but the trace has
        else:
            results.append(broadcast_to(Constant(np.zeros((), old.type.numpy_dtype)), old.shape))
    return tuple(results) if all(new.type.refines(v.type) for new, v in zip(results, outputs, strict=True)) else None


def _without_unused(view: View) -> dict[int, Variable]:
    """Loops and branches without results that nobody reads, and operands that they do not need."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan):
            found.update(_reduced(node, node.op, view))
        elif isinstance(node.op, Cond):
            found.update(_with_fewer_results(node, node.op, view))
    return found


def _with_fewer_results(node: Apply, op: Cond, view: View) -> dict[int, Variable]:
    results, count = view.results(node), len(op.branches[0].outputs)
    used = [k for k in range(count) if view.uses(results[k])]
    narrow, read = _of_results(op, used)
    if not used or (len(used) == count and len(read) == len(node.inputs) - 1):
        return {}
    made = apply(narrow, [node.inputs[0], *(node.inputs[1 + k] for k in read)])
    found = {id(results[k]): v for k, v in zip(used, made, strict=False)}
    return found | ({id(results[-1]): made[-1]} if op.inner_descriptors else {})


def _of_results(op: Cond, wanted: Sequence[int]) -> tuple[Cond, list[int]]:
    """The branches with some of their results only, and which of their inputs any of them reads."""
    branches = [with_parts(g, range(g.arity), [g.outputs[k] for k in wanted]) for g in op.branches]
    read = sorted({k for g in branches for k in _kept_inputs(g, 0, ())})
    return Cond(tuple(with_parts(g, read, g.outputs) for g in branches)), read


def _reduced(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, results = op.body, op.carries, view.results(node)
    used = [k for k in range(len(body.outputs)) if view.uses(results[k])]
    fixed = {k for k in range(n) if body.outputs[k] == k}  # the carry after a step is the one before it
    traces = dict.fromkeys(body.outputs[k] for k in used if k >= n)  # by what is traced: equal ones are one
    needed = _needed(body, n, [k for k in used if k < n], traces)
    carries = [k for k in range(n) if k in needed and k not in fixed]
    sequences = [k for k in range(n, n + op.sequences) if k in needed]
    captured = [k for k in (*sorted(fixed), *range(n + op.sequences, body.arity)) if k in needed]
    order = [*carries, *sequences, *captured]
    if len(order) == body.arity and not fixed and len(traces) == op.traces:
        return {}
    given, operands = node.inputs[: op.first], node.inputs[op.first :]
    narrow = body.with_nodes([_with_needed(one, needed) for one in body.nodes])
    smaller = with_parts(narrow, order, [*(body.outputs[k] for k in carries), *traces])
    found: dict[int, Variable] = {id(results[k]): operands[k] for k in fixed if view.uses(results[k])}
    length = op.length
    if not sequences and not traces and not carries and not body.checks:
        return found
    loop = Scan(smaller, len(carries), len(sequences), length, op.reverse)
    new = apply(loop, [*given, *(operands[k] for k in order)])
    places = {number: len(carries) + k for k, number in enumerate(traces)}
    for k in used:
        if k >= n:
            found[id(results[k])] = new[places[body.outputs[k]]]
        elif k not in fixed:
            found[id(results[k])] = new[carries.index(k)]
    if body.checks:
        found[id(results[-1])] = new[-1]
    return found


def _needed(body: FrozenGraph, carries: int, finals: Iterable[int], traces: Iterable[int]) -> set[int]:
    """The values of a step on which results depend that are read, by way of other carries as well."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    seen: set[int] = set()
    stack = [*_asked(body), *traces, *finals]
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        if number < carries:
            stack.append(body.outputs[number])
        elif number in makers:
            stack.extend(_with_needed(makers[number], {number}).inputs)
    return seen


def _with_needed(node: Node, needed: set[int]) -> Node:
    """A node, of branches that cannot fail with the results only that are needed."""
    op = node.op
    wanted = [k for k, number in enumerate(node.outputs) if number in needed]
    if not isinstance(op, Cond) or op.inner_descriptors or not 0 < len(wanted) < len(node.outputs):
        return node
    narrow, read = _of_results(op, wanted)
    inputs = (node.inputs[0], *(node.inputs[1 + k] for k in read))
    return Node(narrow, inputs, tuple(node.outputs[k] for k in wanted))


def with_parts(
    body: FrozenGraph, inputs: Sequence[int], outputs: Sequence[int], known: Mapping[int, Constant] = NONE
) -> FrozenGraph:
    """A graph with other inputs and outputs, which are any of its values; without nodes that these do not need.

    Args:
        known: inputs that become constants.
    """
    given = {*inputs, *known}
    makers = {number: k for k, node in enumerate(body.nodes) for number in node.outputs if number not in given}
    needed: set[int] = set()
    stack = [*outputs, *_asked(body)]
    while stack:
        k = makers.get(stack.pop())
        if k is not None and k not in needed:
            needed.add(k)
            stack.extend(body.nodes[k].inputs)
    nodes = sorted(needed)
    read = {number for k in nodes for number in body.nodes[k].inputs}
    read.update(outputs, _asked(body))
    constants = {k: c for k in read if (c := known[k] if k in known else body.constant(k)) is not None}
    order = [*inputs, *sorted(constants), *(number for k in nodes for number in body.nodes[k].outputs)]
    new = {old: k for k, old in enumerate(order)}
    moved = [
        node._replace(inputs=tuple(new[v] for v in node.inputs), outputs=tuple(new[v] for v in node.outputs))
        for node in (body.nodes[k] for k in nodes)
    ]
    checks = [
        check._replace(condition=new[check.condition], values=tuple(new[v] for v in check.values))
        for check in body.checks
    ]
    return FrozenGraph(
        len(inputs),
        [body.types[k] for k in order],
        [constants[k] for k in sorted(constants)],
        moved,
        [new[v] for v in outputs],
        checks,
        {new[k]: name for k, name in body.names.items() if k in new and k not in known},
        {k: body.origins[old] for k, old in enumerate(nodes) if old in body.origins},
        {new[k]: facts for k, facts in body.assumed.items() if k in new and k not in known},
    )


def _asked(body: FrozenGraph) -> list[int]:
    """What the checks of a graph read."""
    return [v for check in body.checks for v in (check.condition, *check.values)]


# --- what is known where a loop stands -------------------------------------------------------------------------------


def _without_proved(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop, or branches, without checks that lengths are equal which are known to be where it stands."""
    op = node.op
    before = op.inner_graphs()
    after = []
    for graph, inner in zip(before, op.inner_inputs(len(node.inputs)), strict=True):
        has_lengths = [one.is_same or t.ndim for one, t in zip(inner, graph.input_types, strict=True)]
        operands = [node.inputs[one.operand] if has else None for one, has in zip(inner, has_lengths, strict=True)]
        after.append(_unchecked(graph, operands, required=isinstance(op, Scan)))
    if all(a is b for a, b in zip(before, after, strict=True)):
        return None
    made = apply(op.with_inner_graphs(after), node.inputs)
    return made if len(made) == len(outputs) else (*made, Constant(np.zeros(STATUS_LENGTH, np.int64)))


def _unchecked(graph: FrozenGraph, operands: Sequence[Variable | None], *, required: bool) -> FrozenGraph:
    """A graph without the checks of lengths that hold for operands of the lengths that these have.

    Args:
        operands: what has the lengths of the inputs; None for an input that is a number.
        required: whether where the operands are the graph's own requirements are checked before it runs.
    """
    if not any(map(_is_of_lengths, graph.checks)):
        return graph
    makers = {number: one for one in graph.nodes for number in one.outputs}
    values: dict[int, Variable | None] = {**dict(enumerate(operands)), **_constants(graph)}
    is_equal = equal_here if required else same
    kept = []
    for check in graph.checks:
        asked = makers.get(check.condition)
        if asked is not None and asked.op is equal.op and _is_of_lengths(check):
            a, b = (_length_outside(k, makers, values) for k in asked.inputs)
            if a is not None and b is not None and is_equal(size_value(a), size_value(b)):
                continue
        kept.append(check)
    if len(kept) == len(graph.checks):
        return graph
    parts = (graph.arity, graph.types, graph.constants, graph.nodes, graph.outputs, kept)
    return FrozenGraph(*parts, graph.names, graph.origins, graph.assumed)


def _is_of_lengths(check: FrozenCheck) -> bool:
    """Whether a check is one that an op needs of the lengths of its operands."""
    return check.descriptor.error == "ShapeError" and not check.descriptor.stated


def _length_outside(number: int, makers: Mapping[int, Node], values: dict[int, Variable | None]) -> Variable | None:
    """An integer of a graph that follows from the lengths of its inputs, computed from what these lengths are of."""
    if number not in values:
        one = makers[number]
        of_lengths = type(one.op) is AxisLength and one.inputs[0] not in makers
        if of_lengths or (isinstance(one.op, Elementwise) and one.op.fn.checks is None and len(one.outputs) == 1):
            given = [_length_outside(k, makers, values) for k in one.inputs]
            known = [v for v in given if v is not None]
            values[number] = one.op(*known) if len(known) == len(given) else None
        else:
            values[number] = None
    return values[number]


def _constants(body: FrozenGraph) -> dict[int, Variable]:
    return dict(enumerate(body.constants, body.arity))


def _is_constant(v: Variable) -> bool:
    return isinstance(v, Constant)


# --- what is the same in all steps -----------------------------------------------------------------------------------


def _with_constants(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop whose step knows the numbers that it captures."""
    op = node.op
    assert isinstance(op, Scan)
    operands, held = node.inputs[op.first :], op.carries + op.sequences
    known = {k: v for k, v in enumerate(operands) if k >= held and isinstance(v, Constant) and not v.type.ndim}
    if not known:
        return None
    order = [k for k in range(len(operands)) if k not in known]
    body = with_parts(op.body, order, op.body.outputs, known)
    return apply(op.with_body(body), [*node.inputs[: op.first], *(operands[k] for k in order)])


def _without_repeated(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop that captures what a sequence has in all its places."""
    op = node.op
    assert isinstance(op, Scan)
    operands, n = node.inputs[op.first :], op.carries
    found = {k: v for k in range(n, n + op.sequences) if (v := _repeated(operands[k])) is not None}
    if not found:
        return None
    others = [k for k in range(len(operands)) if k not in found]
    body = with_parts(op.body, [*others, *found], op.body.outputs)
    made = Scan(body, n, op.sequences - len(found), op.length, op.reverse)
    return apply(made, [*node.inputs[: op.first], *(operands[k] for k in others), *found.values()])


def _without_steps(node: Apply, outputs: Outputs) -> Outputs | None:
    """What steps that hand nothing on give of each element of their sequences, as operations on whole sequences."""
    op = node.op
    assert isinstance(op, Scan)
    body, operands = op.body, node.inputs[op.first :]
    if op.carries or body.checks or not all(_is_safe(one) or type(one.op) is Cast for one in body.nodes):
        return None
    ranks = {t.ndim for t in body.input_types[: op.sequences]}
    held = (*body.input_types[op.sequences :], *(c.type for c in body.constants))
    if len(ranks) != 1 or any(t.ndim for t in held):
        return None
    values = {**dict(enumerate(operands)), **_constants(body)}
    of_slices = set(range(op.sequences))
    for one in body.nodes:
        (number,) = one.outputs
        (values[number],) = apply(one.op, [values[k] for k in one.inputs])
        if not of_slices.isdisjoint(one.inputs):
            of_slices.add(number)
    return tuple(values[k] for k in body.outputs) if of_slices.issuperset(body.outputs) else None


def _repeated(v: Variable) -> Variable | None:
    """The slice of which a sequence consists."""
    if isinstance(v, Constant):
        count = len(v.data)
        return Constant(v.data[0].copy()) if count and v.data.tobytes() == v.data[:1].tobytes() * count else None
    if v.apply is None or type(v.apply.op) is not BroadcastTo:
        return None
    x = v.inputs[0]
    if x.type.ndim == v.type.ndim:
        if x.type.shape[0] != 1:
            return None
        (x,) = apply(Squeeze((-x.type.ndim,)), [x])
    wanted = v.shape[1:]
    if len(wanted) == x.type.ndim and all(map(same, x.shape, wanted)):
        return x
    return broadcast_to(x, wanted)


def _without_invariants(view: View) -> dict[int, Variable]:
    """Loops that capture what their steps would compute of captured values alone."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan):
            found.update(_hoisted(node, node.op, view))
    return found


def _hoisted(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, held, operands = op.body, op.carries + op.sequences, node.inputs[op.first :]
    leaving = _leaving(body, held, operands, _may_leave)
    if not leaving:
        return {}
    kept = _kept_inputs(body, held, leaving)
    smaller = with_parts(body, [*kept, *leaving], body.outputs)
    made = apply(op.with_body(smaller), [*node.inputs[: op.first], *(operands[k] for k in kept), *leaving.values()])
    return {id(old): new for old, new in zip(view.results(node), made, strict=True)}


def _leaving(
    body: FrozenGraph, held: int, operands: Sequence[Variable], may_leave: Callable[..., bool]
) -> dict[int, Variable]:
    """The values of a step that are worth computing where no step is made, as they are there."""
    values: dict[int, Variable] = {**dict(enumerate(operands[held:], held)), **_constants(body)}
    makers: dict[int, Node] = {}
    for one in body.nodes:
        inputs = [values[k] for k in one.inputs if k in values]
        if len(inputs) == len(one.inputs) and may_leave(one, body, inputs) and not all(map(_is_constant, inputs)):
            (number,) = one.outputs
            (values[number],), makers[number] = apply(one.op, inputs), one
    reads = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack, leaving = [*reads, *body.outputs, *_asked(body)], dict[int, Variable]()
    while stack:
        number = stack.pop()
        if number in makers and number not in leaving:
            if _pays(makers[number], body):
                leaving[number] = values[number]
            else:
                stack.extend(makers[number].inputs)
    return leaving


def _without_invariants_of_while(view: View) -> dict[int, Variable]:
    """Loops that capture what asking and stepping would compute of captured values alone."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, While):
            found.update(_hoisted_from_both(node, node.op, view))
    return found


def _hoisted_from_both(node: Apply, op: While, view: View) -> dict[int, Variable]:
    n, graphs = op.carries, op.inner_graphs()
    asked, stepped = (_leaving(graph, n, node.inputs, _may_leave_unasked) for graph in graphs)
    if not asked and not stepped:
        return {}
    read = {k for graph, out in zip(graphs, (asked, stepped), strict=True) for k in _kept_inputs(graph, n, out)}
    kept = [k for k in range(len(node.inputs)) if k in read]
    smaller = []
    for graph, out, ahead, behind in ((op.condition, asked, {}, stepped), (op.body, stepped, asked, {})):
        others = [v.type for v in (*ahead.values(), *behind.values())]
        wider, own = _with_more_inputs(graph, others), [k + len(others) for k in out]
        more = list(range(graph.arity, graph.arity + len(others)))
        inputs = [*kept, *(more if ahead else []), *own, *(more if behind else [])]
        smaller.append(with_parts(wider, inputs, wider.outputs))
    given = [*(node.inputs[k] for k in kept), *asked.values(), *stepped.values()]
    made = apply(op.with_inner_graphs(smaller), given)
    return {id(old): new for old, new in zip(view.results(node), made, strict=True)}


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
    if _may_be_length(node.outputs[0], body) or not _has_given_lengths(node.outputs[0], body):
        return False
    return _is_safe(node) if body.checks else True


def _has_given_lengths(number: int, body: FrozenGraph) -> bool:
    """Whether the lengths of a value follow from those of what a step is given."""
    if None not in body.types[number].shape:
        return True
    found = [atom for n in body.symbolic[number].shape for atom in atoms(n)]
    return all(type(a) is AxisAtom and a.owner.number < body.arity for a in found)  # type: ignore[attr-defined]


def _may_be_length(number: int, body: FrozenGraph) -> bool:
    """Whether a value is of the type that lengths have."""
    return not body.types[number].ndim and body.types[number].dtype == "int64"


def _pays(node: Node, body: FrozenGraph) -> bool:
    """Whether a value is worth memory: not if it is a view, or much of little."""
    if isinstance(node.op, VIEWS):
        return False
    if not node.op.pointwise:
        return True
    types: Sequence[TensorType] = body.types
    if any(None in types[k].shape for k in (node.outputs[0], *node.inputs)):
        types = body.symbolic
    size, *given = (product(types[k].shape) for k in (node.outputs[0], *node.inputs))  # type: ignore[arg-type]
    return any(type(more := length_less(size, n)) is int and more <= 0 for n in given)


def _kept_inputs(body: FrozenGraph, first: int, leaves: Iterable[int]) -> list[int]:
    """The inputs of a step, from some number on only those that it reads where other values are given as well."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    stack, seen = [*body.outputs, *_asked(body)], set[int](leaves)
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            stack.extend(makers[number].inputs if number in makers else ())
    return [k for k in range(body.arity) if k < first or k in seen]


# --- what is computed for all steps at once --------------------------------------------------------------------------


def _is_safe(node: Node) -> bool:
    """Whether a node is of single elements and cannot fail."""
    return isinstance(node.op, Elementwise) and node.op.fn.checks is None


def _is_of_numbers(node: Node, body: FrozenGraph) -> bool:
    """Whether a node is a function of single numbers."""
    return _is_safe(node) and not any(body.types[k].ndim for k in (*node.inputs, *node.outputs))


def _cost(node: Node) -> float:
    return node.op.fn.cost  # type: ignore[attr-defined,no-any-return]


def _with_dear_ahead(view: View) -> dict[int, Variable]:
    """Loops before which functions of their sequences are computed that take long."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.sequences:
            found.update(_ahead(node, node.op, view))
    return found


def _ahead(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, held = op.body, op.carries, op.carries + op.sequences
    slices = {k for k in range(n, held) if not body.types[k].ndim}
    known = {*slices, *range(held, body.arity + len(body.constants))}
    leaving: dict[int, Node] = {}  # of slices, and by more than it costs to keep an array
    makers: dict[int, Node] = {}
    spent: dict[int, float] = {}
    of_slices = set(slices)
    for one in body.nodes:
        if known.issuperset(one.inputs) and _is_of_numbers(one, body):
            number = one.outputs[0]
            known.add(number)
            makers[number] = one
            if not of_slices.isdisjoint(one.inputs):
                of_slices.add(number)
                spent[number] = _cost(one) + sum(spent.get(k, 0.0) for k in set(one.inputs))
                if spent[number] >= ARRAY:
                    leaving[number] = one
    reads = {k for one in body.nodes if one.outputs[0] not in leaving for k in one.inputs}
    reads.update(body.outputs, _asked(body))
    new = [k for k in leaving if k in reads]
    if not new:
        return {}
    kept = _kept_inputs(body, n, new)
    fewer = op.sequences - sum(n <= k < held for k in kept)
    if sum(map(_cost, leaving.values())) < ARRAY * (len(new) - fewer):
        return {}
    operands = node.inputs[op.first :]
    values: dict[int, Variable] = dict(enumerate(operands[n:], n))
    _replayed(body, makers, new, values)
    xs = [k for k in kept if n <= k < held]
    rest = [k for k in kept if k >= held]
    smaller = with_parts(body, [*range(n), *xs, *new, *rest], body.outputs)
    given = [*operands[:n], *(values[k] for k in (*xs, *new)), *(operands[k] for k in rest)]
    loop = Scan(smaller, n, len(xs) + len(new), op.length, op.reverse)
    made = apply(loop, [*node.inputs[: op.first], *given])
    return {id(old): v for old, v in zip(view.results(node), made, strict=True)}


def _replayed(
    body: FrozenGraph, makers: Mapping[int, Node], wanted: Iterable[int], values: dict[int, Variable]
) -> None:
    """Compute values of a step for all steps; `values` has what they are computed of, and gets them."""
    needed: set[int] = set()
    stack = list(wanted)
    values.update(_constants(body))
    while stack:
        number = stack.pop()
        if number in makers and number not in needed and number not in values:
            needed.add(number)
            stack.extend(makers[number].inputs)
    for number in sorted(needed):  # as the nodes stand
        one = makers[number]
        (values[number],) = apply(one.op, [values[k] for k in one.inputs])


def _with_dear_behind(view: View) -> dict[int, Variable]:
    """Loops behind which functions of what they trace are computed that take long and that no step needs."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.traces and not node.op.body.checks:
            found.update(_behind(node, node.op, view))
    return found


def _behind(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n = op.body, op.carries
    makers = {number: one for one in body.nodes for number in one.outputs}
    numbers = {k: one for k, one in makers.items() if _is_of_numbers(one, body)}
    in_steps = _ancestors(makers, body.outputs[:n])
    leaving = {v for v in body.outputs[n:] if v in numbers and v not in in_steps}
    may_be_read = numbers.keys() | set(range(n, body.arity + len(body.constants)))
    changing = set(range(n + op.sequences))
    leaving = {
        v
        for v in leaving
        if (found := _ancestors(makers, [v])) - in_steps <= may_be_read and not found.isdisjoint(changing)
    }
    moved = {v: numbers[v] for v in _ancestors(makers, leaving) - in_steps if v in numbers}
    if sum(map(_cost, moved.values())) < ARRAY:
        return {}
    traced = dict.fromkeys(v for v in body.outputs[n:] if v not in leaving)
    outside = {*range(n, body.arity + len(body.constants)), *traced}
    again = {v: one for v, one in numbers.items() if _cost(one) < ARRAY}  # cheaper to compute again than to keep
    new: dict[int, None] = {}
    for v in sorted({k for one in moved.values() for k in one.inputs if k not in moved}):
        if not _follows(v, outside, again):
            new[v] = None
            outside.add(v)
    if len(new) > len(leaving):
        return {}
    kept = [*traced, *new]
    smaller = with_parts(body, range(body.arity), [*body.outputs[:n], *kept])
    made = apply(op.with_body(smaller), node.inputs)
    traces = dict(zip(kept, made[n:], strict=True))
    values: dict[int, Variable] = {**traces, **dict(enumerate(node.inputs[op.first + n :], n))}
    _replayed(body, again | moved, leaving, values)
    results = [*made[:n], *(traces[v] if v in traces else values[v] for v in body.outputs[n:])]
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _ancestors(makers: Mapping[int, Node], numbers: Iterable[int]) -> set[int]:
    """Values, and all that they are computed of."""
    stack, seen = list(numbers), set[int]()
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            stack.extend(makers[number].inputs if number in makers else ())
    return seen


def _follows(number: int, outside: set[int], again: Mapping[int, Node]) -> bool:
    """Whether a value of a step can be computed of what there is of all steps, by few operations that take no time."""
    spent, stack = 0.0, [number]
    while stack:
        k = stack.pop()
        if k in outside:
            continue
        if k not in again or spent > ARRAY:
            return False
        spent += _cost(again[k])
        stack.extend(again[k].inputs)
    return spent <= ARRAY


# --- what another loop has computed ----------------------------------------------------------------------------------


def _without_repetition(view: View) -> dict[int, Variable]:
    """Loops one of which traces what another would compute again of what it traces: each in one pair at most."""
    found: dict[int, Variable] = {}
    taken: set[int] = set()
    for node in view.applies:
        if isinstance(node.op, Scan):
            makers = [v.apply for v in node.op.parts(node.inputs)[1] if v.apply is not None]
            for other in dict.fromkeys(one for one in makers if isinstance(one.op, Scan)):
                if taken.isdisjoint((id(node), id(other))):
                    more = _repeating(node, node.op, other, other.op, view)
                    found.update(more)
                    taken.update((id(node), id(other)) if more else ())
    return found


def _repeating(node: Apply, op: Scan, other: Apply, first: Scan, view: View) -> dict[int, Variable]:
    body, n, held, operands = op.body, op.carries, op.carries + op.sequences, node.inputs[op.first :]
    before = view.results(other)
    same_as = _in_both(node, op, other, first, before)
    of_lengths = _deciding_lengths(body)
    makers = {v: one for one in body.nodes if (v := one.outputs[0]) in same_as and v not in of_lengths}
    stack = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack += [*body.outputs, *_asked(body)]
    traced, taken = dict.fromkeys(first.body.outputs[first.carries :]), dict[int, None]()
    moving = _moving(body, held)
    while stack:
        k = stack.pop()
        if k not in makers or k in taken:
            continue
        spent = sum(_price(makers[v]) for v in _ancestors(makers, [k]) if v in makers)
        is_worth = spent >= (1 if same_as[k] in traced else ARRAY)
        has_place = k in moving and not _may_be_length(k, body) and not isinstance(makers[k].op, VIEWS)
        if is_worth and has_place and _has_given_lengths(same_as[k], first.body):
            taken[k] = None
        else:
            stack.extend(makers[k].inputs)
    if not taken:
        return {}
    traced.update(dict.fromkeys(same_as[k] for k in taken))
    more = with_parts(first.body, range(first.body.arity), [*first.body.outputs[: first.carries], *traced])
    made = apply(first.with_body(more), other.inputs)
    traces = dict(zip(traced, made[first.carries :], strict=False))
    results = [*made[: first.carries], *(traces[v] for v in first.body.outputs[first.carries :])]
    found = {id(old): new for old, new in zip(before, [*results, made[-1]], strict=False)}
    kept = _kept_inputs(body, n, taken)
    xs, rest = [k for k in kept if n <= k < held], [k for k in kept if k >= held]
    smaller = with_parts(body, [*range(n), *xs, *taken, *rest], body.outputs)
    given = [*operands[:n], *(operands[k] for k in xs), *(traces[same_as[k]] for k in taken)]
    loop = Scan(smaller, n, len(xs) + len(taken), op.length, op.reverse)
    again = apply(loop, [*node.inputs[: op.first], *given, *(operands[k] for k in rest)])
    return found | {id(old): new for old, new in zip(view.results(node), again, strict=True)}


def _moving(body: FrozenGraph, held: int) -> set[int]:
    """The values of a step that may differ from step to step: what depends on more than lengths of what is given."""
    found = set(range(held))
    for one in body.nodes:
        if type(one.op) is not AxisLength and not found.isdisjoint(one.inputs):
            found.update(one.outputs)
    return found


def _in_both(node: Apply, op: Scan, other: Apply, first: Scan, before: Outputs) -> dict[int, int]:
    """Of values of a step those of a step of another loop that are the same, at the same place."""
    body, inside = op.body, first.body
    known = {id(v): first.carries + k for k, v in enumerate(other.inputs[first.first + first.carries :])}
    traces = {id(before[k]): inside.outputs[k] for k in range(first.carries, len(inside.outputs))}
    found: dict[int, int] = {}
    for k, v in enumerate(node.inputs[op.first :]):
        place = known.get(id(v))
        is_slice, was_slice = (
            k < op.carries + op.sequences,
            place is not None and place < first.carries + first.sequences,
        )
        if k >= op.carries and id(v) in traces and is_slice:
            found[k] = traces[id(v)]
        elif k >= op.carries and place is not None and is_slice == was_slice:
            found[k] = place
    numbers = {_literal(c): inside.arity + k for k, c in enumerate(inside.constants)}
    for k, c in enumerate(body.constants, body.arity):
        if _literal(c) in numbers:
            found[k] = numbers[_literal(c)]
    table = {(one.op, one.inputs): one.outputs for one in inside.nodes}
    for one in body.nodes:
        if len(one.outputs) == 1 and all(k in found for k in one.inputs) and not one.op.has_effect:
            inputs = tuple(found[k] for k in one.inputs)
            (number,) = (
                table.get((one.op, inputs)) or (one.op.commutes and table.get((one.op, inputs[::-1]))) or (None,)
            )
            if number is not None and inside.types[number] == body.types[one.outputs[0]]:
                found[one.outputs[0]] = number
    return found


def _deciding_lengths(body: FrozenGraph) -> set[int]:
    """The int64 scalars of a step that lengths follow from, and the lengths themselves.

    They stay: what is known of lengths inside follows from how they are computed, and a slice says nothing.
    """
    makers = {number: one for one in body.nodes for number in one.outputs}
    lengths = [one.outputs[0] for one in body.nodes if isinstance(one.op, AxisLength)]
    sizes = [one.inputs[k] for one in body.nodes for k in one.op.size_operands(len(one.inputs))]
    return {k for k in _ancestors(makers, [*lengths, *sizes]) if body.types[k] == LENGTH_TYPE}


def _literal(c: Constant) -> tuple[object, ...]:
    return (c.type, c.data.tobytes())


def _price(node: Node) -> float:
    """What a node costs for each element, in additions; of what is not elementwise more than any array."""
    if isinstance(node.op, VIEWS):
        return 0.0
    return _cost(node) if isinstance(node.op, Elementwise) else 2 * ARRAY


# --- loops beside one another ----------------------------------------------------------------------------------------


class _Loop(NamedTuple):
    """Loops that are to become one: what is given to its steps, and of which results its carries and traces are."""

    body: FrozenGraph
    carries: list[Variable]
    sequences: list[Variable]
    captured: list[Variable]
    finals: list[list[Variable]]
    traces: list[list[Variable]]
    status: tuple[Variable, ...]

    @classmethod
    def of(cls, node: Apply, op: Scan, view: View) -> _Loop:
        """One loop."""
        carries, sequences, captured = op.parts(node.inputs)
        results, n, count = view.results(node), op.carries, len(op.body.outputs)
        finals, traces = [[v] for v in results[:n]], [[v] for v in results[n:count]]
        return cls(op.body, list(carries), list(sequences), list(captured), finals, traces, results[count:])

    def inputs(self) -> list[Variable]:
        """The operands in the order of the body's inputs."""
        return [*self.carries, *self.sequences, *self.captured]

    def results(self) -> list[list[Variable]]:
        """What each result is of the loops that this one takes the place of."""
        return [*self.finals, *self.traces, *([v] for v in self.status)]


def _without_siblings(view: View, least: float = SHARED) -> dict[int, Variable]:
    """Loops of one length that do not need one another as one loop.

    Args:
        least: the share of the smaller step's nodes that are to be in both; loops of few numbers without arrays are
            joined anyway if it is 0.
    """
    found: dict[int, Variable] = {}
    if sum(isinstance(node.op, Scan) for node in view.applies) < 2:
        return found
    groups: dict[object, list[tuple[Apply, Scan]]] = {}
    for node, depth in _depths(view):
        op = node.op
        if isinstance(op, Scan) and not _has_effect(op.body):
            groups.setdefault((depth, op.length, op.reverse, bool(op.carries)), []).append((node, op))
    for group in groups.values():
        waiting = group
        while len(waiting) > 1:
            (first, op), *others = waiting
            loop = _Loop.of(first, op, view)
            members, waiting = [loop], []
            for node, other in others:
                may_join = _are_of_one_length(first, node, op) and not (loop.status and other.body.checks)
                one = _Loop.of(node, other, view)
                joined = _joined(loop, one, least) if may_join else None
                if joined is None:
                    waiting.append((node, other))
                else:
                    loop = joined
                    members.append(one)
            if len(members) > 1:
                found.update(_replaced_by(loop, members, first, op))
    return found


def _depths(view: View) -> Iterator[tuple[Apply, int]]:
    """The nodes of a graph, each with how many loops there are one behind the other on the way to it.

    Of loops that are as deep none needs another, nor does joining them make others need one another.
    """
    depths: dict[int, int] = {}
    for node in view.applies:
        depth = max((depths.get(id(v.apply), 0) for v in node.inputs), default=0)
        depths[id(node)] = depth + isinstance(node.op, Scan)
        yield node, depth


def _has_effect(body: FrozenGraph) -> bool:
    """Whether a graph, or one inside it, does something besides its results."""
    return any(
        one.op.has_effect or one.op.calls_python or any(map(_has_effect, one.op.inner_graphs())) for one in body.nodes
    )


def _are_of_one_length(a: Apply, b: Apply, op: Scan) -> bool:
    """Whether two loops are known to make as many steps: by more than a check that comes later."""
    if not op.first or a.inputs[0] is b.inputs[0]:
        return True
    n, m = size_value(a.inputs[0]), size_value(b.inputs[0])
    if same(n, m):
        return True
    of_inputs = all(type(k) is AxisAtom and getattr(k.owner, "apply", k) is None for k in (*atoms(n), *atoms(m)))
    return of_inputs and equal_here(n, m)


def _joined(a: _Loop, b: _Loop, least: float) -> _Loop | None:
    """Two loops as one in which what both compute is computed once; None where that is no gain."""
    loops, classes = (a, b), _equal_carries(a, b)
    numbers, table = _numbered(loops, classes)
    sizes = [len(loop.body.nodes) for loop in loops]
    shared = sum(sizes) - sum(type(key) is tuple and key[0] == "node" for key in table)
    if (not shared or shared < (least or SHARED) * min(sizes)) and (least or not all(map(_is_small, loops))):
        return None
    return _in_one_graph(loops, classes, numbers, table)


Table = dict[
    object, tuple[int, int]
]  # of values by what they are: the loop, and the number in it, where they stand first


def _equal_carries(a: _Loop, b: _Loop) -> list[list[int]]:
    """The carries of two loops by classes, of which all that are in one have the same value at every step."""
    known: dict[object, int] = {}
    classes = [
        [known.setdefault((id(v), loop.body.types[k]), len(known)) for k, v in enumerate(loop.carries)]
        for loop in (a, b)
    ]
    while True:
        numbers, _ = _numbered((a, b), classes)
        known = {}
        finer = [
            [known.setdefault((c, found[loop.body.outputs[k]]), len(known)) for k, c in enumerate(own)]
            for loop, own, found in zip((a, b), classes, numbers, strict=True)
        ]
        if finer == classes:
            return classes
        classes = finer


def _numbered(loops: Sequence[_Loop], classes: Sequence[Sequence[int]]) -> tuple[list[list[int]], Table]:
    """The values of a step of each loop by numbers, equal ones for equal values; and where each stands first."""
    table: Table = {}
    keys: dict[object, int] = {}
    found: list[list[int]] = []
    for at, (loop, own) in enumerate(zip(loops, classes, strict=True)):
        body, numbers = loop.body, list[int]()

        def number(key: object, at: int = at, numbers: list[int] = numbers) -> None:
            if key not in keys:
                table[key] = (at, len(numbers))
            numbers.append(keys.setdefault(key, len(keys)))

        kinds = ["carry"] * len(loop.carries) + ["slice"] * len(loop.sequences) + ["held"] * len(loop.captured)
        for k, (kind, v) in enumerate(zip(kinds, loop.inputs(), strict=True)):
            number((kind, own[k] if kind == "carry" else id(v), body.types[k]))
        for c in body.constants:
            number(("constant", *_literal(c)))
        for one in body.nodes:
            inputs = tuple(numbers[k] for k in one.inputs)
            if one.op.commutes:
                inputs = tuple(sorted(inputs))
            for k, out in enumerate(one.outputs):
                number(("node" if not k else "result", one.op, inputs, body.types[out], k))
        found.append(numbers)
    return found, table


def _in_one_graph(
    loops: Sequence[_Loop], classes: Sequence[Sequence[int]], numbers: list[list[int]], table: Table
) -> _Loop:
    """The loop that `_joined` gives."""
    order: list[tuple[int, int]] = []
    for kind in ("carry", "slice", "held", "constant"):
        order += [place for key, place in table.items() if key[0] == kind]  # type: ignore[index]
    counts = [sum(key[0] == kind for key in table) for kind in ("carry", "slice", "held", "constant")]  # type: ignore[index]
    order += [place for key, place in table.items() if key[0] in ("node", "result")]  # type: ignore[index]
    new = {numbers[at][k]: position for position, (at, k) in enumerate(order)}
    where = set(order)

    def moved(at: int, values: Iterable[int]) -> tuple[int, ...]:
        return tuple(new[numbers[at][k]] for k in values)

    nodes, checks, origins, names = list[Node](), list[FrozenCheck](), dict[int, Origin](), dict[int, str]()
    assumed: dict[int, frozenset[str]] = {}
    for at, loop in enumerate(loops):
        for k, one in enumerate(loop.body.nodes):
            if (at, one.outputs[0]) in where:
                origin = loop.body.origins.get(k)
                if origin is not None:
                    origins[len(nodes)] = origin
                nodes.append(one._replace(inputs=moved(at, one.inputs), outputs=moved(at, one.outputs)))
        for k, name in loop.body.names.items():
            names.setdefault(new[numbers[at][k]], name)
        for k, facts in loop.body.assumed.items():
            place = new[numbers[at][k]]
            assumed[place] = assumed.get(place, frozenset()) | facts
        checks += [
            c._replace(condition=moved(at, [c.condition])[0], values=moved(at, c.values)) for c in loop.body.checks
        ]
    n, xs, held, known = counts
    finals: list[list[Variable]] = [[] for _ in range(n)]
    traces: dict[int, list[Variable]] = {}
    after = [0] * n
    for at, loop in enumerate(loops):
        outputs = moved(at, loop.body.outputs)
        for k, results in enumerate(loop.finals):
            (place,) = moved(at, [k])
            finals[place] += results
            after[place] = outputs[k]
        for number, results in zip(outputs[len(loop.carries) :], loop.traces, strict=True):
            traces.setdefault(number, []).extend(results)
    given = [loops[at].inputs()[k] for at, k in order[: n + xs + held]]
    constants = [loops[at].body.constants[k - loops[at].body.arity] for at, k in order[n + xs + held :][:known]]
    types = [loops[at].body.types[k] for at, k in order]
    outputs = (*after, *traces)
    body = FrozenGraph(n + xs + held, types, constants, nodes, outputs, checks, names, origins, assumed)
    status = loops[0].status or loops[1].status
    return _Loop(body, given[:n], given[n : n + xs], given[n + xs :], finals, list(traces.values()), status)


def _is_small(loop: _Loop) -> bool:
    """Whether a step computes few numbers: of two such chains a processor has both in hand."""
    body = loop.body
    sizes = [LARGE if None in t.shape else math.prod(t.shape) for t in body.types]  # type: ignore[arg-type]
    return max(sizes, default=0) < LARGE and not any(type(one.op).graph_fields for one in body.nodes)


def _replaced_by(loop: _Loop, members: Sequence[_Loop], first: Apply, op: Scan) -> dict[int, Variable]:
    """What the results of several loops are: those of the one that takes their place, or of one that has them all."""
    found: dict[int, Variable] = {}
    results = loop.results()
    for one in members:
        own = {id(v) for olds in one.results() for v in olds}
        kept = [[v for v in olds if id(v) in own] for olds in results]
        if all(kept):
            for olds, same_one in zip(results, kept, strict=True):
                found.update((id(v), same_one[0]) for v in olds if id(v) not in own)
            return found
    joined = Scan(loop.body, len(loop.carries), len(loop.sequences), op.length, op.reverse)
    for olds, new in zip(results, apply(joined, [*first.inputs[: op.first], *loop.inputs()]), strict=True):
        found.update((id(v), new) for v in olds)
    return found


# --- sums ------------------------------------------------------------------------------------------------------------


def _of_sums(view: View, replaced: Callable[[Apply, Scan, View], dict[int, Variable]]) -> dict[int, Variable]:
    """What takes the place of loops that carry something and cannot fail."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.carries and not node.op.body.checks:
            found.update(replaced(node, node.op, view))
    return found


def _with_sums_behind(view: View) -> dict[int, Variable]:
    """Loops behind which what their steps only add up is added up."""
    return _of_sums(view, _summed)


def _summed(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, operands = op.body, op.carries, node.inputs[op.first :]
    makers = {number: one for one in body.nodes for number in one.outputs}
    addends = {k: v for k in range(n) if (v := _addend(body, makers, k)) is not None and _is_zero(operands[k])}
    traced = dict.fromkeys(body.outputs[n:])
    products = {}
    for k, v in addends.items():
        factors = _outer_factors(body, makers, v)
        if factors is not None:
            products[k] = factors
            traced.update(dict.fromkeys(u for u in factors if not n <= u < n + op.sequences))
    sums = {k: v for k, v in addends.items() if k not in products and (v in traced or n <= v < n + op.sequences)}
    if not products and not sums:
        return {}
    kept = [k for k in range(n) if k not in products and k not in sums]
    order = [k for k in range(body.arity) if k >= n or k in kept]
    smaller = with_parts(body, order, [*(body.outputs[k] for k in kept), *traced])
    read = _kept_inputs(smaller, len(kept), ())  # what only sums were of is no sequence of the loop
    smaller, order = with_parts(smaller, read, smaller.outputs), [order[k] for k in read]
    loop = Scan(smaller, len(kept), sum(n <= k < n + op.sequences for k in order), op.length, op.reverse)
    made = apply(loop, [*node.inputs[: op.first], *(operands[k] for k in order)])
    carries = dict(zip(kept, made, strict=False))
    values = {**dict(zip(traced, made[len(kept) :], strict=True)), **dict(enumerate(operands[n : n + op.sequences], n))}
    for k, (u, v) in products.items():
        carries[k] = matmul(swapaxes(values[u], 0, 1), values[v])
    for k, v in sums.items():
        carries[k] = sum_of(values[v], 0)
    traces = dict(zip(traced, made[len(kept) :], strict=True))
    results = [*(carries[k] for k in range(n)), *(traces[v] for v in body.outputs[n:])]
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _addend(body: FrozenGraph, makers: Mapping[int, Node], k: int) -> int | None:
    """What each step adds to a carry that nothing else reads; None if there is none."""
    after = body.outputs[k]
    one = makers.get(after)
    if one is None or one.op is not add.op or k not in one.inputs or body.types[k].dtype not in INEXACT:
        return None
    (v,) = [u for u in one.inputs if u != k] or (k,)
    reads = [u for other in body.nodes for u in other.inputs] + list(body.outputs)
    alone = reads.count(k) == 1 and reads.count(after) == 1 and v != k
    return v if alone and body.types[v] == body.types[k] else None


def _outer_factors(body: FrozenGraph, makers: Mapping[int, Node], v: int) -> tuple[int, int] | None:
    """The vectors of which a matrix is the outer product: that of its rows, that of its columns."""
    one = makers.get(v)
    if one is None or one.op is not multiply.op or body.types[v].ndim != 2:
        return None
    found = {}
    for u in one.inputs:
        widened = makers.get(u)
        if widened is None or type(widened.op) is not ExpandDims or body.types[widened.inputs[0]].ndim != 1:
            return None
        found[widened.op.axes] = widened.inputs[0]
    return (found[(-1,)], found[(-2,)]) if found.keys() == {(-1,), (-2,)} else None


def _with_sums_of_elements_behind(view: View) -> dict[int, Variable]:
    """Loops whose steps add elements of arrays up, each by itself, and behind them the sums over these."""
    return _of_sums(view, _summed_behind)


def _summed_behind(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, operands = op.body, op.carries, node.inputs[op.first :]
    makers = {number: one for one in body.nodes for number in one.outputs}
    sums = {k: one for k in range(n) if (one := _sum_of_elements(body, makers, k)) is not None}
    others = [one for one in body.nodes if all(one is not other for other in sums.values())]
    if not sums or not all(one.op.pointwise or isinstance(one.op, (*VIEWS, AxisLength)) for one in others):
        return {}  # only then is an array that is carried one that stays where it is computed with
    if not any(body.types[k].ndim for k in range(n) if k not in sums):
        return {}
    given = list(operands)
    for k, one in sums.items():
        start = _zeros_outside(op, body, operands, one.inputs[0])
        if start is None:
            return {}
        given[k] = start
    made = apply(op.with_body(_with_elements_added(body, makers, sums)), [*node.inputs[: op.first], *given])
    results = list(made)
    for k, one in sums.items():
        (total,) = apply(one.op, [made[k]])
        results[k] = total if _is_zero(operands[k]) else add(operands[k], total)
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _with_elements_added(body: FrozenGraph, makers: Mapping[int, Node], sums: Mapping[int, Node]) -> FrozenGraph:
    """A step that adds the elements to carries, of which it has added sums."""
    types, nodes = list(body.types), list(body.nodes)
    for k, one in sums.items():
        last, (x,), (total,) = makers[body.outputs[k]], one.inputs, one.outputs
        types[k] = types[body.outputs[k]] = body.types[x]
        nodes[nodes.index(last)] = last._replace(inputs=tuple(x if v == total else v for v in last.inputs))
    parts = (body.arity, types, body.constants, nodes, body.outputs, body.checks)
    wide = FrozenGraph(*parts, body.names, body.origins, body.assumed)
    return with_parts(wide, range(body.arity), body.outputs)


def _sum_of_elements(body: FrozenGraph, makers: Mapping[int, Node], k: int) -> Node | None:
    """The sum over axes that each step adds to a carry, or takes from it, which nothing else reads; None for others."""
    last = makers.get(body.outputs[k])
    if last is None or last.op not in (add.op, subtract.op) or k not in last.inputs[: 1 + (last.op is add.op)]:
        return None
    (total,) = [v for v in last.inputs if v != k] or (k,)
    one = makers.get(total)
    if one is None or type(one.op) is not Reduce or one.op.fn is not add:
        return None
    reads = [v for other in body.nodes for v in other.inputs] + list(body.outputs)
    is_alone = all(reads.count(v) == 1 for v in (k, total, body.outputs[k]))
    is_same = body.types[total] == body.types[k] and body.types[k].dtype in INEXACT
    return one if is_alone and is_same else None


def _zeros_outside(op: Scan, body: FrozenGraph, operands: Sequence[Variable], number: int) -> Variable | None:
    """Zeros like a value of a step, outside of the loop; None where its lengths are not those of operands."""
    first, last = op.carries, op.carries + op.sequences

    def length_of(atom: Any) -> int | Length | None:
        owner = getattr(atom, "owner", None)
        if type(atom) is not AxisAtom or not isinstance(owner, ValueSlot) or owner.number >= body.arity:
            return None
        v = operands[owner.number]
        return v.shape[1:][atom.axis] if first <= owner.number < last else v.shape[atom.axis]

    shape: Any = body.symbolic[number].shape
    if any(length_of(atom) is None for length in shape for atom in atoms(length)):
        return None
    return zeros([evaluate(length, length_of) for length in shape], dtype=body.types[number].dtype)


def _is_zero(v: Variable) -> bool:
    if v.apply is not None and type(v.apply.op) is BroadcastTo:
        v = v.inputs[0]
    return isinstance(v, Constant) and not v.data.any()


def _over_numbers(x: Variable, step: Any) -> Variable:
    """What steps over the elements of an array give."""
    return scan(step, Constant(np.zeros((), x.type.numpy_dtype)), ravel(x))[1]  # type: ignore[no-any-return]


def _exponentials_again(x: Variable) -> Variable:
    """What a loop gives that computes exponentials which one before it has computed."""
    _, carries = scan(lambda c, v: (exp(c) * v, c), x, broadcast_to(x, (9, *x.shape)))
    return scan(lambda c, v: (c * exp(v), c), x, carries)[1]  # type: ignore[no-any-return]


def _until_larger(x: Variable, y: Variable) -> Variable:
    """What three steps at most give, as long as a sum is below one of exponentials."""
    return while_loop(lambda c: less(sum_of(c), sum_of(exp(y))), lambda c: add(c, exp(y)), x, max_steps=3)  # type: ignore[no-any-return]


def _alike(x: Variable) -> Variable:
    """What two loops over the elements of an array give, whose carries are the same."""
    first, second = (lambda c, v: (c * exp(c) + v, c * v)), (lambda c, v: (c * exp(c) + v, c - v))
    return add(_over_numbers(x, first), _over_numbers(x, second))


def _two_chains(x: Variable) -> Variable:
    """What two loops over the elements of an array give, which both compute exponentials."""
    return add(_over_numbers(x, lambda c, v: (c * exp(c) + v, c)), _over_numbers(x, lambda c, v: (c + v, exp(c) * c)))


def _total(x: Variable) -> Variable:
    """The sum of the elements of an array by a loop that traces nothing."""
    zero = Constant(np.zeros((), x.type.numpy_dtype))
    node = scan(lambda c, v: (c + v, None), zero, ravel(x))[0].apply
    body = node.op.body
    (total,) = apply(node.op.with_body(with_parts(body, range(body.arity), body.outputs[:1])), node.inputs)
    return total


def _total_of_elements(x: Variable) -> Variable:
    """The sum of all elements that some steps have, added up by these."""

    def step(carry: Any, v: Variable) -> Any:
        return (carry[0] * v, carry[1] + sum_of(carry[0])), None

    zero = Constant(np.zeros((), x.type.numpy_dtype))
    return scan(step, (x, zero), broadcast_to(x, (9, *x.shape)))[0][1]  # type: ignore[no-any-return]


def _with_one_captured(x: Variable) -> Variable:
    """What steps over the elements of an array give that are given the number 1."""
    held = Variable(x.type.with_shape(()))
    traced = _over_numbers(x, lambda c, v: (c + v * held, c))
    assert traced.apply is not None
    one = Constant(np.ones((), x.type.numpy_dtype))
    return apply(traced.apply.op, [one if v is held else v for v in traced.inputs])[traced.index]


def _checked(x: Variable, y: Variable) -> Variable:
    """What a loop gives whose steps add a vector to a carry, and check that they are of one length."""
    return scan(lambda c, v: (c * v + ravel(y), c), ravel(x), ravel(x))[1]  # type: ignore[no-any-return]


RULES = (
    node_rule(
        "checked_outside",
        keys=(Scan, While, Cond),
        apply=_without_proved,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Lengths that are known to be equal where a loop stands need not be compared in each step.",
        example=_checked,
    ),
    node_rule(
        "scan_of_known_length",
        keys=(Scan,),
        below=(Constant,),
        apply=_of_known_length,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length that is known needs no operand, and what follows from it is known as well.",
        example=lambda x: scan(lambda c, _: (c + x, c * x), x, None, Constant(np.asarray(3)))[1],
    ),
    node_rule(
        "scan_of_one_step",
        keys=(Scan,),
        apply=_of_one_step,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One step is no loop, and without a step the carries are what they were.",
        example=lambda x: scan(lambda c, v: (c * v, c + v), x, expand_dims(x, 0))[1],
    ),
    node_rule(
        "scan_of_few_steps",
        keys=(Scan,),
        apply=_of_few_steps,
        phase=SPECIALIZE,
        kind=EXACT,
        why="Steps that are written out are computed with one another and with what surrounds them.",
        example=lambda x: scan(lambda c, v: (c * v, c + v), x, stack([x, x, x]))[1],
    ),
    node_rule(
        "scan_of_constants",
        keys=(Scan,),
        below=(Constant,),
        apply=_with_constants,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A step that knows a number may need less than one that is given it.",
        example=_with_one_captured,
    ),
    node_rule(
        "scan_of_repeated",
        keys=(Scan,),
        below=(BroadcastTo, Constant),
        apply=_without_repeated,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What is the same in all steps needs no array of them, and what depends on it alone is computed once.",
        example=lambda x: scan(lambda c, v: (c + v, c * v), x, broadcast_to(x, (3, *x.shape)))[1],
    ),
    node_rule(
        "scan_without_carries",
        keys=(Scan,),
        apply=_without_steps,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Steps on elements that hand nothing on are one operation, shared by the lanes of vectors and by threads.",
        example=lambda x: scan(lambda c, v: (None, exp(v) * v), None, x)[1],
    ),
)

PASSES = (
    Pass(
        "scan_unused",
        keys=(Scan, Cond),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Results that nobody reads need no memory, and what only they depend on is not computed.",
        run=_without_unused,
        example=lambda x: scan(lambda c, v: (c + v, c * v), x, broadcast_to(x, (3, *x.shape)))[0],
    ),
    Pass(
        "scan_invariants",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What depends on captured values alone is the same in all steps.",
        run=_without_invariants,
        example=lambda x, y: scan(lambda c, _: (c * exp(y), c), x, None, 9)[1],
    ),
    Pass(
        "while_invariants",
        keys=(While,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What depends on captured values alone is the same in all steps, and whenever it is asked for the next.",
        run=_without_invariants_of_while,
        example=_until_larger,
    ),
    Pass(
        "scan_dear_behind",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What no later step needs is computed for several steps at a time, and in one loop with what reads it.",
        run=_with_dear_behind,
        example=lambda x: _over_numbers(x, lambda c, v: (c + v, exp(c))),
    ),
    Pass(
        "scan_dear_ahead",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What depends on sequences alone is computed for several steps at a time, out of the way of the carries.",
        run=_with_dear_ahead,
        example=lambda x: _over_numbers(x, lambda c, v: (c + exp(v), c)),
    ),
    Pass(
        "scan_repetition",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What a loop has computed in each step is kept for the one that would compute it again.",
        run=_without_repetition,
        example=_exponentials_again,
    ),
    Pass(
        "scan_sums_of_elements",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="Steps that work on each element by itself can be run element by element; a sum over them waits for all.",
        run=_with_sums_of_elements_behind,
        example=_total_of_elements,
    ),
    Pass(
        "scan_sums",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A sum of what there is of all steps is no carry, and one of outer products is a product of matrices.",
        run=_with_sums_behind,
        example=_total,
    ),
    Pass(
        "scan_siblings",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="Loops that do not need one another and do much alike are one, in which that is done once.",
        run=_without_siblings,
        example=_alike,
    ),
)

CHAINS: Final = Pass(
    "scan_chains",
    keys=(Scan,),
    phase=SPECIALIZE,
    kind=EXACT,
    why="Of two chains in one loop a processor computes one while it waits for the other.",
    run=functools.partial(_without_siblings, least=0.0),
    example=_two_chains,
)
"""For backends that write loops: XLA keeps loops in registers only as long as a step moves less than 1,024 bytes."""
