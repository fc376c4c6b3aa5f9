"""`tg.quantized`: which products change, what they compute, reports, and what is refused."""

from __future__ import annotations

import gc
import itertools
import pickle
import weakref

import numpy as np
import pytest

import tg
from tg.errors import InputError, OptionError
from tg.functions.inference import for_inference
from tg.graph.traversal import sorted_applies
from tg.ops.contraction import MatMul
from tg.ops.integer_products import IntegerMatMul

gguf = pytest.importorskip("gguf")

GROUPS = ("q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k")


def model(*sizes):
    layers = [tg.nn.Dense(a, b) for a, b in itertools.pairwise(sizes)]
    parts = [part for layer in layers for part in (layer, tg.relu)][:-1]
    return tg.nn.randomized(tg.nn.Sequential(*parts), tg.random.key(1))


def compiled(net, **options):
    x = tg.matrix("x", "float32")
    return tg.function([x], net(x), backend="perform", **options)


def images(n=20, width=64):
    return np.random.default_rng(0).normal(size=(n, width)).astype("float32")


def ops(f):
    return [type(node.op) for node, _ in sorted_applies(f.request.results)]


def by_gguf(w, name):
    kind = gguf.GGMLQuantizationType[name.upper()]
    return gguf.quants.dequantize(tg.quantize_groups(w, name), kind)


@pytest.mark.parametrize("name", GROUPS)
def test_weights_in_groups_are_those_that_gguf_reads(name):
    net = model(256, 12)
    w, b = (v.get_value() for v in tg.nn.params(net).values())
    q, x = tg.quantized(compiled(net), name), images(width=256)
    np.testing.assert_allclose(q(x), x @ by_gguf(w, name).T + b, rtol=1e-5, atol=1e-5)
    assert q.report["0.weight"].format == name


def test_int8_has_a_scale_for_each_channel_of_the_result():
    net = model(64, 5)
    w, b = (v.get_value() for v in tg.nn.params(net).values())
    q, x = tg.quantized(compiled(net)), images()
    scale = np.abs(w).max(1, keepdims=True) / 127
    np.testing.assert_allclose(q(x), x @ (np.rint(w / scale) * scale).T + b, rtol=1e-5, atol=1e-5)
    held = {v.name: v.get_value() for v in q.request.sources}
    assert held["0.weight.int8"].dtype == "int8"
    np.testing.assert_array_equal(held["0.weight.scale"], scale)


@pytest.mark.parametrize("width", [63, 64])
def test_int4_is_two_levels_in_a_byte(width):
    net = model(width, 5)
    w = tg.nn.params(net)["0.weight"].get_value()
    q = tg.quantized(compiled(net), "int4")
    held = {v.name: v.get_value() for v in q.request.sources}
    packed, scale = held["0.weight.int4"], held["0.weight.scale"]
    assert packed.dtype == "uint8"
    assert packed.shape == (5, (width + 1) // 2)
    low, high = packed & 15, packed >> 4
    levels = (np.concatenate([low, high], 1).astype(int) ^ 8) - 8
    rows = levels[:, :width] * scale
    assert np.abs(levels).max() <= 7
    assert np.linalg.norm(rows - w) < 0.09 * np.linalg.norm(w)
    x, b = images(width=width), tg.nn.params(net)["0.bias"].get_value()
    np.testing.assert_allclose(q(x), x @ rows.T.astype("float32") + b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("is_static", [False, True])
def test_integers_for_activations_are_summed_exactly(kind, is_static):
    net, x = model(64, 5), images()
    w, b = (v.get_value() for v in tg.nn.params(net).values())
    q = tg.quantized(compiled(net), "int8", kind, calibrate=[x] if is_static else None)
    assert IntegerMatMul in ops(q)
    assert MatMul not in ops(q)
    ws = np.abs(w).max(1, keepdims=True) / 127
    axis = None if is_static else 1
    low, high = np.minimum(x.min(axis, keepdims=True), 0), np.maximum(x.max(axis, keepdims=True), 0)
    if kind == "int8":
        xs, zero = np.maximum(high, -low) / np.float32(127), 0
        levels = np.clip(np.rint(x / xs), -128, 127)
    else:
        xs = (high - low) / np.float32(255)
        zero = np.clip(np.rint(-low / xs), 0, 255)
        levels = np.clip(np.rint(x / xs) + zero, 0, 255)
    sums = (levels - zero).astype(np.int64) @ np.rint(w / ws).astype(np.int64).T
    np.testing.assert_allclose(q(x), sums * (xs * ws.T) + b, rtol=1e-5, atol=1e-5)


def test_rows_of_zeros_stay():
    net = model(64, 5)
    f, x = compiled(net), np.zeros((2, 64), "float32")
    for kind in ("int8", "uint8"):
        np.testing.assert_array_equal(tg.quantized(f, "int8", kind)(x), f(x))
    w = tg.shared(np.zeros((64, 3), "float32"))
    v = tg.matrix("v", "float32")
    for form in ("int8", "int4", "q4_k"):
        assert not tg.quantized(([v], v @ w), form, backend="perform")(images()).any()


def convolved(x, w, stride, padding, groups):
    torch = pytest.importorskip("torch")
    x, w = (torch.from_numpy(np.asarray(v)) for v in (x, w))
    return torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups).numpy()


@pytest.mark.parametrize("kind", [None, "int8", "uint8"])
@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (2, 1, 1), (1, 1, 2)])
def test_convolutions_are_those_of_rounded_factors(kind, stride, padding, groups):
    draws = np.random.default_rng(3)
    w = draws.normal(size=(6, 4 // groups, 3, 3)).astype("float32")
    images = draws.normal(size=(3, 4, 7, 6)).astype("float32") + np.float32(0.5)
    x = tg.tensor("x", "float32", (None, 4, None, 6))
    y = tg.nn.conv2d(x, tg.shared(w, "w", shape=w.shape), stride=stride, padding=padding, groups=groups)
    q = tg.quantized(([x], y), "int8", kind, backend="perform")
    ws = np.abs(w).max((1, 2, 3), keepdims=True) / 127
    wq = np.rint(w / ws) * ws
    low, high = (f(images.min((1, 2, 3), keepdims=True) if f is np.minimum else images.max((1, 2, 3), keepdims=True), 0)
                 for f in (np.minimum, np.maximum))  # fmt: skip
    rounded = images
    if kind == "int8":
        s = np.maximum(high, -low) / np.float32(127)
        rounded = np.rint(images / s) * s
    if kind == "uint8":
        s = (high - low) / np.float32(255)
        zero = np.rint(-low / s)
        rounded = (np.clip(np.rint(images / s) + zero, 0, 255) - zero) * s
    expected = convolved(rounded.astype("float64"), wq.astype("float64"), stride, padding, groups)
    np.testing.assert_allclose(q(images), expected, rtol=1e-4, atol=1e-5)


def test_kernels_are_packed_in_groups_over_channels_and_window():
    w = np.random.default_rng(3).normal(size=(6, 5, 3, 3)).astype("float32")
    x = tg.tensor("x", "float32", (1, 5, 8, 8))
    q = tg.quantized(([x], tg.nn.conv2d(x, tg.shared(w, "w", shape=w.shape))), "q4_0", backend="perform")
    rows = by_gguf(np.pad(w.reshape(6, 45), ((0, 0), (0, 19))), "q4_0")[:, :45].reshape(w.shape)
    pixels = np.random.default_rng(4).normal(size=(1, 5, 8, 8)).astype("float32")
    np.testing.assert_allclose(q(pixels), convolved(pixels, rows, 1, 0, 1), rtol=1e-4, atol=1e-4)
    assert q.report["w"].shape == (1, 6, 45)


def test_a_table_and_the_product_that_shares_it_are_packed_once():
    table = np.random.default_rng(0).normal(size=(50, 64)).astype("float32")
    shared, i = tg.shared(table, "table"), tg.vector("i", "int64")
    f = tg.function([i], tg.tanh(tg.nn.embedding(i, shared)) @ shared.T, backend="perform")
    for form in ("q8_0", "int8", "int4"):
        q = tg.quantized(f, form)
        assert [layer.kind for layer in q.report.layers] == ["rows", "matmul"]
        assert len(q.request.sources) == (1 if form == "q8_0" else 2)
        assert (q.report.before, q.report.held) == (table.nbytes, 0)
    rows = by_gguf(table, "q8_0")
    q, places = tg.quantized(f, "q8_0"), np.array([3, 0, 49])
    np.testing.assert_allclose(q(places), np.tanh(rows[places]) @ rows.T, rtol=1e-4, atol=1e-4)


def test_weights_from_the_left_and_behind_movements_are_met():
    a = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
    w, x = tg.shared(a, "w"), tg.tensor("x", "float32", (None, 3, 6))
    f = tg.function([x], [tg.einsum("bij,kj->bik", x, w), w @ x[0].T, x @ (2 * w).reshape((4, 12))[:, 2:8].T])
    q = tg.quantized(f, "int8")
    assert [layer.shape for layer in q.report.layers] == [(8, 6), (8, 6), (4, 6)]
    assert "w" not in [v.name for v in q.request.sources]
    for got, expected in zip(q(images(4 * 3, 6).reshape(4, 3, 6)), f(images(12, 6).reshape(4, 3, 6)), strict=True):
        np.testing.assert_allclose(got, expected, atol=0.02 * np.abs(expected).max())


def test_what_is_skipped_stays():
    f = compiled(model(64, 32, 16, 8))
    q = tg.quantized(f, "q8_0", skip=("0", "4.w*"))
    assert [(layer.name, layer.format) for layer in q.report.layers] == [
        ("0.weight", ""),
        ("2.weight", "q8_0"),
        ("4.weight", ""),
    ]
    again = tg.quantized(q, "q4_0", skip="4")
    assert [(layer.name, layer.format) for layer in again.report.layers] == [("0.weight", "q4_0"), ("4.weight", "")]
    with pytest.raises(InputError, match=r"skip: found no weights '2\.weigth'\n(.|\n)*'2.weight' is one"):
        tg.quantized(f, skip="2.weigth")


def test_what_the_function_updates_stays():
    w = tg.shared(np.ones((4, 4), "float32"), "w")
    x = tg.matrix("x", "float32")
    f = tg.function([x], x @ w, updates={w: w * 2}, backend="perform")
    with pytest.raises(InputError, match="found no product with weights"):
        tg.quantized(f)
    v = tg.shared(np.full((4, 4), 0.5, "float32"), "v")
    q = tg.quantized(tg.function([x], x @ w @ v, updates={w: w * 2}, backend="perform"))
    assert [layer.name for layer in q.report.layers] == ["v"]
    ones = np.ones((1, 4), "float32")
    assert [float(q(ones)[0, 0]) for _ in range(2)] == pytest.approx([8, 16])


@pytest.mark.long
def test_the_memory_of_the_weights_is_free():
    net = model(64, 32)
    f = compiled(net)
    q = tg.quantized(f, "q4_0")
    ref = weakref.ref(tg.nn.params(net)["0.weight"])
    del f, net
    gc.collect()
    assert ref() is None
    assert q(images()).shape == (20, 32)
    assert (q.report.before, q.report.after) == (64 * 32 * 4, 64 * 32 // 32 * 18)


def test_errors_are_those_of_a_layer_alone():
    net, x = model(64, 32, 10), images(100)
    f = compiled(net)
    q = tg.quantized(f, "q4_0", calibrate=[(x[:50],), {"x": x[50:]}])
    w, b = (v.get_value() for v in tg.nn.params(net).values() if v.name.startswith("0"))
    rounded = by_gguf(w, "q4_0")
    layer = q.report["0.weight"]
    assert layer.weight_error == pytest.approx(np.linalg.norm(rounded - w) / np.linalg.norm(w), rel=1e-4)
    assert layer.output_error == pytest.approx(np.linalg.norm(x @ (rounded - w).T) / np.linalg.norm(x @ w.T), rel=1e-3)
    hidden, w2 = np.maximum(x @ w.T + b, 0), tg.nn.params(net)["2.weight"].get_value()
    error = np.linalg.norm(hidden @ (by_gguf(w2, "q4_0") - w2).T) / np.linalg.norm(hidden @ w2.T)
    assert q.report["2.weight"].output_error == pytest.approx(error, rel=1e-3)
    assert str(q.report).splitlines()[1].split()[:3] == ["0.weight", "matmul", "32"]
    with pytest.raises(KeyError):
        q.report["3.weight"]


def test_it_is_a_function_like_others():
    x = images()
    f = compiled(model(64, 8), inference=True)
    q = tg.quantized(f, "q4_0")
    y = q(x)
    assert f.report is None
    assert q.copy(backend="c").report is q.report
    for g in (q.copy(backend="c"), q.inference(), pickle.loads(pickle.dumps(q))):
        np.testing.assert_allclose(g(x), y, rtol=1e-5, atol=1e-6)
    assert all(s.type.dtype == "uint8" for s in for_inference(q.request).sources if s.type.ndim == 2)


def test_a_pair_of_inputs_and_outputs_in_structures_is_taken():
    net, x = model(64, 8), tg.matrix("x", "float32")
    q = tg.quantized(([{"x": x}], {"y": net(x)}), "int8", backend="perform", calibrate=[({"x": images()},)])
    assert q({"x": images()})["y"].shape == (20, 8)
    assert q.report["0.weight"].output_error < 0.01


def test_what_has_no_meaning_is_refused():
    f = compiled(model(64, 8))
    with pytest.raises(OptionError, match="weights: found 'int3', needed one of int8, int4, q8_0"):
        tg.quantized(f, "int3")
    with pytest.raises(OptionError, match="activations: found 'int4', needed None or one of int8, uint8"):
        tg.quantized(f, "int8", "int4")
    with pytest.raises(OptionError, match="found 'int8' beside weights in groups, needed None"):
        tg.quantized(f, "q8_0", "int8")
    with pytest.raises(InputError, match="calibrate: found no calls"):
        tg.quantized(f, calibrate=[])
    with pytest.raises(InputError, match=r"calibrate: 0\.weight: found values from"):
        tg.quantized(f, "int8", "int8", calibrate=[np.full((1, 64), np.inf, "float32")])
    w = tg.shared(np.full((64, 8), np.nan, "float32"), "w")
    x = tg.matrix("x", "float32")
    for form in ("int8", "int4", "q4_0"):
        with pytest.raises(InputError, match=r"found NaN or infinity"):
            tg.quantized(([x], x @ w), form)
