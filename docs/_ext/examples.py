"""The code of the pages, run as a reader would: one page, one namespace, block after block.

A ```python block is executed. A ```pycon block is a session whose output must be what the page shows; `...` stands for
anything. The code of a page counts as one script that is called `model.py`, so the lines that tg names are the same at
every run. A block that starts with `# not run` is skipped.

    python docs/_ext/examples.py docs/tutorial.md    # writes what comes out now into the sessions of a page
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SCRIPT = "model.py"
SKIP = "# not run"
TRACEBACK = "Traceback (most recent call last):\n  ...\n"
CHECKER = doctest.OutputChecker()


class Mismatch(NamedTuple):
    """A session that does not say what it shows."""

    source: str
    want: str
    got: str


class Script:
    """The namespace of a page, and the lines it has run."""

    def __init__(self) -> None:
        self.scope: dict[str, object] = {"__name__": "__main__"}
        self.lines: list[str] = []

    def run(self, source: str, *, shown: bool) -> str:
        """Run some lines; of a session the text: what is printed, values of expressions, an error."""
        start = len(self.lines)
        self.lines += source.splitlines(keepends=True)
        linecache.cache[SCRIPT] = (sum(map(len, self.lines)), None, self.lines, SCRIPT)
        code = compile("\n" * start + source, SCRIPT, "single" if shown else "exec")
        if not shown:
            exec(code, self.scope)
            return ""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                exec(code, self.scope)
            except Exception as error:  # noqa: BLE001 (a session shows whatever is raised)
                text = "".join(traceback.format_exception_only(error))
                return said.getvalue() + TRACEBACK + text
        return said.getvalue()


def has_examples(text: str) -> bool:
    """Whether a page has blocks to run."""
    return any(not found[2].lstrip().startswith(SKIP) for found in BLOCK.finditer(text))


def run(text: str) -> list[Mismatch]:
    """Run every block of a page; the sessions that differ from what they show."""
    return _worked(text)[0]


def rewritten(text: str) -> str:
    """The page with what its sessions give now; output with `...` that still matches stays."""
    return _worked(text)[1]


def _worked(text: str) -> tuple[list[Mismatch], str]:
    script, wrong = Script(), []

    def block(found: re.Match[str]) -> str:
        kind, body = found[1], found[2]
        if body.lstrip().startswith(SKIP):
            return found[0]
        if kind == "python":
            script.run(body, shown=False)
            return found[0]
        return f"```pycon\n{session(body)}```"

    def session(body: str) -> str:
        made = []
        for example in doctest.DocTestParser().get_examples(body):
            got = script.run(example.source, shown=True).rstrip("\n") + "\n"
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE if "..." in example.want else 0
            fits = CHECKER.check_output(example.want or "\n", got, flags | doctest.DONT_ACCEPT_BLANKLINE)
            if not fits:
                wrong.append(Mismatch(example.source, example.want, got))
            first, *rest = example.source.splitlines()
            made += [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
            made += [shown] if (shown := (example.want if fits else got).rstrip("\n")) else []
        return "\n".join(made) + "\n"

    return wrong, BLOCK.sub(block, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rewritten(path.read_text()))
