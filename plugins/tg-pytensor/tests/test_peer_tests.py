"""The plugin of pytest with which PyTensor's own tests are run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

PEER_TESTS = Path(__file__).parents[1] / "peer_tests"
CONFTEST = """
import os

def pytest_sessionstart():
    os.environ["PYTENSOR_FLAGS"] += ",on_opt_error=raise"
"""
TESTS = """
import numpy as np
import pytensor

def test_flags():
    assert pytensor.config.on_opt_error == "raise"

def test_mode():
    assert pytensor.compile.mode.get_default_mode().linker.backend == "perform"

def test_seed():
    assert np.random.default_rng((26, (3, 5), [(1,)])).random() == {number!r}

def test_wrong():
    assert False
"""


def test_flags_of_a_checkout_hold_and_nested_seeds_give_the_numbers_that_numpy_gave(tmp_path):
    number = np.random.default_rng([26, 3, 5, 1]).random()
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS.format(number=number))
    settings = {
        "PEER_MODE": "TG_PERFORM", "PEER_OUTCOMES": str(tmp_path / "outcomes"), "PYTHONPATH": str(PEER_TESTS),
        "PYTENSOR_FLAGS": f"base_compiledir={tmp_path}",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "peer_mode", "-p", "no:cacheprovider", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **settings}, capture_output=True, check=False)
    lines = map(json.loads, (tmp_path / "outcomes").read_text().splitlines())
    outcomes = {name.split("::")[1]: outcome for name, _, outcome, *_ in lines}
    assert outcomes == {"test_flags": "passed", "test_mode": "passed", "test_seed": "passed", "test_wrong": "failed"}
