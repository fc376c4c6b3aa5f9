"""The tables of `make examples`: what is right, what is not, and all of it in the large."""

from __future__ import annotations

import functools
import importlib
import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jobs
import numpy as np
import pytest
from rich.console import Console
from tables.cells import Peer, difference

from tg.demo.run import REFERENCE, chosen, compare
from tg.errors import InputError, NoRuleError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def newton():
    """A table, and a run of it that computes once."""
    model = next(m for m in jobs.JOBS["solvers"]() if m.title == "Newton")
    ((_, peer),) = model.peers.items()
    run, by_hand = functools.cache(lambda backend: model.run(backend, None)), functools.cache(lambda: peer(None))
    return model._replace(run=lambda backend, report: run(backend), peers={"NumPy": lambda report: by_hand()})


def shown(model):
    """What is printed, the results, and whether all are right."""
    console = Console(width=140, record=True, file=io.StringIO())
    results, is_right = compare(model, chosen(["c"]), console)
    return console.export_text(), results, is_right


def test_a_table_has_a_row_for_each_backend_and_peer(newton):
    text, results, is_right = shown(newton)
    assert is_right
    assert set(results) == {REFERENCE, "c", "NumPy"}
    for r in results.values():
        assert all(f"{v:.4f}" in text for v in r.theta)
        assert f"{r.call_microseconds:,.0f}" in text


def test_a_wrong_number_is_no_success(newton):
    def moved(backend, report):
        found = newton.run(backend, report)
        return found if backend == REFERENCE else found._replace(at_start=found.at_start * (1 + 1e-6))

    def far(backend, report):
        found = newton.run(backend, report)
        return found._replace(theta=found.theta + 5 * found.errors)

    assert not shown(newton._replace(run=moved))[2]
    assert not shown(newton._replace(run=far))[2]


@pytest.mark.parametrize(("error", "is_success"), [(NoRuleError, True), (InputError, False)])
def test_a_backend_without_a_rule_says_so_and_one_that_fails_is_no_success(newton, error, is_success):
    def lacks(backend, report):
        if backend != REFERENCE:
            raise error("of scan\n  at  model.py:1")
        return newton.run(backend, report)

    text, results, is_right = shown(newton._replace(run=lacks))
    assert f"c: {error.__name__}: of scan\n" in text
    assert "c" not in results
    assert is_right is is_success
    assert not shown(newton._replace(run=lacks, may_lack_rules=False))[2]


def test_a_peer_is_what_calls_are_compared_with():
    peer = Peer(lambda microseconds: SimpleNamespace(call_microseconds=microseconds, step_microseconds=7.0))
    assert peer.ratio(2.0) == "–"
    assert peer(50.0) is peer.result
    assert [peer.ratio(its) for its in (50.0, 100.0, 2.0, 0.04)] == ["1", "0.5", "25", "1,250"]
    assert peer.ratio(2.0, "step_microseconds") == "3.5"


def test_a_peer_that_is_not_installed_is_told_of_and_no_failure(newton):
    def absent(report):
        importlib.import_module("a_library_that_nobody_has")

    text, results, is_right = shown(newton._replace(peers={"other": absent, **newton.peers}))
    assert "other: a_library_that_nobody_has is not installed\n" in text
    assert "│ other   │       – │" in text
    assert "other" not in results
    assert is_right


def test_differences_are_relative_and_of_what_both_have():
    assert difference(np.array([1.0, 2.0]), np.array([1.0])) == 0.0
    assert difference(np.array([1.0, 2.5]), np.array([1.0, 2.0])) == 0.25


@pytest.mark.long(minutes=2)
@pytest.mark.sampled(5)
@pytest.mark.parametrize("job", jobs.JOBS)
def test_a_job_is_right(job, tmp_path):
    for name in ("torch", "sklearn"):
        pytest.importorskip(name)
    command = [sys.executable, str(ROOT / "examples/jobs.py"), "c", "numba", "--docs", str(tmp_path), "--jobs", job]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "│ numba " in (tmp_path / f"{job}.txt").read_text()
    assert {p.name for p in tmp_path.iterdir()} == {f"{job}.{kind}" for kind in ("svg", "txt")}
