"""Radon in Minnesota: a hierarchical regression, fitted, then sampled by Hamiltonian Monte Carlo.

Houses stand in counties, and a county's level is known the better the more of its houses were measured. So the levels
get a distribution of their own, whose mean depends on the uranium in the county's soil:

    level[j]     ~ Normal(a + b * uranium[j], tau)
    log_radon[i] ~ Normal(level[county[i]] + c * floor[i], sigma)

This file is a tutorial. Read it from top to bottom, or run it: `python examples/radon.py c`.
"""

from __future__ import annotations

import sys
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

WARMUP = 200  # transitions in which the step size is found
DRAWS = 500
PATH = 6.0  # how far a trajectory goes, in units of the scales
NAMES = ("a", "b", "c", "log tau", "log sigma")  # the first parameters; the counties' levels follow


# 1. Data: 919 houses in 85 counties (the file names its source).
class Houses(NamedTuple):
    """A row for each house (n,), but uranium, which has one for each county."""

    county: np.ndarray[Any, Any]
    floor: np.ndarray[Any, Any]
    log_radon: np.ndarray[Any, Any]
    uranium: np.ndarray[Any, Any]


def load() -> Houses:
    """The data, as they ship with tg."""
    text = files("tg.demo").joinpath("radon.csv").read_text().splitlines()
    rows = np.loadtxt(text, delimiter=",", skiprows=5)
    county = rows[:, 0].astype(np.int64)
    _, first = np.unique(county, return_index=True)
    return Houses(county, rows[:, 1], rows[:, 3], rows[first, 2])


# 2. The model: the logarithm of the posterior density, of one vector of parameters. Written as in NumPy.
def log_normal(x: Any, mean: Any, log_scale: Any) -> tg.Variable:
    """The log-density of a normal distribution, summed, without its constant."""
    z = (x - mean) / tg.exp(log_scale)
    return tg.sum(-0.5 * z**2 - log_scale)


def log_posterior(theta: tg.Variable, data: Houses) -> tg.Variable:
    """Of theta: a, b, c, log tau, log sigma, then each county's deviation from its mean in units of tau."""
    a, b, c, log_tau, log_sigma = (theta[i] for i in range(len(NAMES)))
    deviation = theta[len(NAMES) :]
    level = a + b * data.uranium + tg.exp(log_tau) * deviation
    prior = log_normal(theta[:3], 0.0, 2.0) + log_normal(tg.exp(log_tau), 0.0, 0.0) + log_normal(deviation, 0.0, 0.0)
    change = log_tau + log_sigma  # the scales are positive: density of the logarithm
    return prior + change + log_normal(data.log_radon, level[data.county] + c * data.floor, log_sigma)


def density(data: Houses, backend: str) -> Any:
    """A compiled function: theta -> log-density and its gradient."""
    theta = tg.tensor("theta", shape=(len(NAMES) + len(data.uranium),))
    logp = log_posterior(theta, data)
    return tg.function([theta], [logp, tg.grad(logp, theta)], backend=backend, name="log_density")


# 3. The fit: the parameters of the highest density, by SciPy's minimizer on tg's function.
def fit(logp: Callable[..., Any], size: int) -> np.ndarray[Any, Any]:
    """The mode."""
    from scipy.optimize import minimize

    def loss(theta: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        value, gradient = logp(theta)
        return -float(value), -gradient

    return minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x  # type: ignore[no-any-return]


def scales(logp: Callable[..., Any], mode: np.ndarray[Any, Any], step: float = 1e-4) -> np.ndarray[Any, Any]:
    """The distance each parameter may go alone: one over the root of the curvature at the mode."""
    moves = step * np.eye(len(mode))
    slopes = [logp(mode - move)[1][i] - logp(mode + move)[1][i] for i, move in enumerate(moves)]
    return np.sqrt(2 * step / np.array(slopes))


# 4. Hamiltonian Monte Carlo: theta is a ball that rolls over the density, pushed off in a random direction.
class State(NamedTuple):
    """A place, with its log-density and gradient."""

    theta: np.ndarray[Any, Any]
    value: float
    gradient: np.ndarray[Any, Any]


def transition(
    logp: Callable[..., Any], at: State, step: float, scale: np.ndarray[Any, Any], draw: np.random.Generator
) -> tuple[State, float]:
    """The next state, and the probability with which it was accepted. Momenta are in units of 1 / scale."""
    momentum = draw.normal(size=at.theta.shape)
    energy = at.value - 0.5 * momentum @ momentum
    steps = int(np.clip(PATH / step * draw.uniform(0.7, 1.3), 1, 50))
    new = at
    for _ in range(steps):  # leapfrog: half a push, a move, half a push
        momentum = momentum + 0.5 * step * scale * new.gradient
        theta = new.theta + step * scale * momentum
        value, gradient = logp(theta)
        new = State(theta, float(value), gradient)
        momentum = momentum + 0.5 * step * scale * gradient
    accepted = float(np.exp(min(0.0, new.value - 0.5 * momentum @ momentum - energy)))
    return (new, accepted) if draw.uniform() < accepted else (at, accepted)


def sample(
    logp: Callable[..., Any],
    start: np.ndarray[Any, Any],
    scale: np.ndarray[Any, Any],
    progress: Callable[[int], None] | None = None,
) -> np.ndarray[Any, Any]:
    """The draws (DRAWS, len(start)); in the warm-up the step size goes to where four of five moves are accepted."""
    draw = np.random.default_rng(2)
    value, gradient = logp(start)
    at, log_step, log_steps = State(start, float(value), gradient), np.log(0.3), []
    draws = np.empty((DRAWS, len(start)))
    for i in range(WARMUP + DRAWS):
        at, accepted = transition(logp, at, float(np.exp(log_step)), scale, draw)
        if i < WARMUP:
            log_step += (accepted - 0.8) / (1 + i) ** 0.6
            log_steps.append(log_step)
            if i == WARMUP - 1:
                log_step = np.mean(log_steps[WARMUP // 2 :])
        else:
            draws[i - WARMUP] = at.theta
        if progress is not None:
            progress(i + 1)
    return draws


# 5. All of it, and what it took.
class Result(NamedTuple):
    """The result of a run."""

    backend: str
    compile_seconds: float
    call_microseconds: float
    mode: np.ndarray[Any, Any]
    draws: np.ndarray[Any, Any]
    at_points: np.ndarray[Any, Any]  # log-density and gradient at fixed points, to be compared


def run(backend: str, data: Houses, progress: Callable[[int], None] | None = None) -> Result:
    """Fit and sample on one backend; `progress(transitions)` is called as it goes."""
    size = len(NAMES) + len(data.uranium)
    began = time.perf_counter()
    logp = density(data, backend)
    logp(np.zeros(size))
    compile_seconds = time.perf_counter() - began

    mode = fit(logp, size)
    calls = 0

    def counted(theta: np.ndarray[Any, Any]) -> Any:
        nonlocal calls
        calls += 1
        return logp(theta)

    start = time.perf_counter()
    draws = sample(counted, mode, scales(logp, mode), progress)
    spent = time.perf_counter() - start
    points = np.random.default_rng(3).normal(0, 0.5, (20, size))
    at_points = np.array([np.append(value, gradient) for value, gradient in map(logp, points)])
    return Result(backend, compile_seconds, 1e6 * spent / calls, mode, draws, at_points)


if __name__ == "__main__":
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", load())
    print(f"{result.backend}: {result.call_microseconds:.0f} µs for a log-density with its gradient")
    for i, name in enumerate(NAMES):
        print(f"{name:>10}: {result.draws[:, i].mean():6.2f} ± {result.draws[:, i].std():.2f}")
