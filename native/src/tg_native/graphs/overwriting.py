"""Outputs in the memory of inputs: what a function must mind so that it is right whether they share it or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, final

from tg_native.plan.donation import Donation, Written
from tg_native.plan.values import Array, Scalar, count

if TYPE_CHECKING:
    from tg_native.graphs.function import GraphFunction
    from tg_native.plan.values import Value


@final
class Overwriting:
    """The pairs of an output and an input that may share memory, and what the function in the making does with both.

    The nodes that make such outputs come last, what can fail about their lengths is looked at before the first of
    them, pointers of pairs are told apart by no promise, and what an output begins as is copied only into memory of
    its own.
    """

    def __init__(self, function: GraphFunction) -> None:
        """Find the pairs that match, once inputs and outputs have pointers."""
        self.function, graph = function, function.graph
        may_share = function.overwrites and function.is_main and not function.plans
        self._donation = Donation(graph, function.unit.request.reusable if may_share else ())
        self.pairs = self._donation.pairs
        self._written = {k: number for number, k in function.outputs.targets.items()}
        numbers = (self._written.get(k, graph.outputs[k]) for k, _ in self.pairs)
        self.last = tuple(dict.fromkeys(function.makers[n] for n in numbers if n in function.makers))
        self.pointers = frozenset(name for k, j in self.pairs for name in self._pointers(k, j))
        self._order: list[int] = []
        self._roots = {j: frozenset((j,)) for j in range(graph.arity) if graph.types[j].ndim}
        self._guarded: set[int] = set()
        self._is_ready = not self.last

    def _pointers(self, k: int, j: int) -> tuple[str, ...]:
        own = self.function.values[j]
        return (self.function.outputs.pointers[k], own.pointer if isinstance(own, Array) else own.text)

    def begin(self, node: int) -> None:
        """A node is about to be written."""
        self._order.append(node)
        if not self._is_ready and node in self.last:
            self._is_ready = True
            self._require_lengths()
            self.function.memory.reserve(self.function.reserved)

    def _require_lengths(self) -> None:
        """Whatever can be wrong with the lengths of what may be overwritten, before anything is."""
        function, known = self.function, set(self.function.values)
        for k, number in self._written.items():
            node = function.makers.get(number)
            if node in self.last and number not in known and known.issuperset(function.graph.nodes[node].inputs):
                function.require_lengths(node)
                function.outputs.require_known_lengths(k, function.shape(number))

    def made(self, node: int) -> None:
        """A node is written: which of its results lie in the memory of inputs."""
        if not self.pairs:
            return
        found = self.function.graph.nodes[node]
        below = frozenset(j for n in found.inputs for j in self._roots.get(n, ()))
        for number in found.outputs:
            value = self.function.values[number]
            if below and isinstance(value, Array) and self._is_view(value):
                self._roots[number] = below

    def _is_view(self, value: Array) -> bool:
        has_own = value.buffer is not None or value.fill is not None or value.counts
        return not has_own and value.pointer not in self.function.outputs.pointers

    def guards(self, source: Value, target: Array) -> bool:
        """Whether the next line, a copy, is to be run only if the two are not the same memory, which they may be."""
        function = self.function
        for k, j in self.pairs:
            own = function.values[j]
            if isinstance(own, Scalar) or not isinstance(source, Array):
                continue
            is_pair = target.pointer == function.outputs.pointers[k] and source.pointer == own.pointer
            if is_pair and source.is_contiguous:
                self._guarded.add(len(function.lines))
                return True
        return False

    def stored(self, k: int) -> None:
        """An output is copied at the end."""
        self._written.pop(k, None)

    def legal(self) -> tuple[tuple[int, int], ...]:
        """The pairs that may share memory: legal ones, of which nothing fails after the first write."""
        if not self.pairs:
            return ()
        function = self.function
        leaves = (at for at, line in enumerate(function.lines) if line is not None and function.leaves in line)
        fails = max(leaves, default=-1)
        safe = [(k, j) for k, j in self.pairs if self._first_write(k) > fails]
        direct = {k: n for k, n in self._written.items() if isinstance(function.values[n], Array)}
        return self._donation.legal(safe, Written(self._order, self._roots, direct))

    def late(self) -> tuple[int, ...]:
        """The sizes of memory that is taken after the first write, which therefore is not one into an input's memory.

        None where they are more than what would be copied: then that takes less.
        """
        first = min((self._first_write(k) for k, _ in self.pairs), default=-1)
        sizes = [size for at, size in self.function.memory.takes if at > first >= 0]
        if not all(size.isdigit() for size in sizes):
            return ()
        counts = [(count(self.function.shape(j)), self.function.graph.types[j].numpy_dtype) for _, j in self.pairs]
        saved = sum(n * dtype.itemsize for n, dtype in counts if isinstance(n, int))
        return tuple(map(int, sizes)) if sum(map(int, sizes)) <= saved else ()

    def _first_write(self, k: int) -> int:
        name = re.compile(rf"(?<![\w.]){re.escape(self.function.outputs.pointers[k])}(?![\w.])")
        lines = enumerate(self.function.lines)
        found = (at for at, line in lines if line is not None and at not in self._guarded and name.search(line))
        return next(found, len(self.function.lines))
