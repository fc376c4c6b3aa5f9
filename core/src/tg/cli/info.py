"""`tg info`: what a file of `tg.save` holds, read without compiling or running anything of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg.cli import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("info", help="what a model file of tg.save holds")
    command.add_argument("file", metavar="MODEL", type=Path, help="a file that tg.save wrote")
    command.add_argument("--text", action="store_true", help="the programs of its functions, too")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what the file says of itself.

    Raises:
        FileError: it is no model, is damaged, or of a version that this tg does not read.
    """
    from tg.files.describing import describe

    record = describe(args.file, texts=args.text)
    if args.json:
        show.as_json(record)
        return 0
    head = [(key, record[key]) for key in ("file", "bytes", "written by", "needs", "plugins")]
    show.table([(key, _plain(value)) for key, value in head])
    for function in record["functions"]:
        show.table(_rows(function), title=function["name"])
    if record["shared"]:
        rows = [
            (one["name"], one["type"], f"{one['bytes']:,}", "fixed" if one["fixed"] else "") for one in record["shared"]
        ]
        show.table(rows, "shared variable", "type", "bytes", "", title="values")
    for function in record["functions"] if args.text else ():
        show.text(f"{function['name']} =\n{function['text']}")
    return 0


def _rows(function: Mapping[str, Any]) -> list[tuple[str, str]]:
    inputs = ", ".join(f"{one['name'] or '_'}: {one['type']}" for one in function["inputs"])
    rows = [("inputs", inputs or "none"), ("results", str(function["results"]))]
    rows += [("nodes", f"{function['nodes']:,}"), ("updates", ", ".join(function["updates"]) or "none")]
    return [*rows, ("options", _plain(function["options"]))]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items()) or "none"
    return f"{value:,}" if type(value) is int else str(value)
