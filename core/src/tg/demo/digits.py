"""Handwritten digits: a two-layer network, trained by mini-batches with momentum.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/digits.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 32
EPOCHS = 30
RATE = 0.05
MOMENTUM = 0.9


# 1. Data. 1,797 images of 8 by 8 pixels ship inside scikit-learn; a fifth of them is kept for the test.
class Digits(NamedTuple):
    """Images (n, 64) in [0, 1] and labels (n,) in 0..9, for training and for the test."""

    images: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    test_images: np.ndarray[Any, Any]
    test_labels: np.ndarray[Any, Any]


def load() -> Digits:
    """The data, shuffled in a fixed order and split."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order] / 16.0, labels[order].astype(np.int64)
    cut = len(images) * 4 // 5
    return Digits(images[:cut], labels[:cut], images[cut:], labels[cut:])


# 2. Parameters are shared variables: they live between calls, and a function may update them.
def parameters(hidden: int = 64) -> dict[str, tg.Shared]:
    """Small random weights and zero biases, the same at every call."""
    draw = np.random.default_rng(1)
    values = {
        "w1": draw.normal(0, 1 / 8, (64, hidden)),
        "b1": np.zeros(hidden),
        "w2": draw.normal(0, 1 / np.sqrt(hidden), (hidden, 10)),
        "b2": np.zeros(10),
    }
    return {name: tg.shared(value, name, shape=value.shape) for name, value in values.items()}


# 3. The model is written as in NumPy; nothing is computed yet.
def log_probabilities(p: dict[str, tg.Shared], images: tg.Variable) -> tg.Variable:
    """The network: images (n, 64) -> log-probabilities (n, 10)."""
    hidden = tg.tanh(images @ p["w1"] + p["b1"])
    return tg.log_softmax(hidden @ p["w2"] + p["b2"])


# 4. A training step is a function with updates. The batch is a slice at a run-time position: it never recompiles.
def training_step(data: Digits, p: dict[str, tg.Shared], backend: str) -> Any:
    """A function of the batch number that returns the loss and moves the parameters."""
    images = tg.shared(data.images, "images", shape=data.images.shape)
    labels = tg.shared(data.labels, "labels", shape=data.labels.shape)
    k = tg.scalar("k", dtype="int64")
    batch = images[k * BATCH : (k + 1) * BATCH]
    target = labels[k * BATCH : (k + 1) * BATCH]

    scores = log_probabilities(p, batch)
    loss = -tg.mean(scores[tg.arange(target.shape[0]), target])
    gradients = tg.grad(loss, p)

    updates = {}
    for name, gradient in gradients.items():
        start = np.zeros_like(p[name].get_value())
        speed = tg.shared(start, f"speed of {name}", shape=start.shape)
        new = MOMENTUM * speed - RATE * gradient
        updates[speed] = new
        updates[p[name]] = p[name] + new
    return tg.function([k], loss, updates=updates, backend=backend, name="training_step")


# 5. Prediction is another function of the same parameters.
def prediction(p: dict[str, tg.Shared], backend: str) -> Any:
    """A function from images to digits."""
    images = tg.matrix("images")
    return tg.function([images], tg.argmax(log_probabilities(p, images), axis=-1), backend=backend, name="prediction")


# 6. Training is a plain loop of calls.
class Result(NamedTuple):
    """The result of a training run."""

    backend: str
    compile_seconds: float
    step_microseconds: float
    accuracy: float
    losses: np.ndarray[Any, Any]
    parameters: dict[str, np.ndarray[Any, Any]]


def train(backend: str, data: Digits, progress: Callable[[int, float], None] | None = None) -> Result:
    """Train on one backend; `progress(epoch, loss)` is called after each epoch."""
    p = parameters()
    began = time.perf_counter()
    step = training_step(data, p, backend)
    predict = prediction(p, backend)
    predict(data.test_images)
    first = step(0)
    compile_seconds = time.perf_counter() - began

    batches = len(data.images) // BATCH
    losses, spent = [float(first)], 0.0
    for epoch in range(EPOCHS):
        start = time.perf_counter()
        losses.extend([float(step(k)) for k in range(batches)])
        spent += time.perf_counter() - start
        if progress is not None:
            progress(epoch + 1, losses[-1])
    accuracy = float(np.mean(predict(data.test_images) == data.test_labels))
    return Result(
        backend,
        compile_seconds,
        1e6 * spent / (EPOCHS * batches),
        accuracy,
        np.array(losses),
        {name: v.get_value() for name, v in p.items()},
    )


if __name__ == "__main__":
    result = train(
        sys.argv[1] if len(sys.argv) > 1 else "auto", load(), lambda e, loss: print(f"epoch {e:2}: loss {loss:.4f}")
    )
    print(
        f"{result.backend}: {100 * result.accuracy:.1f} % of the test images, {result.step_microseconds:.0f} µs a step"
    )
