"""`f.compile_report()`: where the time from `tg.function` to what runs has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.display.html import Markup, bar, element, fold, page
from tg.display.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.functions.programs import Programs
    from tg.graph.timing import Span

REST: Final = "rest"
SHORT: Final = 0.001  # of the total: a step that takes less is not printed

WHAT: Final[Mapping[str, str]] = {
    "function": "tg.function",
    "copy": "f.copy",
    "unpickle": "pickle.loads",
    "background": "in a thread, while the reference answers",
    "arguments": "inputs, outputs, updates and givens looked at",
    "choice": "the backend found, its plugin imported",
    "specialization": "one pattern of lengths that are 1",
    "recall": "a program that was rewritten before looked for on disk",
    "keep": "the rewritten program put on disk",
    "import": "the expression as a value-numbered graph, types inferred",
    "tables": "rules and passes of all plugins gathered",
    "index": "by what rules are found, kept for the process",
    "canonicalize": "equal things brought to one form",
    "stabilize": "formulas that lose digits or overflow replaced",
    "specialize": "cheaper ops picked",
    "expand": "what the backend has no rule for inlined",
    "backend": "the backend's own rules and passes",
    "view": "what passes are shown, counted",
    "rules": "a sweep of local rules",
    "freeze": "the table that a linker is given",
    "release": "the memory of the function graph given back",
    "gaps": "what the backend says it lacks",
    "linker": "the linker imported",
    "checks": "what the linker is asked for",
    "code": "the text of the program written",
    "cache": "a compiled unit looked for on disk",
    "compiler": "the backend's compiler",
    "open": "the compiled unit loaded",
    "entry": "what runs the program",
    "caller": "the short way through a call",
    "call": "a call at which the library compiled for new shapes, and ran",
    "trace": "the program run on the library's tracers",
    "library": "compiled by the library, and run once",
    REST: "what no step accounts for",
}
"""What the steps are that have no other explanation; passes have their names."""


class Row(NamedTuple):
    """One step: how deep it lies, its name, its seconds, and those of them that nothing inside it accounts for."""

    depth: int
    name: str
    seconds: float
    rest: float
    note: str


@final
class CompileReport:
    """The seconds that each step of compiling one function took; `print` it, or read its `rows`.

    The steps of depth 0 are what the user waited for, or a thread worked on: making the function, then each
    specialisation that a call needed, and each call at which a library compiled.
    """

    def __init__(self, title: str, spans: Sequence[Span]) -> None:
        self.title = title
        self.rows: tuple[Row, ...] = tuple(
            Row(depth, span.name, span.seconds, span.rest if span.parts else 0.0, _note(span))
            for root in spans
            for depth, span in root.walk()
        )

    @property
    def total(self) -> float:
        """The seconds of all steps of depth 0."""
        return sum(row.seconds for row in self.rows if row.depth == 0)

    @property
    def attributed(self) -> float:
        """The part of the total, 0 to 1, that single steps account for: those with no others inside."""
        return 1 - sum(row.rest for row in self.rows) / self.total

    def seconds(self, name: str) -> float:
        """The seconds of all steps of a name."""
        return sum(row.seconds for row in self.rows if row.name == name)

    def __str__(self) -> str:
        rows = [
            ("  " * row.depth + row.name, f"{1e3 * row.seconds:.2f}", self._share(row), _meaning(row))
            for row in self._long()
        ]
        return Table.of(("step", "ms", "%", ""), rows, ("ms", "%"), self.title).text()

    def _long(self) -> list[Row]:
        """The rows of all steps but the shortest."""
        return [row for row in self._shown() if row.seconds >= SHORT * self.total]

    def _share(self, row: Row) -> str:
        return f"{100 * row.seconds / self.total:.1f}" if self.total else ""

    def _repr_html_(self) -> str:
        rows, parts, total = self._long(), [], self.total or 1.0
        place = 0
        while place < len(rows):
            part, place = self._folded(rows, place, total)
            parts.append(part)
        return page(element("b", self.title), *parts)

    def _folded(self, rows: Sequence[Row], place: int, total: float) -> tuple[Markup, int]:
        """A step with those inside it, and the place of the next beside it."""
        row, inside, place = rows[place], [], place + 1
        while place < len(rows) and rows[place].depth > row.depth:
            part, place = self._folded(rows, place, total)
            inside.append(part)
        time = f" {1e3 * row.seconds:.2f} ms "
        head = element(
            "span", element("code", row.name), time, bar(row.seconds / total), " ", element("small", _meaning(row))
        )
        return fold(head, *inside, is_open=row.depth == 0), place

    def _shown(self) -> list[Row]:
        """The rows, with one for what is left of each step behind the steps inside it."""
        shown: list[Row] = []
        open_rows: list[Row] = []
        for row in (*self.rows, None):
            while open_rows and (row is None or open_rows[-1].depth >= row.depth):
                done = open_rows.pop()
                if done.rest > 0:
                    shown.append(Row(done.depth + 1, REST, done.rest, 0.0, ""))
            if row is not None:
                shown.append(row)
                open_rows.append(row)
        return shown

    def __repr__(self) -> str:
        return f"<{self.title}, {100 * self.attributed:.1f} % attributed>"


def _meaning(row: Row) -> str:
    return "; ".join(filter(None, (row.note, WHAT.get(row.name, ""))))


def _note(span: Span) -> str:
    collected = f"{1e3 * span.collected:.2f} ms of it the garbage collector" if span.collected else ""
    return "; ".join(filter(None, (span.note, collected)))


def report(programs: Programs) -> CompileReport:
    """The report of a function: its making, and what has been compiled for it since."""
    spans = [*programs.spans]
    spans += [span for program in programs.by_pattern.values() for span in program.executable.compilations]
    total, name = sum(span.seconds for span in spans), programs.request.options.name
    return CompileReport(f"compiling {name} on {programs.choice.name}: {1e3 * total:.1f} ms", spans)
