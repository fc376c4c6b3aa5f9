"""The commands: what they print for people, what for machines, and with which exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tg
from tg.cli import main
from tg.types.dtypes import DTYPES


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command says in JSON, which must be all it prints."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_backends_tells_versions_devices_and_dtypes(capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["name"]: row for row in asked(capsys, "backends")}
    assert set(found) >= {"perform", "c", "numba", "jax", "torch", "mlx"}
    assert found["perform"]["dtypes"] == list(DTYPES)
    assert found["c"]["engines"]["cffi"]
    assert found["c"]["devices"] == ["cpu"]


def test_backends_tells_options_with_meanings_and_refusals_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    general, *others = asked(capsys, "backends", "--options")
    found = {row["backend"]: row for row in others}
    assert "memory" in [one["name"] for one in general["options"]]
    assert {one["name"]: one["default"] for one in found["c"]["options"]}["threads"] == "1"
    assert found["torch"]["refuses"]["threads"].endswith("torch.set_num_threads(…) sets it")
    assert all(one["meaning"] for row in (general, *others) for one in row["options"])
    assert main(["backends", "--options"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("every backend") < shown.index("keep_source") < shown.index("│ refused")


ASKED = ("device", "preallocate", "compile_options", "autotune", "static_shapes", "memory", "threads", "fast_math")


def test_no_backend_ignores_what_users_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    general, *others = asked(capsys, "backends", "--options")
    for row in others:
        known = {one["name"] for one in (*general["options"], *row["options"])} | set(row["refuses"])
        assert set(ASKED) <= known, row["backend"]


def test_backends_tells_the_command_that_installs_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tg.plugin import registry

    monkeypatch.setenv("TG_PLUGINS_OFF", "tg-jax")
    registry_module = __import__("tg.plugin.registry", fromlist=["reset"])
    registry_module.reset()
    try:
        row = next(row for row in asked(capsys, "backends") if row["name"] == "jax")
    finally:
        monkeypatch.undo()
        registry_module.reset()
    assert row["state"] == "forbidden"
    assert "TG_PLUGINS_OFF" in row["reason"]
    assert registry().backend("jax").name == "jax"


def test_backends_breaks_no_command_in_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tg.cli import backends

    monkeypatch.setenv("COLUMNS", "80")
    rows = asked(capsys, "backends")
    for row in rows:
        if row["name"] != "perform":
            missing = {"state": "not installed", "reason": "", "remedy": f'pip install "tg-core[{row["name"]}]"'}
            row.update(missing, version="", engines={}, devices=[], dtypes=[])
    rows[0].update(state="forbidden", reason="forbidden by TG_PLUGINS_OFF=tg-c", remedy="start without it")
    backends.table(rows)
    lines = capsys.readouterr().out.splitlines()
    assert f"{rows[0]['name']}: forbidden by TG_PLUGINS_OFF=tg-c" in lines
    assert "  start without it" in lines
    assert all(f'{row["name"]}: pip install "tg-core[{row["name"]}]"' in lines for row in rows[1:] if row["remedy"])
    assert all(len(line) <= 80 for line in lines)


def test_doctor_says_what_auto_means_and_runs_every_backend(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "doctor")
    assert found["auto"]["backend"] == tg.backend("auto").name
    assert all(one["computes"] for one in found["checked"].values())
    assert {"compiler", "BLAS", "vector library", "cache"} <= set(found["checked"]["c"]["facts"])


@pytest.mark.parametrize("command", ["backends", "doctor", "coverage"])
def test_a_double_for_tests_is_shown_to_those_who_ask(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tg.cli.doctor.examine", lambda name: {"computes": True, "seconds": 0.0, "facts": {}})
    assert main([command]) == 0
    assert "│ loopback" not in capsys.readouterr().out
    assert main([command, "--all"]) == 0
    assert "loopback" in capsys.readouterr().out


def test_coverage_counts_the_reference_as_whole(capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "coverage", "elementwise/exponential")
    assert {row["family"] for row in rows} == {"elementwise/exponential"}
    assert all(row["backends"]["perform"]["how"] == "rule" for row in rows)


def test_coverage_of_no_family_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "shapes"]) == 1
    text = capsys.readouterr().err
    assert text.startswith("tg coverage: no family is called 'shapes'")
    assert "shape" in text.splitlines()[1]


def test_the_cache_is_listed_and_cleared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    x = tg.vector("x")
    tg.function([x], tg.exp(x) + 0.12345, backend="c")([1.0])
    (row,) = [row for row in asked(capsys, "cache") if row["backend"] == "c"]
    assert row["directory"] == str(tmp_path / "c")
    assert row["entries"]
    assert row["bytes"] >= sum(entry["bytes"] for entry in row["entries"]) > 0
    assert row["limit"] > row["bytes"]
    assert main(["cache", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(Path(entry["path"]).name in shown for entry in row["entries"])
    (row,) = [row for row in asked(capsys, "cache", "--clear") if row["backend"] == "c"]
    assert row["removed"] > 0
    assert row["entries"] == []


def test_an_unknown_backend_in_the_demo_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "cc"]) == 1
    assert "no backend is called cc" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["backends", "doctor", "coverage", "cache"])
def test_tables_are_printed_for_people(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 0
    assert "│" in capsys.readouterr().out


def test_doctor_says_that_programs_fail_by_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tg.cli.doctor.examine", lambda name: {"computes": True, "seconds": 0.0, "facts": {}})
    monkeypatch.delenv("TG_REMEMBER")
    for name, value in (("TG_BACKEND", "nosuch"), ("TG_MODE", "quick")):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            assert main(["doctor", "--json"]) == 1
            found = json.loads(capsys.readouterr().out)["settings"]
            assert found["given"] == {name: value}
            assert value in found["error"]
    assert main(["doctor", "--json"]) == 0


@pytest.mark.parametrize("arguments", [["--help"], ["backends"], ["nonsense"]])
def test_a_reader_that_is_gone_is_no_error(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "tg", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "BrokenPipe" not in process.stderr.read()
    assert process.returncode == (2 if arguments == ["nonsense"] else 0)


SHELL = 'exec "$0" -m tg "$@"'


@pytest.mark.parametrize(("redirection", "status"), [(">&-", 0), (">&- 2>&-", 0), (">/dev/full", 1)])
@pytest.mark.parametrize("arguments", [["--version"], ["backends"], ["backends", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written_makes_a_line_and_no_traceback(
    arguments: list[str], redirection: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # with it `argparse` ignores errors of `--version`
    command = ["sh", "-c", f"{SHELL} {redirection}", sys.executable, *arguments]
    found = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == status
    assert found.stderr == (f"tg {arguments[0]}: No space left on device\n" if status else "")


def test_a_narrow_terminal_gets_words_and_no_letters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["backends"]) == 0
    text = capsys.readouterr().out
    assert "versions" in text
    assert "perform" in text


@pytest.mark.long
def test_a_reader_that_has_read_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "tg", "coverage", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "[\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_the_demo_runs_no_double_for_tests_unasked() -> None:
    from tg.demo.run import chosen

    assert "loopback" not in [b.name for b in chosen([])]
    assert [b.name for b in chosen(["loopback"])] == ["perform", "loopback"]


SCRIPT = """
import tg
x = tg.vector("x")
first = tg.function([x], tg.exp(x), backend="perform", name="first")
second = tg.function([x], tg.sin(x), backend="perform", name="second")
other = 3
if __name__ == "__main__":
    raise SystemExit("a script is not run as a program")
"""


def test_view_writes_a_page_for_each_function_of_a_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script, out = tmp_path / "script.py", tmp_path / "pages"
    script.write_text(SCRIPT)
    found = asked(capsys, "view", str(script), "--out", str(out))
    assert [row["name"] for row in found] == ["first", "second"]
    assert all("first = tg.function([x], tg.exp(x)" in Path(row["path"]).read_text() for row in found)
    assert main(["view", str(script), "second", "--out", str(tmp_path)]) == 0
    assert "second on perform" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["second.html"]


def test_view_names_what_a_script_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main(["view", str(script), "third"]) == 1
    told = capsys.readouterr().err
    assert "found no program 'third'" in told
    assert "first, second" in told
    script.write_text("x = 3\n")
    assert main(["view", str(script)]) == 1
    assert "found no program under a name" in capsys.readouterr().err
    assert main(["view", str(tmp_path / "nothing.py")]) == 1
