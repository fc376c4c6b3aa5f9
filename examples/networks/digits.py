"""A small residual network that learns handwritten digits: batch norms, and SGD with momentum as updates.

`python examples/networks/digits.py c` trains it on four fifths of scikit-learn's 1,797 images and tests it on the rest.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg
from tg.demo.digits import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WIDTHS = (16, 32, 64)
BATCH, EPOCHS = 32, 15
RATE, MOMENTUM, DECAY = 0.05, 0.9, 5e-4
SLOWLY = 0.1  # part of a batch's mean and variance in the running ones


def parameters(dtype: str = "float32") -> dict[str, np.ndarray[Any, Any]]:
    """Weights of He's scale, and batch norms that change nothing, the same at every call."""
    draw, channels = np.random.default_rng(1), (1, WIDTHS[0], *WIDTHS)
    result: dict[str, Any] = {}

    def add(name: str, outer: int, inner: int, window: int) -> None:
        scale = np.sqrt(2 / (inner * window**2))
        result[f"{name}.weight"] = scale * draw.normal(size=(outer, inner, window, window))
        for part, value in (("scale", 1), ("shift", 0), ("mean", 0), ("var", 1)):
            result[f"{name}.{part}"] = np.full(outer, value)

    add("stem", WIDTHS[0], 1, 3)
    for k, width in enumerate(WIDTHS):
        inner = channels[k + 1]
        add(f"{k}.first", width, inner, 3)
        add(f"{k}.second", width, width, 3)
        if width != inner:
            add(f"{k}.shortcut", width, inner, 1)
    result["last.weight"] = draw.normal(size=(WIDTHS[-1], 10)) / np.sqrt(WIDTHS[-1])
    result["last.bias"] = np.zeros(10)
    return {name: value.astype(dtype) for name, value in result.items()}


def network(images: Any, p: Mapping[str, Any], *, training: bool) -> tuple[Any, dict[str, Any]]:
    """The logits of images (n, 64), and while training the new running means and variances by name."""
    running = {}

    def conv(x: Any, name: str, stride: int = 1) -> Any:
        w = p[f"{name}.weight"]
        y = tg.nn.conv2d(x, w, stride=stride, padding=w.type.shape[-1] // 2)
        affine = p[f"{name}.scale"], p[f"{name}.shift"]
        if not training:
            return tg.nn.batch_norm(y, p[f"{name}.mean"], p[f"{name}.var"], *affine)
        y, *found = tg.nn.batch_norm_training(y, *affine)
        for part, value in zip(("mean", "var"), found, strict=True):
            running[f"{name}.{part}"] = (1 - SLOWLY) * p[f"{name}.{part}"] + SLOWLY * value
        return y

    x = tg.relu(conv(images.reshape((images.shape[0], 1, 8, 8)), "stem"))
    for k in range(len(WIDTHS)):
        y = conv(tg.relu(conv(x, f"{k}.first", 2 if k else 1)), f"{k}.second")
        x = tg.relu(y + (conv(x, f"{k}.shortcut", 2) if k else x))
    return tg.mean(x, (2, 3)) @ p["last.weight"] + p["last.bias"], running


def training_step(data: Any, p: Mapping[str, tg.Shared], backend: Any) -> Callable[..., Any]:
    """A function of the numbers of a batch's images and the rate that returns the loss and moves the parameters."""
    dtype = p["last.bias"].type.dtype
    images = tg.shared(data.images.astype(dtype), "images", shape=data.images.shape)
    labels = tg.shared(data.labels, "labels", shape=data.labels.shape)
    batch, rate = tg.tensor("batch", "int64", (BATCH,)), tg.scalar("rate", dtype)
    logits, running = network(images[batch], p, training=True)
    loss = tg.nn.cross_entropy(logits, labels[batch])
    updates = {p[name]: value for name, value in running.items()}
    learnt = {name: v for name, v in p.items() if name not in running}
    for name, gradient in tg.grad(loss, learnt).items():
        v = p[name]
        speed = tg.shared(np.zeros(v.type.shape, dtype), f"speed of {name}", shape=v.type.shape)
        decay = DECAY if name.endswith("weight") else 0.0
        updates[speed] = MOMENTUM * speed + gradient + decay * v
        updates[v] = v - rate * updates[speed]
    return tg.function([batch, rate], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """What a training gave."""

    losses: np.ndarray[Any, Any]  # of each step
    accuracies: list[float]  # of the test images, after each epoch
    seconds: float  # without the first step and the tests


def train(backend: Any, epochs: int = EPOCHS, dtype: str = "float32", report: Any = None) -> Result:
    """Train on one backend; `report(epoch, loss, accuracy)` is called after each epoch. The rate falls by a cosine."""
    data, draw = load(), np.random.default_rng(2)
    p = {name: tg.shared(value, name, shape=value.shape) for name, value in parameters(dtype).items()}
    step = training_step(data, p, backend)
    given = tg.matrix("images", dtype)
    predict = tg.function([given], tg.argmax(network(given, p, training=False)[0], axis=-1), backend=backend)
    losses, accuracies, spent, count = [], [], 0.0, len(data.images) // BATCH
    for epoch in range(epochs):
        order = draw.permutation(len(data.images))
        for k in range(count):
            start, done = time.perf_counter(), (epoch + k / count) / EPOCHS
            rate = RATE * (1 + math.cos(math.pi * done)) / 2
            losses.append(float(step(order[k * BATCH : (k + 1) * BATCH], rate)))
            spent += time.perf_counter() - start if len(losses) > 1 else 0.0
        accuracies.append(float(np.mean(predict(data.test_images.astype(dtype)) == data.test_labels)))
        if report:
            report(epoch + 1, losses[-1], accuracies[-1])
    return Result(np.array(losses), accuracies, spent)


def main(backend: str = "c") -> None:
    result = train(backend, report=lambda *found: print("epoch {}: loss {:.4f}, accuracy {:.4f}".format(*found)))
    print(f"{backend}: {100 * result.accuracies[-1]:.2f} % of the test images, {result.seconds:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:2])
