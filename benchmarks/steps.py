"""Child process: seconds of a processor to the first result of n steps and their gradient, and memory; prints JSON.

Compilers that are started count too. A step is `y = sin(y) + x * i`, of vectors or of scalars.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from typing import Any

import engines
import numpy as np
from models import Model

ENGINES = {"jax": engines.jax, **{f"pytensor-{mode}": partial(engines.pytensor, mode) for mode in ("NUMBA", "CVM")}}
KINDS = {"vectors": np.linspace(-1.0, 1.0, 1000), "scalars": np.array(0.5)}


def steps(xp: Any, x: Any, count: int) -> Any:
    """The sum of what is left after so many steps."""
    y = x
    for k in range(count):
        y = xp.sin(y) + x * float(k)
    return xp.sum(y)


def spent() -> tuple[float, float]:
    """Seconds of this process and of those it has started, and the most megabytes that one of them took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used), max(one.ru_maxrss for one in used) / 1e3


if __name__ == "__main__":
    engine, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.setrecursionlimit(100_000)
    make = ENGINES.get(engine) or partial(engines.tg_backend, engine.removeprefix("tg-"))
    arrays = [KINDS[kind]]
    make(Model(partial(steps, count=1), lambda: arrays, (0,)), arrays)(*arrays)  # what is imported is not counted
    model = Model(partial(steps, count=count), lambda: arrays, (0,))
    (before, _), clock = spent(), time.perf_counter()
    found = make(model, arrays)(*arrays)
    after, memory = spent()
    wall = time.perf_counter() - clock
    checksum = [float(np.sum(a)) for a in found]
    print(json.dumps({"seconds": after - before, "wall": wall, "megabytes": memory, "checksum": checksum}))
