"""Trigonometric and hyperbolic functions; angles are in radians."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, hypot, maximum, sqrt, while_in_range
from tg.ops.elementwise.comparison import equal, greater, less, where
from tg.ops.elementwise.dtype_loops import floating, real_floating
from tg.ops.elementwise.facts import STRICT_SIGNS, of_arctan2, of_one
from tg.ops.elementwise.record import ElementwiseFunction, binary, in_loop, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


NEAR: Final = 0.75
SINC_SERIES: Final = tuple((-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 15))
"""Of the derivative of sinc over x, in powers of x**2: what is left out is below 1e-18 for |x| <= 0.75."""


def _sinc(x: np.ndarray[Any, Any]) -> Any:
    """Halves in float32, which holds the product with pi."""
    return np.sinc(x.astype(np.float32) if x.dtype.itemsize == 2 else x)


def _sinc_loops(kinds: Any) -> Any:
    """The loops of floats; NumPy has pi times the integers in float64."""
    return real_floating(tuple("float64" if k in ("bool", bool) or is_integer(k) else k for k in kinds))


def _sinc_slope(x: Any, y: Any) -> Variable:
    """The derivative of sinc: by its series near 0, where a quotient loses digits, else by angles of half a turn."""
    from tg.ops.elementwise.rounding import rint

    square, series = x * x, SINC_SERIES[-1]
    for c in SINC_SERIES[-2::-1]:
        series = series * square + c
    whole = rint(x)
    angle, turned = np.pi * (x - whole), 1 - 2 * absolute(whole - 2 * rint(0.5 * whole))
    return where(less(absolute(x), NEAR), x * series, turned * (cos(angle) - sin(angle) / (np.pi * x)) / x)


def _inversion_scale(dtype: Any) -> Any:
    """The power of two by which points near the origin are scaled: no subnormal is left, and its square is in range."""
    return dtype.type(2.0 ** {2: 7, 4: 23, 8: 52}.get(dtype.itemsize, 63))


def _inversion(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """x / (x**2 + y**2); far from the origin x is not scaled down, since a subnormal number may be flushed to 0."""
    one = x.dtype.type(1)
    near, scale = np.maximum(np.abs(x), np.abs(y)) < 1, _inversion_scale(x.dtype)
    factor = np.where(near, scale, one / 2)
    radius = np.hypot(x * factor, y * factor)
    safe = np.where(radius == 0, one, radius)
    ratio = np.where(near, x * scale * scale, x) / safe / safe
    return np.where(radius == 0, one - 1, np.where(near, ratio, ratio / 4))


def _inversion_written(x: Any, y: Any) -> Variable:
    dtype = numpy_dtype(x.type.dtype)
    near, scale = less(maximum(absolute(x), absolute(y)), 1), _inversion_scale(dtype)
    factor = where(near, scale, dtype.type(0.5))
    radius = hypot(x * factor, y * factor)
    ratio = where(near, x * scale * scale, x) / radius / radius
    return where(equal(radius, 0), dtype.type(0), where(near, ratio, dtype.type(0.25) * ratio))


def _inversion_slope(x: Any, y: Any) -> Variable:
    """(y**2 - x**2) / (x**2 + y**2)**2, of which neither the difference of squares nor the square of one is taken."""
    radius = hypot(x, y)
    slope: Variable = ((y - x) / radius / radius) * ((y / radius + x / radius) / radius)
    return slope


def _complement_of_square(x: Any) -> Variable:
    """1 - x**2, whose derivative -2x is no difference of numbers near 1 where x is near 0."""
    product: Variable = (1 - x) * (1 + x)
    return product if is_complex(x.type.dtype) else where(less(absolute(x), 0.5), 1 - x * x, product)


def _arctan_slope(x: Any) -> Variable:
    """1 / (1 + x**2), without the square of a large real x, whose square again would be out of range."""
    near: Variable = 1 / (1 + x * x)
    if is_complex(x.type.dtype):
        return near
    large = greater(absolute(x), 1)
    i = 1 / where(large, x, numpy_dtype(x.type.dtype).type(1))
    return where(large, i / (x + i), near)


def _tanh_slope(x: Any, y: Any) -> Variable:
    """1 - tanh(x)**2, of a real x without the difference, which has no digits left from 20 on."""
    return 1 - y * y if is_complex(x.type.dtype) else sech_squared(x)


def _sech_squared(x: np.ndarray[Any, Any]) -> Any:
    e = np.exp(-2 * np.abs(x))
    return 4 * e / ((1 + e) * (1 + e))


def _sech_squared_written(x: Any) -> Variable:
    from tg.ops.elementwise.exponential import exp

    e = exp(-2 * absolute(x))
    return 4 * e / ((1 + e) * (1 + e))


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
    d=(lambda x, y: 1 / sqrt(_complement_of_square(x)),), domain=(-1, 1), cost=6.3,
    facts=of_one(keeps=STRICT_SIGNS, zero=True),
)  # fmt: skip
arccos = unary(
    "arccos", np.arccos, floating, "The angle in [0, pi] whose cosine is x.",
    d=(lambda x, y: -1 / sqrt(_complement_of_square(x)),), domain=(-1, 1), cost=6.3,
    facts=of_one("nonnegative"),
)  # fmt: skip
arctan = unary(
    "arctan", np.arctan, floating, "The angle in [-pi/2, pi/2] whose tangent is x.",
    d=(lambda x, y: _arctan_slope(x),), domain=(-20, 20), cost=5.5,
    facts=of_one(keeps=STRICT_SIGNS, rules=((("not_nan",), ("finite",)),), zero=True),
)  # fmt: skip
arctan2 = binary(
    "arctan2", np.arctan2, np.arctan2,
    "The angle in [-pi, pi] of the point with ordinate x and abscissa y; the derivatives at the origin are 0.",
    d=(lambda x, y, z: inversion(y, x), lambda x, y, z: -inversion(x, y)), cost=7.5,
    facts=of_arctan2, slope_accuracy=while_in_range,
)  # fmt: skip
inversion: ElementwiseFunction = binary(
    "inversion", _inversion, np.hypot,
    "x / (x**2 + y**2) without a square, the derivative of arctan2; 0 at the origin, where it has none.",
    d=(lambda x, y, z: _inversion_slope(x, y), lambda x, y, z: -2 * (z * inversion(y, x))),
    cost=8, expansion=_inversion_written, only_derives=True, facts=lambda x, y: (),
)  # fmt: skip


def log_of_cosh(x: Variable) -> Variable:
    """log(cosh(x)) without overflow, and without log(2), which would round.

    Near 0 it is log1p of cosh(x) - 1 = e**2 / (2 (1 + e)) with e = expm1(-|x|), of x**2 / 2 all digits; from 1 on
    |x| + log1p(expm1(-2 |x|) / 2), where the terms no longer cancel and expm1(-2 |x|) is e (e + 2).
    """
    from tg.ops.elementwise.exponential import expm1, log1p

    size = absolute(x)
    near, e = less(size, 1), expm1(-size)
    return where(near, numpy_dtype(x.type.dtype).type(0), size) + log1p(
        where(near, e * e / (2 * (1 + e)), e * (e + 2) * 0.5)
    )


def _log_cosh(x: Any) -> Any:
    size = np.abs(x)
    near, e = size < 1, np.expm1(-size)
    half = x.dtype.type(0.5)
    return np.where(near, x.dtype.type(0), size) + np.log1p(np.where(near, e * e / (2 * (1 + e)), e * (e + 2) * half))


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
    d=(_tanh_slope,),
    cost=6.5,
    facts=of_one(keeps=(*STRICT_SIGNS, "no_negative_zero"), rules=((("not_nan",), ("finite",)),), zero=True),
)
sech: ElementwiseFunction = unary(
    "sech", lambda x: 1 / np.cosh(x), real_floating, "1 / cosh(x), as it is written.",
    d=(lambda x, y: -y * tanh(x),), domain=(-20, 20), expansion=lambda x: 1 / cosh(x), only_derives=True,
)  # fmt: skip
log_cosh: ElementwiseFunction = unary(
    "log_cosh", _log_cosh, real_floating, "log(cosh(x)) without overflow, without the kink of |x|.",
    d=(lambda x, y: tanh(x),), accuracy=8, expansion=log_of_cosh, only_derives=True,
)  # fmt: skip
sech_squared: ElementwiseFunction = unary(
    "sech_squared", _sech_squared, real_floating, "1 / cosh(x)**2, the derivative of tanh, accurate in its tails.",
    d=(lambda x, y: -2 * (y * tanh(x)),), cost=9, expansion=_sech_squared_written,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
)  # fmt: skip
sinc = unary(
    "sinc", _sinc, _sinc_loops, "sin(pi x) / (pi x), and 1 at 0.",
    d=(_sinc_slope,), domain=(-5, 5), accuracy=8, cost=5, slope_accuracy=32
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
    d=(lambda x, y: 1 / _complement_of_square(x),), domain=(-1, 1), cost=15.2,
    facts=of_one(keeps=STRICT_SIGNS, zero=True),
)  # fmt: skip


def deg2rad(x: TensorLike) -> Variable:
    """The angle of x degrees in radians.

    Source:
        numpy.deg2rad, numpy.radians
    """
    return in_loop("deg2rad", np.deg2rad, x)[0] * (np.pi / 180)


def rad2deg(x: TensorLike) -> Variable:
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
        inversion,
        sinh,
        cosh,
        tanh,
        sech,
        log_cosh,
        arcsinh,
        arccosh,
        arctanh,
        sinc,
        sech_squared,
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
    internal=(inversion, sech_squared),
)  # fmt: skip
