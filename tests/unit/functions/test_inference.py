"""Functions for inference: snapshots of shared variables, and what is computed of them once."""

from __future__ import annotations

import pickle
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import tg
from tg.errors import InputError
from tg.functions import pickled
from tg.ops.contraction import MatMul
from tg.ops.elementwise.record import Elementwise
from tg.ops.nn.convolved import Convolution

if TYPE_CHECKING:
    from tg.functions.compiled import Function

BACKENDS = ["perform", "c", "numba", "jax", "torch", "mlx"]


def network() -> Any:
    """A small network of torch's, in eval(), with statistics that are none of a new one."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(4, 8, 3, 2, 1, groups=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 5), torch.nn.BatchNorm1d(5)).double()
    for layer in model:
        if isinstance(layer, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            for v in (layer.weight, layer.bias, layer.running_mean):
                torch.nn.init.normal_(v)
            torch.nn.init.uniform_(layer.running_var, 0.5, 2.0)
    return model.eval()


def shared(model: Any, dtype: str) -> dict[str, Any]:
    state = {name: v.detach().numpy() for name, v in model.state_dict().items() if v.ndim}
    return {name: tg.shared(v.astype(dtype), name) for name, v in state.items()}


def expression(x: Any, p: dict[str, Any]) -> Any:
    def norm(y: Any, k: int) -> Any:
        return tg.nn.batch_norm(y, *(p[f"{k}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")))

    bias = tg.expand_dims(p["0.bias"], (1, 2))
    y = tg.relu(norm(tg.nn.conv2d(x, p["0.weight"], stride=2, padding=1, groups=2) + bias, 1))
    return norm(tg.reshape(y, (x.shape[0], 32)) @ p["4.weight"].T + p["4.bias"], 5)


def function_of(backend: str, dtype: str, n: int | None = 2, **options: Any) -> tuple[Function, dict[str, Any], Any]:
    x, model = tg.tensor("x", dtype, (n, 4, 4, 4)), network()
    p = shared(model, dtype)
    return tg.function([x], expression(x, p), backend=backend, **options), p, model


def images(n: int, dtype: str) -> Any:
    return np.random.default_rng(n).normal(size=(n, 4, 4, 4)).astype(dtype)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_network_is_that_of_torch_and_the_function_without(backend: str) -> None:
    dtype = "float32" if backend == "mlx" else "float64"
    f, _, model = function_of(backend, dtype)
    g = f.inference()
    rtol = 2e-4 if dtype == "float32" else 1e-11
    x = images(2, dtype)
    wanted = model(torch.from_numpy(x.astype("float64"))).detach().numpy()
    np.testing.assert_allclose(g(x), wanted, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(g(x), f(x), rtol=rtol, atol=rtol)


def test_programs_for_several_patterns_share_what_is_computed() -> None:
    f, _, model = function_of("perform", "float64", None, inference=True)
    for n in (3, 1):
        x = images(n, "float64")
        np.testing.assert_allclose(f(x), model(torch.from_numpy(x)).detach().numpy(), rtol=1e-11)
    many, one = ({id(v) for v in program.executable._held if v.size == 144} for program in f.programs)
    assert len(many) == 1
    assert one == many


@pytest.mark.parametrize("backend", ["perform", "torch"])
def test_batch_norms_become_a_shift(backend: str) -> None:
    f, _, _ = function_of(backend, "float64", inference=True)
    ops = [node.op for node in f.graph.nodes]
    assert sum(type(op) is Convolution for op in ops) == 1
    assert sum(type(op) is MatMul for op in ops) == 1
    names = [op.fn.name for op in ops if type(op) is Elementwise]
    assert names.count("add") == 2
    assert not {"multiply", "divide", "sqrt", "subtract"} & set(names)


def test_exact_rewriting_leaves_batch_norms() -> None:
    f, _, model = function_of("perform", "float64", inference=True, mode="strict")
    x = images(2, "float64")
    np.testing.assert_allclose(f(x), model(torch.from_numpy(x)).detach().numpy(), rtol=1e-12)
    assert "divide" in [node.op.name for node in f.graph.nodes]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_that_is_stored_later_changes_nothing(backend: str) -> None:
    x, w = tg.vector("x", "float32"), tg.shared(np.float32([1, 2]), "w")
    f = tg.function([x], tg.sum(x * tg.exp(w)), backend=backend)
    g = f.inference()
    w.set_value(np.float32([0, 0]))
    values = np.float32([3, 4])
    np.testing.assert_allclose([f(values), g(values)], [7, 3 * np.e + 4 * np.e**2], rtol=1e-5)
    assert repr(g) == f"<function(x) on {backend} with 1 snapshots>"
    (snapshot,) = g.request.fixed.variables
    assert repr(snapshot) == "<snapshot w : float32[2]>"
    with pytest.raises(InputError, match=r"set_value: found <snapshot w : float32\[2\]>, needed a variable that is no"):
        snapshot.set_value([1.0, 1.0])


def test_what_is_updated_stays_shared() -> None:
    x, w, total = tg.vector("x"), tg.shared([1.0, 2.0], "w"), tg.shared(0.0, "total", shape=())
    y = tg.sum(x * tg.exp(w))
    f = tg.function([x], y, updates={total: total + y}, inference=True, backend="c")
    w.set_value([5.0, 5.0])
    one = np.e + np.e**2
    np.testing.assert_allclose([f([1.0, 1.0]), f([1.0, 1.0]), total.get_value()], [one, one, 2 * one], rtol=1e-14)
    total.set_value(1.0)
    f([0.0, 0.0])
    assert float(total.get_value()) == 1.0


def test_an_update_in_place_leaves_a_snapshot() -> None:
    x, w = tg.scalar("x"), tg.shared(np.ones(1 << 15), "w", shape=(1 << 15,))
    g = tg.function([x], w[:2] * x, inference=True, backend="c")
    step = tg.function([], [], updates={w: 2 * w}, backend="c")
    for _ in range(3):
        step()
    assert g(1.0).tolist() == [1.0, 1.0]
    assert w.get_value()[0] == 8.0


def test_draws_go_on() -> None:
    stream, scale = tg.random.RandomStream(1), tg.shared([1.0, 2.0], "scale")
    f = tg.function([], stream.normal(size=(2,)) * scale, inference=True)
    assert not np.array_equal(f(), f())


@pytest.mark.parametrize("backend", ["c", "jax"])
def test_numbers_that_decide_lengths_are_constants(backend: str) -> None:
    x, count, w = tg.vector("x"), tg.shared(2, "count", shape=()), tg.shared([3.0, 4.0, 5.0], "w")
    f = tg.function([x], tg.exp(w)[:count] * x, inference=True, backend=backend)
    np.testing.assert_allclose(f([1.0, 2.0]), np.exp([3.0, 4.0]) * [1, 2], rtol=1e-12)
    assert f.graph.output_types[0].shape == (2,)


@pytest.fixture(params=["here", "elsewhere"])
def again(request: Any, monkeypatch: Any) -> Any:
    def loaded(value: Any) -> Any:
        data = pickle.dumps(value)
        if request.param == "elsewhere":
            monkeypatch.setattr(pickled, "_functions", weakref.WeakValueDictionary())
        return pickle.loads(data)

    return loaded


def test_it_survives_pickling_beside_one_of_other_values(again: Any) -> None:
    f, p, model = function_of("c", "float64")
    x = images(2, "float64")
    first = f.inference()
    p["4.weight"].set_value(np.zeros((5, 32)))
    second = f.inference()
    copies = again(first), again(second)
    for copy, original in zip(copies, (first, second), strict=True):
        np.testing.assert_array_equal(copy(x), original(x))
        assert repr(copy) == repr(original)
    np.testing.assert_allclose(copies[0](x), model(torch.from_numpy(x)).detach().numpy(), rtol=1e-11)


def test_names_structures_and_defaults_are_the_functions() -> None:
    x, y, w = tg.vector("x"), tg.scalar("y"), tg.shared([1.0, 2.0], "w")
    f = tg.function([{"x": x}, y], {"out": [x * w + y]}, defaults={y: 1.0}, name="layer", backend="c").inference()
    np.testing.assert_array_equal(f({"x": [1.0, 1.0]})["out"][0], [2.0, 3.0])
    np.testing.assert_array_equal(f({"x": [1.0, 1.0]}, y=0.0)["out"][0], [1.0, 2.0])
    assert f.name == "layer"
    assert f.inputs == [{"x": x}, y]
    with pytest.raises(InputError, match="no input is named 'w'"):
        f({"x": [1.0, 1.0]}, w=[0.0, 0.0])


def test_a_copy_is_for_the_same_values_on_another_backend() -> None:
    f, p, model = function_of("perform", "float64", inference=True)
    p["4.weight"].set_value(np.zeros((5, 32)))
    x = images(2, "float64")
    wanted = model(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(f.copy(backend="c")(x), wanted, rtol=1e-11)
    np.testing.assert_allclose(f.inference()(x), wanted, rtol=1e-11)
    with pytest.raises(InputError, match="needed a shared variable of the function"):
        f.copy(swap={p["4.weight"]: tg.shared(np.ones((5, 32)))})


def test_programs_of_jax_take_it_and_its_derivative() -> None:
    import jax

    x, w = tg.vector("x", "float32"), tg.shared(np.float32([1, 2]), "w")
    f = tg.function([x], tg.sum(tg.square(x * tg.exp(w))), inference=True, backend="jax").traceable()
    scale = np.exp(np.float32([1, 2]))
    np.testing.assert_allclose(jax.jit(f)(np.float32([1, 1])), np.sum(scale**2), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(f)(np.float32([1, 1])), 2 * scale**2, rtol=1e-5)


@pytest.mark.parametrize("options", [{"mode": "debug"}, {"nan_guard": True}, {"compile": "background"}])
def test_calls_that_are_watched_or_come_early_give_the_same(options: dict[str, Any]) -> None:
    f, _, model = function_of("c", "float64", inference=True, **options)
    x = images(2, "float64")
    np.testing.assert_allclose(f(x), model(torch.from_numpy(x)).detach().numpy(), rtol=1e-11)
    f.wait()
    np.testing.assert_allclose(f(x), model(torch.from_numpy(x)).detach().numpy(), rtol=1e-11)


def test_what_is_told_of_it() -> None:
    f, _, _ = function_of("c", "float64", inference=True)
    x = images(2, "float64")
    assert f.profile(x, calls=1).rows
    assert "snapshot" not in f.source()
    assert "convolution_of_channels" in str(f.explain())
    assert f.find_nonfinite(x) is None
    assert f.pointer(x).address


def test_what_is_larger_than_what_it_is_made_of_is_not_kept() -> None:
    x, w = tg.matrix("x"), tg.shared(np.ones((64, 1024), np.int8), "w")
    f = tg.function([x], x @ tg.cast(w, "float64"), inference=True, backend="perform")
    assert "Call" not in [node.op.name for node in f.graph.nodes]
    np.testing.assert_array_equal(f(np.ones((1, 64))), np.full((1, 1024), 64.0))


def test_statistics_of_the_batch_are_refused() -> None:
    x, w = tg.matrix("x"), tg.shared([1.0, 2.0], "w")
    y = tg.nn.batch_norm_training(x, w)[0]
    f = tg.function([x], y)
    wanted = "inference: found batch statistics of batch_norm, needed a graph built with training=False"
    with pytest.raises(InputError, match=wanted) as caught:
        f.inference()
    assert "test_inference.py" in str(caught.value)
    assert "tg.nn.batch_norm_training(x, w)" in str(caught.value)
    with pytest.raises(InputError, match=wanted):
        tg.function([x], tg.checkpoint(lambda v: tg.nn.batch_norm_training(v)[0])(x), inference=True)


@pytest.mark.parametrize("layer", [tg.nn.dropout, tg.nn.alpha_dropout])
def test_masks_of_dropout_are_refused(layer: Any) -> None:
    x, key = tg.vector("x"), tg.random.key(0)
    wanted = "inference: found a mask of dropout, needed a graph built with training=False"
    for y in (layer(x, 0.5, key), tg.checkpoint(lambda v: layer(v, 0.5, key))(x)):
        with pytest.raises(InputError, match=wanted) as caught:
            tg.function([x], y * 2, inference=True)
        assert "test_inference.py" in str(caught.value)
    assert tg.function([x], layer(x, 0.5, training=False), inference=True)([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_a_module_that_trains_is_refused_and_one_that_predicts_is_not() -> None:
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(4, 3), tg.nn.BatchNorm(3)), tg.random.key(0))
    x = tg.matrix("x", "float32")
    with pytest.raises(InputError, match="found batch statistics of batch_norm"):
        tg.function([x], model(x, training=True), inference=True)
    f = tg.function([x], model(x, training=False))
    values = np.float32([[1, 2, 3, 4], [0, 1, 0, -1]])
    np.testing.assert_allclose(f.inference()(values), f(values), rtol=1e-5, atol=1e-6)
