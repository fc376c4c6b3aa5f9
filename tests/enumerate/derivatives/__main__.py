"""Programs of kinks and tails at their hard points: every mode's derivatives against the hull of their limits.

    python -m tests.enumerate.derivatives --outputs 200000 --seed 0
    python -m tests.enumerate.derivatives --outputs 200000 --seed 0 --shard 0/2 --backend c --found reports/derivatives

The programs that are written down come first, then drawn ones, until so many derivatives have been looked at. Each
line of the report is one kind of fault of one program: how many entries, at how many points, by which modes, and the
first of them. Exit status 1 says that a finite number lies outside its hull, that NaN leaks from a branch, or that
modes disagree; NaN where a limit exists is counted.
"""

from __future__ import annotations

import argparse
import pickle
import re
import resource
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

from tests.enumerate.derivatives import judge as judging
from tests.enumerate.derivatives.catalog import fixed
from tests.enumerate.derivatives.drawn import drawn
from tests.enumerate.derivatives.judge import Seen, judge
from tests.enumerate.run import EndlessError, limited

ROOM = 3 << 30  # bytes of data
PAUSE = 60  # seconds between two times that limits are written down
PATIENCE = 240  # seconds of the processor for a program
SPAN = 10_000_000  # seeds of drawn programs for one seed of the command
SHORT = {
    "grad": "r",
    "jvp": "f",
    "grad of grad": "rr",
    "jvp of grad": "fr",
    "grad of jvp": "rf",
    "jvp of jvp": "ff",
    "reverse jacobian of grad": "Jr",
    "forward jacobian of grad": "Jf",
}
BAD = ("wrong", "infinite", "leak", "disagree", "asymmetric", "value", "raises", "time")
SHOWN = (*BAD, "digits", "nan", "undecided", "refused", "without a value")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.enumerate.derivatives")
    parser.add_argument("--outputs", type=int, default=200_000, help="entries of derivatives to look at")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="0/1", help="I/N: of n processes the i-th, from 0")
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--family", action="append", help="of the programs that are written down, these families")
    parser.add_argument("--drawn", action="store_true", help="drawn programs alone")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--found", type=Path, help="a folder for the programs with faults")
    parser.add_argument("--limits", type=Path, help="a file that keeps limits from run to run")
    return parser.parse_args()


def told(faults):
    """Lines of the faults of a program, one for each kind."""
    kinds: dict[str, list] = {}
    for fault in faults:
        kinds.setdefault(fault.kind, []).append(fault)
    for kind, some in kinds.items():
        modes = ",".join(name for mode, name in SHORT.items() if any(f.mode == mode for f in some))
        first = some[0]
        count, points = sum(f.count for f in some), len({f.point for f in some})
        yield f"{kind:10} {count:4} at {points} {modes:20} | {first.program.text} | {first.point} | {first.detail}"


def written(folder, faults):
    """One file for each program: its text, inputs, points and what was seen."""
    bad = [f for f in faults if f.kind in BAD]
    if not bad:
        return
    folder.mkdir(parents=True, exist_ok=True)
    program = bad[0].program
    name = re.sub(r"\W+", "_", program.family) + f"_{zlib.crc32(program.text.encode()):08x}.txt"
    lines = [program.text, repr(program.inputs), *dict.fromkeys(repr(f.point) for f in bad)]
    (folder / name).write_text("\n".join([*lines, *(f"# {line}" for line in told(bad)), ""]), encoding="utf-8")


def programs(given):
    shard, shards = map(int, given.shard.split("/"))
    if not given.drawn:
        for k, program in enumerate(fixed()):
            if k % shards == shard and (not given.family or program.family in given.family):
                yield program
    if given.family and not given.drawn:
        return
    for seed in range(given.seed * SPAN + shard, (given.seed + 1) * SPAN, shards):
        yield drawn(seed)


def table(seen):
    """Counts by family, and in all."""
    yield f"{'family':20} programs outputs " + " ".join(f"{what:>9.9}" for what in SHOWN)
    families = {**seen.counts, "in all": sum(seen.counts.values(), Counter())}
    for family, counts in families.items():
        numbers = " ".join(f"{counts[what]:9}" for what in SHOWN)
        yield f"{family:20} {counts['programs']:8} {counts['outputs']:7} {numbers}"


def main() -> int:
    given = arguments()
    resource.setrlimit(resource.RLIMIT_DATA, (ROOM, resource.RLIM_INFINITY))
    if given.limits and given.limits.exists():
        judging.KEPT.update(pickle.loads(given.limits.read_bytes()))
    started, seen, told_at = time.perf_counter(), Seen(), time.perf_counter()
    for program in programs(given):
        before = len(seen.faults)
        try:
            with limited(PATIENCE):
                judge(seen, program, given.backend)
        except EndlessError:
            seen.note("time", "", program, (), 1, f"not done after {PATIENCE} s")
        faults = seen.faults[before:]
        for line in told(faults):
            sys.stdout.write(f"{program.family}: {line}\n")
        sys.stdout.flush()
        if given.found:
            written(given.found, faults)
        now = time.perf_counter()
        is_done = seen.total("outputs") >= given.outputs or (given.minutes and now - started > 60 * given.minutes)
        if given.limits and (is_done or now - told_at > PAUSE):
            given.limits.write_bytes(pickle.dumps(judging.KEPT))
            told_at = now
        if is_done:
            break
    if given.limits:
        given.limits.write_bytes(pickle.dumps(judging.KEPT))
    sys.stdout.write("\n".join(table(seen)) + "\n")
    rate = seen.total("outputs") / max(time.perf_counter() - started, 1e-9)
    sys.stdout.write(f"{given.backend}, seed {given.seed}, shard {given.shard}: {rate:.0f} outputs a second\n")
    return 1 if any(seen.total(what) for what in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
