"""axe-core tells what it is put into pages for: each page has one fault, and a page without one has none."""

from __future__ import annotations

import pytest

from tests.browser import axe, chromium

pytestmark = [
    pytest.mark.skipif(chromium.program() is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(axe.script() is None, reason=f"needs axe-core: {axe.HOW_TO_GET}"),
]

PAGE = """<!doctype html>
<html lang="en"><head><title>A page</title><meta name="viewport" content="width=device-width">
<style>body {{ background: #fff; color: #222 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #ddd }} .dim {{ color: #444 }} }}</style></head>
<body><main><h1>A page</h1><p>Its text.</p>{part}</main></body></html>
"""
FAULTS = {
    "image-alt": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "color-contrast": '<p style="color: #aaa">pale</p>',
    "heading-order": "<h4>Three levels down</h4>",
    "button-name": "<button></button>",
    "empty-table-header": "<table><tr><th></th><th>n</th></tr><tr><td>a</td><td>1</td></tr></table>",
}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.opened(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def rules_broken(tab, folder, part, scheme="light"):
    path = folder / "page.html"
    path.write_text(PAGE.format(part=part))
    tab.prefer(scheme)
    tab.goto(path)
    return {one.rule for one in axe.violations(tab)}


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_is_told_by_its_rule(tab, tmp_path, rule):
    assert rules_broken(tab, tmp_path, FAULTS[rule]) == {rule}
    assert rules_broken(tab, tmp_path, "") == set()


def test_a_fault_of_dark_colours_is_told_in_the_dark(tab, tmp_path):
    pale = '<p class="dim">dim</p>'
    assert rules_broken(tab, tmp_path, pale) == set()
    assert rules_broken(tab, tmp_path, pale, "dark") == {"color-contrast"}
