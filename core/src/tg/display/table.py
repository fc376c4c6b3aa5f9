"""`Table`: rows under named columns, as text of a terminal's width and as HTML."""

from __future__ import annotations

import dataclasses
import io
import textwrap
from typing import TYPE_CHECKING, Any, Final, final

from tg.display.html import Markup, element

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH: Final = 80  # columns of a printed table: those of a terminal that nobody has widened


def wrapped(line: str, width: int = WIDTH) -> str:
    """A line broken at spaces, what follows indented below it; words are never cut."""
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())] + "    "
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@final
@dataclasses.dataclass(frozen=True)
class Table:
    """A table of cells that are texts.

    Args:
        columns: the names of the columns.
        rows: their cells.
        right: the columns that are aligned to the right, as numbers are.
        title: a line above it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    right: frozenset[str] = frozenset()
    title: str = ""

    @classmethod
    def of(
        cls, columns: Iterable[str], rows: Iterable[Iterable[Any]], right: Iterable[str] = (), title: str = ""
    ) -> Table:
        """A table of any iterables."""
        return cls(tuple(columns), tuple(map(tuple, rows)), frozenset(right), title)

    def text(self, width: int = WIDTH) -> str:
        """The table for a terminal; cells are folded, never cut off."""
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(title=Text(self.title) if self.title else None, title_justify="left")
        for name in self.columns:
            is_number = name in self.right
            table.add_column(name, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
        for row in self.rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        out = io.StringIO()
        Console(file=out, width=width, color_system=None, force_jupyter=False).print(table)
        return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))

    def html(self) -> Markup:
        """The table as an element."""
        kinds = ["r" if name in self.right else None for name in self.columns]
        head = element("tr", *(element("th", n, class_=k) for n, k in zip(self.columns, kinds, strict=True)))
        rows = [
            element("tr", *(element("td", c, class_=k) for c, k in zip(row, kinds, strict=True))) for row in self.rows
        ]
        title = [element("caption", self.title)] if self.title else []
        return element("table", *title, head, *rows)
