"""Corrections of the pages' HTML for readers of screens: headings with levels, empty header cells, lists of parameters.

Sphinx and its theme leave these as axe-core refuses them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

EMPTY_HEADER: Final = re.compile(r"<th (class=\"head[^\"]*\")><p></p></th>")
LINES: Final = re.compile(r"<dl>(\s*(?:<dd><em class=\"sig-param\">.*?</dd>\s*)+)</dl>")
ONE_LINE: Final = re.compile(r"<dd>(.*?)</dd>")


def setup(app: Sphinx) -> None:
    """Let Sphinx correct each page before its template is filled in."""
    app.connect("html-page-context", corrected, priority=900)


def corrected(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Correct the body and the tree of pages of one page."""
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    if body := context.get("body"):
        context["body"] = lines_of_parameters(EMPTY_HEADER.sub(r"<td \1></td>", body))


def lines_of_parameters(body: str) -> str:
    """The parameters of a long signature as blocks: a list of definitions without terms is none."""
    blocks = r'<span class="sig-line">\1</span>'
    return LINES.sub(
        lambda found: f'<span class="sig-lines">{ONE_LINE.sub(blocks, found[1].replace(chr(10), ""))}</span>', body
    )
