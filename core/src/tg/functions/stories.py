"""The `Story` of each node of a program when it was rewritten, told from a journal."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Final

from tg.functions.formula import constant_text, formulas, node_text, operand_text
from tg.graph.nodes import Constant
from tg.rewrite.driver import FOLD, INNER
from tg.rewrite.phases import DIFFERENTIATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.nodes import Variable
    from tg.rewrite.journal import Entry, Journal, Sweep

WALK: Final = 200  # values below a replacement that are looked at to see what it reads
ENGINE: Final = {
    FOLD: ("exact", "Its operands are constants: it is computed once, when compiling."),
    INNER: ("", "The graph inside the node was rewritten."),
}
WRITTEN: Final = "what is written there"
EXPANSION: Final = ("", "The backend has no rule for it here: it is written out with other ops.")


@dataclasses.dataclass(frozen=True)
class Step:
    """One replacement: by which rule or pass, of which class, in the sweep of which phase, and why."""

    phase: str
    name: str
    kind: str
    why: str
    old: str
    new: str
    loc: Loc | None
    inner: tuple[Step, ...] = ()  # in the graphs inside the node

    def __str__(self) -> str:
        kind = f" ({self.kind})" if self.kind else ""
        lines = [f"{self.phase}: {self.name}{kind}: {self.old} -> {self.new}", f"  {self.why}"]
        lines += [f"  {line}" for one in self.inner for line in str(one).splitlines()]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Story:
    """A node as it was, the user's line that it is from, what replaced it, and what came out."""

    was: str
    loc: Loc | None
    steps: tuple[Step, ...]
    became: str

    @property
    def is_changed(self) -> bool:
        """Whether a rule or a pass touched the node, or it is gone."""
        return bool(self.steps) or not self.became.startswith("stays")

    def __str__(self) -> str:
        lines = [self.was] if self.loc is None else [self.was, f"  at {self.loc}:  {self.loc.source}".rstrip()]
        lines += [f"  {line}" for step in self.steps for line in str(step).splitlines()]
        return "\n".join([*lines, f"  {self.became}"])


class Teller:
    """Tells the stories of one program, before and after rewriting."""

    def __init__(
        self,
        journal: Journal,
        before: FrozenGraph,
        roots: Sequence[Variable],
        after: FrozenGraph,
        about: Mapping[str, Any],
    ) -> None:
        """Take what is needed.

        Args:
            roots: the values of the graph before rewriting that its checks and outputs were.
            after: the program after rewriting, and before lowerings.
            about: rules and passes by name.
        """
        self.journal, self.before, self.after, self.about = journal, before, after, about
        self.values = dict(numbered(before, roots))
        self.numbers = {id(v): k for k, v in self.values.items()}
        self.final = {id(v): k for k, v in numbered(after, journal.roots)}
        self.names = {id(v): operand_text(before, k) for k, v in self.values.items() if not isinstance(v, Constant)}
        self.places = {k: n for n, node in enumerate(after.nodes) for k in node.outputs}
        self.claimed: set[int] = set()  # entries, by id
        self.seen: dict[int, set[int]] = {}  # by sweep: applies that stories have looked at

    @functools.cached_property
    def dropped(self) -> list[dict[int, Entry]]:
        """For each sweep what made values unread."""
        return [_dropped(sweep) for sweep in self.journal.sweeps]

    def stories(self) -> list[Story]:
        """The story of every node, in program order."""
        return [self._story(k) for k in range(len(self.before.nodes))]

    def rest(self) -> tuple[Step, ...]:
        """The replacements of values that no node of the program became: checks that rewriting added."""
        return tuple(self.step(e) for e in self.journal.entries if id(e) not in self.claimed)

    def _story(self, number: int) -> Story:
        node = self.before.nodes[number]
        value = next((self.values[k] for k in node.outputs if k in self.values), None)
        origin = self.before.origins.get(number)
        loc = origin.locs[0] if origin is not None and origin.locs else None
        was = node_text(self.before, number)
        if value is None:
            return Story(was, loc, (), "not needed")
        rules = loc.rules if loc is not None else ()
        stable = tuple(Step(DIFFERENTIATE, rule, *self._about(rule), WRITTEN, was, loc) for rule in rules)
        steps = tuple(self.step(entry) for entry in self._entries(value))
        return Story(was, loc, (*stable, *steps), self.became(value))

    def _entries(self, value: Variable) -> list[Entry]:
        """The replacements of a value, and of the values that these made."""
        entries: list[Entry] = []
        tracked = [value]
        for number, sweep in enumerate(self.journal.sweeps):
            later: dict[int, Variable]
            visited, later, queue = self.seen.setdefault(number, set()), {}, tracked
            for v in queue:
                for u, entry in sweep.steps(v):
                    visited.add(id(u.apply))
                    if entry is not None and id(entry) not in self.claimed:
                        self.claimed.add(id(entry))
                        entries.append(entry)
                        queue.extend(_new_values(entry, visited))
                after = sweep.after(v)
                if after is not None and after.apply is not None:
                    visited.add(id(after.apply))
                    later.setdefault(id(after), after)
            tracked = list(later.values())
        return entries

    def step(self, entry: Entry) -> Step:
        """An entry as text."""
        kind, why = self._about(entry.name)
        old, new = formulas(entry.old, self.names), formulas(entry.new, self.names)
        return Step(entry.phase, entry.name, kind, why, old, new, entry.loc, tuple(self._inner(entry)))

    def _about(self, name: str) -> tuple[str, str]:
        rule = self.about.get(name)
        return (rule.kind, rule.why) if rule is not None else ENGINE.get(name, EXPANSION)

    def _inner(self, entry: Entry) -> Iterator[Step]:
        if entry.name == INNER and entry.old[0].apply is not None:
            for graph in entry.old[0].apply.op.inner_graphs():
                journal = self.journal.inner.get((entry.phase, graph))
                if journal is not None:
                    yield from map(self.step, journal.entries)

    def became(self, value: Variable) -> str:
        """The rest of a value of the program: itself, another value, a constant, or nothing."""
        final = self.journal.became(value)
        if isinstance(final, Constant):
            return f"computed when compiling: {constant_text(final)}"
        if final is not None and id(final) in self.final:
            number = self.final[id(final)]
            word = "stays, as" if final is value else "becomes"
            place = self.places.get(number)
            text = operand_text(self.after, number) if place is None else node_text(self.after, place)
            return f"{word} {text}"
        cause = self._cause(value)
        return f"not needed: {cause}" if cause else "not needed: no output depends on it"

    def _cause(self, value: Variable) -> str | None:
        """The replacement after which nothing reads a value: of what read it, by what does not."""
        cause: Entry | None = None
        current: Variable | None = value
        for number, sweep in enumerate(self.journal.sweeps):
            if current is None:
                break
            dropped = self.dropped[number]
            after = sweep.after(current)
            for v in (current, *(u for u, _ in sweep.steps(current)), after):
                cause = dropped.get(id(v), cause)
            current = after
        if cause is None:
            return None
        old, new = formulas(cause.old, self.names), formulas(cause.new, self.names)
        return f"{cause.name} ({cause.phase}) replaced {old} by {new}"


def _dropped(sweep: Sweep) -> dict[int, Entry]:
    """By the ids of values: the last replacement in a sweep that does not read them, where the replaced node did."""
    return {k: e for e in sweep.entries for k in _below(e.old) - _below(e.new)}


def _below(values: Iterable[Variable]) -> set[int]:
    """The ids of some values and of the nearest below them."""
    queue, visited = list(values), set[int]()
    for v in queue:
        if len(visited) >= WALK:
            break
        if id(v) not in visited:
            visited.add(id(v))
            queue.extend(v.inputs)
    return visited


def _new_values(entry: Entry, visited: set[int]) -> list[Variable]:
    """The values below a replacement, the replacement itself excepted, that were not looked at in this sweep."""
    visited.update(id(v.apply) for v in entry.old if v.apply is not None)
    values, stack = [], [u for v in entry.new for u in v.inputs]
    while stack:
        v = stack.pop()
        if v.apply is not None and id(v.apply) not in visited:
            visited.add(id(v.apply))
            values.append(v)
            stack.extend(v.apply.inputs)
    return values


def numbered(frozen: FrozenGraph, roots: Sequence[Variable]) -> Iterator[tuple[int, Variable]]:
    """The values of a graph by their numbers in its frozen form, found by walking both from their roots.

    Args:
        roots: what the conditions and values of the checks and then the outputs are in the graph.
    """
    makers = {k: node for node in frozen.nodes for k in node.outputs}
    numbers = [k for c in frozen.checks for k in (c.condition, *c.values)] + list(frozen.outputs)
    stack, visited = list(zip(numbers, roots, strict=True)), set[int]()
    while stack:
        number, v = stack.pop()
        if number in visited:
            continue
        visited.add(number)
        yield number, v
        node = makers.get(number)
        if node is not None and v.apply is not None:
            stack.extend(zip(node.inputs, v.apply.inputs, strict=True))
