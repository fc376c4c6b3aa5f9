"""Loops: what nobody reads is not computed, and what does not change is no carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable
from tg.ops.elementwise.arithmetic import add
from tg.ops.loops import Scan
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import Pass, node_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.function_graph import View
    from tg.graph.nodes import Apply
    from tg.rewrite.rule import Outputs


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
    smaller = _with_parts(body, order, [*(body.outputs[k] for k in carries), *traces])
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


def _with_parts(body: FrozenGraph, inputs: Sequence[int], outputs: Sequence[int]) -> FrozenGraph:
    """A graph with some of its inputs, in another order, and other outputs; without nodes that these do not need."""
    makers = {number: k for k, node in enumerate(body.nodes) for number in node.outputs}
    needed: set[int] = set()
    stack = [*outputs, *(v for check in body.checks for v in (check.condition, *check.values))]
    while stack:
        k = makers.get(stack.pop())
        if k is not None and k not in needed:
            needed.add(k)
            stack.extend(body.nodes[k].inputs)
    nodes = sorted(needed)
    read = {number for k in nodes for number in body.nodes[k].inputs}
    read.update(outputs, (v for check in body.checks for v in (check.condition, *check.values)))
    constants = [k for k in range(body.arity, body.arity + len(body.constants)) if k in read]
    order = [*inputs, *constants, *(number for k in nodes for number in body.nodes[k].outputs)]
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
        [c for c in (body.constant(k) for k in constants) if c is not None],
        moved,
        [new[v] for v in outputs],
        checks,
        {new[k]: name for k, name in body.names.items() if k in new},
        {k: body.origins[old] for k, old in enumerate(nodes) if old in body.origins},
        {new[k]: facts for k, facts in body.assumed.items() if k in new},
    )


def _of_two_carries(x: Variable) -> Sequence[Variable]:
    """A loop over a constant number of steps, with a carry that adds up, one that stays, and a result of each step."""
    c, still = Variable(x.type), Variable(x.type)
    made = Scan(freeze([c, still], [add(c, still), still, c]), 2, 0)(Constant(np.array(3, np.int64)), x, x)
    assert isinstance(made, tuple)
    return made


RULES = (
    node_rule(
        "scan_of_known_length",
        keys=(Scan,),
        below=(Constant,),
        apply=_of_known_length,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length that is known needs no operand, and what follows from it is known as well.",
        example=lambda x: _of_two_carries(x)[2],
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
        example=lambda x: _of_two_carries(x)[0],
    ),
)
