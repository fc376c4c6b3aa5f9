"""Series that come from loops: two epidemics and an autoregression, fitted by the gradients of their log-likelihoods.

A compartment model moves people from the susceptible (s) to the infectious (i) and on; SEIR has those who carry the
disease and do not infect yet (e). All are fractions of a population, and 300 days are 1,200 steps of Runge-Kutta:

    ds/dt = -beta s i        di/dt = beta s i - gamma i                                (SIR)
    ds/dt = -beta s i        de/dt = beta s i - sigma e       di/dt = sigma e - gamma i  (SEIR)

What is known are counts: each day a share of the new cases is reported, Poisson(REPORTED * PEOPLE * new cases).
The autoregression is one of second order that is seen through noise, and its log-likelihood is that of Kalman's filter:

    x[t] = a x[t-1] + b x[t-2] + Normal(0, q)        y[t] = x[t] + Normal(0, r)

The data are made here, so the parameters that a fit should find are known. Beside tg's fit stands SciPy's minimizer on
the same log-likelihood as a loop in Python, which has no gradient: it takes differences.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/epidemic.py c`.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = 1e5
REPORTED = 0.3
STEPS_A_DAY = 4
DAYS = 300
SHORT = 0.2  # seconds: where a log-likelihood with its gradient takes longer, nothing is fitted
PRECISION = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7}


# 1. The equations. Of numbers they give numbers, of tg's variables expressions: nothing here knows of tg.
def sir(state: Any, p: Any) -> Any:
    """The rates of change of (s, i)."""
    (s, i), (beta, gamma, _) = state, p
    return -beta * s * i, beta * s * i - gamma * i


def seir(state: Any, p: Any) -> Any:
    """The rates of change of (s, e, i)."""
    (s, e, i), (beta, sigma, gamma, _) = state, p
    return -beta * s * i, beta * s * i - sigma * e, sigma * e - gamma * i


def begin(rates: Any, p: Any) -> Any:
    """The state of the first day: the last parameter is the fraction that has the disease."""
    return (1 - p[-1], p[-1]) if rates is sir else (1 - p[-1], p[-1], 0 * p[-1])


# 2. The epidemics' log-likelihood. Who is not susceptible any more at the end of a day fell ill in it.
def of_counts(rates: Any) -> Callable[[Any, Any], tg.Variable]:
    """A function of theta, the parameters' logarithms, and the counts."""

    def log_likelihood(theta: Any, counts: Any) -> tg.Variable:
        p = [tg.exp(theta[k]) for k in range(theta.shape[0])]
        days = tg.arange(counts.shape[0] + 1.0)
        state = tg.integrate.odeint(
            lambda t, state: rates(state, p), begin(rates, p), days, method="rk4", steps=STEPS_A_DAY
        )
        expected = REPORTED * PEOPLE * (state[0][:-1] - state[0][1:])
        return tg.sum(counts * tg.log(expected) - expected)  # but for the counts' factorials, which are fixed

    return log_likelihood


# 3. Kalman's filter: a scan over the observations. The state (x[t], x[t-1]) is known as a mean and a covariance.
def of_autoregression(theta: Any, y: Any) -> tg.Variable:
    """A function of theta: a, b, log q, log r; and the observations."""
    q, r = tg.exp(theta[2]), tg.exp(theta[3])
    forward = tg.stack([theta[:2], tg.constant([1.0, 0.0])])
    noise = tg.stack([tg.stack([q * q, 0.0]), tg.zeros(2)])

    def step(known: Any, seen: Any) -> Any:
        mean, covariance = known
        mean = forward @ mean
        covariance = forward @ covariance @ forward.T + noise
        error, variance = seen - mean[0], covariance[0, 0] + r * r
        gain = covariance[:, 0] / variance
        after = mean + gain * error, covariance - tg.outer(gain, covariance[0])
        return after, -0.5 * (tg.log(2 * np.pi * variance) + error * error / variance)

    _, terms = tg.scan(step, (tg.zeros(2), 10 * tg.eye(2)), y)
    return tg.sum(terms)


# 4. The same as loops in Python, on floats and small arrays.
def runge_kutta(rates: Any, state: Any, p: Any, dt: float) -> Any:
    """The state dt later, by the classical method of fourth order."""

    def later(slope: Any, by: float) -> Any:
        return tuple(v + by * k for v, k in zip(state, slope, strict=True))

    k1 = rates(state, p)
    k2 = rates(later(k1, dt / 2), p)
    k3 = rates(later(k2, dt / 2), p)
    k4 = rates(later(k3, dt), p)
    return later([a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)], dt / 6)


def expected_counts(rates: Any, p: Any, days: int) -> np.ndarray[Any, Any]:
    """The counts that are expected of each day."""
    state, found = begin(rates, p), []
    for _ in range(days):
        before = state[0]
        for _ in range(STEPS_A_DAY):
            state = runge_kutta(rates, state, p, 1 / STEPS_A_DAY)
        found.append(REPORTED * PEOPLE * (before - state[0]))
    return np.array(found)


def of_counts_by_hand(rates: Any) -> Callable[[Any, Any], float]:
    """`of_counts` without tg."""

    def log_likelihood(theta: Any, counts: Any) -> float:
        expected = expected_counts(rates, [math.exp(v) for v in theta], len(counts))
        return float(np.sum(counts * np.log(expected) - expected))

    return log_likelihood


def of_autoregression_by_hand(theta: Any, y: Any) -> Any:
    """`of_autoregression` without tg."""
    foretold = foretold_by_hand(theta, y)
    return -0.5 * sum(np.log(2 * np.pi * variance) + error * error / variance for error, variance in foretold)


def foretold_by_hand(theta: Any, y: Any) -> list[tuple[Any, Any]]:
    """Of each observation by how much it is not what was expected of it, and the variance of that."""
    a, b, q, r = theta[0], theta[1], np.exp(theta[2]), np.exp(theta[3])
    forward = np.array([[a, b], [1.0, 0.0]])
    noise = np.array([[q * q, 0.0], [0.0, 0.0]])
    mean, covariance, found = np.zeros(2), 10 * np.eye(2), []
    for seen in y:
        mean = forward @ mean
        covariance = forward @ covariance @ forward.T + noise
        error, variance = seen - mean[0], covariance[0, 0] + r * r
        gain = covariance[:, 0] / variance
        mean, covariance = mean + gain * error, covariance - np.outer(gain, covariance[0])
        found.append((error, variance))
    return found


# 5. The data, made with known parameters.
class Series(NamedTuple):
    """Data, and what is said of them; theta holds logarithms of all parameters but those named in `plain`."""

    title: str
    names: tuple[str, ...]
    truth: np.ndarray[Any, Any]
    start: np.ndarray[Any, Any]
    data: np.ndarray[Any, Any]
    log_likelihood: Callable[[Any, Any], tg.Variable]
    by_hand: Callable[[Any, Any], float]
    plain: tuple[str, ...] = ()

    def parameters(self, theta: Any) -> np.ndarray[Any, Any]:
        """The parameters themselves."""
        return np.array([v if n in self.plain else np.exp(v) for n, v in zip(self.names, theta, strict=True)])


def series(days: int = DAYS) -> tuple[Series, ...]:
    """SIR and SEIR over so many days, and an autoregression over as many steps as they have."""
    draw = np.random.default_rng(1)
    found = []
    for title, rates, names, p in (
        ("SIR", sir, ("beta", "gamma", "i0"), (0.25, 0.10, 1e-4)),
        ("SEIR", seir, ("beta", "sigma", "gamma", "e0"), (0.40, 0.20, 0.12, 1e-3)),
    ):
        counts = draw.poisson(expected_counts(rates, p, days)).astype(np.float64)
        truth = np.log(p)
        start = truth + np.resize([0.2, -0.2], len(p))
        found.append(Series(title, names, truth, start, counts, of_counts(rates), of_counts_by_hand(rates)))
    truth = np.array([1.6, -0.8, np.log(1.0), np.log(0.5)])
    x = np.zeros(days * STEPS_A_DAY + 100)  # the first hundred are left out: they remember where x began
    for t in range(2, len(x)):
        x[t] = truth[0] * x[t - 1] + truth[1] * x[t - 2] + draw.normal()
    y = x[100:] + 0.5 * draw.normal(size=len(x) - 100)
    names, start = ("a", "b", "q", "r"), np.array([0.5, 0.0, 0.0, 0.0])
    last = Series("AR(2)", names, truth, start, y, of_autoregression, of_autoregression_by_hand, ("a", "b"))
    return (*found, last)


# 6. The fit. With gradients it takes a call for each place it looks at, without them one more for each parameter.
class Result(NamedTuple):
    """What a run gave."""

    backend: str
    first_seconds: float  # until there is a log-likelihood with its gradient: building, compiling, a call
    call_microseconds: float
    calls: int  # of the log-likelihood, in the fit
    theta: np.ndarray[Any, Any] | None  # where the log-likelihood is highest; None: not fitted
    errors: np.ndarray[Any, Any] | None  # the standard error of each
    seconds: float  # all of it
    at_start: np.ndarray[Any, Any]  # the log-likelihood and its gradient where the fit begins, to be compared


def compiled(s: Series, backend: str) -> Any:
    """A compiled function: theta -> log-likelihood and its gradient."""
    theta = tg.tensor("theta", shape=s.start.shape)
    cost = s.log_likelihood(theta, tg.constant(s.data))
    return tg.function([theta], [*tg.value_and_grad(cost, theta)], backend=backend, name="log_likelihood")


def standard_errors(f: Any, theta: np.ndarray[Any, Any], step: float = 1e-4) -> np.ndarray[Any, Any]:
    """How well each parameter is known: by the curvature, which is the change of the gradient."""
    moves = step * np.eye(len(theta))
    curvature = np.array([f(theta - move)[1] - f(theta + move)[1] for move in moves]) / (2 * step)
    return np.sqrt(np.diag(np.linalg.inv(curvature)))


def run(backend: str, s: Series, *, fits: bool = True) -> Result:
    """Fit on one backend, or only compile and call."""
    began = time.perf_counter()
    f = compiled(s, backend)
    value, gradient = f(s.start)
    first_seconds = time.perf_counter() - began
    calls: list[float] = []  # seconds of each

    def loss(theta: Any) -> Any:
        start = time.perf_counter()
        value, gradient = f(theta)
        calls.append(time.perf_counter() - start)
        return -float(value) / len(s.data), -gradient / len(s.data)

    theta = errors = None
    if fits:
        loss(s.start)
    if fits and calls[-1] < SHORT:
        theta = minimize(loss, s.start, jac=True, method="L-BFGS-B", options=PRECISION).x
        errors = standard_errors(f, theta)
    seconds = time.perf_counter() - began
    microseconds = 1e6 * float(np.median(calls or first_seconds))
    at_start = np.append(value, gradient)
    return Result(backend, first_seconds, microseconds, max(len(calls) - 1, 0), theta, errors, seconds, at_start)


def run_by_hand(s: Series) -> Result:
    """Fit without tg: SciPy's minimizer on a loop, by differences."""
    began = time.perf_counter()
    value = s.by_hand(s.start, s.data)
    first_seconds = time.perf_counter() - began
    found = minimize(lambda v: -s.by_hand(v, s.data) / len(s.data), s.start, method="L-BFGS-B", options=PRECISION)
    seconds = time.perf_counter() - began
    calls = int(found.nfev)
    microseconds = 1e6 * (seconds - first_seconds) / calls
    return Result("Python", first_seconds, microseconds, calls, found.x, None, seconds, np.array([value]))


if __name__ == "__main__":
    for s in series():
        result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", s)
        print(f"{s.title} on {result.backend}: {result.call_microseconds:.0f} µs a log-likelihood with its gradient")
        if result.theta is None or result.errors is None:
            continue
        for k, name in enumerate(s.names):
            low, middle, high = (s.parameters(result.theta + by * result.errors)[k] for by in (-1, 0, 1))
            print(f"{name:>10}: {middle:.4g} ± {(high - low) / 2:.2g}, truth {s.parameters(s.truth)[k]:.4g}")
