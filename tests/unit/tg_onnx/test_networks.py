"""The examples' networks as models: their operators, and that onnxruntime gives their golden values."""

from collections import Counter

import numpy as np
import onnx
import pytest
from networks import gpt, resnet, vit

import tg
import tg_onnx
from tests.unit.tg_onnx.models import golden, kinds


def held(weights):
    """The weights as shared variables whose lengths stay."""
    return {name: tg.shared(array, name=name, shape=array.shape) for name, array in weights.items()}


def images(pixels):
    return tg.tensor("images", shape=(tg.dim("batch"), 3, pixels, pixels), dtype="float32")


def small_vit():
    kind, x = vit.Kind(pixels=16, patch=4, layers=2, heads=3, width=12, inner=20), images(16)
    return tg.function([x], {"logits": vit.vit(x, held(vit.random_weights(kind, 10)), kind)}, backend="perform")


def small_gpt():
    kind = gpt.Kind(tokens=17, positions=12, layers=2, heads=3, width=12)
    tokens = tg.tensor("tokens", shape=(tg.dim("batch"), tg.dim("time")), dtype="int64")
    return tg.function([tokens], {"logits": gpt.gpt(tokens, held(gpt.random_weights(kind)), kind)}, backend="perform")


@pytest.mark.long(minutes=1)
def test_resnet_18_has_the_operators_that_its_layers_are(tmp_path):
    kind, x = resnet.KINDS[18], images(32)
    logits = resnet.resnet(x, held(resnet.random_weights(kind, 10)), kind)
    counts = Counter(kinds(golden(tg.function([x], {"logits": logits}, backend="perform"), tmp_path)))
    assert counts == {
        "Conv": 20, "BatchNormalization": 20, "Relu": 17, "Add": 8, "MaxPool": 1, "Squeeze": 1, "Gemm": 1,
    }  # fmt: skip


def test_a_step_of_training_convolutions_by_batch_statistics(tmp_path):
    draw = np.random.default_rng(0)
    shapes = {"k1": (6, 3, 3, 3), "k2": (8, 6, 3, 3), "scale": (6,), "shift": (6,), "w": (8, 5), "b": (5,)}
    p = held({name: (draw.standard_normal(shape) / 3).astype("float32") for name, shape in shapes.items()})
    x, labels = images(8), tg.tensor("labels", shape=(tg.dim("batch"),), dtype="int64")
    y = tg.nn.conv2d(x, p["k1"], padding=1)
    y = tg.nn.max_pool2d(tg.relu(tg.nn.batch_norm_training(y, p["scale"], p["shift"])[0]), 2)
    y = tg.relu(tg.nn.conv2d(y, p["k2"], stride=2, padding=1))
    cost = tg.nn.cross_entropy(tg.mean(y, (2, 3)) @ p["w"] + p["b"], labels)
    updates = [(v, v - 0.1 * slope) for v, slope in zip(p.values(), tg.grad(cost, list(p.values())), strict=True)]
    made = golden(tg.function([x, labels], {"cost": cost}, updates=updates, backend="perform"), tmp_path)
    assert [one.name for one in made.graph.output] == ["cost", *(f"{name}.new" for name in shapes)]


def test_a_step_of_a_transformer_with_a_cache(tmp_path):
    kind = gpt.Kind(tokens=17, positions=12, layers=2, heads=3, width=12)
    caches = {n: tg.tensor(n, shape=a.shape, dtype="float32") for n, a in gpt.no_past(kind, 2).items()}
    token, position = tg.tensor("token", shape=(2,), dtype="int64"), tg.scalar("position", dtype="int64")
    outputs = gpt.gpt_step(token, position, caches, held(gpt.random_weights(kind)), kind)
    made = golden(tg.function([token, position, caches], outputs, backend="perform"), tmp_path)
    assert Counter(kinds(made))["ScatterND"] == 4  # keys and values of two layers


def test_recurrent_layers_are_scans(tmp_path):
    x = tg.tensor("x", shape=(None, None, 5), dtype="float32")
    for layer in (tg.nn.GRU(5, 4), tg.nn.LSTM(5, 4)):
        result, *_ = tg.nn.randomized(layer, tg.random.key(0))(x)
        assert Counter(kinds(golden(tg.function([x], result, backend="perform"), tmp_path)))["Scan"] == 1


@pytest.mark.parametrize("make", [small_vit, small_gpt])
def test_transformers_attend_by_one_operator_since_opset_23(make, tmp_path):
    f = make()
    old, new = (Counter(kinds(golden(f, tmp_path, opset=opset))) for opset in (17, 23))
    assert old["Attention"] == 0
    assert new["Attention"] == new["Gelu"] == 2
    assert old["LayerNormalization"] == new["LayerNormalization"] >= 4


@pytest.mark.parametrize("make", [small_vit, small_gpt])
@pytest.mark.parametrize("opset", [17, 23])
def test_what_is_written_is_read_and_written_again(make, opset, tmp_path):
    f = make()
    first = tg.export(f, tmp_path / "first.onnx", "onnx", opset=opset)
    again = tg_onnx.load(first).function(backend="perform")
    (name,) = (one.name for one in onnx.load(first).graph.input)
    draw = np.random.default_rng(6)
    value = draw.integers(0, 9, (2, 5)) if name == "tokens" else draw.standard_normal((2, 3, 16, 16)).astype("float32")
    np.testing.assert_allclose(again(value)["logits"], f(value)["logits"], rtol=1e-4, atol=1e-5)
    second = tg.export(again, tmp_path / "second.onnx", "onnx", opset=opset, example={name: value})
    last = tg_onnx.load(second).function(backend="perform")
    np.testing.assert_allclose(last(value)["logits"], f(value)["logits"], rtol=1e-4, atol=1e-5)
    assert "LayerNormalization" in kinds(onnx.load(second))
