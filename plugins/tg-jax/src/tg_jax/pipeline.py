"""Pipelines of stages on JAX's devices, which one process has: it tells each stage what to do next, and waits for none.

A stage is a program for its own part of the mesh; what it hands on is copied to the next one's. JAX runs what it is
told device by device in this order, so stages work at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding

from tg_jax.place import SPEC, find_mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np

    from tg.backend import Stages

    Array = np.ndarray[Any, Any]


def pipeline(
    stages: Stages, *, scope: Callable[[], AbstractContextManager[Any]]
) -> Callable[[Sequence[Array]], tuple[Any, Sequence[Any]]]:
    """The function of a pipeline.

    Args:
        scope: makes contexts of 64 bits.
    Raises:
        OptionError: there are too few devices.
    """
    find_mesh(stages.mesh, stages.options.device)
    workers = [_Worker(stages, k) for k in range(stages.count)]

    def run(arrays: Sequence[Array]) -> tuple[Any, Sequence[Any]]:
        with scope():
            return _run(stages, workers, arrays)

    return run


class _Worker:
    """One stage: its programs, and the devices that they run on."""

    def __init__(self, stages: Stages, k: int) -> None:
        mesh = stages.mesh.slice(stages.axis, k)
        self.everywhere = NamedSharding(find_mesh(mesh, stages.options.device), SPEC())
        self.forward, self.backward = (jax.jit(f(k, mesh)) for f in (stages.forward, stages.backward))
        self.received, self.own, self.wrt = stages.received[k], stages.own[k], stages.wrt[k]
        self.is_last = k == stages.count - 1
        self.actions = tuple(stages.actions(k))

    def placed(self, array: Any) -> Any:
        """The array on the devices of the stage."""
        return jax.device_put(array, self.everywhere)

    def inputs(self, stages: Stages, arrays: Sequence[Array], microbatch: int) -> list[Any]:
        """The inputs of the stage for a part of the batch, of which it has the others already."""
        values = []
        for place in self.own:
            rows = len(arrays[place]) // stages.microbatches if place in stages.batch else 0
            part = slice(microbatch * rows, (microbatch + 1) * rows)
            values.append(self.placed(arrays[place][part]) if rows else self.weights[place])
        return values

    def begin(self, stages: Stages, arrays: Sequence[Array]) -> None:
        """Take the inputs that are the same for all parts of the batch."""
        self.weights = {k: self.placed(arrays[k]) for k in self.own if k not in stages.batch}
        self.sums: list[Any] = []
        self.arrived: dict[int, list[Any]] = {} if self.received else {m: [] for m in range(stages.microbatches)}
        self.returned: dict[int, list[Any]] = {}  # cotangents of what it has handed on
        self.next = 0

    def add(self, values: Sequence[Any]) -> None:
        """Add up the loss, if it is the last stage, and gradients."""
        self.sums = [*map(jnp.add, self.sums, values)] if self.sums else [*values]


def _run(stages: Stages, workers: Sequence[_Worker], arrays: Sequence[Array]) -> tuple[Any, Sequence[Any]]:
    """The loss and the gradients: every stage does its steps in their order, as soon as what they need is under way."""
    for worker in workers:
        worker.begin(stages, arrays)
    while any(worker.next < len(worker.actions) for worker in workers):
        for k, worker in enumerate(workers):
            if worker.next == len(worker.actions):
                continue
            kind, m = worker.actions[worker.next]
            if kind == "forward" and m in worker.arrived:
                _forward(stages, workers, k, arrays, m)
            elif kind == "backward" and (worker.is_last or m in worker.returned):
                _backward(stages, workers, k, arrays, m)
            else:
                continue
            worker.next += 1
    loss, gradients = None, dict[int, Any]()
    for worker in workers:
        *total, rest = [worker.sums[0], worker.sums[1:]] if worker.is_last else [worker.sums]
        loss = total[0] if total else loss
        for place, value in zip(worker.wrt, rest, strict=True):
            moved = jax.device_get(value)
            gradients[place] = gradients[place] + moved if place in gradients else moved
    count = stages.microbatches
    return jax.device_get(loss) / count, [gradients[k] / count for k in sorted(gradients)]


def _forward(stages: Stages, workers: Sequence[_Worker], k: int, arrays: Sequence[Array], m: int) -> None:
    """Hand on what a stage makes of a part; the last one makes its loss on the way back."""
    worker = workers[k]
    if worker.is_last:
        return
    results = worker.forward(*worker.arrived[m], *worker.inputs(stages, arrays, m))
    workers[k + 1].arrived[m] = [*map(workers[k + 1].placed, results)]


def _backward(stages: Stages, workers: Sequence[_Worker], k: int, arrays: Sequence[Array], m: int) -> None:
    """Hand back the cotangents of what a stage has received, and add up its gradients."""
    worker = workers[k]
    cotangents = [] if worker.is_last else worker.returned.pop(m)
    results = list(worker.backward(*worker.arrived.pop(m), *worker.inputs(stages, arrays, m), *cotangents))
    loss = [results.pop(0)] if worker.is_last else []
    worker.add([*loss, *results[worker.received :]])
    if k:
        workers[k - 1].returned[m] = [*map(workers[k - 1].placed, results[: worker.received])]
