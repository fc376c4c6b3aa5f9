"""A variational autoencoder of handwritten digits: it learns to draw them.

`python examples/networks/autoencoder.py c` trains it and shows digits that nobody has written.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import tg
from tg.demo.digits import load

if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN, LATENT, BATCH, EPOCHS, RATE = 128, 8, 64, 100, 2e-3


class Autoencoder(tg.nn.Module):
    """From images to normal distributions of few numbers, and from such numbers to the logits of pixels."""

    def __init__(self) -> None:
        self.encoder = tg.nn.Sequential(tg.nn.Dense(64, HIDDEN), tg.relu, tg.nn.Dense(HIDDEN, 2 * LATENT))
        self.decoder = tg.nn.Sequential(tg.nn.Dense(LATENT, HIDDEN), tg.relu, tg.nn.Dense(HIDDEN, 64))

    def __call__(self, images: Any, noise: Any) -> Any:
        """The mean loss of an image: what its pixels cost, and how far its distribution is from the standard one."""
        mean, log_variance = tg.split(self.encoder(images), 2, axis=-1)
        logits = self.decoder(mean + tg.exp(0.5 * log_variance) * noise)
        pixels = tg.sum(tg.nn.binary_cross_entropy_with_logits(logits, images, reduction="none"), axis=-1)
        apart = 0.5 * tg.sum(mean**2 + tg.exp(log_variance) - log_variance - 1, axis=-1)
        return tg.mean(pixels + apart)


def training_step(model: Autoencoder, backend: Any, noise: Any = None) -> Callable[..., Any]:
    """A function of a batch of images, and of the noise if it is given, that returns the loss and moves the weights."""
    weights = tg.nn.params(model)
    dtype = weights["encoder.0.weight"].type.dtype
    images = tg.matrix("images", dtype)
    drawn = tg.random.RandomStream(3).standard_normal((BATCH, LATENT), dtype) if noise is None else noise
    loss = model(images, drawn)
    updates = tg.optimize.adam(loss, weights, learning_rate=RATE)
    given = [images] if noise is None else [images, noise]
    return tg.function(given, loss, updates=updates, backend=backend, name="training_step")


def train(backend: Any, epochs: int = EPOCHS, report: Any = None) -> tuple[Autoencoder, list[float]]:
    """The model and the mean loss of each epoch; `report(epoch, loss)` is called after each."""
    model = tg.nn.randomized(Autoencoder(), tg.random.key(1))
    step, losses = training_step(model, backend), []
    batches = tg.data.batches(load().images.astype("float32"), BATCH, key=tg.random.key(2), epochs=epochs)
    found = []
    for images in batches:
        found.append(float(step(images)))
        if len(found) == batches.per_epoch:
            losses.append(float(np.mean(found)))
            found = []
            if report:
                report(len(losses), losses[-1])
    return model, losses


def drawn(model: Autoencoder, backend: Any, count: int = 6) -> np.ndarray[Any, Any]:
    """Images (count, 8, 8) of random numbers, between 0 and 1."""
    code = tg.random.normal(tg.random.key(4), shape=(count, LATENT), dtype="float32")
    images = tg.function([], tg.sigmoid(model.decoder(code)), backend=backend)()
    return np.asarray(images).reshape(count, 8, 8)


def main(backend: str = "c") -> None:
    model, losses = train(backend)
    print(f"{backend}: {losses[0]:.2f} nats an image after one epoch, {losses[-1]:.2f} after {len(losses)}")
    for row in drawn(model, backend).transpose(1, 0, 2):
        print("   ".join("".join(" .:*#"[min(int(5 * pixel), 4)] * 2 for pixel in image) for image in row))


if __name__ == "__main__":
    main(*sys.argv[1:2])
