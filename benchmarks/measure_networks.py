"""Child process: one engine on rows of networks; a line of JSON for each line of JSON it reads, as `measure.py`.

A question is a row's name and the seconds to measure for; all seconds are of a processor, so that other work counts
little. The first answer on a row has those to the first result (weights are drawn before, and handed to the engine
within; compilers that an engine starts count, and have all processors, where a call has one), a checksum, and the most
megabytes that a call has beyond what the process had when its library was imported and had run a trivial program.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import network_engines
import numpy as np
from measure import EVERY, every_processor, serve
from network_rows import NETWORKS, ROWS

import tg

if TYPE_CHECKING:
    from network_engines import Call

MODULES = {
    "torch": "torch",
    "torch channels_last": "torch",
    "jax": "jax",
    "mlx": "mlx.core",
    "onnxruntime": "onnxruntime",
}


def megabytes(key: str) -> float:
    """Of memory that is resident (VmRSS), or the most that has been (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key))) / 1024


def processor() -> float:
    """Seconds of processors so far, of this process and of the compilers that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def settle() -> None:
    """Give unused memory back and forget the most that has been resident."""
    gc.collect()
    tg.release_memory()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


class Measured:
    """One engine: a row is at hand at a time."""

    def __init__(self, engine: str) -> None:
        self.engine, self.at_hand = engine, ""
        self.call: Call = list
        begin(engine)
        settle()
        self.before = megabytes("VmRSS")

    def answer(self, name: str, seconds: float) -> dict[str, Any]:
        """Measure a row."""
        result = {} if name == self.at_hand else self.prepared(name)
        taken: list[float] = []
        while not taken or sum(taken) + min(taken) < seconds:
            start = time.process_time()
            self.call()
            taken.append(time.process_time() - start)
        return result | {"run": 1e6 * float(np.median(taken)), "least": 1e6 * min(taken)}

    def prepared(self, name: str) -> dict[str, Any]:
        """Compile a row, and call it twice."""
        self.at_hand, self.call = "", list
        row = ROWS[name]
        if row.network in NETWORKS:  # weights are drawn before
            network, drawn = NETWORKS[row.network], NETWORKS[row.network].weights(row.pixels)
            NETWORKS[row.network] = network._replace(weights=lambda pixels: drawn)
        start, used = time.perf_counter(), processor()
        with every_processor():
            self.call = network_engines.compiled(self.engine, row)
            first = self.call()
        taken = {"compile": processor() - used, "wall": time.perf_counter() - start}
        flat = [np.asarray(out, np.float64).ravel() for out in first if out is not None]
        NETWORKS.update({row.network: network} if row.network in NETWORKS else {})
        if row.network in NETWORKS:
            del drawn
        settle()
        self.call()
        memory = megabytes("VmHWM") - self.before
        self.at_hand = name
        return {"checksum": [float(v) for out in flat for v in out[:8]], **taken, "megabytes": memory}


def begin(engine: str) -> None:
    """Import what the engine needs, and compile a trivial program."""
    if engine in MODULES:
        importlib.import_module(MODULES[engine])
        if engine == "jax":
            import jax

            jax.jit(lambda x: x + 1)(1.0)
    elif engine.startswith("tg-"):
        x = tg.vector("x", "float32")
        tg.function([x], tg.sum(x * x), backend=engine.removeprefix("tg-").split()[0])(np.ones(3, np.float32))


def _ready(engine: str) -> Measured:
    """The engine on one processor."""
    if EVERY:
        os.sched_setaffinity(0, {max(EVERY)})
    return Measured(engine)


if __name__ == "__main__":
    serve(lambda: _ready(sys.argv[1]))
