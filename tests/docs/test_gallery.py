"""The notebooks of the gallery: what is kept is what their texts give, and is small; `make nightly` executes them."""

from __future__ import annotations

import ast
import copy
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tg

if TYPE_CHECKING:
    from types import ModuleType

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = DOCS / "gallery"


def _notebooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks", DOCS / "_ext/notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


notebooks = _notebooks()
NAMES = notebooks.names()


def test_each_notebook_stands_in_one_section() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in GALLERY.glob("*.py"))
    assert sorted(NAMES) == sorted(path.stem for path in GALLERY.glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_was_made_of_the_text(name: str) -> None:
    assert notebooks.stale(name) == "", "python docs/_ext/notebooks.py executes it"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_is_small_and_has_a_picture_and_a_check(name: str) -> None:
    cells = notebooks.kept(name)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    text = (GALLERY / f"{name}.ipynb").read_text()
    assert len(text.encode()) <= notebooks.LIMIT
    assert "site-packages" not in text
    assert str(DOCS.parent) not in text
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("assert" in source for source in code)
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_tg_that_a_notebook_uses_is_there(name: str) -> None:
    misses = {"tg.clamp"} if name == "mistakes" else set()  # a mistake whose error is shown
    assert {path for path in _paths(notebooks.source(name)) if not _is_there(path)} == misses


def _paths(source: str) -> set[str]:
    """Each `tg.a.b` of a text."""
    written = (ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return {text for text in written if text.startswith("tg.") and text.replace(".", "").isidentifier()}


def _is_there(path: str) -> bool:
    value: object = tg
    for part in path.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def test_a_change_of_either_side_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = NAMES[0]
    text, made = notebooks.source(name), notebooks.kept(name)
    monkeypatch.setattr(notebooks, "source", lambda name: text + "# one more line\n")
    assert notebooks.stale(name) == "the text has changed"
    other = copy.deepcopy(made)
    other["cells"][1]["outputs"].append({"output_type": "stream", "name": "stdout", "text": "3.14"})
    monkeypatch.setattr(notebooks, "source", lambda name: text)
    monkeypatch.setattr(notebooks, "kept", lambda name: other)
    assert notebooks.stale(name) == "the outputs were changed by hand"
