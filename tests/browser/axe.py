"""axe-core, injected into pages in Chromium: what of a page hinders readers of screens, keyboards and small contrasts.

Its script is looked for where npm puts it, and in the wheel of a package of Python that has it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.browser.chromium import Page

ROOT = Path(__file__).parents[2]
FROM_NPM = ROOT / "node_modules/axe-core/axe.min.js"
WHEELS = ("axe_playwright_python", "axe_core_python")
HOW_TO_GET = "make install, or npm install --no-save axe-core"
RUN = """
axe.run(document, {preload: false, resultTypes: ["violations"]}).then((found) => found.violations.flatMap(
  (rule) => rule.nodes.map((node) => [rule.id, node.target.join(" "), node.html.slice(0, 160), node.failureSummary])))
"""


class Violation(NamedTuple):
    """A place of a page that breaks a rule of axe-core."""

    rule: str
    place: str
    html: str
    fact: str


def script() -> Path | None:
    """The file of axe-core; None where it is not installed."""
    specs = [importlib.util.find_spec(name) for name in WHEELS]
    installed = [Path(spec.origin).parent / "axe.min.js" for spec in specs if spec is not None and spec.origin]
    return next((path for path in (FROM_NPM, *installed) if path.exists()), None)


def violations(page: Page) -> list[Violation]:
    """The violations of the page that the tab shows."""
    path = script()
    assert path is not None
    page.evaluate(f"{path.read_text(encoding='utf-8')};1")
    return [Violation(*one) for one in page.evaluate(RUN)]
