"""Arithmetic on elements. Integers wrap; x // 0 and x % 0 are 0 for integers; the sign of % is that of the divisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.checks import Check, Descriptor
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from tg.ops.elementwise.complex import conjugate
from tg.ops.elementwise.facts import (
    STRICT_SIGNS,
    of_absolute,
    of_add,
    of_clip,
    of_copysign,
    of_divide,
    of_floor_divide,
    of_gate,
    of_hypot,
    of_maximum,
    of_minimum,
    of_multiply,
    of_negative,
    of_nextafter,
    of_one,
    of_power,
    of_reciprocal,
    of_remainder,
    of_square,
    of_subtract,
)
from tg.ops.elementwise.record import ElementwiseFunction, binary, from_ufunc, in_loop, ternary, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_integer, numpy_dtype
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def _gate(dy: np.ndarray[Any, Any], d: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(dy == 0, np.zeros((), np.result_type(dy, d)), dy * d)


def _gate_loops(kinds: Any) -> Any:
    return from_ufunc(np.multiply)(kinds)


def _nonnegative_exponent(x: Variable, y: Variable) -> tuple[Check, ...]:
    from tg.ops.reduction import total_min

    if not (is_integer(x.type.dtype) and y.type.dtype.startswith("int")):
        return ()
    least = total_min(y)
    text = "power: found the negative exponent {0}, needed exponents >= 0 for integers"
    hint = "cast the base to a floating dtype"
    return (Check(greater_equal(least, 0), (least,), Descriptor("DomainError", text, hint)),)


def _power(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if x.dtype.kind in "iu" and y.dtype.kind == "i":
        y = np.maximum(y, 0)  # the check has refused or will refuse it
    z = np.asarray(np.power(x, y))
    if z.dtype.kind == "f":  # of one exponent 0.5 for all NumPy takes the root, which is NaN at -inf
        z = np.where((x == -np.inf) & (y == 0.5), z.dtype.type(np.inf), z)
    return z


def _clip(x: np.ndarray[Any, Any], lower: np.ndarray[Any, Any], upper: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As NumPy, which takes either of two equal numbers by the loop that suits their layout: here it is the limit.

    They differ where a part is 0, in its sign.
    """
    y = np.asarray(np.clip(x, lower, upper))
    if y.dtype.kind in "iub" or (y.dtype.kind != "c" and y.all()):
        return y
    for limit in (lower, upper):
        y = np.where(y == limit, limit, y)
    return y


def _three_alike(kinds: Any) -> Any:
    (first, _), result = from_ufunc(np.maximum)(kinds[:2])
    (first, _), result = from_ufunc(np.maximum)((result, kinds[2]))
    return (first, first, first), result


def _floor_divide(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(np.floor_divide(x, y))


def _reciprocal(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if x.dtype.kind in "iu":
        return np.where((x == 1) | (x == -1), x, np.zeros((), x.dtype))
    return np.asarray(np.reciprocal(x))


def _absolute_slope(x: Any, y: Any) -> Variable:
    """The sign of a real x; of a complex x half the conjugate of its direction."""
    return 0.5 * conjugate(sign(x)) if is_complex(x.type.dtype) else sign(x)


def _sign_slope(x: Any, y: Any) -> Any:
    """0 for a real x; the direction of a complex x turns with x, and against its conjugate."""
    return _per_diameter(1, x) if is_complex(x.type.dtype) else 0


def _sign_slope_conj(x: Any, y: Any) -> Any:
    return -_per_diameter(y * y, x) if is_complex(x.type.dtype) else 0


def _per_diameter(value: Any, x: Any) -> Variable:
    return where(equal(x, 0), numpy_dtype(x.type.dtype).type(0), value / (2 * absolute(x)))


def _share(x: Any, y: Any, *, larger: bool) -> Variable:
    """1 where x is chosen over y, one half at ties: the partial derivative of maximum and minimum."""
    half = numpy_dtype(x.type.dtype).type(0.5)
    one, zero = numpy_dtype(x.type.dtype).type(1), numpy_dtype(x.type.dtype).type(0)
    chosen = greater(x, y) if larger else less(x, y)
    return where(chosen, one, where(equal(x, y), half, zero))


def _inside(x: Any, lower: Any, upper: Any, y: Any) -> Variable:
    return cast_variable(logical_and(greater_equal(x, lower), less_equal(x, upper)), x.type.dtype)


def _below(x: Any, lower: Any, upper: Any, y: Any) -> Variable:
    return cast_variable(logical_and(less(x, lower), less_equal(lower, upper)), x.type.dtype)


def _above(x: Any, lower: Any, upper: Any, y: Any) -> Variable:
    return cast_variable(logical_or(greater(x, upper), greater(lower, upper)), x.type.dtype)


def _power_by_base(x: Any, y: Any, z: Any) -> Variable:
    """y * x**(y - 1), and 0 where y is 0, also at x = 0."""
    zero = numpy_dtype(x.type.dtype).type(0)
    return where(equal(y, 0), zero, y * power(x, y - 1))


def _power_by_exponent(x: Any, y: Any, z: Any) -> Variable:
    """x**y * log(x), and 0 at x = 0 for y >= 0."""
    from tg.ops.elementwise.exponential import log

    zero = numpy_dtype(x.type.dtype).type(0)
    return where(logical_and(equal(x, 0), greater_equal(y, 0)), zero, z * log(x))


def _direction(x: Any, radius: Any) -> Variable:
    return where(equal(radius, 0), numpy_dtype(x.type.dtype).type(0), x / radius)


add = binary(
    "add",
    np.add,
    np.add,
    "The sum x + y.",
    d=(lambda x, y, z: 1, lambda x, y, z: 1),
    commutative="exact",
    accuracy=1,
    cost=1,
    facts=of_add,
)
subtract = binary(
    "subtract", np.subtract, np.subtract, "The difference x - y.",
    d=(lambda x, y, z: 1, lambda x, y, z: -1), accuracy=1, cost=1,
    facts=of_subtract,
)  # fmt: skip
multiply = binary(
    "multiply", np.multiply, np.multiply, "The product x * y.",
    d=(lambda x, y, z: y, lambda x, y, z: x), commutative="exact", accuracy=1, cost=1,
    facts=of_multiply,
)  # fmt: skip
divide = binary(
    "divide", np.true_divide, np.true_divide, "The quotient x / y, floating for integers.",
    d=(lambda x, y, z: 1 / y, lambda x, y, z: -z / y), accuracy=1, cost=1.4,
    facts=of_divide,
)  # fmt: skip
floor_divide = binary(
    "floor_divide", _floor_divide, np.floor_divide, "The quotient rounded down; x // 0 is 0 for integers.",
    d=(None, None), accuracy=0, cost=6.6, numpy=np.floor_divide,
    facts=of_floor_divide,
)  # fmt: skip
remainder = binary(
    "remainder", np.remainder, np.remainder,
    "The remainder x - floor(x / y) * y, with the sign of y; x % 0 is 0 for integers.",
    d=(lambda x, y, z: 1, lambda x, y, z: -floor_divide(x, y)), cost=4.1,
    facts=of_remainder,
)  # fmt: skip
power = binary(
    "power", _power, np.power, "x to the power y; a negative integer exponent of an integer is an error.",
    d=(_power_by_base, _power_by_exponent), cost=21.9, checks=_nonnegative_exponent, numpy=np.power,
    facts=of_power,
)  # fmt: skip
negative = unary(
    "negative", np.negative, np.negative, "-x.", d=(lambda x, y: -1,), accuracy=0, cost=0.8, facts=of_negative
)
absolute = unary(
    "absolute",
    np.absolute,
    np.absolute,
    "|x|; 0 has derivative 0.",
    d=(_absolute_slope,),
    accuracy=0,
    cost=0.8,
    facts=of_absolute,
)
sign: ElementwiseFunction = unary(
    "sign", np.sign, np.sign, "-1, 0 or 1 by the sign of x, x / |x| for a complex x; NaN for NaN.",
    d=(_sign_slope,), d_conj=(_sign_slope_conj,), accuracy=0, cost=1.1,
    facts=of_one("whole", keeps=STRICT_SIGNS, integers=STRICT_SIGNS, rules=((("not_nan",), ("finite",)),), zero=True),
)  # fmt: skip
square = unary("square", np.square, np.square, "x * x.", d=(lambda x, y: 2 * x,), accuracy=1, cost=0.8, facts=of_square)
sqrt = unary(
    "sqrt",
    np.sqrt,
    np.sqrt,
    "The square root of x; NaN below 0.",
    d=(lambda x, y: 0.5 / y,),
    domain=(0, 1e6),
    accuracy=1,
    cost=2.4,
    facts=of_one(
        "nonnegative",
        keeps=("nonzero", "no_negative_zero"),
        rules=((("nonnegative", "not_nan"), ("not_nan",)), (("nonnegative", "finite"), ("finite",))),
        zero=True,
    ),
)
reciprocal = unary(
    "reciprocal",
    _reciprocal,
    np.reciprocal,
    "1 / x, truncated for integers, for which 1 / 0 is 0.",
    d=(lambda x, y: -y * y,),
    domain=(0.1, 100),
    accuracy=1,
    cost=1.3,
    numpy=np.reciprocal,
    facts=of_reciprocal,
)
maximum = binary(
    "maximum", np.maximum, np.maximum, "The larger of x and y; NaN if either is. Ties share the derivative.",
    d=(lambda x, y, z: _share(x, y, larger=True), lambda x, y, z: _share(y, x, larger=True)),
    commutative="signed_zero", accuracy=0, cost=1,
    facts=of_maximum,
)  # fmt: skip
minimum = binary(
    "minimum", np.minimum, np.minimum, "The smaller of x and y; NaN if either is. Ties share the derivative.",
    d=(lambda x, y, z: _share(x, y, larger=False), lambda x, y, z: _share(y, x, larger=False)),
    commutative="signed_zero", accuracy=0, cost=1,
    facts=of_minimum,
)  # fmt: skip
clip = ternary(
    "clip", _clip, _three_alike, "x limited to [lower, upper]; the derivative is 1 on the closed interval.",
    d=(_inside, _below, _above), accuracy=0, cost=1.5, numpy=np.clip,
    facts=of_clip,
)  # fmt: skip
cbrt = unary(
    "cbrt",
    np.cbrt,
    np.cbrt,
    "The real cube root of x.",
    d=(lambda x, y: 1 / (3 * y * y),),
    domain=(-1e6, 1e6),
    cost=7.4,
    facts=of_one(keeps=(*STRICT_SIGNS, "finite", "not_nan", "no_negative_zero"), zero=True),
)
hypot = binary(
    "hypot", np.hypot, np.hypot, "sqrt(x**2 + y**2) without overflow; the derivatives at the origin are 0.",
    d=(lambda x, y, z: _direction(x, z), lambda x, y, z: _direction(y, z)), cost=4,
    facts=of_hypot,
)  # fmt: skip
copysign: ElementwiseFunction = binary(
    "copysign", np.copysign, np.copysign, "|x| with the sign of y, also of zeros; the derivative at x = 0 is 0.",
    d=(lambda x, y, z: sign(x) * copysign(numpy_dtype(y.type.dtype).type(1), y), lambda x, y, z: 0),
    accuracy=0, cost=1.1, facts=of_copysign,
)  # fmt: skip
nextafter = binary(
    "nextafter", np.nextafter, np.nextafter, "The number of the dtype that follows x on the way to y.",
    d=(lambda x, y, z: 1, lambda x, y, z: 0), accuracy=0, cost=1.6,
    facts=of_nextafter,
)  # fmt: skip
gate = binary(
    "gate", _gate, _gate_loops, "0 where dy is 0, else dy * d: a cotangent through a partial derivative d.",
    d=(lambda dy, d, z: d, lambda dy, d, z: dy), accuracy=1, cost=1,
    facts=of_gate,
)  # fmt: skip


def positive(x: Any) -> Variable:
    """x itself; bool has no sign.

    Raises:
        DtypeError: x is bool.
    Source:
        numpy.positive
    """
    return in_loop("positive", np.positive, x)[0]


def fmax(x: Any, y: Any) -> Variable:
    """The larger of x and y; of a number and NaN the number.

    Source:
        numpy.fmax
    """
    x, y = in_loop("fmax", np.fmax, x, y)
    return where(isnan(x), y, where(isnan(y), x, maximum(x, y)))


def fmin(x: Any, y: Any) -> Variable:
    """The smaller of x and y; of a number and NaN the number.

    Source:
        numpy.fmin
    """
    x, y = in_loop("fmin", np.fmin, x, y)
    return where(isnan(x), y, where(isnan(y), x, minimum(x, y)))


def divmod(x: Any, y: Any) -> tuple[Variable, Variable]:
    """The quotient rounded down and the remainder: `floor_divide(x, y), remainder(x, y)`.

    Source:
        numpy.divmod
    """
    return floor_divide(x, y), remainder(x, y)


def fma(x: Any, y: Any, z: Any) -> Variable:
    """x * y + z. Whether the product is rounded before the sum is up to the backend."""
    return add(multiply(x, y), z)


def relu(x: Any) -> Variable:
    """The larger of x and 0; the derivative at 0 is 0, and NaN stays NaN."""
    x = as_variable(x)
    return where(less_equal(x, 0), 0, x)


def heaviside(x: Any, at_zero: Any) -> Variable:
    """0 where x is negative, 1 where it is positive, `at_zero` where it is 0; NaN for NaN.

    Source:
        numpy.heaviside
    """
    x, value = in_loop("heaviside", np.heaviside, x, at_zero)
    return where(isnan(x), x, where(less(x, 0), 0.0, where(equal(x, 0), value, 1.0)))


FAMILY = Family(
    "elementwise/arithmetic",
    (
        add,
        subtract,
        multiply,
        divide,
        floor_divide,
        remainder,
        power,
        negative,
        absolute,
        sign,
        square,
        sqrt,
        reciprocal,
        maximum,
        minimum,
        clip,
        cbrt,
        hypot,
        copysign,
        nextafter,
        gate,
    ),
    functions=(positive, fmax, fmin, divmod, fma, relu, heaviside),
    aliases=(("abs", absolute), ("pow", power), ("mod", remainder), ("true_divide", divide)),
)  # fmt: skip
