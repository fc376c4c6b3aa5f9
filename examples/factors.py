"""A matrix of low rank from half of its elements, by singular values and by gradient.

Of a matrix A some elements are seen, with noise. Wanted is X that is near to these and of low rank; the sum of its
singular values, |X|*, stands for the rank, since so the problem is convex:

    the least of  sum((A - X)^2 over the seen) / 2 + penalty |X|*

1. By singular values (R. Mazumder, T. Hastie, R. Tibshirani, J. Mach. Learn. Res. 11 (2010), 2287): fill A's gaps with
   X, take `penalty` from each singular value down to 0, and again, until X stays. That is a loop around an SVD.
2. By gradient: X = U V' with few columns, and (|U|^2 + |V|^2) / 2, whose least over all such U and V is |X|*
   (N. Srebro, J. Rennie, T. Jaakkola, NIPS 17 (2005), lemma 1). That is not convex, but smooth.

Neither knows of the other, and both end at the same matrix. Beside them stand the same loops in NumPy, with the
gradient written by hand.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/factors.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

ROWS, COLUMNS, RANK = 90, 60, 3
NOISE = 0.3
PENALTY = 4.0
WIDTH = 8  # columns of U and V: more than the rank that is found
NEAR = 1e-10  # the last change of X, relative to X
MOST = 2000  # SVDs
PRECISION = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-8}


# 1. The data.
class Seen(NamedTuple):
    """A matrix, true only where it was seen and elsewhere 0; where that is; and the true one, without noise."""

    a: np.ndarray[Any, Any]
    is_seen: np.ndarray[Any, Any]
    truth: np.ndarray[Any, Any]


def half_seen(rows: int = ROWS, columns: int = COLUMNS) -> Seen:
    """A random matrix of rank RANK, of which about half is seen."""
    draw = np.random.default_rng(6)
    truth = draw.normal(size=(rows, RANK)) @ draw.normal(size=(RANK, columns))
    is_seen = draw.uniform(size=truth.shape) < 0.5
    return Seen(np.where(is_seen, truth + NOISE * draw.normal(size=truth.shape), 0.0), is_seen, truth)


# 2. By singular values: a loop that ends when X stays.
def shrunk(a: Any) -> tg.Variable:
    """The matrix whose singular values are those of a, less PENALTY, or 0."""
    u, s, vh = tg.linalg.svd(a, full_matrices=False)
    return (u * tg.maximum(s - PENALTY, 0.0)) @ vh


def by_singular_values(a: Any, is_seen: Any) -> tuple[tg.Variable, tg.Variable]:
    """X, and how many SVDs it took."""

    def is_far(carry: Any) -> Any:
        x, change, _ = carry
        return change > NEAR * tg.linalg.norm(x)

    def nearer(carry: Any) -> Any:
        x, _, count = carry
        after = shrunk(tg.where(is_seen, a, x))
        return after, tg.linalg.norm(after - x), count + 1

    x, _, count = tg.while_loop(is_far, nearer, (tg.zeros_like(a), 1.0, 0), max_steps=MOST)
    return x, count


# 3. By gradient: what is to be least, of U and V.
def objective(u: Any, v: Any, a: Any, is_seen: Any) -> tg.Variable:
    """Half the sum of squares over the seen, and of the factors by the penalty."""
    rest = tg.where(is_seen, a - u @ v.T, 0.0)
    return 0.5 * tg.sum(rest**2) + 0.5 * PENALTY * (tg.sum(u**2) + tg.sum(v**2))


def convex_objective(x: np.ndarray[Any, Any], data: Seen) -> float:
    """The same of X, with the sum of its singular values."""
    rest = np.where(data.is_seen, data.a - x, 0.0)
    return 0.5 * float(np.sum(rest**2)) + PENALTY * float(np.sum(np.linalg.svd(x, compute_uv=False)))


class Result(NamedTuple):
    """What a run gave."""

    backend: str
    first_seconds: float  # until both are there: building, compiling, an X by singular values, a gradient
    svd_microseconds: float  # a step of the loop
    svds: int
    call_microseconds: float  # a gradient
    calls: int
    by_svd: np.ndarray[Any, Any]  # X
    by_gradient: np.ndarray[Any, Any]  # and again
    seconds: float  # all of it
    at_start: np.ndarray[Any, Any]  # the objective and its gradient where it begins, to be compared


def parts(flat: Any, data: Seen) -> tuple[Any, Any]:
    """U and V of all their elements."""
    rows, columns = data.a.shape
    return flat[: rows * WIDTH].reshape(rows, WIDTH), flat[rows * WIDTH :].reshape(columns, WIDTH)


def start(data: Seen) -> np.ndarray[Any, Any]:
    """Where the factors begin: small, and of no symmetry that a gradient could not leave."""
    return 0.1 * np.random.default_rng(7).normal(size=sum(data.a.shape) * WIDTH)


def compiled(data: Seen, backend: str) -> tuple[Any, Any]:
    """Two functions: (a, seen) -> X and the number of SVDs; (U, V, a, seen) -> objective, its gradients."""
    a, is_seen = tg.matrix("a"), tg.matrix("is_seen", dtype="bool")
    u, v = tg.matrix("u"), tg.matrix("v")
    value, (du, dv) = tg.value_and_grad(objective(u, v, a, is_seen), [u, v])
    return (
        tg.function([a, is_seen], [*by_singular_values(a, is_seen)], backend=backend, name="by_singular_values"),
        tg.function([u, v, a, is_seen], [value, du, dv], backend=backend, name="by_gradient"),
    )


def run(backend: str, data: Seen) -> Result:
    """Both ways on one backend."""
    began = time.perf_counter()
    impute, f = compiled(data, backend)
    return _run(backend, data, impute, f, began)


def _run(backend: str, data: Seen, impute: Any, f: Any, began: float) -> Result:
    impute(data.a, data.is_seen)
    value, *gradients = f(*parts(start(data), data), data.a, data.is_seen)
    first_seconds = time.perf_counter() - began
    again = time.perf_counter()
    x, svds = impute(data.a, data.is_seen)
    svd_microseconds = 1e6 * (time.perf_counter() - again) / int(svds)
    calls: list[float] = []  # seconds of each

    def loss(flat: Any) -> Any:
        start = time.perf_counter()
        value, du, dv = f(*parts(flat, data), data.a, data.is_seen)
        calls.append(time.perf_counter() - start)
        return float(value), np.concatenate([np.ravel(du), np.ravel(dv)])

    u, v = parts(minimize(loss, start(data), jac=True, method="L-BFGS-B", options=PRECISION).x, data)
    seconds, microseconds = time.perf_counter() - began, 1e6 * float(np.median(calls))
    at_start = np.concatenate([[value], *map(np.ravel, gradients)])
    return Result(
        backend,
        first_seconds,
        svd_microseconds,
        int(svds),
        microseconds,
        len(calls),
        np.asarray(x),
        u @ v.T,
        seconds,
        at_start,
    )


# 4. The same in NumPy.
def by_singular_values_in_numpy(a: Any, is_seen: Any) -> tuple[Any, int]:
    """`by_singular_values` without tg."""
    x, change, count = np.zeros_like(a), 1.0, 0
    while change > NEAR * np.linalg.norm(x) and count < MOST:
        u, s, vh = np.linalg.svd(np.where(is_seen, a, x), full_matrices=False)
        after = (u * np.maximum(s - PENALTY, 0.0)) @ vh
        x, change, count = after, np.linalg.norm(after - x), count + 1
    return x, count


def gradient_in_numpy(u: Any, v: Any, a: Any, is_seen: Any) -> tuple[Any, Any, Any]:
    """The objective and its gradients, without tg."""
    rest = np.where(is_seen, a - u @ v.T, 0.0)
    value = 0.5 * np.sum(rest**2) + 0.5 * PENALTY * (np.sum(u**2) + np.sum(v**2))
    return value, PENALTY * u - rest @ v, PENALTY * v - rest.T @ u


def run_numpy(data: Seen) -> Result:
    """Both ways without tg."""
    return _run("NumPy", data, by_singular_values_in_numpy, gradient_in_numpy, time.perf_counter())


if __name__ == "__main__":
    made = half_seen()
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", made)
    print(f"{result.backend}: {result.svds} SVDs of {result.svd_microseconds:.0f} µs, ", end="")
    print(f"{result.calls} gradients of {result.call_microseconds:.0f} µs")
    for way, x in (("singular values", result.by_svd), ("gradient", result.by_gradient)):
        unseen = np.sqrt(np.mean((x - made.truth)[~made.is_seen] ** 2))
        rank = np.linalg.matrix_rank(x, tol=1e-3)
        print(f"by {way}: objective {convex_objective(x, made):.6f}, rank {rank}, {unseen:.3f} off where unseen")
