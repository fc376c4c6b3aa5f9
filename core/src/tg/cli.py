"""The command line: `tg demo`, `tg backends`, `tg doctor`, `tg conformance`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 if all is well."""
    parser = argparse.ArgumentParser(prog="tg", description="Compile array programs.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="train a network on every backend, side by side")
    demo.add_argument("backends", nargs="*", help="only these (the reference is always run)")
    kit = commands.add_parser("conformance", help="compare backends with the reference (tg-conformance)")
    kit.add_argument("--backend", action="append", default=[], help="only this one; may be repeated")
    kit.add_argument("--tier", choices=("quick", "full"), default="quick")
    for name, text in (
        ("backends", "what is installed, and what would mend the rest"),
        ("doctor", "what tg finds here"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--json", action="store_true", help="for machines to read")
    given = parser.parse_args(arguments)
    if given.command == "demo":
        from tg.demo.run import main as run_demo

        return run_demo(given.backends)
    if given.command == "conformance":
        return _conformance(given.backend, given.tier)
    return _backends(given.json) if given.command == "backends" else _doctor(given.json)


def _conformance(backends: Sequence[str], tier: str) -> int:
    """Run the suite with pytest in a process of its own; the kit is found by name, core does not import it."""
    found = importlib.util.find_spec("tg_conformance")
    if found is None or found.origin is None:
        print("the suite is a distribution of its own: pip install tg-conformance")
        return 1
    suite = Path(found.origin).with_name("suite")
    chosen = [word for name in backends for word in ("--backend", name)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tg_conformance", str(suite), "--tier", tier, *chosen]
    return subprocess.run(command, check=False).returncode


def _statuses() -> list[dict[str, Any]]:
    import tg

    return [
        {
            "name": b.name,
            "aliases": list(b.aliases),
            "distribution": b.distribution,
            "version": b.version,
            "state": b.state,
            "reason": b.reason,
            "remedy": b.remedy,
        }
        for b in tg.backends()
    ]


def _backends(as_json: bool) -> int:
    rows = _statuses()
    if as_json:
        print(json.dumps(rows, indent=2))
        return 0
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for title in ("backend", "distribution", "version", "state", "why", "remedy"):
        table.add_column(title, overflow="fold")  # in a narrow terminal a remedy is folded, never cut off
    for row in rows:
        name = row["name"] + "".join(f" ({a})" for a in row["aliases"])
        cells = [str(row[k] or "") for k in ("distribution", "version", "state", "reason", "remedy")]
        table.add_row(*map(escape, (name, *cells)))
    console = Console()
    console.print(table)
    _problems(console, rows)
    return 0


def _problems(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """What is wrong with plugins that the table does not tell: they provide no backend, or hooks failed."""
    from tg import plugin

    told = {row["reason"] for row in rows}
    for problem in plugin.registry().problems():
        if problem.reason not in told:
            console.print(str(problem), markup=False, highlight=False)


def _doctor(as_json: bool) -> int:
    import numpy as np

    import tg
    from tg import plugin

    name, why = plugin.registry().default_backend()
    facts = {
        "tg": tg.__version__,
        "python": f"{platform.python_version()} at {sys.executable}",
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        'backend "auto"': f"{name}: {why}",
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "not set"),
    }
    if as_json:
        problems = [str(p) for p in plugin.registry().problems()]
        print(json.dumps({**facts, "backends": _statuses(), "problems": problems}, indent=2))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in facts.items():
        table.add_row(key, value)
    Console().print(table)
    return _backends(as_json=False)


if __name__ == "__main__":
    sys.exit(main())
