"""The reports of a run: entries, counts, what did not run, the page that needs nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

import tg
from tg import plugin
from tg_conformance.case import all_cases, variants
from tg_conformance.certificate import certificate, expected, refusal
from tg_conformance.certify import cleared, speaking
from tg_conformance.page import page
from tg_conformance.report import OUTCOMES, Asked, Record, Results, from_properties, properties

if TYPE_CHECKING:
    from pathlib import Path

SIN = "elementwise/trigonometric:sin"


@pytest.fixture
def results() -> Results:
    """Two backends, one of which has a failure, a gap and something advisory."""
    found = Results()
    for backend in ("loopback", "jax"):
        found.add(Record(backend, f"{SIN}[float64,C,known]", 1, "passed", 0.25, "float64"))
    found.add(Record("jax", f"{SIN}[float64,F,known]", 1, "failed", 0.5, "float64", "found <1>, needed 2"))
    found.add(Record("jax", f"{SIN}[float16,C,known]", 1, "gap", 0.125, "float16", "has no halves"))
    found.add(Record("jax", f"{SIN}[float32,C,known]", 2, "advisory", 0.125, "float32", "differs & is told"))
    return found


def test_a_record_travels_as_properties(results: Results) -> None:
    for record in results.records:
        assert from_properties([("other", 1), *properties(record)]) == record
    assert from_properties([("other", 1)]) is None


def test_an_entry_is_the_worst_of_its_items(results: Results) -> None:
    entries = {(e.backend, e.dtype): e for e in results.report(Asked()).cases if e.case == SIN}
    failed = entries["jax", "float64"]
    assert (failed.outcome, failed.counts, failed.seconds) == ("failed", {"failed": 1, "passed": 1}, 0.75)
    assert failed.details == ((f"{SIN}[float64,F,known]", "failed", "found <1>, needed 2"),)
    assert entries["jax", "float16"].outcome == "gap"
    assert entries["jax", "float32"].outcome == "advisory"
    assert entries["loopback", "float64"].outcome == "passed"


def test_what_did_not_run_is_told_with_the_reason(results: Results) -> None:
    entries = {(e.backend, e.dtype): e for e in results.report(Asked()).cases if e.case == SIN}
    assert entries["loopback", "float16"].outcome == "not run"
    assert entries["loopback", "bfloat16"].details == (("", "not run", "not selected"),)
    assert all(e.outcome in OUTCOMES for e in entries.values())


def test_a_dtype_that_a_backend_does_not_claim_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    one = dataclasses.replace(plugin.registry().backend("loopback"), dtypes=frozenset({"float64"}))
    monkeypatch.setattr(type(plugin.registry()), "backend", lambda self, name: one)
    found = Results()
    found.add(Record("loopback", f"{SIN}[float64,C,known]", 1, "passed", 0.25, "float64"))
    reasons = {e.dtype: e.details for e in found.report(Asked()).cases if e.outcome == "not run"}
    assert reasons["float32"] == (("", "not run", "the backend does not claim the dtype"),)
    assert "float64" not in reasons


def test_the_report_is_json_with_versions_and_counts(results: Results) -> None:
    report = json.loads(results.report(Asked("full", options=("threads=2",))).as_json())
    assert report["version"] == 5
    assert report["tier"] == "full"
    assert report["options"] == ["threads=2"]
    assert {"tg", "python", "numpy", "machine", "time"} <= report.keys()
    jax = next(one for one in report["backends"] if one["name"] == "jax")
    assert jax["distribution"] == "tg-jax"
    assert {"jax", "jaxlib"} & jax["engines"].keys()
    ran = {outcome: n for outcome, n in jax["counts"].items() if outcome != "not run"}
    assert ran == {"failed": 1, "advisory": 1, "gap": 1, "passed": 1}
    fields = {"backend", "family", "case", "dtype", "level", "outcome", "counts", "seconds", "details"}
    assert all(entry.keys() == fields for entry in report["cases"])


class Tags(HTMLParser):
    """The tags that are open, and the addresses that a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_else(results: Results) -> None:
    tags = Tags()
    text = page(results.report(Asked()))
    tags.feed(text)
    tags.close()
    assert tags.open == tags.addresses == []
    assert not re.search(r"url\(|@import|https?:|<link", text)


def test_the_page_says_with_which_options_of_the_backends(results: Results) -> None:
    text = page(results.report(Asked("full", options=("threads=2", "accuracy=strict"))))
    assert "full tier with threads=2, accuracy=strict; tg" in text
    assert "quick tier; tg" in page(results.report(Asked("quick")))


def test_the_page_says_what_was_chosen_and_what_is_missing(results: Results) -> None:
    asked = Asked("quick", words="sin", skipped=(("mine", "broken: it raised"),), lost=("tg-ops: tg_cases() raised",))
    text = page(results.report(asked))
    for told in ("only cases that match &#x27;sin&#x27;", "not tested: mine: broken: it raised", "tg_cases() raised"):
        assert told in text


def test_a_level_is_achieved_below_the_first_case_that_fails(results: Results) -> None:
    levels = {one.name: (one.level, one.achieved) for one in results.report(Asked()).backends}
    assert levels == {"loopback": (1, 1), "jax": (1, 0)}
    results.records = [record for record in results.records if record.outcome != "failed"]
    assert {one.name: one.achieved for one in results.summary("quick")} == {"loopback": 1, "jax": 1}


def test_what_was_run_of_a_backend_that_compiles_slowly_is_told(results: Results) -> None:
    assert {one.name: one.tier for one in results.summary("quick")} == {"loopback": "quick", "jax": "sparse"}
    assert {one.tier for one in results.summary("full")} == {"full"}


def certified(results: Results, **asked: object) -> str | None:
    given = Asked("full", **asked)  # type: ignore[arg-type]
    return refusal(results.report(given), given, results.records)


@pytest.fixture
def of_jax(results: Results, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Results of one backend, all that there are."""
    results.records = [record for record in results.records if record.backend == "jax"]
    whole = tuple(record.id for record in results.records)
    monkeypatch.setattr("tg_conformance.certificate.expected", lambda backend: whole)
    return results


def test_a_certificate_is_of_one_backend_that_has_passed_all_of_the_full_tier(results: Results) -> None:
    assert certified(results) == "a certificate is of one backend: found 2"


def test_a_certificate_is_of_all_items_and_of_each_once(of_jax: Results) -> None:
    assert certified(of_jax) == "1 cases failed"
    (failed,) = [record for record in of_jax.records if record.outcome == "failed"]
    of_jax.records.remove(failed)
    assert certified(of_jax) == f"3 of 4 items ran: found no result of {failed.id}"
    of_jax.records.append(failed._replace(outcome="passed"))
    assert certified(of_jax) is None
    of_jax.records.append(of_jax.records[0])
    assert certified(of_jax) == f"1 items more than the tier has: {of_jax.records[0].id}"
    of_jax.records[-1] = failed._replace(id="made up", outcome="passed")
    assert certified(of_jax) == "1 items more than the tier has: made up"
    of_jax.records.pop()
    for chosen in ({"words": "sin"}, {"mode": "off"}, {"exclude": ("exact",)}, {"lost": ("some",)}):
        assert "a certificate is of the whole full tier" in str(certified(of_jax, **chosen))


def test_a_certificate_has_counts_and_measured_errors(of_jax: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    of_jax.records = [record for record in of_jax.records if record.outcome != "failed"]
    of_jax.add(Record("jax", "gap:1:subnormals[all]", 1, "passed", 0.1, measured=3.5))
    monkeypatch.setenv("XLA_FLAGS", "--some")
    made = json.loads(certificate(of_jax.report(Asked("full")), ["XLA_FLAGS", "NOT_SET"]))
    assert (made["backend"], made["level"], made["tier"], made["mode"]) == ("jax", 1, "full", "default")
    assert made["items"] == [4, 4]
    assert made["ops"]["rule"] > 100
    assert made["environment"] == {"XLA_FLAGS": "--some"}
    assert made["engines"].keys() == {"jax", "jaxlib"}
    assert {gap["op"]: gap["measured"] for gap in made["gaps"]} == {"Nonzero": None, "subnormals": 3.5}


def test_a_certificate_counts_the_ops_that_the_host_computes(of_jax: Results) -> None:
    of_jax.records = [Record("loopback", f"{SIN}[float64,C,known]", 1, "passed", 0.25, "float64")]
    ops = json.loads(certificate(of_jax.report(Asked("full"))))["ops"]
    rules = plugin.registry().rules("loopback")
    lowered = [family for family in plugin.registry().families() if family.is_lowered]
    of_the_host = {key for key in rules if not any(key in (*one.elementwise, *one.ops) for one in lowered)}
    assert ops == {"host": len(of_the_host), "expansion": ops["expansion"]}


def test_what_is_expected_are_items_gaps_and_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(one for one in all_cases() if one.subject is tg.sin)
    monkeypatch.setattr("tg_conformance.case.all_cases", lambda: (case,))
    names = expected("jax")
    assert set(names) >= {f"{SIN}[float64,C,known]", f"{SIN}[float16,scalar,unknown]", "gap:1:subnormals[all]"}
    options = [name for name in names if name.startswith("option:")]
    assert "option:device" in options
    assert len(names) == len(set(names)) == sum(1 for _ in variants(case, "full")) + 2 + len(options)


def test_a_certified_process_has_no_variable_that_speaks_to_the_suite() -> None:
    given = {
        "PATH": "/bin",
        "TG_MODE": "off",
        "TG_PLUGINS_OFF": "x",
        "PYTEST_ADDOPTS": "--deselect x",
        "OMP_NUM_THREADS": "1",
    }
    environment = cleared({**given, "XLA_FLAGS": "--some"}, "c", ["XLA_FLAGS"])
    assert environment == {
        "PATH": "/bin",
        "XLA_FLAGS": "--some",
        "TG_PLUGINS": "tg-c,tg-native",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    assert speaking(environment) == []
    assert speaking(given) == ["PYTEST_ADDOPTS", "TG_MODE", "TG_PLUGINS_OFF"]
    with pytest.raises(ValueError, match="found TG_MODE, needed none that tg, pytest or Python reads"):
        cleared(given, "c", ["TG_MODE"])


REFUSED = {
    "a variable of pytest": {"PYTEST_ADDOPTS": "--deselect x"},
    "a variable of tg": {"TG_MODE": "off"},
    "a conftest": {},
    "a plugin": {},
}


@pytest.mark.parametrize("what", REFUSED)
def test_pytest_itself_certifies_nothing_where_something_else_takes_part(tmp_path: Path, what: str) -> None:
    from tg_conformance.pytest_plugin import SUITE

    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "TG_", "PYTHON"))}
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**inherited, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **REFUSED[what]}
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "bystander.py").write_text("")
    options = ["--confcutdir", str(tmp_path), str(tmp_path)] if what == "a conftest" else ["--noconftest"]
    options += ["-p", "bystander"] if what == "a plugin" else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tg_conformance", str(SUITE)]
    line = [*command, *options, "--backend", "loopback", "--certify", "certificate.json"]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    told = {"a conftest": r"the plugin [\w.-]*conftest", "a plugin": "the plugin bystander"}.get(what, *REFUSED[what])
    assert done.returncode == 4
    assert re.search(f"--certify: found {told}, needed nothing that speaks to the suite", done.stderr)
    assert not (tmp_path / "certificate.json").exists()


def test_the_page_shows_failures_gaps_counts_and_a_filter(results: Results) -> None:
    text = page(results.report(Asked()))
    assert "found &lt;1&gt;, needed 2" in text
    assert "differs &amp; is told" in text
    assert "<td>has no halves</td><td>jax</td><td>1</td>" in text
    assert '<td class="b1 failed" title="1 failed, 1 passed">1/2</td>' in text
    assert all(f'data-backend="{k}"' in text for k in (0, 1))
    assert "elementwise/trigonometric" in text
