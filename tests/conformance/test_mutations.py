"""The suite is itself tested: bugs that other systems had, put into copies of loopback, must be caught."""

import re

import pytest

from tg import plugin
from tg_conformance.case import items
from tg_conformance.parent import Worker

CAUGHT = {
    "clamp": r"^indexing:(take|rows|points)",
    "remainder": r"^elementwise/arithmetic:remainder",
    "division": r"^elementwise/arithmetic:floor_divide",
    "nan": r"^reduction:extremes",
    "tie": r"^reduction:arg.* ties",
    "dtype": r"^reduction:sum",
    "scatter": r"^indexing:add",
    "alias": r"^shape:(views|ways)",
    "write": r"^elementwise/arithmetic:negative",
    "layout": r"^elementwise/arithmetic:add[ \[]",
    "stale": r"^elementwise/arithmetic:square",
    "zero": r"^elementwise/arithmetic:multiply",
    "accumulator": r"^cumulative",
    "unchecked": r"^indexing:read outside",
    "partial": r"^elementwise/trigonometric:tanh",
    "missing": r"^elementwise/trigonometric",
}


@pytest.fixture
def run(site, monkeypatch):
    """Run the quick items that a pattern matches on a backend, in its worker."""
    monkeypatch.syspath_prepend(str(site))
    workers = []

    def outcomes(backend, pattern, limit=60.0):
        loopback = plugin.registry().backend("loopback")
        ids = [item.id for item in items(loopback, "quick") if re.search(pattern, item.id)]
        workers.append(Worker(backend, "quick", limit))
        return {one.id: one for one in workers[-1].run(ids)}

    outcomes.workers = workers
    yield outcomes
    for worker in workers:
        worker.close()


def test_loopback_itself_passes_what_the_bugs_fail(run):
    found = run("loopback", "|".join(CAUGHT.values()))
    assert len(found) > 200
    assert [one for one in found.values() if one.outcome != "passed"] == []


@pytest.mark.parametrize("bug", CAUGHT)
def test_bug_is_caught(run, bug):
    found = run(f"bug-{bug}", CAUGHT[bug])
    failed = [one for one in found.values() if one.outcome == "failed"]
    assert failed, f"none of {len(found)} cases failed"
    assert all(one.outcome in ("passed", "failed") for one in found.values())


def test_crash_fails_exactly_the_case_that_crashes(run):
    found = run("bug-crash", r"^elementwise/exponential:(exp|exp2|log)[ \[]")
    failed = [one for one in found.values() if one.outcome != "passed"]
    assert [one.id.partition("[")[0] for one in failed] == ["elementwise/exponential:exp2 hostile"]
    assert "signal 6 while running elementwise/exponential:exp2 hostile[float16" in failed[0].detail
    assert len(found) > 40
    assert run.workers[0].restarts > 1


def test_hang_fails_exactly_the_case_that_hangs(run):
    found = run("bug-hang", r"^elementwise/exponential:log2", limit=4.0)
    failed = [one for one in found.values() if one.outcome != "passed"]
    assert [one.id.partition("[")[0] for one in failed] == ["elementwise/exponential:log2 hostile"]
    assert failed[0].detail.startswith("hung: no answer within 4 s")


def test_gap_is_an_expected_failure_and_strict(run):
    found = run("bug-gaps", r"trigonometric:(sin|cos)\[float|subnormals added")
    outcomes = {name: one.outcome for name, one in found.items()}
    assert {v for k, v in outcomes.items() if ":sin[float32" in k} == {"xfailed"}
    assert {v for k, v in outcomes.items() if ":sin[float64" in k} == {"passed"}
    assert {v for k, v in outcomes.items() if ":cos[float32" in k} == {"failed"}
    assert {v for k, v in outcomes.items() if "subnormals" in k} == {"failed"}
    wrong = [one for one in run.workers[0].gaps() if one.outcome == "failed"]
    assert [(one.id, one.detail) for one in wrong] == [("gap:2:exp[float64]", "it covers no case")]
