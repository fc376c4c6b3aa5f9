"""Run a part of what is tested, and keep what came out: `python -m tests.runs long --note quiet`.

docs/parts.toml has the parts. Each run is a line of docs/runs.jsonl, of which the page on runs is made. Arguments after
`--` are added to the command: `python -m tests.runs sampled -- tests/unit/nn`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import processor

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
PARTS, RUNS = ROOT / "docs/parts.toml", ROOT / "docs/runs.jsonl"
COUNTED = ("passed", "failed", "error", "skipped", "xfailed")
SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s")  # pytest's last line


def counts(lines: Iterable[str]) -> Counter[str]:
    """What pytest's summaries say together."""
    found: Counter[str] = Counter()
    for line in lines:
        summary = SUMMARY.match(re.sub(r"\x1b\[\d*m", "", line))
        for number, word in re.findall(r"(\d+) ([a-z]+)", summary[1]) if summary else ():
            found[word.removesuffix("s") if word == "errors" else word] += int(number)
    return found


def run(part: str, more: list[str], note: str) -> dict[str, Any]:
    """Run a part's command, shown as it goes on; what came out."""
    command = " ".join([tomllib.loads(PARTS.read_text())[part]["command"], *more])
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    path = f"{ROOT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    begin, lines = time.monotonic(), []
    with subprocess.Popen(
        command, shell=True, cwd=ROOT, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    code, found = process.returncode, counts(lines)
    return {
        "part": part,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": processor(),
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "green": code == 0,
        **{word: found[word] for word in COUNTED if found[word]},
        **({"arguments": " ".join(more)} if more else {}),
        **({"note": note} if note else {}),
    }


def main() -> int:
    """Run what the command line says, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=tomllib.loads(PARTS.read_text()))
    parser.add_argument("more", nargs="*", help="arguments for the command")
    parser.add_argument(
        "--note", default="", help="what the figures do not say: other work beside, what was mended since"
    )
    given = parser.parse_args()
    found = run(given.part, given.more, given.note)
    with RUNS.open("a") as file:
        file.write(json.dumps(found, ensure_ascii=False) + "\n")
    return 0 if found["green"] else 1


if __name__ == "__main__":
    sys.exit(main())
