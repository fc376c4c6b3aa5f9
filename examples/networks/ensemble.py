"""An ensemble that says how sure it is: networks that fit the same points and disagree where there are none.

`tg.nn.Ensemble` makes one program of all members, each with weights, batches and dropout of its own.
`python examples/networks/ensemble.py c` trains it and draws what it expects.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

MEMBERS, WIDTH, POINTS, BATCH, STEPS, RATE, NOISE = 8, 32, 128, 32, 1500, 5e-3, 0.1
SEEN = ((-3.0, -1.0), (1.0, 3.0))  # where points lie; between and beyond there are none


def truth(x: Array) -> Array:
    """What the points are noisy values of."""
    return np.asarray(np.sin(2 * x) + 0.3 * x)


def points(seed: int) -> tuple[Array, Array]:
    """Places (POINTS, 1) and noisy values at them."""
    draw = np.random.default_rng(seed)
    x = np.concatenate([draw.uniform(*span, (POINTS // 2, 1)) for span in SEEN])
    return x.astype("float32"), (truth(x) + draw.normal(0, NOISE, x.shape)).astype("float32")


class Member(tg.nn.Module):
    """A network that gives a mean and the logarithm of a variance."""

    def __init__(self) -> None:
        self.body = tg.nn.Sequential(tg.nn.Dense(1, WIDTH), tg.tanh, tg.nn.Dense(WIDTH, WIDTH), tg.tanh)
        self.head = tg.nn.Dense(WIDTH, 2)

    def __call__(self, x: Any) -> tuple[Any, Any]:
        mean, log_variance = tg.split(self.head(self.body(x)), 2, axis=-1)
        return mean, tg.clip(log_variance, -8, 4)


def training_step(ensemble: Any, backend: Any, steps: int) -> Callable[..., Any]:
    """A function of batches (members, n, 1) that returns the mean loss of each member and moves all weights."""
    weights = tg.nn.params(ensemble)
    x, y = (tg.tensor(name, weights["members.head.bias"].type.dtype, (None, None, 1)) for name in ("x", "y"))
    mean, log_variance = ensemble(x, axis=0)
    losses = tg.mean(0.5 * (log_variance + (y - mean) ** 2 * tg.exp(-log_variance)), axis=(1, 2))
    rate = tg.optimize.cosine_decay_schedule(RATE, steps)
    updates = tg.optimize.adam(tg.sum(losses), weights, learning_rate=rate)  # each member's gradient is its own
    return tg.function([x, y], losses, updates=updates, backend=backend, name="training_step")


def predictor(ensemble: Any, backend: Any) -> Callable[..., Any]:
    """A function of places (n, 1): the mean, the spread between members, and the noise that they see."""
    x = tg.matrix("x", tg.nn.params(ensemble)["members.head.bias"].type.dtype)
    mean, log_variance = ensemble(x)
    outputs = tg.mean(mean, axis=0), tg.std(mean, axis=0), tg.sqrt(tg.mean(tg.exp(log_variance), axis=0))
    return tg.function([x], outputs, backend=backend)


class Result(NamedTuple):
    """The ensemble, the losses of each step and member, and what it expects where."""

    ensemble: Any
    losses: Array
    predict: Callable[..., Any]


def train(backend: Any, steps: int = STEPS) -> Result:
    """Train all members at once, each on batches of its own."""
    ensemble = tg.nn.randomized(tg.nn.Ensemble(Member(), MEMBERS), tg.random.key(1))
    step, (x, y), draw = training_step(ensemble, backend, steps), points(2), np.random.default_rng(3)
    chosen = draw.integers(0, POINTS, (steps, MEMBERS, BATCH))
    losses = np.array([step(x[batch], y[batch]) for batch in chosen])
    return Result(ensemble, losses, predictor(ensemble, backend))


def main(backend: str = "c") -> None:
    result = train(backend)
    first, last = np.mean(result.losses[0]), np.mean(result.losses[-50:])
    print(f"{backend}: {first:.2f} nats a point at first, {last:.2f} at the end")
    places = np.linspace(-4, 4, 33, dtype="float32")[:, None]
    for row in np.concatenate([places, *result.predict(places)], axis=1):
        x, mean, spread, noise = map(float, row)
        is_seen = any(low <= x <= high for low, high in SEEN)
        line, at = [" "] * 61, lambda v: int(np.clip(round(30 + 12 * v), 0, 60))
        for k in range(at(mean - 2 * spread), at(mean + 2 * spread) + 1):
            line[k] = "-"
        line[at(truth(np.array(x)).item())], line[at(mean)] = "+", "o"
        print(f"{x:5.2f} {'seen' if is_seen else '    '} {''.join(line)} +- {spread:.2f}, noise {noise:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
