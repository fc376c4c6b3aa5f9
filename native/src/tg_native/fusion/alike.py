"""Loops that are equal but for numbers: these become operands, so that one function serves all of them.

Many steps of one kind are cut into loops of which each does what the others do, with other factors and terms. Written
as they are they would be as many functions, and C's compiler takes a quarter of a millisecond for each step of them.
Only sums and products with numbers are taken, which are written alike whatever the number is: of a divisor, say, it is
asked whether its inverse would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.graph.frozen import FrozenGraph, Node
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg_native.fusion.loop import Loop, Stage
from tg_native.kernels.dtypes import is_wide_float

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tg.graph.nodes import Constant

    Place = tuple[int, int, int]  # the stage, the step, and which of its operands

LEAST: Final = 16  # steps of a loop: one of fewer takes less to compile than people take to read a call with numbers
FUNCTIONS: Final = frozenset((add, multiply, subtract))


class Parted(NamedTuple):
    """A loop some of whose numbers are operands, after those that it had; and these numbers."""

    op: Loop
    numbers: tuple[Constant, ...]


def parted(loops: Sequence[tuple[Loop, int]]) -> dict[int, Parted]:
    """Of some loops, with how many operands they have, those that are equal but for numbers, by their places."""
    alike: dict[tuple[int, object], list[int]] = {}
    for k, (op, arity) in enumerate(loops):
        if sum(len(stage.program.nodes) for stage in op.stages) >= LEAST:
            alike.setdefault((arity, _form(op)), []).append(k)
    by_place: dict[int, Parted] = {}
    for (arity, _), members in alike.items():
        if len(members) > 1:
            by_place.update(zip(members, _parted([loops[k][0] for k in members], arity), strict=True))
    return by_place


def _form(op: Loop) -> object:
    """Common form of loops that are equal but for numbers."""
    stages = []
    for stage in op.stages:
        program = stage.program
        steps = tuple((node.op, *(_part(program, node, k) for k in range(len(node.inputs)))) for node in program.nodes)
        outputs = tuple(_named(program, number) for number in program.outputs)
        stages.append((program.input_types, steps, outputs, stage.reads, stage.results))
    return (op.extents, op.outer, tuple(stages))


def _part(program: FrozenGraph, node: Node, k: int) -> object:
    """An operand of a step; only its dtype if it is a number that may be another one."""
    number = node.inputs[k]
    return program.types[number].dtype if _may_differ(program, node, number) else _named(program, number)


def _named(program: FrozenGraph, number: int) -> object:
    """A value by what does not depend on how many constants there are: what they are, or its place among the others."""
    constant = program.constant(number)
    if constant is not None:
        return constant.key
    return number if number < program.arity else number - len(program.constants)


def _may_differ(program: FrozenGraph, node: Node, number: int) -> bool:
    dtype = program.types[number].dtype
    return program.constant(number) is not None and node.op.rule_key in FUNCTIONS and is_wide_float(dtype)


def _numbers(op: Loop) -> Iterator[tuple[Place, Constant]]:
    """The numbers in a loop that may be others, by where they are read."""
    for s, stage in enumerate(op.stages):
        program = stage.program
        for at, node in enumerate(program.nodes):
            for k, number in enumerate(node.inputs):
                constant = program.constant(number)
                if constant is not None and _may_differ(program, node, number):
                    yield (s, at, k), constant


def _parted(loops: Sequence[Loop], arity: int) -> list[Parted]:
    """Loops of one form and so many operands as equal loops: numbers that differ between them are operands."""
    numbers = [dict(_numbers(op)) for op in loops]
    operands: dict[tuple[object, ...], int] = {}  # by what they are in each loop
    first: list[Place] = []  # where each is read
    places: dict[Place, int] = {}
    for place in numbers[0]:
        keys = tuple(by_place[place].key for by_place in numbers)
        if any(key != keys[0] for key in keys):
            places[place] = arity + operands.setdefault(keys, len(operands))
            if len(first) < len(operands):
                first.append(place)
    return [
        Parted(_with_operands(op, places), tuple(by_place[place] for place in first))
        for op, by_place in zip(loops, numbers, strict=True)
    ]


def _with_operands(op: Loop, places: Mapping[Place, int]) -> Loop:
    """A loop that reads operands where steps had numbers."""
    stages = []
    for s, stage in enumerate(op.stages):
        own = {(at, k): operand for (t, at, k), operand in places.items() if t == s}
        stages.append(_stage(stage, own))
    return Loop(op.extents, op.outer, tuple(stages))


def _stage(stage: Stage, places: Mapping[tuple[int, int], int]) -> Stage:
    """A stage that reads operands of the loop where steps had numbers: by the steps, and which of their operands."""
    program = stage.program
    added = {operand: program.arity + j for j, operand in enumerate(dict.fromkeys(places.values()))}
    read = {(at, k): n for at, node in enumerate(program.nodes) for k, n in enumerate(node.inputs)}
    types = {added[operand]: program.types[read[place]] for place, operand in places.items()}
    left = dict.fromkeys((*(n for place, n in read.items() if place not in places), *program.outputs))
    literals = [n for n in left if program.constant(n) is not None]
    first, arity = program.arity + len(program.constants), program.arity + len(added)
    number = {k: k for k in range(program.arity)} | {n: arity + j for j, n in enumerate(literals)}
    number.update((n, n - first + arity + len(literals)) for n in range(first, len(program.types)))
    nodes = []
    for at, node in enumerate(program.nodes):
        operands = (added[places[at, k]] if (at, k) in places else number[n] for k, n in enumerate(node.inputs))
        nodes.append(Node(node.op, tuple(operands), tuple(number[n] for n in node.outputs)))
    every = [*program.input_types, *(types[k] for k in added.values()), *(program.types[n] for n in literals)]
    constants = [c for n in literals if (c := program.constant(n)) is not None]
    names = {number[n]: name for n, name in program.names.items() if n in number}
    graph = (arity, [*every, *program.types[first:]], constants, nodes, [number[n] for n in program.outputs])
    return Stage(FrozenGraph(*graph, (), names, program.origins), (*stage.reads, *added), stage.results)
