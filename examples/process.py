"""Regression by a Gaussian process: its hyperparameters by the gradient of a likelihood, their errors by the Hessian.

A function of two variables was measured at random places, with noise. It is held to be drawn from a Gaussian process:
its values at any places are jointly normal, with a covariance that falls with their distance, in each variable by a
length of its own. Given the hyperparameters, all is linear algebra with the factor L of a covariance K = L L':

    k(a, b) = v exp(-(a1 - b1)^2 / (2 l1^2) - (a2 - b2)^2 / (2 l2^2))        K = k(x, x) + w I
    log p(y) = -y' K^-1 y / 2 - sum(log diag L) - n log(2 pi) / 2
    f(z) is normal, of mean k(z, x) K^-1 y and variance v - |L^-1 k(x, z)|^2

(C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1). The data are made
here, so the hyperparameters that a fit should find are known. Beside tg's fit stands scikit-learn's, whose gradient was
written by hand.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/process.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

COUNT = 250
NAMES = ("v", "l1", "l2", "w")
TRUTH = np.log([2.0, 0.3, 0.8, 0.04])  # as logarithms, which may be any numbers
START = np.log([1.0, 1.0, 1.0, 0.1])
PRECISION = {"maxiter": 200, "ftol": 1e-11, "gtol": 1e-4}  # rounding is near that


# 1. The model.
def covariance(a: Any, b: Any, theta: Any) -> Any:
    """The covariance of the function's values at places a (n, 2) and b (m, 2)."""
    away = (a[:, None, :] - b[None, :, :]) / tg.exp(theta[1:3])
    return tg.exp(theta[0] - 0.5 * tg.sum(away**2, axis=-1))


def factor_of(x: Any, theta: Any) -> Any:
    """L, of what is measured at x."""
    return tg.linalg.cholesky(covariance(x, x, theta) + tg.exp(theta[3]) * tg.eye(x.shape[0]))


def log_likelihood(theta: Any, x: Any, y: Any) -> tg.Variable:
    """The log-density of what was measured."""
    factor = factor_of(x, theta)
    fit = y @ tg.linalg.cho_solve((factor, True), y)
    return -0.5 * fit - tg.sum(tg.log(tg.diagonal(factor))) - 0.5 * x.shape[0] * np.log(2 * np.pi)


def prediction(theta: Any, x: Any, y: Any, places: Any) -> tuple[tg.Variable, tg.Variable]:
    """Of the function's values at other places the means and the standard deviations."""
    factor, across = factor_of(x, theta), covariance(x, places, theta)
    mean = tg.linalg.cho_solve((factor, True), y) @ across
    explained = tg.linalg.solve_triangular(factor, across, lower=True)
    return mean, tg.sqrt(tg.exp(theta[0]) - tg.sum(explained**2, axis=0))


# 2. The data: a draw from the process, at the places that are measured, and at others.
class Measured(NamedTuple):
    """Places in a square, and what was measured there; other places, and the function's true values there."""

    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    places: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]


def measured(count: int = COUNT, others: int = 100) -> Measured:
    """Data of so many places, with the true hyperparameters."""
    draw = np.random.default_rng(5)
    all_of_them = draw.uniform(0, 2, (count + others, 2))
    v, *lengths, w = np.exp(TRUTH)
    away = (all_of_them[:, None] - all_of_them) / lengths
    k = v * np.exp(-0.5 * np.sum(away**2, axis=-1)) + 1e-10 * np.eye(len(away))  # rounding must not make it indefinite
    f = np.linalg.cholesky(k) @ draw.normal(size=count + others)
    y = f[:count] + np.sqrt(w) * draw.normal(size=count)
    return Measured(all_of_them[:count], y, all_of_them[count:], f[count:])


# 3. The fit.
class Result(NamedTuple):
    """What a run gave."""

    backend: str
    first_seconds: float  # until there is a log-likelihood with its gradient: building, compiling, a call
    call_microseconds: float
    calls: int  # of the log-likelihood, in the fit
    theta: np.ndarray[Any, Any]  # where the log-likelihood is highest
    errors: np.ndarray[Any, Any] | None  # the standard error of each
    log_likelihood: float
    mean: np.ndarray[Any, Any]  # the prediction
    deviation: np.ndarray[Any, Any]
    seconds: float  # all of it
    at_start: np.ndarray[Any, Any]  # the log-likelihood and its gradient where the fit begins, to be compared


def compiled(data: Measured, backend: str) -> tuple[Any, Any, Any]:
    """Three functions of theta: log-likelihood with gradient, the Hessian, the prediction."""
    theta = tg.tensor("theta", shape=START.shape)
    x, y = tg.constant(data.x), tg.constant(data.y)
    value = log_likelihood(theta, x, y)
    return (
        tg.function([theta], [*tg.value_and_grad(value, theta)], backend=backend, name="log_likelihood"),
        tg.function([theta], tg.hessian(value, theta), backend=backend, name="hessian"),
        tg.function([theta], [*prediction(theta, x, y, tg.constant(data.places))], backend=backend, name="prediction"),
    )


def run(backend: str, data: Measured) -> Result:
    """Fit on one backend."""
    began = time.perf_counter()
    f, hessian, predicted = compiled(data, backend)
    value, gradient = f(START)
    first_seconds = time.perf_counter() - began
    calls: list[float] = []  # seconds of each

    def loss(theta: Any) -> Any:
        start = time.perf_counter()
        value, gradient = f(theta)
        calls.append(time.perf_counter() - start)
        return -float(value), -gradient

    found = minimize(loss, START, jac=True, method="L-BFGS-B", options=PRECISION)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian(found.x))))
    mean, deviation = predicted(found.x)
    seconds, microseconds = time.perf_counter() - began, 1e6 * float(np.median(calls))
    at_start = np.append(value, gradient)
    return Result(
        backend,
        first_seconds,
        microseconds,
        len(calls),
        found.x,
        errors,
        -found.fun,
        mean,
        deviation,
        seconds,
        at_start,
    )


# 4. The same by scikit-learn, which minimizes with L-BFGS too, and tells no errors.
def run_sklearn(data: Measured) -> Result:
    """Fit by `sklearn.gaussian_process`."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    wide = (1e-5, 1e5)
    function = ConstantKernel(1.0, wide) * RBF([1.0, 1.0], wide)
    calls: list[float] = []

    def fit(loss: Any, start: Any, bounds: Any) -> Any:
        def timed(theta: Any) -> Any:
            began = time.perf_counter()
            found = loss(theta)
            calls.append(time.perf_counter() - began)
            return found

        found = minimize(timed, start, jac=True, method="L-BFGS-B", bounds=bounds, options=PRECISION)
        return found.x, found.fun

    began = time.perf_counter()
    kernel = function + WhiteKernel(0.1, wide)
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=fit).fit(data.x, data.y)
    value, gradient = model.log_marginal_likelihood(START, eval_gradient=True)
    mean, spread = model.predict(data.places, return_std=True)
    deviation = np.sqrt(spread**2 - np.exp(model.kernel_.theta[3]))  # its own includes the noise of a measurement
    seconds, microseconds = time.perf_counter() - began, 1e6 * float(np.median(calls))
    at_start = np.append(value, gradient)
    return Result(
        "scikit-learn",
        calls[0],
        microseconds,
        len(calls),
        model.kernel_.theta,
        None,
        float(model.log_marginal_likelihood_value_),
        mean,
        deviation,
        seconds,
        at_start,
    )


if __name__ == "__main__":
    made = measured()
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", made)
    print(f"{result.backend}: {result.calls} calls of {result.call_microseconds:.0f} µs")
    for name, value, error, truth in zip(NAMES, result.theta, result.errors, TRUTH, strict=True):
        print(f"log {name:>2}: {value:7.3f} ± {error:.3f}, truth {truth:.3f}")
    off = (result.mean - made.values) / result.deviation
    print(f"elsewhere: {np.mean(np.abs(off) < 2):.0%} within two standard deviations")
