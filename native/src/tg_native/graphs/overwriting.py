"""Outputs in the memory of inputs: what a function must mind so that it is right whether they share it or not."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, final

from tg.types.atoms import key
from tg.types.lengths import Length
from tg.types.substitution import atoms
from tg_native.plan.donation import Donation, Written, readers_of_inputs
from tg_native.plan.shapes import number_of
from tg_native.plan.values import Array, Scalar, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_native.graphs.function import GraphFunction
    from tg_native.plan.values import Value

WORD: Final = re.compile(r"(?<![\w.])\w+")


@final
class Overwriting:
    """The pairs of an output and an input that may share memory, and what the function in the making does with both.

    The nodes that make such outputs come behind all that reads those inputs, what can fail about lengths is looked at
    before the first of them and memory for later nodes is taken there, pointers of pairs are told apart by no promise,
    and what an output begins as is copied only into memory of its own.
    """

    def __init__(self, function: GraphFunction) -> None:
        """Find the pairs that match, once inputs and outputs have pointers."""
        self.function, graph = function, function.graph
        may_share = function.overwrites and function.is_main and not function.plans
        self._donation = Donation(graph, function.unit.request.reusable if may_share else ())
        self.pairs = self._donation.pairs
        self._written = {k: number for number, k in function.outputs.targets.items()}
        self.pointers = frozenset(name for k, j in self.pairs for name in self._pointers(k, j))
        self._order: list[int] = []
        self._roots = {j: frozenset((j,)) for j in range(graph.arity) if graph.types[j].ndim}
        self._guarded: set[int] = set()
        self._room: int | None = None  # the line before the first node that may overwrite
        self._named: frozenset[object] = frozenset()  # the lengths that have names there

    def _pointers(self, k: int, j: int) -> tuple[str, ...]:
        own = self.function.values[j]
        return (self.function.outputs.pointers[k], own.pointer if isinstance(own, Array) else own.text)

    @functools.cached_property
    def waiting(self) -> dict[int, frozenset[int]]:
        """The nodes that make outputs of pairs, with those behind which they come: readers of the inputs, or all."""
        function, by_node = self.function, dict[int, frozenset[int]]()
        readers = readers_of_inputs(function.graph, {j for _, j in self.pairs})
        for k, j in self.pairs:
            node = function.makers.get(self._written.get(k, function.graph.outputs[k]))
            if node is not None:
                by_node[node] = by_node.get(node, frozenset()) | readers[j]
        if function.overwrites_late:
            others = frozenset(range(len(function.graph.nodes))) - by_node.keys()
            return dict.fromkeys(by_node, others)
        return {node: behind - {node} for node, behind in by_node.items()}

    def begin(self, node: int) -> None:
        """A node is about to be written."""
        self._order.append(node)
        if self._room is None and node in self.waiting:
            self._require_lengths()
            function = self.function
            self._named = frozenset(function.known_lengths)
            self._room = len(function.lines)
            function.lines.append(None)

    def _require_lengths(self) -> None:
        """Whatever can be wrong with lengths that are known, before anything is overwritten."""
        function, written = self.function, frozenset(self._order[:-1])
        for node in range(len(function.graph.nodes)):
            if node not in written and self._has_known_lengths(node):
                function.require_lengths(node)
        for k, number in self._written.items():
            if number not in function.values and self._are_known(function.shape(number)):
                function.outputs.require_known_lengths(k, function.shape(number))

    def _has_known_lengths(self, node: int) -> bool:
        function = self.function
        one = function.graph.nodes[node]
        equal = [n for pair in function.shapes.equal[node] for n in pair]
        return self._are_known([*equal, *(n for number in (*one.inputs, *one.outputs) for n in function.shape(number))])

    def _are_known(self, lengths: Iterable[Any]) -> bool:
        """Whether lengths follow from what has been written; if so, they get names."""
        function, lengths = self.function, [n for n in lengths if type(n) is Length]
        are_known = all(
            atom in function.known_atoms or isinstance(function.values.get(number_of(atom)), Scalar)
            for n in lengths
            for atom in atoms(n)
        )
        if are_known:
            for n in lengths:
                function.length(n)
        return are_known

    def take_early(self) -> None:
        """Take memory before the first write that is taken behind it, so that nothing fails there for want of it.

        Not where that is known to be more than what would be copied: then copies take less.
        """
        function, room = self.function, self._room
        if room is None:
            return
        late = [take for take in function.memory.takes if take.line > room and self._has_names(take.shape)]
        counts = [(count(function.shape(j)), function.graph.types[j].numpy_dtype) for _, j in self.pairs]
        saved = sum(n * dtype.itemsize for n, dtype in counts if isinstance(n, int))
        if sum(int(take.size) for take in late if take.size.isdigit()) <= saved:
            function.lines[room] = " ".join(str(function.lines[take.line]) for take in late) or None
            for take in late:
                function.lines[take.line] = None

    def _has_names(self, shape: Sequence[int | Length]) -> bool:
        return all(type(n) is not Length or key(n) in self._named for n in shape)

    def made(self, node: int) -> None:
        """A node is written: which of its results lie in the memory of inputs."""
        if not self.pairs:
            return
        maker = self.function.graph.nodes[node]
        below = frozenset(j for n in maker.inputs for j in self._roots.get(n, ()))
        for number in maker.outputs:
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
        safe = [pair for pair in self.pairs if self._is_safe(pair)]
        return self._legal(safe) if safe else ()

    @property
    def fails_late(self) -> bool:
        """Whether a pair could share memory if all else were done before."""
        unsafe = [pair for pair in self.pairs if not self._is_safe(pair)]
        return bool(unsafe) and not self.function.overwrites_late and bool(self._legal(unsafe))

    def _legal(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        function = self.function
        direct = {k: n for k, n in self._written.items() if isinstance(function.values[n], Array)}
        return self._donation.legal(pairs, Written(self._order, self._roots, direct))

    def _is_safe(self, pair: tuple[int, int]) -> bool:
        fails, first = self._lines
        return first.get(self.function.outputs.pointers[pair[0]], len(self.function.lines)) > fails

    @functools.cached_property
    def _lines(self) -> tuple[int, dict[str, int]]:
        """The last line that may leave the function, and those where outputs are first written."""
        fails, first = -1, dict[str, int]()
        names = {self.function.outputs.pointers[k] for k, _ in self.pairs}
        for at, line in enumerate(self.function.lines):
            if line is not None and self.function.leaves in line:
                fails = at
            if line is not None and at not in self._guarded:
                for name in names.intersection(WORD.findall(line)):
                    first.setdefault(name, at)
        return fails, first
