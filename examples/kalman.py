"""Kalman's filter and smoother: where things are that are seen with noise, and how much noise there is.

A ship has a place and a velocity in three directions, six numbers. The velocity is pushed at random and falls off; the
place is measured at every step. What is known of the six numbers is a normal distribution, before a measurement and
after it:

    x' = F x + e, e ~ N(0, Q)          F = (I  I; 0  a I),  Q = (q^2/3  q^2/2; q^2/2  q^2), of each direction
    y = H x + d,  d ~ N(0, R)          H = (I  0),          R = diag(r^2)

Going forward through the measurements gives the density of all, from which q, r and a are found by its gradient; going
backward through what was known gives what is known at the end of each time (H. E. Rauch, F. Tung and C. T. Striebel,
Maximum likelihood estimates of linear dynamic systems, 1965). Several ships with the same parameters go through one
loop, whose matrices then are batches of matrices.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/kalman.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 500
SHIPS = 4
NAMES = ("q1", "q2", "q3", "r1", "r2", "r3", "fall")
TRUTH = np.log([0.1, 0.2, 0.05, 1.0, 0.5, 2.0, 0.05])  # as logarithms, which may be any numbers
START = np.log([0.3, 0.3, 0.3, 0.7, 0.7, 0.7, 0.2])
PRECISION = {"maxiter": 200, "ftol": 1e-12, "gtol": 1e-5}
WIDE = 10.0  # the standard deviation of each number in the beginning
SHORT = 0.1  # seconds of a call from which on there is no fit


# 1. The model. `xp` is tg, jax.numpy or NumPy.
class Linear(NamedTuple):
    """The matrices of a linear model of states x (n) and measurements y (m)."""

    forward: Any
    push: Any  # the covariance of e
    seen: Any
    noise: Any  # the covariance of d
    spread: Any  # the covariance in the beginning, around 0


def motion(theta: Any, xp: Any = tg) -> Linear:
    """The ships' model."""
    p = xp.exp(theta)
    eye, square, ones = np.eye(3), xp.diag(p[:3] ** 2), np.ones(3)
    fall = xp.diag(xp.exp(-p[6]) * ones)
    return Linear(
        xp.concatenate([np.hstack([eye, eye]), xp.concatenate([np.zeros((3, 3)), fall], axis=1)]),
        xp.kron(np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]), square),
        np.hstack([eye, np.zeros((3, 3))]),
        xp.diag(p[3:6] ** 2),
        WIDE**2 * np.eye(6),
    )


# 2. Forward: what is known of a state before a measurement, and after.
class Known(NamedTuple):
    """A normal distribution."""

    mean: Any
    covariance: Any


def filtered(model: Linear, y: Any) -> tuple[tg.Variable, Known]:
    """The log-density of measurements (t, m), and what is known after each."""
    forward, push, seen, noise, spread = model

    def step(before: Known, y: Any) -> tuple[Known, Any]:
        error, across = y - seen @ before.mean, seen @ before.covariance
        factor = tg.linalg.cholesky(across @ seen.T + noise)
        z = tg.linalg.solve_triangular(factor, error, lower=True)
        log_density = -0.5 * z @ z - tg.sum(tg.log(tg.diagonal(factor))) - 0.5 * noise.shape[0] * np.log(2 * np.pi)
        gain = tg.linalg.cho_solve((factor, True), across).T
        after = Known(before.mean + gain @ error, before.covariance - gain @ across)
        next_one = Known(forward @ after.mean, forward @ after.covariance @ forward.T + push)
        return next_one, (log_density, after)

    _, (log_density, after) = tg.scan(step, Known(tg.zeros(spread.shape[0]), spread), y)
    return tg.sum(log_density), after


def log_likelihood(theta: Any, y: Any) -> tg.Variable:
    """The log-density of the measurements of all ships (ships, t, 3)."""
    model = motion(theta)
    return tg.sum(tg.vmap(lambda one: filtered(model, one)[0])(y))


# 3. Backward: what is known when all has been measured.
def smoothed(model: Linear, known: Known) -> Known:
    """Of each time, from what was known then."""
    forward, push = model.forward, model.push

    def step(later: Known, at: Known) -> tuple[Known, Known]:
        moved = forward @ at.covariance
        gain = tg.linalg.solve(moved @ forward.T + push, moved, assume_a="pos").T
        change = later.covariance - moved @ forward.T - push
        now = Known(at.mean + gain @ (later.mean - forward @ at.mean), at.covariance + gain @ change @ gain.T)
        return now, now

    last = Known(known.mean[-1], known.covariance[-1])
    _, before = tg.scan(step, last, Known(known.mean[:-1], known.covariance[:-1]), reverse=True)
    return Known(
        tg.concatenate([before.mean, last.mean[None]]), tg.concatenate([before.covariance, last.covariance[None]])
    )


def places(theta: Any, y: Any) -> tuple[tg.Variable, tg.Variable]:
    """Of every ship at every time the expected place (ships, t, 3), and its standard deviation."""
    model = motion(theta)

    def of_one(y: Any) -> tuple[Any, Any]:
        found = smoothed(model, filtered(model, y)[1])
        return found.mean[:, :3], tg.sqrt(tg.diagonal(found.covariance, axis1=-2, axis2=-1)[:, :3])

    return tg.vmap(of_one)(y)  # type: ignore[no-any-return]


# 4. The data: ships that sail, with known parameters.
class Voyages(NamedTuple):
    """What is measured of ships (ships, t, 3), and where they truly were."""

    y: np.ndarray[Any, Any]
    places: np.ndarray[Any, Any]


def voyages(ships: int = SHIPS, steps: int = STEPS) -> Voyages:
    """Measurements with the true parameters."""
    draw = np.random.default_rng(11)
    forward, push, seen, noise, spread = motion(TRUTH, np)
    x, found = draw.multivariate_normal(np.zeros(6), spread, ships), []
    for _ in range(steps):
        found.append(x)
        x = x @ forward.T + draw.multivariate_normal(np.zeros(6), push, ships)
    states = np.stack(found, axis=1)
    error = draw.multivariate_normal(np.zeros(3), noise, (ships, steps))
    return Voyages(states @ seen.T + error, states[..., :3])


# 5. The fit.
class Result(NamedTuple):
    """What a run gave; None where a call was too slow for a fit."""

    backend: str
    first_seconds: float  # until there is a log-likelihood with its gradient: building, compiling, a call
    call_microseconds: float  # of a processor
    at_start: np.ndarray[Any, Any]  # the log-likelihood and its gradient where the fit begins, to be compared
    one_microseconds: float | None = None  # of a call for one ship
    calls: int = 0  # of the log-likelihood, in the fit
    theta: np.ndarray[Any, Any] | None = None  # where the log-likelihood is highest
    errors: np.ndarray[Any, Any] | None = None  # the standard error of each
    places: np.ndarray[Any, Any] | None = None  # what the smoother says with these parameters
    deviations: np.ndarray[Any, Any] | None = None
    seconds: float = 0.0  # all of it


def compiled(backend: str, y: np.ndarray[Any, Any]) -> Any:
    """A compiled function: theta -> log-likelihood of these measurements and its gradient."""
    theta = tg.tensor("theta", shape=START.shape)
    value = log_likelihood(theta, tg.constant(y))
    return tg.function([theta], [*tg.value_and_grad(value, theta)], backend=backend, name="log_likelihood")


def smoother(backend: str, y: np.ndarray[Any, Any]) -> Any:
    """A compiled function: theta -> places and their standard deviations."""
    theta = tg.tensor("theta", shape=START.shape)
    return tg.function([theta], [*places(theta, tg.constant(y))], backend=backend, name="places")


def curvature_errors(f: Any, theta: np.ndarray[Any, Any], step: float = 1e-4) -> np.ndarray[Any, Any]:
    """How well each parameter is known: by the curvature, which is the change of the gradient."""
    moves = step * np.eye(len(theta))
    curvature = np.array([f(theta - move)[1] - f(theta + move)[1] for move in moves]) / (2 * step)
    return np.sqrt(np.diag(np.linalg.inv(curvature)))


def timed(f: Any, theta: np.ndarray[Any, Any], calls: int) -> float:
    """The median of so many calls, in microseconds of a processor."""
    seconds = []
    for _ in range(calls):
        began = time.process_time()
        f(theta)
        seconds.append(time.process_time() - began)
    return 1e6 * float(np.median(seconds))


def run(backend: str, data: Voyages) -> Result:
    """Fit on one backend, and smooth; or only compile and call, where a call is slow."""
    began = time.perf_counter()
    f = compiled(backend, data.y)
    value, gradient = f(START)
    result = Result(backend, time.perf_counter() - began, timed(f, START, 1), np.append(value, gradient))
    if result.call_microseconds > 1e6 * SHORT:
        return result._replace(seconds=time.perf_counter() - began)
    theta, calls = fitted(f, data.y.size)
    errors = curvature_errors(f, theta)
    means, deviations = smoother(backend, data.y)(theta)
    result = result._replace(theta=theta, calls=calls, errors=errors, places=means, deviations=deviations)
    result = result._replace(seconds=time.perf_counter() - began, call_microseconds=timed(f, START, 20))
    one = compiled(backend, data.y[:1])
    one(START)
    return result._replace(one_microseconds=timed(one, START, 20))


def fitted(f: Callable[..., Any], count: int) -> tuple[np.ndarray[Any, Any], int]:
    """Where the log-likelihood is highest, and after how many calls."""

    def loss(theta: Any) -> Any:
        value, gradient = f(theta)
        return -float(value) / count, -np.asarray(gradient) / count

    found = minimize(loss, START, jac=True, method="L-BFGS-B", options=PRECISION)
    return found.x, int(found.nfev)


# 6. The same without tg.
def run_jax(data: Voyages) -> Result:
    """By `jax.lax.scan`, written as above."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl

    def log_density(theta: Any, y: Any) -> Any:
        forward, push, seen, noise, spread = motion(theta, jnp)

        def step(before: Any, y: Any) -> Any:
            mean, covariance = before
            error, across = y - seen @ mean, seen @ covariance
            factor = jnp.linalg.cholesky(across @ seen.T + noise)
            z = jsl.solve_triangular(factor, error, lower=True)
            term = -0.5 * z @ z - jnp.sum(jnp.log(jnp.diagonal(factor))) - 0.5 * len(noise) * np.log(2 * np.pi)
            gain = jsl.cho_solve((factor, True), across).T
            mean, covariance = mean + gain @ error, covariance - gain @ across
            return (forward @ mean, forward @ covariance @ forward.T + push), term

        return jnp.sum(jax.lax.scan(step, (jnp.zeros(6), spread), y)[1])

    with jax.enable_x64(True):

        def of(y: Any) -> Any:
            def all_of_them(theta):
                return jnp.sum(jax.vmap(log_density, (None, 0))(theta, y))

            f = jax.jit(jax.value_and_grad(all_of_them))
            return lambda theta: jax.tree.map(np.asarray, f(theta))

        began = time.perf_counter()
        f = of(data.y)
        value, gradient = f(START)
        result = Result("JAX", time.perf_counter() - began, 0.0, np.append(value, gradient))
        theta, calls = fitted(f, data.y.size)
        result = result._replace(theta=theta, calls=calls, errors=curvature_errors(f, theta))
        result = result._replace(seconds=time.perf_counter() - began, call_microseconds=timed(f, START, 20))
        one = of(data.y[:1])
        one(START)
        return result._replace(one_microseconds=timed(one, START, 20))


def run_statsmodels(data: Voyages) -> Result:
    """By the filter of `statsmodels.tsa.statespace`, which is compiled, and whose gradient is of differences."""
    from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

    filters = []
    for y in data.y:
        one = KalmanFilter(k_endog=3, k_states=6)
        one.bind(np.ascontiguousarray(y))
        one["selection"] = np.eye(6)
        filters.append(one)

    def value(theta: Any, some: Any = filters) -> float:
        forward, push, seen, noise, spread = motion(theta, np)
        for one in some:
            one["design"], one["obs_cov"], one["transition"], one["state_cov"] = seen, noise, forward, push
            one.initialize_known(np.zeros(6), spread)
        return sum(float(one.loglike()) for one in some)

    began = time.perf_counter()
    at_start = np.array([value(START)])
    first_seconds = time.perf_counter() - began
    count = data.y.size
    found = minimize(lambda theta: -value(theta) / count, START, method="L-BFGS-B", options=PRECISION)
    seconds = time.perf_counter() - began
    calls, one = timed(value, START, 20), timed(lambda theta: value(theta, filters[:1]), START, 20)
    return Result("statsmodels", first_seconds, calls, at_start, one, int(found.nfev), found.x, seconds=seconds)


if __name__ == "__main__":
    made = voyages()
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", made)
    print(f"{result.backend}: {result.calls} calls of {result.call_microseconds:.0f} µs")
    if result.theta is not None:
        for name, value, error, truth in zip(NAMES, result.theta, result.errors, TRUTH, strict=True):
            print(f"log {name:>4}: {value:7.3f} ± {error:.3f}, truth {truth:.3f}")
        off = (result.places - made.places) / result.deviations
        print(f"places: {np.mean(np.abs(off) < 2):.1%} within two standard deviations")
