"""`tg.view`: the records of a page, and how lines of generated code are found."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tg
from tg.viewer.code import lines_of_places

CODE = """\
/* a.py:1:  x */
void loop0() {
  one;
}
void other() {
  /* a.py:12:  y */
  two;
  /* a.py:1:  x */
  /* a.py:2:  z */
  three;
}
  %3 = exp(%0)  # a.py:12"""


def records(view):
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', view.html, re.DOTALL)[1]
    return json.loads(text)


def program(backend="perform", name="f"):
    x = tg.vector("x")
    y = tg.log(1 + x)
    return tg.function([x], tg.sum(y * y), backend=backend, name=name), y


def test_phases_begin_as_written_and_end_as_compiled():
    f, _ = program()
    data = records(tg.view(f))
    names = [name for name, _ in data["phases"]]
    assert names[0] == "as written"
    assert names[-1].endswith("as compiled")
    texts, graphs = data["texts"], data["graphs"]
    first, last = ([texts[node[0]] for node in graphs[data["phases"][k][1]]["nodes"]] for k in (0, -1))
    assert "log" in first
    assert "log1p" in last
    assert "log" not in last
    assert len(graphs[data["phases"][-1][1]]["nodes"]) == len(f.graph.nodes)


def test_nodes_have_the_users_lines_and_the_rules_that_made_them():
    data = records(tg.view(program()[0]))
    texts, graph = data["texts"], data["graphs"][data["phases"][-1][1]]
    node = next(node for node in graph["nodes"] if texts[node[0]] == "log1p")
    place = data["places"][node[5][0]]
    assert place["lines"][place["line"] - place["first"]].strip() == "y = tg.log(1 + x)"
    assert [texts[rule] for rule in node[6]] == ["log_of_one_plus"]
    assert "lost every digit" in data["why"]["log_of_one_plus"]
    assert texts[node[4]] == "y"


def test_times_are_those_of_the_profile():
    f, _ = program()
    profile = f.profile(np.ones(5), calls=2)
    data = records(tg.view(f, profile=profile))
    nodes = data["graphs"][data["phases"][-1][1]]["nodes"]
    spent = sum(node[9] for node in nodes)
    assert spent + profile.rows[-1].seconds == pytest.approx(data["total"])
    assert [node[9] for node in data["graphs"][data["phases"][0][1]]["nodes"]] == [None] * len(
        data["graphs"][data["phases"][0][1]]["nodes"]
    )


def test_the_program_of_a_profile_is_shown_where_lengths_are_1():
    x = tg.matrix("x")
    f = tg.function([x], tg.sum(x + x.T, axis=0), backend="perform")
    profile = f.profile(np.ones((1, 1)), calls=1)
    data = records(tg.view(f, profile=profile))
    graph = data["graphs"][data["phases"][-1][1]]
    assert data["texts"][graph["inputs"][0][1]] == "float64[1, 1]"
    assert "float64[1, 1]" in data["code"]
    assert all(node[9] is not None for node in graph["nodes"])
    general = records(tg.view(f))
    assert "float64[1, 1]" not in general["code"]


def test_a_line_is_named_once_for_each_node():
    def twice(v):
        return tg.exp(v) - 1

    x = tg.vector("x")
    f = tg.function([x], tg.sum(twice(x) * twice(2 * x)), backend="c")
    data = records(tg.view(f))
    assert all(len(set(node[5])) == len(node[5]) for graph in data["graphs"] for node in graph["nodes"])
    loops = [node for graph in data["graphs"] for node in graph["nodes"] if data["texts"][node[8]] == "fused loops"]
    assert loops


@pytest.mark.parametrize("backend", ["c", "numba", "perform", "torch"])
def test_the_generated_code_of_a_line_is_found(backend):
    f, _ = program(backend)
    data = records(tg.view(f))
    place = next(p["place"] for p in data["places"] if p["lines"][p["line"] - p["first"]].strip().startswith("y = "))
    (first, last), *_ = data["stretches"][place]
    lines = data["code"].split("\n")
    assert data["code"] == f.source()
    assert place in lines[first]
    assert first <= last < len(lines)


def test_fused_loops_have_their_graphs_inside():
    f, _ = program("c")
    data = records(tg.view(f))
    nodes = data["graphs"][data["phases"][-1][1]]["nodes"]
    (loop,) = (node for node in nodes if data["texts"][node[8]] == "fused loops")
    inner = [data["texts"][node[0]] for node in data["graphs"][loop[7][0]]["nodes"]]
    assert "log1p" in inner


def test_equal_graphs_are_one_record():
    x = tg.vector("x")
    f = tg.function([x], tg.vmap(lambda v: v + 1)(x), backend="perform", mode="off")
    data = records(tg.view(f))
    assert len(data["graphs"]) <= len(data["phases"])


def test_expressions_are_shown_without_code():
    x = tg.vector("x")
    data = records(tg.view([tg.exp(x), tg.sum(x)]))
    assert data["code"] == ""
    assert data["total"] is None


def test_texts_of_the_program_are_never_markup():
    name = "</script><script>alert(1)</script>"
    x = tg.vector(name)
    view = tg.view(tg.function([x], x * 2, backend="perform", name=name))
    assert view.html.count("</script>") == 2
    assert "alert(1)</script>" not in view.html
    assert name in records(view)["texts"]


def test_the_page_is_written_and_shown_in_a_frame_without_rights(tmp_path):
    f, _ = program()
    view = tg.view(f, tmp_path / "f.html")
    assert (tmp_path / "f.html").read_text() == view.html
    assert "default-src 'none'" in view.html
    assert re.findall(r"https?:", view.html) == []
    assert 'sandbox="allow-scripts"' in view._repr_html_()
    assert repr(view).startswith("<view of f on perform, ")


def test_bad_input_is_named(tmp_path):
    f, y = program()
    with pytest.raises(tg.InputError, match=r"view: profile: found 3, needed f.profile"):
        tg.view(f, tmp_path / "f.html", profile=3)
    with pytest.raises(tg.InputError, match=r"needed f.profile"):
        tg.view(y, profile=f.profile(np.ones(2), calls=1))
    other, _ = program("perform")
    g = tg.function(other.inputs, other.inputs[0] + 1, backend="perform")
    with pytest.raises(tg.InputError, match="found that of another program"):
        tg.view(g, tmp_path / "f.html", profile=f.profile(np.ones(2), calls=1))
    with pytest.raises(tg.InputError):
        tg.view("no program")
    assert not (tmp_path / "f.html").exists()


def test_lines_of_a_place_end_where_another_begins():
    found = lines_of_places(CODE, ["a.py:1", "a.py:12", "a.py:2"])
    assert found == {"a.py:1": [[0, 3], [7, 10]], "a.py:12": [[5, 6], [11, 11]], "a.py:2": [[8, 10]]}
    assert lines_of_places(CODE, []) == {}
