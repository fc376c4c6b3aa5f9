"""Tracebacks and places in notebooks: the user's lines, and none of tg's."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
import types

import numpy as np
import pytest

import tg
from tg.callers import is_inside
from tg.graph.frames import of_user
from tg.graph.loc import Loc

X, Z = tg.tensor("x", shape=(4,)), tg.tensor("z", shape=(5,))
F = tg.function([X], tg.exp(X), backend="perform")
WRONG = {
    "an operator": lambda: X + Z,
    "a method": lambda: X.sum(axis=3),
    "an op": lambda: tg.reshape(X, (3, 2)),
    "an elementwise function": lambda: tg.add(X, Z),
    "an index": lambda: X[7],
    "a product": lambda: X @ Z,
    "a call": lambda: F(np.ones(3)),
    "a call without arguments": lambda: F(),
    "tg.function": lambda: tg.function([Z], X),
    "a backend": lambda: tg.function([X], X, backend="no backend"),
}


def raised(case):
    with pytest.raises(tg.TgError) as caught:
        case()
    return caught.value


def modules(entry):
    while entry is not None:
        yield entry.tb_frame.f_globals["__name__"]
        entry = entry.tb_next


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_call_has_one_frame_of_tg_at_most(name):
    error = raised(WRONG[name])
    inside = [module for module in modules(error.__traceback__) if is_inside(module)]
    assert len(inside) <= 1
    text = "".join(traceback.format_exception(error)).splitlines()
    assert len(text) <= 12 + 4 * (len(list(modules(error.__traceback__))) - len(inside) - 1)  # frames of this file


@pytest.mark.parametrize("name", list(WRONG))
def test_all_frames_are_there_for_who_asks(name):
    with tg.config(tracebacks="full"):
        error = raised(WRONG[name])
    assert error.shows_all
    assert sum(map(is_inside, modules(error.__traceback__))) >= 2


def test_frames_of_tg_between_those_of_the_user_are_left_out():
    def step(carry, value):
        return carry + Z, value

    error = raised(lambda: tg.scan(step, X, X))
    kept = of_user(error.__traceback__)
    assert not any(map(is_inside, modules(kept)))
    assert [summary.name for summary in traceback.extract_tb(kept)][-2:] == ["<lambda>", "step"]


def test_a_traceback_of_nothing_else_stays():
    error = tg.ShapeError("x")
    assert of_user(error.__traceback__) is None


def test_ipython_is_given_the_frames_of_the_user(monkeypatch):
    shown = []

    class Shell:
        class InteractiveTB:
            @staticmethod
            def structured_traceback(kind, error, entry, tb_offset):
                shown.append((kind, list(modules(entry)), tb_offset))
                return ["lines"]

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=Shell))
    assert raised(WRONG["an operator"])._render_traceback_() == ["lines"]
    kind, frames, offset = shown[0]
    assert kind is tg.ShapeError
    assert offset == 1
    assert not any(map(is_inside, frames))
    with tg.config(tracebacks="full"):
        error = raised(WRONG["an operator"])
    error._render_traceback_()
    assert any(map(is_inside, shown[1][1]))


def test_places_in_notebooks_are_cells(monkeypatch):
    names = {"/tmp/ipykernel_7/123.py": ("Cell", "In[2]"), "<ipython-input-3-abc>": ("Cell", "In[3]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=names.get))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))

    def place(file):
        return str(Loc(compile("\n\nx = 1", file, "exec").replace(co_firstlineno=3), -1))

    assert place("/tmp/ipykernel_7/123.py") == "Cell In[2], line 3"
    assert place("<ipython-input-3-abc>") == "Cell In[3], line 3"
    assert place("/tmp/ipykernel_7/other.py") == "other.py:3"
    assert place("/home/model.py") == "model.py:3"
    monkeypatch.delitem(sys.modules, "IPython")
    assert place("<ipython-input-3-abc>") == "<ipython-input-3-abc>:3"
    assert "IPython" not in sys.modules


def test_errors_survive_pickling_with_what_they_show():
    error = raised(WRONG["an operator"])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.shows_all) == (str(error), False)


def test_the_environment_decides_where_no_block_does():
    code = "import tg\ntry:\n    tg.tensor('x', shape=(4,)) + tg.tensor('z', shape=(5,))\nexcept tg.ShapeError as e:\n"
    code += "    n = 0; t = e.__traceback__\n    while t: n += 1; t = t.tb_next\n    print(n)"
    command = [sys.executable, "-c", code]
    counts = []
    for value in ("short", "full"):
        environment = {**os.environ, "TG_TRACEBACKS": value}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        counts.append(int(done.stdout))
    assert counts[0] <= 3
    assert counts[1] > 5


def test_the_real_ipython_shows_the_users_lines_alone():
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    told = []
    shell._showtraceback = lambda kind, error, lines: told.append(lines)
    try:
        shell.run_cell("import tg\nx = tg.tensor('x', shape=(4,)) + tg.tensor('z', shape=(5,))", store_history=True)
        shell.run_cell("y = tg.vector('y') + 1\nplace = str(y.apply.loc)", store_history=True)
        place = shell.user_ns["place"]
    finally:
        shells.InteractiveShell.clear_instance()
    text = "\n".join(told[0])
    assert "lengths do not broadcast" in text
    assert "core/src/tg" not in text
    assert len(text.splitlines()) <= 12
    assert place.startswith("Cell In[")
    assert place.endswith("], line 1")
