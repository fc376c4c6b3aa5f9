"""The worker process of a backend: `python -m tg_conformance.worker --backend NAME --tier TIER --journal FILE`.

It reads lines of JSON, each a list of ids, the number of a gap or the name of an option, from the standard input, and
answers each with a line of JSON, the list of their outcomes. Before anything is compiled or run, what it is goes into
the journal, with the reason of the gap past which it is tried: a process that died or hangs is known by its last line.
What backends print goes to a file beside it, where it is noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tg import plugin
from tg_conformance.case import ROUNDS, items, witnesses
from tg_conformance.options import tried
from tg_conformance.run import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_conformance.outcome import Outcome


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    args = _arguments()
    with args.journal.with_name("printed").open("ab") as printed:
        os.dup2(printed.fileno(), 1)
    os.environ["TG_REMEMBER"] = "false"  # tested is what rewriting makes now, not what it made once
    with args.journal.open("a") as journal:

        def note(ids: Sequence[str], gap: str = "") -> None:
            journal.write(json.dumps([gap, *ids]) + "\n")
            journal.flush()

        by_id = {item.id: item for item in items(plugin.registry().backend(args.backend), args.tier)}
        plugin.registry().linker(args.backend)  # what importing changes is no program's doing
        plugin.registry().rules(args.backend)
        runner = Runner(args.backend, note, args.option, rounds=ROUNDS[args.tier])
        _answer(answers, [])
        for line in sys.stdin:
            request = json.loads(line)
            if "gap" in request:
                outcomes = [runner.proof(request["gap"], witnesses(plugin.registry().backend(args.backend), args.tier))]
            elif "option" in request:
                outcomes = [tried(args.backend, request["option"])]
            else:
                outcomes = runner.run([by_id[name] for name in request["ids"]])
            _answer(answers, outcomes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tg_conformance.worker")
    parser.add_argument("--backend", required=True)
    parser.add_argument("--tier", required=True)
    parser.add_argument("--journal", required=True, type=Path)
    parser.add_argument("--option", action="append", default=[])
    return parser.parse_args()


def _answer(stream: IO[str], outcomes: Sequence[Outcome]) -> None:
    stream.write(json.dumps([list(one) for one in outcomes]) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
