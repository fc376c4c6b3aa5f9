"""The models of the page `loops`: recurrences, each step written once and run by the library's own loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from models import Model, draw, solve_lower

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DAYS, PER_DAY = 150, 8  # of the epidemic, and steps in each


def scan(xp: Any, step: Callable[..., Any], start: Sequence[Any], sequence: Any) -> tuple[Sequence[Any], Any]:
    """What goes from step to step, after the last one, and what each step gives besides.

    `step(carries, element)` gives the next carries and that, or None.
    """
    kind = xp.__name__
    if kind == "tg":
        return xp.scan(step, tuple(start), sequence)  # type: ignore[no-any-return]
    if kind == "jax.numpy":
        from jax import lax

        return lax.scan(step, tuple(start), sequence)  # type: ignore[no-any-return]
    if kind == "pytensor.tensor":
        return _by_pytensor(step, start, sequence)
    if kind != "numpy":
        raise NotImplementedError("without a loop of its own")
    carries: Sequence[Any] = tuple(start)
    traces = []
    for element in sequence:
        carries, traced = step(carries, element)
        traces.append(traced)
    return carries, None if traces[0] is None else np.array(traces)


def _by_pytensor(step: Callable[..., Any], start: Sequence[Any], sequence: Any) -> tuple[Sequence[Any], Any]:
    import pytensor
    import pytensor.tensor as pt

    gives_trace = []

    def one(element: Any, *carries: Any) -> list[Any]:
        after, traced = step(carries, element)
        gives_trace.append(traced is not None)
        return [*after, *([traced] if gives_trace[-1] else [])]

    starts = [pt.as_tensor_variable(np.asarray(v, np.float64)) for v in start]
    one(sequence[0], *starts)
    info = [*starts, *([None] * gives_trace[0])]
    found, _ = pytensor.scan(one, sequences=[sequence], outputs_info=info, return_list=True)
    return [v[-1] for v in found[: len(starts)]], found[-1] if gives_trace[0] else None


def sir_ar2(xp: Any, beta: Any, gamma: Any, phi1: Any, phi2: Any, y: Any) -> Any:
    """Squared errors of an epidemic of three states plus an autoregression of second order, summed over the steps."""

    def step(carries: Any, observed: Any) -> Any:
        s, i, a, b, value = carries
        new, recovered = beta * s * i, gamma * i
        s, i = s - new, i + new - recovered
        z = phi1 * a + phi2 * b
        mean = i + z
        return (s, i, mean * 0.1 + z, a, value - 0.5 * (observed - mean) ** 2), None

    return scan(xp, step, (0.99, 0.01, 0.1, 0.2, 0.0), y)[0][-1]


def ar1(xp: Any, phi: Any, x: Any) -> Any:
    """The squares of an autoregression of first order, summed."""

    def step(carries: Any, shock: Any) -> Any:
        state, value = carries
        state = phi * state + shock
        return (state, value + state * state), None

    return scan(xp, step, (0.0, 0.0), x)[0][-1]


def seir(xp: Any, beta: Any, sigma: Any, gamma: Any, share: Any, y: Any) -> Any:
    """The log-density of Poisson counts of cases, a share of those who fall ill in each step of an epidemic."""

    def step(carries: Any, observed: Any) -> Any:
        s, e, i, r = carries
        exposed, ill, recovered = beta * s * i * (1 / PER_DAY), sigma * e * (1 / PER_DAY), gamma * i * (1 / PER_DAY)
        rate = share * ill * 1e5 + 1e-3
        density = observed * xp.log(rate) - rate
        return (s - exposed, e + exposed - ill, i + ill - recovered, r + recovered), density

    (_, _, _, recovered), density = scan(xp, step, (0.99, 0.004, 0.006, 0.0), y)
    return xp.sum(density) - 0.5 * ((recovered - 0.5) * 10) ** 2


IDENTITY, EACH = np.eye(3), np.stack([np.diag(row) for row in np.eye(3)])
FORWARD = (
    np.kron([[1, 1], [0, 0]], IDENTITY),
    np.kron([[0, 0], [0, 1]], IDENTITY),
)  # places, and velocities that fall off
PUSHES = np.stack([np.kron([[1 / 3, 1 / 2], [1 / 2, 1]], one) for one in EACH])


def kalman(xp: Any, theta: Any, y: Any) -> Any:
    """The log-density of a path seen with noise: 6 numbers of which 3 are measured (`examples/kalman.py`)."""
    p = xp.exp(theta)
    forward = FORWARD[0] + FORWARD[1] * xp.exp(-p[6])
    push, noise = (xp.sum(p[k : k + 3][:, None, None] ** 2 * x, axis=0) for k, x in ((0, PUSHES), (3, EACH)))

    def step(carries: Any, seen: Any) -> Any:
        mean, covariance, value = carries
        factor = xp.linalg.cholesky(covariance[:3, :3] + noise)
        z, across = solve_lower(xp, factor, seen - mean[:3]), solve_lower(xp, factor, covariance[:3])
        value = value - 0.5 * xp.sum(z * z) - xp.sum(xp.log(xp.diagonal(factor)))
        after, left = mean + xp.dot(across.T, z), covariance - xp.dot(across.T, across)
        return (xp.dot(forward, after), xp.dot(xp.dot(forward, left), forward.T) + push, value), None

    return scan(xp, step, (np.zeros(6), 100 * np.eye(6), 0.0), y)[0][-1]


def _scalars(*values: float) -> list[np.ndarray[Any, Any]]:
    return [np.array(v) for v in values]


def _sir_arrays() -> list[np.ndarray[Any, Any]]:
    return [*_scalars(0.3, 0.1, 0.5, 0.2), draw(200)]


def _ar_arrays() -> list[np.ndarray[Any, Any]]:
    return [np.array(0.5), draw(100_000)]


def _seir_arrays() -> list[np.ndarray[Any, Any]]:
    counts = np.random.default_rng(3).poisson(30.0, DAYS * PER_DAY).astype(float)
    return [*_scalars(0.4, 0.2, 0.1, 0.3), counts]


def _kalman_arrays() -> list[np.ndarray[Any, Any]]:
    return [np.log([0.1, 0.2, 0.05, 1.0, 0.5, 2.0, 0.05]), np.cumsum(0.3 * draw(500, 3), axis=0)]


CHAINS = 1000


def _of_chains(*middles: float) -> list[np.ndarray[Any, Any]]:
    """Parameters of each chain around some, and one sequence for all."""
    near = np.random.default_rng(5).uniform(0.9, 1.1, (len(middles), CHAINS))
    return [*(middle * factors for middle, factors in zip(middles, near, strict=True)), draw(200)]


def _chains_of_sir() -> list[np.ndarray[Any, Any]]:
    return _of_chains(0.3, 0.1, 0.5, 0.2)


def _chains_of_ar() -> list[np.ndarray[Any, Any]]:
    return _of_chains(0.5)


LOOPS: dict[str, Model] = {
    "SIR + AR(2) 200, gradient": Model(sir_ar2, _sir_arrays, (0, 1, 2, 3)),
    "AR(1) 1e5": Model(ar1, _ar_arrays),
    "AR(1) 1e5, gradient": Model(ar1, _ar_arrays, (0, 1)),
    "SEIR 1200": Model(seir, _seir_arrays),
    "SEIR 1200, gradient": Model(seir, _seir_arrays, (0, 1, 2, 3)),
    "Kalman 500, gradient": Model(kalman, _kalman_arrays, (0,), known=1),
    "1000 chains of SIR + AR(2) 200": Model(sir_ar2, _chains_of_sir, batched=(0, 1, 2, 3)),
    "1000 chains of SIR + AR(2) 200, gradient": Model(sir_ar2, _chains_of_sir, (0, 1, 2, 3), batched=(0, 1, 2, 3)),
    "1000 chains of AR(1) 200": Model(ar1, _chains_of_ar, batched=(0,)),
    "1000 chains of AR(1) 200, gradient": Model(ar1, _chains_of_ar, (0,), batched=(0,)),
}
