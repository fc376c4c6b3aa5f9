"""`tg help`: the commands, or the options of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("help", help="this list, or the options of a command")
    command.add_argument("topic", nargs="?", metavar="COMMAND", help="the command to tell about")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the commands, or what one takes; 2 for one that there is none of."""
    import tg
    from tg.cli import parser, usage

    whole = parser()
    if args.topic is None:
        print(usage.overview(whole, tg.__version__))
        return 0
    commands = usage.choices(whole)
    if args.topic not in commands:
        whole.error(usage.unknown(args.topic, commands))
    print(commands[args.topic].format_help(), end="")
    return 0
