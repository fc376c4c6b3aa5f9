"""`tg.view` in a browser: what is drawn, found, opened and told, and that nothing is loaded."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tg
from tests.browser import chromium

pytestmark = [
    pytest.mark.skipif(chromium.program() is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(sys.platform != "linux", reason="Chromium is looked for as Linux names it"),
]

COLOURS = """
(() => {
  const canvas = document.getElementById("canvas"), seen = new Set();
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < data.length; i += 40) seen.add(`${data[i]} ${data[i + 1]} ${data[i + 2]}`);
  return seen.size;
})()
"""
SLIDE = """
(() => {
  const slider = document.getElementById("phase");
  slider.value = %d;
  slider.dispatchEvent(new Event("input"));
})()
"""


def decays():
    x, w = tg.vector("x"), tg.matrix("w")
    hidden = w @ x
    decay = tg.exp(-hidden) * 2 + 1

    def step(carry, value):
        after = carry * 0.5 + value
        return after, after

    last, _ = tg.scan(step, tg.constant(0.0), decay)
    return tg.function([x, w], [tg.sum(decay) / tg.max(decay), last], backend="c", name="decays <i>")


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.opened(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture(scope="module")
def page(tab, tmp_path_factory):
    f = decays()
    path = tmp_path_factory.mktemp("view") / "decays.html"
    tg.view(f, path, profile=f.profile(np.ones(20), np.ones((30, 20)), calls=2))
    tab.goto(path)
    tab.frame()
    return tab


def place_of(page, words):
    """Where on the screen the first node is of which the label has these words, and its number."""
    k = page.evaluate(
        f"tgView.data.graphs[tgView.data.phases[tgView.state.phase][1]].nodes"
        f".findIndex((n) => tgView.data.texts[n[0]].includes({words!r}))"
    )
    rect = page.evaluate(f"tgView.whereIs({{path: String(tgView.state.phase), k: {k}}})")
    x, y, scale = (page.evaluate(f"tgView.state.{name}") for name in ("x", "y", "scale"))
    top = page.evaluate("document.getElementById('canvas').getBoundingClientRect().top")
    return x + (rect["x"] + rect["w"] / 2) * scale, top + y + (rect["y"] + 0.6 * rect["h"]) * scale, k


def test_the_program_is_drawn_and_nothing_is_loaded(page):
    assert page.evaluate("document.title") == "decays <i> on c"
    assert page.evaluate("document.querySelectorAll('h1 i').length") == 0
    nodes = page.evaluate("tgView.data.graphs[tgView.data.phases[tgView.state.phase][1]].nodes.length")
    page.evaluate("document.getElementById('fit').click()")
    page.frame()
    assert page.evaluate("tgView.state.drawn") >= nodes
    colours = page.evaluate(COLOURS)
    assert colours > 10
    assert page.problems == []
    assert page.requests == []


def test_a_click_tells_the_users_line_the_time_and_the_code(page):
    page.evaluate("document.getElementById('fit').click()")
    page.frame()
    x, y, k = place_of(page, "MatMul")
    page.click(x, y)
    assert page.evaluate("tgView.state.selected.k") == k
    text = page.evaluate("document.getElementById('panel').innerText")
    assert "hidden = w @ x" in text
    assert "of a call" in text
    marked = page.evaluate("document.querySelector('#panel .code .mark').textContent")
    assert "hidden = w @ x" in marked


def test_inner_graphs_open_and_close_in_place(page):
    x, y, k = place_of(page, "Scan")
    before = page.evaluate("tgView.state.scene.h")
    page.click(x, y)
    page.evaluate("[...document.querySelectorAll('#panel button')].find((b) => b.textContent.includes('open')).click()")
    assert page.evaluate(f"tgView.state.open.has(tgView.state.phase + '/{k}')")
    assert page.evaluate("tgView.state.scene.h") > before
    inner = page.evaluate(f"tgView.whereIs({{path: tgView.state.phase + '/{k}', k: 0}})")
    outer = page.evaluate(f"tgView.whereIs({{path: String(tgView.state.phase), k: {k}}})")
    assert outer["x"] < inner["x"] < inner["x"] + inner["w"] < outer["x"] + outer["w"]
    assert outer["y"] < inner["y"] < inner["y"] + inner["h"] < outer["y"] + outer["h"]
    page.evaluate("document.getElementById('close').click()")
    assert page.evaluate("tgView.state.open.size") == 0
    assert page.problems == []


def test_a_search_goes_from_one_hit_to_the_next(page):
    page.evaluate("document.getElementById('search').focus()")
    page.type("hidden = w @ x")
    assert page.evaluate("tgView.state.hits.length") >= 2
    page.press("Enter")
    first = page.evaluate("tgView.state.selected.k")
    page.press("Enter")
    assert page.evaluate("tgView.state.selected.k") != first
    page.evaluate(
        "const s = document.getElementById('search'); s.value = 'nothing like it'; s.dispatchEvent(new Event('input'))"
    )
    assert page.evaluate("document.getElementById('hits').textContent") == "none"
    page.evaluate("s.value = ''; s.dispatchEvent(new Event('input'))")


def test_the_slider_goes_through_the_phases(page):
    names = page.evaluate("tgView.data.phases.map((p) => p[0])")
    assert names[0] == "as written"
    assert names[-1].endswith("as compiled")
    counts = []
    for number, name in enumerate(names):
        page.evaluate(SLIDE % number)
        page.frame()
        assert page.evaluate("document.getElementById('phasename').textContent").startswith(name)
        counts.append(page.evaluate("tgView.state.drawn"))
    assert min(counts) > 5
    labels = page.evaluate("tgView.data.graphs[tgView.data.phases[0][1]].nodes.map((n) => tgView.data.texts[n[0]])")
    assert "exp" in labels
    assert not any(label.startswith("loop of") for label in labels)


def test_what_the_panel_tells_of_is_in_the_phase_that_is_shown(page):
    last = page.evaluate("tgView.data.phases.length - 1")
    page.evaluate(f"tgView.setPhase({last})")
    place_of(page, "Scan")
    k = page.evaluate(
        "tgView.data.graphs[tgView.data.phases[tgView.state.phase][1]].nodes.findIndex((n) => n[5].length)"
    )
    page.evaluate(f"tgView.choose({{path: '{last}', k: {k}, number: tgView.data.phases[{last}][1]}}, true)")
    for number in range(last, -1, -1):
        page.evaluate(f"tgView.setPhase({number})")
        assert page.evaluate("tgView.state.selected.path.split('/')[0]") == str(number)
        node = page.evaluate(
            "tgView.data.texts[tgView.data.graphs[tgView.state.selected.number].nodes[tgView.state.selected.k][0]]"
        )
        assert node in page.evaluate("document.querySelector('#panel h2').textContent")
    page.evaluate(f"tgView.setPhase({last})")


def test_the_panel_tells_whether_a_group_is_open(page):
    _, _, k = place_of(page, "Scan")
    graph = "tgView.data.phases[tgView.state.phase][1]"
    page.evaluate(f"tgView.choose({{path: String(tgView.state.phase), k: {k}, number: {graph}}}, true)")
    button = "document.querySelector('#panel button').textContent"
    page.evaluate("document.getElementById('open').click()")
    assert page.evaluate(button) == "close"
    page.evaluate("document.getElementById('close').click()")
    assert page.evaluate(button) == "open what is inside"
    assert page.problems == []


def test_a_search_begins_with_nodes_that_have_the_words_themselves(page):
    page.evaluate(
        "{ const s = document.getElementById('search'); s.value = 'decay'; s.dispatchEvent(new Event('input')) }"
    )
    own = page.evaluate(
        "tgView.state.hits.map((hit) => tgView.data.graphs[hit.number].nodes[hit.k])"
        ".map((n) => [0, 1, 2, 4].some((j) => tgView.data.texts[n[j]].includes('decay')))"
    )
    assert own == sorted(own, reverse=True)
    assert set(own) == {True, False}
    page.evaluate("{ const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')) }")


def test_times_and_their_rest_add_up_to_the_program(page):
    page.evaluate("tgView.setPhase(tgView.data.phases.length - 1)")
    page.evaluate("[...document.querySelectorAll('#panel button')].find((b) => b.textContent === 'overview')?.click()")
    shares = page.evaluate(
        "[...document.querySelector('#panel table').rows].map((r) => parseFloat(r.cells[1].textContent))"
    )
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares) + 1e-9)


def test_two_fingers_zoom_about_the_place_between_them(page):
    page.evaluate("document.getElementById('fit').click()")
    top = page.evaluate("document.getElementById('canvas').getBoundingClientRect().top")
    scale, x, y = page.evaluate("[tgView.state.scale, tgView.state.x, tgView.state.y]")
    middle = ((400 - x) / scale, (400 - y) / scale)
    page.touch("touchStart", (350, 400 + top), (450, 400 + top))
    page.touch("touchMove", (300, 400 + top), (500, 400 + top))
    page.touch("touchEnd")
    after, x, y = page.evaluate("[tgView.state.scale, tgView.state.x, tgView.state.y]")
    assert after == pytest.approx(2 * scale, rel=1e-3)
    assert ((400 - x) / after, (400 - y) / after) == pytest.approx(middle, abs=2)


def test_wheel_and_drag_move_what_is_shown(page):
    page.evaluate("document.getElementById('fit').click()")
    scale, x = page.evaluate("[tgView.state.scale, tgView.state.x]")
    page.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-300)
    page.frame()
    assert page.evaluate("tgView.state.scale") > scale
    x = page.evaluate("tgView.state.x")
    page.mouse("mousePressed", 300, 700, button="left", clickCount=1)
    page.mouse("mouseMoved", 340, 720, button="left", buttons=1)
    page.mouse("mouseReleased", 340, 720, button="left", clickCount=1)
    assert page.evaluate("tgView.state.x") == pytest.approx(x + 40)


def test_nodes_lie_below_what_they_read_and_not_on_one_another(page):
    page.evaluate("tgView.setPhase(0)")
    assert page.evaluate("tgView.state.scene.edges.every(([a, b]) => a.y + a.h <= b.y)")
    assert page.evaluate(
        "tgView.state.scene.rows.every((row) => [...row].sort((a, b) => a.x - b.x)"
        ".every((item, k, all) => !k || all[k - 1].x + all[k - 1].w <= item.x + 1e-6))"
    )


@pytest.mark.long(minutes=2)
def test_five_thousand_nodes_are_laid_out_and_drawn(tab, tmp_path):
    generator = np.random.default_rng(0)
    values = [tg.vector("x")]
    forms = (lambda a, b: a * b, lambda a, b: tg.tanh(a - b), lambda a, b: tg.cumsum(a) / (1 + tg.sum(b * b)))
    while len(values) < 2400:
        a, b = (values[-1 - int(generator.integers(min(len(values), reach)))] for reach in (40, 8))
        values.append(forms[int(generator.integers(3))](a, b))
    total = values[-1]
    for value in values[-40:-1]:
        total = total + value
    f = tg.function([values[0]], total, backend="perform", mode="off")
    assert len(f.graph.nodes) > 4500
    tg.view(f, tmp_path / "many.html")
    tab.goto(tmp_path / "many.html")
    tab.frame()
    shown = tab.evaluate("tgView.state.drawn")
    assert 10 < shown < 1000  # only what is in sight
    tab.evaluate("document.getElementById('fit').click()")
    tab.frame()
    assert tab.evaluate("tgView.state.drawn") >= len(f.graph.nodes)
    assert tab.evaluate("tgView.state.scene.edges.every(([a, b]) => a.y + a.h <= b.y)")
    assert tab.problems == []
