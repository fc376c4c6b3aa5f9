"""What is taken of Numba's internals stands in one file, passes its test, and can be done without: by `numba.cfunc`."""

import ast
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tg
import tg_numba
from tg_numba import front, internals
from tg_numba.facts import facts

FOLDER = Path(tg_numba.__file__).parent
PUBLIC = {"numba", "numba.extending"}  # modules whose names Numba's documentation promises


def imported(tree):
    """The modules of Numba and llvmlite that are imported, at the top or inside."""
    for node in ast.walk(tree):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from (name for name in names if name.partition(".")[0] in ("numba", "llvmlite"))


def test_numbas_internals_are_taken_in_one_file():
    trees = {path.name: ast.parse(path.read_text()) for path in FOLDER.rglob("*.py")}
    found = {name: {one for one in imported(tree) if one.startswith("numba")} - PUBLIC for name, tree in trees.items()}
    assert {name for name, modules in found.items() if modules} == {"internals.py"}
    outside = {name for name, tree in trees.items() if {*imported(tree)} - PUBLIC - {"llvmlite", "llvmlite.binding"}}
    assert outside == {"internals.py"}
    attributes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    private = {ast.unparse(node) for node in attributes if node.attr.startswith("_") and node.attr != "__version__"}
    assert not {text for text in private if text.startswith(("llvm.", "llvmlite.", "numba."))}


def test_internals_do_what_is_asked_of_them():
    internals.check()
    assert front.flaw(tested=True) is None
    assert facts()["Numba's internals"] == "as expected"


@pytest.mark.parametrize(("name", "changed"), [("make_intrinsic_template", False), ("real", True)])
def test_the_test_sees_an_internal_that_is_gone_or_another(name, changed, monkeypatch):
    if changed:  # the parts of complex numbers the other way round
        monkeypatch.setattr(internals, "real", internals.imag)
    else:
        monkeypatch.delattr(internals, "make_intrinsic_template")
        monkeypatch.setattr(internals, "real", tg_numba.native.Word("real"))
    with pytest.raises((RuntimeError, NameError)):
        internals.check()


@pytest.fixture
def without_internals(monkeypatch):
    """Numba whose front end is not the one that was expected."""

    def gone(*args):
        raise AttributeError("module 'numba.core.compiler' has no attribute 'compile_extra'")

    monkeypatch.setattr(front, "_flaws", [])
    monkeypatch.setattr(internals, "overload_of", gone)
    monkeypatch.setattr(internals, "check", gone)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int16", "float16", "bool"])
@pytest.mark.usefixtures("without_internals")
def test_without_them_nests_are_compiled_by_what_numba_promises(dtype, tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    x, k = tg.vector("x", dtype=dtype), tg.matrix("k", dtype=dtype)
    f = tg.function([x, k], [tg.sort(x), tg.argsort(k, axis=0), tg.searchsorted(tg.sort(x), k)], backend="numba")
    rng = np.random.default_rng(0)
    for n in (0, 1, 17, 100):
        a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((n,), (n, 3)))
        found = f(a, b)
        np.testing.assert_array_equal(found[0], np.sort(a))
        np.testing.assert_array_equal(found[1], np.argsort(b, axis=0, kind="stable"))
        np.testing.assert_array_equal(found[2], np.searchsorted(np.sort(a), b))
    assert "has no attribute 'compile_extra'" in facts()["Numba's internals"]


PROCESS = """
import sys, json, numpy as np, tg
if sys.argv[1] == "without":
    sys.modules["tg_numba.internals"] = None
x = tg.vector("x")
f = tg.function([x], tg.sort(tg.exp(x)), backend="numba")
print(json.dumps([f([2.0, 1.0, 3.0]).tolist(), f._main.executable._program.name is not None]))
"""


@pytest.mark.long
def test_processes_with_and_without_them_share_a_cache(tmp_path):
    import os

    ways = itertools.chain(["without", "without"], ["with", "with", "without"])
    for way in ways:
        environ = {**os.environ, "TG_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", PROCESS, way]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(json.loads(done.stdout)[0], np.exp([1.0, 2.0, 3.0]), rtol=1e-15)
