"""ONNX's tests of nodes: a sample at every run, all of them in a long one, and the page's table."""

from __future__ import annotations

import pytest

from tests.onnx_nodes.cases import collect, of_modules
from tests.onnx_nodes.outcomes import RIGHT, WRONG, outcome
from tests.onnx_nodes.results import BEGIN, END, PAGE, Results, kept, table

SAMPLE = (
    "argmax", "averagepool", "bitshift", "clip", "conv", "cumsum", "gatherelements", "gemm", "gru", "hardmax", "if_",
    "maxpool", "mod", "pad", "qlinearmatmul", "quantizelinear", "scatternd", "slice", "split", "topk",
)  # fmt: skip


def test_a_sample_of_nodes_is_right_or_refused_as_it_is_known():
    refused = {name for names in kept()["perform"]["refused"].values() for name in names}
    cases = of_modules(*SAMPLE)
    outcomes = {case.name: outcome(case, "perform") for case in cases}
    assert {n: o.cause for n, o in outcomes.items() if o.kind != RIGHT and n not in refused} == {}
    assert [n for n, o in outcomes.items() if o.kind == RIGHT and n in refused] == []
    assert len(cases) > 60


@pytest.mark.long(minutes=2)
@pytest.mark.parametrize("backend", ["c", "numba", "jax", "torch", "mlx"])
def test_some_nodes_are_right_on_every_backend(backend):
    refused = {name for names in kept()["perform"]["refused"].values() for name in names}
    outcomes = {case.name: outcome(case, backend) for case in collect()[::40] if case.name not in refused}
    assert len(outcomes) > 40
    assert {n: o.cause for n, o in outcomes.items() if o.kind == WRONG} == {}
    assert sum(o.kind == RIGHT for o in outcomes.values()) > 0.9 * len(outcomes)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_all_nodes_are_right_or_refused_for_the_reason_that_is_kept(backend):
    results, entry = Results(), kept().get(backend, {"refused": {}, "all": [0, 0]})
    before = entry["refused"]
    for case in collect():
        results.add(case, outcome(case, backend))
    after = results.as_data()
    assert after["wrong"] == 0
    causes = {name: cause for cause, names in after["refused"].items() for name in names}
    assert {name: causes.get(name) for names in before.values() for name in names} == {
        name: cause for cause, names in before.items() for name in names
    }
    if entry["all"][1] == len(collect()):
        assert after["refused"] == before


def test_nothing_that_is_kept_is_wrong():
    assert {backend: data["wrong"] for backend, data in kept().items() if data["wrong"]} == {}


def test_the_page_shows_the_table_that_is_kept():
    text = PAGE.read_text()
    assert f"{BEGIN}{table()}{END}" in text
