"""Every example that a reader can copy runs, and shows what it gives: in docstrings, in the README, in the docs."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tg

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MODULES = sorted(m.name for m in pkgutil.walk_packages(tg.__path__, "tg."))


def _examples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples", DOCS / "_ext/examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


examples = _examples()
WRITTEN = [p for p in DOCS.rglob("*.md") if not {"_build", "generated"} & set(p.relative_to(DOCS).parts)]
PAGES = sorted(p for p in [ROOT / "README.md", *WRITTEN] if examples.has_examples(p.read_text()))


class _Sections(doctest.DocTestParser):
    """Reads examples that another section of the docstring follows at once."""

    def parse(self, string: str, name: str = "<string>") -> list[str | doctest.Example]:
        return super().parse(re.sub(r"\n( *[A-Z][a-z]+:\n)", r"\n\n\1", string), name)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder(parser=_Sections(), exclude_empty=True).find(module, name):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page_examples_run(page: Path) -> None:
    wrong = examples.run(page.read_text())
    assert wrong == [], f"python docs/_ext/examples.py {page.relative_to(ROOT)} writes what comes out now"


def test_a_session_that_shows_something_else_is_found() -> None:
    text = "```python\na = 2\n```\n\n```pycon\n>>> a * 3\n6\n>>> a * 4\n9\n>>> a / 0\n```\n"
    first, second = examples.run(text)
    assert (first.source, first.want, first.got) == ("a * 4\n", "9\n", "8\n")
    assert second.got.endswith("ZeroDivisionError: division by zero\n")
    assert examples.run(examples.rewritten(text)) == []
