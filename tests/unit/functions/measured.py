"""The peak of memory of calls on one backend, as the system has it, beside what the option `memory` says they need.

    python measured.py BACKEND    # a line for each program: the bytes that the error names, and those measured

glibc is told to give large blocks back at once, so that what is resident is what is alive.
"""

import re
import sys
from pathlib import Path

import numpy as np

import tg

COUNT = 1000
STATUS = re.compile(r"^Vm(HWM|RSS):\s+(\d+) kB", re.MULTILINE)
x, y = tg.matrix("x"), tg.matrix("y")
PROGRAMS = {
    "chain": tg.exp(x @ y).T @ x,
    "elements": [tg.sin(x) * y, tg.sum(tg.exp(x + y), axis=0)],
    "softmax": tg.softmax(x @ y) @ y,
    "gradient": tg.grad(tg.sum(tg.tanh(tg.tanh(x @ y) @ y)), y),
    "joined": tg.concatenate([x, y.T]),
}


def resident():
    """Most bytes and bytes now that the process has had in memory."""
    return {key: 1024 * int(count) for key, count in STATUS.findall(Path("/proc/self/status").read_text())}


def needed(function, arrays):
    """The bytes that the error of a call says it needs."""
    try:
        function(*arrays)
    except tg.LimitError as error:
        return int(re.search(r"a call needs (\d+)", str(error))[1])


def measured(function, arrays):
    function(*arrays)
    tg.release_memory()
    before = resident()["RSS"]
    Path("/proc/self/clear_refs").write_text("5")
    outputs = function(*arrays)
    most = resident()["HWM"]
    del outputs
    return most - before


if __name__ == "__main__":
    backend, *names = sys.argv[1:]
    rng = np.random.default_rng(1)
    arrays = rng.standard_normal((2, COUNT, COUNT)) / COUNT
    for name in names or PROGRAMS:
        refusing, allowing = (
            tg.function([x, y], PROGRAMS[name], backend=tg.backend(backend, memory=limit)) for limit in (1, 1 << 40)
        )
        print(name, needed(refusing, arrays), measured(allowing, arrays), flush=True)
