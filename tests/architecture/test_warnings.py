"""Every warning is of a class of `tg.errors`, and the page on versions lists them."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import pytest

import tg
from tg.errors import TgWarning

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("core", "native", "plugins") for path in (ROOT / folder).glob("**/src/**/*.py")]
ONE_DOOR = ROOT / "core/src/tg/callers.py"
CLASSES = {name for name, kind in vars(tg.errors).items() if isinstance(kind, type) and issubclass(kind, TgWarning)}


def calls() -> list[tuple[Path, ast.Call]]:
    """Calls of functions whose names begin with `warn`, beside those where the one door is."""
    nodes = [
        (path, node)
        for path in SOURCES
        if path != ONE_DOOR and "warn" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]
    return [(path, node) for path, node in nodes if name_of(node.func) in ("warn", "warn_explicit")]


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_a_warning_says_its_class() -> None:
    assert len(calls()) >= 9
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in calls()
        if len(node.args) != 2 or name_of(node.args[1]) not in CLASSES
    ]
    assert not faults


def test_the_page_lists_every_class() -> None:
    listed = re.findall(r"^\| `(\w+Warning)` \|", (ROOT / "docs/versions.md").read_text(), re.MULTILINE)
    assert listed == sorted(CLASSES - {"TgWarning"})


def test_one_kind_is_made_an_error() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", tg.errors.InputWarning)
        with pytest.raises(tg.errors.InputWarning, match="is not used by the outputs"):
            tg.function([x, y], x, on_unused_input="warn")
        with pytest.raises(UserWarning):
            tg.function([x, y], x, on_unused_input="warn")
