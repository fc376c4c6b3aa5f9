"""A case above the level that a backend was certified for is advisory there: it runs, is told, and fails nothing."""

import json
import subprocess
import sys

import pytest

from tg.errors import PluginError
from tg.plugin.case import Case, f64

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("levels of conformance")]

PLUGIN = """
import tg
from tg.plugin import Backend, Rules, hookimpl
from tg.plugin.case import Case, f64
from tg_conformance import loopback

@hookimpl
def tg_backends():
    facts = dict(distribution="tg-levels", rules=loopback.PROTOCOL, linker="tg_conformance.loopback:LINKER")
    return tuple(Backend(f"certified-{k}", conformance_level=k, priority=-1, **facts) for k in (1, 2))

@hookimpl
def tg_rules(backend):
    if backend.startswith("certified-"):
        return Rules(loopback.PROTOCOL, {**loopback.table(), tg.cosh: lambda x: 2 * x})

@hookimpl
def tg_cases():
    return (
        Case(tg.cosh, [f64("n")], family="levels", name="of the first level"),
        Case(tg.cosh, [f64("n")], family="levels", name="of the second level", level=2),
        Case(tg.sinh, [f64("n")], family="levels", name="right", level=2),
    )
"""
POINTS = "[tg.backends.1]\ncertified-1 = tg_levels\ncertified-2 = tg_levels\n[tg.extensions.1]\nlevels = tg_levels\n"


@pytest.fixture(scope="module")
def run(installed, tmp_path_factory):
    """Run the cases whose names hold some words on a backend: the exit status and the report."""
    environ = installed("tg_levels", PLUGIN, POINTS)
    report = tmp_path_factory.mktemp("run") / "report.json"

    def finished(backend, words):
        command = [sys.executable, "-m", "tg.cli", "conformance", "--tier", "sparse", "--backend", backend, "-k", words]
        done = subprocess.run(
            [*command, "-n", "0", "--report", report], env=environ, capture_output=True, text=True, check=False
        )
        return done, json.loads(report.read_text())

    return finished


def test_a_failure_above_the_level_is_advisory_and_the_run_does_not_fail(run):
    done, report = run("certified-1", "levels and (second or right)")
    assert done.returncode == 0, done.stdout
    found = {entry["case"]: entry["outcome"] for entry in report["cases"]}
    assert found == {"levels:of the second level": "advisory", "levels:right": "passed"}
    (backend,) = report["backends"]
    assert backend["level"] == 1
    assert backend["achieved"] == 1
    assert backend["counts"].keys() == {"advisory", "passed"}
    (entry,) = [entry for entry in report["cases"] if entry["outcome"] == "advisory"]
    assert entry["level"] == 2
    assert "differs from the reference" in entry["details"][0][2]


def test_a_failure_at_the_level_fails_the_run(run):
    done, report = run("certified-2", "levels and second")
    assert done.returncode == 1
    assert [entry["outcome"] for entry in report["cases"]] == ["failed"]
    assert run("certified-1", "levels and first")[0].returncode == 1


def test_levels_count_from_1():
    with pytest.raises(PluginError, match="case later: level: found 0, needed at least 1"):
        Case(abs, [f64("n")], name="later", level=0)
