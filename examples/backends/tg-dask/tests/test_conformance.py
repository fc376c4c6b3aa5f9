"""A part of the conformance suite; `tg conformance --backend dask` runs all of it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", ["arithmetic and (float64 or int8)", "shape and float32", "contraction or reduction"])
def test_the_sparse_tier_passes(words):
    command = [
        sys.executable,
        "-m",
        "tg.cli",
        "conformance",
        "--backend",
        "dask",
        "--tier",
        "sparse",
        "-n",
        "0",
        "-k",
        words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
