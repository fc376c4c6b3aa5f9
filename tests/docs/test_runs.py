"""What is told of runs: each is of a part, green means that nothing failed, and a cell of the page stays short."""

import json
import tomllib

import pytest

from tests import runs

WIDEST = 100  # letters of a cell
PARTS = tomllib.loads(runs.PARTS.read_text())
RUNS = [json.loads(line) for line in runs.RUNS.read_text().splitlines()]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(runs.ROOT / "docs/_ext")
    from tg_pages import runs as page

    return page


def test_each_run_is_of_a_part_and_has_its_day_and_machine():
    assert {run["part"] for run in RUNS} <= set(PARTS)
    assert all({"date", "machine", "green"} <= set(run) for run in RUNS)
    assert [run["date"] for run in RUNS] == sorted(run["date"] for run in RUNS)


def test_a_run_in_which_something_failed_is_not_green():
    assert not [run for run in RUNS if run["green"] and (run.get("failed") or run.get("error"))]


def test_no_cell_is_long(page):
    assert [one for row in page.rows(PARTS, RUNS) for one in row if len(one) > WIDEST] == []


def test_the_last_green_run_and_the_last_one_are_shown(page):
    parts = {"a": {"about": "one", "command": "make one", "where": "CI"}}
    first = {"part": "a", "date": "2026-01-01", "green": True, "minutes": 2.0, "passed": 1000}
    second = {"part": "a", "date": "2026-01-02", "green": False, "failed": 1, "note": "x | y"}
    row = ("one", "`make one`", "CI")
    assert page.rows(parts, [first]) == [(*row, "2026-01-01, 2 min, 1,000 passed", "the same")]
    told = ("2026-01-01, 2 min, 1,000 passed", "2026-01-02, 1 failed, x \\| y")
    assert page.rows(parts, [first, second]) == [(*row, *told)]
    assert page.rows(parts, [second]) == [(*row, "never", told[1])]


def test_the_summaries_of_pytest_are_counted_together():
    lines = [
        "3 passed, 1 skipped in 0.10s\n",
        "== 2 failed, 5 passed, 1 error in 61.00s (0:01:01) ==\n",
        "7 passed away\n",
    ]
    assert runs.counts(lines) == {"passed": 8, "skipped": 1, "failed": 2, "error": 1}


def test_a_run_is_kept(monkeypatch, tmp_path):
    parts, kept = tmp_path / "parts.toml", tmp_path / "runs.jsonl"
    parts.write_text('[good]\ncommand = "echo 2 passed in 0.1s"\n[bad]\ncommand = "echo 1 failed in 0.1s; exit 3 #"\n')
    monkeypatch.setattr(runs, "PARTS", parts)
    monkeypatch.setattr(runs, "RUNS", kept)
    for name, code in (("good", 0), ("bad", 1)):
        monkeypatch.setattr("sys.argv", ["runs", name, "--note", "quiet"])
        assert runs.main() == code
    good, bad = map(json.loads, kept.read_text().splitlines())
    assert (good["green"], good["passed"], good["note"]) == (True, 2, "quiet")
    assert (bad["green"], bad["failed"]) == (False, 1)
