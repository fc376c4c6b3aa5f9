"""Donation: outputs of a program that may lie in the memory of inputs, of donated ones and of updated shared variables.

Generated code is right whether an output has memory of its own or that of its input: who calls decides. What must hold
for the latter is found here, from the program and from what its generator has done:

* the two have one dtype and provably one shape;
* what makes the output is the last to read the input, and reads each element before it writes that place;
* nothing that lies in the memory of the input is read afterwards, as an output that is a view of it would be.

That nothing fails after the first write is for the generator to see to: so a call that fails has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.ops.indexing import Scatter, Slice, SliceUpdate
from tg.ops.shape import BroadcastTo, ExpandDims, Named, Reshape, Squeeze, Transpose
from tg.types.lengths import same
from tg_native.fusion.loop import Loop
from tg_native.plan.shapes import follows_from_inputs, resolved
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node

    Pair = tuple[int, int]  # an output and an input, by their places

IN_ORDER: Final = (ExpandDims, Named, Reshape, Squeeze)  # results have the elements of the operand, in their order
VIEWS: Final = (*IN_ORDER, BroadcastTo, Slice, Transpose)
NONE: Final[frozenset[int]] = frozenset()


class Written(NamedTuple):
    """Results of a generator for a program.

    `order` has the nodes as they run. `roots` has, of values that lie in the memory of inputs, the places of these
    inputs. `direct` has the outputs that are made where they are wanted, with the values that are made there: they
    themselves, or such but for axes of length 1. The others are copied at the end, one after the other.
    """

    order: Sequence[int]
    roots: Mapping[int, frozenset[int]]
    direct: Mapping[int, int]


@final
class Donation:
    """The pairs of an output and an input of a program that may share memory."""

    def __init__(self, graph: FrozenGraph, wanted: Iterable[Pair]) -> None:
        """Of the pairs that are wanted, keep those of one dtype and shape."""
        self.graph = graph
        wanted = [(k, j) for k, j in wanted if k < len(graph.outputs) and j < graph.arity]
        self._shapes = resolved(graph) if wanted else []
        self.pairs = tuple((k, j) for k, j in wanted if self._match(k, j))

    def _match(self, k: int, j: int) -> bool:
        graph, number = self.graph, self.graph.outputs[k]
        is_one = graph.types[number].dtype == graph.types[j].dtype and self._alike(number, j)
        return is_one and follows_from_inputs(graph, number)

    def _alike(self, a: int, b: int) -> bool:
        """Whether two values have one shape."""
        first, second = self._shapes[a], self._shapes[b]
        return len(first) == len(second) and all(same(n, m) for n, m in zip(first, second, strict=True))

    def legal(self, pairs: Iterable[Pair], written: Written) -> tuple[Pair, ...]:
        """Pairs that may share memory in one call: of each output and of each input the first."""
        uses, by_output = _Uses(self.graph, written), dict[int, int]()
        for k, j in pairs:
            if k not in by_output and j not in by_output.values() and self._is_legal(k, j, uses):
                by_output[k] = j
        return tuple(by_output.items())

    def _is_legal(self, k: int, j: int, uses: _Uses) -> bool:
        number, outputs = self.graph.outputs[k], self.graph.outputs
        if number == j:
            return True  # there is nothing to write
        if k not in uses.written.direct:
            return not any(j in uses.roots(n) for n in outputs[k:])
        number = uses.written.direct[k]
        if any(j in uses.roots(n) for n in outputs) or uses.last.get(j, -1) > uses.made[number]:
            return False
        node = uses.maker(number)
        places = [place for place, n in enumerate(node.inputs) if j in uses.roots(n)]
        in_order = all(uses.is_in_order(node.inputs[place], j) for place in places)
        return not places or (in_order and self._reads_before_it_writes(node, number, places))

    def _reads_before_it_writes(self, node: Node, number: int, places: Sequence[int]) -> bool:
        """Whether a node that makes a value has read each element of some operands when it writes that place."""
        if type(node.op) in (Scatter, SliceUpdate):
            return places == [0]
        if isinstance(node.op, Loop):
            return self._loop_reads_before(node.op, node, number, places)
        return node.op.pointwise and all(self._alike(node.inputs[place], number) for place in places)

    def _loop_reads_before(self, op: Loop, node: Node, number: int, places: Sequence[int]) -> bool:
        """The same of a loop: its stages run one after the other at each outer index, and load before they store."""
        results = [(s, r) for s, stage in enumerate(op.stages) for r in stage.results if r.stored]
        last, result = results[node.outputs.index(number)]
        bases = [r.into for _, r in results if r.into in places]
        reads = [
            (s, read, t.ndim)
            for s, stage in enumerate(op.stages)
            for read, t in zip(stage.reads, stage.program.input_types, strict=True)
            if read in places
        ]
        if result.into is not None:
            return bases == [result.into] and not reads
        in_time = all(s <= last and not rank and self._alike(node.inputs[read], number) for s, read, rank in reads)
        return result.op is None and not bases and in_time and self._fills_the_space(op, node, number)

    def _fills_the_space(self, op: Loop, node: Node, number: int) -> bool:
        """Whether a result of a loop has an element for each index, so that none is stored more than once."""
        operands = {read for stage in op.stages for read in stage.elements(stage.reads) if read >= 0}
        shapes = [self._shapes[n] for k in operands if self.graph.types[n := node.inputs[k]].ndim]
        columns = zip(self._shapes[number], *shapes, strict=True)
        return all(same(n, m) or is_one(m) for n, *others in columns for m in others)


def readers_of_inputs(graph: FrozenGraph, inputs: Collection[int]) -> dict[int, frozenset[int]]:
    """The nodes that read each of some inputs, or what may be a view of it."""
    readers: dict[int, set[int]] = {j: set() for j in inputs}
    below: dict[int, set[int]] = {j: {j} for j in inputs}  # of each value: the inputs that it may be a view of
    for k, node in enumerate(graph.nodes):
        read = {j for n in node.inputs for j in below.get(n, ())}
        for j in read:
            readers[j].add(k)
        if read and isinstance(node.op, VIEWS):
            below.update((n, read) for n in node.outputs)
    return {j: frozenset(nodes) for j, nodes in readers.items()}


@final
class _Uses:
    """Who reads the memory of inputs, and when."""

    def __init__(self, graph: FrozenGraph, written: Written) -> None:
        self.graph, self.written = graph, written
        self.made = {n: place for place, node in enumerate(written.order) for n in graph.nodes[node].outputs}
        self.last: dict[int, int] = {}  # of each input: when nodes last read it
        for place, node in enumerate(written.order):
            self.last.update((j, place) for n in graph.nodes[node].inputs for j in self.roots(n))

    def roots(self, number: int) -> frozenset[int]:
        """The inputs in whose memory a value lies."""
        return self.written.roots.get(number, NONE)

    def maker(self, number: int) -> Node:
        """The node that makes a value."""
        return self.graph.nodes[self.written.order[self.made[number]]]

    def is_in_order(self, number: int, j: int) -> bool:
        """Whether a value is an input but for how its elements are divided into axes."""
        while number != j:
            node = self.maker(number)
            if not isinstance(node.op, IN_ORDER):
                return False
            number = node.inputs[0]
        return True
