"""The commands about programs: of a script, of a model file, and the command line itself."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import tg
from tg.cli import main, parser, usage

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import tg
import beside

print("noise")
x = tg.vector("x")
positive = tg.sum(x[x > 0])
double = tg.exp(x) * beside.FACTOR
if __name__ == "__main__":
    raise SystemExit("it is no program")
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    (tmp_path / "model.py").write_text(SCRIPT)
    return str(tmp_path / "model.py")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command says in JSON, which must be all it prints."""
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_check_tells_each_program_of_a_script_with_the_line(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = asked(capsys, "check", script, "--backend", "jax", "--backend", "perform")
    assert list(verdicts) == ["positive", "double"]
    jax, perform = verdicts["positive"]
    assert (jax["runs"], jax["op"], jax["at"]) == (False, "Nonzero", {"file": script, "line": 7})
    assert perform["runs"]
    assert main(["check", script, "double", "--backend", "perform"]) == 0
    assert main(["check", script, "--backend", "jax"]) == 1
    assert "at model.py:7" in capsys.readouterr().out


def test_explain_tells_what_becomes_of_a_program(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, "explain", script, "double")
    assert list(told) == ["double"]
    assert [node["at"]["line"] for node in told["double"]["nodes"] if node["at"]] == [8, 8]
    assert tg.parse(told["double"]["after"]).arity == 1
    assert main(["explain", script, "double", "--text"]) == 0
    assert "exp(%0)" in capsys.readouterr().out


def test_a_name_that_a_script_does_not_leave_is_an_error(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", script, "loss"]) == 1
    error = capsys.readouterr().err
    assert "found no program 'loss'" in error
    assert "positive, double" in error
    assert main(["explain", script + ".txt"]) == 1
    assert "needed a script" in capsys.readouterr().err


def test_info_tells_what_a_model_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    f = tg.function([x], tg.sum(x * w), updates={w: w + 1}, backend=tg.backend("perform", dtype="float32"), name="step")
    path = tmp_path / "model.tg"
    tg.save(f, path)
    record = asked(capsys, "info", str(path), "--text")
    (function,) = record["functions"]
    assert (function["name"], function["results"], function["updates"]) == ("step", 1, ["w"])
    assert function["inputs"] == [{"name": "x", "type": "float64[?]"}]
    assert function["options"] == {"dtype": "float32"}
    assert record["shared"] == [{"name": "w", "type": "float64[?]", "bytes": 16, "fixed": False}]
    assert record["bytes"] == path.stat().st_size
    assert function["nodes"] == len(function["text"].split(" = ")) - 1 == 4
    assert main(["info", str(path)]) == 0
    assert "float64[?]" in capsys.readouterr().out
    path.write_bytes(b"PK no model")
    assert main(["info", str(path)]) == 1
    assert "tg info: load: " in capsys.readouterr().err


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    bare = capsys.readouterr().out
    assert main(["help"]) == 0
    assert capsys.readouterr().out == bare
    assert all(f"  tg {name} " in bare for name in usage.choices(parser()))


def test_help_of_a_command_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "cache"]) == 0
    told = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["cache", "--help"])
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("word", "hint"), [("bakends", "tg backends"), ("clear", "tg cache"), ("xyz", "tg help lists")]
)
def test_a_typing_error_gets_the_nearest_command(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([word], ["help", word]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith(f"tg: found {word!r}, needed a command\n  hint: {hint}")


def completions(script: str, *words: str) -> list[str]:
    """What bash would offer for the last of some words."""
    line = f"{script}\nCOMP_WORDS=({' '.join(repr(w) for w in words)})\nCOMP_CWORD={len(words) - 1}\n_tg\n"
    done = subprocess.run(
        ["bash", "-c", line + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out
    assert completions(script, "tg", "co") == ["coverage", "conformance", "completion"]
    assert completions(script, "tg", "check", "--b") == ["--backend"]
    assert completions(script, "tg", "completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_is_told_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, words in usage.completed(parser()).items():
        assert name in script
        for word in words:
            assert (f"-l {word[2:]}" if shell == "fish" and word.startswith("--") else word) in script


def test_every_command_that_lists_something_has_json() -> None:
    without = {name for name, words in usage.completed(parser()).items() if "--json" not in words}
    assert without == {"demo", "conformance", "new-backend", "new-op", "completion", "help"}


def test_bench_shows_this_machine_beside_figures_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = asked(capsys, "bench", "perform", "--seconds", "0")
    assert all(row["backends"]["perform"]["seconds"] > 0 for row in figures["rows"])
    assert not any(row["backends"]["perform"]["wrong"] for row in figures["rows"])
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(figures))
    assert main(["bench", "perform", "--seconds", "0", "--beside", str(path)]) == 0
    assert "in brackets" in capsys.readouterr().out
    path.write_text("[]")
    assert main(["bench", "--beside", str(path)]) == 1
    assert "found no figures" in capsys.readouterr().err
