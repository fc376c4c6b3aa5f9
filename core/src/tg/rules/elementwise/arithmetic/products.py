"""Rules of products and quotients: neutral elements, signs moved outwards, constants that combine.

What needs to know whether a factor is used elsewhere is in `product_pass`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import divide, gate, multiply, negative, reciprocal, square
from tg.ops.shape import expand_dims_at
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO, SPECIALIZE
from tg.rewrite.rule import FLOATING, INTEGER, cases, node_rule, rule, rule_of, rule_of_node
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
    is_finite,
    is_finite_and_nonzero,
    is_scalar_constant,
)
from tg.rules.elementwise.arithmetic.scalars import Scale, exact, size

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


@rule_of(multiply, kind=EXACT, below=(negative,), example=lambda x: -x * 3)
def _negative_times_constant(op: Any, x: Variable, c: Variable) -> Variable | None:
    """-x * c: the sign goes into the constant. The sign costs nothing inside the constant."""
    return multiply(x.inputs[0], _negated(c)) if x.type.dtype in SIGNED and is_scalar_constant(c) else None


@rule_of(negative, kind=EXACT, below=(multiply,), example=lambda x: -(x * 3))
def _negative_of_multiple(op: Any, y: Variable) -> Variable | None:
    """-(x * c): the sign goes into the constant. The sign costs nothing inside the constant."""
    x, c = y.inputs
    return multiply(x, _negated(c)) if y.type.dtype in SIGNED and is_scalar_constant(c) else None


@rule_of(negative, kind=EXACT, below=(divide,), example=lambda x: -(x / 3))
def _negative_of_quotient(op: Any, y: Variable) -> Variable | None:
    """-(x / c) as x / -c, and -(c / x) as -c / x. The sign costs nothing inside the constant."""
    if y.type.dtype not in FLOATING:
        return None
    x, c = y.inputs
    if is_scalar_constant(c):
        return divide(x, _negated(c))
    return divide(_negated(x), c) if is_scalar_constant(x) else None


@rule_of(divide, kind=EXACT, below=(negative,), example=lambda x: -x / 3)
def _negative_over_constant(op: Any, x: Variable, c: Variable) -> Variable | None:
    """-x / c as x / -c, and c / -x as -c / x. The sign costs nothing inside the constant."""
    if x.type.dtype not in FLOATING:
        return None
    if is_scalar_constant(c):
        return divide(x.inputs[0], _negated(c))
    return divide(_negated(x), c.inputs[0]) if is_scalar_constant(x) else None


def _negated(c: Any) -> Constant:
    return Constant(np.asarray(-c.data))


class Multiple(NamedTuple):
    """scale * x**e, where e is 1 or -1."""

    x: Variable
    e: int
    scale: Scale


def _as_multiple(v: Variable) -> Multiple | None:
    """A value that is x * c, x / c or c / x for a number c other than 0."""
    if is_made_by(v, multiply):
        x, c = v.inputs
        if number := exact(c):
            return Multiple(x, 1, Scale(number))
    elif is_made_by(v, divide):
        x, c = v.inputs
        if number := exact(c):
            return Multiple(x, 1, Scale(1, number))
        if number := exact(x):
            return Multiple(c, -1, Scale(number))
    return None


def _combined_factors(dtypes: frozenset[str]) -> Any:
    """(x * c) / d, d / (c / x) and the like with one constant, where it is a normal number."""

    def apply(node: Apply, outputs: Any) -> Variable | None:
        (y,) = outputs
        outer = _as_multiple(y) if y.type.dtype in dtypes else None
        if outer is None:
            return None
        inner = _as_multiple(outer.x)
        if inner is None:
            return None
        scale = outer.scale.times(inner.scale.to_power(outer.e))
        return scale.of(inner.x, y) if outer.e == inner.e else scale.over(inner.x, y)

    return apply


@rule_of_node(divide, phase=SPECIALIZE, kind=EXACT, below=(Constant,), example=lambda x: x / 4)
def _divide_by_power_of_two(node: Apply, outputs: Any) -> Variable | None:
    """The product x * (1 / c) for x / c, where c is a power of two whose reciprocal is a normal number.

    The reciprocal of a power of two is exact, and a product is faster than a quotient.
    """
    x, c = node.inputs
    number = exact(c)
    if not number or x.type.dtype not in ("float32", "float64"):
        return None
    n = int(size(number.numerator))
    return Scale(1 / Fraction(number)).of(x, outputs[0]) if n & (n - 1) == 0 else None


def _is_number(x: Variable) -> bool:
    """Whether 0 / x is 0 in every element."""
    return holds(x, "nonzero") and holds(x, "not_nan")


def _is_divisor_first(x: Variable, y: Variable) -> bool:
    return is_finite_and_nonzero(x)


CANCELLED: Final = (  # what is left where a factor and its reciprocal meet
    ("product_over_factor", lambda x, y: (x * y) / x, lambda x, y: y),
    ("quotient_times_divisor", lambda x, y: (y / x) * x, lambda x, y: y),
    ("factor_over_product", lambda x, y: x / (x * y), lambda x, y: 1 / y),
    ("factor_over_quotient", lambda x, y: x / (x / y), lambda x, y: y),
    ("quotient_over_dividend", lambda x, y: (x / y) / x, lambda x, y: 1 / y),
)


@rule_of(gate, kind=EXACT, below=(Constant,), example=lambda x: gate(Constant(np.asarray(2, x.type.numpy_dtype)), x))
def _gate_of_constant(op: Any, x: Variable, y: Variable) -> Any:
    """0 where the first operand is, else the product, of what the program says.

    A gate is closed where the first operand is 0 and a product where it is not.
    """
    if not isinstance(x, Constant) or not x.data.size:
        return None
    if not x.data.any():
        return 0
    return multiply(x, y) if x.data.all() else None


@rule_of(gate, kind=SIGNED_ZERO, example=lambda x: gate(x, Constant(np.asarray(2, x.type.numpy_dtype))))
def _gate_of_finite(op: Any, x: Variable, y: Variable) -> Variable | None:
    """0 times a finite number is 0, up to its sign."""
    return multiply(x, y) if is_finite(y) else None


SMALLER: Final = 4  # times, what is divided in the place of what would be


@rule_of_node(
    divide,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    below=(multiply,),
    example=lambda x, y: expand_dims_at(x, (-1,)) * expand_dims_at(y, (-2,)) / expand_dims_at(x, (-1,)),
)
def _quotient_of_smaller_factor(node: Apply, outputs: Any) -> Variable | None:
    """x * z / y as (x / y) * z where x and y are repeated along axes of z. A float32 has little room for x / y.

    A quotient takes as long as several products: it is made of the factor that is repeated.
    """
    product, y = node.inputs
    if not is_made_by(product, multiply) or product.type.dtype != "float64":
        return None
    shapes: Any = [v.type.shape for v in (outputs[0], *product.inputs, y)]
    if any(None in shape for shape in shapes):
        return None
    whole, first, second, below = shapes
    for shape, x, z in zip((first, second), product.inputs, product.inputs[::-1], strict=True):
        if math.prod(np.broadcast_shapes(shape, below)) * SMALLER <= math.prod(whole):
            return multiply(divide(x, y), z)
    return None


RULES = (
    _gate_of_constant,
    _gate_of_finite,
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
    *cases(
        "multiply_by_zero",
        match=lambda x: x * 0,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, is_finite: SIGNED_ZERO, FLOATING: NAN_UNSAFE},
        why="A finite number times 0 is 0, up to its sign; NaN where x is NaN or infinite.",
    ),
    rule(
        "divide_by_itself",
        match=lambda x: x / x,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is 0, NaN or infinite.",
    ),
    *(
        one
        for name, match, replace in CANCELLED
        for one in cases(
            name,
            match=match,
            replace=replace,
            phase=CANONICALIZE,
            kind={_is_divisor_first: REASSOCIATES, FLOATING: NAN_UNSAFE},
            why="x / x is 1; NaN where x is 0, NaN or infinite.",
        )
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
    _negative_times_constant,
    _negative_of_multiple,
    _negative_over_constant,
    _negative_of_quotient,
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
        keys=(multiply, divide),
        apply=_combined_factors(FLOATING),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x * 2) / 3 is one product; gradients are full of them.",
        example=lambda x: x * 3 * 0.25,
        below=(Constant,),
    ),
    _quotient_of_smaller_factor,
    rule(
        "reciprocal_as_quotient",
        match=reciprocal,
        replace=lambda x: 1 / x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="One form for what other rules look for.",
    ),
    rule(
        "inverse_of_quotient",
        match=lambda x, y: 1 / (x / y),
        replace=lambda x, y: y / x,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One quotient.",
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
    _divide_by_power_of_two,
)
