"""Networks of the examples on ggml, against the reference: float32, and quantised within a stated error."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tg
import tg_ggml  # noqa: F401

sys.path.append(str(Path(__file__).parents[3] / "examples"))

from networks import digits, gpt, resnet, vit

ERRORS = {None: 2e-5, "f16": 5e-3, "int8": 5e-2}
RESNET = {"basic": resnet.Kind((1, 1, 1, 1), is_bottleneck=False), "bottleneck": resnet.Kind((1, 1, 1, 1), True)}
VIT = vit.B16._replace(pixels=32, width=64, heads=4, layers=2, inner=128)
GPT = gpt.Kind(tokens=96, positions=16, layers=2, heads=4, width=64)


def difference(actual, exact):
    return np.linalg.norm(actual - exact) / np.linalg.norm(exact)


def images(n, side):
    return np.random.default_rng(1).normal(size=(n, 3, side, side)).astype("float32")


def by(backend, network, weights, x):
    """The logits of a network whose weights are shared variables, for inference."""
    p = {name: tg.shared(w, name, shape=w.shape) for name, w in weights.items()}
    v = tg.tensor("images", "float32", x.shape)
    return tg.function([v], network(v, p), backend=backend, inference=True)


@pytest.mark.parametrize("quantize", ERRORS)
@pytest.mark.parametrize("kind", RESNET)
def test_residual_networks(kind, quantize):
    weights = resnet.random_weights(RESNET[kind], classes=32)
    x = images(2, 32)

    def network(v, p):
        return resnet.resnet(v, p, RESNET[kind])

    f = by(tg.backend("ggml", quantize=quantize), network, weights, x)
    assert difference(f(x), by("perform", network, weights, x)(x)) < ERRORS[quantize]
    assert "CUSTOM" not in f.source()  # all of it is ggml's own
    if quantize == "int8":
        told = [line for line in f.source().splitlines() if "not quantised" in line]
        assert [line.partition(":")[0] for line in told] == ["#   convolution float32[64, 147]"]


@pytest.mark.parametrize("quantize", ERRORS)
def test_a_vision_transformer(quantize):
    weights, x = vit.random_weights(VIT, classes=32), images(2, 32)

    def network(v, p):
        return vit.vit(v, p, VIT)

    f = by(tg.backend("ggml", quantize=quantize), network, weights, x)
    assert difference(f(x), by("perform", network, weights, x)(x)) < ERRORS[quantize]
    assert {"FLASH_ATTN_EXT", "NORM", "GELU_ERF"} <= set(f.source().replace(",", " ").split())
    assert "CUSTOM" not in f.source()
    assert "not quantised" not in f.source()


def decoded(backend, tokens):
    """The logits after each token, with caches of keys and values that are shared variables."""
    weights = gpt.random_weights(GPT)
    p = {name: tg.shared(w, name, shape=w.shape) for name, w in weights.items()}
    caches = {name: tg.shared(c, name, shape=c.shape) for name, c in gpt.no_past(GPT).items()}
    token, position = tg.tensor("token", "int64", (1,)), tg.scalar("position", "int64")
    logits, written = gpt.gpt_step(token, position, caches, p, GPT)
    updates = {caches[name]: v for name, v in written.items()}
    f = tg.function([token, position], logits, updates=updates, backend=backend)
    return f, np.array([f(np.array([token]), k)[0] for k, token in enumerate(tokens)])


@pytest.mark.parametrize("quantize", ERRORS)
def test_decoding_with_a_cache(quantize):
    tokens = np.random.default_rng(2).integers(0, 96, 12)
    f, logits = decoded(tg.backend("ggml", quantize=quantize), tokens)
    text = tg.tensor("text", "int64", (1, 12))
    p = {name: tg.constant(w) for name, w in gpt.random_weights(GPT).items()}
    whole = gpt.gpt(text, p, GPT)
    exact = tg.function([text], whole, backend="perform")(tokens[None])[0]
    assert difference(logits, exact) < ERRORS[quantize]  # step by step as at once
    at_once = tg.function([text], whole, backend=tg.backend("ggml", quantize=quantize))
    assert difference(at_once(tokens[None])[0], exact) < ERRORS[quantize]
    if quantize == "int8":
        assert f.source().count("int8, ") == 11  # four matrices a layer, two tables, one of them as a matrix too


def test_a_token_outside_of_the_table_is_told_at_the_line():
    text = tg.tensor("text", "int64", (1, 3))
    p = {name: tg.constant(w) for name, w in gpt.random_weights(GPT).items()}
    f = tg.function([text], gpt.gpt(text, p, GPT), backend="ggml")
    with pytest.raises(tg.BoundsError, match=r"index 96 is outside of the table(.|\n)*gpt.py"):
        f(np.array([[1, 96, 2]]))


@pytest.mark.long
def test_digits_keep_their_accuracy():
    """At most 0.2 % of the images change their class in int8."""
    from tg.demo.digits import load

    data, model = load(), tg.nn.randomized(digits.Network(), tg.random.key(1), "float32")
    step = digits.training_step(data, model, "c")
    for batch in tg.data.batches(np.arange(len(data.images)), digits.BATCH, key=tg.random.key(2), epochs=5):
        step(batch)
    x = tg.tensor("x", "float32", (None, 64))
    logits = model(x, training=False)
    shares = {}
    for quantize in (None, "int8", "q4_0"):
        f = tg.function([x], logits, backend=tg.backend("ggml", quantize=quantize), inference=True)
        classes = f(data.test_images.astype("float32")).argmax(-1)
        shares[quantize] = np.mean(classes == data.test_labels)
    assert shares[None] > 0.95
    assert shares["int8"] >= shares[None] - 0.002
    assert shares["q4_0"] >= shares[None] - 0.01
