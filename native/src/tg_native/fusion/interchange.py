"""Loop interchange: steps that work on each element of arrays alone are run for some elements at a time.

A `Scan` over steps whose carries are arrays writes these in each step and reads them in the next. Where no element of
one needs another, as in a batch of recurrences, all steps can be run for the elements of a few vectors, whose carries
then stay in registers, and for the next ones after that: a `LaneLoop`. A loop that reads what another traces, as that
of a gradient does, joins it: what the one traces for the other is there for some elements only, and stays in the cache.

Legal is what has no check in its steps: which elements fail, and in which step, is not the same in another order.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.graph.frozen import FrozenGraph, Node, Origin
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import logical_or, where
from tg.ops.loops import Scan, While
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, ExpandDims, Squeeze
from tg.types.atoms import key
from tg.types.dtypes import is_inexact
from tg_native.fusion.divided import divided, division_into_numbers
from tg_native.fusion.fusion import kept_values
from tg_native.fusion.lane_loops import LaneLoop, LaneStage
from tg_native.fusion.resumed import Draft, resume
from tg_native.plan.shapes import resolved
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Keys = tuple[object, ...]

NAME = "interchange_loops"


class _Steps(NamedTuple):
    """A loop that can be interchanged: its node, its program on elements, and the lengths of the space."""

    node: int
    op: Scan | While
    program: FrozenGraph
    space: Keys
    kept: tuple[int, ...]
    """The results that the program has: all but traces that nobody reads and that are one number a step."""

    @property
    def first(self) -> int:
        """The position of the first carry among the operands."""
        return self.op.first if isinstance(self.op, Scan) else 0

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return self.op.sequences if isinstance(self.op, Scan) else 0

    @property
    def length(self) -> int | None:
        """Number of steps that are made, or may be made."""
        return self.op.length if isinstance(self.op, Scan) else self.op.max_steps


def interchanged(frozen: FrozenGraph) -> FrozenGraph:
    """The graph with loops over steps in the place of `Scan`s where that is legal."""
    if not any(type(node.op) in (Scan, While) for node in frozen.nodes):
        return frozen
    frozen = _divided(frozen, _read_in(frozen))
    shapes, read = resolved(frozen), _read_in(frozen)
    loops: list[_Steps] = []
    for k, node in enumerate(frozen.nodes):
        steps = None
        if isinstance(node.op, Scan):
            steps = _steps(k, node, node.op, shapes, read)
        elif isinstance(node.op, While):
            steps = _steps_of_while(k, node, node.op, shapes, read)
        if steps is not None:
            loops.append(steps)
    return _Rebuild(frozen, _groups(frozen, loops), read).run() if loops else frozen


def _read_in(frozen: FrozenGraph) -> set[int]:
    """The values that nodes read, or that are outputs."""
    return {number for node in frozen.nodes for number in node.inputs} | set(kept_values(frozen))


# --- which loops -----------------------------------------------------------------------------------------------------


def _divided(frozen: FrozenGraph, read: set[int]) -> FrozenGraph:
    """The graph with loops of their own for what is one number for all elements, where the rest is interchanged."""
    if not any(isinstance(node.op, Scan) and division_into_numbers(node.op) is not None for node in frozen.nodes):
        return frozen
    shapes = resolved(frozen)

    def is_chosen(node: Node, op: Scan) -> bool:
        return _steps(0, node, op, shapes, read) is None and _steps(0, node, op, shapes, None) is not None

    return divided(frozen, is_chosen)


def _steps(k: int, node: Node, op: Scan, shapes: Sequence[tuple[Any, ...]], read: set[int] | None) -> _Steps | None:
    """A loop that can be interchanged; None if it cannot.

    Args:
        read: what nodes read and outputs are; None where what is one number for all elements gets its own loop.
    """
    body, n = op.body, op.carries
    operands = node.inputs[op.first :]
    operand_shapes = [
        shapes[number][1:] if n <= j < n + op.sequences else shapes[number] for j, number in enumerate(operands)
    ]
    space = next((shape for shape in operand_shapes[:n] if shape), None)
    if space is None or body.checks or any(map(is_one, space)):
        return None
    keys = tuple(map(key, space))
    if any(shape and tuple(map(key, shape)) != keys for shape in operand_shapes):
        return None
    single = {j for j, number in enumerate(body.outputs) if not body.types[number].ndim}
    if read is not None and any(node.outputs[j] in read for j in single):
        return None  # one number for all elements is computed once
    results = tuple(j for j in range(len(body.outputs)) if j < n or j not in single)
    if any(tuple(map(key, shapes[node.outputs[j]][1:])) != keys for j in results if j >= n):
        return None
    program = _program(body, [body.outputs[j] for j in results], len(space))
    return _Steps(k, op, program, keys, results) if program is not None else None


def _steps_of_while(k: int, node: Node, op: While, shapes: Sequence[tuple[Any, ...]], read: set[int]) -> _Steps | None:
    """A loop that goes on for as long as some element does; None if what ended elements have may change.

    Then each could run by itself. How many steps were made in all nobody may ask.
    """
    body, n = op.body, op.carries
    operand_shapes = [shapes[number] for number in node.inputs]
    space = operand_shapes[0] if n else ()
    keys = tuple(map(key, space))
    if not space or op.inner_descriptors or any(map(is_one, space)) or node.outputs[n] in read:
        return None
    if not all(operand_shapes[:n]) or any(shape and tuple(map(key, shape)) != keys for shape in operand_shapes):
        return None
    goes_on = _asked_in_body(op, len(space))
    live = [j for j in range(len(body.outputs)) if j < n or node.outputs[j + 1] in read]
    if goes_on is None or not all(_stays(body, j, goes_on, n) for j in live):
        return None
    program = _program(body, [*(body.outputs[j] for j in live), goes_on], len(space))
    results = tuple(j if j < n else j + 1 for j in live)  # behind the carries there is the number of steps
    return _Steps(k, op, program, keys, results) if program is not None else None


def _asked_in_body(op: While, rank: int) -> int | None:
    """The value of the body that says whether an element goes on, where the condition is whether some element does."""
    condition, body = op.condition, op.body
    last = next((node for node in condition.nodes if node.outputs == condition.outputs), None)
    if last is None or type(last.op) is not Reduce or last.op.fn is not logical_or or len(last.op.axes) != rank:
        return None
    table = {(node.op, node.inputs): node.outputs[0] for node in body.nodes}
    same = {k: k for k in range(body.arity)}
    numbers = {c.key: body.arity + k for k, c in enumerate(body.constants)}
    same.update((condition.arity + k, numbers[c.key]) for k, c in enumerate(condition.constants) if c.key in numbers)
    for node in condition.nodes:
        number = table.get((node.op, tuple(same.get(k, -1) for k in node.inputs)))
        if number is not None:
            same[node.outputs[0]] = number
    return same.get(last.inputs[0])


def _stays(body: FrozenGraph, j: int, goes_on: int, carries: int) -> bool:
    """Whether an element that has ended keeps a carry, or traces 0."""
    number = body.outputs[j]
    if number == j < carries:
        return True
    makers = {entry: node for node in body.nodes for entry in node.outputs}
    node = makers.get(number)
    if node is not None and node.op is where.op and node.inputs[0] == goes_on:
        other = node.inputs[2]
        return other == j if j < carries else _is_zero(body, other, makers)
    if node is None or node.op is not add.op or j >= carries or is_inexact(body.types[j].dtype):
        return False
    (count,) = [v for v in node.inputs if v != j] or (j,)
    entry = makers.get(count)
    return entry is not None and type(entry.op) is Cast and entry.inputs[0] == goes_on


def _is_zero(body: FrozenGraph, number: int, makers: Mapping[int, Node]) -> bool:
    """Whether a value is 0 in all places, and no negative one."""
    node = makers.get(number)
    constant = body.constant(node.inputs[0] if node is not None and type(node.op) is BroadcastTo else number)
    return constant is not None and not any(constant.data.tobytes())


def _program(body: FrozenGraph, outputs: Sequence[int], rank: int) -> FrozenGraph | None:
    """The body as a program on single elements; None if it is more than that."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    needed: set[int] = set()
    stack = list(outputs)
    while stack:
        number = stack.pop()
        if number in needed:
            continue
        needed.add(number)
        if number in makers:
            node = makers[number]
            stack.extend(node.inputs[:1] if type(node.op) is BroadcastTo else node.inputs)
    constants = []
    for number in sorted(needed):
        constant = body.constant(number)
        if constant is not None:
            single = _one_number(constant)
            if single is None:
                return None
            constants.append((number, single))
    types = [t.with_shape(()) for t in (*body.input_types, *(c.type for _, c in constants))]
    new = {k: k for k in range(body.arity)}
    new.update((number, body.arity + k) for k, (number, _) in enumerate(constants))
    nodes: list[Node] = []
    origins: dict[int, Origin] = {}
    for k, node in enumerate(body.nodes):
        if needed.isdisjoint(node.outputs):
            continue
        (out,) = node.outputs if len(node.outputs) == 1 else (None,)
        if out is None or not _is_of_elements(node, body, rank):
            return None
        if not node.op.pointwise:  # a view, which has the same elements
            new[out] = new[node.inputs[0]]
            continue
        if k in body.origins:
            origins[len(nodes)] = body.origins[k]
        new[out] = len(types)
        nodes.append(Node(node.op, tuple(new[v] for v in node.inputs), (len(types),)))
        types.append(body.types[out].with_shape(()))
    names = {new[number]: name for number, name in body.names.items() if number in new and number in needed}
    literals = [c for _, c in constants]
    return FrozenGraph(body.arity, types, literals, nodes, [new[number] for number in outputs], (), names, origins)


def _is_of_elements(node: Node, body: FrozenGraph, rank: int) -> bool:
    """Whether a node makes each element of the space from that of its operands, or from what is one for all."""
    op = node.op
    if op.pointwise:
        return not op.calls_python and not op.has_effect
    ranks = body.types[node.inputs[0]].ndim, body.types[node.outputs[0]].ndim
    if type(op) is BroadcastTo:
        return ranks in ((0, rank), (rank, rank))
    return type(op) in (ExpandDims, Squeeze) and all(n == 1 for n in body.types[node.outputs[0]].shape)


def _one_number(constant: Constant) -> Constant | None:
    """A constant that is one number in all places, as that."""
    data = constant.data
    if not data.ndim:
        return constant
    if not data.size or data.tobytes() != data.reshape(-1)[:1].tobytes() * data.size:
        return None
    return Constant(np.array(data.reshape(-1)[0]))


# --- which of them together ------------------------------------------------------------------------------------------


def _groups(frozen: FrozenGraph, loops: Sequence[_Steps]) -> list[list[_Steps]]:
    """The loops, those together that read what others trace or end with, by element, and nothing else of them."""
    steps_of = {steps.node: steps for steps in loops}
    groups: list[list[_Steps]] = []
    group_of: dict[int, int] = {}  # by node
    results: dict[int, tuple[int, bool]] = {}  # of each result the group, and whether it is a trace
    needs: dict[int, frozenset[int]] = {}  # of each value the groups that it depends on
    for k, node in enumerate(frozen.nodes):
        below = frozenset().union(*(needs.get(number, frozenset()) for number in node.inputs))
        steps = steps_of.get(k)
        if steps is not None:
            near = [g for g in sorted(below, reverse=True) if _joins(steps, node, groups[g], g, results, needs)]
            at = near[0] if near else len(groups)
            if not near:
                groups.append([])
            groups[at].append(steps)
            group_of[k] = at
            below = below | {at}
            results.update((node.outputs[j], (at, j >= steps.op.carries)) for j in steps.kept)
        needs.update(dict.fromkeys(node.outputs, below))
    return groups


def _joins(
    steps: _Steps,
    node: Node,
    group: Sequence[_Steps],
    g: int,
    results: dict[int, tuple[int, bool]],
    needs: dict[int, frozenset[int]],
) -> bool:
    """Whether a loop may run with those of a group."""
    if group[0].space != steps.space:
        return False
    for k, number in enumerate(node.inputs):
        if g not in needs.get(number, frozenset()):
            continue
        is_sequence = 0 <= k - steps.first - steps.op.carries < steps.sequences
        if k < steps.first or results.get(number) != (g, is_sequence):
            return False
    return True


# --- the graph with them ---------------------------------------------------------------------------------------------


@final
class _Rebuild:
    """Writes the graph with a `LaneLoop` in the place of each group."""

    def __init__(self, frozen: FrozenGraph, groups: Sequence[list[_Steps]], read: set[int]) -> None:
        self.frozen, self.groups = frozen, groups
        self.group_of = {steps.node: g for g, group in enumerate(groups) for steps in group}
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.readers: dict[int, set[int]] = {}  # of each value the nodes that read it; -1 for what is none
        for k, node in enumerate(frozen.nodes):
            for number in node.inputs:
                self.readers.setdefault(number, set()).add(k)
        for number in kept_values(frozen):
            self.readers.setdefault(number, set()).add(-1)
        first = frozen.arity + len(frozen.constants)
        self.number = {k: k for k in range(first)}
        self.types = list(frozen.types[:first])
        self.nodes: list[Node] = []
        self.origins: dict[int, Origin] = {}
        self.done: set[int] = set()  # nodes, and groups as -1 - their numbers

    def run(self) -> FrozenGraph:
        """The graph."""
        for k in range(len(self.frozen.nodes)):
            self._visit(k)
        frozen, number = self.frozen, self.number
        checks = [
            c._replace(condition=number[c.condition], values=tuple(number[v] for v in c.values)) for c in frozen.checks
        ]
        names = {number[old]: name for old, name in frozen.names.items() if old in number}
        assumed = {number[old]: facts for old, facts in frozen.assumed.items() if old in number}
        outputs = [number[n] for n in frozen.outputs]
        parts = (frozen.arity, self.types, frozen.constants, self.nodes, outputs, checks, names, self.origins)
        return FrozenGraph(*parts, assumed)

    def _visit(self, k: int) -> None:
        """Write a node, after all that it reads."""
        stack = [self._place(k)]
        while stack:
            place = stack[-1]
            if place in self.done:
                stack.pop()
                continue
            nodes = [place] if place >= 0 else [steps.node for steps in self.groups[-1 - place]]
            below = {self._place(self.maker[n]) for j in nodes for n in self.frozen.nodes[j].inputs if n in self.maker}
            missing = sorted(below - self.done - {place})
            if missing:
                stack.extend(missing)
                continue
            self.done.add(stack.pop())
            if place >= 0:
                self._copy(place)
            else:
                self._write(self.groups[-1 - place])

    def _place(self, k: int) -> int:
        return -1 - self.group_of[k] if k in self.group_of else k

    def _copy(self, k: int) -> None:
        node = self.frozen.nodes[k]
        self._add(node.op, [self.number[n] for n in node.inputs], node.outputs, self.frozen.origins.get(k))

    def _add(self, op: Any, inputs: Sequence[int], outputs: Sequence[int], origin: Origin | None) -> None:
        """Add a node whose results are values of the old graph."""
        numbers = tuple(range(len(self.types), len(self.types) + len(outputs)))
        if origin is not None:
            self.origins[len(self.nodes)] = origin
        self.nodes.append(Node(op, tuple(inputs), numbers))
        self.types.extend(self.frozen.types[n] for n in outputs)
        self.number.update(zip(outputs, numbers, strict=True))

    def _write(self, group: Sequence[_Steps]) -> None:
        """Add the loop that a group is."""
        frozen, members = self.frozen, {steps.node for steps in group}
        counts = dict.fromkeys(frozen.nodes[s.node].inputs[0] for s in group if s.first)
        places = {number: k for k, number in enumerate(counts)}  # of operands
        sizes = len(places)
        operands: dict[tuple[int, bool], int] = {}  # by value and role: one vector may be a sequence and be read whole
        sources: dict[int, tuple[int, int]] = {}  # results of the stages so far
        drafts: list[Draft] = []
        for steps in group:
            node, op = frozen.nodes[steps.node], steps.op
            reads: list[int | tuple[int, int]] = []
            for k, number in enumerate(node.inputs[steps.first :]):
                is_sequence = op.carries <= k < op.carries + steps.sequences
                place = sizes + len(operands)
                reads.append(
                    sources[number] if number in sources else operands.setdefault((number, is_sequence), place)
                )
            results = [node.outputs[j] for j in steps.kept]
            sources.update((number, (len(drafts), j)) for j, number in enumerate(results))
            reverse = isinstance(op, Scan) and op.reverse
            count = (steps.length, places[node.inputs[0]] if steps.first else -1)
            parts = (steps.program, op.carries, steps.sequences, count, reads, results)
            drafts.append(Draft(*parts, reverse=reverse, asks=isinstance(op, While)))
        resume(drafts)
        first = [*itertools.accumulate((len(draft.results) for draft in drafts), initial=0)]  # results of stages
        stages: list[LaneStage] = []
        stored: list[int] = []
        for draft in drafts:
            is_stored = [n is not None and not self.readers.get(n, set()) <= members for n in draft.results]
            stored += [n for n, keeps in zip(draft.results, is_stored, strict=True) if n is not None and keeps]
            numbers = [k if isinstance(k, int) else ~(first[k[0]] + k[1]) for k in draft.reads]
            about = (draft.program, draft.carries, draft.sequences, *draft.steps, draft.reverse)
            stages.append(LaneStage(*about, tuple(numbers), tuple(is_stored), draft.asks))
        every = [frozen.origins.get(steps.node, Origin()) for steps in group]
        locs = tuple(dict.fromkeys(loc for origin in every for loc in origin.locs))
        rules = tuple(dict.fromkeys(rule for origin in every for rule in origin.rules))
        loop = LaneLoop(sizes, tuple(stages))
        inputs = [*counts, *(number for number, _ in operands)]
        self._add(loop, [self.number[n] for n in inputs], stored, Origin(locs, (*rules, NAME)))
