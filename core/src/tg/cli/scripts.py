"""Programs of a script for commands: the file is run, and what it leaves under names is looked at."""

from __future__ import annotations

import runpy
import sys
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path


def add_arguments(command: argparse.ArgumentParser, what: str) -> None:
    """Declare the file of a command, and the names in it."""
    from pathlib import Path

    command.add_argument("file", metavar="FILE", type=Path, help="a script that makes functions; it is run")
    command.add_argument("names", nargs="*", metavar="NAME", help=f"{what}; all without any")


def programs(file: Path, names: list[str]) -> dict[str, Any]:
    """The compiled functions that a script leaves, by name; its expressions where it leaves none, or those asked for.

    What stands under `if __name__ == "__main__":` is left out.

    Raises:
        InputError: there is no such file, no program in it, or none of a name.
    """
    if not file.is_file():
        raise InputError(message(f"found no file {str(file)!r}, needed a script"))
    sys.path.insert(0, str(file.resolve().parent))  # as Python does for a script
    try:
        values = runpy.run_path(str(file), run_name="__program__")
    finally:
        del sys.path[0]
    every = dict(_programs(values))
    from tg.functions.compiled import Function

    usual = {name: one for name, one in every.items() if isinstance(one, Function)} or every
    if absent := [name for name in names if name not in every]:
        raise InputError(message(f"{file}: found no program {absent[0]!r}", ("programs", ", ".join(every) or "none")))
    if not usual:
        hint = "a name of the module has to be one: f = tg.function(…), or an expression"
        raise InputError(message(f"{file}: found no program under a name", hint=hint))
    return {name: every[name] for name in names or usual}


def _programs(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The functions and the expressions that are computed of something, by name."""
    from tg.functions.compiled import Function
    from tg.graph.nodes import Variable

    for name, value in values.items():
        if name.startswith("_"):
            continue
        if isinstance(value, Function) or (isinstance(value, Variable) and value.apply is not None):
            yield name, value
