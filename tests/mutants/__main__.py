"""Break every rule in every way and see whether its family's programs notice: `python -m tests.mutants [FAMILY ...]`.

A mutant that nothing kills is either right all the same, and then stands in `tests/mutants/reviewed.py` with the
reason, or shows a hole in the programs: then these are to be made better, not the list longer.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time

from tests.mutants import run
from tests.mutants.trial import UNSOUND, families


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("family", nargs="*", help="as the folders of rules: elementwise/arithmetic, indexing, softmax")
    parser.add_argument("--sample", type=float, default=1.0, help="the part of all mutants that is tried")
    parser.add_argument("--seed", type=int, default=0, help="which part that is")
    parser.add_argument("--only", default="", help="mutants whose key has this text")
    parser.add_argument("--search", type=float, default=3.0, help="seconds for programs that kill what survives")
    parser.add_argument("--tests", action="store_true", help="let unit tests and the replay corpus try what survives")
    parser.add_argument(
        "--allowed", type=float, default=0.0, help="the part that may survive: what nobody has read yet"
    )
    parser.add_argument("--show", action="store_true", help="show how each was killed")
    given = parser.parse_args()
    options = run.Options(
        sample=given.sample, seed=given.seed, only=given.only, tests=given.tests, search=given.search, show=given.show
    )
    known, rows, stale = families(), [], False
    survived = total = 0
    for name in given.family or known:
        started = time.perf_counter()
        found = run.of_family(name, known[name], options)
        rows.append(row(name, known[name], found, time.perf_counter() - started))
        for key, verdict in found.survivors:
            sys.stdout.write(f"  survived: {key}{'   [' + verdict.what + ']' if verdict.what else ''}\n")
        for key in found.stale:
            sys.stdout.write(f"  killed, but reviewed as equivalent: {key}\n")
            stale = True
        survived += len(found.survivors)
        total += len(found.killed) + len(found.form) + len(found.equivalent) + len(found.survivors)
        sys.stdout.write(rows[-1] + "\n")
        sys.stdout.flush()
    sys.stdout.write("\n".join(["", HEAD, *rows, ""]))
    for case, what in UNSOUND:
        sys.stdout.write(f"the rule itself: {case.rule.name}, {case.program.origin}: {what}\n")
    return 1 if stale or survived > given.allowed * total else 0


HEAD = f"{'family':26}{'rules':>6}{'mutants':>9}{'killed':>8}{'form':>6}{'equivalent':>12}{'survived':>10}  killed by"


def row(name, rules, found, seconds):
    how = collections.Counter(v.how for _, v in found.killed)
    ways = ", ".join(f"{k} {n}" for k, n in how.most_common())
    ends = [len(some) for some in (found.killed, found.form, found.equivalent, found.survivors)]
    counts = f"{len(rules):6}{sum(ends):9}" + "".join(f"{n:{w}}" for n, w in zip(ends, (8, 6, 12, 10), strict=True))
    return f"{name:26}{counts}  {ways} ({seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
