"""The result of a run: counts for each backend, and the table op x dtype x backend as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

WORST_FIRST: Final = ("failed", "xfailed", "passed")


class Record(NamedTuple):
    """One item that ran."""

    backend: str
    case: str
    dtype: str
    outcome: str
    seconds: float


class Results:
    """The records of a run."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, texts: Iterable[Any]) -> None:
        """Take records from the reports of items."""
        self.records.extend(Record(*json.loads(text)) for text in texts)

    def summary(self) -> list[str]:
        """One line for each backend: cases, passed, xfailed, failed, seconds of work."""
        lines = [f"{'backend':<12}{'cases':>8}{'passed':>8}{'xfailed':>8}{'failed':>8}{'seconds':>9}"]
        for name in dict.fromkeys(r.backend for r in self.records):
            found = [r for r in self.records if r.backend == name]
            counts = [sum(r.outcome == kind for r in found) for kind in ("passed", "xfailed", "failed")]
            seconds = sum(r.seconds for r in found)
            lines.append(f"{name:<12}{len(found):>8}" + "".join(f"{n:>8}" for n in counts) + f"{seconds:>9.1f}")
        return lines

    def table(self) -> dict[str, dict[str, dict[str, str]]]:
        """Case -> dtype -> backend -> the worst outcome of its items."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for r in self.records:
            row = found.setdefault(r.case, {}).setdefault(r.dtype, {})
            row[r.backend] = min(row.get(r.backend, "passed"), r.outcome, key=WORST_FIRST.index)
        return dict(sorted(found.items()))

    def write(self, path: Path, tier: str) -> None:
        """The report as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"version": 1, "tier": tier, "cases": self.table()}, indent=1) + "\n")
