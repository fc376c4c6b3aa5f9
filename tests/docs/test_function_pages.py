"""Pages of functions: each has an executed example, formulas convert, derivatives are typeset, curves are cut."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tg
from tg import plugin

DOCS = Path(__file__).parents[2] / "docs"
FAMILIES = [family for family in plugin.registry().families() if not family.is_lowered]


@pytest.fixture(autouse=True)
def extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension of the docs can be imported."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "tg_pages"]:
        del sys.modules[name]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.path)
def test_each_function_has_an_example(family) -> None:
    from tg_pages import sessions
    from tg_pages.function_pages import function_address

    without = [fn.__name__ for fn in family.functions if sessions.sample(function_address(fn, family)) is None]
    examples = {fn.__name__ for fn in family.functions if "Example:" in (fn.__doc__ or "")}
    assert [name for name in without if name not in examples] == []


def test_each_sample_is_of_a_function() -> None:
    from tg_pages import sessions
    from tg_pages.function_pages import function_address

    addresses = {function_address(fn, family) for family in FAMILIES for fn in family.functions}
    assert [f"{m}.{n}" for m, names in sessions.samples().items() for n in names if f"{m}.{n}" not in addresses] == []


def test_each_formula_is_of_a_function_and_converts() -> None:
    import xml.etree.ElementTree as ET

    from tg_pages import mathml
    from tg_pages.function_pages import address, function_address

    addresses = {address(fn, family).rpartition(".")[2] for family in FAMILIES for fn in family.elementwise}
    addresses |= {function_address(fn, family) for family in FAMILIES for fn in family.functions}
    for module, names in mathml.table().items():
        for name, latex in names.items():
            assert name in addresses or f"{module}.{name}" in addresses, name
            if module != "operands":
                ET.fromstring(mathml.display(latex))


def test_names_of_operands_are_as_many_as_the_function_has() -> None:
    from tg_pages import mathml

    arities = {fn.name: fn.arity for family in FAMILIES for fn in family.elementwise}
    assert {name: len(names.split()) for name, names in mathml.table()["operands"].items()} == {
        name: arities[name] for name in mathml.table()["operands"]
    }


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("sin", r"\cos\left(x\right)"),
        ("erf", r"\frac{2}{\sqrt{\pi}} \, e^{-{x}^2}"),
        ("absolute", r"\begin{cases} 0 & x = 0 \\ \text{sign}\left(x\right) & \text{otherwise} \end{cases}"),
        ("log2", r"\frac{\frac{1}{\ln 2}}{x}"),
    ],
)
def test_derivatives_are_typeset(name: str, latex: str) -> None:
    from tg_pages import typeset

    assert typeset.derivatives(getattr(tg, name)) == [("x", latex)]


def test_a_session_shows_what_numpy_gives() -> None:
    from tg_pages import sessions

    points = np.array([-0.8, 0.0, 1.2])
    text = sessions.of_elementwise(tg.sin, "tg.sin")
    assert str(points.tolist()) in text
    assert repr(np.sin(points)) in text
    assert repr(np.cos(points)) in text


def test_a_curve_is_cut_where_it_jumps() -> None:
    from tg_pages import curves

    places = np.linspace(-1.0, 1.0, 6)
    line = np.where(places < 0, 0.0, 5.0)
    assert [len(piece) for piece in curves.pieces(places, line, 2.0)] == [3, 3]
    assert curves.curve(tg.sin, -2.0, 2.0, "tg.sin").count("<polyline") == 4
    assert curves.curve(lambda v: tg.sum(v), -2.0, 2.0, "tg.sum") is None


def test_words_point_to_functions() -> None:
    from tg_pages import words

    assert {"clamp", "clip_by_value"} <= set(words.elsewhere("tg.clip"))
    assert "| `clamp` |" in words.page()
