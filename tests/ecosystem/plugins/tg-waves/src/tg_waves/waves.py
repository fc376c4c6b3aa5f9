"""Two functions of single elements, and two ops on arrays."""

from typing import final

import numpy as np

import tg
from tg.backend import Family, Op, TensorType, real_floating, unary

softsign = unary(
    "softsign",
    lambda x: x / (1 + np.abs(x)),
    real_floating,
    "x / (1 + |x|), between -1 and 1.",
    d=(lambda x, y: (1 - tg.abs(y)) ** 2,),
)


def _bump(x):
    inside = np.abs(x) < 1
    return np.where(inside, np.exp(-1 / np.where(inside, 1 - x * x, 1)), 0)


bump = unary(
    "bump",
    _bump,
    real_floating,
    "exp(-1 / (1 - x**2)) between -1 and 1, and 0 elsewhere.",
    d=(lambda x, y: tg.where(y > 0, -2 * x * y / (1 - x * x) ** 2, 0.0),),
    accuracy=16,
)


@final
class Smoothed(Op):
    """The exponential moving sum along a vector: y[i] = x[i] + decay * y[i - 1]."""

    def infer(self, x, decay):
        return (TensorType(x.dtype, x.shape),)

    def perform(self, x, decay):
        y = np.array(x)
        for i in range(1, len(y)):
            y[i] += decay * y[i - 1]
        return (y,)

    def pullback(self, tools, inputs, outputs, cotangents):
        (_, decay), (y,), (dy,) = inputs, outputs, cotangents
        dx = smoothed(dy[::-1], decay)[::-1]
        return dx, tg.sum(dx * tg.concatenate([tg.zeros_like(y[:1]), y[:-1]]))


@final
class Powers(Op):
    """The sums of squares and of cubes of all elements."""

    def infer(self, x):
        return (TensorType(x.dtype), TensorType(x.dtype))

    def perform(self, x):
        return (np.asarray(np.sum(x**2)), np.asarray(np.sum(x**3)))

    def pullback(self, tools, inputs, outputs, cotangents):
        (x,), (d2, d3) = inputs, cotangents
        dx = None if d2 is None else 2 * d2 * x
        if d3 is not None:
            dx = 3 * d3 * x * x if dx is None else dx + 3 * d3 * x * x
        return (dx,)


smoothed, powers = Smoothed(), Powers()
FAMILY = Family("waves", (softsign, bump), ops=(Smoothed, Powers), functions=(smoothed, powers))
