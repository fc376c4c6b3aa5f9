"""GGUF files, against the `gguf` package and ggml's own bytes."""

import gguf
import numpy as np
import pytest

import tg
import tg_ggml

RNG = np.random.default_rng(0)
ARRAYS = {
    "w": RNG.standard_normal((6, 256)).astype("float32"),
    "small": RNG.standard_normal((3, 5)).astype("float32"),
    "ids": np.arange(4),
    "half": RNG.standard_normal((2, 4)).astype("float16"),
}
METADATA = {
    "general.architecture": "mine",
    "tg.layers": 3,
    "tg.eps": 1e-5,
    "tg.causal": True,
    "tg.name": "naïve",
    "tg.sizes": [1, 2, 3],
}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.gguf"
    tg_ggml.write_gguf(path, ARRAYS, METADATA)
    file = tg_ggml.read_gguf(path)
    assert dict(file.metadata) == METADATA
    assert dict(file.types) == {"w": "F32", "small": "F32", "ids": "I64", "half": "F16"}
    for name, array in ARRAYS.items():
        assert file.arrays[name].dtype == array.dtype
        assert np.array_equal(file.arrays[name], array)


@pytest.mark.parametrize("kind", ["q8_0", "int8", "q4_0", "q4_1", "q5_0", "q5_1"])
def test_bytes_are_those_of_gguf(tmp_path, kind):
    path = tmp_path / "a.gguf"
    tg_ggml.write_gguf(path, {"w": ARRAYS["w"]}, types=kind)
    (tensor,) = gguf.GGUFReader(path).tensors
    assert tensor.data.tobytes() == gguf.quants.quantize(ARRAYS["w"], tensor.tensor_type).tobytes()


@pytest.mark.parametrize(
    ("kind", "error"), [("q2_K", 0.4), ("q3_K", 0.2), ("q4_K", 0.1), ("q5_K", 0.05), ("q6_K", 0.03)]
)
def test_k_types_are_read_back_by_gguf(tmp_path, kind, error):
    path = tmp_path / "a.gguf"
    tg_ggml.write_gguf(path, {"w": ARRAYS["w"]}, types={"w": kind})
    file = tg_ggml.read_gguf(path)
    assert file.types["w"] == kind.upper()
    assert np.linalg.norm(file.arrays["w"] - ARRAYS["w"]) < error * np.linalg.norm(ARRAYS["w"])


def test_rows_that_do_not_fit_stay_unless_they_are_named(tmp_path):
    path = tmp_path / "a.gguf"
    tg_ggml.write_gguf(path, ARRAYS, types="q4_K")
    assert dict(tg_ggml.read_gguf(path).types) == {"w": "Q4_K", "small": "F32", "ids": "I64", "half": "F16"}
    before = path.read_bytes()
    with pytest.raises(
        tg.InputError, match=r"q8_0 of 'small': found the shape \(3, 5\), needed rows of a multiple of 32"
    ):
        tg_ggml.write_gguf(path, ARRAYS, types={"small": "q8_0"})
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.gguf"]


def test_mistakes_are_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        tg_ggml.read_gguf(tmp_path / "none.gguf")
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + bytes(4))
    with pytest.raises(tg.InputError, match="needed a whole GGUF file"):
        tg_ggml.read_gguf(path)
    tg_ggml.write_gguf(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(tg.InputError, match="needed a whole GGUF file"):
        tg_ggml.read_gguf(path)
    with pytest.raises(tg.InputError, match="found complex128"):
        tg_ggml.write_gguf(path, {"w": np.zeros(2, complex)})
    with pytest.raises(tg.InputError, match="metadata 'k': found None"):
        tg_ggml.write_gguf(path, {}, {"k": None})
    with pytest.raises(tg.InputError, match="found 'q9', needed one of f16"):
        tg_ggml.write_gguf(path, ARRAYS, types="q9")


def test_a_model_runs_from_a_file(tmp_path):
    path = tmp_path / "a.gguf"
    tg_ggml.write_gguf(path, {"w": ARRAYS["w"]}, types="q8_0")
    file = tg_ggml.read_gguf(path)
    x = tg.tensor("x", "float32", (3, 256))
    f = tg.function([x], x @ file.arrays["w"].T, backend=tg.backend("ggml", quantize="q8_0"))
    data = RNG.standard_normal((3, 256)).astype("float32")
    exact = data @ file.arrays["w"].T
    assert np.abs(f(data) - exact).max() < 0.02 * np.abs(exact).max()
    assert "matmul float32[6, 256]: q8_0, 1632 bytes" in f.source()
