"""Sounds told apart by their spectrograms: tones, rising and falling chirps, and clicks, in noise.

A sound of 1,024 points becomes the logarithms of a spectrogram by `tg.signal.stft`, 33 frequencies by 33 times, which a
network of one hidden layer tells apart. All of it is one program, from the sounds to the new weights: the transforms,
the loss and its gradient, and Adam's updates.

    python examples/spectrogram.py c
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np

import tg

CLASSES = ("tone", "rising", "falling", "clicks")
POINTS, SEGMENT = 1024, 64
NOISE = 1.0  # its standard deviation, of sounds of amplitude 1
HIDDEN, BATCH, STEPS, RATE = 32, 64, 60, 0.01
SEED = 7

Array = np.ndarray[Any, Any]


# 1. The sounds.
def sounds(count: int, seed: int) -> tuple[Array, Array]:
    """Sounds (count, POINTS) in float32, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CLASSES), count)
    at = np.arange(POINTS) / POINTS
    low, high = rng.uniform(40, 120, count), rng.uniform(250, 400, count)
    tone = rng.uniform(40, 400, count)
    start = np.choose(labels, [tone, low, high, low])[:, None]
    end = np.choose(labels, [tone, high, low, low])[:, None]
    phase = 2 * np.pi * (start * at + (end - start) * at**2 / 2 + rng.uniform(size=(count, 1)))
    clicks = 6.0 * (rng.uniform(size=(count, POINTS)) < 0.02)
    clean = np.where((labels == 3)[:, None], clicks, np.sin(phase))
    return (clean + NOISE * rng.standard_normal((count, POINTS))).astype("float32"), labels


# 2. The features, and the network.
def features(x: tg.Variable) -> tg.Variable:
    """Logarithms of powers, (batch, frequencies · times)."""
    _, _, z = tg.signal.stft(x, nperseg=SEGMENT)
    power = tg.real(z) ** 2 + tg.imag(z) ** 2
    return tg.reshape(tg.log(power + 1e-4) / 4 + 1, (x.shape[0], -1))


def network() -> list[Any]:
    """The weights of two layers, as shared variables."""
    size = (SEGMENT // 2 + 1) * (2 * POINTS // SEGMENT + 1)
    rng = np.random.default_rng(SEED)
    shapes = [(size, HIDDEN), (HIDDEN,), (HIDDEN, len(CLASSES)), (len(CLASSES),)]
    names = ("w1", "b1", "w2", "b2")
    scales = (size**-0.5, 0.0, HIDDEN**-0.5, 0.0)
    return [
        tg.shared((scale * rng.standard_normal(shape)).astype("float32"), name)
        for name, shape, scale in zip(names, shapes, scales, strict=True)
    ]


def scores(x: tg.Variable, weights: list[Any]) -> tg.Variable:
    """A score of each class for each sound."""
    w1, b1, w2, b2 = weights
    hidden = tg.nn.relu(features(x) @ w1 + b1)
    return tg.add(hidden @ w2, b2)


# 3. Training.
class Result(NamedTuple):
    """Losses of all steps, the share of new sounds that are told right, and the seconds that training took."""

    losses: Array
    accuracy: float
    seconds: float


def compiled(backend: str) -> tuple[tg.Function, tg.Function]:
    """A step of training, (sounds, classes) -> loss, and the class of each sound."""
    x = tg.tensor("x", dtype="float32", shape=(BATCH, POINTS))
    labels = tg.tensor("labels", dtype="int64", shape=(BATCH,))
    weights = network()
    outputs = scores(x, weights)
    loss = tg.nn.cross_entropy(outputs, labels)
    updates = tg.optimize.adam(loss, weights, learning_rate=RATE)
    step = tg.function([x, labels], loss, updates=updates, backend=backend, name="step")
    return step, tg.function([x], tg.argmax(outputs, -1), backend=backend, name="tell")


def train(backend: str, steps: int = STEPS) -> Result:
    """Train on new sounds in each step, and test on others."""
    step, tell = compiled(backend)
    data = [sounds(BATCH, seed) for seed in range(steps)]
    start = time.perf_counter()
    losses = np.array([step(*batch) for batch in data])
    seconds = time.perf_counter() - start
    tests = [sounds(BATCH, 10_000 + seed) for seed in range(8)]
    accuracy = float(np.mean([np.asarray(tell(x)) == labels for x, labels in tests]))
    return Result(losses, accuracy, seconds)


def main(backend: str) -> None:
    """Train, and print how well the classes are told apart."""
    result = train(backend)
    print(f"{len(result.losses)} steps of {BATCH} sounds on {backend}: {result.seconds:.1f} s with compiling")
    print(f"loss {result.losses[0]:.2f} at first, {np.mean(result.losses[-5:]):.2f} at last")
    print(f"of 512 new sounds {result.accuracy:.1%} are told right")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "c")
