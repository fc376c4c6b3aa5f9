"""The pytest plugin: items, summary, report, and what a failure says."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import tg_conformance

pytestmark = pytest.mark.xdist_group("plugin of conformance")

PLUGIN = """
import numpy as np, tg
from tg.plugin import Backend, Rules, hookimpl
from tg_conformance import loopback

@hookimpl
def tg_backends():
    facts = dict(distribution="tg-remainder", rules=loopback.PROTOCOL, linker="tg_conformance.loopback:LINKER")
    return (Backend("bad", priority=-1, **facts),)

@hookimpl
def tg_rules(backend):
    if backend == "bad":
        return Rules(loopback.PROTOCOL, {**loopback.table(), tg.remainder: of_c})

def of_c(x, y):
    return np.fmod(x, np.where(y == 0, 1, y)) * (y != 0)
"""
SUITE = Path(tg_conformance.__file__).parent / "suite"


@pytest.fixture(scope="module")
def finished(installed, tmp_path_factory):
    """A run of a good and of a bad backend over a few cases, and the folder of its reports."""
    environ = installed("tg_remainder", PLUGIN, "[tg.backends.1]\nbad = tg_remainder\n")
    folder = tmp_path_factory.mktemp("run")
    chosen = ["--tier", "sparse", "--backend", "loopback", "--backend", "bad", "-k", "arithmetic:remainder and int8"]
    files = ["--conformance-report", "report.json", "--conformance-html", "page.html", "--junitxml", "junit.xml"]
    command = [sys.executable, "-m", "pytest", "-p", "tg_conformance", str(SUITE), *files, *chosen]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environ, check=False)
    return done, folder


@pytest.mark.long
def test_a_line_for_each_backend_ends_the_run(finished):
    done, _ = finished
    lines = [line.split() for line in done.stdout.splitlines()]
    good = next(line for line in lines if line[:1] == ["loopback"])
    bad = next(line for line in lines if line[:1] == ["bad"])
    assert good[1] == good[2] == bad[1]
    assert int(bad[3]) > 0
    assert done.returncode == 1


def test_a_failure_shows_the_backend_the_case_and_the_first_wrong_element(finished):
    done, _ = finished
    assert "backend  bad" in done.stdout
    assert "case     elementwise/arithmetic:remainder integers[int8," in done.stdout
    assert (
        "the result differs from the reference: the value: at [1] found np.int8(-1), needed np.int8(1)" in done.stdout
    )


def test_the_report_has_an_entry_for_each_case_dtype_and_backend(finished):
    _, folder = finished
    report = json.loads((folder / "report.json").read_text())
    entries = [entry for entry in report["cases"] if entry["case"] == "elementwise/arithmetic:remainder integers"]
    found = {entry["backend"]: entry["outcome"] for entry in entries if entry["dtype"] == "int8"}
    assert found == {"loopback": "passed", "bad": "failed"}


def test_the_page_has_the_failure(finished):
    done, folder = finished
    assert "written to page.html" in done.stdout
    assert "found np.int8(-1), needed np.int8(1)" in (folder / "page.html").read_text()


def test_junit_has_the_facts_of_each_case_as_properties(finished):
    _, folder = finished
    cases = list(ET.parse(folder / "junit.xml").iter("testcase"))
    facts = [{one.get("name"): one.get("value") for one in case.iter("property")} for case in cases]
    assert {fact["conformance.backend"] for fact in facts} == {"loopback", "bad"}
    assert {fact["conformance.outcome"] for fact in facts} == {"passed", "failed"}
    failed = [case.find("failure") is not None for case in cases]
    assert failed == [fact["conformance.outcome"] == "failed" for fact in facts]


@pytest.mark.long
def test_a_limit_for_single_tests_does_not_end_the_batch_that_the_first_waits_for(installed, tmp_path):
    environ = installed("tg_remainder", PLUGIN, "[tg.backends.1]\nbad = tg_remainder\n")
    chosen = ["--timeout", "0.01", "--tier", "sparse", "--backend", "loopback", "-k", "trigonometric:sin and float64"]
    command = [sys.executable, "-m", "pytest", "-p", "tg_conformance", str(SUITE), *chosen]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stdout


def collected(*options):
    """What a run of a backend's sparse tier would consist of, and how it ends."""
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-p", "tg_conformance", str(SUITE)]
    chosen = ["--tier", "sparse", "--backend", "loopback", "-k", "elementwise", *options]
    done = subprocess.run([*command, *chosen], capture_output=True, text=True, check=False)
    return {line for line in done.stdout.splitlines() if "::" in line}, done


@pytest.mark.long
def test_every_third_batch_is_about_a_third_of_the_cases_and_no_gap():
    (all_of_them, _), (some, _) = collected(), collected("--every", "3")
    assert some < all_of_them
    assert len(all_of_them) / 6 < len(some) < len(all_of_them) * 2 / 3
    assert not any("gap" in name for name in some)


@pytest.mark.long
def test_there_is_no_zeroth_batch():
    found, done = collected("--every", "0")
    assert not found
    assert "--every: found 0, needed 1 or more" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("jobs", ["0", "2"])
def test_words_that_are_no_expression_are_refused(jobs):
    found, done = collected("-k", "det of a zero", "-n", jobs)
    assert not found
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "-k: found 'det of a zero', needed words joined by and, or, not: expected end" in done.stderr
