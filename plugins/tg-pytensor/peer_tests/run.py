"""PyTensor's own tests with a mode of tg as the default one: `python run.py TG_PERFORM TG_C`.

Each mode has a list of the tests that fail in it, each with its cause. A test that fails and is not on the list, and
one on the list that passes, end the run with an error. What PyTensor's own implementations fail at (`PYTHON`, whose
list has no causes) is left out of the count.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ARCHIVE = HERE / "pytensor-2.38.3-tests.tar.gz"
FOLDER = "pytensor-2.38.3"
README = HERE / "README.md"
MARKS = "<!-- counts -->", "<!-- end of counts -->"
FILES = (HERE / "files.txt").read_text().split()
CAUSES = {
    "structure": "the test looks at nodes, at what works in place, or at what is shared in memory",
    "error": "an error comes with another text, class or place",
    "unsupported": "a form that does not convert yet, and that PyTensor does not get back",
    "declared": "tg's result is another one by declaration",
    "late": "more time than a test has",
    "python": "PyTensor's own Python implementations fail, too",
}
UNSEEN = frozenset(("structure",))  # causes of tests that do not look at values


class Counts(NamedTuple):
    """What became of the tests of a mode that PyTensor's own implementations pass."""

    passed: dict[str, int]
    """How many pass, by files."""
    causes: dict[str, collections.Counter[str]]
    """How many fail, by files and causes."""

    def share(self) -> str:
        """How many of those that look at values pass."""
        passed = sum(self.passed.values())
        failed = sum(n for causes in self.causes.values() for cause, n in causes.items() if cause not in UNSEEN)
        return f"{passed} of {passed + failed}, {100 * passed / max(passed + failed, 1):.2f} %"


def expected(mode: str) -> dict[str, str]:
    """The causes by the ids of the tests that fail in a mode.

    Raises:
        SystemExit: a list has a cause that is none of `CAUSES`; a wrong value is none.
    """
    file = HERE / f"expected_failures_{mode.lower().removeprefix('tg_')}.txt"
    lines = [line.split(maxsplit=1) for line in file.read_text().splitlines()] if file.exists() else []
    found = {name: cause for cause, name in lines}
    if unknown := sorted(set(found.values()) - CAUSES.keys()):
        raise SystemExit(f"{file}: found the causes {', '.join(unknown)}, needed those of {', '.join(CAUSES)}")
    return found


def outcomes(folder: Path, mode: str, file: str, *, runs: bool) -> dict[str, str]:
    """What became of the tests of a file, by their ids: what the folder has, or what a run finds.

    Raises:
        SystemExit: pytest itself does not get through.
    """
    found = folder / f"{mode}-{file.replace('/', '-')}.json"
    if not (runs or found.exists()):
        return {}
    if not found.exists():
        running = found.with_suffix(".running")
        running.unlink(missing_ok=True)
        flags = f"base_compiledir={folder / 'compiled'}"
        given = {"PEER_MODE": mode, "PEER_OUTCOMES": str(running), "PYTENSOR_FLAGS": flags, "OPENBLAS_NUM_THREADS": "1"}
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        options = ("-q", "-p", "peer_mode", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short")
        with found.with_suffix(".log").open("w") as log:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", file, *options],
                cwd=folder / FOLDER,
                env={**os.environ, **given, "PYTHONPATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if run.returncode not in (0, 1):
            raise SystemExit(
                f"{file} in {mode}: pytest ended with {run.returncode}\n{Path(log.name).read_text()[-3000:]}"
            )
        running.rename(found)
    ended: dict[str, str] = {}
    for line in found.read_text().splitlines():
        name, _, outcome, *_ = json.loads(line)
        if ended.get(name) != "failed":
            ended[name] = outcome
    return ended


def counted(ended: dict[str, str], known: dict[str, str]) -> Counts:
    """The counts of a mode, for the outcomes by ids and the causes of those that fail."""
    python = expected("PYTHON")
    asked = [name for name, outcome in ended.items() if outcome != "skipped" and name not in python]
    found = Counts(dict.fromkeys(FILES, 0), {file: collections.Counter() for file in FILES})
    for name in asked:
        file, _ = name.split("::", 1)
        if ended[name] == "failed":
            found.causes[file][known.get(name, "unlisted")] += 1
        else:
            found.passed[file] += 1
    return found


def surprises(mode: str, ended: dict[str, str]) -> list[str]:
    """How the outcomes of the files that were run differ from what the list of a mode says."""
    files = {name.split("::")[0] for name in ended}
    known = {name for name in expected(mode) if name.split("::")[0] in files}
    ignored = {} if mode == "PYTHON" else expected("PYTHON")
    failed = {name for name, outcome in ended.items() if outcome == "failed"}
    return [
        *(f"fails, not on the list: {name}" for name in sorted(failed - known - ignored.keys())),
        *(f"is on the list and does not fail: {name}" for name in sorted(known - failed)),
    ]


def table(modes: dict[str, Counts]) -> str:
    """The counts of all modes by files, and by causes."""

    def row(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def cell(counts: Counts, file: str) -> str:
        if not counts.passed[file] and not counts.causes[file]:
            return "not run"
        causes = ", ".join(f"{n} {cause}" for cause, n in sorted(counts.causes[file].items()))
        return f"{counts.passed[file]}" + (f"; {causes}" if causes else "")

    rows = [["file", *modes], ["---"] * (1 + len(modes))]
    rows += [[f"`{file.removeprefix('tests/')}`", *(cell(c, file) for c in modes.values())] for file in FILES]
    rows += [["passed of those that look at values", *(c.share() for c in modes.values())]]
    causes = [f"* *{cause}*: {text}" for cause, text in CAUSES.items()]
    return "\n".join([*map(row, rows), "", *causes])


def written(text: str) -> None:
    """Put the counts into the README."""
    before, rest = README.read_text().split(MARKS[0])
    _, after = rest.split(MARKS[1])
    README.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")


def main() -> int:
    """Run the files in the modes that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modes", nargs="*", default=["TG_PERFORM", "TG_C", "TG_NUMBA"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--files", nargs="*", default=FILES, help="some of the files alone")
    parser.add_argument("--keep", type=Path, help="a folder for what was found: files that are done are not run again")
    parser.add_argument("--kept", action="store_true", help="count what the folder has, and run nothing")
    parser.add_argument("--readme", action="store_true", help="write the counts into the README")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytensor-tests-") as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.keep.resolve() if arguments.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / FOLDER / "pyproject.toml"
        if not settings.exists():
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(folder, filter="data")
            # PyTensor is strict: what it expects to fail by its C code may well pass here
            settings.write_text("[tool.pytest.ini_options]\nxfail_strict = false\n")
        found: dict[str, dict[str, str]] = {}
        for mode in arguments.modes:
            parts = pool.map(functools.partial(outcomes, folder, mode, runs=not arguments.kept), arguments.files)
            found[mode] = {name: outcome for part in parts for name, outcome in part.items()}
    counts = table({mode: counted(ended, expected(mode)) for mode, ended in found.items()})
    print(counts)
    if arguments.readme:
        written(counts)
    lines = [f"{mode}: {line}" for mode, ended in found.items() for line in surprises(mode, ended)]
    print(*lines, sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
