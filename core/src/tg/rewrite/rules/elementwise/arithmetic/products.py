"""Rules of products and quotients: neutral elements, signs moved outwards, constants that combine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    divide,
    multiply,
    negative,
    reciprocal,
    square,
)
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import INTEGER, node_rule, rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
    combined,
    is_made_by,
    is_scalar_constant,
)

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _scaled_negative(node: Apply, outputs: Any) -> Variable | None:
    """-x * c and c * -x: the sign goes into the constant."""
    if node.inputs[0].type.dtype not in SIGNED:
        return None
    for x, c in (node.inputs, node.inputs[::-1]):
        if is_scalar_constant(c) and is_made_by(x, negative):
            return multiply(x.inputs[0], _negated(c))
    return None


def _negative_scaled(node: Apply, outputs: Any) -> Variable | None:
    """-(x * c): the sign goes into the constant."""
    (y,) = node.inputs
    if y.type.dtype not in SIGNED or not is_made_by(y, multiply):
        return None
    for x, c in (y.inputs, y.inputs[::-1]):
        if is_scalar_constant(c):
            return multiply(x, _negated(c))
    return None


def _negated(c: Any) -> Constant:
    return Constant(np.asarray(-c.data))


def _reciprocal_factor(node: Apply, outputs: Any) -> Variable | None:
    """The product x * (1 / c) for x / c, where c is a power of two whose reciprocal is a normal number."""
    x, c = node.inputs
    if not is_scalar_constant(c) or x.type.dtype not in ("float32", "float64"):
        return None
    value = c.data  # type: ignore[attr-defined]
    mantissa, exponent = np.frexp(value)
    if np.abs(mantissa) != 0.5 or np.abs(exponent) > 100:
        return None
    return multiply(x, Constant(np.asarray(1 / value, value.dtype)))


RULES = (
    rule(
        "multiply_by_one",
        match=lambda x: x * 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="1 is neutral. Not for complex numbers, whose product with 1 has NaN where x has an infinity.",
    ),
    rule(
        "divide_by_one",
        match=lambda x: x / 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="1 is neutral.",
    ),
    rule(
        "multiply_by_zero_integer",
        match=lambda x: x * 0,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Integers have no NaN.",
    ),
    rule(
        "multiply_by_zero",
        match=lambda x: x * 0,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is NaN or infinite.",
    ),
    rule(
        "divide_by_itself",
        match=lambda x: x / x,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is 0, NaN or infinite.",
    ),
    rule(
        "product_of_negatives",
        match=lambda x, y: -x * -y,
        replace=lambda x, y: x * y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The signs cancel.",
    ),
    rule(
        "quotient_of_negatives",
        match=lambda x, y: -x / -y,
        replace=lambda x, y: x / y,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The signs cancel.",
    ),
    node_rule(
        "negative_times_constant",
        keys=(multiply,),
        apply=_scaled_negative,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign costs nothing inside the constant.",
        example=lambda x: -x * 3,
    ),
    node_rule(
        "negative_of_multiple",
        keys=(negative,),
        apply=_negative_scaled,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign costs nothing inside the constant.",
        example=lambda x: -(x * 3),
    ),
    rule(
        "negative_product",
        match=lambda x, y: -x * y,
        replace=lambda x, y: -(x * y),
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="Signs move outwards, where they meet sums and other signs.",
    ),
    rule(
        "negative_quotient",
        match=lambda x, y: -x / y,
        replace=lambda x, y: -(x / y),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Signs move outwards, where they meet sums and other signs.",
    ),
    node_rule(
        "combine_factors",
        keys=(multiply,),
        apply=combined(multiply),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x * 2) * 0.5 is one product; gradients are full of them.",
        example=lambda x: x * 3 * 0.25,
    ),
    rule(
        "reciprocal_as_quotient",
        match=reciprocal,
        replace=lambda x: 1 / x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One form for what other rules look for.",
    ),
    rule(
        "product_with_itself",
        match=lambda x: x * x,
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="One form for what other rules look for.",
    ),
    node_rule(
        "divide_by_power_of_two",
        keys=(divide,),
        apply=_reciprocal_factor,
        phase=SPECIALIZE,
        kind=EXACT,
        why="The reciprocal of a power of two is exact, and a product is faster than a quotient.",
        example=lambda x: x / 4,
    ),
)
