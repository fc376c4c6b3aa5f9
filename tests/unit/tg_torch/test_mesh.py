"""Programs on a mesh of processes, which torchrun starts: `on_processes.py` and the example of training."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import parallel
import pytest

import tg

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples/parallel.py"
ALONE = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def started(*arguments):
    """The output of two processes."""
    text = subprocess.run([*ALONE, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False)
    assert text.returncode == 0, text.stderr[-3000:]
    return text.stdout


def test_a_mesh_needs_a_group_of_processes():
    x = tg.vector("x")
    with pytest.raises(tg.OptionError, match="no process group, needed one of 2 processes") as caught:
        tg.function([x], tg.shard(x, "data"), backend=tg.backend("torch", mesh=tg.Mesh({"data": 2})))
    assert "torch.distributed.init_process_group first" in str(caught.value)


def test_a_program_for_a_mesh_is_not_compiled():
    x = tg.vector("x")
    with pytest.raises(tg.OptionError, match="compile: found True beside a mesh"):
        tg.function([x], x, backend=tg.backend("torch", mesh=tg.Mesh({"data": 2}), compile=True))


@pytest.mark.long
def test_losses_and_gradients_are_those_of_one_process():
    started(HERE / "on_processes.py")


@pytest.mark.long
def test_a_pipeline_gives_what_one_process_does():
    started(HERE / "pipeline_on_processes.py")


def losses(text):
    """The loss of each step that is told."""
    return dict(line.split(" loss ") for line in text.splitlines() if " loss " in line)


@pytest.mark.long
def test_training_goes_on_from_a_file_bit_by_bit(tmp_path):
    whole = losses(started(EXAMPLE, "--weights", tmp_path / "whole.npz", "--steps", 8))
    first = losses(started(EXAMPLE, "--weights", tmp_path / "parts.npz", "--steps", 3))
    rest = losses(started(EXAMPLE, "--weights", tmp_path / "parts.npz", "--steps", 8))
    assert {**first, **rest} == whole
    with np.load(tmp_path / "whole.npz") as a, np.load(tmp_path / "parts.npz") as b:
        assert all((a[name] == b[name]).all() for name in a.files)


@pytest.mark.long
def test_a_residual_network_is_trained_as_in_one_process(tmp_path):
    losses_of_two = losses(started(EXAMPLE, "--weights", tmp_path / "w.npz", "--steps", 4, "--network", "resnet"))
    step, _, batch = parallel.training("resnet", "torch")
    whole = [float(step(*batch(k))) for k in range(4)]
    np.testing.assert_allclose([float(losses_of_two[f"step {k}"]) for k in range(4)], whole, rtol=2e-3)
    assert whole[-1] < 0.7 * whole[0]


@pytest.mark.long
def test_a_process_that_dies_does_not_hang_the_other(tmp_path):
    """Started without torchrun, which would end the other itself."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    group = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    options = ("--weights", str(tmp_path / "w.npz"), "--steps", "8", "--timeout", "5", "--dies", "2")
    processes = [
        subprocess.Popen(
            [sys.executable, str(EXAMPLE), *options],
            env={**os.environ, **group, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        (text, error), _ = (process.communicate(timeout=240) for process in processes)
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [1, 1]
    assert sorted(losses(text)) == ["step 0", "step 1"]
    assert "Error" in error
