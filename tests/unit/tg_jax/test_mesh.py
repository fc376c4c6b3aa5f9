"""Programs over a mesh of eight devices of the processor, beside NumPy's values and by what XLA sends between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

SCRIPT = Path(__file__).with_name("on_devices.py")
EXAMPLES = Path(__file__).parents[3] / "examples"
SHORT = ("values", "counts", "steps", "borders", "loops", "refusals", "pipelines", "places")
LONG = ("gpt_network", "resnet_network", "gpt_pipeline")


def failures(*names):
    """The traceback of each check, None where it holds: JAX counts devices once, so they run in another process."""
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    done = subprocess.run([sys.executable, SCRIPT, *names], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.fixture(scope="module")
def short():
    return failures(*SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_eight_devices_give_what_one_does(short, name):
    assert short[name] is None, short[name]


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_networks_on_eight_devices_give_what_one_does(name):
    failure = failures(name)[name]
    assert failure is None, failure
