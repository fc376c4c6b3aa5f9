"""The models written by hand in Numba: `njit(fastmath=True)`, one pass where one is enough, results made anew."""

from __future__ import annotations

from math import exp, log, log1p, sin, tanh
from typing import TYPE_CHECKING, Any

import models
import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from models import Model

njit = numba.njit(fastmath=True)


def compiled(model: Model) -> Callable[..., Any]:
    """The model by the function that computes it."""
    program = PROGRAMS.get((model.loss, bool(model.wrt)))
    if program is None:
        raise NotImplementedError("not written by hand")
    return program


@njit
def squares(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return (total,)


@njit
def transcendental(x):
    out = np.empty_like(x)
    for i in range(x.size):
        v = x[i]
        d = v - x.dtype.type(0.3)
        out[i] = exp(-d * d / x.dtype.type(2 * 1.7**2)) * sin(v) + log1p(v * v)
    return (out,)


@njit
def softmax_rows(x):
    out = np.empty_like(x)
    for r in range(x.shape[0]):
        most = x[r, 0]
        for i in range(x.shape[1]):
            most = max(most, x[r, i])
        total = 0.0
        for i in range(x.shape[1]):
            out[r, i] = exp(x[r, i] - most)
            total += out[r, i]
        for i in range(x.shape[1]):
            out[r, i] /= total
    return (out,)


@njit
def logsumexp_rows(x):
    out = np.empty(x.shape[0])
    for r in range(x.shape[0]):
        most = x[r, 0]
        for i in range(x.shape[1]):
            most = max(most, x[r, i])
        total = 0.0
        for i in range(x.shape[1]):
            total += exp(x[r, i] - most)
        out[r] = most + log(total)
    return (out,)


@njit
def normal(mu, log_sigma, x):
    m, scale = mu.item(), exp(-log_sigma.item())
    total = squared = 0.0
    for i in range(x.size):
        z = (x[i] - m) * scale
        total += z
        squared += z * z
    return -0.5 * squared - x.size * log_sigma.item(), total * scale, squared - x.size


@njit
def layer(x, w, b):
    out = np.dot(x, w)
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = tanh(out[r, i] + b[i])
    return (out,)


@njit
def layer_gradient(x, w, b):
    out, d_b, total = np.dot(x, w), np.zeros_like(b), 0.0
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            t = tanh(out[r, i] + b[i])
            total += t
            out[r, i] = 1 - t * t
            d_b[i] += out[r, i]
    return total, np.dot(x.T, out), d_b


@njit
def grouped(mu, a, idx, x, y):
    total = 0.0
    for i in range(x.size):
        e = y[i] - (mu[idx[i]] * x[i] + a[idx[i]])
        total += e * e
    return (-0.5 * total,)


@njit
def grouped_gradient(mu, a, idx, x, y):
    d_mu, d_a, total = np.zeros_like(mu), np.zeros_like(a), 0.0
    for i in range(x.size):
        g = idx[i]
        e = y[i] - (mu[g] * x[i] + a[g])
        total += e * e
        d_mu[g] += e * x[i]
        d_a[g] += e
    return -0.5 * total, d_mu, d_a


@njit
def radon(theta, county, floor, y):
    counties = (theta.size - 5) // 2
    m_a, m_b, log_a, log_b, log_s = theta[0], theta[1], theta[2], theta[3], theta[4]
    z_a, z_b = theta[5 : 5 + counties], theta[5 + counties :]
    s_a, s_b, s = exp(log_a), exp(log_b), exp(log_s)
    d, small, squared = np.empty_like(theta), 0.0, 0.0
    d_a, d_b = d[5 : 5 + counties], d[5 + counties :]
    for c in range(counties):
        small += z_a[c] * z_a[c] + z_b[c] * z_b[c]
        d_a[c], d_b[c] = 0.0, 0.0
    for i in range(y.size):
        c = county[i]
        z = (y[i] - (m_a + s_a * z_a[c] + (m_b + s_b * z_b[c]) * floor[i])) / s
        squared += z * z
        d_a[c] += z / s
        d_b[c] += z / s * floor[i]
    d[0], d[1], d[2], d[3] = -m_a, -m_b, 1 - s_a * s_a, 1 - s_b * s_b
    d[4] = squared - y.size + 1 - s * s
    for c in range(counties):
        d[0] += d_a[c]
        d[1] += d_b[c]
        d[2] += d_a[c] * s_a * z_a[c]
        d[3] += d_b[c] * s_b * z_b[c]
        d_a[c] = d_a[c] * s_a - z_a[c]
        d_b[c] = d_b[c] * s_b - z_b[c]
    prior = -0.5 * (m_a * m_a + m_b * m_b + s_a * s_a + s_b * s_b + s * s + small) + log_a + log_b + log_s
    return prior - 0.5 * squared - y.size * log_s, d


@njit
def logistic(beta, x, y):
    d, total = -beta, 0.0
    for r in range(x.shape[0]):
        eta = 0.0
        for k in range(beta.size):
            eta += x[r, k] * beta[k]
        e = exp(-abs(eta))
        total += y[r] * eta - max(eta, 0.0) - log1p(e)
        left = y[r] - (1.0 if eta >= 0 else e) / (1 + e)
        for k in range(beta.size):
            d[k] += x[r, k] * left
    for k in range(beta.size):
        total -= 0.5 * beta[k] * beta[k]
    return total, d


@njit
def deep(x):
    out = np.empty_like(x)
    for i in range(x.size):
        a, b = x[i], x[i] * 0.5
        for k in range(1335):
            a, b = tanh(a * 0.9 + b * (0.1 + 0.01 * (k % 9))), a
        out[i] = a + b
    return (out,)


PROGRAMS: dict[tuple[Callable[..., Any], bool], Callable[..., Any]] = {  # by expression, and whether with gradient
    (models.squares, False): squares,
    (models.transcendental, False): transcendental,
    (models.softmax_rows, False): softmax_rows,
    (models.logsumexp_rows, False): logsumexp_rows,
    (models.normal, True): normal,
    (models.layer, False): layer,
    (models.layer_sum, True): layer_gradient,
    (models.grouped, False): grouped,
    (models.grouped, True): grouped_gradient,
    (models.radon, True): radon,
    (models.logistic, True): logistic,
    (models.deep, False): deep,
}
