"""Trigonometric and hyperbolic functions; angles are in radians."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, hypot, sqrt
from tg.ops.elementwise.comparison import equal, less, where
from tg.ops.elementwise.facts import STRICT_SIGNS, of_arctan2, of_one
from tg.ops.elementwise.record import ElementwiseFunction, binary, floating, in_loop, real_floating, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def _sinc(x: np.ndarray[Any, Any]) -> Any:
    """Halves in float32, which holds the product with pi."""
    return np.sinc(x.astype(np.float32) if x.dtype.itemsize == 2 else x)


def _sinc_loops(kinds: Any) -> Any:
    """Those of floats; NumPy has pi times the integers in float64."""
    return real_floating(tuple("float64" if k in ("bool", bool) or is_integer(k) else k for k in kinds))


def _sinc_slope(x: Any, y: Any) -> Variable:
    """The derivative of sinc, by its series near 0, where the quotient has lost its digits and the next derivative."""
    square = x * x
    series = x * (square * (np.pi**4 / 30 - square * (np.pi**6 / 840)) - np.pi**2 / 3)
    return where(less(absolute(x), 0.01), series, (cos(np.pi * x) - y) / x)


def _per_radius(x: Any, radius: Any) -> Variable:
    """x / radius**2 without a square, and 0 where the radius is 0."""
    return where(equal(radius, 0), numpy_dtype(x.type.dtype).type(0), (x / radius) * (1 / radius))


def _arcsinh_slope(x: Any) -> Variable:
    """1 / sqrt(1 + x**2), without overflow of the square of a real x."""
    return 1 / (sqrt(1 + x * x) if is_complex(x.type.dtype) else hypot(x, numpy_dtype(x.type.dtype).type(1)))


sin = unary(
    "sin",
    np.sin,
    floating,
    "The sine of x.",
    d=(lambda x, y: cos(x),),
    domain=(-20, 20),
    cost=4.1,
    facts=of_one(keeps=("finite",), zero=True),
)
cos: ElementwiseFunction = unary(
    "cos",
    np.cos,
    floating,
    "The cosine of x.",
    d=(lambda x, y: -sin(x),),
    domain=(-20, 20),
    cost=4.2,
    facts=of_one(keeps=("finite",)),
)
tan = unary(
    "tan",
    np.tan,
    floating,
    "The tangent of x.",
    d=(lambda x, y: 1 + y * y,),
    domain=(-20, 20),
    cost=4.9,
    facts=of_one(rules=((("finite",), ("not_nan",)),), zero=True),
)
arcsin = unary(
    "arcsin", np.arcsin, floating, "The angle in [-pi/2, pi/2] whose sine is x.",
    d=(lambda x, y: 1 / sqrt((1 - x) * (1 + x)),), domain=(-1, 1), cost=6.3,
    facts=of_one(keeps=STRICT_SIGNS, zero=True),
)  # fmt: skip
arccos = unary(
    "arccos", np.arccos, floating, "The angle in [0, pi] whose cosine is x.",
    d=(lambda x, y: -1 / sqrt((1 - x) * (1 + x)),), domain=(-1, 1), cost=6.3,
    facts=of_one("nonnegative"),
)  # fmt: skip
arctan = unary(
    "arctan", np.arctan, floating, "The angle in [-pi/2, pi/2] whose tangent is x.",
    d=(lambda x, y: 1 / (1 + x * x),), domain=(-20, 20), cost=5.5,
    facts=of_one(keeps=STRICT_SIGNS, rules=((("not_nan",), ("finite",)),), zero=True),
)  # fmt: skip
arctan2 = binary(
    "arctan2", np.arctan2, np.arctan2,
    "The angle in [-pi, pi] of the point with ordinate x and abscissa y; the derivatives at the origin are 0.",
    d=(lambda x, y, z: _per_radius(y, hypot(x, y)), lambda x, y, z: -_per_radius(x, hypot(x, y))), cost=7.5,
    facts=of_arctan2,
)  # fmt: skip
sinh = unary(
    "sinh",
    np.sinh,
    floating,
    "The hyperbolic sine of x.",
    d=(lambda x, y: cosh(x),),
    domain=(-20, 20),
    cost=5.7,
    facts=of_one(keeps=(*STRICT_SIGNS, "not_nan"), zero=True),
)
cosh: ElementwiseFunction = unary(
    "cosh",
    np.cosh,
    floating,
    "The hyperbolic cosine of x.",
    d=(lambda x, y: sinh(x),),
    domain=(-20, 20),
    cost=6.3,
    facts=of_one("positive", keeps=("not_nan",)),
)
tanh = unary(
    "tanh",
    np.tanh,
    floating,
    "The hyperbolic tangent of x.",
    d=(lambda x, y: 1 - y * y,),
    cost=6.5,
    facts=of_one(keeps=(*STRICT_SIGNS, "no_negative_zero"), rules=((("not_nan",), ("finite",)),), zero=True),
)
sinc = unary(
    "sinc", _sinc, _sinc_loops, "sin(pi x) / (pi x), and 1 at 0.",
    d=(_sinc_slope,), domain=(-5, 5), accuracy=8, cost=5,
)  # fmt: skip

arcsinh = unary(
    "arcsinh", np.arcsinh, floating, "The number whose hyperbolic sine is x.",
    d=(lambda x, y: _arcsinh_slope(x),), domain=(-20, 20), cost=18.5,
    facts=of_one(keeps=(*STRICT_SIGNS, "finite", "not_nan", "no_negative_zero"), zero=True),
)  # fmt: skip
arccosh = unary(
    "arccosh", np.arccosh, floating, "The number >= 0 whose hyperbolic cosine is x; NaN below 1.",
    d=(lambda x, y: 1 / (sqrt(x - 1) * sqrt(x + 1)),), domain=(1, 20), cost=17.2,
    facts=of_one("nonnegative"),
)  # fmt: skip
arctanh = unary(
    "arctanh", np.arctanh, floating, "The number whose hyperbolic tangent is x; NaN outside [-1, 1].",
    d=(lambda x, y: 1 / ((1 - x) * (1 + x)),), domain=(-1, 1), cost=15.2,
    facts=of_one(keeps=STRICT_SIGNS, zero=True),
)  # fmt: skip


def deg2rad(x: Any) -> Variable:
    """The angle of x degrees in radians.

    Source:
        numpy.deg2rad, numpy.radians
    """
    return in_loop("deg2rad", np.deg2rad, x)[0] * (np.pi / 180)


def rad2deg(x: Any) -> Variable:
    """The angle of x radians in degrees.

    Source:
        numpy.rad2deg, numpy.degrees
    """
    return in_loop("rad2deg", np.rad2deg, x)[0] * (180 / np.pi)


FAMILY = Family(
    "elementwise/trigonometric",
    (
        sin,
        cos,
        tan,
        arcsin,
        arccos,
        arctan,
        arctan2,
        sinh,
        cosh,
        tanh,
        arcsinh,
        arccosh,
        arctanh,
        sinc,
    ),
    functions=(deg2rad, rad2deg),
    aliases=(
        ("asin", arcsin),
        ("acos", arccos),
        ("atan", arctan),
        ("atan2", arctan2),
        ("asinh", arcsinh),
        ("acosh", arccosh),
        ("atanh", arctanh),
        ("radians", deg2rad),
        ("degrees", rad2deg),
    ),
)  # fmt: skip
