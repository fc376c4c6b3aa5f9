"""`tg view`: the functions of a script as pages for a browser."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg.cli import show

if TYPE_CHECKING:
    import argparse

    from tg.functions.compiled import Function


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("view", help="a script's functions as pages for a browser")
    command.add_argument("file", metavar="FILE", type=Path, help="a script that makes functions; it is run")
    command.add_argument("names", nargs="*", metavar="NAME", help="those that are shown; all without any")
    command.add_argument("--out", metavar="FOLDER", type=Path, default=Path(), help="where pages are written; here")
    command.add_argument("--open", action="store_true", help="ask the browser to show them")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the script, and write a page for each function that it leaves under a name of its own."""
    from tg.errors import InputError, message
    from tg.viewer.view import view

    functions = _functions(args.file)
    if unknown := [name for name in args.names if name not in functions]:
        line = ("functions", ", ".join(functions) or "none")
        raise InputError(message(f"view: {args.file}: found no function {unknown[0]!r}", line))
    if not functions:
        hint = "the names of a module are looked at, so the function has to be one: f = tg.function(…)"
        raise InputError(message(f"view: {args.file}: found no function of tg.function under a name", hint=hint))
    args.out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in args.names or functions:
        page = view(functions[name])
        path = args.out / f"{name}.html"
        page.open(path) if args.open else page.save(path)
        written.append({"function": name, "title": page.title, "path": str(path)})
    if args.json:
        show.as_json(written)
    else:
        show.table([(one["function"], one["title"], one["path"]) for one in written], "function", "program", "page")
    return 0


def _functions(file: Path) -> dict[str, Function]:
    """The functions that a script leaves, by their names in it."""
    from tg.errors import InputError, message
    from tg.functions.compiled import Function

    if not file.is_file():
        raise InputError(message(f"view: found no file {str(file)!r}, needed a script"))
    names = runpy.run_path(str(file), run_name="__tg_view__")
    return {name: value for name, value in names.items() if isinstance(value, Function)}
