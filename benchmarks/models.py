"""The models that are compiled and run, each written once for any library with NumPy's names.

`loss(xp, *arrays)` is the expression; `wrt` are the positions of the arrays whose gradient is wanted beside it; none
means the expression alone. The workloads and their names are those of the project's performance targets.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTIES, HOUSES = 85, 919


class Model(NamedTuple):
    """A workload: its expression, its arrays, what it is differentiated by, of which it is a batch."""

    loss: Callable[..., Any]
    arrays: Callable[[], list[np.ndarray[Any, Any]]]
    wrt: tuple[int, ...] = ()
    batched: tuple[int, ...] = ()
    """The arrays of which each element along the first axis has an expression and gradients of its own."""

    def axes(self, count: int) -> tuple[int | None, ...]:
        """What `vmap` of any library is told of so many arrays."""
        return tuple(0 if k in self.batched else None for k in range(count))


def draw(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    """Uniform numbers, the same in every process."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def squares(xp: Any, x: Any) -> Any:
    """w1: sum(x²)."""
    return xp.sum(x * x)


def transcendental(xp: Any, x: Any) -> Any:
    """w2: exp(-(x-mu)²/(2s²))·sin(x) + log1p(x²)."""
    return xp.exp(-((x - 0.3) ** 2) / (2 * 1.7**2)) * xp.sin(x) + xp.log1p(x**2)


def softmax_rows(xp: Any, x: Any) -> Any:
    """w3: softmax of each row."""
    e = xp.exp(x - xp.max(x, axis=-1)[:, None])
    return e / xp.sum(e, axis=-1)[:, None]


def logsumexp_rows(xp: Any, x: Any) -> Any:
    """w4: logsumexp of each row."""
    m = xp.max(x, axis=-1)
    return m + xp.log(xp.sum(xp.exp(x - m[:, None]), axis=-1))


def normal(xp: Any, mu: Any, log_sigma: Any, x: Any) -> Any:
    """w5: normal log-density, summed."""
    z = (x - mu) / xp.exp(log_sigma)
    return xp.sum(-0.5 * z * z - log_sigma)


def layer(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """w6: tanh(X @ W + b)."""
    return xp.tanh(xp.dot(x, w) + b)


def layer_sum(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """w6 summed, to be differentiated."""
    return xp.sum(layer(xp, x, w, b))


def grouped(xp: Any, mu: Any, a: Any, idx: Any, x: Any, y: Any) -> Any:
    """w7: normal likelihood of mu[idx]*x + a[idx]."""
    return -0.5 * xp.sum((y - (mu[idx] * x + a[idx])) ** 2)


def radon(xp: Any, theta: Any, county: Any, floor: Any, y: Any) -> Any:
    """Varying intercepts and slopes of 85 counties, 919 rows, one vector of 175 parameters."""
    m_a, m_b, log_a, log_b, log_s = (theta[i] for i in range(5))
    z_a, z_b = theta[5 : 5 + COUNTIES], theta[5 + COUNTIES : 5 + 2 * COUNTIES]
    a, b = m_a + xp.exp(log_a) * z_a, m_b + xp.exp(log_b) * z_b
    z = (y - (a[county] + b[county] * floor)) / xp.exp(log_s)
    prior = -0.5 * (m_a**2 + m_b**2 + xp.exp(2 * log_a) + xp.exp(2 * log_b) + xp.exp(2 * log_s))
    prior = prior + log_a + log_b + log_s - 0.5 * xp.sum(z_a**2) - 0.5 * xp.sum(z_b**2)
    return prior + xp.sum(-0.5 * z * z - log_s)


def logistic(xp: Any, beta: Any, x: Any, y: Any) -> Any:
    """Logistic regression, log-density with a normal prior."""
    eta = xp.dot(x, beta)
    return xp.sum(y * eta - xp.maximum(eta, 0.0) - xp.log1p(xp.exp(-abs(eta)))) - 0.5 * xp.sum(beta**2)


def mlp(xp: Any, x: Any, *weights: Any) -> Any:
    """Ten layers of 64, tanh."""
    h = x
    for w in weights:
        h = xp.tanh(xp.dot(h, w))
    return xp.sum(h * h)


def deep(xp: Any, x: Any, steps: int = 1335) -> Any:
    """One chain of elementwise nodes with shared subexpressions, values bounded: 5,342 applies."""
    a, b = x, x * 0.5
    for k in range(steps):
        a, b = xp.tanh(a * 0.9 + b * (0.1 + 0.01 * (k % 9))), a
    return a + b


def _radon_arrays() -> list[np.ndarray[Any, Any]]:
    r = np.random.default_rng(5)
    county = np.sort(r.integers(0, COUNTIES, HOUSES))
    return [0.1 * draw(5 + 2 * COUNTIES), county, (r.uniform(size=HOUSES) < 0.17).astype(float), draw(HOUSES, seed=1)]


def _grouped_arrays(n: int, groups: int, *, ordered: bool = False) -> list[np.ndarray[Any, Any]]:
    idx = np.random.default_rng(6).integers(0, groups, n)
    idx = np.sort(idx) if ordered else idx
    return [draw(groups, seed=1), draw(groups, seed=2), idx, draw(n, seed=3), draw(n, seed=4)]


def _normal_arrays(n: int) -> list[np.ndarray[Any, Any]]:
    return [np.array(0.2), np.array(0.4), draw(n)]


def _layer_arrays() -> list[np.ndarray[Any, Any]]:
    return [draw(1000, 1000), 0.03 * draw(1000, 1000, seed=1), draw(1000)]


def _logistic_arrays() -> list[np.ndarray[Any, Any]]:
    return [0.3 * draw(20), draw(5000, 20, seed=1), (draw(5000, seed=2) > 0).astype(float)]


MODELS: dict[str, Model] = {
    "w1 sum of squares 1e5": Model(squares, lambda: [draw(100_000)]),
    "w1 sum of squares 1e7": Model(squares, lambda: [draw(10_000_000)]),
    "w2 transcendental 1e3": Model(transcendental, lambda: [draw(1_000)]),
    "w2 transcendental 1e5": Model(transcendental, lambda: [draw(100_000)]),
    "w2 transcendental 1e7": Model(transcendental, lambda: [draw(10_000_000)]),
    "w2 transcendental 1e5 float32": Model(transcendental, lambda: [draw(100_000).astype("float32")]),
    "w2 transcendental 1e7 float32": Model(transcendental, lambda: [draw(10_000_000).astype("float32")]),
    "w3 softmax rows 1000x1000": Model(softmax_rows, lambda: [draw(1000, 1000)]),
    "w4 logsumexp rows 1000x1000": Model(logsumexp_rows, lambda: [draw(1000, 1000)]),
    "w5 normal 1e5": Model(normal, lambda: _normal_arrays(100_000), (0, 1)),
    "w5 normal 1e7": Model(normal, lambda: _normal_arrays(10_000_000), (0, 1)),
    "w6 layer 1000": Model(layer, _layer_arrays),
    "w6 layer 1000, gradient": Model(layer_sum, _layer_arrays, (1, 2)),
    "w7 grouped 1e6": Model(grouped, lambda: _grouped_arrays(1_000_000, 1000)),
    "w7 grouped 1e6, gradient": Model(grouped, lambda: _grouped_arrays(1_000_000, 1000), (0, 1)),
    "w7 grouped 1e6 sorted, gradient": Model(grouped, lambda: _grouped_arrays(1_000_000, 1000, ordered=True), (0, 1)),
    "radon": Model(radon, _radon_arrays, (0,)),
    "logistic 5000x20": Model(logistic, _logistic_arrays, (0,)),
    "mlp 10x64": Model(
        mlp, lambda: [draw(32, 64), *(0.2 * draw(64, 64, seed=k) for k in range(10))], tuple(range(1, 11))
    ),
    "deep 5342": Model(deep, lambda: [draw(100)]),
    "deep 500": Model(partial(deep, steps=100), lambda: [draw(100)]),
}
