"""Compare many random programs with what they were before rewriting: `python -m tests.fuzz --backend c --graphs 5000`.

Every difference is printed with the least program that shows it and the seed that leads to it.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.search import ALL, search

BLOCK = 100  # programs that one seed stands for


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first block of programs")
    parser.add_argument(
        "--check", choices=sorted(ALL), action="append", help="what to compare; all that fits, if left out"
    )
    parser.add_argument("--quick", action="store_true", help="do not look for the least program")
    given = parser.parse_args()
    started, count, differences = time.perf_counter(), 0, 0
    seed = given.seed
    while count < given.graphs:
        size = min(BLOCK, given.graphs - count)
        found = search(given.backend, size, seed, checks=given.check, shrink=not given.quick)
        count += found.programs
        if found.error is not None:
            differences += 1
            sys.stdout.write(f"--- seed {seed}: {found.error}\n")
        seed += 1
        if seed % 10 == 0 or count >= given.graphs:
            rate = (time.perf_counter() - started) / max(count, 1)
            sys.stdout.write(f"{count} programs, {differences} with differences, {rate * 1e3:.0f} ms each\n")
        sys.stdout.flush()
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
