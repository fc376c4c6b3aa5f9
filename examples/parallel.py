"""Training with data parallelism, in as many processes as torchrun starts:

    torchrun --nproc-per-node 2 examples/parallel.py --weights FILE --steps 20

Each process reads all batches and computes with its part of each. Weights and the optimizer's state are the same in all
processes; the first one writes them to FILE after each step, from which another start goes on.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
from pathlib import Path
from typing import Any

import numpy as np
from torch import distributed

import tg

BATCH = 32


def network(mesh: tg.Mesh) -> tuple[Any, dict[str, Any]]:
    """A step of training of a small network, and the shared variables that it changes."""
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(4, 16), tg.tanh, tg.nn.Dense(16, 1)), tg.random.key(0))
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float32")
    loss = tg.mean((model(tg.shard(x, "data", None)) - y) ** 2)
    updates = tg.optimize.adamw(loss, tg.nn.params(model), learning_rate=0.01)
    step = tg.function([x, y], loss, updates=updates, backend=tg.backend("torch", mesh=mesh))
    return step, {f"{k}": variable for k, variable in enumerate(updates)}


def batch(number: int) -> tuple[Any, Any]:
    """The batch of a step, the same in each process."""
    x = np.random.default_rng(number).normal(size=(BATCH, 4)).astype("float32")
    return x, np.sin(x.sum(axis=1, keepdims=True))


def main() -> None:
    """Train from where the file ends to so many steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a process that waits gives up")
    parser.add_argument("--dies", type=int, default=-1, help="step at which the last process ends, for a test")
    options = parser.parse_args()
    distributed.init_process_group("gloo", timeout=dt.timedelta(seconds=options.timeout))
    rank, size = distributed.get_rank(), distributed.get_world_size()
    step, held = network(tg.Mesh({"data": size}))
    first = 0
    if options.weights.exists():
        with np.load(options.weights) as values:
            first = int(values["step"])
            for name, variable in held.items():
                variable.set_value(values[name])
    distributed.barrier()  # nobody writes before all have read
    for number in range(first, options.steps):
        if number == options.dies and rank == size - 1:
            os._exit(1)
        loss = step(*batch(number))
        values = {name: variable.get_value() for name, variable in held.items()}
        if rank == 0:
            part = options.weights.with_suffix(".part.npz")
            np.savez(part, step=number + 1, **values)
            part.replace(options.weights)  # whole, or not there
            print(f"step {number} loss {float(loss)!r}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
