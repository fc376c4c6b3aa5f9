"""PyTensor's own tests with a mode of tg as the default one: `python run.py CHECKOUT TG_PERFORM TG_C`.

The tests are read from a checkout of PyTensor, which stays as it is; PyTensor itself is the release that is installed.
Each release and mode has a list of the tests that fail, each with its cause. A test that fails and is not on the list,
and one on the list that passes, end the run with an error. The tests that PyTensor's own implementations fail (mode
`PYTHON`, all with the cause "python") are left out of the count.
"""

from __future__ import annotations

import argparse
import collections
import functools
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
README = HERE / "README.md"
RELEASE = ".".join(importlib.metadata.version("pytensor").split(".")[:2])
LISTS = HERE / "lists" / RELEASE
MARKS = f"<!-- counts of {RELEASE} -->", f"<!-- end of counts of {RELEASE} -->"
LEFT_OUT = {
    "tests/assumptions/": "looks at facts that PyTensor infers",
    "tests/benchmarks/": "measures time",
    "tests/compile/debug/": "names its modes",
    "tests/compile/test_compilelock.py": "locks of folders",
    "tests/compile/test_debugmode.py": "names its modes",
    "tests/compile/test_monitormode.py": "names its modes",
    "tests/compile/test_nanguardmode.py": "names its modes",
    "tests/compile/test_profiling.py": "measures time",
    "tests/d3viz/": "draws graphs",
    "tests/graph/": "looks at graphs",
    "tests/link/": "names its modes",
    "tests/scan/test_printing.py": "prints graphs",
    "tests/tensor/linalg/test_deprecation_shim.py": "looks at names",
    "tests/tensor/linalg/test_doc_api.py": "reads documentation",
    "tests/test_config.py": "settings",
    "tests/test_printing.py": "prints graphs",
}
LATER = {  # files of a tag that import what later releases no longer have
    "3.3": ("tests/tensor/test_blas.py", "tests/tensor/test_blas_c.py"),
}
CAUSES = {
    "structure": "the test looks at nodes, at what works in place, or at what is shared in memory",
    "error": "an error comes with another text, class or place",
    "unsupported": "a form that does not convert yet, and that PyTensor does not get back",
    "declared": "tg's result is another one by declaration",
    "late": "more time than a test has",
    "python": "PyTensor's own Python implementations fail, too",
}
NOT_RUN = "not run"
UNSEEN = frozenset(("structure",))  # causes of tests that do not look at values


class Counts(NamedTuple):
    """Outcomes, in one mode, of the tests that PyTensor's own implementations pass."""

    passed: collections.Counter[str]
    """Numbers of tests that pass, by files."""
    causes: dict[str, collections.Counter[str]]
    """Numbers of tests that fail, by files and causes."""

    @classmethod
    def none(cls) -> Counts:
        """Those of no tests."""
        return cls(collections.Counter(), collections.defaultdict(collections.Counter))

    def cell(self, file: str) -> str:
        """What a table says of a file."""
        if file not in self.passed and file not in self.causes:
            return NOT_RUN
        causes = ", ".join(f"{n} {cause}" for cause, n in sorted(self.causes[file].items()))
        return f"{self.passed[file]}" + (f"; {causes}" if causes else "")

    def add(self, file: str, cell: str) -> None:
        """Take over what a table says of a file."""
        passed, _, causes = cell.partition("; ")
        self.passed[file] = int(passed)
        for part in filter(None, causes.split(", ")):
            n, cause = part.split()
            self.causes[file][cause] = int(n)

    def share(self) -> str:
        """The share of tests that pass among those that look at values."""
        passed = sum(self.passed.values())
        failed = sum(n for causes in self.causes.values() for cause, n in causes.items() if cause not in UNSEEN)
        return f"{passed} of {passed + failed}, {100 * passed / max(passed + failed, 1):.2f} %"


def files_of(checkout: Path) -> list[str]:
    """The files of a checkout that have tests of values: all but those of `LEFT_OUT` and `LATER`.

    Raises:
        SystemExit: the folder has none, or there are no lists of the release that is installed.
    """
    if not LISTS.is_dir():
        releases = ", ".join(sorted(folder.name for folder in LISTS.parent.iterdir()))
        raise SystemExit(f"found PyTensor {RELEASE}, needed one of which there are lists: {releases}")
    paths = sorted(path.relative_to(checkout).as_posix() for path in checkout.glob("tests/**/test_*.py"))
    if not paths:
        raise SystemExit(f"{checkout}: found no tests/**/test_*.py, needed a checkout of PyTensor {RELEASE}")
    out = (*LEFT_OUT, *LATER.get(RELEASE, ()))
    return [path for path in paths if not path.startswith(out)]


def expected(mode: str) -> dict[str, str]:
    """The causes by the ids of the tests that fail in a mode.

    Raises:
        SystemExit: a list has a cause that is none of `CAUSES`; a wrong value is none.
    """
    file = LISTS / f"{mode.lower().removeprefix('tg_')}.txt"
    lines = [line.split(maxsplit=1) for line in file.read_text().splitlines()] if file.exists() else []
    causes = {name: cause for cause, name in lines}
    if unknown := sorted(set(causes.values()) - CAUSES.keys()):
        raise SystemExit(f"{file}: found the causes {', '.join(unknown)}, needed those of {', '.join(CAUSES)}")
    return causes


def copied(checkout: Path, folder: Path) -> None:
    """Copy the tests out of a checkout, without its package `pytensor`, which would hide the one that is installed."""
    if folder.exists():
        return
    shutil.copytree(checkout / "tests", folder / "tests")
    shutil.copy(checkout / "conftest.py", folder)
    # PyTensor is strict: a test that it expects to fail by its C code may well pass here
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\nxfail_strict = false\n")


def outcomes(folder: Path, mode: str, file: str, *, runs: bool) -> dict[str, str]:
    """The outcomes of the tests of a file by their ids: read from the folder if it has them, else of a run.

    Raises:
        SystemExit: pytest itself does not get through.
    """
    results = folder / f"{mode}-{file.replace('/', '-')}.json"
    if not (runs or results.exists()):
        return {}
    if not results.exists():
        running = results.with_suffix(".running")
        running.unlink(missing_ok=True)
        running.touch()
        flags = f"base_compiledir={folder / 'compiled'}"
        settings = {
            "PEER_MODE": mode, "PEER_OUTCOMES": str(running), "PYTENSOR_FLAGS": flags, "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip
        options = ("-q", "-p", "peer_mode", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short")
        with results.with_suffix(".log").open("w") as log:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", file, *options],
                cwd=folder / "checkout",
                env={**os.environ, **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if run.returncode not in (0, 1, 5):  # 5: no test is left, such as where an optional package is not installed
            text = Path(log.name).read_text()[-3000:]
            raise SystemExit(f"{file} in {mode}: pytest ended with {run.returncode}\n{text}")
        running.rename(results)
    ended: dict[str, str] = {}
    for line in results.read_text().splitlines():
        name, _, outcome, *_ = json.loads(line)
        if ended.get(name) != "failed":
            ended[name] = outcome
    return ended


def counted(ended: dict[str, str], listed: dict[str, str]) -> Counts:
    """The counts of a mode, for the outcomes by ids and the causes of the tests that fail."""
    python = expected("PYTHON")
    counts = Counts.none()
    for name, outcome in ended.items():
        file, _ = name.split("::", 1)
        if outcome == "skipped" or name in python:
            counts.passed[file] += 0  # the file was run
        elif outcome == "failed":
            counts.causes[file][listed.get(name, "unlisted")] += 1
        else:
            counts.passed[file] += 1
    return counts


def surprises(mode: str, ended: dict[str, str]) -> list[str]:
    """The differences between the outcomes of the files that were run and the list of a mode."""
    files = {name.split("::")[0] for name in ended}
    listed = {name for name in expected(mode) if name.split("::")[0] in files}
    ignored = {} if mode == "PYTHON" else expected("PYTHON")
    failed = {name for name, outcome in ended.items() if outcome == "failed"}
    return [
        *(f"fails, not on the list: {name}" for name in sorted(failed - listed - ignored.keys())),
        *(f"is on the list and does not fail: {name}" for name in sorted(listed - failed)),
    ]


def table(modes: dict[str, Counts], files: list[str]) -> str:
    """The counts of all modes by files, and by causes."""

    def row(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    cells = {file: [counts.cell(file) for counts in modes.values()] for file in files}
    absent = [file for file in files if set(cells[file]) == {NOT_RUN}]
    rows = [["file", *modes], ["---"] * (1 + len(modes))]
    rows += [[named(file), *cells[file]] for file in files if file not in absent]
    seen = (sum(counts.cell(file) != NOT_RUN for file in files) for counts in modes.values())
    rows += [[f"files run, of {len(files)}", *map(str, seen)]]
    rows += [["passed of those that look at values", *(c.share() for c in modes.values())]]
    note = f"\n\nNot run in any of these modes: {', '.join(map(named, absent))}." if absent else ""
    return "\n".join(map(row, rows)) + note


def named(file: str) -> str:
    """The name of a file in a table."""
    return f"`{file.removeprefix('tests/')}`"


def written(modes: dict[str, Counts], files: list[str]) -> None:
    """Put the counts into the README, where files that were not run keep those that they have."""
    before, rest = README.read_text().split(MARKS[0])
    present, after = rest.split(MARKS[1])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in present.splitlines() if line.startswith("|")]
    counts = {name: modes.get(name, Counts.none()) for name in [*rows[0][1:], *modes]}
    for file in files:
        for name, *cells in rows:
            for mode, cell in zip(rows[0][1:], cells, strict=True):
                if name == named(file) and cell != NOT_RUN and counts[mode].cell(file) == NOT_RUN:
                    counts[mode].add(file, cell)
    README.write_text(f"{before}{MARKS[0]}\n{table(counts, files)}\n{MARKS[1]}{after}")


def main() -> int:
    """Run the files in the modes that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a folder of PyTensor's sources that has tests/")
    parser.add_argument("modes", nargs="*", default=["TG_PERFORM", "TG_C", "TG_NUMBA"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--files", nargs="*", help="some of the files alone")
    parser.add_argument("--keep", type=Path, help="a folder for outcomes: files that are done are not run again")
    parser.add_argument("--kept", action="store_true", help="count the outcomes in the folder, and run nothing")
    parser.add_argument("--readme", action="store_true", help="write the counts into the README")
    arguments = parser.parse_args()
    files = files_of(arguments.checkout)
    with tempfile.TemporaryDirectory(prefix="pytensor-tests-") as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.keep.resolve() if arguments.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        copied(arguments.checkout, folder / "checkout")
        ended: dict[str, dict[str, str]] = {}
        for mode in arguments.modes:
            run = functools.partial(outcomes, folder, mode, runs=not arguments.kept)
            parts = pool.map(run, arguments.files or files)
            ended[mode] = {name: outcome for part in parts for name, outcome in part.items()}
    counts = {mode: counted(tests, expected(mode)) for mode, tests in ended.items()}
    print(table(counts, files))
    if arguments.readme:
        written(counts, files)
    lines = [f"{mode}: {line}" for mode, tests in ended.items() for line in surprises(mode, tests)]
    print(*lines, sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
