"""Partial evaluation: a program divided into what depends on fixed inputs alone, which runs once, and the rest.

The last inputs of a program may be fixed: they have one value for as long as it lives. Views of them, and what is
larger than what it is made of, stay with the rest, so that nothing is kept that a call can have for less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
from tg.link.perform import PerformExecutable
from tg.ops.control import Call
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

LITERAL, FIXED, LIVE = range(3)  # on what a value depends: on constants alone, on fixed inputs too, on others too
VIEWS: Final = (ExpandDims, Squeeze, Transpose, BroadcastTo)
SMALL: Final = 1 << 16  # bytes of a result that may be larger than its operands


class Division(NamedTuple):
    """The parts of a program.

    Args:
        early: the graph that runs once, of fixed inputs.
        read: the numbers of the fixed inputs that it reads.
        late: the rest, of the live inputs, then of fixed inputs, then of what `early` gives.
        passed: the numbers of the fixed inputs that `late` reads.
        whole: both as one program of all inputs, in which `early` is one node.
    """

    early: FrozenGraph
    read: tuple[int, ...]
    late: FrozenGraph
    passed: tuple[int, ...]
    whole: FrozenGraph

    @property
    def evaluated(self) -> FrozenGraph:
        """The graph that runs once, with no node around it."""
        graph = self.early
        nodes = graph.nodes
        return nodes[0].op.graph if len(nodes) == 1 and type(nodes[0].op) is Call else graph

    def names(self) -> list[object]:
        """For each result of `early` what equal results of other programs have too."""
        graph = self.evaluated
        keys: list[object] = []
        for root in graph.outputs:
            nodes, read = _below(graph, [root])
            inputs = [k for k in range(graph.arity) if k in read]
            keys.append((_part(graph, inputs, nodes, [root]), tuple(self.read[k] for k in inputs)))
        return keys

    def values(self, wanted: Sequence[int], array_of: Callable[[int], Array]) -> list[Array]:
        """Some results of `early`, for the values of fixed inputs, by their numbers.

        Raises:
            TgError: as an op's `perform` does.
        """
        graph = self.evaluated
        roots = [graph.outputs[k] for k in wanted]
        nodes, read = _below(graph, roots)
        inputs = [k for k in range(graph.arity) if k in read]
        part = _part(graph, inputs, nodes, roots)
        results, _ = PerformExecutable(part).run([array_of(self.read[k]) for k in inputs])
        return [np.ascontiguousarray(v).reshape(v.shape) for v in results]


def divided(frozen: FrozenGraph, first: int) -> Division:
    """A program divided; `first` is the number of the first fixed input."""
    levels = _levels(frozen, first)
    late, needed = _late(frozen, levels)
    results = {number for node in frozen.nodes for number in node.outputs if levels[number] == FIXED}
    own = {number for k in late for number in frozen.nodes[k].outputs}
    held = [number for number in sorted(needed) if number in results and number not in own]
    early, read = _below(frozen, held)
    reads, passes = (
        tuple(k for k in range(first, frozen.arity) if k in numbers) for numbers in (read, needed - set(held))
    )
    graph = _part(frozen, reads, early, held)
    rest = _part(frozen, (*range(first), *passes, *held), late, frozen.outputs, frozen.checks)
    if frozen.kept_as is not None:
        rest.keep_as(f"{frozen.kept_as} late", frozen.kept_constants)
    whole = frozen
    if early:
        lead = (Call(graph), reads, tuple(held))
        whole = _part(frozen, tuple(range(frozen.arity)), late, frozen.outputs, frozen.checks, lead)
    return Division(graph, reads, rest, passes, whole)


def _levels(frozen: FrozenGraph, first: int) -> list[int]:
    """On what each value depends."""
    levels = [LIVE] * first + [FIXED] * (frozen.arity - first) + [LITERAL] * len(frozen.constants)
    levels += [LIVE] * (len(frozen.types) - len(levels))
    for node in frozen.nodes:
        level = max((levels[k] for k in node.inputs), default=LITERAL)
        if level == FIXED and not _is_worth(frozen, node):
            level = LIVE
        for number in node.outputs:
            levels[number] = level
    return levels


def _is_worth(frozen: FrozenGraph, node: Node) -> bool:
    """Whether results are worth keeping: they are not larger than what they are made of, or small."""
    if node.op.has_effect or node.op.calls_python or node.op.opaque:
        return False
    results, operands = ([frozen.types[k] for k in numbers] for numbers in (node.outputs, node.inputs))
    if any(None in t.shape for t in results):
        return False
    size = _bytes(results)
    return size <= SMALL or size <= _bytes([t for t in operands if None not in t.shape])


def _bytes(types: Iterable[TensorType]) -> int:
    return sum(math.prod(t.shape) * t.numpy_dtype.itemsize for t in types)  # type: ignore[arg-type, misc]


def _is_view(frozen: FrozenGraph, node: Node, levels: Sequence[int]) -> bool:
    """Whether a node costs a call nothing: a view of a fixed value."""
    if any(levels[k] != LITERAL for k in node.inputs[1:]):
        return False
    if isinstance(node.op, VIEWS):
        return True
    makers = {number: one for one in frozen.nodes for number in one.outputs}
    below = makers.get(node.inputs[0]) if isinstance(node.op, Reshape) else node
    while below is not None and isinstance(below.op, ExpandDims | Squeeze):
        below = makers.get(below.inputs[0])
    return isinstance(node.op, Reshape) and (below is None or not isinstance(below.op, VIEWS))


def _late(frozen: FrozenGraph, levels: Sequence[int]) -> tuple[list[int], set[int]]:
    """The numbers of the nodes that run in each call, in order, and the values that these and the outputs need."""
    needed = {*frozen.outputs, *(k for c in frozen.checks for k in (c.condition, *c.values))}
    nodes = []
    for k in reversed(range(len(frozen.nodes))):
        node = frozen.nodes[k]
        level = levels[node.outputs[0]]
        if needed.isdisjoint(node.outputs) or (level == FIXED and not _is_view(frozen, node, levels)):
            continue
        nodes.append(k)
        needed.update(node.inputs)
    return nodes[::-1], needed


def _below(frozen: FrozenGraph, roots: Sequence[int]) -> tuple[list[int], set[int]]:
    """The numbers of the nodes that values need, in order, and the values that these read."""
    needed, read, nodes = set(roots), set[int](), []
    for k in reversed(range(len(frozen.nodes))):
        node = frozen.nodes[k]
        if not needed.isdisjoint(node.outputs):
            nodes.append(k)
            needed.update(node.inputs)
            read.update(node.inputs)
    return nodes[::-1], read


def _part(
    frozen: FrozenGraph,
    inputs: Sequence[int],
    numbers: Sequence[int],
    outputs: Sequence[int],
    checks: Sequence[FrozenCheck] = (),
    lead: tuple[Call, tuple[int, ...], tuple[int, ...]] | None = None,
) -> FrozenGraph:
    """Some nodes of a program as a program of some of its values.

    Args:
        lead: an op that comes first, its operands, and the values that are its results.
    """
    nodes = [frozen.nodes[k] for k in numbers]
    origins = [frozen.origins.get(k) for k in numbers]
    if lead is not None:
        nodes, origins = [Node(*lead), *nodes], [None, *origins]
    roots = [*outputs, *(k for c in checks for k in (c.condition, *c.values))]
    used = {k for node in nodes for k in node.inputs}.union(roots)
    ends = range(frozen.arity, frozen.arity + len(frozen.constants))
    constants = [k for k in ends if k in used]
    order = [*inputs, *constants, *(k for node in nodes for k in node.outputs)]
    place = {number: k for k, number in enumerate(order)}
    return FrozenGraph(
        len(inputs),
        [frozen.types[k] for k in order],
        [frozen.constants[k - frozen.arity] for k in constants],
        [Node(n.op, tuple(place[k] for k in n.inputs), tuple(place[k] for k in n.outputs)) for n in nodes],
        [place[k] for k in outputs],
        [FrozenCheck(place[c.condition], tuple(place[k] for k in c.values), c.descriptor) for c in checks],
        {place[k]: name for k, name in frozen.names.items() if k in place},
        {k: origin for k, origin in enumerate(origins) if origin is not None},
        {place[k]: facts for k, facts in frozen.assumed.items() if k in place},
    )
