"""The documentation builds, and a warning is an error: a page that is not reached, a reference that leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.browser import axe, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

# Examples in pages are run by test_examples.py in every run; the build takes four minutes, ten beside much other work.
pytestmark = [pytest.mark.long(minutes=8), pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KINDS = {  # a page of each kind, but for the tables of benchmarks: axe-core takes minutes for a megabyte
    "front page": "index.html",
    "quickstart": "quickstart.html",
    "prose and sessions": "tutorial.html",
    "errors": "errors.html",
    "migration": "migration.html",
    "a peer's users": "jax.html",
    "tables of options": "options.html",
    "a design": "design/loops.html",
    "runs": "runs.html",
    "gallery": "generated/gallery/index.html",
    "notebook": "generated/gallery/regression.html",
    "notebook of views": "generated/gallery/walk.html",
    "family": "generated/ops/elementwise/trigonometric.html",
    "function with a curve": "generated/function/tg.exp.html",
    "function of matrices": "generated/function/tg.linalg.solve.html",
    "function of networks": "generated/function/tg.nn.conv2d.html",
    "draws": "generated/function/tg.random.normal.html",
    "loops": "generated/function/tg.scan.html",
    "reference": "generated/reference/Variable.html",
    "names of a peer": "generated/names/jax.html",
    "is there": "generated/words.html",
    "commands": "generated/commands.html",
    "hooks": "generated/hooks.html",
    "coverage": "generated/coverage.html",
    "search": "search.html",
}
SIZES = ((1280, 900), (390, 844))  # a desktop's window, and a phone's
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.xdist_group("docs")
def test_every_page_is_built(site: Path) -> None:
    sources = [p.relative_to(DOCS) for p in DOCS.rglob("*.md") if "_build" not in p.parts and "parts" not in p.parts]
    assert all((site / page.with_suffix(".html")).exists() for page in sources)


@pytest.mark.xdist_group("docs")
def test_every_name_of_tg_is_documented(site: Path) -> None:
    import tg
    from tg.ops.catalog import FAMILIES

    further = {name for family in FAMILIES for name, _ in family.aliases}
    pages = "".join(page.read_text() for page in (site / "generated").rglob("*.html"))
    modules = {name for name in dir(tg) if isinstance(getattr(tg, name), ModuleType)}  # whose functions are families'
    missing = [name for name in dir(tg) if not name.startswith("__") and name not in further | modules]
    assert [name for name in missing if f'id="tg.{name}"' not in pages and f"tg.{name}<" not in pages] == []


@pytest.mark.xdist_group("docs")
def test_a_family_page_lists_functions_and_each_has_a_page(site: Path) -> None:
    import tg

    assert tg.sin.doc in (site / "generated/ops/elementwise/trigonometric.html").read_text()
    page = (site / "generated/function/tg.sin.html").read_text()
    assert tg.sin.doc in page.partition('id="tg.sin"')[2].partition("</dl>")[0]
    assert "<math" in page.partition(">Gradient<")[2].partition(">Accuracy")[0]
    assert 'class="curve"' in page


@pytest.mark.xdist_group("docs")
def test_no_page_is_large_and_none_loads_from_elsewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name not in ("examples.html", "genindex.html")]
    assert [page.name for page in pages if page.stat().st_size > 300_000] == []
    loads = re.compile(r"<(?:script|img|link)[^>]*(?:src|href)=\"https?:")
    assert [page.name for page in pages if loads.search(page.read_text())] == []


@pytest.mark.xdist_group("docs")
def test_every_hook_and_every_command_is_documented(site: Path) -> None:
    from tg import cli
    from tg.plugin import hookspecs

    hooks, commands = ((site / f"generated/{name}.html").read_text() for name in ("hooks", "commands"))
    assert all(f'id="tg.plugin.hookspecs.{name}"' in hooks for name in vars(hookspecs) if name.startswith("tg_"))
    for command in cli.COMMANDS:
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        assert f"$ tg {name} --help" in commands


@pytest.mark.xdist_group("docs")
def test_every_gap_is_told(site: Path) -> None:
    import html

    from tg import plugin

    page = " ".join(html.unescape((site / "conformance.html").read_text()).split())
    for one in plugin.registry().backends():
        for gap in plugin.registry().gaps(one.name) if one.is_available else ():
            assert gap.reason in page


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    """A browser's tab."""
    with chromium.opened(tmp_path_factory.mktemp("chromium")) as page:
        page.wait_for(300)  # a page of all functions has 10,000 elements
        yield page


@pytest.mark.xdist_group("docs")
@pytest.mark.skipif(chromium.program() is None, reason="needs Chromium: apt-get install chromium")
@pytest.mark.skipif(axe.script() is None, reason=f"needs axe-core: {axe.HOW_TO_GET}")
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_on_a_page_of_each_kind(site: Path, tab: chromium.Page, kind: str) -> None:
    problems: list[object] = []
    for width, height in SIZES:
        tab.resize(width, height)
        for scheme in ("light", "dark"):
            tab.prefer(scheme)
            tab.goto(site / KINDS[kind])
            tab.frame()
            problems += [(width, scheme, *one) for one in axe.violations(tab)]
            problems += [(width, scheme, "overflow")] if tab.evaluate(OVERFLOW) > 0 else []
            problems += tab.problems
    assert problems == []
