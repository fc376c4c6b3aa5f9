"""The layers of core, from the contract that import-linter holds, and the packages of tg-native."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tg_pages.docstring import cell, table

ROOT = Path(__file__).parents[3]
CORE, NATIVE = ROOT / "core/src/tg", ROOT / "native/src/tg_native"


def part() -> str:
    """A table of the layers, the lowest first: a module imports those above its row, and none beside it or below."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "layers")
    return table(("layer", "modules"), [(str(n), row(layer)) for n, layer in enumerate(reversed(layers), 1)])


def row(layer: str) -> str:
    """The modules of a layer, each with what it is about."""
    names = [name.strip() for name in layer.split("|")]
    paths = {name: CORE / name / "__init__.py" if (CORE / name).is_dir() else CORE / f"{name}.py" for name in names}
    return cell("; ".join(f"`tg.{name}`: {subject(path)}" for name, path in paths.items()))


def native_part() -> str:
    """A table of the packages of tg-native."""
    packages = sorted(path.parent for path in NATIVE.glob("*/__init__.py"))
    return table(("package", "subject"), [(f"`{p.name}`", cell(subject(p / "__init__.py"))) for p in packages])


def subject(path: Path) -> str:
    """The first sentence of a module's docstring, without the module's own name."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.sub(r"^`[\w.]+`: ", "", re.split(r"[.;] ", paragraph)[0]).rstrip(".")
