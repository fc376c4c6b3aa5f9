"""`tg explain`: what rewriting makes of the programs of a script, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import scripts, show

if TYPE_CHECKING:
    import argparse

    from tg.functions.explanation import Explanation


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("explain", help="what rewriting makes of a script's programs, with lines and reasons")
    scripts.add_arguments(command, "the programs to be explained")
    command.add_argument("--text", action="store_true", help="the program before and after in place of the reasons")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the explanations."""
    import tg

    explained = {name: tg.explain(one) for name, one in scripts.programs(args.file, args.names).items()}
    if args.json:
        show.as_json({name: as_record(one) for name, one in explained.items()})
        return 0
    for name, one in explained.items():
        show.text(f"{name} = {one}" if not args.text else f"{name} =\n{one.before}\n{one.after()}".rstrip())
    return 0


def as_record(one: Explanation) -> dict[str, Any]:
    """An explanation, as JSON has it."""
    return {
        "backend": one.backend,
        "mode": one.mode,
        "before": one.before,
        "after": one.after(),
        "counts": one.counts,
        "nodes": [
            {
                "was": story.was,
                "became": story.became,
                "at": None if story.loc is None else {"file": story.loc.file, "line": story.loc.line},
                "steps": [str(step) for step in story.steps],
            }
            for story in one.nodes
        ],
    }
