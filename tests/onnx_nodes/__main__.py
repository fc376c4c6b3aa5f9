"""`python -m tests.onnx_nodes --backend c`: how many of ONNX's tests of nodes each backend gives right."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from tests.onnx_nodes.cases import collect
from tests.onnx_nodes.outcomes import FAILED, WRONG, outcome
from tests.onnx_nodes.results import Results, write_results, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.onnx_nodes.cases import Case

BACKENDS = ("perform", "c", "numba", "jax", "torch", "mlx")


def tell(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(cases: Sequence[Case], backend: str, *, names: bool) -> Results:
    """Run cases, and tell counts and causes."""
    results, start = Results(), time.perf_counter()
    for case in cases:
        result = outcome(case, backend)
        results.add(case, result)
        if result.kind in (WRONG, FAILED):
            tell(f"{result.kind}: {case.name}: {result.cause}")
    for (kind, cause), affected in sorted(results.causes.items(), key=lambda entry: -len(entry[1])):
        tell(f"{len(affected):5} {kind}: {cause}")
        if names:
            tell("      " + " ".join(affected))
    tell(f"{backend}: {results.summary()}; {time.perf_counter() - start:.0f} s")
    return results


def main() -> int:
    """Run the cases that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_nodes", description=__doc__)
    parser.add_argument("--backend", default="perform", help="a backend's name, or all")
    parser.add_argument("--part", default="", help="only cases whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="each n-th case")
    parser.add_argument("--names", action="store_true", help="name the cases of each cause")
    parser.add_argument("--write", action="store_true", help="keep what came of the cases, and write the page's table")
    options = parser.parse_args()
    cases = [c for c in collect() if options.part in c.name][:: options.every]
    failures = 0
    for backend in BACKENDS if options.backend == "all" else [options.backend]:
        results = run(cases, backend, names=options.names)
        failures += results.failures
        if options.write and not options.part:
            write_results(backend, results)
            write_table()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
