"""The command line: `tg help` lists the commands.

Each command is a module with `add(commands)`, which declares it, and the function that runs it and returns the exit
status. Tables are rich's; `--json` prints what a machine may read, and nothing else, on the standard output.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tg.cli import (
    backends,
    bench,
    cache,
    check,
    completion,
    conformance,
    coverage,
    demo,
    doctor,
    explain,
    help,
    info,
    new_backend,
    new_op,
    show,
    usage,
    view,
)
from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    demo,
    backends,
    doctor,
    coverage,
    check,
    explain,
    view,
    info,
    bench,
    conformance,
    cache,
    new_backend,
    new_op,
    completion,
    help,
)


def parser() -> usage.Parser:
    """The parser of all commands."""
    import tg

    whole = usage.Parser(prog="tg", description="Compile array programs.")
    whole.add_argument("--version", action="version", version=f"tg {tg.__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 if all is well, 1 if not, 2 for a line that makes no sense.

    Output that nobody reads is dropped: where the standard output is closed, or its reader has gone. Where it cannot be
    written for another reason, as on a full disk, a line says so, and the status is 1.
    """
    _open_streams()
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        try:
            args = parser().parse_args(words or ["help"])
            with show.alone() if getattr(args, "json", False) else nullcontext():
                status: int = args.run(args)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has read enough, as `head` does; Python would flush once more at its end
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        place = f"{error.filename}: " if error.filename is not None else ""
        name = " ".join(["tg", *words[:1]])
        print(f"{name}: {place}{error.strerror or error}", file=sys.stderr)
        return 1
    except TgError as error:
        print(f"tg {args.command}: {error}", file=sys.stderr)
        return 1
    return status


def _open_streams() -> None:
    """Open what is closed: Python has None for it, and a file that is opened next would be the output of programs."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (as long as the process)


def _drop_output() -> None:
    """Have Python's flush at its end write to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
