"""Loops, branches and calls without what nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.graph.frozen import Node
from tg.graph.nodes import apply
from tg.ops.control import Call
from tg.ops.iteration import scan
from tg.ops.loops import Cond, Scan, While
from tg.ops.shape import broadcast_to
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import pass_of
from tg.rules.loops.steps import kept_inputs, read_by_checks, with_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View


@pass_of(
    Scan,
    While,
    Cond,
    Call,
    kind=EXACT,
    example=lambda x: scan(lambda c, v: (c + v, c * v), x, broadcast_to(x, (3, *x.shape)))[0],
)
def _scan_unused(view: View) -> dict[int, Variable]:
    """Loops, branches and calls without results that nobody reads, and operands that they do not need.

    Results that nobody reads need no memory, and what only they depend on is not computed.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan):
            replacements.update(_reduced(node, node.op, view))
        elif isinstance(node.op, Cond | Call):
            replacements.update(_with_fewer_results(node, node.op, view))
        elif isinstance(node.op, While):
            replacements.update(_with_fewer_carries(node, node.op, view))
    return replacements


def _with_fewer_results(node: Apply, op: Cond | Call, view: View) -> dict[int, Variable]:
    results, count = view.results(node), len(op.inner_graphs()[0].outputs)
    used = [k for k in range(count) if view.uses(results[k])]
    narrow, read = _of_results(op, used)
    if not used or (len(used) == count and len(read) == len(node.inputs)):
        return {}
    new = apply(narrow, [node.inputs[k] for k in read])
    replacements = {id(results[k]): v for k, v in zip(used, new, strict=False)}
    return replacements | ({id(results[-1]): new[-1]} if op.inner_descriptors else {})


def _of_results(op: Cond | Call, wanted: Sequence[int]) -> tuple[Cond | Call, list[int]]:
    """Branches or a call with some of their results only, and which of the operands they need."""
    graphs = [with_parts(g, range(g.arity), [g.outputs[k] for k in wanted]) for g in op.inner_graphs()]
    read = sorted({k for g in graphs for k in kept_inputs(g, 0, ())})
    narrow = [with_parts(g, read, g.outputs) for g in graphs]
    return (Call(narrow[0]), read) if isinstance(op, Call) else (Cond(tuple(narrow)), [0, *(1 + k for k in read)])


def _with_fewer_carries(node: Apply, op: While, view: View) -> dict[int, Variable]:
    results = view.results(node)
    used = [k for k in range(op.carries + 1 + op.traces) if view.uses(results[k])]
    read = _read_by_while(op, used)
    narrow, places = _of_carries(op, used, read)
    if not used or (len(read) == len(node.inputs) and len(places) == op.carries + 1 + op.traces):
        return {}
    new = apply(narrow, [node.inputs[k] for k in read])
    replacements = {id(results[k]): v for k, v in zip(places, new, strict=False)}
    return replacements | ({id(results[-1]): new[-1]} if op.inner_descriptors else {})


def _read_by_while(op: While, wanted: Iterable[int]) -> list[int]:
    """The operands of a loop on which some of its results depend, how many steps it makes always among them."""
    n = op.carries
    by_condition = kept_inputs(op.condition, 0, ())
    traces = [op.body.outputs[k - 1] for k in wanted if k > n]
    needed = _needed(op.body, n, [k for k in {*by_condition, *wanted} if k < n], traces)
    return sorted({*by_condition, *(k for k in needed if k < op.body.arity)})


def _of_carries(op: While, wanted: Iterable[int], read: Sequence[int]) -> tuple[While, list[int]]:
    """A loop of the operands that are read, and the numbers of the results that it still has."""
    carries = [k for k in read if k < op.carries]
    traces = [k for k in wanted if k > op.carries]
    outputs = [*(op.body.outputs[k] for k in carries), *(op.body.outputs[k - 1] for k in traces)]
    needed = _needed(op.body, op.carries, carries, outputs)
    narrow = op.body.with_nodes([_with_needed(node, needed) for node in op.body.nodes])
    condition = with_parts(op.condition, read, op.condition.outputs)
    smaller = While(condition, with_parts(narrow, read, outputs), len(carries), op.max_steps)
    return smaller, [*carries, op.carries, *traces]


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
    head, operands = node.inputs[: op.first], node.inputs[op.first :]
    narrow = body.with_nodes([_with_needed(one, needed) for one in body.nodes])
    smaller = with_parts(narrow, order, [*(body.outputs[k] for k in carries), *traces])
    replacements: dict[int, Variable] = {id(results[k]): operands[k] for k in fixed if view.uses(results[k])}
    length = op.length
    if not sequences and not traces and not carries and not body.checks:
        return replacements
    loop = Scan(smaller, len(carries), len(sequences), length, op.reverse, op.told)
    new = apply(loop, [*head, *(operands[k] for k in order)])
    places = {number: len(carries) + k for k, number in enumerate(traces)}
    for k in used:
        if k >= n:
            replacements[id(results[k])] = new[places[body.outputs[k]]]
        elif k not in fixed:
            replacements[id(results[k])] = new[carries.index(k)]
    if body.checks:
        replacements[id(results[-1])] = new[-1]
    return replacements


def _needed(body: FrozenGraph, carries: int, finals: Iterable[int], traces: Iterable[int]) -> set[int]:
    """The values of a step on which results depend that are read, by way of other carries as well."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    visited: set[int] = set()
    stack = [*read_by_checks(body), *traces, *finals]
    while stack:
        number = stack.pop()
        if number in visited:
            continue
        visited.add(number)
        if number < carries:
            stack.append(body.outputs[number])
        elif number in makers:
            stack.extend(_read_for(makers[number], number))
    return visited


def _read_for(node: Node, number: int) -> Sequence[int]:
    """Values that a node reads for one of its results."""
    if isinstance(node.op, While) and not node.op.inner_descriptors:
        return [node.inputs[k] for k in _read_by_while(node.op, [node.outputs.index(number)])]
    return _with_needed(node, {number}).inputs


def _with_needed(node: Node, needed: set[int]) -> Node:
    """A node, of loops, branches or a call that cannot fail with the results and the operands only that are needed."""
    op = node.op
    wanted = [k for k, number in enumerate(node.outputs) if number in needed]
    if isinstance(op, While) and not op.inner_descriptors and wanted:
        read = _read_by_while(op, wanted)
        if len(read) == len(node.inputs):
            return node
        fewer, places = _of_carries(op, wanted, read)
        return Node(fewer, tuple(node.inputs[k] for k in read), tuple(node.outputs[k] for k in places))
    if not isinstance(op, Cond | Call) or op.inner_descriptors or not wanted:
        return node
    narrow, read = _of_results(op, wanted)
    if len(wanted) == len(node.outputs) and len(read) == len(node.inputs):
        return node
    return Node(narrow, tuple(node.inputs[k] for k in read), tuple(node.outputs[k] for k in wanted))


PASSES = (_scan_unused,)
