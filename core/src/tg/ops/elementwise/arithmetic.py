"""Arithmetic on elements. Integers wrap; x // 0 and x % 0 are 0 for integers; the sign of % is that of the divisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.checks import Check, Descriptor
from tg.graph.facts import facts_of
from tg.graph.nodes import Constant
from tg.keywords import explained
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from tg.ops.elementwise.complex import conjugate
from tg.ops.elementwise.dtype_loops import floating, from_ufunc, real_floating
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
    of_masked_product,
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
from tg.ops.elementwise.record import AtKink, ElementwiseFunction, binary, in_loop, quaternary, ternary, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_integer, numpy_dtype
from tg.types.lengths import same
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


def _gate(dy: np.ndarray[Any, Any], d: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(dy == 0, np.zeros((), np.result_type(dy, d)), dy * d)


def _gate_loops(kinds: Any) -> Any:
    return from_ufunc(np.multiply)(kinds)


def _masked_loops(kinds: Any) -> Any:
    dtypes, result = from_ufunc(np.multiply)(kinds[1:])
    return ("bool", *dtypes), result


def _asked_loops(kinds: Any) -> Any:
    dtypes, result = from_ufunc(np.multiply)(kinds[2:])
    return ("bool", "bool", *dtypes), result


def _masked_product(a: Any, b: Any, x: Any, y: Any) -> Variable:
    always = isinstance(b, Constant) and bool(b.data.all())
    zero = numpy_dtype(x.type.dtype).type(0)
    return where(a if always else logical_and(a, b), multiply(x, y), zero)


def _kept_loops(kinds: Any) -> Any:
    (dtype,), result = from_ufunc(np.positive)(kinds[1:])
    return ("bool", dtype), result


def _nan(x: Any, y: Any) -> Constant:
    return Constant(np.asarray(np.nan, numpy_dtype(x.type.dtype)))


def _zeros_like(x: Any) -> Variable:
    from tg.ops.creation import zeros_like

    return zeros_like(x)


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


def _three_floating(kinds: Any) -> Any:
    (first, _), result = floating(kinds[:2])
    (first, _), result = floating((result, kinds[2]))
    return (first, first, first), result


def _floor_divide(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(np.floor_divide(x, y))


def _reciprocal(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if x.dtype.kind in "iu":
        return np.where((x == 1) | (x == -1), x, np.zeros((), x.dtype))
    return np.asarray(np.reciprocal(x))


def _absolute_slope(x: Any, y: Any) -> Variable | AtKink:
    """The sign of a real x, at 0 by convention; of a complex x half the conjugate of its direction."""
    if not is_complex(x.type.dtype):
        return AtKink(equal(x, 0), sign(x))
    return where(equal(y, 0), kink(y), 0.5 * conjugate(sign(x)))


def _sign_slope(x: Any, y: Any) -> Any:
    """0 for a real x; the direction of a complex x turns with x, and against its conjugate."""
    return _per_diameter(1, x) if is_complex(x.type.dtype) else 0


def _sign_slope_conj(x: Any, y: Any) -> Any:
    return -_per_diameter(y * y, x) if is_complex(x.type.dtype) else 0


def _per_diameter(value: Any, x: Any) -> Variable:
    diameter = 2 * absolute(x)
    return where(equal(x, 0), kink(diameter), value / diameter)


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
    """y * x**(y - 1), and y where x is 0 and y is 0 or 1.

    There 0**(y - 1) jumps as y moves: the slope by y is none, hence the kink; by x all derivatives are right.
    """
    if isinstance(y, Constant) and y.data.all():
        return y * power(x, Constant(y.data - y.data.dtype.type(1)))
    jumps = logical_and(_is_null(x), logical_or(equal(y, 0), equal(y, 1)))
    slope: Variable = y * power(x, y - 1)
    return where(jumps, y + kink(y), slope)


def _power_by_exponent(x: Any, y: Any, z: Any) -> Variable:
    """x**y * log(x), and 0 at x = 0 for y >= 0: of the slopes by x there only that for y > 1 is 0 too."""
    from tg.ops.elementwise.exponential import log

    if isinstance(x, Constant) and x.data.all():
        return z * log(x)  # type: ignore[no-any-return]
    zero = numpy_dtype(x.type.dtype).type(0)
    convention = kink(x) + where(equal(y, 0), kink(y), zero)
    if not is_complex(y.type.dtype):
        convention = where(greater(y, 1), z, convention)  # z is 0 there, and so is its slope
    return where(logical_and(equal(x, 0), greater_equal(y, 0)), convention, z * log(x))


def _sqrt_slopes(x: np.ndarray[Any, Any]) -> Any:
    """Rewriting multiplies three roots before it divides by them, which may vanish."""
    return np.where(x * np.sqrt(x) < np.finfo(x.dtype).tiny, np.inf, 16)


def _power_slopes(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """The rounding of y - 1 is multiplied by log(x); x**(y - 2) may be out of range where y times it is not."""
    z, tiny = np.power(x, y - 2), np.finfo(x.dtype).tiny
    return np.where(np.isinf(z) | (z < tiny) | (x < 4 * tiny), np.inf, 32 + 4 * np.abs(np.log(x)))


def while_in_range(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """16 units, and infinitely many where the radius or its reciprocal is nearly out of range."""
    radius, limits = np.hypot(x, y), np.finfo(x.dtype)
    return np.where((radius > 4 * limits.tiny) & (radius < limits.max / 4), 16, np.inf)


def _flat_power(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    return np.where(y == 0.5, np.sqrt(x), np.power(x, y))


def _flat_power_written(x: Any, y: Any) -> Variable:
    is_root = isinstance(y, Constant) and y.data.ndim == 0 and y.data == 0.5
    return sqrt(x) if is_root else where(equal(y, 0.5), sqrt(x), power(x, y))


def _flat_slope(x: Any, y: Any, z: Any) -> Variable:
    return where(equal(x, 0), kink(x), y * z / x)


def _absolute_power(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    return np.power(np.abs(x), y)


def _signed_power(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    return np.sign(x) * np.power(np.abs(x), y)


def _absolute_power_slope(x: Any, y: Any, z: Any) -> Variable | AtKink:
    if isinstance(y, Constant) and (y.data == 1).all():
        return AtKink(equal(x, 0), sign(x))
    return y * signed_power(x, _one_less(y))  # type: ignore[no-any-return]


def _signed_power_slope(x: Any, y: Any, z: Any) -> Variable | int:
    if isinstance(y, Constant) and (y.data == 1).all():
        return 1
    return y * absolute_power(x, _one_less(y))  # type: ignore[no-any-return]


def _radial_power_slope(r: Any, u: Any, y: Any, z: Any) -> Variable:
    half, less_two = 0.5 * y, _one_less(_one_less(y))
    if isinstance(y, Constant) and y.data.ndim == 0 and y.data >= 3:
        return half * (r if y.data == 3 else power(r, less_two))  # type: ignore[no-any-return]
    return half * flat_power(r, less_two)  # type: ignore[no-any-return]


def _one_less(y: Any) -> Any:
    return Constant(y.data - y.data.dtype.type(1)) if isinstance(y, Constant) else y - 1


def _is_null(x: Any) -> Variable:
    """Whether x is 0 or NaN."""
    return logical_not(greater(absolute(x), 0))


def _product_at(at: np.ndarray[Any, Any], x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    return np.where(at, x * y, x * y)


def broadcast_with(like: Variable, x: Variable) -> Variable:
    """x in the shape that it has beside another operand."""
    is_wide = x.type.ndim == like.type.ndim and all(map(same, like.shape, x.shape))
    return x if is_wide or not like.type.ndim else where(equal(like, like), x, x)


def _itself_at(at: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    return np.where(at, x, x)


def _direction(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    radius = np.hypot(x, y)
    return np.where(radius == 0, np.zeros((), radius.dtype), x / np.where(radius == 0, 1, radius))


def _of_other(other: Variable, x: Any, y: Any) -> Variable:
    """other**2 / hypot(x, y), of which the square alone may vanish."""
    return other * (other / hypot(x, y))


def _direction_written(x: Any, y: Any) -> Variable:
    radius = hypot(x, y)
    return where(equal(radius, 0), numpy_dtype(x.type.dtype).type(0), x / radius)


def _root_slope(x: Any, y: Any) -> Variable:
    null = equal(x, 0)
    return where(null, kink(x), 0.5 / where(null, 1, y))


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
    facts=of_power, slope_accuracy=_power_slopes,
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
    slope_accuracy=_sqrt_slopes,
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
flat_root: ElementwiseFunction = unary(
    "flat_root", np.sqrt, np.sqrt, "The square root of x, as it is written; the derivative at 0 is 0, once.",
    d=(_root_slope,), accuracy=1, cost=2.4, domain=(0, 1e6), expansion=sqrt, only_derives=True,
)  # fmt: skip
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
hypot: ElementwiseFunction = binary(
    "hypot", np.hypot, np.hypot, "sqrt(x**2 + y**2) without overflow; the derivatives at the origin are 0.",
    d=(lambda x, y, z: direction(x, y), lambda x, y, z: direction(y, x)), cost=4,
    facts=of_hypot, slope_accuracy=while_in_range,
)  # fmt: skip
direction: ElementwiseFunction = binary(
    "direction", _direction, np.hypot, "x / hypot(x, y), the derivative of hypot; 0 at the origin, where it has none.",
    d=(
        lambda x, y, z: _of_other(direction(y, x), x, y),
        lambda x, y, z: -z * (direction(y, x) / hypot(x, y)),
    ),
    cost=6, expansion=_direction_written, only_derives=True, facts=lambda x, y: (),
)  # fmt: skip
radius = binary(
    "radius", lambda x, y: np.sqrt(x * x + y * y), real_floating,
    "sqrt(x**2 + y**2) as it is written; the derivatives at the origin are 0, once.",
    d=(lambda x, y, z: direction(x, y), lambda x, y, z: direction(y, x)), cost=4,
    expansion=lambda x, y: sqrt(add(square(x), square(y))), only_derives=True,
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
asked_where = binary(
    "asked_where", _itself_at, _kept_loops,
    "x itself, a cotangent or tangent that a caller gives: nothing is asked where the condition does not hold.",
    d=(None, lambda asked, x, y: 1), accuracy=0, cost=0.1, expansion=broadcast_with, only_derives=True,
    facts=lambda asked, x: [*facts_of(x)],
)  # fmt: skip
surrogate = binary(
    "surrogate", lambda x, y: np.broadcast_arrays(x, y)[0].copy(), np.add,
    "x itself, with the derivatives of y: another way to the same value, that is computed for derivatives alone.",
    d=(None, lambda x, y, z: 1), accuracy=0, cost=0.1, expansion=lambda x, y: broadcast_with(y, x), only_derives=True,
    facts=lambda x, y: [*facts_of(x)],
)  # fmt: skip
asked_opposite = binary(
    "asked_opposite", lambda asked, x: np.where(asked, x, np.zeros((), x.dtype)), _kept_loops,
    "x where the condition holds, else 0: a factor opposite of another that is 0 there; derivatives are those of x.",
    d=(None, lambda asked, x, y: 1), accuracy=0, cost=0.5,
    expansion=lambda asked, x: where(asked, x, numpy_dtype(x.type.dtype).type(0)), only_derives=True,
)  # fmt: skip
masked_product = quaternary(
    "masked_product", lambda a, b, x, y: np.where(a & b, x * y, np.zeros((), x.dtype)), _asked_loops,
    "x * y where both conditions hold, else 0; x is 0 where the first does not, y where the second does not.",
    d=(None, None, lambda a, b, x, y, z: asked_where(b, y), lambda a, b, x, y, z: asked_where(a, x)),
    accuracy=1, cost=1.5, expansion=_masked_product, only_derives=True, facts=of_masked_product,
)  # fmt: skip
product_at_kink: ElementwiseFunction = ternary(
    "product_at_kink", _product_at, _masked_loops,
    "x * y; where the condition holds y is the slope of a kink by convention, and x a cotangent of the kink.",
    d=(None, lambda at, x, y, z: AtKink(at, y, again=True), lambda at, x, y, z: x),
    accuracy=1, cost=1, expansion=lambda at, x, y: broadcast_with(at, multiply(x, y)), only_derives=True,
    facts=lambda at, x, y: of_multiply(x, y),
)  # fmt: skip
product_past_kink: ElementwiseFunction = ternary(
    "product_past_kink", _product_at, _masked_loops,
    "x * y; where the condition holds y is the slope of a kink by convention, and x, a tangent, has no slope.",
    d=(None, lambda at, x, y, z: where(at, numpy_dtype(y.type.dtype).type(np.nan), y), lambda at, x, y, z: x),
    accuracy=1, cost=1, expansion=lambda at, x, y: broadcast_with(at, multiply(x, y)), only_derives=True,
    facts=lambda at, x, y: of_multiply(x, y),
)  # fmt: skip
at_kink: ElementwiseFunction = binary(
    "at_kink", _itself_at, _kept_loops,
    "x itself; where the condition holds it is a cotangent by convention, and slopes that multiply it have no slope.",
    d=(None, lambda at, x, y: 1), accuracy=0, cost=0.1, expansion=broadcast_with, only_derives=True,
    facts=lambda at, x: [*facts_of(x)],
)  # fmt: skip
past_kink: ElementwiseFunction = binary(
    "past_kink", _itself_at, _kept_loops,
    "x itself; where the condition holds it is a tangent by convention, which another convention has no product with.",
    d=(None, lambda at, x, y: 1), accuracy=0, cost=0.1, expansion=broadcast_with, only_derives=True,
    facts=lambda at, x: [*facts_of(x)],
)  # fmt: skip
flat_power = binary(
    "flat_power", _flat_power, floating,
    "x to a power y > 0 that is held constant, with derivative 0 at x = 0, where it has none for y < 1.",
    d=(_flat_slope, None), cost=22, expansion=_flat_power_written, only_derives=True, domain=(0, 1e6),
)  # fmt: skip
absolute_power: ElementwiseFunction = binary(
    "absolute_power", _absolute_power, floating,
    "|x| to a power y that is held constant: smooth at 0 as far as y says.",
    d=(_absolute_power_slope, None), cost=22, expansion=lambda x, y: power(absolute(x), y), only_derives=True,
)  # fmt: skip
signed_power: ElementwiseFunction = binary(
    "signed_power", _signed_power, floating,
    "|x| to a power y that is held constant, with the sign of x: the slope of |x|**(y + 1) but for y + 1.",
    d=(_signed_power_slope, None), cost=23, expansion=lambda x, y: sign(x) * power(absolute(x), y), only_derives=True,
)  # fmt: skip
radial_power: ElementwiseFunction = ternary(
    "radial_power", lambda r, u, y: np.array(np.broadcast_arrays(np.power(r, y), u)[0]),
    _three_floating,
    "A length r to a power y > 2 that is held constant, where u is the square of r: the slope is one by u alone.",
    d=(None, _radial_power_slope, None), cost=22, expansion=lambda r, u, y: broadcast_with(u, power(r, y)),
    only_derives=True,
    facts=lambda r, u, y: of_power(r, y),
)  # fmt: skip
kink: ElementwiseFunction = unary(
    "kink", np.zeros_like, floating,
    "0 for every x, with the derivative NaN: a slope that is 0 at one point by convention has no slope itself.",
    d=(_nan,), accuracy=0, cost=0.1, expansion=_zeros_like, only_derives=True,
    facts=of_one("nonnegative", "finite", zero=True),
)  # fmt: skip


def positive(x: TensorLike) -> Variable:
    """x itself; bool has no sign.

    Raises:
        DtypeError: x is bool.
    Source:
        numpy.positive
    """
    return in_loop("positive", np.positive, x)[0]


def fmax(x: TensorLike, y: TensorLike) -> Variable:
    """The larger of x and y; of a number and NaN the number.

    Source:
        numpy.fmax
    """
    x, y = in_loop("fmax", np.fmax, x, y)
    return where(isnan(x), y, where(isnan(y), x, maximum(x, y)))


def fmin(x: TensorLike, y: TensorLike) -> Variable:
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


def fma(x: TensorLike, y: TensorLike, z: TensorLike) -> Variable:
    """x * y + z. Whether the product is rounded before the sum is up to the backend."""
    return add(multiply(x, y), z)


@explained
def relu(x: TensorLike) -> Variable:
    """The larger of x and 0; the derivative at 0 is 0, and NaN stays NaN."""
    x = as_variable(x)
    return where(less_equal(x, 0), 0, x)


def heaviside(x: TensorLike, at_zero: Any) -> Variable:
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
        flat_root,
        reciprocal,
        maximum,
        minimum,
        clip,
        cbrt,
        hypot,
        direction,
        radius,
        copysign,
        nextafter,
        gate,
        masked_product,
        product_at_kink,
        product_past_kink,
        at_kink,
        past_kink,
        asked_where,
        asked_opposite,
        surrogate,
        flat_power,
        absolute_power,
        signed_power,
        radial_power,
        kink,
    ),
    functions=(positive, fmax, fmin, divmod, fma, relu, heaviside),
    aliases=(("abs", absolute), ("pow", power), ("mod", remainder), ("true_divide", divide)),
    internal=(
        flat_root, direction, radius, gate, masked_product, product_at_kink, product_past_kink, at_kink,
        past_kink, asked_where, asked_opposite, surrogate, flat_power, absolute_power, signed_power,
        radial_power, kink,
    ),
)  # fmt: skip
