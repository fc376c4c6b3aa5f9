"""What a backend does not claim is not asked of it: cases that compute in such a dtype do not run, and fail nothing."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("claims of conformance")]

PLUGIN = """
import tg
from tg.plugin import Backend, Rules, hookimpl
from tg.plugin.case import Case, f32, f64, fixed
from tg_conformance import loopback

@hookimpl
def tg_backends():
    facts = dict(distribution="tg-claims", rules=loopback.PROTOCOL, linker="tg_conformance.loopback:LINKER")
    return (Backend("doubles", priority=-1, dtypes=frozenset({"bool", "int64", "float64"}), **facts),)

@hookimpl
def tg_rules(backend):
    if backend == "doubles":
        table = loopback.table()
        del table[tg.cbrt]
        return Rules(loopback.PROTOCOL, table)

@hookimpl
def tg_cases():
    facts = dict(family="claims", static=(False,), layouts=("C",))
    rows = fixed([0.5, 1.5])
    return (
        Case(tg.sin, [f64("n")], name="all of it", **facts),
        Case(tg.sin, [f32("n")], name="an input", **facts),
        Case(lambda x: tg.cast(tg.cast(x, "float32") * 2, "float64"), [f64("n")], name="on the way", **facts),
        Case(lambda x: tg.cast(x, "float32")[9], [rows], name="before an error", raises=IndexError, **facts),
        Case(lambda x: x[9], [rows], name="an error", raises=IndexError, **facts),
        Case(tg.cbrt, [f64("n")], name="a missing rule", **facts),
    )
"""
POINTS = "[tg.backends.1]\ndoubles = tg_claims\n[tg.extensions.1]\nclaims = tg_claims\n"


@pytest.fixture(scope="module")
def entries(installed, tmp_path_factory):
    """What came of the cases, by name."""
    path = tmp_path_factory.mktemp("run") / "report.json"
    command = [sys.executable, "-m", "tg.cli", "conformance", "--tier", "sparse", "--backend", "doubles", "-k"]
    environ = installed("tg_claims", PLUGIN, POINTS)
    done = subprocess.run(
        [*command, "claims", "-n", "0", "--report", path], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    return {entry["case"].removeprefix("claims:"): entry for entry in json.loads(path.read_text())["cases"]}


def test_a_case_that_computes_in_a_dtype_that_is_not_claimed_does_not_run(entries):
    for name in ("on the way", "before an error"):
        assert entries[name]["outcome"] == "not run"
        assert entries[name]["details"][0][2] == "it computes in float32, which the backend does not claim"


def test_a_case_with_such_an_input_is_not_even_collected(entries):
    assert "an input" not in entries


def test_what_is_claimed_has_to_work(entries):
    assert entries["all of it"]["outcome"] == entries["an error"]["outcome"] == "passed"
    assert entries["a missing rule"]["outcome"] == "failed"
