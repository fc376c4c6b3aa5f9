"""Loops over steps in two: what needs nothing of the rest first, then the rest, which reads what that has traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.graph.frozen import FrozenGraph
from tg.ops.loops import Scan
from tg.rules.loops.steps import ancestors, read_by_checks, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.frozen import Node


class Division(NamedTuple):
    """The parts of the body of a loop.

    Args:
        alone: the carries of the first loop.
        numbers: what else the second loop reads of the first in each step, values of the body.
        traces: the results of a step that the first loop traces.
    """

    alone: tuple[int, ...]
    numbers: tuple[int, ...]
    traces: tuple[int, ...]


class Half(NamedTuple):
    """A loop that computes a part of what another does."""

    op: Scan
    operands: list[int]
    """Of the other's operands from the first carry on, or ~k for trace k of the first half."""
    results: list[int]
    """Which of the other's results its first ones are."""


def division_of(
    op: Scan, carries: Iterable[int], inputs: Iterable[int], is_part: Callable[[Node], bool]
) -> Division | None:
    """Division of a loop; None if nothing is computed by itself.

    Args:
        carries: those that the first loop may have.
        inputs: the other inputs and constants of a step that it may read.
        is_part: whether a node may be one of the first loop's.
    """
    body, n = op.body, op.carries
    first, alone = body.arity + len(body.constants), {*carries}
    while True:
        available = {*inputs, *alone}
        for node in body.nodes:
            if available.issuperset(node.inputs) and is_part(node):
                available.update(node.outputs)
        rest = {j for j in alone if body.outputs[j] in available}
        if rest == alone:
            break
        alone = rest
    traces = tuple(j for j in range(n, len(body.outputs)) if body.outputs[j] in available)
    read = {v for node in body.nodes if available.isdisjoint(node.outputs) for v in node.inputs}
    read.update(body.outputs[j] for j in range(n) if j not in alone)
    read.update(read_by_checks(body))
    numbers = tuple(sorted(v for v in read & available if v in alone or v >= first))
    return Division(tuple(sorted(alone)), numbers, traces) if alone or numbers or traces else None


def halves(op: Scan, division: Division) -> tuple[Half, Half]:
    """The first loop, which traces what the other reads after its own results, and the second."""
    alone, numbers, traces = division
    others = [j for j in range(op.carries) if j not in alone]
    rest = [j for j in range(op.carries, len(op.body.outputs)) if j not in traces]
    places = {v: ~(len(traces) + k) for k, v in enumerate(numbers)}
    return _half(op, unchecked(op.body), alone, traces, dict.fromkeys(numbers)), _half(
        op, op.body, others, rest, places
    )


def unchecked(body: FrozenGraph) -> FrozenGraph:
    """The graph without its checks."""
    parts = (body.arity, body.types, body.constants, body.nodes, body.outputs, ())
    return FrozenGraph(*parts, body.names, body.origins, body.assumed)


def _half(
    op: Scan, body: FrozenGraph, carries: Sequence[int], traces: Sequence[int], numbers: Mapping[int, int | None]
) -> Half:
    """A loop of some carries and traces: of numbers it traces those without a place, and reads others from there."""
    n = op.carries
    places = {v: place for v, place in numbers.items() if place is not None}
    outputs = [*(body.outputs[j] for j in (*carries, *traces)), *(v for v in numbers if v not in places)]
    makers = {number: node for node in body.nodes for number in node.outputs if number not in places}
    needed = ancestors(makers, [*outputs, *read_by_checks(body)])
    sequences = [k for k in range(n, n + op.sequences) if k in needed]
    captured = [k for k in range(n + op.sequences, body.arity) if k in needed]
    part = with_parts(body, [*carries, *sequences, *places, *captured], outputs)
    loop = Scan(part, len(carries), len(sequences) + len(places), op.length, op.reverse, op.told)
    return Half(loop, [*carries, *sequences, *places.values(), *captured], [*carries, *traces])
