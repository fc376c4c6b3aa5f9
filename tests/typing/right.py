"""A program of many features, in which no type checker is to find a mistake."""

from __future__ import annotations

import numpy as np

import tg

x, n = tg.vector("x"), tg.dim("n")
m = tg.matrix("m", shape=(n, 3))
w: tg.Shared = tg.shared(np.zeros(3), "w")
y = tg.sum(tg.exp(-x) * x, axis=0, keepdims=True) + tg.maximum(m @ w, 0.0)
loss = tg.mean((m @ w - x) ** 2)
updates = {w: w - 0.1 * tg.grad(loss, w)}
step: tg.Function = tg.function([m, x], loss, updates=updates, backend="perform", name="step")
value = step(np.ones((2, 3)), np.ones(2))
z: tg.Variable = tg.where(x > 0, x, 0.0).mean(axis=0, keepdims=True)[0] + x.at[0].set(1.0)[1]
half = np.exp(2 * x[None, :] / x.shape[0])


@tg.jit(backend="perform")
def f(a, b):
    return np.tanh(a) + b


with tg.config(mode="strict"):
    g = tg.function([x], [x, tg.abs(x)])
try:
    f(np.ones(2), np.ones(3))
except tg.ShapeError as error:
    text = str(error)
