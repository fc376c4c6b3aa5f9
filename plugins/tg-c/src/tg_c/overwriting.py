"""Outputs in the memory of inputs: what a C function must mind so that it is right whether they share it or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from tg_native.plan.donation import Donation, Written
from tg_native.plan.values import Array, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_c.function import GraphFunction
    from tg_native.plan.values import Value

FAILS: Final = "goto done"


@final
class Overwriting:
    """The pairs of an output and an input that may share memory, and what the function in the making does with both.

    The nodes that make such outputs come last, what can fail about their lengths is looked at before the first of
    them, pointers of pairs are not `restrict`, and what an output begins as is copied only into memory of its own.
    """

    def __init__(self, function: GraphFunction, wanted: Sequence[tuple[int, int]], written: Mapping[int, int]) -> None:
        """Find the pairs that match; `written` has the values that are made in the memory of outputs."""
        self.function, graph = function, function.graph
        self._donation = Donation(graph, wanted)
        self.pairs = self._donation.pairs
        makers = function.unit.makers(graph) if self.pairs else {}
        self._written = dict(written)
        numbers = (written.get(k, graph.outputs[k]) for k, _ in self.pairs)
        self.last = tuple(dict.fromkeys(makers[n] for n in numbers if n in makers))
        self.pointers = frozenset(name for k, j in self.pairs for name in (f"out{k}", function.name_of(j)))
        self._order: list[int] = []
        self._roots = {j: frozenset((j,)) for j in range(graph.arity) if graph.types[j].ndim}
        self._guarded: set[int] = set()
        self._is_ready = not self.last

    def begin(self, node: int) -> None:
        """A node is about to be written."""
        self._order.append(node)
        if not self._is_ready and node in self.last:
            self._is_ready = True
            self._require_lengths()

    def _require_lengths(self) -> None:
        """Whatever can be wrong with the lengths of what may be overwritten, before anything is."""
        function, known = self.function, set(self.function.values)
        for k, number in self._written.items():
            node = function.unit.makers(function.graph).get(number)
            if node in self.last and number not in known and known.issuperset(function.graph.nodes[node].inputs):
                function.require_lengths(node)
                function.require_known_lengths(k, function.shapes.types[number].shape)

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

    @staticmethod
    def _is_view(value: Array) -> bool:
        return value.buffer is None and value.fill is None and re.fullmatch(r"out\d+", value.pointer) is None

    def guard(self, source: Value, target: Array) -> str:
        """What the next line, a copy, begins with: where both may be the same memory, it is done if they are not."""
        function = self.function
        for k, j in self.pairs:
            own = function.values[j]
            if isinstance(own, Scalar) or not isinstance(source, Array):
                continue
            if target.pointer == f"out{k}" and source.pointer == own.pointer and source.is_contiguous:
                self._guarded.add(len(function.lines))
                return f"if ({source.pointer} != {target.pointer}) "
        return ""

    def stored(self, k: int) -> None:
        """An output is copied at the end."""
        self._written.pop(k, None)

    def legal(self) -> tuple[tuple[int, int], ...]:
        """The pairs that may share memory: legal ones, of which nothing fails after the first write."""
        if not self.pairs:
            return ()
        lines = self.function.lines
        fails = max((at for at, line in enumerate(lines) if line is not None and FAILS in line), default=-1)
        safe = [(k, j) for k, j in self.pairs if self._first_write(k) > fails]
        direct = {k: n for k, n in self._written.items() if isinstance(self.function.values[n], Array)}
        return self._donation.legal(safe, Written(self._order, self._roots, direct))

    def _first_write(self, k: int) -> int:
        name = re.compile(rf"\bout{k}\b")
        lines = enumerate(self.function.lines)
        found = (at for at, line in lines if line is not None and at not in self._guarded and name.search(line))
        return next(found, len(self.function.lines))
