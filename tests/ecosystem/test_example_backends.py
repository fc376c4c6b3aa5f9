"""The backends under `examples/`, for libraries that tg itself never sees, from wheels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2]
EXAMPLES = {  # what each needs beside NumPy, and the tier that there is time for
    "dask": (("dask",), "quick"),  # eight minutes on a quiet machine
    "onnxruntime": (("onnx", "onnxruntime"), "quick"),
}


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request, tmp_path_factory):
    """A backend's name, and a folder with its library alone, as constraints.txt has it."""
    libraries, _ = EXAMPLES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    command = [sys.executable, "-m", "pip", "install", "-q", "--retries", "0", "--timeout", "20", "--target", folder]
    inherited = {key: value for key, value in os.environ.items() if key != "PIP_NO_INDEX"}
    done = subprocess.run(
        [*command, "-c", WORKSPACE / "constraints.txt", *libraries],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if done.returncode:
        pytest.skip(f"{request.param} cannot be fetched: {done.stderr.strip()[-200:]}")
    return request.param, folder


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_backend_passes_the_suite_from_wheels(strangers, example, tmp_path):
    name, library = example
    source, (_, tier) = WORKSPACE / f"examples/backends/tg-{name}", EXAMPLES[name]
    built = strangers(
        f"pip wheel --no-deps -w dist {source} && pip install --no-deps --target site dist/*.whl", tmp_path
    )
    assert built.returncode == 0, built.stderr
    environment = f"PYTHONPATH={tmp_path}/site:{library}"
    for command in (
        f"pytest -q -p no:cacheprovider {source}/tests",
        f"tg conformance --backend {name} --tier {tier}",
    ):
        done = strangers(f"{environment} {command}", tmp_path)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
