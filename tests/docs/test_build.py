"""The documentation builds, and a warning is an error: a page that is not reached, a reference that leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

# Examples in pages are run by test_examples.py in every run; the build takes four minutes, ten beside much other work.
pytestmark = [pytest.mark.long(minutes=4), pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


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
