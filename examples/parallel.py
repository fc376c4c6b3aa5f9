"""Training with data parallelism, in as many processes as torchrun starts:

    torchrun --nproc-per-node 2 examples/parallel.py --weights FILE --steps 20 --network resnet

Each process reads all batches and computes with its part of each. Weights and the optimizer's state are the same in all
processes; the first one writes them to FILE after each step, from which another start goes on.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import distributed

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 32


Batch = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def perceptron() -> tuple[Any, Any, Any, dict[str, Any]]:
    """The inputs, the output and the weights of a small network, of which the batch is split."""
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(4, 16), tg.tanh, tg.nn.Dense(16, 1)), tg.random.key(0))
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float32")
    return x, y, tg.mean((model(tg.shard(x, "data", None)) - y) ** 2), tg.nn.params(model)


def resnet() -> tuple[Any, Any, Any, dict[str, Any]]:
    """The same of a residual network, normalized by the whole batch."""
    from networks.resnet import Kind, random_weights
    from networks.resnet import resnet as logits

    kind = Kind((1, 1, 1, 1), is_bottleneck=False)
    weights = {name: w for name, w in random_weights(kind, 10).items() if "running" not in name}
    p = {name: tg.shared(w, name, shape=w.shape) for name, w in weights.items()}
    x, y = tg.tensor("x", "float32", shape=(None, 3, 32, 32)), tg.vector("y", "int64")
    return x, y, tg.nn.cross_entropy(logits(tg.shard(x, "data", None, None, None), p, kind, training=True), y), p


def points(number: int) -> Batch:
    """The batch of a step, the same in each process."""
    x = np.random.default_rng(number).normal(size=(BATCH, 4)).astype("float32")
    return x, np.sin(x.sum(axis=1, keepdims=True))


def images(number: int) -> Batch:
    """The same of images: noise with a bright row, whose place is the label."""
    draw = np.random.default_rng(number)
    x, y = draw.normal(size=(BATCH, 3, 32, 32)).astype("float32"), draw.integers(0, 10, BATCH)
    for k, place in enumerate(y):
        x[k, :, 3 * place : 3 * place + 4] += 2
    return x, y


NETWORKS: dict[str, tuple[Callable[[], tuple[Any, Any, Any, dict[str, Any]]], Callable[[int], Batch], float]] = {
    "perceptron": (perceptron, points, 0.01),
    "resnet": (resnet, images, 0.001),
}


def training(name: str, backend: Any) -> tuple[Any, dict[str, Any], Callable[[int], Batch]]:
    """A step of training, the shared variables that it changes, and the batches."""
    make, batch, rate = NETWORKS[name]
    x, y, loss, weights = make()
    updates = tg.optimize.adamw(loss, weights, learning_rate=rate)
    step = tg.function([x, y], loss, updates=updates, backend=backend)
    return step, {f"{k}": variable for k, variable in enumerate(updates)}, batch


def main() -> None:
    """Train from where the file ends to so many steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--network", choices=[*NETWORKS], default="perceptron")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a process that waits gives up")
    parser.add_argument("--dies", type=int, default=-1, help="step at which the last process ends, for a test")
    options = parser.parse_args()
    distributed.init_process_group("gloo", timeout=dt.timedelta(seconds=options.timeout))
    rank, size = distributed.get_rank(), distributed.get_world_size()
    step, held, batch = training(options.network, tg.backend("torch", mesh=tg.Mesh({"data": size})))
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
