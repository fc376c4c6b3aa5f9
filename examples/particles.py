"""A particle filter: what is known of a state is a cloud of points, which go on, are weighed, and are drawn anew.

Where a model is linear and normal, Kalman's filter says the same without any chance; here it says what the cloud should
have found. A level goes back to 0 and is pushed at random; it is measured with noise:

    x' = a x + q e          y = x + r d          e, d ~ N(0, 1)

Each particle goes on by itself and has the density of the measurement as its weight; the mean of the weights estimates
the density of this measurement given those before, and the product of all, without bias, the density of the data. Then
as many particles are drawn as there are, each as often as its weight says, rounded up or down: systematic resampling,
which takes evenly spaced places of the running sum of weights (N. Gordon, D. Salmond and A. Smith, 1993; A. Doucet and
A. Johansen, A tutorial on particle filtering and smoothing, 2009, section 3.4).

This file is a tutorial. Read it from top to bottom, or run it: `python examples/particles.py c`.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np

import tg

A, Q, R = 0.95, 0.4, 1.0
WIDE = Q / math.sqrt(1 - A * A)  # where the level comes to rest, and begins
STEPS = 200
PARTICLES = 1000
CLOUDS = 50  # filters with keys of their own, all at once: how far their estimates are apart is their error
SEED = 3


# 1. A step: go on, weigh, draw anew.
def log_normal(x: Any, mean: Any, scale: float) -> Any:
    """The log-density of a normal distribution."""
    z = (x - mean) / scale
    return -0.5 * z * z - math.log(scale * math.sqrt(2 * math.pi))


def systematic(key: Any, weights: Any) -> tg.Variable:
    """Which to take: k about `n weights[k]` times, of weights whose sum is 1."""
    n = weights.shape[0]
    places = (tg.random.uniform(key) + tg.arange(n)) / n
    return tg.minimum(tg.searchsorted(tg.cumsum(weights), places), n - 1)  # rounding may leave the sum below 1


def filtered(key: Any, y: Any, count: int) -> tuple[tg.Variable, tg.Variable]:
    """The estimated log-density of the measurements, and the mean of each cloud when it is weighed."""
    for_start, for_steps = tg.unstack(tg.random.split(key))
    start = tg.random.normal(for_start, 0.0, WIDE, shape=(count,))

    def step(x: Any, at: Any) -> tuple[Any, Any]:
        key, seen = at
        for_cloud, for_choice = tg.unstack(tg.random.split(key))
        log_weights = log_normal(seen, x, R)
        weights = tg.softmax(log_weights)
        log_density = tg.logsumexp(log_weights) - math.log(count)
        taken = x[systematic(for_choice, weights)]
        return A * taken + Q * tg.random.normal(for_cloud, shape=(count,)), (log_density, tg.sum(weights * x))

    _, (log_densities, means) = tg.scan(step, start, (tg.random.split(for_steps, y.shape[0]), y))
    return tg.sum(log_densities), means


# 2. The data, and what Kalman's filter says of them.
class Series(NamedTuple):
    """A level, and what was measured of it."""

    level: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]


def series(steps: int = STEPS) -> Series:
    """As many steps of the model."""
    draw = np.random.default_rng(13)
    level = np.empty(steps)
    level[0] = WIDE * draw.normal()
    for t in range(1, steps):
        level[t] = A * level[t - 1] + Q * draw.normal()
    return Series(level, level + R * draw.normal(size=steps))


def exact(y: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
    """The log-density of the measurements, and the expected level after each."""
    mean, variance, total, means = 0.0, WIDE * WIDE, 0.0, []
    for seen in y:
        spread = variance + R * R
        total += log_normal(seen, mean, math.sqrt(spread))
        gain = variance / spread
        mean, variance = mean + gain * (seen - mean), (1 - gain) * variance
        means.append(mean)
        mean, variance = A * mean, A * A * variance + Q * Q
    return total, np.array(means)


# 3. Many clouds.
class Result(NamedTuple):
    """What a run gave."""

    backend: str
    first_seconds: float  # until there are estimates: building, compiling, a call
    call_microseconds: float  # of a processor, for all clouds
    log_densities: np.ndarray[Any, Any]  # of each cloud
    means: np.ndarray[Any, Any]  # (clouds, t)


def compiled(backend: str, data: Series, clouds: int = CLOUDS, count: int = PARTICLES) -> Any:
    """A compiled function: a seed -> the estimates of so many filters."""
    seed, y = tg.scalar("seed", "int64"), tg.constant(data.y)
    keys = tg.random.split(tg.random.key(seed), clouds)
    found = tg.vmap(lambda key: filtered(key, y, count))(keys)
    return tg.function([seed], [*found], backend=backend, name="particles")


def run(backend: str, data: Series) -> Result:
    """All on one backend."""
    began = time.perf_counter()
    f = compiled(backend, data)
    f(SEED)
    first_seconds, began = time.perf_counter() - began, time.process_time()
    found = f(SEED)
    return Result(backend, first_seconds, 1e6 * (time.process_time() - began), *found)


def run_numpy(data: Series) -> Result:
    """The loop over clouds and steps in NumPy, with its own random numbers."""
    draw, began = np.random.default_rng(SEED), time.process_time()
    log_densities, means = np.zeros(CLOUDS), np.empty((CLOUDS, len(data.y)))
    for k in range(CLOUDS):
        x = WIDE * draw.normal(size=PARTICLES)
        for t, seen in enumerate(data.y):
            log_weights = log_normal(seen, x, R)
            most = np.max(log_weights)
            weights = np.exp(log_weights - most)
            total = np.sum(weights)
            log_densities[k] += most + np.log(total / PARTICLES)
            means[k, t] = weights @ x / total
            places = (draw.uniform() + np.arange(PARTICLES)) / PARTICLES
            taken = np.minimum(np.searchsorted(np.cumsum(weights / total), places), PARTICLES - 1)
            x = A * x[taken] + Q * draw.normal(size=PARTICLES)
    seconds = time.process_time() - began
    return Result("NumPy", seconds / CLOUDS, 1e6 * seconds, log_densities, means)


def surprise(r: Result, data: Series) -> tuple[float, float]:
    """By how many standard errors the mean of the estimated densities is not what Kalman's filter says, and the error.

    The densities are unbiased, their logarithms are not.
    """
    ratios = np.exp(r.log_densities - exact(data.y)[0])
    error = float(np.std(ratios, ddof=1) / math.sqrt(len(ratios)))
    return float((np.mean(ratios) - 1) / error), error


if __name__ == "__main__":
    made = series()
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", made)
    print(f"{result.backend}: {CLOUDS} clouds of {PARTICLES} in {result.call_microseconds / 1000:.1f} ms")
    total, expected = exact(made.y)
    print(f"log-density: {np.mean(result.log_densities):.3f} ± {np.std(result.log_densities):.3f}, exactly {total:.3f}")
    print(f"levels: off by {np.max(np.abs(np.mean(result.means, axis=0) - expected)):.4f} at most")
