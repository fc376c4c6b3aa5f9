"""Type checkers know the names of `tg`: the stub says what is there, and pyright finds what is wrong in a script."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tg
from tests.stub.stub import STUB, SURFACE, stub, surface
from tg.graph import method_options

RIGHT = """
import numpy as np
import tg

x, n = tg.vector("x"), tg.dim("n")
m = tg.matrix("m", shape=(n, 3))
w: tg.Shared = tg.shared(np.zeros(3), "w")
y = tg.sum(tg.exp(-x) * x, axis=0, keepdims=True) + tg.maximum(m @ w, 0.0)
loss = tg.mean((m @ w - x) ** 2)
updates = {w: w - 0.1 * tg.grad(loss, w)}
step: tg.Function = tg.function([m, x], loss, updates=updates, backend="perform", name="step")
value = step(np.ones((2, 3)), np.ones(2))
z: tg.Variable = tg.where(x > 0, x, 0.0).mean(axis=0, keepdims=True)[0] + x.at[0].set(1.0)[1]
half = np.exp(2 * x[None, :] / x.shape[0])


@tg.jit(backend="perform")
def f(a, b):
    return np.tanh(a) + b


with tg.config(mode="strict"):
    g = tg.function([x], [x, tg.abs(x)])
try:
    f(np.ones(2), np.ones(3))
except tg.ShapeError as error:
    assert isinstance(error, tg.errors.TgError)
"""

MISTAKES = (
    'tg.vectr("x")',
    "tg.scan(x)",
    "tg.unwrapped(x)",
    'tg.vector("x", shapes=(3,))',
    "tg.sum(x, axs=0)",
    "tg.exp(x, 2)",
    "tg.maximum(x)",
    "tg.exp(x, out=x)",
    'tg.function([x], x, bakend="c")',
    "tg.grad(tg.sum(x))",
    "tg.value_and_grad(tg.sum(x), x, disconected='zero')",
    "x.summ()",
    "x[0] = 1.0",
    "float(x)",
    "not x",
    "range(x)",
    "x.at[0].sett(1.0)",
    "x.at.set(1.0)",
    "x.view(-1)",
    "tg.config.bakend",
    "tg.config(bakend='c')",
    "tg.config.backend = 'c'",
    "x.sum(axs=0)",
    "x.reshape(order=3, shp=2)",
    'tg.function([x], x).call("x")',
)


def test_the_stub_is_as_the_names_are() -> None:
    assert STUB.read_text() == stub(), "if names were meant to change: make stub, and commit the file"
    assert SURFACE.read_text() == surface(), "the same"


def test_what_is_right_for_pyright_is_right() -> None:
    exec(RIGHT, {})


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_wrong_for_pyright_is_wrong(mistake: str) -> None:
    with pytest.raises((TypeError, AttributeError, tg.OptionError)):
        exec(mistake, {"tg": tg, "x": tg.vector("x")})


@pytest.mark.skipif(find_spec("basedpyright") is None and "CI" not in os.environ, reason="make install brings pyright")
def test_pyright_finds_each_mistake_and_nothing_else(tmp_path: Path) -> None:
    head = ["import tg", 'x = tg.vector("x")']
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("\n".join([*head, *MISTAKES]))
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(Path(tg.__file__).parents[1])]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [
        (Path(one["file"]).name, one["range"]["start"]["line"]) for one in json.loads(done.stdout)["generalDiagnostics"]
    ]
    assert set(said) == {("wrong.py", len(head) + k) for k in range(len(MISTAKES))}, done.stdout


OPTIONS = {
    name: inspect.signature(method).parameters["options"].annotation.removeprefix("Unpack[").removesuffix("]")
    for name, method in inspect.getmembers(tg.Variable, inspect.isfunction)
    if "Unpack" in str(inspect.signature(method))
}


@pytest.mark.parametrize(("name", "options"), OPTIONS.items())
def test_the_options_of_a_method_are_those_of_the_function(name: str, options: str) -> None:
    known = [*inspect.signature(getattr(tg, name)).parameters][2:]
    assert sorted(getattr(method_options, options).__optional_keys__) == sorted(known)


def test_reductions_and_sorts_have_options() -> None:
    assert {"sum", "std", "argmax", "cumsum", "sort"} <= OPTIONS.keys()
