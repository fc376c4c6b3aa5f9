"""Count the lines that additions cost, in a scratch clone: `python -m tests.costs [NAME ...]`.

additions.toml has them. One counts only if its checks pass in the clone. `--write` puts the table into CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- python -m tests.costs --write -->\n", "<!-- end of costs -->"
PLACE = re.compile(f"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)
SOURCES = (
    "core",
    "native",
    "conformance",
    "plugins/tg-c",
    "plugins/tg-numba",
    "plugins/tg-jax",
    "plugins/tg-torch",
    "plugins/tg-mlx",
)
ADDITIONS = tomllib.loads(Path(__file__).with_name("additions.toml").read_text())


def apply(edit: dict[str, str], clone: Path) -> None:
    """Put an edit's lines before the first line that begins as it says."""
    path = clone / edit["path"]
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith(edit["before"]))
    path.write_text("".join([*lines[:place], edit["lines"], *lines[place:]]))


def run(command: str, clone: Path) -> None:
    """Run a command of this environment on the sources of a clone."""
    paths = os.pathsep.join((*(str(clone / one / "src") for one in SOURCES), str(clone)))
    env = {**os.environ, "PYTHONPATH": paths, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=clone, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def cost(addition: dict[str, Any]) -> tuple[int, int]:
    """Files and lines of an addition whose checks pass."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "tg"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
        for edit in addition["edits"]:
            apply(edit, clone)
        changed = subprocess.run(
            ["git", "diff", "--numstat"], cwd=clone, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for command in (*addition["written"], *addition["checks"]):
            run(command, clone)
    return len(changed), sum(int(line.split()[0]) for line in changed)


def table(names: list[str]) -> str:
    """The costs as a table of Markdown."""
    rows = ((ADDITIONS[name], *cost(ADDITIONS[name])) for name in names)
    lines = [f"| {one['about']} | {files} | {lines} | {len(one['written'])} |\n" for one, files, lines in rows]
    return "".join(("| addition | files | lines | commands that write the rest |\n", "|---|---|---|---|\n", *lines))


def main() -> None:
    """Print the table, or put it into CONTRIBUTING.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ADDITIONS)}; all by default")
    parser.add_argument("--write", action="store_true", help="into CONTRIBUTING.md")
    options = parser.parse_args()
    text = table(options.names or list(ADDITIONS))
    sys.stdout.write(text)
    if options.write:
        PAGE.write_text(PLACE.sub(lambda _: text, PAGE.read_text()))


if __name__ == "__main__":
    main()
