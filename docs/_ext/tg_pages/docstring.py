"""Docstrings as MyST: prose, sections, signatures."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

SECTIONS = (
    *("Args", "Shapes", "Dtypes", "Units", "Raises", "Example", "Source"),
    *("When", "Returns", "Combine", "Promise", "Since"),  # of hooks
)
HEADER = re.compile(rf"({'|'.join(SECTIONS)}):$", re.MULTILINE)
ITEM = re.compile(r"([A-Za-z_][\w, ]*): (.*)", re.DOTALL)
CODE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"([\\*_\[\]<>#{}$~])")


def escaped(text: str) -> str:
    """Prose in which only `code` is markup."""
    return "".join(part if part.startswith("`") else MARKS.sub(r"\\\1", part) for part in CODE.split(text))


def cell(text: str) -> str:
    """The same, to stand in a table."""
    return " ".join(escaped(text).split()).replace("|", "\\|")


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of cells that are MyST already."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def sentence(documented: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())


def myst(text: str) -> str:
    """A docstring as MyST."""
    first, *rest = HEADER.split(inspect.cleandoc(text))
    parts = [escaped(first.strip())]
    for header, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(section(header, textwrap.dedent(body.strip("\n")).rstrip()))
    return "\n\n".join(filter(None, parts)) + "\n"


def section(header: str, body: str) -> str:
    """One section: examples as code, arguments and errors as lists, the rest as prose."""
    if header == "Example":
        return f"```pycon\n{body}\n```"
    if header in ("Args", "Raises") and (items := items_of(body)):
        return "\n".join((f"**{header}**\n", *(f"- `{name}`: {escaped(text)}" for name, text in items)))
    return f"**{header}**: {escaped(body)}"


def items_of(body: str) -> list[tuple[str, str]]:
    """The items `name: text` of a section, whose further lines are indented; none where it is prose."""
    found = []
    for line in re.split(r"\n(?=\S)", body):
        item = ITEM.match(line)
        if item is None:
            return []
        found.append((item[1], " ".join(item[2].split())))
    return found


class _AsWritten:
    """An annotation that a signature shows without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(function: Any, name: str, *, bound: bool = False) -> str:
    """`name(…)`, exactly as it was written; `bound` leaves out the first argument."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return name
    parameters = [p.replace(annotation=_unquoted(p.annotation)) for p in found.parameters.values()][bound:]
    return f"{name}{found.replace(parameters=parameters, return_annotation=_unquoted(found.return_annotation))}"


def _unquoted(annotation: Any) -> Any:
    return _AsWritten(annotation) if isinstance(annotation, str) else annotation


def entry(kind: str, heading: str, body: str) -> str:
    """An entry of the Python domain, so that pages can refer to it."""
    return f"``````{{py:{kind}}} {heading}\n\n{body}\n``````\n"
