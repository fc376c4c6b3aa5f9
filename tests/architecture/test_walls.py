"""What a distribution may import and with which versions it works: contracts name all but what is allowed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core/src/tg"
FOLDERS = ["core", "native", "conformance", *(p.parent.name for p in sorted(ROOT.glob("plugins/*/pyproject.toml")))]
PROJECTS = {
    name: tomllib.loads(
        ((ROOT / name if name in FOLDERS[:3] else ROOT / "plugins" / name) / "pyproject.toml").read_text()
    )
    for name in FOLDERS
}
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
CONTRACTS = {one["id"]: one for one in TOOLS["importlinter"]["contracts"] if "id" in one}
ENGINES = {"cffi", "jax", "jaxlib", "llvmlite", "mlx", "numba", "onnx", "onnxruntime", "torch"}
OWN_ENVIRONMENT = {"tg-ggml", "tg-pytensor"}  # not importable here: `test_own_environments` reads their sources
PACKAGES = {name.replace("-", "_") for name in FOLDERS if name.startswith("tg-")} - {
    name.replace("-", "_") for name in OWN_ENVIRONMENT
}
VERSION = PROJECTS["core"]["project"]["version"]
BOUNDS = "<0.2,>=0.1"  # what a release of core promises those who use its surface


def modules() -> set[str]:
    files = {path.stem for path in CORE.glob("*.py")} - {"__init__", "__main__"}
    return {f"tg.{name}" for name in files | {path.parent.name for path in CORE.glob("*/__init__.py")}}


def asked(name: str, of: str) -> str:
    """The versions of a distribution that another one asks for."""
    project = PROJECTS[name]["project"]
    extras = (one for more in project.get("optional-dependencies", {}).values() for one in more)
    found = {
        str(r.specifier) for r in map(Requirement, (*project["dependencies"], *extras)) if r.name == of and not r.extras
    }
    assert len(found) == 1, (name, of, found)
    return found.pop()


def test_plugins_see_nothing_of_core_but_its_surface() -> None:
    assert set(CONTRACTS["surface"]["forbidden_modules"]) == modules() - {"tg.backend"}
    assert set(CONTRACTS["surface"]["source_modules"]) == PACKAGES
    assert set(CONTRACTS["plugins"]["modules"]) == PACKAGES


@pytest.mark.parametrize("name", ["core", "native", "conformance"])
def test_what_all_share_sees_no_engine_and_no_plugin(name: str) -> None:
    others = {"core": {"tg_native", "tg_conformance"}, "native": {"tg_conformance"}, "conformance": {"tg_native"}}
    assert set(CONTRACTS[name]["forbidden_modules"]) == ENGINES | PACKAGES | others[name]


def test_what_uses_the_inside_of_core_is_of_its_version() -> None:
    for name in ("native", "conformance"):
        assert asked(name, "tg-core") == f"=={VERSION}"
        assert PROJECTS[name]["project"]["version"] == VERSION


@pytest.mark.parametrize("name", FOLDERS[3:])
def test_plugins_have_bounds(name: str) -> None:
    assert asked(name, "tg-core") == BOUNDS
    if name in ("tg-c", "tg-numba"):
        assert asked(name, "tg-native") == BOUNDS


def test_extras_and_templates_have_bounds() -> None:
    for name in FOLDERS[3:]:
        if name.removeprefix("tg-") in PROJECTS["core"]["project"]["optional-dependencies"]:
            assert asked("core", name) == BOUNDS
    for template in (CORE / "cli/templates").glob("*/pyproject.toml"):
        assert "tg-core>=0.1,<0.2" in template.read_text()
