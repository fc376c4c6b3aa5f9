"""Fusion: ops that run over one index space gathered into `Loop`s, for backends that generate code.

A *step* works on single elements: elementwise ops, gathers at positions for all axes, and axes of length 1 inserted or
dropped. An *end* takes the elements of a step and makes something else of them: a reduction, a scatter. Steps and ends
over one space that feed one another or read the same array share a loop, so that what only the loop itself reads is
never stored, and what several of them read is read once. A backend says which ends and steps its loops can have, and
which groups are worth a loop.

Legal is what keeps the order of the program: nothing outside a loop may need one of its results and be needed by
another of its nodes, and no loop that a check needs may do more than checks need. Everything takes time linear in the
size of the graph.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops.indexing import Gather, Scatter, WrapIndex
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Squeeze
from tg.types.atoms import key
from tg_native.plan.shapes import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.frozen import FrozenGraph, Node

    Judge = Callable[[Node, FrozenGraph], bool]
    Space = tuple[object, ...]  # lengths that are not 1, where those that must be equal are one

MAX_STEPS: Final = 128  # of one loop: C compilers take more than linear time in the length of a loop's body
ALIKE: Final = 8  # steps that are compared to find where a sequence of steps begins anew
UNCHECKED: Final = -1


def never(node: Node, graph: FrozenGraph) -> bool:
    """No."""
    return False


def none(nodes: Sequence[Node], graph: FrozenGraph) -> bool:
    """No loop."""
    return False


def every(nodes: Sequence[Node], graph: FrozenGraph) -> bool:
    """Any loop."""
    return True


def several(nodes: Sequence[Node]) -> bool:
    """Whether there are at least two nodes that compute something."""
    return sum(not is_view(node) for node in nodes) > 1


class Choices(NamedTuple):
    """Abilities of a backend's loops, and what is worth a loop.

    `gathers`: reads at computed positions are steps. `ends` tells which reductions and scatters loops finish, and
    `columns` which of the former may be over outer axes, of values that the loop computes.
    `rows`: loops may have several stages that share their outer axes. `guards`: whether a loop of some nodes also
    reduces what checks look at, which then come after it. `worthwhile`: whether to make a loop of nodes.
    """

    gathers: bool = False
    ends: Judge = never
    columns: Judge = never
    rows: bool = False
    guards: Callable[[Sequence[Node], FrozenGraph], bool] = none
    worthwhile: Callable[[Sequence[Node]], bool] = several


ELEMENTWISE: Final = Choices()


def is_view(node: Node) -> bool:
    """Whether a node only inserts or drops axes of length 1."""
    return type(node.op) in (ExpandDims, Squeeze)


def is_scatter_of_elements(node: Node, graph: FrozenGraph) -> bool:
    """Whether a node combines single elements into an array, at positions for all its axes."""
    return type(node.op) is Scatter and len(node.op.axes) == graph.types[node.inputs[0]].ndim


def is_whole(node: Node, place: int) -> bool:
    """Whether a node reads operand `place` as a whole array: the one gathered from or scattered into."""
    return place == 0 and type(node.op) in (Gather, Scatter)


@final
class Group:
    """Nodes that become one loop, in order of the graph; `outer` counts the axes of the space that stages share."""

    __slots__ = ("level", "nodes", "outer", "space")

    def __init__(self, space: Space, level: int, nodes: list[int]) -> None:
        self.space, self.level, self.nodes = space, level, nodes
        self.outer = 0


@final
class Grouping:
    """Groups of nodes that may share a loop: those over one space, on one level, that are connected.

    The level of a node counts how often a path to it leaves loops: for an op that is no step, for a loop over another
    space, or from an end. So nodes of one level and space never depend on one another through anything else.
    """

    def __init__(self, frozen: FrozenGraph, choices: Choices) -> None:
        self.frozen, self.choices = frozen, choices
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.symbolic = resolved(frozen)
        self.is_end = [False] * len(frozen.nodes)
        self.spaces: list[Space | None] = []
        canonical: dict[Space | None, Space | None] = {}  # so that equal ones are one object
        for k, node in enumerate(frozen.nodes):
            space = self._space(k, node)
            self.spaces.append(canonical.setdefault(space, space))
        self.kept = frozenset(kept_values(frozen))
        self.checked = self._first_checks()
        self.read = [self._read_arrays(k) for k in range(len(frozen.nodes))]
        self.levels = self._levels()
        self.users = self._users()
        self._sink()

    # --- roles -----------------------------------------------------------------------------------------------------

    def _space(self, k: int, node: Node) -> Space | None:
        """The space over which a node is a step or an end, None if it is neither."""
        frozen = self.frozen
        if len(node.outputs) != 1:
            return None
        (out,) = node.outputs
        if type(node.op) in (Reduce, Scatter):
            return self._end_space(k, node)
        t = frozen.types[out]
        if not t.ndim:
            return None
        if node.op.pointwise or (self.choices.gathers and type(node.op) is WrapIndex):
            fits = self._is_aligned(node, out)
        elif type(node.op) is Gather:
            fits = self.choices.gathers and len(node.op.axes) == frozen.types[node.inputs[0]].ndim
        else:
            fits = is_view(node) and self._is_of_step(node)
        return self._without_ones(out) or None if fits else None

    def _is_of_step(self, node: Node) -> bool:
        """Whether a step makes the first operand."""
        below = self.maker.get(node.inputs[0])
        return below is not None and self.spaces[below] is not None and not self.is_end[below]

    def _end_space(self, k: int, node: Node) -> Space | None:
        if not self.choices.ends(node, self.frozen):
            return None
        if type(node.op) is Reduce:
            (x,) = node.inputs
            space = self._without_ones(x)
            fits = bool(space) and (reduced_axes(self.frozen, node) is not None or self._is_of_columns(node))
        else:
            x = node.inputs[1]
            space = self._without_ones(x)
            fits = bool(space) and is_scatter_of_elements(node, self.frozen)
        self.is_end[k] = fits
        return space if fits else None

    def _is_of_columns(self, node: Node) -> bool:
        """Whether a reduction is one over outer axes that the backend wants, of what a step computes."""
        of_columns = column_axes(self.frozen, node) is not None and self._is_of_step(node)
        return of_columns and self.choices.columns(node, self.frozen)

    def _without_ones(self, number: int) -> Space:
        pairs = zip(self.frozen.types[number].shape, self.symbolic[number], strict=True)
        return tuple(key(n) for length, n in pairs if length != 1)

    def _is_aligned(self, node: Node, out: int) -> bool:
        """Whether where the result has length 1 its operands are known to."""
        types = self.frozen.types
        shape = types[out].shape
        if 1 not in shape:
            return True
        operands = (types[n].shape for n in node.inputs if types[n].ndim)
        return all(n == 1 for s in operands for n, d in zip(s, shape, strict=True) if d == 1)

    # --- levels ----------------------------------------------------------------------------------------------------

    def _first_checks(self) -> list[int]:
        """Of each node the first check that needs it, `UNCHECKED` if none does: it runs just before that one."""
        first = [UNCHECKED] * len(self.frozen.nodes)
        for k, check in enumerate(self.frozen.checks):
            stack = [self.maker[n] for n in (check.condition, *check.values) if n in self.maker]
            while stack:
                top = stack.pop()
                if first[top] == UNCHECKED:
                    first[top] = k
                    stack.extend(self.maker[n] for n in self.frozen.nodes[top].inputs if n in self.maker)
        return first

    def feeds(self, below: int, k: int, place: int) -> bool:
        """Whether node k reads node `below`, as its operand `place`, element by element inside of one loop."""
        space = self.spaces[k]
        return (
            space is not None
            and self.spaces[below] is space
            and not self.is_end[below]
            and not is_whole(self.frozen.nodes[k], place)
            and self.checked[below] == self.checked[k]
        )

    def _levels(self) -> list[int]:
        levels: list[int] = []
        for k, node in enumerate(self.frozen.nodes):
            level = 0
            for place, number in enumerate(node.inputs):
                below = self.maker.get(number)
                if below is not None:
                    leaves = self.spaces[below] is not None and not self.feeds(below, k, place)
                    level = max(level, levels[below] + leaves)
            levels.append(level)
        return levels

    def _sink(self) -> None:
        """Move nodes to later levels where a loop has their users, or reads what they read: then it is read once."""
        readers: dict[object, list[int]] = {}  # level of the nodes that read a value, by space and check, ascending
        for k in reversed(range(len(self.frozen.nodes))):
            if self.spaces[k] is None:
                continue
            place = self._latest(k, self.users[k], readers)
            if place is not None:
                self.levels[k] = place
            for read in self.read[k]:
                readers.setdefault(read, []).append(self.levels[k])

    def _users(self) -> list[list[tuple[int, bool]]]:
        """Of each node those that read it, and whether they do inside of one loop."""
        users: list[list[tuple[int, bool]]] = [[] for _ in self.frozen.nodes]
        for k, node in enumerate(self.frozen.nodes):
            for place, number in enumerate(node.inputs):
                below = self.maker.get(number)
                if below is not None:
                    users[below].append((k, self.feeds(below, k, place)))
        return users

    def _latest(self, k: int, users: Sequence[tuple[int, bool]], readers: dict[object, list[int]]) -> int | None:
        """The level to move a node to, None to leave it."""
        is_kept = self.frozen.nodes[k].outputs[0] in self.kept
        inside = {self.levels[u] for u, within in users if within}
        if inside:
            alone = len(inside) == 1 and not is_kept and all(within for _, within in users)
            return inside.pop() if alone else None
        feeding = self._feeding(k)
        if feeding and not self.is_end[k]:
            return None
        limit = min((self.levels[u] - 1 for u, _ in users), default=self.levels[k] if not is_kept else len(self.levels))
        if feeding:  # what feeds an end is stored for the later loop otherwise, or computed there alone
            each = [{self.levels[u] for u, within in self.users[below] if within and u != k} for below in feeding]
            later: Iterable[int] = set.intersection(*each)
        else:
            later = (level for read in self.read[k] for level in readers.get(read, ()))
        return min((level for level in later if self.levels[k] < level <= limit), default=None)

    def _feeding(self, k: int) -> list[int]:
        """The nodes that feed a node inside of one loop."""
        makers = ((place, self.maker.get(number)) for place, number in enumerate(self.frozen.nodes[k].inputs))
        return [below for place, below in makers if below is not None and self.feeds(below, k, place)]

    def _read_arrays(self, k: int) -> list[object]:
        """Values that a node reads element by element, with its space and check."""
        node = self.frozen.nodes[k]
        types = self.frozen.types
        return [
            (id(self.spaces[k]), self.checked[k], n)
            for place, n in enumerate(node.inputs)
            if types[n].ndim and not is_whole(node, place)
        ]

    # --- groups ----------------------------------------------------------------------------------------------------

    def groups(self) -> list[Group]:
        """The groups, each in topological order, none of more than `MAX_STEPS` nodes."""
        parent = list(range(len(self.frozen.nodes)))
        readers: dict[object, int] = {}
        for k, node in enumerate(self.frozen.nodes):
            if self.spaces[k] is None:
                continue
            for read in self.read[k]:
                _join(parent, readers.setdefault((read, self.levels[k]), k), k)
            for place, number in enumerate(node.inputs):
                below = self.maker.get(number)
                if below is not None and self.feeds(below, k, place) and self.levels[below] == self.levels[k]:
                    _join(parent, below, k)
        by_root: dict[int, list[int]] = {}
        for k, space in enumerate(self.spaces):
            if space is not None:
                by_root.setdefault(_root(parent, k), []).append(k)
        return [group for nodes in by_root.values() for group in self._split(nodes)]

    def _split(self, nodes: list[int]) -> Iterable[Group]:
        space = self.spaces[nodes[0]]
        assert space is not None
        last = self._last_readers(nodes) if len(nodes) > MAX_STEPS else []
        start = 0
        while start < len(nodes):
            end = self._end(nodes, last, start)
            group = Group(space, self.levels[nodes[0]], nodes[start:end])
            self._settle_outer(group)
            yield group
            start = end

    def _last_readers(self, nodes: Sequence[int]) -> list[int]:
        """Of each node the place of the last one that reads it; far behind all where its result is stored anyway."""
        place = {k: at for at, k in enumerate(nodes)}
        last: list[int] = []
        for at, k in enumerate(nodes):
            inside = all(within and u in place for u, within in self.users[k])
            is_read = inside and self.kept.isdisjoint(self.frozen.nodes[k].outputs)
            last.append(max((place[u] for u, _ in self.users[k]), default=at) if is_read else 2 * len(nodes))
        return last

    def _end(self, nodes: Sequence[int], last: Sequence[int], start: int) -> int:
        """End of a group that begins at a place.

        It has at least half of `MAX_STEPS`; as few results as can be are stored for the groups behind it alone. Where
        that leaves a choice, the next group begins as this one does: many steps of one kind become equal loops, which
        are compiled once (`tg_native.fusion.alike`).
        """
        limit, least = start + MAX_STEPS, start + MAX_STEPS // 2
        if limit >= len(nodes):
            return len(nodes)
        changes = [0] * (MAX_STEPS + 2)  # of how many results are stored for that, from one end to the next
        for at in range(start, limit):
            if at < last[at] < at + MAX_STEPS:  # what is read farther on is stored wherever the group ends
                changes[at + 1 - start] += 1
                changes[min(last[at], limit) + 1 - start] -= 1
        costs = [*itertools.accumulate(changes)]
        ends = range(limit, least, -1)
        cheapest = min(costs[end - start] for end in ends)
        fits = [end for end in ends if costs[end - start] == cheapest]
        ops = [self.frozen.nodes[k].op for k in nodes[start : limit + ALIKE]]
        return next((end for end in fits if ops[end - start : end - start + ALIKE] == ops[:ALIKE]), fits[0])

    def _settle_outer(self, group: Group) -> None:
        """Choose the outer axes: those that stay in rows, else those that columns lose.

        Reductions over others, and not over all axes, are no ends of this loop.
        """
        nodes = self.frozen.nodes
        rank = len(group.space)
        of_columns: list[tuple[int, int]] = []
        for k in [k for k in group.nodes if self.is_end[k] and type(nodes[k].op) is Reduce]:
            axes = reduced_axes(self.frozen, nodes[k])
            if axes is None:
                of_columns.append((k, len(dropped_axes(self.frozen, nodes[k]))))
            elif (outer := rank - len(axes)) and group.outer in (0, outer):
                group.outer = outer
            elif outer:
                group.nodes.remove(k)
        steps = {n for k in group.nodes for n in nodes[k].outputs}
        for k, outer in of_columns:
            if group.outer in (0, outer) and nodes[k].inputs[0] in steps:
                group.outer = outer
            else:
                group.nodes.remove(k)


def reduced_axes(frozen: FrozenGraph, node: Node) -> tuple[int, ...] | None:
    """The axes, not of length 1, that a reduction drops, if they are the last ones of those."""
    gone = _is_reduced(frozen, node)
    count = sum(gone)
    return tuple(range(-count, 0)) if count and all(gone[len(gone) - count :]) else None


def column_axes(frozen: FrozenGraph, node: Node) -> tuple[int, ...] | None:
    """The axes, not of length 1, that a reduction drops, if they are the first ones of those, and not all."""
    gone = _is_reduced(frozen, node)
    count, rank = sum(gone), len(gone)
    return tuple(range(-rank, count - rank)) if 0 < count < rank and all(gone[:count]) else None


def dropped_axes(frozen: FrozenGraph, node: Node) -> tuple[int, ...]:
    """The axes, not of length 1, that a reduction in a loop drops."""
    axes = reduced_axes(frozen, node) or column_axes(frozen, node)
    assert axes is not None
    return axes


def _is_reduced(frozen: FrozenGraph, node: Node) -> list[bool]:
    """Of each axis that is not of length 1, whether a reduction drops it."""
    shape = frozen.types[node.inputs[0]].shape
    op: Any = node.op
    return [k in op.axes for k in range(-len(shape), 0) if shape[k] != 1]


def kept_values(frozen: FrozenGraph) -> Iterable[int]:
    """The values that something other than nodes reads."""
    yield from frozen.outputs
    for c in frozen.checks:
        yield c.condition
        yield from c.values


def _root(parent: list[int], k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


def _join(parent: list[int], a: int, b: int) -> None:
    a, b = _root(parent, a), _root(parent, b)
    parent[max(a, b)] = min(a, b)
