"""Common subexpressions of loops: what one loop has computed is kept for the one that reads its traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.graph.frozen import LENGTH_TYPE
from tg.graph.nodes import apply
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.record import Elementwise
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.shape import broadcast_to
from tg.ops.shape_ops import AxisLength
from tg.rewrite.phases import EXACT, EXPAND, SPECIALIZE
from tg.rewrite.rule import Pass
from tg.rules.loops.steps import (
    ARRAY,
    VIEWS,
    ancestors,
    cost,
    has_given_lengths,
    kept_inputs,
    literal,
    may_be_length,
    read_by_checks,
    with_parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Variable
    from tg.graph.view import View


class _Loop(NamedTuple):
    """A loop: its op, operands and results."""

    op: Scan
    inputs: Sequence[Variable]
    results: Sequence[Variable]


def _without_repetition(view: View) -> dict[int, Variable]:
    """Loops that trace what others would compute again of what they trace."""
    replacements: dict[int, Variable] = {}

    def now(v: Variable) -> Variable:
        while id(v) in replacements:
            v = replacements[id(v)]
        return v

    nodes = [node for node in view.applies if isinstance(node.op, Scan)]
    loops = {id(node): _Loop(node.op, node.inputs, view.results(node)) for node in nodes}  # type: ignore[arg-type]
    makers = {id(v): key for key, one in loops.items() for v in one.results}
    before, alive = dict(loops), [*loops.values()]  # what has been replaced is kept: ids stay its own
    for key, (op, inputs, _) in before.items():
        for maker in dict.fromkeys(makers[id(v)] for v in op.parts(inputs)[1] if id(v) in makers):
            node, other = (one._replace(inputs=[now(v) for v in one.inputs]) for one in (loops[key], loops[maker]))
            pair = _repeating(node, other)
            if pair is not None:
                loops[key], loops[maker], replaced = pair
                alive += pair[:2]
                replacements.update(replaced)
    for key, (op, inputs, results) in loops.items():
        if op is not before[key].op:
            new_results = apply(op, [now(v) for v in inputs])
            replacements.update((id(old), new) for old, new in zip(results, new_results, strict=True))
    return {id(v): now(v) for one in before.values() for v in one.results if id(v) in replacements}


def _repeating(node: _Loop, other: _Loop) -> tuple[_Loop, _Loop, dict[int, Variable]] | None:
    """A loop that reads what another traces besides, that one, and what takes the place of results of both."""
    (op, inputs, results), (first, _, before) = node, other
    body, n, held, operands = op.body, op.carries, op.carries + op.sequences, inputs[op.first :]
    same_as = _in_both(node, other)
    of_lengths = _deciding_lengths(body)
    makers = {v: one for one in body.nodes if (v := one.outputs[0]) in same_as and v not in of_lengths}
    stack = [k for one in body.nodes if one.outputs[0] not in makers for k in one.inputs]
    stack += [*body.outputs, *read_by_checks(body)]
    traced, taken = dict.fromkeys(first.body.outputs[first.carries :]), dict[int, None]()
    moving = _moving(body, held)
    while stack:
        k = stack.pop()
        if k not in makers or k in taken:
            continue
        spent = sum(_price(makers[v]) for v in ancestors(makers, [k]) if v in makers)
        is_worth = spent >= (1 if same_as[k] in traced else ARRAY)
        has_place = k in moving and not may_be_length(k, body) and not isinstance(makers[k].op, VIEWS)
        if is_worth and has_place and has_given_lengths(same_as[k], first.body):
            taken[k] = None
        else:
            stack.extend(makers[k].inputs)
    if not taken:
        return None
    traced.update(dict.fromkeys(same_as[k] for k in taken))
    more = with_parts(first.body, range(first.body.arity), [*first.body.outputs[: first.carries], *traced])
    tracing = first.with_body(more)
    outputs = apply(tracing, [*other.inputs])
    traces = dict(zip(traced, outputs[first.carries :], strict=False))
    replaced = [*outputs[: first.carries], *(traces[v] for v in first.body.outputs[first.carries :])]
    replacements = {id(old): new for old, new in zip(before, [*replaced, outputs[-1]], strict=False)}
    live = kept_inputs(body, n, taken)
    xs, rest = [k for k in live if n <= k < held], [k for k in live if k >= held]
    smaller = with_parts(body, [*range(n), *xs, *taken, *rest], body.outputs)
    arguments = [*operands[:n], *(operands[k] for k in xs), *(traces[same_as[k]] for k in taken)]
    loop = Scan(smaller, n, len(xs) + len(taken), op.length, op.reverse, op.told)
    operands = [*inputs[: op.first], *arguments, *(operands[k] for k in rest)]
    again = apply(loop, operands)
    replacements |= {id(old): new for old, new in zip(results, again, strict=True)}
    return _Loop(loop, operands, again), _Loop(tracing, other.inputs, outputs), replacements


def _moving(body: FrozenGraph, held: int) -> set[int]:
    """The values of a step that may differ from step to step: what depends on more than lengths of what is given."""
    varying = set(range(held))
    for one in body.nodes:
        if type(one.op) is not AxisLength and not varying.isdisjoint(one.inputs):
            varying.update(one.outputs)
    return varying


def _in_both(node: _Loop, other: _Loop) -> dict[int, int]:
    """Of values of a step those of a step of another loop that are the same, at the same place."""
    op, first = node.op, other.op
    body, inside = op.body, first.body
    by_id = {id(v): first.carries + k for k, v in enumerate(other.inputs[first.first + first.carries :])}
    traces = {id(other.results[k]): inside.outputs[k] for k in range(first.carries, len(inside.outputs))}
    counterparts: dict[int, int] = {}
    for k, v in enumerate(node.inputs[op.first :]):
        place = by_id.get(id(v))
        is_slice, was_slice = (
            k < op.carries + op.sequences,
            place is not None and place < first.carries + first.sequences,
        )
        if k >= op.carries and id(v) in traces and is_slice:
            counterparts[k] = traces[id(v)]
        elif k >= op.carries and place is not None and is_slice == was_slice:
            counterparts[k] = place
    numbers = {literal(c): inside.arity + k for k, c in enumerate(inside.constants)}
    for k, c in enumerate(body.constants, body.arity):
        if literal(c) in numbers:
            counterparts[k] = numbers[literal(c)]
    table = {(one.op, one.inputs): one.outputs for one in inside.nodes}
    for one in body.nodes:
        if len(one.outputs) == 1 and all(k in counterparts for k in one.inputs) and not one.op.has_effect:
            inputs = tuple(counterparts[k] for k in one.inputs)
            (number,) = (
                table.get((one.op, inputs)) or (one.op.commutes and table.get((one.op, inputs[::-1]))) or (None,)
            )
            if number is not None and inside.types[number] == body.types[one.outputs[0]]:
                counterparts[one.outputs[0]] = number
    return counterparts


def _deciding_lengths(body: FrozenGraph) -> set[int]:
    """The int64 scalars of a step that lengths follow from, and the lengths themselves.

    They stay: what is known of lengths inside follows from how they are computed, and a slice says nothing.
    """
    makers = {number: one for one in body.nodes for number in one.outputs}
    lengths = [one.outputs[0] for one in body.nodes if isinstance(one.op, AxisLength)]
    sizes = [one.inputs[k] for one in body.nodes for k in one.op.size_operands(len(one.inputs))]
    return {k for k in ancestors(makers, [*lengths, *sizes]) if body.types[k] == LENGTH_TYPE}


def _price(node: Node) -> float:
    """Cost of a node for each element, in additions; of what is not elementwise more than any array."""
    if isinstance(node.op, VIEWS):
        return 0.0
    return cost(node) if isinstance(node.op, Elementwise) else 2 * ARRAY


def _exponentials_again(x: Variable) -> Variable:
    """Traces of a loop that computes exponentials which one before it has computed."""
    _, carries = scan(lambda c, v: (exp(c) * v, c), x, broadcast_to(x, (9, *x.shape)))
    return scan(lambda c, v: (c * exp(v), c), x, carries)[1]  # type: ignore[no-any-return]


PASSES = (
    Pass(
        "scan_repetition",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="What a loop has computed in each step is kept for the one that would compute it again.",
        run=_without_repetition,
        example=_exponentials_again,
    ),
)


EXPANSIONS: Final = Pass(
    "scan_repetition_of_expansions",
    keys=(Scan,),
    phase=EXPAND,
    kind=EXACT,
    why="What ops were expanded to may be computed in several loops, though no two of the ops were one.",
    run=_without_repetition,
    example=_exponentials_again,
)
"""For backends that write loops, in which what is traced is written and read once for each step."""
