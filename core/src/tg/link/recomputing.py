"""Rematerialisation: a program whose backward pass computes values of the forward pass again, segment by segment.

The backward pass of a segment becomes one inner graph, with the part of the forward pass that it needs in front: a
`Call`, as `tg.checkpoint` makes one. So what is computed again are nodes of their own, which nothing merges with the
first ones, and they run when the cotangents that the call reads are there. All rewriting is done before: what is
computed again has the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.graph.frozen import FrozenGraph, Node
from tg.ops.control import Call
from tg.ops.shape import ExpandDims, Squeeze, Transpose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenCheck
    from tg.link.directions import Directions

VIEWS: Final = (ExpandDims, Squeeze, Transpose)
NOWHERE: Final = math.inf  # the segment of what reads no value of a segment


class Group(NamedTuple):
    """The nodes of one inner graph: those of the forward pass to be computed again, and those of the backward pass."""

    segment: int
    again: tuple[int, ...]
    backward: tuple[int, ...]


@final
class Recomputing:
    """Segments of a forward pass, and the part of the backward pass that belongs to each.

    A node of the backward pass belongs to the first segment of which it, or what it is made of, reads a value that is
    not kept. Along the backward pass that number never grows, so no path leaves a group and comes back.

    Args:
        segments: the segment of each node of the forward pass, from 1; 0 for what is kept.
        only: the segments that are computed again; all unless given.
    """

    def __init__(self, directions: Directions, segments: Mapping[int, int], only: frozenset[int] | None = None) -> None:
        self.directions, self.graph, self.segments = directions, directions.graph, segments
        self.stored = self._stored()
        self.reads = self._reads()
        self.is_early = self._early()
        groups = map(self._group, sorted({s for s in segments.values() if s}))
        self.groups = [self._chosen(g, only) for g in groups if g.backward and self._can_move(g)]

    def _stored(self) -> set[int]:
        """The values of the forward pass that are there when the backward pass begins."""
        d, stored = self.directions, set[int]()
        for k in d.forward:
            own, node = self.segments.get(k, 0), self.graph.nodes[k]
            is_once = not own or node.op.calls_python or bool(node.op.inner_descriptors)
            for v in node.outputs:
                others = any(
                    self.segments.get(r, 0) != own if not d.follows[r] else not d.is_backward[r] for r in d.readers[v]
                )
                if is_once or others or v in d.ends or not self.graph.types[v].ndim:
                    stored.add(v)
        return stored

    def _reads(self) -> list[float]:
        """For each node that follows the backward pass the first segment of which it needs values."""
        d, first = self.directions, [NOWHERE] * len(self.graph.nodes)
        for k, node in enumerate(self.graph.nodes):
            for v in node.inputs if d.follows[k] else ():
                maker = d.makers.get(v)
                if maker is not None and d.follows[maker]:
                    first[k] = min(first[k], first[maker])
                elif maker is not None and v not in self.stored:
                    first[k] = min(first[k], self.segments[maker])
        for k in reversed(range(len(first))):
            if self._is_view(k):
                readers = [first[r] for v in self.graph.nodes[k].outputs for r in d.readers[v]]
                first[k] = min(first[k], max(readers))
        return first

    def _is_view(self, k: int) -> bool:
        """Whether a node is a view of a cotangent for other nodes: it goes with these, for calls hand on copies."""
        d, node = self.directions, self.graph.nodes[k]
        is_of_cotangents = d.follows[k] and all(d.follows[d.makers[v]] for v in node.inputs if v in d.makers)
        return (
            isinstance(node.op, VIEWS)
            and is_of_cotangents
            and d.ends.isdisjoint(node.outputs)
            and any(d.readers[v] for v in node.outputs)
        )

    def _group(self, segment: int) -> Group:
        d, members = self.directions, set[int]()
        for k in reversed(range(len(self.graph.nodes))):
            if not d.follows[k]:
                continue
            readers = {r for v in self.graph.nodes[k].outputs for r in d.readers[v]}
            is_between = self.reads[k] == segment and (d.is_backward[k] or not readers.isdisjoint(members))
            is_own = readers and readers <= members and d.ends.isdisjoint(self.graph.nodes[k].outputs)
            if is_between or (is_own and self.is_early[k]):
                members.add(k)
        backward = tuple(sorted(members))
        return Group(segment, tuple(self._again(backward)), backward)

    def _early(self) -> list[bool]:
        """For each node that follows the backward pass whether it reads weights and what is kept alone.

        It could run before there are cotangents, and what it makes would wait for them.
        """
        d, early = self.directions, [False] * len(self.graph.nodes)
        for k, follows in enumerate(d.follows):
            early[k] = follows and self.reads[k] == NOWHERE and all(early[j] for j in d.below(k) if d.follows[j])
        return early

    def _again(self, backward: Iterable[int]) -> list[int]:
        """The nodes of the forward pass that are computed again for these."""
        d, needed = self.directions, set[int]()
        stack = [v for k in backward for v in self.graph.nodes[k].inputs]
        while stack:
            v = stack.pop()
            maker = d.makers.get(v)
            if maker is None or d.follows[maker] or v in self.stored or maker in needed:
                continue
            needed.add(maker)
            stack.extend(self.graph.nodes[maker].inputs)
        return sorted(needed)

    def _can_move(self, group: Group) -> bool:
        """Whether the nodes may be in an inner graph: none calls Python, and lengths follow from those of inputs."""
        for k in (*group.again, *group.backward):
            node = self.graph.nodes[k]
            if node.op.calls_python or node.op.inner_descriptors:
                return False
            for place in node.op.size_operands(len(node.inputs)):
                v = node.inputs[place]
                if v in self.directions.makers and v not in self.directions.lengths:
                    return False
        return True

    def _chosen(self, group: Group, only: frozenset[int] | None) -> Group:
        """The group; without what is computed again where that is not wanted, or would not come late."""
        is_late = self._waits(group)
        return group if is_late and (only is None or group.segment in only) else group._replace(again=())

    def _waits(self, group: Group) -> bool:
        """Whether it reads a cotangent that another part of the backward pass makes of values."""
        d, own = self.directions, set(group.backward)
        stack = [j for k in group.backward for j in d.below(k) if d.follows[j] and j not in own]
        visited = set(stack)
        while stack:
            k = stack.pop()
            for v in self.graph.nodes[k].inputs:
                maker = d.makers.get(v)
                if maker is None or v in d.lengths:
                    continue
                if not d.follows[maker]:
                    return True
                if maker not in visited:
                    visited.add(maker)
                    stack.append(maker)
        return False

    def program(self) -> FrozenGraph:
        """The program with each group a call."""
        graph, inside = self.graph, {k for group in self.groups for k in group.backward}
        nodes = [(node, k) for k, node in enumerate(graph.nodes) if k not in inside]
        nodes += [(self._call(group), group.backward[0]) for group in self.groups]
        return _numbered(graph, range(graph.arity), nodes, graph.outputs, graph.checks)

    def _call(self, group: Group) -> Node:
        """The call for a group, its operands and results by their numbers in the program."""
        graph, d = self.graph, self.directions
        members = {*group.again, *group.backward}
        members.update(self._lengths_for(members))
        own = {v for k in members for v in graph.nodes[k].outputs}
        read = dict.fromkeys(v for k in sorted(members) for v in graph.nodes[k].inputs)
        operands = [v for v in read if v not in own and graph.constant(v) is None]
        results = [
            v
            for k in group.backward
            for v in graph.nodes[k].outputs
            if v in d.ends or not set(d.readers[v]) <= set(group.backward)
        ]
        depths = self._depths(group.backward)
        results.sort(key=lambda v: (depths[d.makers[v]], v))
        inner = _numbered(graph, operands, [(graph.nodes[k], k) for k in sorted(members)], results)
        return Node(Call(inner), tuple(operands), tuple(results))

    def _lengths_for(self, members: Iterable[int]) -> set[int]:
        """The nodes that compute the lengths which some nodes read."""
        d, nodes = self.directions, set[int]()
        stack = [v for k in members for v in self.graph.nodes[k].inputs if v in d.lengths]
        while stack:
            k = d.makers[stack.pop()]
            if k not in nodes:
                nodes.add(k)
                stack.extend(v for v in self.graph.nodes[k].inputs if v in d.lengths)
        return nodes

    def _depths(self, backward: Sequence[int]) -> dict[int, int]:
        """The length of the longest path within a group to each node."""
        depths: dict[int, int] = {}
        for k in backward:
            depths[k] = 1 + max((depths.get(j, 0) for j in self.directions.below(k)), default=0)
        return depths


def _numbered(
    graph: FrozenGraph,
    inputs: Sequence[int],
    nodes: Sequence[tuple[Node, int]],
    outputs: Sequence[int],
    checks: Sequence[FrozenCheck] = (),
) -> FrozenGraph:
    """A graph of nodes whose values have the numbers that they have in another graph, operands first.

    Args:
        nodes: each with the node there whose origin it has.
    """
    ends = [v for c in checks for v in (c.condition, *c.values)] + list(outputs)
    ordered = _ordered(nodes, ends)
    read = dict.fromkeys([v for node, _ in ordered for v in node.inputs] + ends)
    constants = {v: c for v in read if (c := graph.constant(v)) is not None}
    values = [*inputs, *constants, *(v for node, _ in ordered for v in node.outputs)]
    number = {v: k for k, v in enumerate(values)}

    def places(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(number[v] for v in numbers)

    return FrozenGraph(
        len(inputs),
        [graph.types[v] for v in values],
        [*constants.values()],
        [Node(node.op, places(node.inputs), places(node.outputs)) for node, _ in ordered],
        places(outputs),
        [c._replace(condition=number[c.condition], values=places(c.values)) for c in checks],
        {number[v]: name for v, name in graph.names.items() if v in number},
        {at: graph.origins[k] for at, (_, k) in enumerate(ordered) if k in graph.origins},
        {number[v]: facts for v, facts in graph.assumed.items() if v in number},
    )


def _ordered(nodes: Sequence[tuple[Node, int]], roots: Iterable[int]) -> list[tuple[Node, int]]:
    """The nodes that make some values, each as late as the one that first needs it allows."""
    makers = {v: at for at, (node, _) in enumerate(nodes) for v in node.outputs}
    order: list[int] = []
    placed: set[int] = set()
    stack = [makers[v] for v in roots if v in makers][::-1]
    while stack:
        top = stack[-1]
        missing = [makers[v] for v in nodes[top][0].inputs if v in makers and makers[v] not in placed]
        if top not in placed and missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if top not in placed:
            placed.add(top)
            order.append(top)
    return [nodes[at] for at in order]
