"""The command line: `tg backends`, `doctor`, `coverage`, `demo`, `conformance`, `cache`, `new-backend`, `new-op`.

Each command is a module with `add(commands)`, which declares it, and the function that runs it and returns the exit
status. Tables are rich's; `--json` prints what a machine may read, and nothing else, on the standard output.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from tg.cli import backends, cache, conformance, coverage, demo, doctor, new_backend, new_op
from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (demo, backends, doctor, coverage, conformance, cache, new_backend, new_op)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 if all is well, 1 if not, 2 for a line that makes no sense."""
    import tg

    parser = argparse.ArgumentParser(prog="tg", description="Compile array programs.")
    parser.add_argument("--version", action="version", version=f"tg {tg.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    try:
        try:
            given = parser.parse_args(arguments)
            status: int = given.run(given)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has read enough, as `head` does; Python would flush once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except TgError as error:
        print(f"tg {given.command}: {error}", file=sys.stderr)
        return 1
    return status
