"""Rules of norms, for derivatives: a root of squares has a slope at 0 by convention, and its square is smooth there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import (
    absolute,
    absolute_power,
    add,
    divide,
    flat_power,
    flat_root,
    hypot,
    multiply,
    negative,
    power,
    radial_power,
    radius,
    reciprocal,
    sqrt,
    square,
    subtract,
)
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.complex import imag, real
from tg.ops.elementwise.exponential import exp, matern_3_2, matern_5_2
from tg.ops.elementwise.trigonometric import cos, cosh
from tg.ops.norm import Norm
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape_ops import ExpandDims, Squeeze
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import DIFFERENTIATE, EXACT, REASSOCIATES
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.shape.moved import Moved
from tg.types.dtypes import float_limits, is_complex, is_float, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ROOTS = (sqrt, power)
TERMS = 4  # of a sum that may be the polynomial of a kernel


def _number(v: Variable) -> float | None:
    if not isinstance(v, Constant) or v.data.ndim or is_complex(v.type.dtype):
        return None
    return float(v.data)


def _under_root(node: Apply) -> Variable | None:
    """x of sqrt(x), or of x**0.5."""
    x = node.inputs[0]
    if not is_float(x.type.dtype) or (node.key is power and _number(node.inputs[1]) != 0.5):
        return None
    return x


def _squared(v: Variable) -> Variable | None:
    """x of x**2, however it is spelled; x / y of x**2 / y**2."""
    if is_made_by(v, square):
        return v.inputs[0]
    if is_made_by(v, power):
        return v.inputs[0] if _number(v.inputs[1]) == 2 else None
    if is_made_by(v, multiply):
        return v.inputs[0] if v.inputs[0] is v.inputs[1] else None
    if is_made_by(v, divide):
        above, below = _squared(v.inputs[0]), _squared(v.inputs[1])
        return None if above is None or below is None else divide(above, below)
    return None


def _dotted(total: Variable) -> Variable | None:
    """x of the product of a vector x with itself."""
    product = Moved.of(total, Squeeze).single() if total.type.ndim == 0 else None
    if product is None or type(product.op) is not MatMul:
        return None
    row, column = product.inputs
    x, y = Moved.of(row, ExpandDims).with_axes((-2,)), Moved.of(column, ExpandDims).with_axes((-1,))
    return x if x is not None and x is y and x.type.ndim == 1 else None


def _signed(x: Variable) -> Variable:
    """A real x of |x|: for functions that are even."""
    return x.inputs[0] if is_made_by(x, absolute) and x.inputs[0].type.dtype == x.type.dtype else x


@rule_of(Norm, radius, hypot, cos, cosh, phase=DIFFERENTIATE, kind=EXACT, example=lambda x: cosh(absolute(x)))
def _even_function_of_absolute(op: Any, *inputs: Variable) -> Variable | None:
    """f(|x|) as f(x) for an even function f.

    The slope of |x| at 0 is a convention, and an even function has none there.
    """
    operands = [*map(_signed, inputs)]
    if all(a is b for a, b in zip(operands, inputs, strict=True)):
        return None
    return op(*operands)  # type: ignore[no-any-return]


@rule_of_node(*ROOTS, phase=DIFFERENTIATE, kind=REASSOCIATES, example=lambda x: sqrt(reduce_sum(square(x), (-1,))))
def _norm_from_root(node: Apply, outputs: Any) -> Variable | None:
    """sqrt(sum(x**2)) as a norm, sqrt(x**2 + y**2) as a radius, sqrt(x**2) as |x|.

    The slope of a root at 0 is infinite, that of a norm is 0 by convention.
    """
    total = _under_root(node)
    if total is None:
        return None
    x = _squared(total)
    if x is not None:
        return absolute(x)
    if is_made_by(total, power) and (_number(total.inputs[1]) or 0) % 2 == 1 and _number(total.inputs[1]) != 1:
        return power(total.inputs[0], total.inputs[1].data / 2)  # type: ignore[attr-defined]
    if is_made_by(total, add):
        a, b = map(_squared, total.inputs)
        return radius(a, b) if a is not None and b is not None and a.type.dtype == b.type.dtype else None
    length = Moved.of(total, ExpandDims, most=1).then(_length)
    return None if length is None else length.here()


def _length(total: Variable) -> Variable | None:
    """The norm of x, where a value is sum(x**2) or the product of a vector x with itself."""
    op: Any = total.op
    if type(op) is Reduce and op.fn is add:
        x, axes = _squared(total.inputs[0]), op.axes
    else:
        x, axes = _dotted(total), (-1,)
    if x is None or x.type.dtype != total.type.dtype:
        return None
    return Norm(axes)(_signed(x))  # type: ignore[no-any-return]


def _square(x: Variable) -> Variable:
    """x**2, of an absolute value without it."""
    if not is_made_by(x, absolute):
        return square(x)
    (z,) = x.inputs
    return add(square(real(z)), square(imag(z))) if is_complex(z.type.dtype) else square(z)


def _sum_of_squares(x: Variable) -> Variable | None:
    """The square of an absolute value, a norm, a radius or a root, written without it."""
    if is_made_by(x, absolute):
        return _square(x)
    if is_made_by(x, flat_root):
        return x.inputs[0]
    if is_made_by(x, radius) or is_made_by(x, hypot):
        return add(*map(_square, x.inputs))
    length = Moved.of(x, ExpandDims, most=1)
    op = length.made_by(Norm)
    return length.again(lambda v: reduce_sum(_square(v.inputs[0]), op.axes)) if op else None


@rule_of_node(
    square,
    power,
    multiply,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    below=(absolute, flat_root, radius, hypot, Norm, ExpandDims),
    example=lambda x: square(absolute(x)),
)
def _square_of_norm(node: Apply, outputs: Any) -> Variable | None:
    """|x|**2, norm(x)**2 and even powers of them. The square of a norm is smooth at 0, where the norm is not."""
    x = node.inputs[0]
    if not is_float(x.type.dtype):
        return None
    exponent = 2.0
    if node.key is power:
        number = _number(node.inputs[1])
        if number is None or number <= 0 or number % 2:
            return None
        exponent = number
    elif node.key is multiply and x is not node.inputs[1]:
        return None
    total = _sum_of_squares(x)
    return total if total is None or exponent == 2 else power(total, exponent / 2)


@rule_of(
    power, phase=DIFFERENTIATE, kind=REASSOCIATES, example=lambda x: power(absolute(x), np.array(3, x.type.numpy_dtype))
)
def _power_of_absolute(op: Any, x: Variable, y: Variable) -> Variable | None:
    """|x|**y with a number y > 1, and the power y > 2 of a length; x of x**1.

    The slope of |x| at 0 is a convention, but that of |x|**3 a limit.
    """
    number = _number(y)
    if number is None or not is_float(x.type.dtype):
        return None
    if number == 1:
        return x
    if is_made_by(x, absolute) and number > 1 and number % 2:
        (z,) = x.inputs
        return absolute_power(z, y) if z.type.dtype == x.type.dtype else None
    total = _sum_of_squares(x) if number > 2 and number % 2 else None
    return None if total is None else radial_power(x, total, y)


@rule_of_node(
    power,
    square,
    multiply,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    below=(sqrt, flat_power, reciprocal, divide),
    example=lambda x: square(sqrt(x)),
)
def _power_of_inner_power(node: Apply, outputs: Any) -> Variable | None:
    """sqrt(x)**n for n >= 2, as it is below 0; (x**c)**n of a root x**c of a sum of powers for c n >= 1; (1 / x)**c.

    The slope of a root at 0 is infinite, that of its square is not.
    """
    x = node.inputs[0]
    if not is_float(x.type.dtype) or x.apply is None or (node.key is multiply and not _is_same(x, node.inputs[1])):
        return None
    number = _number(node.inputs[1]) if node.key is power else 2.0
    if number is None:
        return None
    kind = numpy_dtype(x.type.dtype).type
    if is_made_by(x, sqrt) and number >= 2:
        (u,) = x.inputs
        whole = u if number == 2 else power(u, kind(number / 2))
        return whole if holds(u, "nonnegative") else where(less(u, kind(0)), outputs[0], whole)
    if is_made_by(x, flat_power):
        exponent = (_number(x.inputs[1]) or 0) * number
        near = round(exponent) if abs(exponent - round(exponent)) < 1e-6 else exponent
        return None if near < 1 else x.inputs[0] if near == 1 else power(x.inputs[0], kind(near))
    if node.key is power and (is_made_by(x, reciprocal) or (is_made_by(x, divide) and _number(x.inputs[0]) == 1)):
        return power(x.inputs[-1], kind(-number))
    return None


@rule_of_node(
    multiply,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    below=(exp,),
    example=lambda x: (1 + absolute(x)) * exp(-absolute(x)),
)
def _matern_from_product(node: Apply, outputs: Any) -> Variable | None:
    """(1 + r) * exp(-r) and (1 + r + r**2 / 3) * exp(-r) for a multiple r of a length, with a factor or without.

    The slopes of its factors at 0 are conventions, that of the product by the square of r is a limit.
    """
    if not is_float(node.types[0].dtype):
        return None
    for rest, decay in (node.inputs, node.inputs[::-1]):
        c, length = _multiple(decay.inputs[0]) if is_made_by(decay, exp) else (0.0, None)
        total = None if length is None or c >= 0 else _sum_of_squares(length)
        if total is None or length is None:
            continue
        kernel = _matern(rest, length, total, -c)
        if kernel is not None:
            return kernel
        for factor, polynomial in (rest.inputs, rest.inputs[::-1]) if is_made_by(rest, multiply) else ():
            kernel = _matern(polynomial, length, total, -c)
            if kernel is not None:
                return multiply(factor, kernel)
    return None


def _matern(polynomial: Variable, length: Variable, total: Variable, c: float) -> Variable | None:
    """The polynomial of a kernel times exp(-c * length), where the total is the square of the length."""
    terms = _terms(polynomial)
    if terms is None:
        return None
    factors = [0.0, 0.0, 0.0]
    for factor, v in terms:
        if v is None or _is_same(v, length):
            factors[v is not None] += factor
        elif _is_same(v, total):
            factors[2] += factor
        else:
            x = _squared(v)
            parts = [*map(_multiple, (x, x) if x is not None else v.inputs if is_made_by(v, multiply) else ())]
            if len(parts) != 2 or any(base is None or not _is_same(base, length) for _, base in parts):
                return None
            factors[2] += factor * parts[0][0] * parts[1][0]
    kind = numpy_dtype(length.type.dtype).type
    close = 8 * float(float_limits(length.type.dtype).eps)
    for fn, last in ((matern_3_2, 0.0), (matern_5_2, c * c / 3)):
        if np.allclose(factors, (1, c, last), rtol=close, atol=0):
            return fn(multiply(length, kind(c)), multiply(total, kind(c * c)))
    return None


def _multiple(v: Variable) -> tuple[float, Variable | None]:
    """A value as a number times another one; a number as a multiple of None."""
    factor = 1.0
    while True:
        number = _number(v)
        if number is not None:
            return factor * number, None
        if is_made_by(v, negative):
            v, factor = v.inputs[0], -factor
        elif is_made_by(v, divide) and (number := _number(v.inputs[1])):
            v, factor = v.inputs[0], factor / number
        elif is_made_by(v, multiply):
            numbers = [*map(_number, v.inputs)]
            k = 0 if numbers[0] is None else 1
            if numbers[1 - k] is None:
                return factor, v
            v, factor = v.inputs[k], factor * numbers[1 - k]  # type: ignore[operator]
        else:
            return factor, v


def _terms(v: Variable) -> list[tuple[float, Variable | None]] | None:
    """The terms of a sum of at most so many, as multiples."""
    stack, terms = [(v, 1.0)], []
    while stack:
        u, sign = stack.pop()
        if is_made_by(u, add) or is_made_by(u, subtract):
            stack += [(u.inputs[0], sign), (u.inputs[1], sign if is_made_by(u, add) else -sign)]
        else:
            factor, base = _multiple(u)
            terms.append((sign * factor, base))
        if len(stack) + len(terms) > TERMS:
            return None
    return terms


def _is_same(a: Variable, b: Variable, depth: int = 4) -> bool:
    """Whether two values are made in the same way of the same values."""
    if a is b:
        return True
    if a.apply is None or b.apply is None or not depth or (a.apply.op, a.index) != (b.apply.op, b.index):
        return False
    return all(_is_same(u, v, depth - 1) for u, v in zip(a.apply.inputs, b.apply.inputs, strict=True))


FORMS = (
    _norm_from_root,
    _even_function_of_absolute,
    _square_of_norm,
    _power_of_absolute,
    _power_of_inner_power,
    _matern_from_product,
)
