"""Derivatives of the step of a loop: which carries take part, and of which conditions flow beside them.

A loop takes those part in that the derivative of a step reaches from the ones that do, until no more are reached. What
the formulas of a step read is a first guess, seldom wrong: a sweep by it is looked at, and is made again from the ones
that are sure where some were not reached, as through a function that is flat everywhere.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from tg.gradient.flags import grown, inside_graph, widths
from tg.gradient.regular_ops import REGULAR
from tg.gradient.stable import leaves_below
from tg.graph.nodes import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.gradient.selection import Place, Supports
    from tg.gradient.stable import Opened

    Regular = Mapping[int, Callable[[], int]]

Cotangents = list[Variable | None]


class Step(NamedTuple):
    """The derivative of a step."""

    given: dict[int, Variable]  # stand for the cotangents of its results, or the tangents of its inputs, by number
    found: Cotangents
    moving: list[int]  # the carries that have some
    inside: Supports
    flags: dict[Place, Variable]  # stand for conditions of what is given
    places: Mapping[Place, bool]  # of these, and whether elements have conditions of their own


def pulled_step(
    cotangents_of: Callable[..., Cotangents],
    body: Opened,
    flows: Mapping[int, Variable],
    carries: int,
    supports: Supports,
    regularity: Callable[[], Sequence[int]],
) -> Step | None:
    """The pullback of a step; None where nothing flows.

    A carry that no step reads has some all the same: without a step it is what it began with.

    Args:
        flows: the cotangents of its results, by number.
        regularity: gives what is known of its operands.
    """
    inner, outs = body.inputs, body.outputs

    def sweep(moving: set[int], places: Mapping[Place, bool], regular: Regular) -> Step:
        leaves = {k: Variable(outs[k].type) for k in sorted({*flows, *moving})}
        inside, flags, stated = inside_graph(leaves, places, inner, regularity, regular, kinks=supports.kinks)
        dxs = cotangents_of([outs[k] for k in leaves], stated, inner, inner, supports=inside)
        return Step(leaves, dxs, sorted(moving), inside, flags, places)

    reads = {k: [j for j in range(carries) if below >> j & 1] for k, below in enumerate(body.reads)}
    swept = _regular(sweep, supports.known(flows), carries)
    step = _closed(swept, {*flows}, reads, carries, widths(supports.places(flows)))
    return None if not step.moving and all(dx is None for dx in step.found) else step


def pushed_step(
    tangents_of: Callable[..., Cotangents],
    body: Opened,
    tangents: Sequence[Variable | None],
    carries: int,
    supports: Supports,
    regularity: Callable[[], Sequence[int]],
) -> Step:
    """The pushforward of a step, for tangents of its operands."""
    inner, outs = body.inputs, body.outputs
    some = {k: t for k, t in enumerate(tangents) if t is not None}
    others = [k for k in some if k >= carries]

    def sweep(moving: set[int], places: Mapping[Place, bool], regular: Regular) -> Step:
        flows = {k: Variable(inner[k].type) for k in (*sorted(moving), *others)}
        inside, flags, stated = inside_graph(flows, places, inner, regularity, regular, kinks=supports.kinks)
        ts = tangents_of(outs, [inner[k] for k in flows], stated, inner, supports=inside)
        return Step(flows, ts, sorted(moving), inside, flags, places)

    reads = {j: [k for k in range(carries) if body.reads[k] >> j & 1] for j in range(len(inner))}
    return _closed(
        _regular(sweep, supports.known(some), carries), {*some}, reads, carries, widths(supports.places(some))
    )


def _regular(
    sweep: Callable[[set[int], Mapping[Place, bool], Regular], Step], regularity: Regular, carries: int
) -> Callable[[set[int], Mapping[Place, bool]], Step]:
    """A sweep of a step that takes carries for regular only where a step keeps them so, as far as that was needed."""
    irregular: set[int] = set()

    def swept(moving: set[int], places: Mapping[Place, bool]) -> Step:
        while True:
            told = {k: fn for k, fn in regularity.items() if k >= carries}
            told |= {
                k: functools.partial(_of_carry, None if k in irregular else regularity.get(k, _zeros)) for k in moving
            }
            step = sweep(moving, places, told)
            lost = {
                k
                for k in step.moving
                if step.inside.regularity.has_read(leaf := step.given[k]) and step.inside.is_regular(leaf)
                if (v := step.found[k]) is not None and not step.inside.is_regular(v)
            }
            if not lost:
                return step
            irregular.update(lost)

    return swept


def _of_carry(start: Callable[[], int] | None) -> int:
    """The facts of a carry, unless it is irregular: as regular as what it begins with, but its sign may change."""
    return 0 if start is None else start() & REGULAR


def _zeros() -> int:
    return REGULAR


def _closed(
    sweep: Callable[[set[int], Mapping[Place, bool]], Step],
    flows: set[int],
    reads: Mapping[int, Sequence[int]],
    carries: int,
    places: dict[Place, bool],
) -> Step:
    """The step that reaches no more than what moves in it.

    Args:
        flows: the numbers of what is given; those below `carries` move.
        reads: for each number those of the carries that it may reach.
        places: the conditions of what is given.
    """
    sure = {k for k in flows if k < carries}
    guess = sure | {k for k in _reached(flows, reads) if k < carries}
    if guess != sure:
        step = sweep(guess, places | {(k, "selected"): False for k in sorted(guess - sure)})
        if _reached(flows, _reading(step, carries)) >= guess:
            more = _more(step, flows, carries)
            if not more:
                return step
            return _grown(sweep, flows, carries, guess, {**step.places, **more})
    return _grown(sweep, flows, carries, sure, places)


def _grown(
    sweep: Callable[[set[int], Mapping[Place, bool]], Step],
    flows: set[int],
    carries: int,
    moving: set[int],
    places: dict[Place, bool],
) -> Step:
    """The step that is found by iteration."""
    while True:
        step = sweep(moving, places)
        reached = {k for k in range(carries) if step.found[k] is not None}
        more = _more(step, flows, carries)
        if reached <= moving and not more:
            return step
        moving, places = moving | reached, {**places, **more}


def _more(step: Step, flows: set[int], carries: int) -> dict[Place, bool]:
    """Further conditions that carries have after a step."""
    taking = {*step.moving, *(k for k in range(carries) if step.found[k] is not None)}
    return grown(step.places, step.inside, step.found, taking, taking - flows)


def _reached(starts: set[int], reads: Mapping[int, Sequence[int]]) -> set[int]:
    """The numbers that can be reached from some numbers."""
    reachable: set[int] = set()
    stack = sorted(starts)
    while stack:
        for k in reads.get(stack.pop(), ()):
            if k not in reachable:
                reachable.add(k)
                stack.append(k)
    return reachable


def _reading(step: Step, carries: int) -> dict[int, list[int]]:
    """For each number that is given in a step the carries to which it flows."""
    numbers = [*step.given]
    below = leaves_below(step.found[:carries], [*step.given.values()])
    return {j: [k for k in range(carries) if below[k] >> place & 1] for place, j in enumerate(numbers)}
