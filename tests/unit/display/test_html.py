"""Pages for notebooks: everything that tg shows is escaped, short, folded, and loads nothing."""

from __future__ import annotations

import html.parser

import numpy as np
import pytest

import tg
from tg import plugin
from tg.display.html import element, fold, page
from tg.display.source import SHOWN, Source, highlighted
from tg.display.table import WIDTH, Table, wrapped
from tg.plugin.coverage import coverage

NAME = '<script>alert("&")</script>'
VOID = {"br", "img", "meta", "link", "input"}
ALLOWED = {
    "div",
    "style",
    "span",
    "b",
    "small",
    "code",
    "pre",
    "details",
    "summary",
    "table",
    "caption",
    "tr",
    "th",
    "td",
}


class Checked(html.parser.HTMLParser):
    """Follows which elements are open, and keeps the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


def read(text: str) -> Checked:
    parser = Checked()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def program():
    x = tg.vector(NAME)
    w = tg.shared(np.arange(3.0), NAME)
    return tg.function([x], tg.named(tg.sum(tg.exp(x * w)), NAME), backend="perform", name=NAME)


def values():
    f = program()
    model = tg.nn.Sequential(tg.nn.Dense(4, 3), tg.relu)
    x = tg.vector(NAME)
    return {
        "variable": tg.exp(x) + 1,
        "input": x,
        "constant": tg.constant(2.0),
        "shared": tg.shared(np.arange(30.0).reshape(5, 6), NAME),
        "function": f,
        "profile": f.profile(np.ones(3), calls=1),
        "report": f.compile_report(),
        "explanation": f.explain(),
        "source": f.source(),
        "backends": tg.backends(),
        "coverage": coverage(plugin.registry(), ["perform"]),
        "distribution": tg.distributions.normal(0, 2),
        "module": model,
        "summary": tg.nn.summary(model, tg.tensor("x", "float32", (1, 4))),
    }


@pytest.fixture(scope="module")
def pages():
    return {name: (value, value._repr_html_()) for name, value in values().items()}


@pytest.mark.parametrize("name", list(values()))
def test_pages_are_whole_escaped_and_load_nothing(pages, name):
    _, text = pages[name]
    parser = read(text)
    assert parser.tags <= ALLOWED
    assert not any(word in text for word in ("http", "url(", "@import"))
    assert len(text) < 40_000
    if name in ("input", "shared", "function", "explanation"):
        assert NAME in "".join(parser.texts)


@pytest.mark.parametrize("name", [name for name in values() if name not in ("source", "explanation")])
def test_texts_fit_a_terminal(pages, name):
    value, _ = pages[name]
    lines = [*repr(value).splitlines(), *(str(value).splitlines() if name != "module" else ())]
    assert max(map(len, lines)) <= WIDTH


def test_both_themes_are_in_the_style():
    text = page()
    assert "prefers-color-scheme:dark" in text
    assert "[data-jp-theme-light=false]" in text
    assert "[data-jp-theme-light=true]" in text


def test_elements_escape_all_but_markup():
    assert element("b", "a<b", element("i", "&"), title='"') == '<b title="&quot;">a&lt;b<i>&amp;</i></b>'
    assert fold("only") == "<div>only</div>"
    assert fold("s", "p", is_open=True) == "<details open><summary>s</summary>p</details>"


def test_tables_are_texts_and_elements_of_the_same_cells():
    table = Table.of(("name", "n"), [("<a>", "1"), ("b" * 100, "22")], ["n"], "title")
    text = table.text()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "".join(text.split()).count("b") == 100
    assert "".join(read(table.html()).texts) == "titlenamen<a>1" + "b" * 100 + "22"


def test_lines_are_broken_at_spaces_and_indented():
    line = "  " + "word " * 40
    assert max(map(len, wrapped(line).splitlines())) <= WIDTH
    assert wrapped(line).split() == line.split()
    assert wrapped(line).splitlines()[1].startswith("      word")
    assert wrapped("a" * 100) == "a" * 100


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("/* a return */ return 1.5e-3;", ["c", "k", "n"]),
        ("  ; a comment of LLVM\n  %1 = load double, ptr %2", ["c", "k", "k"]),
        ("def f(x):  # x\n    return 'if'", ["k", "c", "k", "s"]),
        ("v21 = t1[3]; loop1 for2", ["n"]),
    ],
)
def test_code_is_highlighted(text, kinds):
    found = highlighted(text)
    assert "".join(read(found).texts) == text
    assert [piece[:1] for piece in found.split('class="')[1:]] == kinds


def test_a_long_source_is_cut_and_is_a_string():
    source = Source("line\n" * (SHOWN + 7))
    assert isinstance(source, str)
    assert "7 lines more" in source._repr_html_()
    assert "".join(read(source._repr_html_()).texts).count("line\n") == SHOWN - 1


def test_the_text_of_a_table_is_the_same_in_a_notebook(monkeypatch):
    """In a notebook rich shows what is printed, in the place of writing it to the file that it was given."""
    table = Table(("part", "ms"), (("loop", "1.5"),))
    plain = table.text()
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "loop" in plain
    assert table.text() == plain
