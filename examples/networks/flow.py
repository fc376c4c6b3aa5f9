"""A normalizing flow that learns the density of two moons: couplings, whose inverse and volume are known.

`python examples/networks/flow.py c` trains it and draws points of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

LAYERS, HIDDEN, BATCH, STEPS, RATE, NOISE = 6, 32, 128, 1500, 3e-3, 0.08


def moons(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Points (count, 2) near two half circles that reach into one another."""
    draw = np.random.default_rng(seed)
    angle, which = draw.uniform(0, np.pi, count), draw.integers(0, 2, count)
    sign = 1 - 2 * which
    points = np.stack([sign * np.cos(angle) + which - 0.5, sign * np.sin(angle) + 0.5 * which - 0.25], axis=1)
    return points + draw.normal(0, NOISE, (count, 2))


class Coupling(tg.nn.Module):
    """One coordinate, stretched and shifted by numbers that hang on the other."""

    def __init__(self, moved: int) -> None:
        self.moved = moved
        self.net = tg.nn.Sequential(tg.nn.Dense(1, HIDDEN), tg.tanh, tg.nn.Dense(HIDDEN, 2))

    def numbers(self, points: Any) -> tuple[Any, Any]:
        """The logarithm of the stretch and the shift: (n, 1) each, and the same for a point and its image."""
        other = points[:, 1 - self.moved : 2 - self.moved]
        stretch, shift = tg.split(self.net(other), 2, axis=-1)
        return tg.tanh(stretch), shift

    def joined(self, points: Any, coordinate: Any) -> Any:
        """The points with another value of the coordinate that is moved."""
        other = points[:, 1 - self.moved : 2 - self.moved]
        return tg.concatenate([coordinate, other] if self.moved == 0 else [other, coordinate], axis=1)

    def own(self, points: Any) -> Any:
        return points[:, self.moved : self.moved + 1]


class Flow(tg.nn.Module):
    """Couplings, of which every other moves the first coordinate."""

    def __init__(self) -> None:
        self.couplings = [Coupling(k % 2) for k in range(LAYERS)]

    def __call__(self, points: Any) -> Any:
        """The logarithm of the density at points (n, 2): normal where they are brought to, times the volume."""
        volume = 0.0
        for coupling in self.couplings:
            stretch, shift = coupling.numbers(points)
            points = coupling.joined(points, coupling.own(points) * tg.exp(stretch) + shift)
            volume = volume + tg.sum(stretch, axis=-1)
        return volume - 0.5 * tg.sum(points**2, axis=-1) - float(np.log(2 * np.pi))

    def inverse(self, points: Any) -> Any:
        """Normal points (n, 2) brought to where the data are."""
        for coupling in reversed(self.couplings):
            stretch, shift = coupling.numbers(points)
            points = coupling.joined(points, (coupling.own(points) - shift) * tg.exp(-stretch))
        return points


def training_step(model: Flow, backend: Any) -> Callable[..., Any]:
    """A function of points (n, 2) that returns their mean loss in nats and moves the weights."""
    weights = tg.nn.params(model)
    points = tg.matrix("points", next(iter(weights.values())).type.dtype, shape=(None, 2))
    loss = -tg.mean(model(points))
    rate = tg.optimize.cosine_decay_schedule(RATE, STEPS)
    updates = tg.optimize.adam(loss, weights, learning_rate=rate)
    return tg.function([points], loss, updates=updates, backend=backend, name="training_step")


def train(backend: Any, steps: int = STEPS, report: Any = None) -> tuple[Flow, list[float], float]:
    """The model, the loss of each step, and that of points that it has not seen."""
    model = tg.nn.randomized(Flow(), tg.random.key(1))
    step, losses = training_step(model, backend), []
    data = moons(4096, 2).astype("float32")
    for points in tg.data.batches(data, BATCH, key=tg.random.key(3), epochs=-(-steps * BATCH // len(data))):
        losses.append(float(step(points)))
        if report:
            report(len(losses), losses[-1])
    points = tg.matrix("points", "float32", shape=(None, 2))
    unseen = tg.function([points], -tg.mean(model(points)), backend=backend)(moons(2000, 4).astype("float32"))
    return model, losses, float(unseen)


def main(backend: str = "c") -> None:
    model, losses, unseen = train(backend)
    print(
        f"{backend}: {losses[0]:.2f} nats a point at first, {np.mean(losses[-50:]):.2f} at the end, {unseen:.2f} unseen"
    )
    normal = tg.random.normal(tg.random.key(5), shape=(4, 2), dtype="float32")
    print(np.round(tg.function([], model.inverse(normal), backend=backend)(), 2))


if __name__ == "__main__":
    main(*sys.argv[1:2])
