"""A small residual network that learns handwritten digits: modules with batch norms, and SGD with momentum.

`python examples/networks/digits.py c` trains it on four fifths of scikit-learn's 1,797 images and tests it on the rest.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg
from tg.demo.digits import load

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTHS = (16, 32, 64)
BATCH, EPOCHS = 32, 15
RATE, MOMENTUM, DECAY = 0.05, 0.9, 5e-4


class Block(tg.nn.Module):
    """Two convolutions beside what they are given, which a third brings to their width and stride."""

    def __init__(self, inner: int, width: int, stride: int) -> None:
        self.first = convolution(inner, width, 3, stride)
        self.second = convolution(width, width, 3)
        self.shortcut = convolution(inner, width, 1, stride) if inner != width else None

    def __call__(self, x: Any, *, training: bool) -> Any:
        y = tg.relu(self.first(x, training=training))
        x = self.shortcut(x, training=training) if self.shortcut else x
        return tg.relu(x + self.second(y, training=training))


class Network(tg.nn.Module):
    """The logits of images (n, 64)."""

    def __init__(self) -> None:
        self.stem = convolution(1, WIDTHS[0], 3)
        self.blocks = [Block(WIDTHS[max(k - 1, 0)], width, 2 if k else 1) for k, width in enumerate(WIDTHS)]
        self.last = tg.nn.Dense(WIDTHS[-1], 10)

    def __call__(self, images: Any, *, training: bool) -> Any:
        x = tg.relu(self.stem(images.reshape((images.shape[0], 1, 8, 8)), training=training))
        for block in self.blocks:
            x = block(x, training=training)
        return self.last(tg.mean(x, (2, 3)))


def convolution(inner: int, width: int, window: int, stride: int = 1) -> tg.nn.Sequential:
    """A convolution that keeps the size of images but for its stride, and a batch norm."""
    conv = tg.nn.Conv(inner, width, window, stride=stride, padding=window // 2, bias=False)
    return tg.nn.Sequential(conv, tg.nn.BatchNorm(width))


def training_step(data: Any, model: Network, backend: Any) -> Callable[..., Any]:
    """A function of the numbers of a batch's images that returns the loss and moves the weights."""
    weights = tg.nn.params(model)
    dtype = model.last.weight.type.dtype
    images = tg.shared(data.images.astype(dtype), "images", shape=data.images.shape)
    labels = tg.shared(data.labels, "labels", shape=data.labels.shape)
    batch = tg.tensor("batch", "int64", (BATCH,))
    loss = tg.nn.cross_entropy(model(images[batch], training=True), labels[batch])
    rate = tg.optimize.cosine_decay_schedule(RATE, EPOCHS * (len(data.images) // BATCH))
    decays = {name: w.type.ndim > 1 for name, w in weights.items()}
    updates = tg.optimize.sgd(loss, weights, learning_rate=rate, momentum=MOMENTUM, weight_decay=DECAY, mask=decays)
    return tg.function([batch], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """What a training gave."""

    losses: np.ndarray[Any, Any]  # of each step
    accuracies: list[float]  # of the test images, after each epoch
    seconds: float  # without the first step and the tests


def train(backend: Any, epochs: int = EPOCHS, dtype: str = "float32", report: Any = None) -> Result:
    """Train on one backend; `report(epoch, loss, accuracy)` is called after each epoch. The rate falls by a cosine."""
    data, model = load(), tg.nn.randomized(Network(), tg.random.key(1), dtype)
    step = training_step(data, model, backend)
    given = tg.matrix("images", dtype)
    predict = tg.function([given], tg.argmax(model(given, training=False), axis=-1), backend=backend)
    losses, accuracies, spent = [], [], 0.0
    batches = tg.data.batches(np.arange(len(data.images)), BATCH, key=tg.random.key(2), epochs=epochs)
    for batch in batches:
        start = time.perf_counter()
        losses.append(float(step(batch)))
        spent += time.perf_counter() - start if len(losses) > 1 else 0.0
        if batches.step % batches.per_epoch == 0:
            accuracies.append(float(np.mean(predict(data.test_images.astype(dtype)) == data.test_labels)))
            if report:
                report(batches.epoch, losses[-1], accuracies[-1])
    return Result(np.array(losses), accuracies, spent)


def main(backend: str = "c") -> None:
    result = train(backend, report=lambda *found: print("epoch {}: loss {:.4f}, accuracy {:.4f}".format(*found)))
    print(f"{backend}: {100 * result.accuracies[-1]:.2f} % of the test images, {result.seconds:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:2])
