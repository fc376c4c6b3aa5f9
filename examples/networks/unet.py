"""A U-Net that tells which pixels of noisy pictures belong to a disc, a square or a cross.

`python examples/networks/unet.py c` trains it on pictures that it draws, and shows one with what it sees.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

PIXELS, WIDTHS, BATCH, STEPS, RATE, NOISE = 32, (8, 16, 32), 16, 400, 5e-3, 0.3
SIGNS = ".o#+"  # of no shape, discs, squares and crosses


def pictures(count: int, seed: int) -> tuple[Array, Array]:
    """Grey pictures (count, 1, PIXELS, PIXELS) of three shapes each, and the class of each pixel."""
    draw, at = np.random.default_rng(seed), np.arange(PIXELS)
    labels = np.zeros((count, PIXELS, PIXELS), np.int64)
    for label in labels:
        for _ in range(3):
            kind, size = draw.integers(1, len(SIGNS)), draw.uniform(4, 8)
            down, right = (np.abs(at - c) for c in draw.uniform(size, PIXELS - size, 2))
            down, right = down[:, None], right[None, :]
            disc, square = down**2 + right**2 < size**2, np.maximum(down, right) < 0.85 * size
            cross = square & (np.minimum(down, right) < 0.3 * size)
            label[[disc, square, cross][kind - 1]] = kind
    grey = (labels > 0) + draw.normal(0, NOISE, labels.shape)
    return grey[:, None].astype("float32"), labels


class Twice(tg.nn.Module):
    """Two convolutions, each with a norm."""

    def __init__(self, inner: int, outer: int) -> None:
        self.first, self.second = (tg.nn.Conv(n, outer, 3, padding=1, bias=False) for n in (inner, outer))
        self.norms = [tg.nn.BatchNorm(outer), tg.nn.BatchNorm(outer)]

    def __call__(self, x: Any, *, training: bool) -> Any:
        x = tg.relu(self.norms[0](self.first(x), training=training))
        return tg.relu(self.norms[1](self.second(x), training=training))


class UNet(tg.nn.Module):
    """Halved in each step down; on the way up each step sees what the one beside it has seen."""

    def __init__(self) -> None:
        pairs = list(itertools.pairwise(WIDTHS))
        self.down = [Twice(1, WIDTHS[0]), *(Twice(a, b) for a, b in pairs)]
        self.up = [Twice(a + b, a) for a, b in reversed(pairs)]
        self.last = tg.nn.Conv(WIDTHS[0], len(SIGNS), 1)

    def __call__(self, images: Any, *, training: bool) -> Any:
        """The logits (n, classes, h, w) of each pixel of images (n, 1, h, w)."""
        x, seen = images, []
        for k, block in enumerate(self.down):
            x = block(tg.nn.max_pool2d(x, 2) if k else x, training=training)
            seen.append(x)
        for block, beside in zip(self.up, reversed(seen[:-1]), strict=True):
            x = block(tg.concatenate([tg.nn.resize(x, beside.shape[-2:]), beside], 1), training=training)
        return self.last(x)


def training_step(model: UNet, backend: Any, steps: int) -> Callable[..., Any]:
    """A function of images and labels of their pixels that returns the loss and moves the weights."""
    weights = tg.nn.params(model)
    images = tg.tensor("images", model.last.weight.type.dtype, (BATCH, 1, PIXELS, PIXELS))
    labels = tg.tensor("labels", "int64", (BATCH, PIXELS, PIXELS))
    loss = tg.nn.cross_entropy(model(images, training=True), labels)
    rate = tg.optimize.cosine_decay_schedule(RATE, steps)
    updates = tg.optimize.adam(loss, weights, learning_rate=rate)
    return tg.function([images, labels], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """The model, the loss of each step, and how much of each class is found: what both say by what one of them says."""

    model: UNet
    losses: list[float]
    overlaps: Array
    seen: Array  # the classes of the pixels of new pictures


def train(backend: Any, steps: int = STEPS) -> Result:
    """Train on pictures of which each is seen once, and look at others."""
    model = tg.nn.randomized(UNet(), tg.random.key(1))
    step = training_step(model, backend, steps)
    losses = [float(step(*batch)) for batch in tg.data.batches(pictures(steps * BATCH, 2), BATCH, epochs=1)]
    images = tg.tensor("images", "float32", (None, 1, PIXELS, PIXELS))
    given, labels = pictures(64, 3)
    seen = tg.function([images], tg.argmax(model(images, training=False), axis=1), backend=backend)(given)
    overlaps = [np.sum((seen == k) & (labels == k)) / np.sum((seen == k) | (labels == k)) for k in range(len(SIGNS))]
    return Result(model, losses, np.array(overlaps), seen)


def main(backend: str = "c") -> None:
    result = train(backend)
    found = ", ".join(f"{sign} {share:.3f}" for sign, share in zip(SIGNS, result.overlaps, strict=True))
    print(f"{backend}: loss {result.losses[0]:.3f} at first, {np.mean(result.losses[-20:]):.3f} at the end")
    print(f"overlaps: {found}")
    grey, labels = pictures(64, 3)
    for row, true, seen in zip(grey[0, 0], labels[0], result.seen[0], strict=True):
        shades = "".join(" .:*#"[int(np.clip(2.5 * v + 0.5, 0, 4))] for v in row)
        print(shades, *("".join(SIGNS[k] for k in line) for line in (true, seen)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
