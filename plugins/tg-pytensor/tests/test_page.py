"""The examples of the page for users of PyMC, run as a reader would."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/pymc.md"
NEEDS = "# not run without PyMC\n"


def test_the_examples_do_what_the_page_says():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    run = [block for block in blocks if block.startswith(NEEDS)]
    assert len(run) > 5
    scope = {"__name__": "page"}
    for block in run:
        exec(compile(block, str(PAGE), "exec"), scope)
