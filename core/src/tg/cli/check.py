"""`tg check`: which backends run the programs of a script, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import scripts, show

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("check", help="which backends run a script's programs, and why not")
    scripts.add_arguments(command, "the programs to be checked")
    command.add_argument("--backend", action="append", default=[], help="only this one; may be repeated")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the verdicts; 1 if no backend that was asked runs some program, or one that was named does not."""
    import tg

    verdicts = {
        name: tg.check(program, backends=args.backend or None)
        for name, program in scripts.programs(args.file, args.names).items()
    }
    if args.json:
        show.as_json({name: one.as_records() for name, one in verdicts.items()})
    for name, one in verdicts.items() if not args.json else ():
        show.text(f"{name} = {one}")
    wanted = len(args.backend) or 1
    return 0 if all(len(one.runs) >= wanted for one in verdicts.values()) else 1
