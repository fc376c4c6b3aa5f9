"""Row loops: loops over one space that hand each other one number a row, or whole rows, made one loop of stages.

Softmax as three loops reads its matrix three times: for the largest of each row, for the exponentials and their sums,
for the quotients. As one loop of three stages it does so row by row, while a row is in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from tg.ops.reduction import Reduce
from tg.types.atoms import key
from tg_native.fusion.fusion import MAX_STEPS, is_view, is_whole, reduced_axes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg_native.fusion.fusion import Group, Grouping, Space


class Link(NamedTuple):
    """An operand, number `number`, of a group that another group makes, seen through axes of length 1: `source`."""

    number: int
    source: int  # the node
    group: int
    is_element: bool  # and not a whole array


@final
class Rows:
    """Joins groups to row loops."""

    def __init__(self, grouping: Grouping, groups: Sequence[Group]) -> None:
        self.grouping, self.frozen, self.groups = grouping, grouping.frozen, groups
        self.home = {k: g for g, group in enumerate(groups) for k in group.nodes}
        self.loops: list[list[int]] = [[g] for g in range(len(groups))]  # by group: the groups of its loop
        self.spans: dict[int, tuple[int, int]] = {}  # of loops with several stages, by id: their levels
        self.links = [list(self._links(g)) for g in range(len(groups))]
        self.users = self._users()

    def joined(self) -> list[tuple[int, list[int]]]:
        """The loops: how many axes their stages share, and their groups in order."""
        order = sorted(range(len(self.groups)), key=lambda g: self.groups[g].level)
        for g in order:
            if len(self.groups[g].space) > 1:
                self._join(g)
        by_id: dict[int, list[int]] = {}
        for loop in self.loops:
            by_id[id(loop)] = loop
        return [(self._outer(loop), sorted(loop, key=lambda g: (self.groups[g].level, g))) for loop in by_id.values()]

    def _outer(self, loop: Sequence[int]) -> int:
        return max(self.groups[g].outer for g in loop)

    # --- who reads whom --------------------------------------------------------------------------------------------

    def _links(self, g: int) -> Iterator[Link]:
        """Links of a group to what it reads of other groups."""
        for k in self.groups[g].nodes:
            node = self.frozen.nodes[k]
            for place, number in enumerate(node.inputs):
                source = self._source(number)
                if source is not None and self.home.get(source, g) != g:
                    is_element = not is_whole(node, place) and self.frozen.types[number].ndim > 0
                    yield Link(number, source, self.home[source], is_element)

    def _source(self, number: int) -> int | None:
        """The node that makes a value, seen through views that no group has."""
        k = self.grouping.maker.get(number)
        while k is not None and k not in self.home and is_view(self.frozen.nodes[k]):
            k = self.grouping.maker.get(self.frozen.nodes[k].inputs[0])
        return k

    def _users(self) -> list[list[int]]:
        """Of each node those that read it, views that no group has left out."""
        users: list[list[int]] = [[] for _ in self.frozen.nodes]
        for k, node in enumerate(self.frozen.nodes):
            if k not in self.home and is_view(node):
                continue
            for number in node.inputs:
                source = self._source(number)
                if source is not None:
                    users[source].append(k)
        return users

    # --- joining ---------------------------------------------------------------------------------------------------

    def _join(self, g: int) -> None:
        """Join a group to the loops over its space that it reads rows of."""
        space = self.groups[g].space
        for outer in sorted({len(self.groups[link.group].space) for link in self.links[g]} | self._outers(g)):
            if 0 < outer < len(space) and self.groups[g].outer in (0, outer):
                members = self._needed(g, space, outer)
                if members and self._is_legal(members, space, outer):
                    loop = sorted(members)
                    for one in loop:
                        self.spans.pop(id(self.loops[one]), None)
                        self.loops[one] = loop
                    levels = [self.groups[one].level for one in loop]
                    self.spans[id(loop)] = (min(levels), max(levels))
                    return

    def _outers(self, g: int) -> set[int]:
        return {self.groups[link.group].outer for link in self.links[g]}

    def _needed(self, g: int, space: Space, outer: int) -> set[int]:
        """The groups that would be one loop with group g: loops over its space, and what is made of their rows."""
        members, stack, visited = {g}, [g], {g}
        rows = set[int]()
        while stack:
            for link in self.links[stack.pop()]:
                other = self.groups[link.group]
                if other.space == space and self._outer(self.loops[link.group]) == outer:
                    members.update(self.loops[link.group])
                elif other.space == space[:outer] and link.group not in visited:
                    visited.add(link.group)
                    rows.add(link.group)
                    stack.append(link.group)
        for r in sorted(rows, key=lambda r: self.groups[r].level):
            if any(link.group in members for link in self.links[r]):
                members.add(r)
        return members if any(self.groups[one].outer for one in members) and len(members) > 1 else set()

    # --- what is legal ---------------------------------------------------------------------------------------------

    def _is_legal(self, members: set[int], space: Space, outer: int) -> bool:
        nodes = {k for one in members for k in self.groups[one].nodes}
        checks = {self.grouping.checked[k] for k in nodes}
        if len(nodes) > MAX_STEPS or len(checks) > 1:
            return False
        for one in members:
            if self.groups[one].space != space and any(self.grouping.is_end[k] for k in self.groups[one].nodes):
                return False
            if not all(self._fits(link, one, space, outer) for link in self.links[one] if link.group in members):
                return False
        return not self._comes_back(nodes, max(self.groups[one].level for one in members))

    def _fits(self, link: Link, reader: int, space: Space, outer: int) -> bool:
        """Whether what one group reads of another stands at the same place of the space, or of its row."""
        node = self.frozen.nodes[link.source]
        if not link.is_element:
            return False
        if self.grouping.is_end[link.source]:
            axes = reduced_axes(self.frozen, node) if type(node.op) is Reduce else None
            if axes is None or len(axes) != len(space) - outer:
                return False
        pairs = list(zip(self.frozen.types[link.number].shape, self.grouping.symbolic[link.number], strict=True))
        shape = [key(n) for _, n in pairs]
        row = [*space[:outer], *([1] * (len(space) - outer))]
        if self.groups[reader].space != space:
            return [k for k in shape if k != 1] == list(space[:outer])
        if self.groups[link.group].space == space and not self.grouping.is_end[link.source]:
            return [k for k in shape if k != 1] == list(space)
        return shape == row

    def _comes_back(self, nodes: set[int], level: int) -> bool:
        """Whether a path leaves the nodes and comes back: then they cannot be one loop.

        A path that comes to a node of a loop goes on from all nodes of the loop, also from those of a lower level and
        from those that the first does not lead to.
        """
        levels, top = self.grouping.levels, self._top(level)
        visited = set[int]()
        stack = [u for k in nodes for u in self.users[k] if u not in nodes]
        while stack:
            u = stack.pop()
            if u in nodes:
                return True
            if u not in visited and levels[u] <= top:
                for k in self._together(u):
                    visited.add(k)
                    stack += self.users[k]
        return False

    def _top(self, level: int) -> int:
        """The highest level from which loops with several stages lead down to a level again."""
        for lowest, highest in sorted(self.spans.values()):
            if lowest <= level:
                level = max(level, highest)
        return level

    def _together(self, k: int) -> Sequence[int]:
        """The nodes of the loop that a node is in, or itself."""
        return [n for g in self.loops[self.home[k]] for n in self.groups[g].nodes] if k in self.home else (k,)
