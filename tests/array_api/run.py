"""The array API's own suite on `tg.eager`, from a checkout of it, beside lists of the cases that fail.

    python tests/array_api/run.py /path/to/array-api-tests perform c

`lists/all.txt` has what fails on every backend, `lists/BACKEND.txt` what fails on one more, each with its cause. Both
hold in both directions: a case that fails and is on no list, and one on a list that passes or is not there, end the run
with an error; only where the cause begins with "drawn:" does it depend on the numbers that hypothesis draws whether a
case fails. Where it begins with "allowed:" the standard leaves libraries another result, which the suite does not know.
`numpy` in place of a backend runs NumPy itself. No file of the suite is kept here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "2025.12"
NUMPY = "numpy"
DRAWN, ALLOWED = "drawn:", "allowed:"
BACKENDS = ("perform", "c", "numba", "jax", "torch", "mlx")
PACKAGES = ("hypothesis", "ndindex", "pytest_jsonreport")


def expected(backend):
    """The cases that fail, by id, each with its cause."""
    causes = {}
    for path in (HERE / "lists/all.txt", HERE / f"lists/{backend}.txt"):
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                case, _, cause = line.partition("  # ")
                if not cause:
                    raise SystemExit(
                        f"{path.name}: {case}: found no cause, needed two spaces, # and one behind the case"
                    )
                causes[case] = cause
    return causes


def outcomes(suite, backend, options):
    """The outcome of each case on a backend, by id."""
    made = "import numpy as xp" if backend == NUMPY else f'import tg; xp = tg.eager("{backend}", background=False)'
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as file:
        environment = {
            **os.environ,
            "ARRAY_API_TESTS_MODULE": f"exec('{made}')",
            "ARRAY_API_TESTS_VERSION": VERSION,
            "PYTHONPATH": str(HERE),
            "TG_OUTCOMES": file.name,
        }
        command = [sys.executable, "-m", "pytest", "-p", "outcomes", "-p", "no:cacheprovider", "-q", "--no-header"]
        command += ["--disable-deadline", "--derandomize", f"--max-examples={options.examples}", "--tb=no"]
        command += ["-W", "ignore", *(["-k", options.k] if options.k else []), "array_api_tests"]
        subprocess.run(
            command, cwd=suite, env=environment, check=False, stdout=None if options.verbose else subprocess.PIPE
        )
        lines = [line.split(" ", 1) for line in file.read().splitlines()]
    return {case: outcome for outcome, case in lines}


def judged(backend, results, *, whole):
    """Mistakes of the lists: what they do not say, and what is not so."""
    causes = expected(backend)
    failed = {case for case, outcome in results.items() if outcome == "failed"}
    mistakes = [f"fails and is on no list: {case}" for case in sorted(failed - causes.keys())]
    if backend == NUMPY:
        return []
    for case in sorted(causes.keys() - failed):
        if case in results and causes[case].startswith(DRAWN):
            continue
        if case in results:
            mistakes.append(f"is on a list and {results[case]}: {case}")
        elif whole:
            mistakes.append(f"is on a list and not in the suite: {case}")
    return mistakes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", type=Path, help="a checkout of data-apis/array-api-tests with its submodule")
    parser.add_argument("backends", nargs="*", default=BACKENDS)
    parser.add_argument("--examples", type=int, default=20, help="that hypothesis draws for a case")
    parser.add_argument("-k", help="the cases to run, as pytest selects them")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if not (options.suite / "array_api_tests").is_dir() or not any((options.suite / "array-api").iterdir()):
        raise SystemExit(f"found {options.suite}, needed a checkout of array-api-tests with its submodule array-api")
    missing = [
        name for name in PACKAGES if subprocess.run([sys.executable, "-c", f"import {name}"], check=False).returncode
    ]
    if missing:
        raise SystemExit(f"needed {', '.join(missing)}: pip install -r {options.suite}/requirements.txt")
    is_wrong = False
    print("| backend | passed | failed | of these allowed | skipped | as the standard has it |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for backend in options.backends:
        results = outcomes(options.suite.resolve(), backend, options)
        count = Counter(results.values())
        causes = expected(backend)
        allowed = sum(one.startswith(ALLOWED) and results.get(case) == "failed" for case, one in causes.items())
        share = (count["passed"] + allowed) / max(1, count["passed"] + count["failed"])
        row = (backend, f"{count['passed']:,}", count["failed"], allowed, count["skipped"], f"{share:.1%}")
        print(f"| {' | '.join(map(str, row))} |", flush=True)
        mistakes = judged(backend, results, whole=options.k is None)
        is_wrong |= bool(mistakes) or not results
        print("".join(f"{backend}: {mistake}\n" for mistake in mistakes), end="", file=sys.stderr, flush=True)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
