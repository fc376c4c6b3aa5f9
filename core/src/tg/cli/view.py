"""`tg view`: the programs of a script as pages for a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import scripts, show

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    from pathlib import Path

    command = commands.add_parser("view", help="a script's programs as pages for a browser")
    scripts.add_arguments(command, "the programs that are shown")
    command.add_argument("--out", metavar="FOLDER", type=Path, default=Path(), help="where pages are written; here")
    command.add_argument("--open", action="store_true", help="ask the browser to show them")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the script, and write a page for each of its programs."""
    from tg.viewer.view import view

    programs = scripts.programs(args.file, args.names)
    args.out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, program in programs.items():
        page = view(program)
        path = args.out / f"{name}.html"
        page.open(path) if args.open else page.save(path)
        written.append({"name": name, "title": page.title, "path": str(path)})
    if args.json:
        show.as_json(written)
    else:
        show.table([(one["name"], one["title"], one["path"]) for one in written], "name", "program", "page")
    return 0
