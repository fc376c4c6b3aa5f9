"""Lasso: which 20 of 1,000 features decide, by a sparse design of 10,000 rows and accelerated proximal gradients.

The design has 1 % of its elements. What is least is

    |X w - y|^2 / (2 n) + strength |w|_1

A step goes down the slope of the first term, X'(X w - y) / n, two products with X, and then shrinks each weight towards
0 by the second (Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2, 2009).
The whole descent is one compiled loop. It ends when the duality gap, which bounds how far the cost is from the least
one, is a small share of |y|^2 / n: no other solver has to be asked whether it is right.

    python examples/lasso.py c 10000
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import tg

FEATURES, SHARE, DECIDING = 1000, 0.01, 20
NOISE = 0.1
ENOUGH = 1e-8  # of |y|^2 / n: the duality gap at which the descent ends
MOST = 5000

Array = np.ndarray[Any, Any]


# 1. The data.
class Rows(NamedTuple):
    """The design (n, features), what was measured (n,), and the weights that it was drawn with."""

    design: scipy.sparse.csr_array
    measured: Array
    weights: Array


def drawn(n: int, seed: int = 0) -> Rows:
    """Rows of a sparse design, measured with noise."""
    draws = np.random.default_rng(seed)
    design = scipy.sparse.csr_array(scipy.sparse.random_array((n, FEATURES), density=SHARE, rng=draws))
    weights = np.zeros(FEATURES)
    weights[draws.choice(FEATURES, DECIDING, replace=False)] = draws.choice([-1.0, 1.0], DECIDING) * draws.uniform(
        1, 3, DECIDING
    )
    return Rows(design, design @ weights + NOISE * draws.normal(size=n), weights)


# 2. The descent.
class State(NamedTuple):
    """The weights, the point from which the next step goes, its weight, the duality gap, and the number of steps."""

    weights: Any
    ahead: Any
    momentum: Any
    gap: Any
    steps: Any


def shrunk(x: tg.Variable, by: Any) -> tg.Variable:
    """Each element moved towards 0."""
    return tg.sign(x) * tg.maximum(abs(x) - by, 0)


def gap(x: Any, y: tg.Variable, w: tg.Variable, strength: tg.Variable) -> tg.Variable:
    """The cost less that of the dual at the residual, scaled so that it is allowed there."""
    n, left = y.shape[0], y - x @ w
    scale = tg.minimum(1.0, strength * n / tg.max(abs(x.T @ left)))
    primal = left @ left / (2 * n) + strength * tg.sum(abs(w))
    return primal - (y @ y - tg.sum((y - scale * left) ** 2)) / (2 * n)


def solved(rows: Rows, y: tg.Variable, strength: tg.Variable) -> State:
    """The state at the end, as an expression."""
    x = tg.sparse.csr(rows.design)
    n = rows.design.shape[0]
    steepness = scipy.sparse.linalg.svds(rows.design, k=1, return_singular_vectors=False)[0] ** 2 / n

    def step(s: State) -> State:
        slope = x.T @ (x @ s.ahead - y) / n
        weights = shrunk(s.ahead - slope / steepness, strength / steepness)
        momentum = (1 + tg.sqrt(1 + 4 * s.momentum**2)) / 2
        ahead = weights + (s.momentum - 1) / momentum * (weights - s.weights)
        return State(weights, ahead, momentum, gap(x, y, weights, strength), s.steps + 1)

    start = np.zeros(FEATURES)
    first = State(start, start, np.float64(1), np.float64(np.inf), np.int64(0))
    return tg.while_loop(lambda s: (s.gap > ENOUGH * (y @ y) / n) & (s.steps < MOST), step, first)


def compiled(backend: str, rows: Rows) -> tg.Function:
    """A function of what was measured and of the strength: the state at the end."""
    y, strength = tg.vector("y", shape=rows.measured.shape), tg.scalar("strength")
    return tg.function([y, strength], solved(rows, y, strength), backend=backend, name="lasso")


def main(backend: str, n: int) -> None:
    """Fit, and print what came of it."""
    rows = drawn(n)
    f = compiled(backend, rows)
    f(rows.measured, 0.01)
    begin = time.perf_counter()
    state = f(rows.measured, 1e-3)
    seconds = time.perf_counter() - begin
    chosen, deciding = np.flatnonzero(state.weights), np.flatnonzero(rows.weights)
    print(
        f"{n} rows on {backend}: {len(chosen)} features chosen, {len(np.intersect1d(chosen, deciding))} of {DECIDING}"
    )
    print(f"{int(state.steps)} steps in {seconds:.2f} s, to a gap of {float(state.gap):.1e}")


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["c"]), int(sys.argv[2]) if len(sys.argv) > 2 else 10000)
