"""A part of the conformance suite; `tg conformance --backend dask` runs all of it."""

import subprocess
import sys

import pytest

SMALL = "not many and not long and not large and not thousand"  # of 70,000 elements dask makes 35,000 chunks of 2


def passed(words, *options):
    command = [sys.executable, "-m", "tg.cli", "conformance", "--backend", "dask", "--tier", "sparse", "-n", "0"]
    done = subprocess.run([*command, "-k", words, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("words", ["arithmetic and (float64 or int8)", "shape and float32", "contraction or reduction"])
def test_the_sparse_tier_passes(words):
    passed(words)


@pytest.mark.parametrize(
    "words", ["shape or arranging", "contraction or einsum", "reduction or cumulative", "indexing"]
)
def test_arrays_of_several_chunks_pass(words):
    passed(f"({words}) and {SMALL}", "--backend-option", "chunks=2")
