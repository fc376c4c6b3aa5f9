"""Arrays of libraries as leaves of structures: values, dtypes, and whose memory it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.variables.dlpack import _aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES = ["float64", "float32", "float16", ml_dtypes.bfloat16, "complex64", "int8", "int64", "bool"]


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """Numbers of 64 bits in JAX too, where it is installed."""
    with pytest.importorskip("jax").enable_x64(True):
        yield


def _dtype(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_go_and_come_back(name: str, dtype: Any) -> None:
    if name == "mlx" and dtype == "float64":
        pytest.skip("which MLX narrows")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    frozen = array.copy()
    frozen.flags.writeable = False
    module = pytest.importorskip(name)
    for library, copy in ((name, None), (name, True), (module, None)):
        there = tg.tree.to({"a": array, "b": [frozen]}, library, copy=copy)
        for leaf in (there["a"], there["b"][0]):
            assert _dtype(leaf) == array.dtype.name
            assert tuple(leaf.shape) == (2, 3)
            back = tg.tree.to(leaf, "numpy")
            assert back.dtype == array.dtype
            assert np.array_equal(back, array)
            assert np.array_equal(tg.constant(leaf).data, array)


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16], ids=str)
def test_torch_has_the_memory_of_numpy(dtype: Any) -> None:
    pytest.importorskip("torch")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for source in (array, array.T, array[:, 1:]):
        tensor = tg.tree.to(source, "torch", copy=False)
        assert tensor.data_ptr() == source.ctypes.data
        assert tg.tree.to(tensor, "numpy", copy=False).ctypes.data == source.ctypes.data
        assert np.array_equal(tg.tree.to(tensor, "numpy"), source)
    assert tg.tree.to(array, "torch").data_ptr() == array.ctypes.data
    assert tg.tree.to(array, "torch", copy=True).data_ptr() != array.ctypes.data


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16], ids=str)
def test_jax_has_the_memory_of_what_is_aligned(dtype: Any) -> None:
    memory = _aligned(np.zeros(33, dtype))
    array, beside = memory[:32], memory[1:]
    there = tg.tree.to(array, "jax", copy=False)
    assert there.unsafe_buffer_pointer() == array.ctypes.data
    assert tg.tree.to(there, "torch", copy=False).data_ptr() == array.ctypes.data
    with pytest.raises(tg.InputError, match=r"to: jax\.numpy copies this array of .*\[32\], found copy=False"):
        tg.tree.to(beside, "jax", copy=False)
    assert tg.tree.to(beside, "jax").unsafe_buffer_pointer() != beside.ctypes.data


def test_the_value_of_a_shared_variable_is_copied_unless_asked() -> None:
    torch = pytest.importorskip("torch")
    w = tg.shared(np.zeros(3), "w")
    there = tg.tree.to({"w": w}, torch)["w"]
    there += 1
    assert np.array_equal(w.get_value(), np.zeros(3))
    view = tg.tree.to(w, torch, copy=False)
    assert view.data_ptr() == w.snapshot.numpy.ctypes.data
    step = tg.function([], [], updates={w: w + 2}, backend="perform")
    step()
    assert view.tolist() == [0.0, 0.0, 0.0]  # a value that somebody sees is not overwritten
    assert tg.tree.to(w, "numpy").flags.writeable


@pytest.mark.parametrize("name", ["torch", "mlx.core"])
def test_bfloat16_of_other_libraries_is_read_wherever_arrays_are(name: str) -> None:
    library = pytest.importorskip(name)
    theirs = tg.tree.to(np.array([0.5, 2.0, -3.0], ml_dtypes.bfloat16), library)
    x = tg.vector("x", "bfloat16")
    assert tg.function([x], x * 2, backend="perform")(theirs).astype(float).tolist() == [1.0, 4.0, -6.0]
    w = tg.shared(theirs)
    assert w.type.dtype == "bfloat16"
    w.set_value(theirs)
    assert w.get_value().astype(float).tolist() == [0.5, 2.0, -3.0]
    model = tg.nn.load(tg.nn.LayerNorm(3), {"weight": theirs, "bias": theirs})
    assert model.weight.get_value().astype(float).tolist() == [0.5, 2.0, -3.0]


def test_nested_dicts_load_by_their_paths() -> None:
    kernel = np.arange(6.0).reshape(3, 2)
    tree = {"params": {"Dense_0": {"kernel": kernel, "bias": np.ones(2)}}}
    names = [(r"params\.Dense_0\.kernel", "weight", np.transpose), (r"params\.Dense_0\.bias", "bias")]
    model = tg.nn.load(tg.nn.Dense(3, 2), tree, names)
    assert np.array_equal(model.weight.get_value(), kernel.T)


def test_what_is_no_array_is_refused() -> None:
    torch = pytest.importorskip("torch")
    for value, text in (
        ({"a": 3.0}, r"to: \['a'\]: found 3.0, needed an array"),
        (tg.vector("x"), r"to: the value: found <x : float64\[\?\]>, needed an array"),
        (tg.nn.Dense(3, 2), "hint: tg.nn.params"),
        (torch.ones(3, requires_grad=True), r"hint: value.detach\(\)"),
    ):
        with pytest.raises(tg.InputError, match=text):
            tg.tree.to(value, "numpy")
    for library in ("scipy", 3):
        with pytest.raises(tg.InputError, match=r"to: found .*, needed a library of arrays"):
            tg.tree.to(np.ones(3), library)
    with pytest.raises(tg.InputError, match="to: a_library is not installed"):
        tg.tree.to(np.ones(3), "a_library")
