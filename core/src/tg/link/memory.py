"""Memory that a call needs: bytes of the values alive at once, from the program and the shapes of the arguments alone.

Each node's type rule gives the lengths of its results, as it did when the program was built; the schedule and the last
uses say for how long each lives. Views take nothing. Not counted are arguments and constants, which are there before,
and what a library takes inside of one operation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.ops.indexing import Nonzero, Slice
from tg.ops.shape import AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.op import Op

SCATTERED: Final = frozenset({Transpose, BroadcastTo, Slice})  # views that are not contiguous
VIEWS: Final = SCATTERED | {ExpandDims, Squeeze, Reshape}


class Plan(NamedTuple):
    """The bytes that a call needs beside its arguments: of its results, and at most of all else at a time."""

    results: int
    temporaries: int

    @property
    def total(self) -> int:
        """All of it at once."""
        return self.results + self.temporaries


def plan(
    graph: FrozenGraph,
    arrays: Sequence[Any],
    views: frozenset[type] = VIEWS,
    inside: Callable[[Op, int], int] = lambda op, results: 0,
    *,
    ahead: bool = False,
) -> Plan | None:
    """The memory of a call; None where lengths are refused, which the call itself tells.

    A length that values decide counts as the longest it can be, where that is known: a mask's, for the positions of its
    elements. Any other counts as nothing.

    Args:
        arrays: the arguments, NumPy's or a backend's own.
        views: the ops whose results lie in the memory of their first operand.
        inside: the bytes that an op takes while it runs, whose results have so many.
        ahead: whether the results of the program have their memory before its first operation runs.
    """
    pairs = zip(graph.input_types, arrays, strict=True)
    types = [TensorType(t.dtype, tuple(map(int, array.shape))) for t, array in pairs]
    numbers = {k: int(a) for k, (t, a) in enumerate(zip(types, arrays, strict=True)) if is_count(t)}
    try:
        return _Walk(graph, types, numbers, views, inside).plan(ahead=ahead)
    except (TypeError, ValueError, OverflowError):  # of type rules: tg's own are among them
        return None


def peak_bytes(graph: FrozenGraph, inputs: Sequence[Sequence[int]]) -> int:
    """The most bytes that values need at a time, without inputs and constants, for inputs of these shapes.

    It is an upper bound where a backend fuses elementwise ops or writes into an operand.
    """
    types = [TensorType(t.dtype, tuple(shape)) for t, shape in zip(graph.input_types, inputs, strict=False)]
    return _Walk(graph, types, {}, VIEWS, lambda op, results: 0).plan().total


def is_count(t: TensorType) -> bool:
    """Whether values of a type may decide lengths."""
    return t.ndim == 0 and t.dtype[0] in "iub" and t.dtype != "bfloat16"


@final
class _Walk:
    """One walk along the nodes of a graph: what is alive, and the most that was."""

    def __init__(
        self,
        graph: FrozenGraph,
        types: Sequence[TensorType],
        numbers: Mapping[int, int],
        views: frozenset[type],
        inside: Callable[[Op, int], int],
    ) -> None:
        self.graph, self.views, self.inside = graph, views, inside
        first = graph.arity + len(graph.constants)
        constants = [c.data for c in graph.constants]
        self.types = [*types, *graph.types[graph.arity : first]]
        self.numbers = dict(numbers)
        for k, data in enumerate(constants, graph.arity):
            if is_count(self.types[k]):
                self.numbers[k] = int(data)
        self.places = list(range(first))  # of each value the value in whose memory it lies
        self.scattered: set[int] = set()
        self.users: dict[int, set[int]] = {}  # of memory that was taken
        self.live = self.peak = 0

    def plan(self, *, ahead: bool = False) -> Plan:
        written = frozenset(self.graph.outputs) if ahead else frozenset[int]()
        for node, dying in zip(self.graph.nodes, self.graph.last_uses(), strict=True):
            self._run(node, written)
            for k in dying:
                self._drop(k)
        results = sum(_bytes(self.types[k]) for k in self.graph.outputs)
        if ahead:
            return Plan(results, self.peak)
        own = {k for k in self.graph.outputs if self.users.get(self.places[k]) == {k}}
        copied = [k for at, k in enumerate(self.graph.outputs) if k not in own or k in self.graph.outputs[:at]]
        self.peak = max(self.peak, self.live + sum(_bytes(self.types[k]) for k in copied))
        return Plan(results, max(self.peak - results, 0))

    def _run(self, node: Node, written: frozenset[int]) -> None:
        """Take the memory of one node's results, but of those that are written where the caller wants them."""
        results = self._inferred(node)
        scratch = self._inside(node) + self.inside(node.op, sum(map(_bytes, results)))
        for number, t in zip(node.outputs, results, strict=True):
            self.types.append(t)
            self._place(node, number, is_written=number in written)
        self.peak = max(self.peak, self.live + scratch)
        self._compute(node)

    def _inferred(self, node: Node) -> list[TensorType]:
        """The types of the results, all lengths numbers."""
        operands: list[Any] = [self.types[k] for k in node.inputs]
        for at in node.op.size_operands(len(operands)):
            operands[at] = self.numbers.get(node.inputs[at], 0)
        longest = self.types[node.inputs[0]].shape[0] if isinstance(node.op, Nonzero) else 0
        return [
            TensorType(t.dtype, tuple(n if type(n) is int else longest for n in t.shape))
            for t in node.op.infer(*operands)
        ]

    def _place(self, node: Node, number: int, *, is_written: bool) -> None:
        """The memory of a result: its operand's if it is a view, else its own."""
        kind, source = type(node.op), node.inputs[0] if node.inputs else -1
        if kind in self.views and not (kind is Reshape and source in self.scattered):
            self.places.append(self.places[source])
            if kind in SCATTERED or source in self.scattered:
                self.scattered.add(number)
            self.users.get(self.places[source], set()).add(number)
            return
        self.places.append(number)
        if is_written:
            return
        self.users[number] = {number}
        self.live += _bytes(self.types[number])

    def _drop(self, number: int) -> None:
        users = self.users.get(self.places[number])
        if users is not None:
            users.discard(number)
            if not users:
                self.live -= _bytes(self.types[self.places[number]])
                del self.users[self.places[number]]

    def _inside(self, node: Node) -> int:
        """The memory of one application of the graphs in an op; loop nests over elements keep theirs in registers."""
        if node.op.element_programs:
            return 0
        most, every = 0, node.op.inner_inputs(len(node.inputs))
        for graph, inputs in zip(node.op.inner_graphs(), every, strict=True):
            types, numbers = [], {}
            for at, inner in enumerate(inputs):
                k = node.inputs[inner.operand]
                t = self.types[k]
                types.append(TensorType(t.dtype, t.shape[1:]) if inner.is_slice else t)
                if inner.is_same and k in self.numbers:
                    numbers[at] = self.numbers[k]
            most = max(most, _Walk(graph, types, numbers, self.views, self.inside).plan().total)
        return most

    def _compute(self, node: Node) -> None:
        """Integer scalars, of which lengths may be made; no loop runs for them, as it may take as long as the call."""
        if isinstance(node.op, AxisLength):
            length = self.types[node.inputs[0]].shape[node.op.axis]
            self.numbers[node.outputs[0]] = length if type(length) is int else 0
            return
        outputs = [self.types[k] for k in node.outputs]
        is_loop = not node.op.element_programs and any(True for _ in node.op.inner_graphs())
        if is_loop or node.op.has_effect or not all(k in self.numbers for k in node.inputs):
            return
        if not node.inputs or not all(map(is_count, outputs)):
            return
        with np.errstate(all="ignore"):
            results = node.op.perform(*(np.array(self.numbers[k], self.types[k].numpy_dtype) for k in node.inputs))
        self.numbers.update((k, int(y)) for k, y in zip(node.outputs, results, strict=True))


def _bytes(t: TensorType) -> int:
    return math.prod(n for n in t.shape if n is not None) * t.numpy_dtype.itemsize
