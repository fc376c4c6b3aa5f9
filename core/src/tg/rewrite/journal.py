"""`Journal`: what rewriting one graph did, replacement by replacement, for whoever explains or checks it.

A driver without a journal pays nothing for it. The entries hold variables of the graph, which stay alive with them, so
that each side can be shown, and evaluated over the graph's inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tg.graph.frozen import FrozenGraph
    from tg.graph.function_graph import FunctionGraph
    from tg.graph.loc import Loc
    from tg.graph.nodes import Apply, Variable

    Outputs = tuple[Variable, ...]


class Entry(NamedTuple):
    """One replacement: results of a node, and what they became."""

    phase: str  # of the sweep that made it
    name: str  # of a rule or a pass, or "fold_constants", "inner_graph", "expand NAME"
    old: Outputs
    new: Outputs
    loc: Loc | None  # the user's line


class Lowered(NamedTuple):
    """One lowering of a backend: the whole program before and after it."""

    name: str
    before: FrozenGraph
    after: FrozenGraph


@final
class Sweep:
    """One sweep over a graph: its replacements, and what became of each value that it visited."""

    __slots__ = ("_kept", "_rebuilt", "_replaced", "done", "entries", "phase")

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.entries: list[Entry] = []
        self.done: Mapping[int, Variable] = {}  # by id: what a value of the graph, or a new one, became
        self._rebuilt: dict[int, Outputs] = {}  # by the id of an apply: the same op on what its operands became
        self._replaced: dict[int, tuple[Entry, int]] = {}  # by the id of a result: its entry, its place there
        self._kept: list[object] = []  # what is above by id must live

    def steps(self, v: Variable) -> Iterator[tuple[Variable, Entry | None]]:
        """The values that a value was on its way through the sweep, each with the entry that replaced it."""
        visited: set[int] = set()
        while id(v) not in visited:
            visited.add(id(v))
            results = None if v.apply is None or id(v) in self._replaced else self._rebuilt.get(id(v.apply))
            v = v if results is None else results[v.index]
            link = self._replaced.get(id(v))
            yield v, link[0] if link is not None else None
            if link is None:
                return
            entry, place = link
            v = entry.new[place]

    def after(self, v: Variable) -> Variable | None:
        """Replacement of a value of the graph; None where the sweep found it not needed."""
        return v if v.apply is None else self.done.get(id(v))

    def _note(self, entry: Entry) -> None:
        self.entries.append(entry)
        for place, v in enumerate(entry.old):
            self._replaced.setdefault(id(v), (entry, place))


@final
class Journal:
    """Record of the rewriting of one graph, sweep by sweep; inner graphs have journals of their own."""

    def __init__(self, *, snapshots: bool = False) -> None:
        """An empty journal, to be given to `tg.rewrite.driver.rewrite`.

        Args:
            snapshots: whether to keep the program after every phase.
        """
        self.snapshots = snapshots
        self.sweeps: list[Sweep] = []
        self.lowered: list[Lowered] = []
        self.inner: dict[tuple[str, FrozenGraph], Journal] = {}  # by phase and the graph before it, of all depths
        self.after: dict[str, FrozenGraph] = {}  # by phase
        self.inputs: Outputs = ()
        self.outputs: Outputs = ()  # after rewriting
        self.roots: Outputs = ()  # the outputs, and what checks need
        self._kept: list[object] = []

    @property
    def entries(self) -> Iterator[Entry]:
        """Every replacement in order, those of inner graphs excepted."""
        return (entry for sweep in self.sweeps for entry in sweep.entries)

    def begins(self, graph: FunctionGraph) -> None:
        """Note the graph as it is before rewriting."""
        graph.recorder = self
        self.inputs = tuple(graph.inputs)
        self._note(graph)

    def begins_sweep(self, phase: str) -> None:
        """Note that a sweep of a phase begins."""
        self.sweeps.append(Sweep(phase))

    def rebuilt(self, node: Apply, outputs: Outputs) -> None:
        """Note that a node's operands have changed, and what its op gives on the new ones."""
        sweep = self.sweeps[-1]
        sweep._rebuilt.setdefault(id(node), outputs)
        sweep._kept.append((node, outputs))

    def replaced(self, name: str, old: Outputs, new: Outputs, loc: Loc | None) -> None:
        """Note a replacement."""
        sweep = self.sweeps[-1]
        sweep._note(Entry(sweep.phase, name, old, new, loc))

    def swept(self, graph: FunctionGraph, done: Mapping[int, Variable], references: object) -> None:
        """Note that a sweep has ended, and what became of each value."""
        sweep = self.sweeps[-1]
        sweep.done = done
        sweep._kept.append(references)
        self._note(graph)

    def ends_phase(self, graph: FunctionGraph, phase: str) -> None:
        """Note that a phase has ended."""
        self._note(graph)
        if self.snapshots:
            self.after[phase] = graph.freeze()

    def lowers(self, name: str, before: FrozenGraph, after: FrozenGraph) -> None:
        """Note what a lowering did."""
        self.lowered.append(Lowered(name, before, after))

    def inside(self, phase: str, frozen: FrozenGraph, graph: FunctionGraph) -> None:
        """Begin the journal of an inner graph, for one phase."""
        one = self.inner[phase, frozen] = Journal()
        one.inner = self.inner
        one.begins(graph)

    def became(self, v: Variable) -> Variable | None:
        """Replacement of a value that the graph had before rewriting; None where it is not needed."""
        for sweep in self.sweeps:
            new = sweep.after(v)
            if new is None:
                return None
            v = new
        return v

    def _note(self, graph: FunctionGraph) -> None:
        self.outputs = graph.outputs
        self.roots = (*(v for c in graph.checks for v in (c.condition, *c.values)), *graph.outputs)
        self._kept.append(self.roots)
