"""`tg new-op`: a distribution with operations of one's own: their mathematics, rules for two backends, cases, tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg.cli import distribution, show

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("new-op", help="write operations of your own, with rules for two backends and tests")
    command.add_argument("name", metavar="NAME", help="lower-case words joined by -: the name of the family")
    command.add_argument("--folder", type=Path, help="where to write it; tg-NAME unless given")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the distribution.

    Raises:
        InputError: a name that cannot be one, or is taken; a folder that holds something.
    """
    from tg import plugin

    backends = {name: "a backend has it" for one in plugin.registry().backends() for name in (one.name, *one.aliases)}
    families = {family.path: "a family of operations has it" for family in plugin.registry().families()}
    distribution.check_name(args.name, {**backends, **families})
    folder = args.folder or Path(f"tg-{args.name}")
    distribution.write(folder, distribution.read("op", args.name))
    show.text(distribution.written(folder))
    return 0
