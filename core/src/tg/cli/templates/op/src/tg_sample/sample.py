"""The operations: their mathematics, in one place. What computes them on a machine is in `rules/`."""

from typing import final

import numpy as np

from tg import ShapeError, absolute, flip, square
from tg.backend import Family, Op, real_floating, unary

squash = unary(
    "squash",
    lambda x: x / (1 + np.abs(x)),
    real_floating,
    "x / (1 + |x|), between -1 and 1.",
    d=(lambda x, y: 1 / square(1 + absolute(x)),),
    expansion=lambda x: x / (1 + absolute(x)),  # what a backend without a rule computes
)


@final
class LeakySum(Op):
    """The running sum that forgets, along the last axis: y[i] = x[i] + keep * y[i - 1].

    Shapes:
        x (..., n) -> y (..., n)
    Dtypes:
        that of x.
    Raises:
        ShapeError: x has no axis.
    """

    keep: float

    def infer(self, x):
        """The type of x."""
        if not x.shape:
            raise ShapeError("leaky_sum: found a scalar, needed at least one axis")
        return (x,)

    def perform(self, x):
        """Step by step."""
        y = x.copy()
        for i in range(1, x.shape[-1]):
            y[..., i] += y.dtype.type(self.keep) * y[..., i - 1]
        return (y,)

    def pullback(self, tools, inputs, outputs, cotangents):
        """The same sum from the far end."""
        (dy,) = cotangents
        return (None if dy is None else flip(self(flip(dy, -1)), -1),)


def leaky_sum(x, keep=0.9):
    """The running sum along the last axis of which `keep` is kept at each step."""
    return LeakySum(float(keep))(x)


FAMILY = Family("sample", (squash,), (LeakySum,), (leaky_sum,))
