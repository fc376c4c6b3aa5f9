"""The pytest plugin: items, summary, report, and what a failure says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tg_conformance

SUITE = Path(tg_conformance.__file__).parent / "suite"


@pytest.fixture(scope="module")
def finished(site, tmp_path_factory):
    """A run of a good and of a bad backend over a few cases."""
    folder = tmp_path_factory.mktemp("run")
    chosen = ["--backend", "loopback", "--backend", "bug-remainder", "-k", "arithmetic:remainder and int8"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tg_conformance",
        str(SUITE),
        "--conformance-report",
        "report.json",
    ]
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([*command, *chosen], cwd=folder, capture_output=True, text=True, env=environ, check=False)
    return done, json.loads((folder / "report.json").read_text())


def test_a_line_for_each_backend_ends_the_run(finished):
    done, _ = finished
    lines = [line.split() for line in done.stdout.splitlines()]
    good = next(line for line in lines if line[:1] == ["loopback"])
    bad = next(line for line in lines if line[:1] == ["bug-remainder"])
    assert good[1] == good[2] == bad[1]
    assert int(bad[4]) > 0
    assert done.returncode == 1


def test_a_failure_shows_the_backend_the_case_and_the_first_wrong_element(finished):
    done, _ = finished
    assert "backend  bug-remainder" in done.stdout
    assert "case     elementwise/arithmetic:remainder integers[int8," in done.stdout
    assert (
        "the result differs from the reference: the value: at [1] found np.int8(-1), needed np.int8(1)" in done.stdout
    )


def test_the_report_is_a_table_of_case_and_dtype_and_backend(finished):
    _, report = finished
    row = report["cases"]["elementwise/arithmetic:remainder integers"]["int8"]
    assert row == {"loopback": "passed", "bug-remainder": "failed"}
