"""Child process: one model on one engine; prints JSON: seconds to the first result, microseconds a call, a checksum.

The engine is imported, and has compiled a trivial function, before the clock starts: that is measured by `start.py`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from engines import compiled
from models import MODELS, Model

BUDGET = 1.0  # seconds of repeated calls


def checksum(outputs: Any) -> list[float]:
    """A number for each output that changes with any of its elements."""
    return [
        float(np.sum(np.asarray(out, np.float64) * np.cos(np.arange(np.size(out))).reshape(np.shape(out))))
        for out in outputs
    ]


def microseconds(call: Any, arrays: list[Any]) -> float:
    """The median of repeated calls."""
    taken: list[float] = []
    until = time.perf_counter() + BUDGET
    while len(taken) < 5 or (time.perf_counter() < until and len(taken) < 10_000):
        before = time.perf_counter()
        call(*arrays)
        taken.append(time.perf_counter() - before)
    return 1e6 * float(np.median(taken))


def main(name: str, engine: str) -> dict[str, Any]:
    """Measure."""
    sys.setrecursionlimit(100_000)  # PyTensor and JAX recurse
    warm = Model(lambda xp, x: xp.sum(x + 1.0), lambda: [np.ones(3)])
    compiled(engine, warm, warm.arrays())(np.ones(3))
    model = MODELS[name]
    arrays = model.arrays()
    before = time.perf_counter()
    call = compiled(engine, model, arrays)
    first = call(*arrays)
    return {"compile": time.perf_counter() - before, "run": microseconds(call, arrays), "checksum": checksum(first)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
