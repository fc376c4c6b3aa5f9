"""Ways for a backend to look better than it is, played on wheels: the report names each."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

OFTEN = 3  # of the tricks one is long, the others nightly
SINE = "trigonometric:sin"
TRICKS = {  # what is looked at, and what is told
    "false gap": (SINE, "without the declaration the answer is right: remove or narrow the gap"),
    "false difference": (f"{SINE} or gap:0:sin", "without it all that it covers in float64 is right"),
    "rough in one dtype of two": (f"{SINE} or gap:0:sin", "without it all that it covers in float32 is right"),
    "rough by less than stated": (f"{SINE} or gap:0:sin", "it states 1e+06 ulp, and the largest error is "),
    "rougher": (SINE, "a gap says that it differs by 4 ulp (its sine is rough), but call 1: the result differs"),
    "lost hook": (SINE, "tg-tricks 0.1.0: tg_cases() raised KeyError: 'cases of the next release'"),
    "race": (SINE, "in 8 threads: result 0 differs from that of the same call alone"),
    "remembered result": (SINE, "call 2: the result differs from the reference"),
    "swapped operands": ("arctan2", "call 1: the result differs from the reference"),
    "one wrong dtype": (SINE, "call 1: the result differs from the reference: more than"),
    "one wrong layout": (SINE, "call 1: the result differs from the reference: more than"),
    "wrong at one point": ("exponential:exp", "found np.float64(2.5), needed np.float64(12.18"),
    "mutated input": (SINE, "the result"),
    "reference by the back door": (SINE, "sin: the reference computed it, called at rules.py:"),
    "compiled for the reference": (SINE, "sin: the reference computed it, called at rules.py:"),
    "a copy of the reference": (
        "reduction:any",
        "Reduce: a copy of the reference's code computes it, at reduction.py:",
    ),
    "state of the process": (SINE, "the environment changed: TG_TRICKS_SEEN"),
    "unnamed skip": (SINE, "backend 'tricks' is installed and cannot be tested: broken: tg_backends() raised OSError"),
}


@pytest.fixture
def run(site, tmp_path):
    """Run the suite with wheels of core, the kit and the tricks: the exit status, what was printed, the report."""

    def finished(trick, *arguments, words=SINE):
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("TG_", "PYTHON", "PYTEST"))}
        folders = [site / "tg-tricks", site / "kit"]
        given = {**inherited, "TG_TRICK": trick, "PYTHONPATH": os.pathsep.join(map(str, folders)), "COLUMNS": "400"}
        report = tmp_path / "report.json"
        chosen = ["-k", words] if words else []
        command = [sys.executable, "-m", "tg.cli", "conformance", "-n", "0", *chosen, "--report", report, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=given, cwd=tmp_path)
        return done, json.loads(report.read_text()) if report.exists() else None

    return finished


def told(report):
    """All that a report says of what is not as it should be."""
    return "\n".join([*report["lost"], *(text for e in report["cases"] for _, _, text in e["details"])])


@pytest.mark.parametrize(
    "trick",
    [pytest.param(name, marks=pytest.mark.nightly if k % OFTEN else pytest.mark.long) for k, name in enumerate(TRICKS)],
)
def test_a_trick_fails_the_run_and_the_report_names_it(run, trick):
    words, text = TRICKS[trick]
    named = [] if trick == "unnamed skip" else ["--backend", "tricks"]
    done, report = run(trick, *named, words=words)
    assert done.returncode == 1, done.stdout
    assert text in told(report)


@pytest.mark.long
def test_the_tier_that_was_run_is_told_beside_the_one_asked_for(run):
    done, report = run("chosen tier", "--backend", "tricks")
    (backend,) = report["backends"]
    assert (report["tier"], backend["tier"]) == ("quick", "sparse")
    assert "sparse" in done.stdout


@pytest.mark.long
def test_a_filter_is_told_and_leaves_what_is_lost_among_the_failures(run):
    done, report = run("lost hook", "--backend", "tricks", words="cosh")
    assert done.returncode == 1
    assert report["words"] == "cosh"
    assert "only cases that match 'cosh'" in done.stdout
    assert report["lost"]


@pytest.mark.long
def test_words_choose_cases_and_no_backend(run):
    done, report = run("", "--backend", "perform", words="perform")
    assert (done.returncode, report) == (5, None)


@pytest.mark.long
@pytest.mark.parametrize("arguments", [("-k", SINE), ("--mode", "off"), ("--exclude", "exact")])
def test_a_certificate_is_refused_where_something_is_left_out(run, tmp_path, arguments):
    done, _ = run("", "--backend", "tricks", "--certify", "certificate.json", *arguments, words="")
    assert done.returncode == 4
    assert "--certify: found" in done.stderr
    assert not (tmp_path / "certificate.json").exists()


@pytest.mark.long
@pytest.mark.parametrize("trick", ["", "reference by the front door", "rough"])
def test_what_is_declared_truly_passes(run, trick):
    done, report = run(trick, "--backend", "tricks", words=f"{SINE} or gap:0:sin")
    assert done.returncode == 0, done.stdout
    (backend,) = report["backends"]
    assert (backend["level"], backend["achieved"]) == (1, 1)
    assert (backend["counts"].get("gap", 0) > 0) == (trick == "rough")
