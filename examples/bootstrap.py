"""The bootstrap: 10,000 regressions, each of as many rows as there are, drawn with replacement.

How far a coefficient would be off in other data is seen from data drawn out of the data (B. Efron, Bootstrap methods:
another look at the jackknife, 1979). It asks for no distribution of errors: here, of radon in houses, the rows are
houses, and the errors of a regression's coefficients come out without the assumption that noise is the same everywhere.

    b = (X' X)^-1 X' y      of rows k[0], ..., k[n - 1], each any row with the same probability

One regression is a function of a key; all of them are `tg.vmap` of it over keys, or `tg.map`, which is a loop.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/bootstrap.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
import radon

import tg

TIMES = 10_000
SEED = 5
NAMES = ("level", "floor", "uranium")


# 1. The data: of each house 1, whether it was measured above the basement, the uranium; and the logarithm of radon.
class Rows(NamedTuple):
    """What is known of each house (n, 3), and what is explained (n,)."""

    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]


def rows() -> Rows:
    """The data, as they ship with tg."""
    data = radon.load()
    return Rows(np.stack([np.ones(len(data.floor)), data.floor, data.uranium[data.county]], axis=1), data.log_radon)


# 2. A regression, and one of rows that are drawn.
def coefficients(x: Any, y: Any) -> tg.Variable:
    """By the normal equations."""
    return tg.linalg.solve(x.T @ x, x.T @ y, assume_a="pos")


def again(key: Any, x: Any, y: Any) -> tg.Variable:
    """Of as many rows, drawn with replacement."""
    which = tg.random.integers(key, x.shape[0], shape=(x.shape[0],))
    return coefficients(x[which], y[which])


# 3. All of them.
class Result(NamedTuple):
    """What a run gave."""

    backend: str
    first_seconds: float  # until all are there: building, compiling, a call
    call_seconds: float  # of a processor
    map_seconds: float | None  # of a call by `tg.map`
    b: np.ndarray[Any, Any]  # (times, 3)


def compiled(backend: str, data: Rows, times: int, over: Any = tg.vmap) -> Any:
    """A compiled function: a seed -> the coefficients of so many regressions."""
    seed = tg.scalar("seed", "int64")
    x, y = tg.constant(data.x), tg.constant(data.y)

    def one(key):
        return again(key, x, y)

    keys = tg.random.split(tg.random.key(seed), times)
    found = tg.map(one, keys) if over is tg.map else over(one)(keys)
    return tg.function([seed], found, backend=backend, name="bootstrap")


def run(backend: str, data: Rows, times: int = TIMES) -> Result:
    """All on one backend, at once and one by one."""
    began = time.perf_counter()
    f = compiled(backend, data, times)
    f(SEED)
    first_seconds = time.perf_counter() - began
    b, seconds = timed(f)
    by_map = compiled(backend, data, times, tg.map)
    by_map(SEED)
    same, map_seconds = timed(by_map)
    np.testing.assert_allclose(same, b, rtol=1e-9, atol=1e-12)
    return Result(backend, first_seconds, seconds, map_seconds, b)


def timed(f: Any) -> tuple[np.ndarray[Any, Any], float]:
    """What it gives, and the seconds of a processor."""
    began = time.process_time()
    found = f(SEED)
    return found, time.process_time() - began


def run_numpy(data: Rows, times: int = TIMES) -> Result:
    """The loop in NumPy, with its own random numbers."""
    began = time.process_time()
    draw, n, b = np.random.default_rng(SEED), len(data.y), np.empty((times, data.x.shape[1]))
    for k in range(times):
        which = draw.integers(n, size=n)
        x, y = data.x[which], data.y[which]
        b[k] = np.linalg.solve(x.T @ x, x.T @ y)
    seconds = time.process_time() - began
    return Result("NumPy", seconds / times, seconds, None, b)


if __name__ == "__main__":
    made = rows()
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", made)
    print(f"{result.backend}: {TIMES} regressions in {result.call_seconds:.3f} s")
    for name, b in zip(NAMES, result.b.T, strict=True):
        print(f"{name:>10}: {np.mean(b):6.3f} ± {np.std(b):.3f}, 95 %: {np.quantile(b, [0.025, 0.975]).round(3)}")
