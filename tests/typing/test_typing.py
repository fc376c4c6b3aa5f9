"""Type checkers and editors: mistakes of users are found, right programs raise no alarm, members are completed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing
from importlib.util import find_spec
from pathlib import Path

import pytest

import tg
from tests.typing.mistakes import HEAD, MISTAKES
from tg.functions import make
from tg.gradient import arguments
from tg.gradient import matrices as matrices_of_derivatives
from tg.ops import indexing, padding, sorting
from tg.ops.linalg import matrices, qr, spectral
from tg.ops.nn import reductions, resizing, windows
from tg.ops.signal import convolving, lagged_products
from tg.types import choices

ROOT = Path(__file__).parents[2]
SOURCES = Path(tg.__file__).parents[1]
RIGHT_HERE = Path(__file__).with_name("right.py")
LEAST = 66  # of the 71 mistakes
RIGHT = (
    RIGHT_HERE,
    *(
        ROOT / "examples" / name
        for name in (
            "bootstrap.py",
            "epidemic.py",
            "gru.py",
            "mixing.py",
            "parallel.py",
            "particles.py",
            "radon.py",
            "networks/autoencoder.py",
            "networks/ensemble.py",
            "networks/graph.py",
            "networks/tagger.py",
        )
    ),
)


def errors_of_pyright(folder: Path) -> dict[tuple[str, int], str]:
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(SOURCES)], "reportMissingImports": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"]): one["message"]
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    }


def errors_of_mypy(folder: Path) -> dict[tuple[str, int], str]:
    options = ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports", "--check-untyped-defs"]
    names = sorted(path.name for path in folder.glob("*.py"))
    command = [sys.executable, "-m", "mypy", *options, "--no-pretty", f"--cache-dir={folder / 'cache'}", *names]
    env = {**os.environ, "MYPYPATH": str(SOURCES)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    lines = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert lines or "Success" in done.stdout, done.stdout + done.stderr
    return {(name, int(line) - 1): text for name, line, text in lines}


CHECKERS = {"basedpyright": errors_of_pyright, "mypy": errors_of_mypy}


def test_there_are_71_mistakes() -> None:
    assert len(set(MISTAKES)) == 71


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_raises_where_it_is_run(mistake: str) -> None:
    names: dict[str, object] = {}
    exec(HEAD, names)
    with pytest.raises((TypeError, AttributeError, ValueError)):
        exec(mistake, names)


def test_the_program_that_is_right_runs() -> None:
    exec(compile(RIGHT_HERE.read_text(), "right.py", "exec"), {"__name__": "right"})


@pytest.mark.long(minutes=4)
@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found_and_right_programs_raise_no_alarm(checker: str, tmp_path: Path) -> None:
    if find_spec(checker) is None and "CI" not in os.environ:
        pytest.skip("make install brings it")
    (tmp_path / "mistakes.py").write_text(HEAD + "\n".join(MISTAKES) + "\n")
    for path in RIGHT:
        (tmp_path / f"right_{path.name}").write_text(path.read_text())
    assert sum(len(path.read_text().splitlines()) for path in RIGHT) >= 1000
    found = CHECKERS[checker](tmp_path)
    first = HEAD.count("\n")
    lines = {("mistakes.py", first + k): mistake for k, mistake in enumerate(MISTAKES)}
    assert not {place: text for place, text in found.items() if place not in lines}
    missed = [mistake for place, mistake in lines.items() if place not in found]
    assert len(MISTAKES) - len(missed) >= LEAST, missed


WORDS = {  # what functions check at run time, and the literals of their options
    choices.IndexMode: indexing.MODES,
    choices.PadMode: tuple(padding.MODES),
    choices.Side: sorting.SIDES,
    choices.OnError: matrices.ON_ERROR,
    choices.QRMode: (*qr.MODES, "r"),
    choices.Triangle: spectral.TRIANGLES,
    choices.Reduction: reductions.REDUCTIONS,
    choices.ResizeMethod: resizing.METHODS,
    choices.ResizeConvention: resizing.CONVENTIONS,
    choices.SequenceLayout: windows.LAYOUTS[1],
    choices.ImageLayout: windows.LAYOUTS[2],
    choices.VolumeLayout: windows.LAYOUTS[3],
    choices.ConvolutionMode: lagged_products.MODES,
    choices.ConvolutionMethod: lagged_products.METHODS,
    choices.Boundary: convolving.BOUNDARIES,
    choices.Disconnected: arguments.DISCONNECTED,
    choices.Direction: matrices_of_derivatives.DIRECTIONS,
    choices.UnusedInput: make.UNUSED,
}


@pytest.mark.parametrize("literal", WORDS)
def test_literals_are_the_words_that_functions_take(literal: object) -> None:
    assert typing.get_args(literal) == tuple(WORDS[literal])


JEDI = {  # a line, and members that are to be completed where it ends
    "tg.": {"function", "grad", "nn", "exp", "sum"},
    "tg.nn.": {"Dense", "relu", "softmax", "init"},
    "tg.linalg.": {"solve", "cholesky"},
    "tg.special.": {"erf", "gammaln"},
    "tg.random.": {"normal", "key"},
    'tg.vector("x").': {"sum", "shape", "at", "eval", "dtype"},
    "tg.shared(0.0).": {"get_value", "set_value", "sum"},
    'tg.sum(tg.vector("x")).': {"eval", "reshape"},
    'tg.exp(tg.vector("x")).': {"eval", "reshape"},
    'tg.grad(tg.sum(tg.vector("x")), tg.vector("x")).': {"eval", "reshape"},
    'tg.vector("x").at[0].': {"set", "add", "get"},
    'tg.vector("x").at[0].set(1.0).': {"eval", "sum"},
    'tg.function([], tg.scalar("s")).': {"profile", "source", "explain", "shared"},
    "tg.config.": {"mode", "backend"},
}


@pytest.mark.sampled(7)
@pytest.mark.skipif(find_spec("jedi") is None and "CI" not in os.environ, reason="make install brings jedi")
@pytest.mark.parametrize("line", JEDI)
def test_editors_complete_members(line: str) -> None:
    import jedi

    text = f"import tg\n{line}"
    names = {one.name for one in jedi.Script(text, path=str(ROOT / "scratch.py")).complete()}
    assert names >= JEDI[line], JEDI[line] - names
