"""Look for programs that rewriting changes wrongly: `python -m tests.enumerate --outputs 20000 --seed 0`.

Every difference is printed with the least program that shows it, and the rewrite that did it. With `--found FOLDER`
each is written there too: in `tests/enumerate/found` it is run by every `make test` from then on.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import time
from pathlib import Path

from tests.enumerate.alphabet import families
from tests.enumerate.compiled import BATCH, compiled
from tests.enumerate.programs import kind
from tests.enumerate.run import FIRED, Run, drawn, listed
from tests.enumerate.truth import MISSING

BLOCK = 50  # programs of a family before the next one's
ROOM = 4 << 30  # bytes
PATIENCE = 120.0  # seconds for one of them
SIZE = 2  # letters of the programs that are all compared with --short


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.enumerate", description=__doc__)
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--outputs", type=int, default=20_000, help="how many to compare")
    parser.add_argument("--minutes", type=float, help="or how long to")
    parser.add_argument("--seed", type=int, default=0, help="a date, say")
    parser.add_argument("--family", choices=sorted(families()), action="append", help="all, if left out")
    parser.add_argument("--shard", default="0/1", help="i/n: of n processes the i-th, from 0")
    parser.add_argument("--short", action="store_true", help=f"every program of {SIZE} letters, in place of drawn ones")
    parser.add_argument("--found", type=Path, help="a folder for the programs that are found")
    parser.add_argument("--quick", action="store_true", help="do not look for the least program")
    parser.add_argument("--fired", action="store_true", help="say how many programs each rewrite fired in")
    return parser.parse_args()


def with_little_memory() -> None:
    """Let a program whose lengths multiply fail, as it may, before it takes the machine's memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))


def main() -> int:
    given = arguments()
    if given.backend in ("perform", "c", "numba"):  # other libraries reserve far more than they use
        with_little_memory()
    shard, shards = map(int, given.shard.split("/"))
    until = time.perf_counter() + given.minutes * 60 if given.minutes else None
    run = Run(shrinks=not given.quick, patience=PATIENCE)
    names = given.family or sorted(families())
    told = 0
    for work in (short if given.short else random_blocks)(given, names, shard, shards, until):
        work(run)
        for find in run.finds[told:]:
            tell(find, given.found)
        told = len(run.finds)
        if until is not None and time.perf_counter() > until:
            break
        if run.outputs >= given.outputs and until is None and not given.short:
            break
    if given.fired:
        for name, count in sorted(FIRED.items(), key=lambda one: one[1]):
            sys.stdout.write(f"{count:7} {name}\n")
    for op, count in MISSING.most_common():
        sys.stdout.write(f"not known to the oracle: {op}, {count} times\n")
    rate = run.outputs / max(run.seconds, 1e-9)
    kinds = ", ".join(f"{rule} ({kind}) {n}" for (rule, kind), n in run.again.most_common())
    sys.stdout.write(
        f"{given.backend}, seed {given.seed}, shard {given.shard}: {run.programs} programs, {run.outputs} outputs, "
        f"{rate:.0f} a second, {sum(run.again.values())} with differences{': ' if kinds else ''}{kinds}\n"
    )
    return 1 if run.again else 0


def random_blocks(given, names, shard, shards, until):
    """Pieces of work without end: a block of each family in turn."""
    first = given.seed * 1_000_000_007 % (1 << 40)
    block = shard
    while True:
        for name in names:
            seeds = range(first + block * BLOCK, first + (block + 1) * BLOCK)
            if given.backend == "perform":
                yield lambda run, name=name, seeds=seeds: drawn(run, name, seeds, until)
            else:
                for k in range(0, BLOCK, BATCH):
                    yield lambda run, name=name, part=seeds[k : k + BATCH]: compiled(run, name, part, given.backend)
        block += shards


def short(given, names, shard, shards, until):
    """Every short program of each family and dtype."""
    for name in names:
        for dtype in dict.fromkeys(families()[name].dtypes):
            if kind(dtype) in "fiucb":
                yield lambda run, name=name, dtype=dtype: listed(run, name, dtype, SIZE, (shard, shards), until)


def tell(find, folder):
    """Print a find, and write it down."""
    sys.stdout.write(f"--- {find.seed}\n{find.text}\n")
    sys.stdout.flush()
    if folder is not None and find.fault.kind != "time":
        folder.mkdir(parents=True, exist_ok=True)
        rule = re.sub(r"\W+", "_", find.fault.rule if find.fault.rule != "?" else find.fault.kind)
        place = next(p for n in range(1000) if not (p := folder / f"{rule}{f'_{n}' if n else ''}.tg").exists())
        place.write_text(find.text)


if __name__ == "__main__":
    sys.exit(main())
