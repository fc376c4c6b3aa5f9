"""`python -m tests.onnx_nodes --backend c`: how many of ONNX's tests of nodes each backend gives right."""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict

from tests.onnx_nodes.cases import collect
from tests.onnx_nodes.outcomes import FAILED, RIGHT, WRONG, outcome


def tell(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run cases, and print counts and causes."""
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_nodes", description=__doc__)
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--part", default="", help="only cases whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="each n-th case")
    parser.add_argument("--names", action="store_true", help="name the cases of each cause")
    options = parser.parse_args()
    cases = [c for c in collect() if options.part in c.name][:: options.every]
    kinds: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    causes: dict[tuple[str, str], list[str]] = defaultdict(list)
    fixed = 0
    for case in cases:
        result = outcome(case, options.backend)
        kinds[case.has_own_types][result.kind] += 1
        fixed += bool(result.kind == RIGHT and result.values)
        if result.kind != RIGHT:
            causes[result.kind, result.cause].append(case.name)
        if result.kind in (WRONG, FAILED):
            tell(f"{result.kind}: {case.name}: {result.cause}")
    for (kind, cause), names in sorted(causes.items(), key=lambda entry: -len(entry[1])):
        tell(f"{len(names):5} {kind}: {cause}")
        if options.names:
            tell("      " + " ".join(names))
    for own, label in ((True, "types that tg has"), (False, "other types")):
        total = sum(kinds[own].values())
        tell(f"{label}: {kinds[own][RIGHT]} of {total} right; {dict(kinds[own])}")
    total = sum(sum(k.values()) for k in kinds.values())
    right = kinds[True][RIGHT] + kinds[False][RIGHT]
    tell(f"{options.backend}: {right} of {total} right, {100 * right / max(total, 1):.1f} %, {fixed} with fixed inputs")
    return 1 if any(k[WRONG] + k[FAILED] for k in kinds.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
