"""Loops: what nobody reads is not computed, what does not change is no carry, what a step need not compute leaves it.

What depends on captured values alone is computed before the loop. Functions of single numbers that take long go out of
it as one operation on all steps, which computes several at a time: before it if they are of sequences, and behind it if
no later step needs them. What a loop has computed is kept for the one that reads its traces, and sums of what there is
of all steps are no carries.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.frozen import FrozenGraph, ValueSlot
from tg.graph.nodes import Constant, Variable
from tg.ops.contraction import matmul
from tg.ops.creation import zeros
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.record import Elementwise
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.reduction import Reduce
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, ravel, swapaxes
from tg.ops.shape_ops import AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import INEXACT, Pass, node_rule
from tg.types.lengths import AxisLength as AxisLengthAtom
from tg.types.lengths import atoms, evaluate, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.graph.function_graph import View
    from tg.graph.nodes import Apply
    from tg.rewrite.rule import Outputs
    from tg.types.lengths import Length

ARRAY: Final = 4.0  # what it costs to write an element and to read it again, in additions
VIEWS: Final = (BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)  # which compute nothing
NONE: Final[Mapping[int, Constant]] = MappingProxyType({})


def _of_known_length(node: Apply, outputs: Outputs) -> Outputs | None:
    """A loop whose length is a constant."""
    op = node.op
    assert isinstance(op, Scan)
    length = node.inputs[0] if op.first else None
    if not isinstance(length, Constant) or int(length.data) < 0:
        return None
    made = Scan(op.body, op.carries, op.sequences, int(length.data), op.reverse)(*node.inputs[1:])
    return made if isinstance(made, tuple) else (made,)


def _without_unused(view: View) -> dict[int, Variable]:
    """Loops without results that nobody reads, and operands that they do not need."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan):
            found.update(_reduced(node, node.op, view))
    return found


def _reduced(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, results = op.body, op.carries, view.results(node)
    used = [k for k in range(len(body.outputs)) if view.uses(results[k])]
    fixed = {k for k in range(n) if body.outputs[k] == k}  # the carry after a step is the one before it
    traces = dict.fromkeys(body.outputs[k] for k in used if k >= n)  # by what is traced: equal ones are one
    needed = _needed_inputs(body, n, [k for k in used if k < n], traces)
    carries = [k for k in range(n) if k in needed and k not in fixed]
    sequences = [k for k in range(n, n + op.sequences) if k in needed]
    captured = [k for k in (*sorted(fixed), *range(n + op.sequences, body.arity)) if k in needed]
    order = [*carries, *sequences, *captured]
    if len(order) == body.arity and not fixed and len(traces) == op.traces:
        return {}
    given, operands = node.inputs[: op.first], node.inputs[op.first :]
    smaller = with_parts(body, order, [*(body.outputs[k] for k in carries), *traces])
    found: dict[int, Variable] = {id(results[k]): operands[k] for k in fixed if view.uses(results[k])}
    length = op.length
    if not sequences and not traces and not carries and not body.checks:
        return found
    made = Scan(smaller, len(carries), len(sequences), length, op.reverse)(*given, *(operands[k] for k in order))
    new: Sequence[Variable] = made if isinstance(made, tuple) else (made,)
    places = {number: len(carries) + k for k, number in enumerate(traces)}
    for k in used:
        if k >= n:
            found[id(results[k])] = new[places[body.outputs[k]]]
        elif k not in fixed:
            found[id(results[k])] = new[carries.index(k)]
    if body.checks:
        found[id(results[-1])] = new[-1]
    return found


def _needed_inputs(body: FrozenGraph, carries: int, finals: Iterable[int], traces: Iterable[int]) -> set[int]:
    """The inputs of a step on which results depend that are read, by way of other carries as well."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    seen: set[int] = set()
    stack = [*(v for check in body.checks for v in (check.condition, *check.values)), *traces, *finals]
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        if number < carries:
            stack.append(body.outputs[number])
        elif number in makers:
            stack.extend(makers[number].inputs)
    return {k for k in seen if k < body.arity}


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


def _constants(body: FrozenGraph) -> dict[int, Variable]:
    return dict(enumerate(body.constants, body.arity))


def _is_constant(v: Variable) -> bool:
    return isinstance(v, Constant)


def _tuple(made: Variable | Outputs) -> Outputs:
    return made if isinstance(made, tuple) else (made,)


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
    return _tuple(op.with_body(body)(*node.inputs[: op.first], *(operands[k] for k in order)))


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
    return _tuple(made(*node.inputs[: op.first], *(operands[k] for k in others), *found.values()))


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
        (values[number],) = _tuple(one.op(*(values[k] for k in one.inputs)))
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
        (x,) = _tuple(Squeeze((-x.type.ndim,))(x))
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
    values: dict[int, Variable] = {**dict(enumerate(operands[held:], held)), **_constants(body)}
    makers: dict[int, Node] = {}
    for one in body.nodes:
        inputs = [values[k] for k in one.inputs if k in values]
        if len(inputs) == len(one.inputs) and _may_leave(one, body) and not all(map(_is_constant, inputs)):
            (number,) = one.outputs
            (values[number],), makers[number] = _tuple(one.op(*inputs)), one
    reads = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack, leaving = [*reads, *body.outputs, *_asked(body)], dict[int, None]()
    while stack:
        number = stack.pop()
        if number in makers and number not in leaving:
            if _pays(makers[number], body):
                leaving[number] = None
            else:
                stack.extend(makers[number].inputs)
    if not leaving:
        return {}
    kept = _kept_inputs(body, held, leaving)
    smaller = with_parts(body, [*kept, *leaving], body.outputs)
    made = op.with_body(smaller)(*node.inputs[: op.first], *(operands[k] for k in kept), *(values[k] for k in leaving))
    return {id(old): new for old, new in zip(view.results(node), _tuple(made), strict=True)}


def _may_leave(node: Node, body: FrozenGraph) -> bool:
    """Whether a node may be computed where no step is made, before what the checks of a step guard.

    Lengths stay: what is known of them inside follows from how they are computed.
    """
    op = node.op
    if len(node.outputs) != 1 or op.has_effect or op.calls_python or op.inner_descriptors:
        return False
    result = body.types[node.outputs[0]]
    if None in result.shape or (not result.ndim and result.dtype == "int64"):
        return False
    return _is_safe(node) if body.checks else True


def _pays(node: Node, body: FrozenGraph) -> bool:
    """Whether a value is worth memory: not if it is a view, or much of little."""
    if isinstance(node.op, VIEWS):
        return False
    size = math.prod(body.types[node.outputs[0]].shape)  # type: ignore[arg-type]
    given = [body.types[k].shape for k in node.inputs]
    return not node.op.pointwise or size <= max((math.prod(s) for s in given if None not in s), default=1)  # type: ignore[arg-type]


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
    made = _tuple(loop(*node.inputs[: op.first], *given))
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
        (values[number],) = _tuple(one.op(*(values[k] for k in one.inputs)))


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
    made = _tuple(op.with_body(smaller)(*node.inputs))
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
    """Two loops one of which traces what the other would compute again of what it traces: the first two there are."""
    for node in view.applies:
        if isinstance(node.op, Scan):
            makers = [v.apply for v in node.op.parts(node.inputs)[1] if v.apply is not None]
            for other in dict.fromkeys(one for one in makers if isinstance(one.op, Scan)):
                found = _repeating(node, node.op, other, other.op, view)
                if found:
                    return found
    return {}


def _repeating(node: Apply, op: Scan, other: Apply, first: Scan, view: View) -> dict[int, Variable]:
    body, n, held, operands = op.body, op.carries, op.carries + op.sequences, node.inputs[op.first :]
    before = view.results(other)
    same_as = _in_both(node, op, other, first, before)
    makers = {one.outputs[0]: one for one in body.nodes if one.outputs[0] in same_as}
    stack = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack += [*body.outputs, *_asked(body)]
    traced, taken = dict.fromkeys(first.body.outputs[first.carries :]), dict[int, None]()
    while stack:
        k = stack.pop()
        if k not in makers or k in taken:
            continue
        spent = sum(_price(makers[v]) for v in _ancestors(makers, [k]) if v in makers)
        is_worth = spent >= (1 if same_as[k] in traced else ARRAY)
        if is_worth and not isinstance(makers[k].op, VIEWS) and None not in body.types[k].shape:
            taken[k] = None
        else:
            stack.extend(makers[k].inputs)
    if not taken:
        return {}
    traced.update(dict.fromkeys(same_as[k] for k in taken))
    more = with_parts(first.body, range(first.body.arity), [*first.body.outputs[: first.carries], *traced])
    made = _tuple(first.with_body(more)(*other.inputs))
    traces = dict(zip(traced, made[first.carries :], strict=False))
    results = [*made[: first.carries], *(traces[v] for v in first.body.outputs[first.carries :])]
    found = {id(old): new for old, new in zip(before, [*results, made[-1]], strict=False)}
    kept = _kept_inputs(body, n, taken)
    xs, rest = [k for k in kept if n <= k < held], [k for k in kept if k >= held]
    smaller = with_parts(body, [*range(n), *xs, *taken, *rest], body.outputs)
    given = [*operands[:n], *(operands[k] for k in xs), *(traces[same_as[k]] for k in taken)]
    loop = Scan(smaller, n, len(xs) + len(taken), op.length, op.reverse)
    again = _tuple(loop(*node.inputs[: op.first], *given, *(operands[k] for k in rest)))
    return found | {id(old): new for old, new in zip(view.results(node), again, strict=True)}


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


def _literal(c: Constant) -> tuple[object, ...]:
    return (c.type, c.data.tobytes())


def _price(node: Node) -> float:
    """What a node costs for each element, in additions; of what is not elementwise more than any array."""
    if isinstance(node.op, VIEWS):
        return 0.0
    return _cost(node) if isinstance(node.op, Elementwise) else 2 * ARRAY


# --- sums ------------------------------------------------------------------------------------------------------------


def _with_sums_behind(view: View) -> dict[int, Variable]:
    """Loops behind which what their steps only add up is added up."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.carries and not node.op.body.checks:
            found.update(_summed(node, node.op, view))
    return found


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
    loop = Scan(smaller, len(kept), op.sequences, op.length, op.reverse)
    made = _tuple(loop(*node.inputs[: op.first], *(operands[k] for k in order)))
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
    found: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.carries and not node.op.body.checks:
            found.update(_summed_behind(node, node.op, view))
    return found


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
    made = _tuple(op.with_body(_with_elements_added(body, makers, sums))(*node.inputs[: op.first], *given))
    results = list(made)
    for k, one in sums.items():
        (total,) = _tuple(one.op(made[k]))
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
        if type(atom) is not AxisLengthAtom or not isinstance(owner, ValueSlot) or owner.number >= body.arity:
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
    _, carries = scan(lambda c, v: (exp(c) * v, c), x, broadcast_to(x, (3, *x.shape)))
    return scan(lambda c, v: (c * exp(v), c), x, carries)[1]  # type: ignore[no-any-return]


def _total(x: Variable) -> Variable:
    """The sum of the elements of an array by a loop that traces nothing."""
    zero = Constant(np.zeros((), x.type.numpy_dtype))
    node = scan(lambda c, v: (c + v, None), zero, ravel(x))[0].apply
    body = node.op.body
    (total,) = _tuple(node.op.with_body(with_parts(body, range(body.arity), body.outputs[:1]))(*node.inputs))
    return total


def _total_of_elements(x: Variable) -> Variable:
    """The sum of all elements that some steps have, added up by these."""

    def step(carry: Any, v: Variable) -> Any:
        return (carry[0] * v, carry[1] + sum_of(carry[0])), None

    zero = Constant(np.zeros((), x.type.numpy_dtype))
    return scan(step, (x, zero), broadcast_to(x, (3, *x.shape)))[0][1]  # type: ignore[no-any-return]


def _with_one_captured(x: Variable) -> Variable:
    """What steps over the elements of an array give that are given the number 1."""
    held = Variable(x.type.with_shape(()))
    traced = _over_numbers(x, lambda c, v: (c + v * held, c))
    assert traced.apply is not None
    one = Constant(np.ones((), x.type.numpy_dtype))
    return _tuple(traced.apply.op(*(one if v is held else v for v in traced.inputs)))[traced.index]


RULES = (
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
        keys=(Scan,),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Traces that nobody reads need no memory, and what only they depend on is not computed.",
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
        example=lambda x, y: scan(lambda c, _: (c * exp(y), c), x, None, 3)[1],
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
)
