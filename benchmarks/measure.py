"""Child process: one engine, measured on the rows it is asked for; a line of JSON for each line of JSON it reads.

A question is a row's name and the seconds to measure for. The answer has the median and the least of the microseconds
a call; the first answer on a row also the seconds to the first result, where the engine had to compile for it, and a
checksum of the results. What goes wrong is answered too. The engine is imported, and has compiled a trivial function,
before the first question: that is measured by `start.py`. Calls have one processor, unless the engine's name says how
many threads; compilers that an engine starts have all.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from draws import DRAWS
from engines import compiled
from models import MODELS, Model, squares
from recurrences import LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
CALLS = 3  # in one answer, unless they take four times the seconds it has
WARM = Model(squares, lambda: [np.ones(3, "float32")])


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins with a cache line: JAX copies others at every call."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def checksum(outputs: Any) -> list[float]:
    """A number for each output that changes with any of its elements."""
    weights = np.cos(np.arange(1021))
    flat = [np.asarray(out, np.float64).ravel() for out in outputs]
    return [float(np.dot(out, np.resize(weights, out.size))) for out in flat]


def microseconds(call: Callable[..., Any], arrays: list[Any], seconds: float) -> dict[str, float]:
    """The median and the least of repeated calls."""
    taken: list[float] = []
    spent = 0.0
    while spent < seconds or (len(taken) < CALLS and spent < 4 * seconds):
        before = time.perf_counter()
        call(*arrays)
        taken.append(time.perf_counter() - before)
        spent += taken[-1]
    return {"run": 1e6 * float(np.median(taken)), "least": 1e6 * min(taken)}


class Measured:
    """The rows of one engine: one is at hand at a time; what was compiled serves rows that differ in length only."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.functions: dict[Any, Callable[..., Any]] = {}
        self.at_hand = ""
        self.arrays: list[Any] = []
        self.call: Callable[..., Any] = lambda: None

    def answer(self, name: str, seconds: float) -> dict[str, Any]:
        """Measure a row."""
        found = {} if name == self.at_hand else self.prepared(name)
        return found | microseconds(self.call, self.arrays, seconds)

    def prepared(self, name: str) -> dict[str, Any]:
        """Make a row's arrays, compile for it and call once."""
        self.at_hand, self.arrays = "", []
        gc.collect()
        model = (MODELS | LOOPS | DRAWS)[name]
        self.arrays = [aligned(a) for a in model.arrays()]
        key = (model.loss, model.wrt, model.batched, *(a.dtype for a in self.arrays))
        known = key in self.functions and not self.engine.startswith("limit")  # which is bound to its arrays
        before = time.perf_counter()
        with every_processor():
            self.call = self.functions[key] if known else compiled(self.engine, model, self.arrays)
        first = self.call(*self.arrays)
        taken = time.perf_counter() - before
        self.functions[key] = self.call
        self.at_hand = name
        found = {"checksum": checksum(first)}
        return found if known else found | {"compile": taken}


@contextlib.contextmanager
def every_processor() -> Iterator[None]:
    """Compilers that are started inside may run on all processors; calls, and threads made before, keep theirs."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, EVERY)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def serve(ready: Callable[[], Any]) -> None:
    """Answer until there is no more question; `ready` gives what does."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    sys.setrecursionlimit(100_000)  # PyTensor and JAX recurse
    measured = ready()
    for line in sys.stdin:
        try:
            found = measured.answer(*json.loads(line))
        except Exception as error:  # noqa: BLE001  # of any library
            found = {"error": f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]}
        print(json.dumps(found), file=answers, flush=True)


def _ready(engine: str) -> Measured:
    """The engine on one processor, imported; it has compiled a trivial function."""
    if hasattr(os, "sched_setaffinity") and "threads=" not in engine:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if not engine.startswith("limit"):
        compiled(engine, WARM, WARM.arrays())(*WARM.arrays())
    return Measured(engine)


if __name__ == "__main__":
    serve(lambda: _ready(sys.argv[1]))
