"""One process of data-parallel training: `rank.py ENGINE FOLDER STEPS DIES [RANK SIZE PORT]`, for test_machines.py.

The gradient of each process is tg's, the mean over all is the engine's, and the update is tg's again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import tg

BATCH, EVERY = 24, 2


def of_jax(rank, size, port):
    """The rank, the number of processes, the mean of arrays over all of them, and what to do at the end."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    address = f"127.0.0.1:{port}"
    jax.distributed.initialize(address, int(size), int(rank), initialization_timeout=120, heartbeat_timeout_seconds=10)
    mesh = jax.make_mesh((int(size),), ("data",))
    split, spec = NamedSharding(mesh, PartitionSpec("data")), PartitionSpec("data")
    reduce = jax.jit(
        jax.shard_map(lambda v: jax.lax.pmean(v, "data")[0], mesh=mesh, in_specs=spec, out_specs=PartitionSpec())
    )

    def mean(arrays):
        parts = [jax.make_array_from_process_local_data(split, np.asarray(a)[None]) for a in arrays]
        return [np.asarray(reduce(part).addressable_data(0)) for part in parts]

    return int(rank), int(size), mean, jax.distributed.shutdown


def of_mlx():
    """As for JAX; mlx.launch says the rank."""
    import mlx.core as mx

    group = mx.distributed.init(strict=True, backend="ring")

    def mean(arrays):
        return [np.array(mx.distributed.all_sum(mx.array(a), group=group) / group.size()) for a in arrays]

    return group.rank(), group.size(), mean, lambda: None


def main(engine, folder, steps, dies, *options):
    """Train from the checkpoint in the folder, if there is one, to a number of steps."""
    rank, size, mean, end = of_jax(*options) if engine == "jax" else of_mlx()
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(4, 16), tg.tanh, tg.nn.Dense(16, 1)), tg.random.key(0))
    weights = tg.nn.params(model)
    x, y = tg.matrix("x", "float32"), tg.vector("y", "float32")
    loss = tg.mean((model(x)[:, 0] - y) ** 2)
    gradient = tg.function([x, y], [*tg.grad(loss, weights).values()], backend=engine)
    means = {path: tg.tensor(path, w.type.dtype, shape=w.type.shape) for path, w in weights.items()}
    updates = tg.optimize.adam(None, weights, learning_rate=0.01, gradients=means)
    step = tg.function([*means.values()], [], updates=updates, backend=engine)

    checkpoint, file = {"model": model, "training": tg.optimize.state(updates)}, Path(folder) / "run.safetensors"
    first = 0
    if file.exists():
        tg.nn.load(checkpoint, file)
        first = int((Path(folder) / "step").read_text())
    rng = np.random.default_rng(1)
    points = rng.normal(size=(int(steps), BATCH, 4)).astype("float32")
    for k in range(first, int(steps)):
        if k == int(dies) and rank == size - 1:
            os._exit(9)
        mine = points[k][rank::size]
        step(*mean(gradient(mine, mine[:, 0] * mine[:, 1])))
        if rank == 0 and (k + 1) % EVERY == 0:
            tg.nn.save(checkpoint, file)
            (Path(folder) / "step").write_text(str(k + 1))
    end()


if __name__ == "__main__":
    main(*sys.argv[1:])
