"""A network that has learnt digits, with packed weights: how much of its accuracy stays."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from networks import digits

import tg
from tg.demo.digits import load

pytest.importorskip("sklearn")
BACKEND = "c"
POINTS = 0.002  # of the accuracy that int8 may cost
FOUR_BITS = 0.01  # and groups of 4 bits

pytestmark = [pytest.mark.long(minutes=3), pytest.mark.timeout(1800)]


@functools.cache
def learnt():
    """A network that has learnt digits, for fewer steps than the example takes, and the images."""
    data, model = load(), tg.nn.randomized(digits.Network(), tg.random.key(1))
    step = digits.training_step(data, model, BACKEND)
    for batch in tg.data.batches(np.arange(len(data.images)), digits.BATCH, key=tg.random.key(2), epochs=8):
        step(batch)
    return data, model


def of_images(model):
    x = tg.matrix("images", "float32")
    return tg.function([x], model(x, training=False), backend=BACKEND)


def accuracy(f, data):
    return float(np.mean(f(data.test_images.astype("float32")).argmax(-1) == data.test_labels))


@pytest.mark.parametrize("activations", [None, "int8", "uint8"])
@pytest.mark.parametrize("is_static", [False, True])
def test_int8_reads_digits_as_float32_does(activations, is_static):
    data, model = learnt()
    f = of_images(model)
    some = [data.images[:256].astype("float32")]
    q = tg.quantized(f, "int8", activations, calibrate=some if is_static else None)
    before = accuracy(f, data)
    assert before > 0.95
    assert abs(accuracy(q, data) - before) <= max(POINTS, 1 / len(data.test_labels))
    assert all(layer.format == "int8" for layer in q.report.layers)
    assert q.report.after < 0.27 * q.report.before


@pytest.mark.parametrize("form", ["q8_0", "q4_0", "q4_1", "q5_0", "q4_k"])
def test_groups_read_digits_within_a_hundredth(form):
    data, model = learnt()
    f = of_images(model)
    assert accuracy(tg.quantized(f, form), data) >= accuracy(f, data) - FOUR_BITS
