"""`Loop`: several elementwise ops as one pass over an index space, and the fusion that makes loops.

Only backends that generate code call the fusion: loops exist after lowering only and have no derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.graph.frozen import FrozenGraph, Node, Origin, types_for
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.graph.op import Op
from tg.ops.elementwise.record import broadcast_shapes
from tg.ops.family import Family
from tg.types.lengths import Requirements, key, require_same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]
    Worthwhile = Callable[[Sequence[Node]], bool]

MAX_STEPS: Final = 256  # of one loop: C compilers take more than linear time in the length of a loop's body
MAX_LOCS: Final = 3  # of a loop, as of any node


@final
class Stage(Op):
    """A scalar program applied at each index: its operands are elements of the loop's operands, its results are stored.

    Shapes:
        operands of one rank, or 0-d, that broadcast -> results of the broadcast shape
    """

    program: FrozenGraph

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The dtypes of the program's outputs over the space."""
        shape = broadcast_shapes("loop", inputs)
        return tuple(TensorType(t.dtype, shape) for t in self.program.output_types)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """The program interpreted on whole arrays."""
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        found = interpret(self.program, arrays)
        return tuple(y if y.shape == shape else np.broadcast_to(y, shape).copy() for y in found)


@final
class Loop(Op):
    """Stages run over one index space, each at every index of it.

    `extents` are the lengths of the space where they are known, `outer` counts the leading axes that the stages share.
    There is one stage, which shares all axes.

    Shapes:
        operands of the space's rank, of length 1 where they are repeated, or 0-d -> results of the space's shape
    """

    extents: tuple[int | None, ...]
    outer: int
    stages: tuple[Stage, ...]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The types of what the stages store."""
        (stage,) = self.stages
        found = stage.infer(*inputs)
        shape = [require_same(e, n, lambda: "loop") for e, n in zip(self.extents, found[0].shape, strict=True)]
        return tuple(t.with_shape(shape) for t in found)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """Stage by stage, each on whole arrays."""
        (stage,) = self.stages
        return stage.perform(*arrays)


def is_fusable(node: Node, graph: FrozenGraph) -> bool:
    """Whether a node can be a step of a loop: it works on elements, has one result, and that has axes."""
    return node.op.pointwise and len(node.outputs) == 1 and graph.types[node.outputs[0]].ndim > 0


def fuse_elementwise(frozen: FrozenGraph, *, worthwhile: Worthwhile | None = None) -> FrozenGraph:
    """The graph with elementwise ops of one shape gathered into loops.

    Ops are gathered if one feeds the other or both read one array. What only the loop itself reads is not stored. Takes
    time linear in the size of the graph.

    Args:
        worthwhile: whether to make a loop of some nodes; by default of two or more.
    """
    groups = _Grouping(frozen).groups()
    wanted = worthwhile if worthwhile is not None else lambda nodes: len(nodes) > 1
    chosen = [g for g in groups if wanted([frozen.nodes[k] for k in g])]
    return _Rebuild(frozen, chosen).run() if chosen else frozen


@final
class _Grouping:
    """Which nodes may share a loop: those of one shape and one level that are connected.

    The level of a node counts how often a path to it leaves loops, for an op that is no step of one or for a loop of
    another shape; nodes of one level and shape so never depend on one another through anything else.
    """

    def __init__(self, frozen: FrozenGraph) -> None:
        self.frozen = frozen
        self.fusable = [is_fusable(node, frozen) for node in frozen.nodes]
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.shapes = self._shapes()
        self.levels = self._levels()
        self._sink()

    def _shapes(self) -> list[tuple[object, ...] | None]:
        """Of each node that may be a step, its shape, in which lengths that must be equal are one."""
        frozen = self.frozen
        with Requirements() as needs:
            types = types_for(frozen, frozen.symbolic[: frozen.arity])
        found: list[tuple[object, ...] | None] = []
        for node, ok in zip(frozen.nodes, self.fusable, strict=True):
            shape: tuple[Any, ...] = types[node.outputs[0]].shape
            found.append(tuple(key(needs.resolve(n)) for n in shape) if ok else None)
        return found

    def _levels(self) -> list[int]:
        levels: list[int] = []
        for k, node in enumerate(self.frozen.nodes):
            level = 0
            for number in node.inputs:
                below = self.maker.get(number)
                if below is not None:
                    leaves = self.fusable[below] and self.shapes[below] != self.shapes[k]
                    level = max(level, levels[below] + leaves)
            levels.append(level)
        return levels

    def _sink(self) -> None:
        """Move a node to the level of its users if one loop of its shape has them all: then it need not be stored."""
        frozen = self.frozen
        users: list[list[int]] = [[] for _ in frozen.nodes]
        for k, node in enumerate(frozen.nodes):
            for below in {self.maker[n] for n in node.inputs if n in self.maker}:
                users[below].append(k)
        kept = _kept(frozen)
        for k in reversed(range(len(frozen.nodes))):
            if not self.fusable[k] or frozen.nodes[k].outputs[0] in kept or not users[k]:
                continue
            levels = {self.levels[u] for u in users[k]}
            if len(levels) == 1 and all(self.shapes[u] == self.shapes[k] for u in users[k]):
                self.levels[k] = levels.pop()

    def groups(self) -> list[list[int]]:
        """The groups, each in topological order, none of more than `MAX_STEPS` nodes."""
        parent = list(range(len(self.frozen.nodes)))
        readers: dict[tuple[object, int, int], int] = {}
        for k, node in enumerate(self.frozen.nodes):
            if not self.fusable[k]:
                continue
            for number in node.inputs:
                if self.frozen.types[number].ndim > 0:
                    first = readers.setdefault((self.shapes[k], self.levels[k], number), k)
                    _join(parent, first, k)
                below = self.maker.get(number)
                if below is not None and self.fusable[below] and self._place(below) == self._place(k):
                    _join(parent, below, k)
        found: dict[int, list[int]] = {}
        for k, ok in enumerate(self.fusable):
            if ok:
                found.setdefault(_root(parent, k), []).append(k)
        return [g[i : i + MAX_STEPS] for g in found.values() for i in range(0, len(g), MAX_STEPS)]

    def _place(self, k: int) -> tuple[object, int]:
        return self.shapes[k], self.levels[k]


def _root(parent: list[int], k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


def _join(parent: list[int], a: int, b: int) -> None:
    a, b = _root(parent, a), _root(parent, b)
    parent[max(a, b)] = min(a, b)


def _kept(frozen: FrozenGraph) -> frozenset[int]:
    """The values that something other than nodes reads."""
    checked = (k for c in frozen.checks for k in (c.condition, *c.values))
    return frozenset((*frozen.outputs, *checked))


class _Made(NamedTuple):
    """A loop in place of a group: its op and the numbers, in the old graph, of what it reads and stores."""

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@final
class _Rebuild:
    """Puts loops in the place of groups and numbers everything anew."""

    def __init__(self, frozen: FrozenGraph, groups: Sequence[Sequence[int]]) -> None:
        self.frozen = frozen
        self.group_of = {k: g for g, nodes in enumerate(groups) for k in nodes}
        self.groups = groups
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.made = self._loops()

    def _loops(self) -> list[_Made]:
        frozen = self.frozen
        outside = set(_kept(frozen))
        for k, node in enumerate(frozen.nodes):
            home = self.group_of.get(k)
            for number in node.inputs:
                outside.add(number) if home is None else self._note(outside, number, home)
        return [self._loop(nodes, outside) for nodes in self.groups]

    def _note(self, outside: set[int], number: int, home: int) -> None:
        maker = self.maker.get(number)
        if maker is not None and self.group_of.get(maker) != home:
            outside.add(number)

    def _loop(self, nodes: Sequence[int], outside: set[int]) -> _Made:
        frozen = self.frozen
        inside = {frozen.nodes[k].outputs[0] for k in nodes}
        reads = dict.fromkeys(n for k in nodes for n in frozen.nodes[k].inputs if n not in inside)
        constants = {n: c for n in reads if (c := _one_number(frozen, n)) is not None}
        if all(frozen.types[n].ndim == 0 for n in reads if n not in constants):
            constants = {}  # the rank of the space is that of an operand
        operands = tuple(n for n in reads if n not in constants)
        stores = tuple(n for k in nodes if (n := frozen.nodes[k].outputs[0]) in outside)
        number = {n: i for i, n in enumerate((*operands, *constants))}
        types = [frozen.types[n].with_shape(()) for n in (*operands, *constants)]
        steps, names, origins = [], {}, {}
        for step, k in enumerate(nodes):
            node = frozen.nodes[k]
            (out,) = node.outputs
            number[out] = len(types)
            types.append(frozen.types[out].with_shape(()))
            steps.append(Node(node.op, tuple(number[n] for n in node.inputs), (number[out],)))
            origins[step] = frozen.origins.get(k, Origin())
            if out in frozen.names:
                names[number[out]] = frozen.names[out]
        names.update((number[n], frozen.names[n]) for n in operands if n in frozen.names)
        program = FrozenGraph(
            len(operands), types, list(constants.values()), steps, [number[n] for n in stores], (), names, origins
        )
        extents: tuple[Any, ...] = frozen.types[stores[0]].shape
        return _Made(Loop(extents, len(extents), (Stage(program),)), operands, stores)

    def run(self) -> FrozenGraph:
        """The new graph."""
        frozen = self.frozen
        first = frozen.arity + len(frozen.constants)
        number = {k: k for k in range(first)}
        types = list(frozen.types[:first])
        nodes: list[Node] = []
        names = {k: v for k, v in frozen.names.items() if k < first}
        origins: dict[int, Origin] = {}
        for place in self._order():
            op, inputs, outputs, origin = self._placed(place)
            for n in outputs:
                number[n] = len(types)
                types.append(frozen.types[n])
                if n in frozen.names:
                    names[number[n]] = frozen.names[n]
            origins[len(nodes)] = origin
            nodes.append(Node(op, tuple(number[n] for n in inputs), tuple(number[n] for n in outputs)))
        checks = [
            c._replace(condition=number[c.condition], values=tuple(number[v] for v in c.values)) for c in frozen.checks
        ]
        outputs_ = [number[n] for n in frozen.outputs]
        return FrozenGraph(frozen.arity, types, frozen.constants, nodes, outputs_, checks, names, origins)

    def _placed(self, place: int) -> tuple[Op, tuple[int, ...], tuple[int, ...], Origin]:
        """What stands at a place: a loop (places below 0) or a node."""
        if place >= 0:
            node = self.frozen.nodes[place]
            return node.op, node.inputs, node.outputs, self.frozen.origins.get(place, Origin())
        made, nodes = self.made[-place - 1], self.groups[-place - 1]
        every = [self.frozen.origins.get(k, Origin()) for k in nodes]
        locs = tuple(dict.fromkeys(loc for o in every for loc in o.locs))[:MAX_LOCS]
        rules = tuple(dict.fromkeys(rule for o in every for rule in o.rules))
        return made.op, made.inputs, made.outputs, Origin(locs, (*rules, "fuse_elementwise"))

    def _order(self) -> list[int]:
        """Nodes and loops (as -1 - group) in an order in which everything comes after what it reads."""
        frozen, done, order = self.frozen, set[int](), list[int]()

        def place_of(k: int) -> int:
            return -1 - self.group_of[k] if k in self.group_of else k

        def reads(place: int) -> tuple[int, ...]:
            return frozen.nodes[place].inputs if place >= 0 else self.made[-place - 1].inputs

        for k in range(len(frozen.nodes)):
            stack = [place_of(k)]
            while stack:
                top = stack[-1]
                if top in done:
                    stack.pop()
                    continue
                missing = [p for n in reads(top) if n in self.maker and (p := place_of(self.maker[n])) not in done]
                if missing:
                    stack.extend(missing)
                    continue
                done.add(stack.pop())
                order.append(top)
        return order


def _one_number(frozen: FrozenGraph, number: int) -> Constant | None:
    """The 0-d constant that an operand of a loop is, if it is one number."""
    constant = frozen.constant(number)
    if constant is None or constant.data.size != 1:
        return None
    return constant if constant.data.ndim == 0 else Constant(constant.data.reshape(()))


FAMILY: Final = Family("loop", ops=(Stage, Loop))
