"""Output of the commands: tables for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console


LEAST_WIDTH: Final = 72  # in a terminal that has fewer columns lines are broken by it: cells of a letter say nothing
_JSON: Final[list[str]] = []  # what is to be printed when plugins have had their say


def as_json(value: Any) -> None:
    """Print a value as JSON, behind what `alone` has kept apart."""
    _JSON.append(json.dumps(value, indent=2))


@contextmanager
def alone() -> Iterator[None]:
    """Let JSON have the standard output for itself: what plugins print goes to the standard error.

    That is what Python prints and what a library in C does, which knows the file's number alone.
    """
    sys.stdout.flush()
    try:
        own = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        own = None
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stderr.flush()
        if own is not None:
            os.dup2(own, 1)
            os.close(own)
        for text in _JSON:
            print(text)
        _JSON.clear()


def aside(line: str) -> None:
    """Print a line about what is missing to the standard error."""
    print(line, file=sys.stderr)


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
    console.width = max(console.width, LEAST_WIDTH)
    console.on_broken_pipe = _broken_pipe  # type: ignore[method-assign]
    return console


def _broken_pipe() -> None:
    """Raise the `BrokenPipeError` that is being handled."""
    raise  # noqa: PLE0704 (rich calls this where it has caught one)
