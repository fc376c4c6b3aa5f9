"""`tg demo`: two models on every backend, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("demo", help="a network and a hierarchical regression on every backend, side by side")
    command.add_argument("backends", nargs="*", help="only these (the reference is always run)")
    command.add_argument("--plots", type=Path, default=Path("reports"), help="the folder of the trace plots")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    from tg.demo.run import main

    return main(args.backends, args.plots)
