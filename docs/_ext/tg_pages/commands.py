"""The command line, from what its own `--help` says."""

from __future__ import annotations

import contextlib
import inspect
import io
import os

from tg import cli
from tg_pages.docstring import escaped, sentence

INTRO = """# The command line

The distribution `tg-core` installs the command `tg`. The exit status is 0 if all is well, 1 if not, and 2 for a line
that makes no sense. With `--json` a command prints what a machine may read, and nothing else.
"""


def page() -> str:
    """The page."""
    parts = [INTRO, block()]
    for command in cli.COMMANDS:
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        parts += [f"## tg {name}\n", about(command), block(name)]
    return "\n".join(parts)


def about(command: object) -> str:
    """What stands after the colon of a command's docstring."""
    text = sentence(command).partition(": ")[2] or sentence(command)
    return escaped(text[:1].upper() + text[1:]) + "\n" + rest(command)


def rest(command: object) -> str:
    """Further paragraphs of the docstring."""
    text = (inspect.getdoc(command) or "").partition("\n\n")[2]
    return f"\n{escaped(text)}\n" if text else ""


def block(*command: str) -> str:
    """The help of a command as it is printed."""
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "100"
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            cli.main([*command, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return f"```text\n$ tg {' '.join((*command, '--help'))}\n{said.getvalue().rstrip()}\n```\n"
