"""Every distribution builds a wheel that is complete, and works where nothing else of the workspace is."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2]
SOURCES = {path.parent.name: path.parent for path in WORKSPACE.glob("plugins/*/pyproject.toml")}
SOURCES |= {
    "tg-core": WORKSPACE / "core",
    "tg-native": WORKSPACE / "native",
    "tg-conformance": WORKSPACE / "conformance",
}
IMPORTED = {"tg-core": "tg"}
BACKENDS = ["perform", pytest.param("c", marks=pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler"))]

PROGRAM = """
import sys
import numpy as np, tg, tg_c
x = tg.matrix("x")
y = tg.logsumexp(x @ x.T)
value = np.arange(6.0).reshape(2, 3) / 4
f = tg.function([x], [y, tg.grad(y, x)], backend=sys.argv[1])
g = tg.function([x], [y, tg.grad(y, x)], backend="perform")
assert all(np.allclose(p, q) for p, q in zip(f(value), g(value), strict=True))
print(tg.__file__, tg_c.__file__, tg.backend("auto").name, [p for p in sys.path if "site-packages" in p], sep="\\n")
"""


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_wheel_is_typed_licensed_and_pure(site, name):
    package = IMPORTED.get(name, name.replace("-", "_"))
    (wheel,) = (site / "wheels").glob(f"{name.replace('-', '_')}-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        (metadata,) = [archive.read(file).decode() for file in files if file.endswith("dist-info/METADATA")]
    assert f"{package}/py.typed" in files
    assert (f"{package}/__init__.pyi" in files) == (package == "tg")
    assert any(".dist-info/licenses/LICENSE" in file for file in files)
    assert "License-Expression: Apache-2.0" in metadata
    assert {file.partition("/")[0] for file in files if ".dist-info" not in file} == {package}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_wheel_holds_every_module_of_its_sources(site, name):
    (wheel,) = (site / "wheels").glob(f"{name.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {file for file in archive.namelist() if file.endswith(".py")}
    source = SOURCES[name] / "src"
    assert packed == {str(path.relative_to(source)) for path in source.rglob("*.py")}


@pytest.mark.parametrize("backend", BACKENDS)
def test_core_and_c_run_a_program_from_their_wheels_with_what_they_declare_to_need(released, site, tmp_path, backend):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    core, c, auto, elsewhere = released(script, backend).splitlines()
    folder = site / "released"
    assert (core, c) == (str(folder / "tg" / "__init__.py"), str(folder / "tg_c" / "__init__.py"))
    assert auto == "c"
    assert elsewhere == "[]"


def test_the_command_of_the_wheel_lists_what_is_there(released, site):
    rows = json.loads(released(site / "released" / "bin" / "tg", "backends", "--json"))
    states = {row["name"]: (row["state"], row["remedy"]) for row in rows}
    assert states["c"] == states["perform"] == ("available", None)
    assert states["jax"] == ("not installed", 'pip install "tg-core[jax]"')


def test_a_backend_that_is_not_installed_says_what_to_install(released):
    program = """
import tg
try:
    tg.backend("jax")
except ImportError as error:
    print(error)
"""
    assert released("-c", program).splitlines() == [
        "backend 'jax': not installed",
        '  hint: pip install "tg-core[jax]"',
    ]
