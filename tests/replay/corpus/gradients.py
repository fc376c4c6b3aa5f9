"""What differentiation leaves to rewriting: no dead zeros, nothing repeated to be summed, no work twice."""

import tg
from tests.replay.program import program

M = "float64[?, ?]"
PROGRAMS = (
    program("a sum", lambda x: tg.sum(x), grad=True),
    program("a mean of squares", lambda x, y: tg.mean((x - y) ** 2), grad=True),
    program("a broadcast", lambda x, b: x * b, x=M, grad=True),
    program("a scalar times a vector", lambda x, a: a * x, a="float64[]", grad=True),
    program("a part that is not used", lambda x, y: x * 2 + tg.stop_gradient(y), grad=True),
    program("a choice", lambda c, x, y: tg.where(c, x * 2, tg.exp(y)), c="bool[?]", grad=True),
    program("a choice of a constant", lambda c, x: tg.where(c, tg.log(x), 0.0), c="bool[?]", wrt=("x",)),
    program("a normal density", lambda x, mu, s: tg.sum(-0.5 * ((x - mu) / s) ** 2 - tg.log(s)), wrt=("mu", "s"),
            mu="float64[]", s="float64[]"),
    program("a normal density by element", lambda x, mu, s: -0.5 * ((x - mu) / s) ** 2 - tg.log(s), grad=True),
    program("a Student density", lambda x, mu: -2.5 * tg.log1p((x - mu) ** 2 / 4), wrt=("mu",), mu="float64[]"),
    program("a Poisson density", lambda k, eta: k * eta - tg.exp(eta), wrt=("eta",)),
    program("a Bernoulli density", lambda y, eta: y * eta - tg.softplus(eta), wrt=("eta",)),
    program("a gamma-like density", lambda x, a, b: a * tg.log(b) + (a - 1) * tg.log(x) - b * x, grad=True),
    program("layer normalisation", lambda x: (
        (x - tg.mean(x, 1, keepdims=True)) / tg.sqrt(tg.var(x, 1, keepdims=True) + 1e-5)), x=M, grad=True),
    program("a norm by rows", lambda x: tg.sqrt(tg.sum(x**2, axis=1)), x=M, grad=True),
    program("a unit vector", lambda x: x / tg.sqrt(tg.sum(x**2)), grad=True),
    program("attention", lambda q, k, v: tg.softmax(q @ k.T / 8.0, axis=-1) @ v, q=M, k=M, v=M, grad=True),
    program("a chain of tanh", lambda x: tg.tanh(tg.tanh(tg.tanh(x))), grad=True),
    program("a second derivative", lambda x: tg.grad(tg.sum(tg.sin(x) * x), [x])[0], grad=True),
    program("a Hessian product", lambda x, v: tg.sum(tg.grad(tg.sum(x**3), [x])[0] * v), wrt=("x",)),
    program("an absolute value", lambda x: tg.absolute(x), grad=True),
    program("a clipped value", lambda x: tg.clip(x, -1, 1) ** 2, grad=True),
    program("an extreme of two", lambda x, y: tg.maximum(x, y), grad=True),
    program("a sorted value", lambda x: tg.sort(x)[:2], grad=True),
    program("a running product", lambda x: tg.cumprod(x), grad=True),
    program("a slice", lambda x: tg.exp(x[1:-1]), grad=True),
    program("a transpose", lambda x, y: x.T * y, x=M, y=M, grad=True),
    program("a reshape", lambda x: tg.reshape(x, (-1,)) ** 2, x=M, grad=True),
    program("a complex number", lambda x, y: tg.absolute(tg.complex(x, y)), grad=True),
    program("a cast", lambda x: tg.cast(x, "float32") ** 2, grad=True),
)  # fmt: skip
