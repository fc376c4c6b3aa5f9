"""`tg conformance`: the suite of tg-conformance, in a process of its own; core only finds it.

The exit status is pytest's: 0 if every case passed or failed as declared, 1 if one failed, 5 if none was chosen.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("conformance", help="compare backends with the reference (tg-conformance)")
    command.add_argument("--backend", action="append", default=[], help="only this one; may be repeated")
    command.add_argument("--tier", choices=("sparse", "quick", "full"), default="quick")
    command.add_argument("--mode", help="how functions are rewritten: strict, finite, off, …; as configured by default")
    command.add_argument(
        "--exclude", action="append", default=[], help="a rule, a pass or a class that is left out; may be repeated"
    )
    command.add_argument(
        "--backend-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the backends, such as threads=2; may be repeated",
    )
    command.add_argument("-k", metavar="WORDS", help="only the cases whose names match, as pytest's -k")
    command.add_argument("--every", type=int, metavar="N", help="every N-th batch of cases alone; all by default")
    command.add_argument("--jobs", "-n", default="auto", help="worker processes, where pytest-xdist is installed")
    command.add_argument("--html", metavar="FILE", help="write the report as a page: case x dtype x backend, failures")
    command.add_argument("--report", metavar="FILE", help="write it as JSON, an entry for each case and dtype")
    command.add_argument("--junit", metavar="FILE", help="write it as JUnit's XML, for continuous integration")
    command.add_argument("--certify", metavar="FILE", help="run all of one backend, and write its certificate")
    command.add_argument(
        "--variable",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable that --certify keeps and writes down",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the suite with pytest.

    Raises:
        InputError: the kit is not installed.
        BackendUnavailable: nor is a backend that is asked for.
    """
    from tg import plugin

    for name in args.backend:
        plugin.registry().backend(name)
    spec = importlib.util.find_spec("tg_conformance")
    if spec is None or spec.origin is None:
        raise InputError(
            message("the suite is a distribution of its own, and not installed", hint="pip install tg-conformance")
        )
    if args.certify:
        certify = [sys.executable, "-m", "tg_conformance.certify"]
        return subprocess.run([*certify, "--tier", args.tier, *options(args)], check=False).returncode
    suite = Path(spec.origin).with_name("suite")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tg_conformance", str(suite)]
    return subprocess.run([*command, "--tier", args.tier, *options(args)], check=False).returncode


def options(args: argparse.Namespace) -> list[str]:
    """The options of the command as pytest's options."""
    chosen = [word for name in args.backend for word in ("--backend", name)]
    chosen += [word for name in args.exclude for word in ("--exclude", name)]
    chosen += [word for name in args.variable for word in ("--variable", name)]
    chosen += [word for option in args.backend_option for word in ("--backend-option", option)]
    if args.mode:
        chosen += ["--mode", args.mode]
    if args.k:
        chosen += ["-k", args.k]
    if args.every is not None:
        chosen += ["--every", str(args.every)]
    if importlib.util.find_spec("xdist") is not None:
        chosen += ["-n", args.jobs, "--dist", "loadgroup"]
    files = {"--conformance-html": args.html, "--conformance-report": args.report, "--junitxml": args.junit}
    files["--certify"] = args.certify
    return [*chosen, *(word for option, file in files.items() if file for word in (option, file))]
