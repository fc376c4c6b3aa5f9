"""Targets are bounds from what competes in a row; what else a run has measured is no peer of it."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    """The modules of the benchmarks by name, as they import one another."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def row(**figures):
    return {name.replace("_", "-"): {"run": found, "least": found, "spread": 0.1} for name, found in figures.items()}


RESULTS = {
    "start": {"import-numpy": {"seconds": 0.1}, "import-tg": {"seconds": 0.15}, "c-warm": {"seconds": 0.3}},
    "calls": {"limit": {"3-vector sum(x**2)": 0.1}, "tg-c": {"3-vector sum(x**2)": 0.2}},
    "run": {"GP 200": row(jax=2000.0, numpy=9000.0, tg_c=1000.0), "radon": row(limit=2.0, tg_c=2.6)},
    "loops": {"AR(1) 1e5": row(limit=100.0), "AR(1) 1e5, gradient": row(limit=200.0, tg_c=450.0)},
}
BOUNDS = {  # by hand from the figures above
    ("GP 200", "tg-c"): 1.05 * 2000.0,
    ("radon", "tg-c"): 1.2 * (2.0 + 0.1),
    ("AR(1) 1e5, gradient", "tg-c"): 5 * 100.0,
    ("3-vector sum(x**2)", "tg-c"): 1.5 * 0.1,
    ("first result", "import-tg"): 1.6 * 0.1,
    ("first result", "c-warm"): 2 * 0.1,
}


def test_a_bound_is_of_what_competes_in_its_row(scripts):
    found = {(v.target.row, v.target.engine): v for v in scripts("targets").verdicts(RESULTS)}
    assert {key: found[key].bound for key in BOUNDS} == pytest.approx(BOUNDS)
    assert found["GP 200", "tg-c"].met
    assert not found["radon", "tg-c"].met


def test_a_target_without_its_peer_is_not_judged(scripts):
    assert scripts("targets").verdicts({"run": {"GP 200": row(tg_c=1000.0)}}) == []


def test_no_target_is_of_a_row_that_does_not_exist(scripts):
    targets, models = scripts("targets"), scripts("models")
    known = {*models.MODELS, *scripts("recurrences").LOOPS, *scripts("draws").DRAWS, *targets.CALLS, "first result"}
    assert {target.row for target in targets.TARGETS} <= known


def test_the_noise_of_a_row_is_its_worst_figure(scripts):
    results = {"run": {"GP 200": row(jax=2000.0, tg_c=1000.0)}}
    results["run"]["GP 200"]["jax"]["spread"] = 0.4
    head, ((*cells,),) = scripts("report").beside(results)
    assert cells[head.index("noise")] == "40%"


def test_figures_stand_beside_those_of_another_tree(scripts):
    faster = {"run": {"GP 200": row(jax=2000.0, tg_c=800.0)}, "calls": {}}
    assert scripts("report").since(RESULTS, faster) == {"GP 200, run": {"tg-c": 0.8}}


def test_a_spread_is_that_of_the_middle_half(scripts):
    answers = [{"run": run, "least": 1.0, "checksum": [0.0]} for run in (1.0, 2.0, 3.0, 4.0, 100.0)]
    assert scripts("workers")._whole(answers)["spread"] == pytest.approx((4 - 2) / 3)
    assert scripts("workers")._whole(answers[:1])["spread"] == 0
