"""A compiled function in a notebook: what it takes and gives, and its program, folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.display.html import element, fold, page
from tg.display.source import highlighted
from tg.display.table import Table
from tg.graph.text.printer import to_text

if TYPE_CHECKING:
    from tg.functions.compiled import Function

MOST_NODES: Final = 200  # of a program that is shown


def function_html(f: Function) -> str:
    """The page of a function; nothing is compiled for it."""
    request, programs = f.request, f.programs
    rows: list[tuple[str, str, object]] = [("input", v.name or "_", v.type) for v in request.inputs]
    rows += [("shared", name, v.type) for name, v in f.shared.items()]
    rows += [("result", v.name or str(k), v.type) for k, v in enumerate(request.results[: request.count])]
    graph = programs.main.graph
    count = len(graph.nodes)
    text = [element("pre", highlighted(to_text(graph, provenance=True)))] if count <= MOST_NODES else []
    tail = "" if text else "; tg.view shows it"
    head = element("span", element("b", f.name), f" on {f.backend}, compiled {f.compiles} ×")
    table = Table.of(("", "name", "type"), rows).html()
    return page(fold(head, table, fold(f"the program, {count} nodes{tail}", *text), is_open=True))
