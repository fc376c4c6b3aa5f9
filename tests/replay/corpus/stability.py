"""Formulas that lose digits or overflow as they are written, with their gradients."""

import tg
from tests.replay.program import program

PROGRAMS = (
    program("log1p", lambda x: tg.log(1 + x), grad=True),
    program("expm1", lambda x: tg.exp(x) - 1, grad=True),
    program("softplus", lambda x: tg.log(1 + tg.exp(x)), grad=True),
    program("softplus of a sum", lambda x, y: tg.log(1 + tg.exp(x + y)), grad=True),
    program("softplus from its parts", lambda x: tg.maximum(x, 0) + tg.log1p(tg.exp(-tg.absolute(x))), grad=True),
    program("sigmoid", lambda x: 1 / (1 + tg.exp(-x)), grad=True),
    program("sigmoid as a quotient", lambda x: tg.exp(x) / (1 + tg.exp(x)), grad=True),
    program("sigmoid of float32", lambda x: 1 / (1 + tg.exp(-x)), grad=True, x="float32[?]"),
    program("log of sigmoid", lambda x: tg.log(1 / (1 + tg.exp(-x))), grad=True),
    program("log of one minus sigmoid", lambda x: tg.log(1 - tg.sigmoid(x)), grad=True),
    program("one minus sigmoid", lambda x: 1 - tg.sigmoid(x), grad=True),
    program("sigmoid and its complement", lambda x: tg.sigmoid(x) * (1 - tg.sigmoid(x)), grad=True),
    program("logit", lambda p: tg.log(p / (1 - p)), grad=True),
    program("logaddexp", lambda x, y: tg.log(tg.exp(x) + tg.exp(y)), grad=True),
    program("logaddexp of three", lambda x, y, z: tg.log(tg.exp(x) + tg.exp(y) + tg.exp(z))),
    program("log1mexp", lambda x: tg.log(1 - tg.exp(-x)), grad=True),
    program("tanh from exponentials", lambda x: (tg.exp(x) - tg.exp(-x)) / (tg.exp(x) + tg.exp(-x)), grad=True),
    program("xlogy", lambda x, y: tg.xlogy(x, y), grad=True),
    program("entropy", lambda p: -tg.sum(p * tg.log(p)), grad=True),
    program("cross entropy", lambda x, y: (
        -(y * tg.log(tg.sigmoid(x)) + (1 - y) * tg.log(1 - tg.sigmoid(x)))), wrt=("x",)),
    program("logsumexp", lambda x: tg.log(tg.sum(tg.exp(x), axis=1)), grad=True, x="float64[?, ?]"),
    program("logsumexp with the maximum", lambda x: tg.max(x) + tg.log(tg.sum(tg.exp(x - tg.max(x)))), grad=True),
    program("softmax", lambda x: tg.exp(x) / tg.sum(tg.exp(x), axis=1, keepdims=True), grad=True, x="float64[?, ?]"),
    program("softmax with the maximum", lambda x: tg.exp(x - tg.max(x)) / tg.sum(tg.exp(x - tg.max(x)))),
    program("log of softmax", lambda x: tg.log(tg.softmax(x, axis=1)), grad=True, x="float64[?, ?]"),
    program(
        "log of softmax by hand", lambda x: tg.log(tg.exp(x) / tg.sum(tg.exp(x), axis=1, keepdims=True)), grad=True,
        x="float64[?, ?]",
    ),
    program(
        "softmax cross entropy", lambda x, y: -tg.sum(y * tg.log(tg.softmax(x, axis=1)), axis=1), wrt=("x",),
        x="float64[?, ?]", y="float64[?, ?]",
    ),
    program(
        "cross entropy of classes", lambda x, i: -tg.mean(tg.log_softmax(x, axis=1)[tg.arange(x.shape[0]), i]),
        wrt=("x",),
        x="float64[?, ?]", i="int64[?]",
    ),
    program("mean of exponentials", lambda x: tg.log(tg.mean(tg.exp(x))), grad=True),
    program("variance", lambda x: tg.var(x), grad=True),
    program("a sum of squares under a root", lambda x, y: tg.sqrt(x**2 + y**2), grad=True),
)  # fmt: skip
