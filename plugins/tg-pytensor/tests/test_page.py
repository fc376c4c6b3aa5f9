"""The examples of the page for users of PyMC, run as a reader would, and tables that are made of the registry."""

import re
from pathlib import Path

from tg_pytensor.pages import renewed

PAGE = Path(__file__).parents[3] / "docs/pymc.md"
NEEDS = "# not run without PyMC\n"


def test_the_examples_do_what_the_page_says():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    run = [block for block in blocks if block.startswith(NEEDS)]
    assert len(run) > 5
    scope = {"__name__": "page"}
    for block in run:
        exec(compile(block, str(PAGE), "exec"), scope)


def test_the_tables_of_what_converts_are_those_of_the_registry():
    page = (PAGE.parent / "pytensor.md").read_text()
    assert renewed(page) == page, "python -m tg_pytensor.pages docs/pytensor.md"
