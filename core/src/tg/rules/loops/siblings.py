"""Loops beside one another that do much alike, as one."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final, NamedTuple

from tg.graph.frozen import FrozenCheck, FrozenGraph, Node, Origin
from tg.graph.nodes import apply, size_value
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.exponential import exp
from tg.ops.loops import Scan
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import Pass
from tg.rules.loops.steps import has_effect, literal, over_numbers
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.lengths import same
from tg.types.requirements import equal_here
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

SHARED: Final = 0.5  # of a step's nodes that another has too: then both are one
LARGE: Final = 16  # elements of an array: with fewer a step has little to do at a time

# of values by what they are: the loop, and the number in it, where they stand first
Table = dict[object, tuple[int, int]]


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
        """Results of the loops that this one takes the place of, for each of its own results."""
        return [*self.finals, *self.traces, *([v] for v in self.status)]


def _without_siblings(view: View, least: float = SHARED) -> dict[int, Variable]:
    """Loops of one length that do not need one another as one loop.

    Args:
        least: the share of the smaller step's nodes that are to be in both; loops of few numbers without arrays are
            joined anyway if it is 0.
    """
    replacements: dict[int, Variable] = {}
    if sum(isinstance(node.op, Scan) for node in view.applies) < 2:
        return replacements
    groups: dict[object, list[tuple[Apply, Scan]]] = {}
    for node, depth in _depths(view):
        op = node.op
        if isinstance(op, Scan) and not has_effect(op.body):
            groups.setdefault((depth, op.length, op.reverse, op.told, bool(op.carries)), []).append((node, op))
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
                replacements.update(_replaced_by(loop, members, first, op))
    return replacements


def _depths(view: View) -> Iterator[tuple[Apply, int]]:
    """The nodes of a graph, each with how many loops there are one behind the other on the way to it.

    Of loops that are as deep none needs another, nor does joining them make others need one another.
    """
    depths: dict[int, int] = {}
    for node in view.applies:
        depth = max((depths.get(id(v.apply), 0) for v in node.inputs), default=0)
        depths[id(node)] = depth + isinstance(node.op, Scan)
        yield node, depth


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


def _equal_carries(a: _Loop, b: _Loop) -> list[list[int]]:
    """The carries of two loops by classes, of which all that are in one have the same value at every step."""
    ids: dict[object, int] = {}
    classes = [
        [ids.setdefault((id(v), loop.body.types[k]), len(ids)) for k, v in enumerate(loop.carries)] for loop in (a, b)
    ]
    while True:
        numbers, _ = _numbered((a, b), classes)
        ids = {}
        finer = [
            [ids.setdefault((c, row[loop.body.outputs[k]]), len(ids)) for k, c in enumerate(own)]
            for loop, own, row in zip((a, b), classes, numbers, strict=True)
        ]
        if finer == classes:
            return classes
        classes = finer


def _numbered(loops: Sequence[_Loop], classes: Sequence[Sequence[int]]) -> tuple[list[list[int]], Table]:
    """The values of a step of each loop by numbers, equal ones for equal values; and where each stands first."""
    table: Table = {}
    keys: dict[object, int] = {}
    all_numbers: list[list[int]] = []
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
            number(("constant", *literal(c)))
        for one in body.nodes:
            inputs = tuple(numbers[k] for k in one.inputs)
            if one.op.commutes:
                inputs = tuple(sorted(inputs))
            types = tuple(body.types[out] for out in one.outputs)  # a node gives all of its results, or none
            for k in range(len(types)):
                number(("node" if not k else "result", one.op, inputs, types, k))
        all_numbers.append(numbers)
    return all_numbers, table


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
    n, xs, held, constant_count = counts
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
    inputs = [loops[at].inputs()[k] for at, k in order[: n + xs + held]]
    constants = [
        loops[at].body.constants[k - loops[at].body.arity] for at, k in order[n + xs + held :][:constant_count]
    ]
    types = [loops[at].body.types[k] for at, k in order]
    outputs = (*after, *traces)
    body = FrozenGraph(n + xs + held, types, constants, nodes, outputs, checks, names, origins, assumed)
    status = loops[0].status or loops[1].status
    return _Loop(body, inputs[:n], inputs[n : n + xs], inputs[n + xs :], finals, list(traces.values()), status)


def _is_small(loop: _Loop) -> bool:
    """Whether a step computes few numbers: of two such chains a processor has both in hand."""
    body = loop.body
    sizes = [LARGE if None in t.shape else math.prod(t.shape) for t in body.types]  # type: ignore[arg-type]
    return max(sizes, default=0) < LARGE and not any(type(one.op).graph_fields for one in body.nodes)


def _replaced_by(loop: _Loop, members: Sequence[_Loop], first: Apply, op: Scan) -> dict[int, Variable]:
    """Results of several loops: those of the one that takes their place, or of one of them that has them all."""
    replacements: dict[int, Variable] = {}
    results = loop.results()
    for one in members:
        own = {id(v) for olds in one.results() for v in olds}
        matches = [[v for v in olds if id(v) in own] for olds in results]
        if all(matches):
            for olds, same_one in zip(results, matches, strict=True):
                replacements.update((id(v), same_one[0]) for v in olds if id(v) not in own)
            return replacements
    joined = Scan(loop.body, len(loop.carries), len(loop.sequences), op.length, op.reverse, op.told)
    for olds, new in zip(results, apply(joined, [*first.inputs[: op.first], *loop.inputs()]), strict=True):
        replacements.update((id(v), new) for v in olds)
    return replacements


def _alike(x: Variable) -> Variable:
    """Results of two loops over the elements of an array, whose carries are the same."""
    first, second = (lambda c, v: (c * exp(c) + v, c * v)), (lambda c, v: (c * exp(c) + v, c - v))
    return add(over_numbers(x, first), over_numbers(x, second))


def _two_chains(x: Variable) -> Variable:
    """Results of two loops over the elements of an array, which both compute exponentials."""
    return add(over_numbers(x, lambda c, v: (c * exp(c) + v, c)), over_numbers(x, lambda c, v: (c + v, exp(c) * c)))


TWINS = (
    Pass(
        "scan_twins",
        keys=(Scan,),
        phase=SPECIALIZE,
        kind=EXACT,
        why="A loop of which another computes all is not run again: neither is changed before in its own way.",
        run=functools.partial(_without_siblings, least=1.0),
        example=lambda x: [
            over_numbers(x, lambda c, v: (c + exp(v), c)),
            over_numbers(x, lambda c, v: (c + exp(v), c * exp(v))),
        ],
    ),
)
PASSES = (
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
