"""Every example that a reader can copy runs: in docstrings, in the README, in the docs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import tg

ROOT = Path(__file__).parents[2]
MODULES = sorted(m.name for m in pkgutil.walk_packages(tg.__path__, "tg."))
PAGES = sorted(p for p in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")] if "```python" in p.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page_examples_run(page: Path) -> None:
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        if not block.lstrip().startswith("# not run"):
            exec(compile(block, str(page), "exec"), scope)
