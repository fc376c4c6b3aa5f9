"""Counts and causes of what came of the cases, kept in `results.json`, of which the page's table is made."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.onnx_nodes.outcomes import FAILED, RIGHT, WRONG

if TYPE_CHECKING:
    from tests.onnx_nodes.cases import Case
    from tests.onnx_nodes.outcomes import Outcome

FILE = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "onnx_reading.md"
BEGIN, END = "<!-- python -m tests.onnx_nodes --backend all --write -->\n", "<!-- end of results -->\n"


@dataclass
class Results:
    """What came of cases on one backend."""

    own: Counter[str] = field(default_factory=Counter)  # of cases whose types tg has
    other: Counter[str] = field(default_factory=Counter)
    causes: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    fixed: int = 0  # right ones that were read with values of inputs

    def add(self, case: Case, result: Outcome) -> None:
        """Count one case."""
        (self.own if case.has_own_types else self.other)[result.kind] += 1
        self.fixed += bool(result.kind == RIGHT and result.values)
        if result.kind != RIGHT:
            self.causes[result.kind, result.cause].append(case.name)

    @property
    def failures(self) -> int:
        """Wrong answers, and errors that are no refusals."""
        return sum(c[WRONG] + c[FAILED] for c in (self.own, self.other))

    def as_data(self) -> dict[str, Any]:
        """Counts, and the refused cases by cause."""
        return {
            "own": [self.own[RIGHT], self.own.total()],
            "all": [self.own[RIGHT] + self.other[RIGHT], self.own.total() + self.other.total()],
            "wrong": self.failures,
            "fixed": self.fixed,
            "refused": {cause: sorted(names) for (_, cause), names in sorted(self.causes.items())},
        }

    def summary(self) -> str:
        """The counts in a line."""
        data = self.as_data()
        parts = [f"{label} {_share(data[key])}" for key, label in (("own", "types that tg has"), ("all", "all"))]
        return f"{', '.join(parts)}, {data['wrong']} wrong, {data['fixed']} with fixed inputs"


def _share(counts: list[int]) -> str:
    right, total = counts
    return f"{right} of {total} ({100 * right / max(total, 1):.1f} %)"


def kept() -> dict[str, Any]:
    """What was kept, by backend."""
    return json.loads(FILE.read_text()) if FILE.is_file() else {}


def write_results(backend: str, results: Results) -> None:
    """Keep what came of all cases on a backend."""
    data = {**kept(), backend: results.as_data()}
    FILE.write_text(json.dumps(dict(sorted(data.items())), indent=1) + "\n")


def table() -> str:
    """The table of the page."""
    rows = ["| backend | of those whose types tg has | of all | wrong |", "|---|---|---|---|"]
    for backend, data in kept().items():
        rows.append(f"| {backend} | {_share(data['own'])} | {_share(data['all'])} | {data['wrong']} |")
    return "\n".join(rows) + "\n"


def write_table() -> None:
    """Write the table into the page."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}")
