"""What was run to see that tg works, and what came out: docs/parts.toml and docs/runs.jsonl as a table."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg_pages.docstring import cell, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parents[2]
COUNTED = ("passed", "failed", "error", "skipped", "xfailed")


def part() -> str:
    """A table of the parts: how each is run, and its last runs."""
    parts = tomllib.loads((HERE / "parts.toml").read_text())
    runs = [json.loads(line) for line in (HERE / "runs.jsonl").read_text().splitlines()]
    return table(("part", "command", "where", "last green", "last run"), rows(parts, runs))


def rows(parts: Mapping[str, Mapping[str, str]], runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each part; where the last run was green, it is the last one, too."""
    found = []
    for name, one in parts.items():
        own = [run for run in runs if run["part"] == name]
        green = next((run for run in reversed(own) if run["green"]), None)
        last = own[-1] if own else None
        latest = "never" if last is None else "the same" if last is green else told(last)
        found.append((one["about"], f"`{one['command']}`", one["where"], told(green) if green else "never", latest))
    return found


def told(run: Mapping[str, Any]) -> str:
    """A run in one cell: its day, its minutes, what it counted and what there is to say of it."""
    words = [run["date"]]
    words += [f"{run['minutes']:g} min"] if "minutes" in run else []
    words += [f"{run[word]:,} {word}" for word in COUNTED if word in run]
    words += [run["note"]] if "note" in run else []
    return cell(", ".join(words))
