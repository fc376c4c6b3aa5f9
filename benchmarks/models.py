"""The models that are compiled and run, each written once for any library with NumPy's names.

`loss(xp, *arrays)` is the expression; `wrt` are the positions of the arrays whose gradient is wanted beside it; none
means the expression alone. The workloads and their names are those of the project's performance targets.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTIES, HOUSES = 85, 919


class Model(NamedTuple):
    """A workload: its expression, its arrays, what it is differentiated by, of which it is a batch.

    So many last lengths of each array are `known`, as those of small matrices are; the others are of the data.
    """

    loss: Callable[..., Any]
    arrays: Callable[[], list[np.ndarray[Any, Any]]]
    wrt: tuple[int, ...] = ()
    known: int = 0
    batched: tuple[int, ...] = ()
    """The arrays of which each element along the first axis has an expression and gradients of its own."""
    others: tuple[str, ...] = ()
    """The engines that draw other numbers, whose results are not compared."""

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


def cholesky(xp: Any, a: Any) -> Any:
    """Cholesky factors."""
    return xp.linalg.cholesky(a)


def solve(xp: Any, a: Any, b: Any) -> Any:
    """Systems of linear equations."""
    return xp.linalg.solve(a, b)


def determinant(xp: Any, a: Any) -> Any:
    """Determinants."""
    return xp.linalg.det(a)


def solve_lower(xp: Any, factor: Any, b: Any) -> Any:
    """The solution of a lower triangular system: libraries have it in different places."""
    own = getattr(xp, "solve_lower", None)
    if own is not None:
        return own(factor, b)
    if xp.__name__ in ("tg", "pytensor.tensor"):
        return xp.linalg.solve_triangular(factor, b, lower=True)
    scipy = importlib.import_module("jax.scipy.linalg" if xp.__name__.startswith("jax") else "scipy.linalg")
    return scipy.solve_triangular(factor, b, lower=True)


def gaussian_process(xp: Any, theta: Any, squares: Any, identity: Any, y: Any) -> Any:
    """A Gaussian process with a squared-exponential covariance of three parameters, log-density."""
    covariance = xp.exp(2 * theta[0]) * xp.exp(-0.5 * squares * xp.exp(-2 * theta[1])) + xp.exp(2 * theta[2]) * identity
    factor = xp.linalg.cholesky(covariance)
    z = solve_lower(xp, factor, y)
    return -0.5 * xp.sum(z * z) - xp.sum(xp.log(xp.diagonal(factor)))


def multivariate_normal(xp: Any, mu: Any, root: Any, identity: Any, x: Any) -> Any:
    """Normal vectors of one covariance, log-density; x has a column for each."""
    factor = xp.linalg.cholesky(xp.dot(root, root.T) + identity)
    z = solve_lower(xp, factor, x - mu[:, None])
    return -0.5 * xp.sum(z * z) - x.shape[1] * xp.sum(xp.log(xp.diagonal(factor)))


def _positive(*shape: int) -> np.ndarray[Any, Any]:
    x = draw(*shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


def _process_arrays(n: int) -> list[np.ndarray[Any, Any]]:
    x = np.sort(draw(n, low=0, high=10))
    return [np.array([0.1, 0.2, -1.0]), (x[:, None] - x) ** 2, np.eye(n), np.sin(x) + 0.1 * draw(n, seed=1)]


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
    "GP 200": Model(gaussian_process, lambda: _process_arrays(200), (0,)),
    "MvNormal 1000x10": Model(
        multivariate_normal, lambda: [draw(10), draw(10, 10), np.eye(10), draw(10, 1000)], (0, 1)
    ),
    "cholesky 5 of 3x3": Model(cholesky, lambda: [_positive(5, 3, 3)], known=2),
    "solve 1e4 of 4x4": Model(solve, lambda: [draw(10_000, 4, 4), draw(10_000, 4, 1, seed=1)], known=2),
    "det 1e5 of 3x3": Model(determinant, lambda: [draw(100_000, 3, 3)], known=2),
    "deep 5342": Model(deep, lambda: [draw(100)]),
    "deep 500": Model(partial(deep, steps=100), lambda: [draw(100)]),
}
