"""Networks that were trained and published: magika's, and silero's for voices, against ONNX Runtime."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tg_onnx

LONG = [pytest.param(name, marks=pytest.mark.long(minutes=2)) for name in ("c", "numba", "jax", "torch", "mlx")]
BACKENDS = ["perform", *LONG]
VOICE = {"input": (1, 576), "state": (2, 1, 128)}


def folder(package):
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent


def compared(path, inputs, backend, **options):
    """Hold all outputs against ONNX Runtime's."""
    expected = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    model = tg_onnx.load(path, **options)
    results = model.function(backend)(**{name: a for name, a in inputs.items() if name in model.inputs})
    for result, array in zip(results.values(), expected, strict=True):
        assert result.dtype == array.dtype
        np.testing.assert_allclose(result, array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_magika(backend):
    inputs = {"bytes": np.random.default_rng(0).integers(0, 257, (2, 2048)).astype(np.int32)}
    compared(folder("magika") / "models" / "standard_v3_3" / "model.onnx", inputs, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["silero_vad_16k_op15", "silero_vad_half", "silero_vad_op18_ifless"])
def test_silero(backend, name):
    rng = np.random.default_rng(0)
    inputs = {n: (rng.standard_normal(shape) * 0.1).astype(np.float32) for n, shape in VOICE.items()}
    if name != "silero_vad_half":
        inputs["sr"] = np.array(16000)
    compared(folder("silero_vad") / "data" / f"{name}.onnx", inputs, backend, shapes=VOICE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_silero_with_a_rate_that_is_fixed(backend):
    rng = np.random.default_rng(0)
    inputs = {n: (rng.standard_normal(shape) * 0.1).astype(np.float32) for n, shape in VOICE.items()}
    inputs["sr"] = np.array(16000)
    path = folder("silero_vad") / "data" / "silero_vad.onnx"
    compared(path, inputs, backend, shapes=VOICE, values={"sr": np.array(16000)})


@pytest.mark.parametrize("backend", BACKENDS)
def test_silero_over_a_sequence_of_open_length(backend):
    rng = np.random.default_rng(0)
    shapes = {"input": (5, 576), "h": (1, 1, 128), "c": (1, 1, 128)}
    inputs = {n: (rng.standard_normal(shape) * 0.1).astype(np.float32) for n, shape in shapes.items()}
    compared(folder("silero_vad") / "data" / "silero_vad_16k_sequence.onnx", inputs, backend)
