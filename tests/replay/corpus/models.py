"""Whole models, those that are measured among them."""

import tg
from tests.replay.program import program
from tg.demo import radon

M = "float64[?, ?]"


def wide(x):
    """Small normal log-density terms on one vector of parameters."""
    total = 0.0
    for k in range(6):
        mu = x[k % 7] * (0.5 + 0.001 * k)
        z = (x[(k + 1) % 7] - mu) / (1.5 + k % 3)
        total = total - 0.5 * z * z
    return total


def mix(h, w):
    """A chain of `tanh(h @ w) + h.mean(0) * 0.5`."""
    for _ in range(3):
        h = tg.tanh(h @ w) + tg.mean(h, axis=0) * 0.5
    return h


def deep(x):
    """A chain of elementwise operations with shared values."""
    a, b = x, x * 0.5
    for k in range(5):
        a, b = tg.tanh(a * 0.9 + b * (0.1 + 0.01 * (k % 9))), a
    return a + b


def mlp(x, w1, b1, w2, b2, y):
    """Three layers, squared error."""
    h = tg.tanh(x @ w1 + b1)
    return tg.mean((tg.tanh(h @ w2 + b2) - y) ** 2)


def logistic(x, y, beta):
    """The log-density of a logistic regression, written out."""
    p = 1 / (1 + tg.exp(-(x @ beta)))
    return tg.sum(y * tg.log(p) + (1 - y) * tg.log(1 - p)) - 0.5 * tg.sum(beta**2)


def hierarchy(theta, county, floor, y):
    """A hierarchical regression with a level by group."""
    a, log_tau, log_sigma, slope = theta[0], theta[1], theta[2], theta[3]
    level = a + theta[4:] * tg.exp(log_tau)
    z = (y - (level[county] + slope * floor)) / tg.exp(log_sigma)
    return tg.sum(-0.5 * z**2 - log_sigma) - 0.5 * tg.sum(theta**2)


def mixture(x, mu, w):
    """The log-density of a mixture of normal distributions."""
    z = x[:, None] - mu[None, :]
    return tg.sum(tg.log(tg.sum(tg.exp(tg.log_softmax(w) - 0.5 * z**2), axis=1)))


def random_walk(x, s):
    """A random walk with steps of one scale."""
    return tg.sum(-0.5 * ((x[1:] - x[:-1]) / s) ** 2 - tg.log(s))


PROGRAMS = (
    program("w1: a sum of squares", lambda x: tg.sum(x**2)),
    program("w2: transcendental functions", lambda x, mu, s: (
        tg.exp(-((x - mu) ** 2) / (2 * s**2)) * tg.sin(x) + tg.log1p(x**2)), mu="float64[]", s="float64[]"),
    program("w2 in float32", lambda x, mu, s: (
        tg.exp(-((x - mu) ** 2) / (2 * s**2)) * tg.sin(x) + tg.log1p(x**2)),
        x="float32[?]", mu="float32[]", s="float32[]"),
    program("w3: softmax of rows", lambda x: tg.softmax(x, axis=1), x=M),
    program("w4: logsumexp of rows", lambda x: tg.logsumexp(x, axis=1), x=M),
    program("w5: normal log-density", lambda x, mu, sigma: (
        tg.sum(-0.5 * ((x - mu) / sigma) ** 2 - tg.log(sigma) - 0.9189385332046727)), wrt=("mu", "sigma"),
        mu="float64[]", sigma="float64[]"),
    program("w6: a layer", lambda x, w, b: tg.tanh(x @ w + b), x=M, w=M, grad=True),
    program("w7: groups", lambda mu, a, idx, x, y: tg.sum(-0.5 * (y - (mu[idx] * x + a[idx])) ** 2), idx="int64[?]",
            wrt=("mu", "a")),
    program("wide", wide, x="float64[7]", grad=True),
    program("mix", mix, h=M, w=M),
    program("mix with gradients", mix, h=M, w=M, grad=True),
    program("deep", deep, grad=True),
    program("mlp", mlp, x=M, w1=M, w2=M, y=M, wrt=("w1", "b1", "w2", "b2")),
    program("logistic regression", logistic, x=M, wrt=("beta",)),
    program("a hierarchy", hierarchy, theta="float64[89]", county="int64[?]", wrt=("theta",)),
    program("radon", lambda theta: radon.log_posterior(theta, radon.load()), theta="float64[90]", grad=True),
    program("a mixture", mixture, wrt=("mu", "w")),
    program("a random walk", random_walk, s="float64[]", grad=True),
)  # fmt: skip
