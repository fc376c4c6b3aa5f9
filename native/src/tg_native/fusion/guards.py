"""Checks made with the loops that they guard: what only they reduce is reduced where a loop reads it anyway.

The least and the largest of some indices decide whether these are fine; to find them in a pass of their own takes a
fifth of a gather and a sum. A loop that reduces, or scatters into an array made for that, may run before its guards: it
leaves its arrays at no index, and what it stores nobody sees if a check fails. Such checks come after all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.graph.frozen import FrozenGraph
from tg.ops.indexing import Scatter
from tg.ops.reduction import Reduce
from tg_native.fusion.fusion import MAX_STEPS, UNCHECKED, is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.frozen import Node
    from tg_native.fusion.fusion import Group, Grouping

    Loops = list[tuple[int, list[int]]]  # how many axes the stages of each share, and their groups


def joined(
    grouping: Grouping, groups: Sequence[Group], loops: Loops, takes: Callable[[Sequence[Node], FrozenGraph], bool]
) -> tuple[Loops, FrozenGraph]:
    """The loops, fewer where guards joined others, and the graph with the checks that need those behind the others.

    Args:
        takes: whether the backend wants guards in a loop of some nodes.
    """
    frozen = grouping.frozen
    alone = [members[0] for outer, members in loops if outer == 0 and len(members) == 1]
    guards = [g for g in alone if _guards(grouping, groups[g])]
    if not guards:
        return loops, frozen
    needed = _ancestors(grouping, frozen.outputs)
    hosts = [h for h in alone if _may_come_first(grouping, groups[h])]
    hosts = [h for h in hosts if takes([frozen.nodes[k] for k in groups[h].nodes], frozen)]
    moved: dict[int, int] = {}
    for g in guards:
        read = _read(grouping, groups[g])
        fits = (h for h in hosts if groups[h].space == groups[g].space and read & _read(grouping, groups[h]))
        host = next((h for h in fits if len(groups[h].nodes) + len(groups[g].nodes) <= MAX_STEPS), None)
        if host is not None and needed.isdisjoint(groups[g].nodes):
            moved[g] = host
    late = {k for g in moved for k in groups[g].nodes}
    for g, host in moved.items():
        groups[host].nodes = sorted((*groups[host].nodes, *groups[g].nodes))
    return [loop for loop in loops if moved.keys().isdisjoint(loop[1])], _with_last(grouping, late)


def _guards(grouping: Grouping, group: Group) -> bool:
    """Whether all that a group does is to reduce a row for checks."""
    if len(group.space) > 1 or grouping.checked[group.nodes[0]] == UNCHECKED:
        return False
    return all(type(grouping.frozen.nodes[k].op) is Reduce for k in group.nodes)


def _may_come_first(grouping: Grouping, group: Group) -> bool:
    """Whether a group that no check needs stores nothing of a row, nor anything in an array that may be an input."""
    if len(group.space) > 1 or grouping.checked[group.nodes[0]] != UNCHECKED:
        return False
    nodes, own = grouping.frozen.nodes, set(group.nodes)
    if not all(_is_new(grouping, nodes[k].inputs[0]) for k in own if type(nodes[k].op) is Scatter):
        return False
    steps = [k for k in own if not grouping.is_end[k]]
    inside = all(u in own for k in steps for u, _ in grouping.users[k])
    return inside and grouping.kept.isdisjoint(n for k in steps for n in nodes[k].outputs)


def _is_new(grouping: Grouping, number: int) -> bool:
    """Whether a value is made of numbers and constants."""
    frozen = grouping.frozen
    maker = grouping.maker.get(number)
    below = frozen.nodes[maker].inputs if maker is not None else (number,)
    return all(not frozen.types[n].ndim or frozen.constant(n) is not None for n in below)


def _read(grouping: Grouping, group: Group) -> set[int]:
    """The arrays that a group reads element by element."""
    frozen = grouping.frozen
    pairs = ((k, place, n) for k in group.nodes for place, n in enumerate(frozen.nodes[k].inputs))
    return {n for k, place, n in pairs if frozen.types[n].ndim and not is_whole(frozen.nodes[k], place)}


def _ancestors(grouping: Grouping, values: Iterable[int]) -> set[int]:
    """The nodes that values need."""
    ancestors: set[int] = set()
    stack = [grouping.maker[n] for n in values if n in grouping.maker]
    while stack:
        k = stack.pop()
        if k not in ancestors:
            ancestors.add(k)
            stack.extend(grouping.maker[n] for n in grouping.frozen.nodes[k].inputs if n in grouping.maker)
    return ancestors


def _with_last(grouping: Grouping, late: set[int]) -> FrozenGraph:
    """The graph with the checks that need some nodes behind the others."""
    frozen = grouping.frozen
    if not late:
        return frozen
    numbers = {n for k in late for n in frozen.nodes[k].outputs}
    for node in frozen.nodes:
        if not numbers.isdisjoint(node.inputs):
            numbers.update(node.outputs)
    checks = sorted(frozen.checks, key=lambda c: not numbers.isdisjoint((c.condition, *c.values)))
    graph = (frozen.arity, frozen.types, frozen.constants, frozen.nodes, frozen.outputs, checks)
    return FrozenGraph(*graph, frozen.names, frozen.origins, frozen.assumed)
