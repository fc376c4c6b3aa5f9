"""`tg.view`: a program as one HTML file, to be looked at in a browser."""

from __future__ import annotations

import html
import json
import webbrowser
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from tg.display.html import escaped
from tg.errors import InputError, message
from tg.functions.compiled import Function
from tg.functions.explain import explain
from tg.functions.explanation import Explanation
from tg.functions.profile import Profile
from tg.functions.structure import need_variables
from tg.rewrite.phases import PHASES
from tg.viewer.code import lines_of_places
from tg.viewer.records import Records

if TYPE_CHECKING:
    import os

    from tg.graph.frozen import FrozenGraph

WRITTEN: Final = "as written"
COMPILED: Final = "as compiled"


@final
class View:
    """A page that shows a program; notebooks show it in a frame, and `save` writes it.

    `html` is the whole page. It loads nothing: styles, script and program are in it.
    """

    def __init__(self, title: str, html: str) -> None:
        self.title, self.html = title, html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def open(self, path: str | os.PathLike[str]) -> bool:
        """Write the page to a file, and ask the browser to show it; whether there is one."""
        return webbrowser.open(self.save(path).resolve().as_uri())

    def __repr__(self) -> str:
        return f"<view of {self.title}, {len(self.html) / 1000:.0f} kB>"

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:640px;border:1px solid #8884" sandbox="allow-scripts"'
        return f'<iframe title="{html.escape(self.title)}" {frame} srcdoc="{html.escape(self.html)}"></iframe>'


def view(value: Any, path: str | os.PathLike[str] | None = None, *, profile: Profile | None = None) -> View:
    """A page with the graph of a program through the phases of its rewriting, as one file that loads nothing.

    Nodes can be searched, and each leads to the user's lines, the rules that made it and the generated code; inner
    graphs and fused loops open in place. The page has the user's lines around those that made nodes.

    Args:
        value: a function of `tg.function`, or a variable or several, which are rewritten as `tg.explain` does it.
        path: where the page is written; it is only given back where there is none.
        profile: of the function: its nodes have the colour of their time. The program shown is the one that ran.
    Raises:
        InputError: neither a function nor variables; a profile of no function, or of another program.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.view(tg.function([x], tg.exp(x) + 1, backend="perform", name="f")).title
        'f on perform'
    """
    is_function = isinstance(value, Function)
    if profile is not None and not (is_function and isinstance(profile, Profile)):
        raise InputError(
            message(f"view: profile: found {profile!r}, needed f.profile(…) of the function that is shown")
        )
    if not callable(value):
        need_variables("view", value)
    explanation, graph, code = _of_function(value, profile) if is_function else _of_expression(value)
    records = Records({} if profile is None else profile.seconds_by_node)
    numbered = [[name, records.graph(graph)] for name, graph in _phases(explanation, graph)]
    data = {
        "title": f"{explanation.name} on {explanation.backend}",
        "total": None if profile is None else profile.phases["program"],
        "rest": [] if profile is None else [[row.seconds, row.part] for row in profile.rows if row.graph is None],
        "phases": numbered,
        "graphs": records.graphs,
        "texts": list(records.texts),
        "places": [record for _, record in records.places.values()],
        "why": {name: why for name, why in explanation.reasons.items() if name in records.texts},
        "code": code,
        "stretches": lines_of_places(code, records.places),
    }
    shown = View(str(data["title"]), page_of(data))
    if path is not None:
        shown.save(path)
    return shown


def _of_function(f: Function, profile: Profile | None) -> tuple[Explanation, FrozenGraph, str]:
    """The rewriting, the graph and the code of the main program, or of that which was profiled."""
    programs, request = f.programs, f.request
    if profile is None:
        return f.explain(), f.graph, str(f.source())
    for ones, program in [*programs.by_pattern.items(), *programs.interpreted.items()]:
        if program.graph == profile.graph:
            explanation = Explanation(request.variables, request.results, ones, programs.setting_for(ones))
            return explanation, program.graph, program.executable.source()
    hint = f"{f.name}.profile(…) has the times of this function"
    raise InputError(message("view: profile: found that of another program", hint=hint))


def _of_expression(value: Any) -> tuple[Explanation, FrozenGraph, str]:
    """The rewriting and the graph of an expression, of which there is no code."""
    explanation = explain(value)
    return explanation, explanation.graph_after(), ""


def _phases(explanation: Explanation, compiled: FrozenGraph) -> list[tuple[str, FrozenGraph]]:
    """The program as it was written, after each phase that changed it, and as it is compiled."""
    phases = [(WRITTEN, explanation.start)]
    for name in PHASES:
        graph = explanation.graph_after(name)
        if graph is not phases[-1][1] and graph != phases[-1][1]:
            phases.append((name, graph))
    if compiled != phases[-1][1] or len(phases) == 1:
        return [*phases, (COMPILED, compiled)]
    return [*phases[:-1], (f"{phases[-1][0]}, {COMPILED}", compiled)]


def page_of(data: dict[str, Any]) -> str:
    """The page of a program's records."""
    folder = files("tg.viewer")
    parts = {
        name: folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "layout.js", "page.js")
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    filled = {
        "TITLE": str(escaped(data["title"])),
        "STYLE": parts["page.css"],
        "DATA": text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "SCRIPT": parts["layout.js"] + parts["page.js"],
    }
    pieces = parts["page.html"].split("@@")
    return "".join(filled.get(piece, piece) for piece in pieces)
