"""Mixtures: points from several normal distributions, and a chain of states that is only heard.

Which distribution a point is from is not told. Given the parameters, Bayes' rule says with which probability it is from
each; given these, the parameters are weighted means. To do both in turn is EM, here a `tg.while_loop` until the
log-likelihood grows no more (A. Dempster, N. Laird and D. Rubin, 1977).

Where the states follow one another by a matrix of probabilities, a sum over all sequences of states is a loop over the
points, `tg.scan`, that carries the probability of each state (L. Rabiner, A tutorial on hidden Markov models, 1989):

    alpha[t, j] = sum(alpha[t - 1, i] A[i, j]) N(y[t]; m[j], s[j])          p(y) = sum(alpha[T])

Its gradient finds the parameters, and as well the states: the derivative of log p(y) by a log-density that is added at
t to state j is the probability of that state, given all points.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/mixtures.py c`.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

SHORT = 0.2  # seconds of a call from which on there is no fit


# 1. A mixture: shares w (k), means m (k, d), covariances c (k, d, d).
class Mixture(NamedTuple):
    """The parameters."""

    shares: Any
    means: Any
    covariances: Any


def log_densities(p: Mixture, x: Any) -> tg.Variable:
    """Of each point and component (n, k): the logarithm of share times density."""
    factor = tg.linalg.cholesky(p.covariances)
    away = tg.matrix_transpose(x[None] - p.means[:, None])
    z = tg.linalg.solve_triangular(factor, away, lower=True)
    size = tg.sum(tg.log(tg.diagonal(factor, axis1=-2, axis2=-1)), axis=-1) + 0.5 * x.shape[1] * math.log(2 * math.pi)
    return (tg.log(p.shares)[:, None] - size[:, None] - 0.5 * tg.sum(z * z, axis=-2)).T


def improved(p: Mixture, x: Any) -> tuple[Mixture, tg.Variable]:
    """The parameters after a step of EM, and the log-likelihood before it."""
    terms = log_densities(p, x)
    share = tg.softmax(terms, axis=1)
    count = tg.sum(share, axis=0)
    means = share.T @ x / count[:, None]
    away = x[None] - means[:, None]
    covariances = tg.matrix_transpose(away * share.T[:, :, None]) @ away / count[:, None, None]
    return Mixture(count / x.shape[0], means, covariances), tg.sum(tg.logsumexp(terms, axis=1))


def by_em(start: Mixture, x: Any, tolerance: float = 1e-9) -> tuple[Mixture, tg.Variable, tg.Variable]:
    """The parameters of the highest likelihood near by, its logarithm, and the number of steps."""

    def goes_on(carry: Any) -> Any:
        _, before, value, steps = carry
        return (value - before > tolerance * tg.abs(value)) & (steps < 1000)

    def step(carry: Any) -> Any:
        p, _, value, steps = carry
        after, reached = improved(p, x)
        return after, value, reached, steps + 1

    p, _, value, steps = tg.while_loop(goes_on, step, (start, -np.inf, -1e300, 0))
    return p, value, steps


# 2. A chain of states. In one vector: the logits of leaving each state for each other one, beside 0 for staying; means;
# logarithms of standard deviations.
STATES = 3
ELSEWHERE = np.nonzero(~np.eye(STATES, dtype=bool))
NAMES = (*(f"{i}→{j}" for i, j in zip(*ELSEWHERE, strict=True)), *["m0", "m1", "m2", "s0", "s1", "s2"])


class Chain(NamedTuple):
    """The parameters: the logarithm of A, and of each state the mean and the logarithm of the standard deviation."""

    log_a: Any
    means: Any
    log_scales: Any


def chain_of(theta: Any) -> Chain:
    """Of the vector."""
    leaving = len(ELSEWHERE[0])
    logits = tg.zeros((STATES, STATES)).at[ELSEWHERE].set(theta[:leaving])
    return Chain(tg.log_softmax(logits, axis=1), theta[leaving : leaving + STATES], theta[leaving + STATES :])


def log_likelihood(theta: Any, y: Any, extra: Any = 0.0) -> tg.Variable:
    """The log-density of the points; `extra` (t, k) is added to what they say of each state."""
    p = chain_of(theta)
    z = (y[:, None] - p.means) / tg.exp(p.log_scales)
    told = -0.5 * z * z - p.log_scales - 0.5 * math.log(2 * math.pi) + extra

    def step(log_alpha: Any, told: Any) -> tuple[Any, None]:
        return tg.logsumexp(log_alpha[:, None] + p.log_a, axis=0) + told, None

    last, _ = tg.scan(step, told[0] - math.log(STATES), told[1:])  # it begins in any state
    return tg.logsumexp(last)


def probabilities(theta: Any, y: Any) -> tg.Variable:
    """Of each point and state (t, k): its probability, given all points."""
    extra = tg.zeros((y.shape[0], STATES))
    return tg.grad(log_likelihood(theta, y, extra), extra)


# 3. The data, made with known parameters.
COUNT = 2000
COMPONENTS = Mixture(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 3.0]]),
    np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.4, -0.2], [-0.2, 0.8]], [[0.6, 0.0], [0.0, 0.3]]]),
)
LEAVING = np.array([-3.0, -4.0, -2.5, -2.5, -3.5, -2.0])
TRUTH = np.concatenate([LEAVING, [-2.0, 0.0, 1.5], np.log([0.8, 0.5, 1.0])])
START = np.concatenate([np.full(6, -1.0), [-1.0, 0.5, 2.0], np.zeros(3)])


class Points(NamedTuple):
    """Points, and the component or state that each is from."""

    x: np.ndarray[Any, Any]
    label: np.ndarray[Any, Any]


def points(count: int = COUNT) -> Points:
    """Of the mixture."""
    draw = np.random.default_rng(17)
    label = draw.choice(3, size=count, p=COMPONENTS.shares)
    factor = np.linalg.cholesky(COMPONENTS.covariances)[label]
    return Points(COMPONENTS.means[label] + (factor @ draw.normal(size=(count, 2, 1)))[..., 0], label)


def first_guess(x: np.ndarray[Any, Any]) -> Mixture:
    """Equal shares, three points far apart, and the covariance of all."""
    places = x[[np.argmin(x[:, 0]), np.argmax(x[:, 0]), np.argmax(x[:, 1])]]
    return Mixture(np.full(3, 1 / 3), places, np.tile(np.cov(x.T), (3, 1, 1)))


def heard(count: int = COUNT) -> Points:
    """Of the chain."""
    draw = np.random.default_rng(19)
    logits = np.zeros((STATES, STATES))
    logits[ELSEWHERE] = LEAVING
    a = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    label = np.empty(count, np.int64)
    label[0] = draw.choice(STATES)
    for t in range(1, count):
        label[t] = draw.choice(STATES, p=a[label[t - 1]])
    means, scales = TRUTH[6:9], np.exp(TRUTH[9:])
    return Points(means[label] + scales[label] * draw.normal(size=count), label)


# 4. The fits.
class Fitted(NamedTuple):
    """What a run of EM gave."""

    backend: str
    first_seconds: float  # until it is fitted: building, compiling, a call
    call_microseconds: float  # of a processor
    p: Mixture
    log_likelihood: float
    steps: int


def compiled_em(backend: str, data: Points) -> Any:
    """A compiled function: shares, means, covariances -> those fitted, the log-likelihood, the number of steps."""
    k, d = COMPONENTS.means.shape
    p = Mixture(tg.vector("shares"), tg.tensor("means", shape=(k, d)), tg.tensor("covariances", shape=(k, d, d)))
    found, value, steps = by_em(p, tg.constant(data.x))
    return tg.function([*p], [*found, value, steps], backend=backend, name="em")


def run_em(backend: str, data: Points) -> Fitted:
    """Fit on one backend."""
    began = time.perf_counter()
    f, start = compiled_em(backend, data), first_guess(data.x)
    f(*start)
    first_seconds, began = time.perf_counter() - began, time.process_time()
    *p, value, steps = f(*start)
    return Fitted(backend, first_seconds, 1e6 * (time.process_time() - began), Mixture(*p), float(value), int(steps))


def run_sklearn(data: Points) -> Fitted:
    """By `sklearn.mixture`, from the same guess, with as many steps as it wants."""
    from sklearn.mixture import GaussianMixture

    start = first_guess(data.x)
    began = time.process_time()
    model = GaussianMixture(
        3,
        tol=1e-12,
        max_iter=1000,
        reg_covar=0.0,
        weights_init=start.shares,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    ).fit(data.x)
    seconds = time.process_time() - began
    p = Mixture(model.weights_, model.means_, model.covariances_)
    value = float(model.score(data.x) * len(data.x))
    return Fitted("scikit-learn", seconds, 1e6 * seconds, p, value, model.n_iter_)


class Result(NamedTuple):
    """What a fit of the chain gave; None where a call was too slow for one."""

    backend: str
    first_seconds: float  # until there is a log-likelihood with its gradient: building, compiling, a call
    call_microseconds: float  # of a processor
    at_start: np.ndarray[Any, Any]  # the log-likelihood and its gradient where the fit begins, to be compared
    calls: int = 0
    theta: np.ndarray[Any, Any] | None = None
    errors: np.ndarray[Any, Any] | None = None
    states: np.ndarray[Any, Any] | None = None  # (t, k): the probabilities
    seconds: float = 0.0


def compiled_chain(backend: str, data: Points) -> Any:
    """A compiled function: theta -> log-likelihood and its gradient."""
    theta = tg.tensor("theta", shape=START.shape)
    value = log_likelihood(theta, tg.constant(data.x))
    return tg.function([theta], [*tg.value_and_grad(value, theta)], backend=backend, name="log_likelihood")


def run_chain(backend: str, data: Points) -> Result:
    """Fit on one backend; or only compile and call, where a call is slow."""
    began = time.perf_counter()
    f = compiled_chain(backend, data)
    value, gradient = f(START)
    result = Result(backend, time.perf_counter() - began, timed(f, 1), np.append(value, gradient))
    if result.call_microseconds > 1e6 * SHORT:
        return result._replace(seconds=time.perf_counter() - began)
    at, calls = fitted(f, len(data.x))
    theta = tg.tensor("theta", shape=START.shape)
    states = tg.function([theta], probabilities(theta, tg.constant(data.x)), backend=backend, name="states")(at)
    result = result._replace(calls=calls, theta=at, errors=curvature_errors(f, at), states=states)
    return result._replace(seconds=time.perf_counter() - began, call_microseconds=timed(f, 20))


def fitted(f: Any, count: int) -> tuple[np.ndarray[Any, Any], int]:
    """Where the log-likelihood is highest, and after how many calls."""

    def loss(theta: Any) -> Any:
        value, gradient = f(theta)
        return -float(value) / count, -gradient / count

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7}
    found = minimize(loss, START, jac=True, method="L-BFGS-B", options=options)
    return found.x, int(found.nfev)


def curvature_errors(f: Any, theta: np.ndarray[Any, Any], step: float = 1e-4) -> np.ndarray[Any, Any]:
    """How well each parameter is known: by the curvature, which is the change of the gradient."""
    moves = step * np.eye(len(theta))
    curvature = np.array([f(theta - move)[1] - f(theta + move)[1] for move in moves]) / (2 * step)
    return np.sqrt(np.diag(np.linalg.inv(curvature)))


def timed(f: Any, calls: int) -> float:
    """The median of so many calls, in microseconds of a processor."""
    seconds = []
    for _ in range(calls):
        began = time.process_time()
        f(START)
        seconds.append(time.process_time() - began)
    return 1e6 * float(np.median(seconds))


# 5. The chain without tg: the loop in NumPy, with probabilities that are made to sum to 1 at each step.
def by_hand(theta: Any, y: np.ndarray[Any, Any]) -> float:
    """`log_likelihood`."""
    logits = np.zeros((STATES, STATES))
    logits[ELSEWHERE] = theta[:6]
    a = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    means, scales = theta[6:9], np.exp(theta[9:])
    density = np.exp(-0.5 * ((y[:, None] - means) / scales) ** 2) / (scales * math.sqrt(2 * math.pi))
    alpha, total = np.full(STATES, 1 / STATES) * density[0], 0.0
    for told in density[1:]:
        size = alpha.sum()
        total += math.log(size)
        alpha = alpha / size @ a * told
    return total + math.log(alpha.sum())


def run_by_hand(data: Points) -> Result:
    """Fit without a gradient."""
    began = time.perf_counter()
    at_start = np.array([by_hand(START, data.x)])
    first_seconds = time.perf_counter() - began
    found = minimize(lambda theta: -by_hand(theta, data.x) / len(data.x), START, method="L-BFGS-B")
    seconds = time.perf_counter() - began
    return Result("NumPy", first_seconds, 1e6 * seconds / found.nfev, at_start, found.nfev, found.x, seconds=seconds)


if __name__ == "__main__":
    backend = sys.argv[1] if len(sys.argv) > 1 else "auto"
    mixture = run_em(backend, points())
    print(f"{mixture.backend}: {mixture.steps} steps of EM in {mixture.call_microseconds / 1000:.1f} ms")
    print(f"shares {np.round(mixture.p.shares, 3)}, means {np.round(mixture.p.means, 2).tolist()}")
    data = heard()
    result = run_chain(backend, data)
    print(f"{result.backend}: {result.calls} calls of {result.call_microseconds:.0f} µs")
    if result.theta is not None:
        for name, value, error, truth in zip(NAMES, result.theta, result.errors, TRUTH, strict=True):
            print(f"{name:>4}: {value:7.3f} ± {error:.3f}, truth {truth:.3f}")
        print(f"right states: {np.mean(np.argmax(result.states, axis=1) == data.label):.1%}")
