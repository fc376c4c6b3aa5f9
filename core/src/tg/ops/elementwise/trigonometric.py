"""Trigonometric and hyperbolic functions; angles are in radians."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.record import ElementwiseFunction, floating, real_floating, unary
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def _sinc_slope(x: Any, y: Any) -> Variable:
    """The derivative of sinc, by its series near 0, where the quotient has lost its digits and the next derivative."""
    square = x * x
    series = x * (square * (np.pi**4 / 30 - square * (np.pi**6 / 840)) - np.pi**2 / 3)
    return where(less(absolute(x), 0.01), series, (cos(np.pi * x) - y) / x)


sin = unary("sin", np.sin, floating, "The sine of x.", d=(lambda x, y: cos(x),), domain=(-20, 20))
cos: ElementwiseFunction = unary(
    "cos", np.cos, floating, "The cosine of x.", d=(lambda x, y: -sin(x),), domain=(-20, 20)
)
tanh = unary("tanh", np.tanh, floating, "The hyperbolic tangent of x.", d=(lambda x, y: 1 - y * y,))
sinc = unary(
    "sinc", np.sinc, real_floating, "sin(pi x) / (pi x), and 1 at 0.",
    d=(_sinc_slope,), domain=(-5, 5), accuracy=8,
)  # fmt: skip

FAMILY = Family("elementwise/trigonometric", (sin, cos, tanh, sinc))
