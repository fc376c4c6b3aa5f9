"""The backends under `examples/`, for libraries that tg itself never sees, from wheels."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2]
EXAMPLES = {"dask": ("dask",), "onnxruntime": ("onnx", "onnxruntime")}  # what each needs beside NumPy


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in EXAMPLES])
def example(request, tmp_path_factory):
    """A backend's name, and a folder with its library alone, as constraints.txt has it."""
    libraries = EXAMPLES[request.param]
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


def done_by(strangers, example, folder, *commands):
    """What commands print where nothing is installed but wheels: tg's, the library, and the backend's, built now."""
    name, library = example
    source = WORKSPACE / f"examples/backends/tg-{name}"
    for command in (
        f"pip wheel --no-deps -w dist {source}",
        "pip install --no-deps --target site dist/*.whl",
        f"pytest -q -p no:cacheprovider {source}/tests",
        *commands,
    ):
        done = strangers(f"export PYTHONPATH={folder}/site:{library}; {command}", folder)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.long(minutes=4)
@pytest.mark.timeout(1800)  # beside much other work
def test_a_backend_passes_from_wheels(strangers, example, tmp_path):
    name, _ = example
    # the certificate is of all; every third batch took dask four minutes
    small = "--tier sparse --every 9 -k 'not (iteration: or loops: or recurrence: or linalg or special or vectors)'"
    assert name in done_by(strangers, example, tmp_path, f"tg conformance --backend {name} {small}")


@pytest.mark.nightly
@pytest.mark.timeout(5400)  # beside much other work; alone dask takes a quarter of an hour, onnxruntime ten minutes
def test_a_backend_is_certified_from_wheels(strangers, example, tmp_path):
    name, _ = example
    certificate = tmp_path / "site" / f"tg_{name}" / "certificate.json"
    certify = f"tg conformance --backend {name} --certify {certificate}"
    printed = done_by(strangers, example, tmp_path, certify, "tg backends --json")
    shown = {one["name"]: one["certified"] for one in json.loads(printed)}
    facts = json.loads(certificate.read_text())
    ran, of = facts["items"]
    assert ran == of > 60_000
    assert shown[name].startswith(f"level {facts['level']}, {ran:,} of {of:,} items")
    assert shown["perform"] == ""
