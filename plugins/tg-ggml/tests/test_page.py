"""The examples of the page and of docstrings, run as a reader would."""

import doctest
import re
from pathlib import Path

from tg_ggml import files

PAGE = Path(__file__).parents[3] / "docs/ggml.md"
NEEDS = "# not run without ggml\n"


def test_the_examples_do_what_the_page_says():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 3
    scope = {"__name__": "page"}
    for block in blocks:
        assert block.startswith(NEEDS)
        exec(compile(block, str(PAGE), "exec"), scope)


class Sections(doctest.DocTestParser):
    """Reads examples that another section of the docstring follows at once."""

    def parse(self, string, name="<string>"):
        return super().parse(re.sub(r"\n( *[A-Z][a-z]+:\n)", r"\n\n\1", string), name)


def test_docstrings_show_what_comes_out():
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder(parser=Sections(), exclude_empty=True).find(files):
        runner.run(example)
    results = runner.summarize()
    assert results.attempted > 3
    assert results.failed == 0
