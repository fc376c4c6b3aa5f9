"""Functions of single numbers that take long, as one operation on all steps, which computes several at a time.

Those of sequences go before the loop, and those that no later step needs behind it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from tg.graph.nodes import apply
from tg.ops.elementwise.exponential import exp
from tg.ops.loops import Scan
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import Pass, pass_of
from tg.rules.loops.steps import (
    ARRAY,
    ancestors,
    constants_of,
    cost,
    is_safe,
    kept_inputs,
    over_numbers,
    read_by_checks,
    with_parts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View


def _is_of_numbers(node: Node, body: FrozenGraph) -> bool:
    """Whether a node is a function of single numbers."""
    return is_safe(node) and not any(body.types[k].ndim for k in (*node.inputs, *node.outputs))


def _with_dear_ahead(view: View, least: float = ARRAY) -> dict[int, Variable]:
    """Loops before which functions of their sequences are computed that take long.

    Args:
        least: what the dearest of them costs at least; all together cost more than the arrays that they need.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.sequences:
            replacements.update(_ahead(node, node.op, view, least))
    return replacements


def _ahead(node: Apply, op: Scan, view: View, least: float) -> dict[int, Variable]:
    body, n, held = op.body, op.carries, op.carries + op.sequences
    slices = {k for k in range(n, held) if not body.types[k].ndim}
    available = {*slices, *range(held, body.arity + len(body.constants))}
    leaving: dict[int, Node] = {}  # of slices, and by more than it costs to keep an array
    makers: dict[int, Node] = {}
    spent: dict[int, float] = {}
    of_slices = set(slices)
    for one in body.nodes:
        if available.issuperset(one.inputs) and _is_of_numbers(one, body):
            number = one.outputs[0]
            available.add(number)
            makers[number] = one
            if not of_slices.isdisjoint(one.inputs):
                of_slices.add(number)
                spent[number] = cost(one) + sum(spent.get(k, 0.0) for k in set(one.inputs))
                if spent[number] >= ARRAY:
                    leaving[number] = one
    reads = {k for one in body.nodes if one.outputs[0] not in leaving for k in one.inputs}
    reads.update(body.outputs, read_by_checks(body))
    new = [k for k in leaving if k in reads]
    if not new or max(map(cost, leaving.values())) < least:
        return {}
    live = kept_inputs(body, n, new)
    fewer = op.sequences - sum(n <= k < held for k in live)
    if sum(map(cost, leaving.values())) < ARRAY * (len(new) - fewer):
        return {}
    operands = node.inputs[op.first :]
    values: dict[int, Variable] = dict(enumerate(operands[n:], n))
    _replayed(body, makers, new, values)
    xs = [k for k in live if n <= k < held]
    rest = [k for k in live if k >= held]
    smaller = with_parts(body, [*range(n), *xs, *new, *rest], body.outputs)
    inputs = [*operands[:n], *(values[k] for k in (*xs, *new)), *(operands[k] for k in rest)]
    loop = Scan(smaller, n, len(xs) + len(new), op.length, op.reverse, op.told)
    results = apply(loop, [*node.inputs[: op.first], *inputs])
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _replayed(
    body: FrozenGraph, makers: Mapping[int, Node], wanted: Iterable[int], values: dict[int, Variable]
) -> None:
    """Compute values of a step for all steps; `values` has what they are computed of, and gets them."""
    needed: set[int] = set()
    stack = list(wanted)
    values.update(constants_of(body))
    while stack:
        number = stack.pop()
        if number in makers and number not in needed and number not in values:
            needed.add(number)
            stack.extend(makers[number].inputs)
    for number in sorted(needed):  # as the nodes stand
        one = makers[number]
        (values[number],) = apply(one.op, [values[k] for k in one.inputs])


@pass_of(Scan, phase=SPECIALIZE, kind=EXACT, example=lambda x: over_numbers(x, lambda c, v: (c + v, exp(c))))
def _scan_dear_behind(view: View) -> dict[int, Variable]:
    """Loops behind which functions of what they trace are computed that take long and that no step needs.

    What no later step needs is computed for several steps at a time, and in one loop with what reads it.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.traces and not node.op.body.checks:
            replacements.update(_behind(node, node.op, view))
    return replacements


def _behind(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n = op.body, op.carries
    makers = {number: one for one in body.nodes for number in one.outputs}
    numbers = {k: one for k, one in makers.items() if _is_of_numbers(one, body)}
    in_steps = ancestors(makers, body.outputs[:n])
    leaving = {v for v in body.outputs[n:] if v in numbers and v not in in_steps}
    may_be_read = numbers.keys() | set(range(n, body.arity + len(body.constants)))
    changing = set(range(n + op.sequences))
    leaving = {
        v
        for v in leaving
        if (sources := ancestors(makers, [v])) - in_steps <= may_be_read and not sources.isdisjoint(changing)
    }
    moved = {v: numbers[v] for v in ancestors(makers, leaving) - in_steps if v in numbers}
    if sum(map(cost, moved.values())) < ARRAY:
        return {}
    traced = dict.fromkeys(v for v in body.outputs[n:] if v not in leaving)
    outside = {*range(n, body.arity + len(body.constants)), *traced}
    again = {v: one for v, one in numbers.items() if cost(one) < ARRAY}  # cheaper to compute again than to keep
    new: dict[int, None] = {}
    for v in sorted({k for one in moved.values() for k in one.inputs if k not in moved}):
        if not _follows(v, outside, again):
            new[v] = None
            outside.add(v)
    if len(new) > len(leaving):
        return {}
    trace_numbers = [*traced, *new]
    smaller = with_parts(body, range(body.arity), [*body.outputs[:n], *trace_numbers])
    outputs = apply(op.with_body(smaller), node.inputs)
    traces = dict(zip(trace_numbers, outputs[n:], strict=True))
    values: dict[int, Variable] = {**traces, **dict(enumerate(node.inputs[op.first + n :], n))}
    _replayed(body, again | moved, leaving, values)
    results = [*outputs[:n], *(traces[v] if v in traces else values[v] for v in body.outputs[n:])]
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _follows(number: int, outside: set[int], again: Mapping[int, Node]) -> bool:
    """Whether a value of a step can be computed of what there is of all steps, by few operations that take no time."""
    spent, stack = 0.0, [number]
    while stack:
        k = stack.pop()
        if k in outside:
            continue
        if k not in again or spent > ARRAY:
            return False
        spent += cost(again[k])
        stack.extend(again[k].inputs)
    return spent <= ARRAY


PASSES = (
    _scan_dear_behind,
    Pass(
        "scan_dear_ahead",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What depends on sequences alone is computed for several steps at a time, out of the way of the carries.",
        run=_with_dear_ahead,
        example=lambda x: over_numbers(x, lambda c, v: (c + exp(v), c)),
    ),
)

STEPS_AHEAD: Final = Pass(
    "scan_steps_ahead",
    keys=(Scan,),
    phase=SPECIALIZE,
    kind=EXACT,
    why="Many little functions of sequences are computed for several steps at a time too.",
    run=functools.partial(_with_dear_ahead, least=0.0),
    example=lambda x: over_numbers(x, lambda c, v: (c + ((v - 1) * v + 2) * (v - 3), c)),
)
"""For backends that run nothing beside the caller: XLA hands a program to another thread from 1,000 operations on
arrays on, of which it counts those of a loop once; a short series waited for that as long as for its loops."""
