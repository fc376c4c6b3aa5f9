"""Interrupt calls 20,000 times, by signals and at single instructions: `python -m tests.interrupts [COUNT] [WORD]`.

COUNT is divided among the ways of a call whose names have WORD in them; those that compile come on top. What is held or
torn raises.
"""

from __future__ import annotations

import sys
from time import perf_counter

from tests.interrupts.injected import EVERYWHERE, TURNS, inject, instructions
from tests.interrupts.paths import QUICK, SLOW
from tests.interrupts.signalled import interrupt


def main(count="20000", word=""):
    """Print for each way how many interrupts there were."""
    quick, slow = ({k: make for k, make in table.items() if word in k} for table in (QUICK, SLOW))
    share, whole = -(-int(count) // max(1, len(quick))), 0
    for name, make in {**quick, **slow}.items():
        began, way = perf_counter(), make()
        way.call()
        files = TURNS if name in slow else EVERYWHERE
        known = instructions(way.call, files)
        most = max(1, share // 2 if name in quick else share // 10)
        injected = inject(way, range(1, known + 1, max(1, known // most)), files)
        came = interrupt(way, share - injected) if name in quick else 0
        whole += injected + came
        seconds = perf_counter() - began
        sys.stdout.write(f"{name:<34}{injected:>7} of {known:>7} instructions {came:>7} signals {seconds:8.1f} s\n")
        sys.stdout.flush()
    sys.stdout.write(f"{whole} interrupts: none held, none torn\n")


main(*sys.argv[1:])
