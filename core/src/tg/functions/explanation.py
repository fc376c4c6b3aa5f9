"""`Explanation`: what rewriting made of a program, node by node, with the user's lines and the reasons.

The program is rewritten once more, with a journal; nothing is compiled.
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any, Final, final

from tg import plugin
from tg.display.html import element, fold, page
from tg.display.table import Table, wrapped
from tg.errors import InputError, OptionError, message
from tg.functions.compile import imported, input_shapes, rewritten
from tg.functions.stories import Step, Story, Teller
from tg.graph.nodes import Constant, Variable
from tg.graph.text.printer import to_text
from tg.graph.traversal import sorted_applies
from tg.link.checkpointing import lowering
from tg.rewrite.journal import Journal
from tg.rewrite.phases import PHASES
from tg.rules.stable import STABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.functions.compile import Setting
    from tg.graph.frozen import FrozenGraph
    from tg.types.choices import PhaseName

LOWERING: Final = "lowering"


@final
class Explanation:
    """The rewriting of a program; `print` it, or read its `nodes`, `counts`, `before` and `after()`."""

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], ones: Iterable[tuple[int, int]], setting: Setting
    ) -> None:
        self.name, self.backend, self.mode, self.exclude = (
            setting.name,
            setting.choice.name,
            setting.mode,
            setting.exclude,
        )
        self.passed_over = setting.choice.passed_over  # the backends before this one in line, each with the reason
        values: dict[int, Variable] = {}
        self._expression = (tuple(inputs), tuple(outputs))
        graph = imported(inputs, outputs, ones, setting, values)
        self._start = graph.freeze()
        roots = [*(v for c in graph.checks for v in (c.condition, *c.values)), *graph.outputs]
        journal = Journal(snapshots=True)
        self._end = rewritten(graph, setting, journal, input_shapes(inputs))
        lowered = journal.lowered
        self._main = lowered[0].before if lowered else self._end
        rewrites = plugin.registry().rewrites(self.backend)
        own = filter(None, [lowering(setting.checkpointing)])
        rules: tuple[Any, ...] = (*STABLE, *rewrites.rules, *rewrites.passes, *own)
        about: dict[str, Any] = {one.name: one for one in rules}
        teller = Teller(journal, self._start, roots, self._main, about)
        self.nodes: tuple[Story, ...] = tuple(teller.stories())
        self.rest: tuple[Step, ...] = teller.rest()
        self._after = dict(journal.after)
        places = {number: k for k, node in enumerate(self._start.nodes) for number in node.outputs}
        self._answers = {key: _answer(value, teller, places) for key, value in values.items()}
        steps = _with_inner(itertools.chain(self.rest, *(story.steps for story in self.nodes)))
        self._reasons = {step.name: f"{step.kind}: {step.why}".removeprefix(": ") for step in steps}
        self._reasons |= {one.name: f"{about[one.name].kind}: {about[one.name].why}" for one in lowered}
        self._lowerings = tuple(
            (one.name, f"({about[one.name].kind}): {one.before!r} -> {one.after!r}", about[one.name].why)
            for one in lowered
        )

    def __getstate__(self) -> dict[str, Any]:
        """All of it; what is known of variables, which ids name here, goes with the variables."""
        inputs, outputs = self._expression
        values = (v for _, results in sorted_applies(outputs, boundary=inputs) for v in results if v is not None)
        variables = {id(v): v for v in (*inputs, *outputs, *values)}
        answers = [(v, self._answers[key]) for key, v in variables.items() if key in self._answers]
        return {**self.__dict__, "_answers": answers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _answers={id(v): answer for v, answer in state["_answers"]})

    @property
    def before(self) -> str:
        """The program as it was written, with its checks."""
        return to_text(self._start, provenance=True)

    def after(self, phase: PhaseName | None = None) -> str:
        """The program after a phase; the one that is compiled, without a phase.

        Raises:
            OptionError: there is no such phase.
        """
        return to_text(self.graph_after(phase), provenance=True)

    @property
    def start(self) -> FrozenGraph:
        """The program as it was written, as a graph."""
        return self._start

    @property
    def reasons(self) -> dict[str, str]:
        """The class and the reason of each rule and pass that was applied, by name."""
        return self._reasons

    def graph_after(self, phase: PhaseName | None = None) -> FrozenGraph:
        """The program after a phase, as a graph."""
        if phase is None:
            return self._end
        if phase not in PHASES:
            raise OptionError(message(f"explain: phase: found {phase!r}, needed one of {', '.join(PHASES)}"))
        before, graph = PHASES[: PHASES.index(phase) + 1], self._start
        for one in before:
            graph = self._after.get(one, graph)
        return graph

    @property
    def counts(self) -> dict[str, int]:
        """The number of applications of each rule and pass, the most frequent first."""
        steps = itertools.chain(self.rest, *(story.steps for story in self.nodes))
        counter = collections.Counter(step.name for step in _with_inner(steps))
        counter.update(name for name, *_ in self._lowerings)
        return dict(counter.most_common())

    def why(self, variable: Variable) -> str:
        """The fate of a variable of the program, from replacement to replacement.

        Raises:
            InputError: not a variable.
        """
        if not isinstance(variable, Variable):
            raise InputError(message(f"why: found {variable!r}, needed a variable"))
        if isinstance(variable, Constant):
            return "a constant: it is part of the program wherever it is used"
        answer = self._answers.get(id(variable), "not needed: no output is computed from it")
        return answer if isinstance(answer, str) else str(self.nodes[answer])

    def __str__(self) -> str:
        lines = [self._title(), *(f'  "auto" passed over {name}: {why}' for name, why in self.passed_over)]
        for loc, group in itertools.groupby(self.nodes, key=lambda s: str(s.loc) if s.loc else ""):
            stories = list(group)
            place = stories[0].loc
            lines += ["", f"{loc}:  {place.source}".rstrip() if place is not None else "made by tg"]
            for story in stories:
                body = [line for line in str(story).splitlines() if not line.startswith("  at ")]
                lines += [f"  {line}" for line in body]
        if self.rest:
            lines += ["", "in what rewriting added"]
            lines += [f"  {line}" for step in self.rest for line in str(step).splitlines()]
        for name, change, why in self._lowerings:
            lines += ["", f"{LOWERING}: {name} {change}", f"  {why}"]
        if self.counts:
            width = max(map(len, self.counts))
            lines += ["", "how often", *(f"  {name:<{width}}  {count}" for name, count in self.counts.items())]
        return "\n".join(wrapped(line) for line in lines)

    def _title(self) -> str:
        total = sum(self.counts.values())
        sizes = f"{len(self._start.nodes)} nodes as written, {len(self._end.nodes)} as compiled"
        return f"{self.name} on {self.backend}, {self._options()}: {sizes}, {total} replacement{'s' * (total != 1)}"

    def _options(self) -> str:
        return f'mode "{self.mode}"' + (f" without {', '.join(sorted(self.exclude))}" if self.exclude else "")

    def __repr__(self) -> str:
        return f"<explanation of {self.name} on {self.backend}, {self._options()}>"

    def _repr_html_(self) -> str:
        rows = []
        for story in self.nodes:
            place = f"  {story.loc}:  {story.loc.source}" if story.loc is not None else ""
            steps = [element("pre", "\n".join(map(str, story.steps)))] if story.steps else []
            head = element("span", element("code", story.was), element("small", place))
            rows.append(fold(head, *steps, element("code", story.became), is_open=story.is_changed))
        counts = Table.of(("how often", ""), self.counts.items(), [""]).html()
        return page(element("b", self._title()), *rows, counts)


def _answer(value: Variable, teller: Teller, places: Mapping[int, int]) -> int | str:
    """The place of the story of a value, or what there is to say of it."""
    number = teller.numbers.get(id(value))
    if number is None:
        return "not needed: no output depends on it"
    return places[number] if value.apply is not None else f"an input: {teller.became(value)}"


def _with_inner(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        yield step
        yield from _with_inner(step.inner)
