"""What the commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console


def as_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def table(rows: Iterable[Sequence[object]], *columns: str, title: str | None = None) -> None:
    """Print rows under the names of columns; without names, as pairs.

    In a narrow terminal cells are folded, never cut off: one may be a command to copy.
    """
    from rich.markup import escape
    from rich.table import Table

    shown = Table(title=title, show_header=bool(columns))
    for name in columns:
        shown.add_column(name, overflow="fold")
    for row in rows:
        shown.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    _console().print(shown)


def text(line: str) -> None:
    """Print a line as it is."""
    _console().print(line, markup=False, highlight=False)


def _console() -> Console:
    """A console that leaves it to the command line what to do when nobody reads any more."""
    from rich.console import Console

    console = Console()
    console.on_broken_pipe = _broken_pipe  # type: ignore[method-assign]
    return console


def _broken_pipe() -> None:
    """Raise the `BrokenPipeError` that is being handled."""
    raise  # noqa: PLE0704 (rich calls this where it has caught one)
