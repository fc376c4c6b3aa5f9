"""Programs on ggml: what the suite of conformance does not look at."""

import threading

import gguf
import numpy as np
import pytest

import tg
import tg_ggml  # noqa: F401

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def inputs(*arrays):
    return [tg.tensor(f"x{k}", str(a.dtype), a.shape) for k, a in enumerate(arrays)]


def close(actual, exact, error=1e-5):
    assert actual.dtype == exact.dtype
    assert actual.shape == exact.shape
    assert np.abs(actual - exact).max() <= error * np.abs(exact).max()


@pytest.mark.parametrize("order", [(2, 0, 1), (4, 2, 0, 3, 1), (5, 1, 3, 0, 4, 2), (1, 0, 3, 2, 5, 4)], ids=str)
def test_transposes_of_any_rank(order):
    data = floats(*(2, 3, 4, 5, 2, 3)[: len(order)])
    (x,) = inputs(data)
    assert np.array_equal(tg.function([x], tg.transpose(x, order), backend="ggml")(data), data.transpose(order))


def test_operands_of_six_axes_broadcast():
    a, b = floats(2, 1, 3, 1, 4, 1), floats(1, 5, 1, 6, 1, 2)
    x, y = inputs(a, b)
    assert np.array_equal(tg.function([x, y], x - y, backend="ggml")(a, b), a - b)


CARRIED = {
    "itself": lambda w: w,
    "transposed": lambda w: tg.transpose(tg.transpose(w)),
    "expanded": lambda w: tg.squeeze(w[None], 0),
    "reshaped": lambda w: tg.reshape(tg.reshape(w, (2, 128, 32)), (256, 32)),
    "batch of one": lambda w: w[None],
}


@pytest.mark.parametrize("way", CARRIED)
@pytest.mark.parametrize("settings", [{"mode": "off"}, {}], ids=str)
def test_weights_are_quantised_behind_movements(way, settings):
    w, data = floats(256, 32), floats(4, 256)
    (x,) = inputs(data)
    with tg.config(**settings):
        f = tg.function([x], x @ CARRIED[way](tg.constant(w)), backend=tg.backend("ggml", quantize="int8"))
        result = f(data).reshape(4, 32)
    stored = gguf.quants.quantize(np.ascontiguousarray(w.T), gguf.GGMLQuantizationType.Q8_0)
    assert f"q8_0, {stored.nbytes} bytes" in f.source().replace("int8,", "q8_0,")
    close(result, data @ w, 0.02)
    assert np.abs(result - data @ w).max() > 0  # it is quantised


def test_source_says_why_a_factor_is_not_quantised():
    a, b = floats(4, 30), floats(30, 64)
    x, y = inputs(a, b)
    f = tg.function([x, y], (x @ floats(30, 8)) @ floats(8, 64) + x @ y, backend=tg.backend("ggml", quantize="q4_0"))
    f(a, b)
    assert "found rows of 30, needed a multiple of 32" in f.source()
    assert "its values are computed in each call" in f.source()


def test_kernels_and_tables_are_quantised():
    w, e, images, at = floats(8, 32, 3, 3), floats(10, 64), floats(2, 32, 6, 6), np.array([[3, 0], [9, 9]])
    x, i = inputs(images, at)
    outputs = [tg.nn.conv2d(x, w, padding=1), tg.nn.embedding(i, e)]
    f = tg.function([x, i], outputs, backend=tg.backend("ggml", quantize="int8"))
    exact = tg.function([x, i], outputs, backend="perform")(images, at)
    for y, one in zip(f(images, at), exact, strict=True):
        close(y, one, 0.02)
    assert "convolution float32[8, 288]: int8, 2448 bytes" in f.source()
    assert "gather float32[10, 64]: int8, 680 bytes" in f.source()


def test_one_constant_is_stored_once_for_several_programs():
    from tg_ggml import weights

    w = tg.constant(floats(256, 64))
    x, y = tg.tensor("x", "float32", (None, 256)), tg.tensor("y", "float32", (3, 256))
    one, two = (tg.function([v], v @ w, backend=tg.backend("ggml", quantize="q6_K")) for v in (x, y))
    before = len(weights._WEIGHTS)
    one(floats(2, 256)), one(floats(5, 256)), two(floats(3, 256))
    assert len(weights._WEIGHTS) == before + 1


def test_a_dtype_that_ggml_lacks_is_refused_at_the_line():
    x = tg.vector("x")
    with pytest.raises(tg.NoRuleError, match=r"has no dtype float64(.|\n)*test_programs.py"):
        tg.function([x], x + 1, backend="ggml")
    y = tg.vector("y", dtype="float32")
    with pytest.raises(tg.NoRuleError, match=r"does not run arctan: ggml has no such function(.|\n)*test_programs.py"):
        tg.function([y], tg.arctan(y), backend="ggml")


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"quantize": "q9"}, {"device": "gpu"}], ids=str)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(tg.OptionError):
        tg.backend("ggml", **wrong)


def test_gradients_of_a_network_stay_inside():
    w, v, data, labels = floats(32, 16), floats(16, 3), floats(8, 32), floats(8, 3)
    args = inputs(w, v, data, labels)
    a, b, x, t = args
    loss = tg.mean(tg.square(tg.tanh(x @ a) @ b - t))
    gradients = tg.grad(loss, [a, b])
    f = tg.function(args, gradients, backend="ggml")
    for y, exact in zip(f(w, v, data, labels), tg.function(args, gradients)(w, v, data, labels), strict=True):
        close(y, exact.astype("float32"))


def test_calls_of_several_threads():
    w = floats(64, 64)
    x = tg.tensor("x", "float32", (None, 64))
    f = tg.function([x], tg.softmax(x @ w), backend="ggml")
    datas = [floats(k % 3 + 1, 64) for k in range(24)]
    results = [None] * len(datas)

    def run(k):
        results[k] = f(datas[k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(datas))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for data, result in zip(datas, results, strict=True):
        assert np.array_equal(result, f(data))


def test_two_threads_give_the_same_numbers():
    w, data = floats(64, 64), floats(16, 64)
    (x,) = inputs(data)
    y = tg.relu(x @ w)
    one, two = (tg.function([x], y, backend=tg.backend("ggml", threads=n))(data) for n in (1, 2))
    close(two, one, 1e-6)


def test_memory_is_refused_before_a_call():
    x = tg.tensor("x", "float32", (1000, 1000))
    f = tg.function([x], tg.exp(x) @ tg.tanh(x), backend=tg.backend("ggml", memory=1_000_000))
    with pytest.raises(tg.LimitError):
        f(floats(1000, 1000))
