"""The backends under `examples/`, for libraries that tg itself never sees, from wheels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2]
SOURCE = WORKSPACE / "examples/backends/tg-dask"


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A folder with dask alone, as constraints.txt has it."""
    folder = tmp_path_factory.mktemp("dask")
    command = [sys.executable, "-m", "pip", "install", "-q", "--retries", "0", "--timeout", "20", "--target", folder]
    inherited = {key: value for key, value in os.environ.items() if key != "PIP_NO_INDEX"}
    done = subprocess.run(
        [*command, "-c", WORKSPACE / "constraints.txt", "dask"],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if done.returncode:
        pytest.skip(f"dask cannot be fetched: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.long
@pytest.mark.timeout(1800)  # every program is a graph that dask schedules anew
def test_dask_passes_the_suite_from_wheels(strangers, dask, tmp_path):
    built = strangers(
        f"pip wheel --no-deps -w dist {SOURCE} && pip install --no-deps --target site dist/*.whl", tmp_path
    )
    assert built.returncode == 0, built.stderr
    line = f"PYTHONPATH={tmp_path}/site:{dask} tg conformance --backend dask --tier sparse"
    done = strangers(line, tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
