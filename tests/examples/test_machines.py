"""Training on several processes under the launchers of JAX and MLX: checkpoints, death, other numbers of processes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tg

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

RANK = Path(__file__).with_name("rank.py")
STEPS = 8


def _port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _launch(engine, folder, processes, steps=STEPS, dies=-1):
    """The exit statuses of all processes, or of the launcher."""
    options = [str(RANK), engine, str(folder), str(steps), str(dies)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if engine == "jax":
        port = str(_port())
        commands = [[sys.executable, *options, str(k), str(processes), port] for k in range(processes)]
    else:
        launcher = shutil.which("mlx.launch", path=str(Path(sys.executable).parent))
        if launcher is None:
            pytest.skip("mlx.launch is not installed")
        start = [launcher, "--backend", "ring", "-n", str(processes), "-p", str(_port()), "--python", sys.executable]
        commands = [[*start, *options]]
    running = [subprocess.Popen(c, env=environment, stdout=subprocess.DEVNULL) for c in commands]
    try:
        return [one.wait(timeout=240) for one in running]
    finally:
        for one in running:
            one.kill()


def _weights(folder):
    net = tg.nn.Sequential(tg.nn.Dense(4, 16), tg.tanh, tg.nn.Dense(16, 1))
    model = tg.nn.load({"model": net, "training": {}}, folder / "run.safetensors", [(r"training\..*", None)])["model"]
    return {path: w.get_value() for path, w in tg.nn.params(model).items()}


def _of_torch():
    """The weights after all steps by PyTorch in one process."""
    torch = pytest.importorskip("torch")
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(4, 16), tg.tanh, tg.nn.Dense(16, 1)), tg.random.key(0))
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    theirs.load_state_dict(tg.tree.to(tg.nn.params(model), "torch"))
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01)
    for batch in np.random.default_rng(1).normal(size=(STEPS, 24, 4)).astype("float32"):
        x = torch.from_numpy(batch)
        optimizer.zero_grad()
        ((theirs(x)[:, 0] - x[:, 0] * x[:, 1]) ** 2).mean().backward()
        optimizer.step()
    return {path: w.detach().numpy() for path, w in theirs.named_parameters()}


@pytest.mark.parametrize("engine", ["jax", "mlx"])
def test_a_training_on_two_processes(engine, tmp_path):
    pytest.importorskip(engine)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    assert set(_launch(engine, whole, 2)) == {0}
    right = _of_torch()
    weights = _weights(whole)
    assert all(np.allclose(weights[path], right[path], atol=1e-5) for path in right)

    # the last process dies before step 5: the other ends, and the checkpoint is that of step 4
    statuses = _launch(engine, parts, 2, dies=5)
    assert engine == "mlx" or 0 not in statuses  # mlx.launch says it in a warning and ends with 0
    assert (parts / "step").read_text() == "4"
    more = tmp_path / "more"
    shutil.copytree(parts, more)

    assert set(_launch(engine, parts, 2)) == {0}
    resumed = _weights(parts)
    assert all(np.array_equal(resumed[path], weights[path]) for path in weights)

    assert set(_launch(engine, more, 3)) == {0}
    elastic = _weights(more)
    assert all(np.allclose(elastic[path], right[path], atol=1e-5) for path in right)
