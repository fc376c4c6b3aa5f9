"""Networks that learn in mixed precision: after training their losses are those of float32, on every backend."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from networks import characters, digits, gpt

import tg

pytest.importorskip("sklearn")
BACKENDS = [one.name for one in tg.plugin.registry().backends() if one.is_available and one.name != "perform"]
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in BACKENDS]
HALVES = ("bfloat16", "float16")
KIND = gpt.Kind(tokens=96, positions=16, layers=2, heads=4, width=32)
WIDTHS = (8, 16)
STEPS, LAST, LINES = 90, 30, 16


def updates_of(amp, loss, weights, optimizer):
    """The updates of an optimizer, in float16 with a scale of the loss."""
    if amp != "float16":
        return optimizer(tg.grad(loss, weights))
    return tg.optimize.loss_scaled(loss, weights, optimizer, init_scale=2.0**15)


def small_network():
    """The residual network of the example, with two narrow blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "WIDTHS", WIDTHS)
        return tg.nn.randomized(digits.Network(), tg.random.key(1), "float32")


def digits_losses(name, amp, steps, batch=32):
    """The losses of steps of a residual network."""
    data, model = digits.load(), small_network()
    weights = tg.nn.params(model)
    images, labels = tg.tensor("images", "float32", (batch, 64)), tg.tensor("labels", "int64", (batch,))
    loss = tg.nn.cross_entropy(model(images, training=True), labels)
    moved = functools.partial(tg.optimize.sgd, None, weights, learning_rate=0.01, momentum=0.9)
    updates = updates_of(amp, loss, weights, lambda g: moved(gradients=g))
    step = tg.function([images, labels], loss, updates=updates, backend=tg.backend(name, amp=amp))
    batches = np.random.default_rng(2).integers(0, len(data.images), (steps, batch))
    return [float(step(data.images[places].astype("float32"), data.labels[places])) for places in batches]


def characters_losses(name, amp, steps, lines=LINES):
    """The losses of steps of a small GPT."""
    learnt, _ = characters.text()
    weights = {name: tg.shared(w, name, shape=w.shape) for name, w in gpt.random_weights(KIND).items()}
    text = tg.tensor("text", "int64", (lines, KIND.positions + 1))
    logits = gpt.gpt(text[:, :-1], weights, KIND)
    loss = tg.nn.cross_entropy(logits.reshape((-1, KIND.tokens)), text[:, 1:].reshape((-1,)))
    updates = updates_of(amp, loss, weights, lambda g: tg.optimize.adam(None, weights, learning_rate=3e-3, gradients=g))
    step = tg.function([text], loss, updates=updates, backend=tg.backend(name, amp=amp))
    places = np.arange(KIND.positions + 1)
    batches = np.random.default_rng(3).integers(0, len(learnt) - len(places), (steps, lines))
    return [float(step(learnt[starts[:, None] + places])) for starts in batches]


@functools.cache
def losses(train, backend, amp, *sizes):
    return np.array(train(backend, amp, *sizes))


@pytest.mark.parametrize("amp", HALVES)
@pytest.mark.parametrize("train", [digits_losses, characters_losses])
@pytest.mark.parametrize("backend", SLOW)
def test_networks_reach_the_loss_of_float32(backend, train, amp):
    single, mixed = losses(train, backend, None, STEPS), losses(train, backend, amp, STEPS)
    assert single[-LAST:].mean() < 0.8 * single[0]
    assert (single != mixed).any()
    np.testing.assert_allclose(mixed[-LAST:].mean(), single[-LAST:].mean(), rtol=0.005)


@pytest.mark.parametrize("amp", HALVES)
@pytest.mark.parametrize(("train", "size"), [(digits_losses, 8), (characters_losses, 2)])
def test_the_first_steps_have_the_losses_of_float32(train, size, amp):
    mixed, single = losses(train, "perform", amp, 2, size), losses(train, "perform", None, 2, size)
    np.testing.assert_allclose(mixed, single, rtol=0.005)
