"""Rules of powers: squares, roots, and exponents that are known."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, cbrt, divide, multiply, negative, power, sqrt, square
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp2
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import FLOATING, INTEGER, cases, equations, rule, rule_of, rule_of_node
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    is_nonnegative,
    is_not_negative,
)
from tg.rules.elementwise.arithmetic.scalars import beside, constant, exact, size
from tg.types.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rules.elementwise.arithmetic.scalars import Exact

LARGEST_BY_PRODUCTS: Final = 8  # of floats; each product rounds


def exponent_of(v: Variable) -> tuple[Variable, Exact] | None:
    """The base and the exponent of a power with a known exponent; squares are powers."""
    if is_made_by(v, square):
        return v.inputs[0], 2
    n = exact(v.inputs[1]) if is_made_by(v, power) else None
    return None if n is None else (v.inputs[0], n)


def raised(x: Variable, n: Exact, result: Variable) -> Variable | None:
    """x**n, by a square where it is one; None where n is no number of the dtype: powers show each rounding of it."""
    if n == 2:
        return square(x)
    c = constant(n, result.type.dtype)
    if c is None or exact(c) != n:
        return None
    return power(x, beside(c, x, result))


def is_whole(n: Exact) -> bool:
    """Whether a number is an integer."""
    return n.denominator == 1


@rule_of_node(power, square, kind=REASSOCIATES, below=(power, square), example=lambda x: power(power(x, 3), 4))
def _power_of_power(node: Apply, outputs: Any) -> Variable | None:
    """(x**m)**n as x**(m*n), or |x|**(m*n) where m is even and n is no integer; two squares are cheap as they are.

    One power.
    """
    (y,) = outputs
    if is_made_by(y, square) and is_made_by(node.inputs[0], square):
        return None
    outer = exponent_of(y)
    if outer is None:
        return None
    inner = exponent_of(outer[0])
    if inner is None:
        return None
    (x, m), n = inner, outer[1]
    if not is_whole(m):  # what is below 0 gives NaN, and -0.0 what 0.0 gives
        return raised(x, m * n, y) if not is_whole(m * n) or is_not_negative(x) else None
    if is_whole(n):
        return raised(x, m * n, y)
    if m % 2 == 0:
        return raised(x, m * n, y) if (m * n) % 2 == 0 else raised(absolute(x), m * n, y)
    return raised(x, m * n, y)


@rule_of_node(sqrt, kind=REASSOCIATES, below=(power,), example=lambda x: sqrt(power(x, 4)))
def _root_of_power(node: Apply, outputs: Any) -> Variable | None:
    """sqrt(x**n) as |x|**(n / 2) for an even n. One power, without overflow on the way."""
    match = exponent_of(node.inputs[0])
    if match is None or not is_float(outputs[0].type.dtype):
        return None
    x, n = match
    if n % 2:
        return None
    return raised(x if n % 4 == 0 else absolute(x), Fraction(n, 2), outputs[0])


@rule_of(power, kind=REASSOCIATES, below=(negative, absolute), example=lambda x: power(-x, 3))
def _power_of_signed(op: Any, y: Variable, n: Variable) -> Variable | None:
    """(-x)**n and |x|**n for an integer n, by x**n. An even power has no sign, and an odd one has that of its base."""
    number = exact(n)
    if number is None or not is_float(y.type.dtype) or not is_whole(number):
        return None
    even = number % 2 == 0
    if not (is_made_by(y, negative) or (is_made_by(y, absolute) and even)) or not is_float(y.inputs[0].type.dtype):
        return None
    value = power(y.inputs[0], n)
    return value if even else negative(value)


@rule_of_node(power, square, kind=REASSOCIATES, below=(sqrt,), example=lambda x: power(sqrt(absolute(x)), 3))
def _power_of_root(node: Apply, outputs: Any) -> Variable | None:
    """sqrt(x)**n as x**(n / 2), where x is not below 0. One power of what is not below 0."""
    match = exponent_of(outputs[0])
    if match is None or not is_float(outputs[0].type.dtype):
        return None
    (x,), n = match[0].inputs, match[1]
    keeps = is_not_negative(x) or (n > 0 and is_nonnegative(x))  # sqrt(-0.0)**-3 is -inf
    return raised(x, Fraction(n) / 2, outputs[0]) if keeps and n != 2 else None


@rule_of(power, phase=SPECIALIZE, kind=REASSOCIATES, below=(Constant,), example=lambda x: x**3)
def _small_power(op: Any, x: Variable, c: Variable) -> Any:
    """A power by products: x**n for a small integer n, also below 0, and a root more where n has a half.

    A few products are faster than a power.
    """
    n = exact(c)
    if not n or not is_float(x.type.dtype):
        return None
    count = size(n)
    if count > LARGEST_BY_PRODUCTS or not is_whole(2 * n):
        return None
    if not is_whole(count) and not is_not_negative(x):
        return None
    value = _by_squares(x, int(count))
    if not is_whole(count):
        root: Variable = sqrt(x)
        value = root if value is None else multiply(value, root)
    assert value is not None
    return value if n > 0 else divide(1, value)


@rule_of(power, kind=EXACT, below=(Constant,), example=lambda x: power(1, x))
def _one_to_power(op: Any, *operands: Variable) -> Any:
    """1**x is 1 for every x, NaN included."""
    return 1 if exact(operands[0]) == 1 else None


def _by_squares(x: Variable, n: int) -> Variable | None:
    """x**n by squaring and multiplying, None for n = 0."""
    product: Variable | None = None
    factor = x
    while n:
        if n & 1:
            product = factor if product is None else multiply(product, factor)
        n >>= 1
        if n:
            factor = square(factor)
    return product


def _exact_power_half(x: Any) -> Variable:
    """sqrt(x), except that x**0.5 is inf at -inf."""
    kind = numpy_dtype(x.type.dtype).type
    return where(equal(x, kind(-np.inf)), kind(np.inf), sqrt(x))


def _exact_power_minus_half(x: Any) -> Variable:
    """1 / sqrt(x), except that x**-0.5 is 0 at -inf, and inf also at -0.0."""
    kind = numpy_dtype(x.type.dtype).type
    return where(equal(x, kind(-np.inf)), kind(0), divide(1, absolute(sqrt(x))))


RULES = (
    *equations(
        CANONICALIZE,
        EXACT,
        (
            ("power_zero", lambda x: x**0, lambda x: 1, "x**0 is 1 for every x, NaN included."),
            ("power_one", lambda x: x**1, lambda x: x, "x**1 is x."),
        ),
        dtypes=REAL,
    ),
    _one_to_power,
    *cases(
        "power_two",
        match=lambda x: x**2,
        replace=square,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, FLOATING: REASSOCIATES},
        why="One product, correctly rounded, and modulo the width as the power is; a power is not everywhere.",
    ),
    rule(
        "power_minus_one",
        match=lambda x: x**-1,
        replace=lambda x: 1 / x,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One quotient, correctly rounded, in the form that other rules look for.",
    ),
    rule(
        "power_of_two",
        match=lambda x: 2**x,
        replace=exp2,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="An exponential is faster than a power.",
    ),
    _power_of_power,
    _root_of_power,
    _power_of_signed,
    _power_of_root,
    rule(
        "power_half_of_positive",
        match=lambda x: x**0.5,
        replace=sqrt,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        when=is_not_negative,
        why="A root is faster and correctly rounded; -0.0 and -inf, where they differ, do not occur.",
    ),
    rule(
        "power_half",
        match=lambda x: x**0.5,
        replace=_exact_power_half,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A root is faster and correctly rounded; x**0.5 is inf at -inf, which is kept. At -0.0 the sign differs.",
    ),
    rule(
        "power_minus_half",
        match=lambda x: x**-0.5,
        replace=_exact_power_minus_half,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A root and a quotient are faster; x**-0.5 is 0 at -inf and inf at -0.0, which is kept.",
    ),
    _small_power,
    *equations(
        CANONICALIZE,
        EXACT,
        (
            ("square_of_negative", lambda x: square(-x), square, "A square has no sign."),
            ("square_of_absolute", lambda x: square(absolute(x)), square, "A square has no sign."),
        ),
        dtypes=REAL,
    ),
    rule(
        "root_of_square",
        match=lambda x: sqrt(square(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="|x|, without overflow of the square.",
    ),
    *cases(
        "square_of_root",
        match=lambda x: square(sqrt(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind={is_nonnegative: REASSOCIATES, FLOATING: NAN_UNSAFE},
        why="What is not below 0 has a root; NaN where x is below 0.",
    ),
    *equations(
        CANONICALIZE,
        REASSOCIATES,
        (
            ("cube_of_cube_root", lambda x: cbrt(x) ** 3, lambda x: x, "Every number has one real cube root."),
            ("cube_root_of_cube", lambda x: cbrt(x**3), lambda x: x, "Every number has one real cube root."),
        ),
    ),
)
