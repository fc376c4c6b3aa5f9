"""Rules of signs: negations, absolute values and signs of one another; and the zero that no derivative passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.ops.elementwise.arithmetic import absolute, copysign, divide, hypot, multiply, negative, sign, square
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, SIGNED_ZERO
from tg.rewrite.rule import FLOATING, INTEGER, node_rule, rule
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
    SIGNED_INTEGER,
    is_finite_and_nonzero,
    is_not_negative,
    is_scalar_constant,
)
from tg.rules.elementwise.arithmetic.scalars import exact, size

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

UNSIGNED: Final = INTEGER - SIGNED_INTEGER


def _is_negative(x: Variable) -> bool:
    """Whether no element is above 0, nor 0.0 itself."""
    return holds(x, "negative")


def _absolute_of_multiple(node: Apply, outputs: Any) -> Variable | None:
    """|x * c| as |x| * |c|, and |x / c|, |c / x| likewise."""
    (y,) = node.inputs
    if y.type.dtype not in FLOATING or not any(map(is_scalar_constant, y.inputs)):
        return None
    made: Any = y.op
    x, c = y.inputs
    return made(absolute(x), absolute(c))  # type: ignore[no-any-return]


def _sign_of_multiple(node: Apply, outputs: Any) -> Variable | None:
    """sign(x * c) as sign(x) or -sign(x), where |c| >= 1, so that no product vanishes."""
    (y,) = node.inputs
    if y.type.dtype not in FLOATING:
        return None
    x, c = y.inputs
    number = exact(c)
    if number is None or size(number) < 1 or x.type.ndim != y.type.ndim:
        return None
    return sign(x) if number > 0 else negative(sign(x))


RULES = (
    rule(
        "multiply_by_minus_one",
        match=lambda x: x * -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="Changing the sign is cheaper than a product, and has one form.",
    ),
    rule(
        "divide_by_minus_one",
        match=lambda x: x / -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Changing the sign is cheaper than a quotient, and has one form.",
    ),
    rule(
        "double_negative",
        match=lambda x: -negative(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="Two changes of sign cancel.",
    ),
    rule(
        "absolute_of_negative",
        match=lambda x: absolute(-x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_absolute",
        match=lambda x: absolute(absolute(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_square",
        match=lambda x: absolute(square(x)),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A floating square has no sign.",
    ),
    rule(
        "absolute_of_unsigned",
        match=absolute,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=UNSIGNED,
        why="There is no sign to lose.",
    ),
    rule(
        "absolute_of_nonnegative",
        match=absolute,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        when=is_not_negative,
        why="There is no sign to lose.",
    ),
    rule(
        "absolute_of_below_zero",
        match=absolute,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        when=_is_negative,
        why="A change of sign is what is left of an absolute value.",
    ),
    rule(
        "absolute_of_copysign",
        match=lambda x, y: absolute(copysign(x, y)),
        replace=lambda x, y: absolute(x),
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign that was put on is lost.",
    ),
    rule(
        "copysign_of_negative",
        match=lambda x, y: copysign(-x, y),
        replace=copysign,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign of the first operand is not read.",
    ),
    rule(
        "copysign_of_absolute",
        match=lambda x, y: copysign(absolute(x), y),
        replace=copysign,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign of the first operand is not read.",
    ),
    rule(
        "copysign_of_itself",
        match=lambda x: copysign(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="x has its own sign.",
    ),
    rule(
        "sign_of_sign",
        match=lambda x: sign(sign(x)),
        replace=sign,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The sign of a sign is that sign.",
    ),
    rule(
        "sign_of_negative",
        match=lambda x: sign(-x),
        replace=lambda x: -sign(x),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Signs move outwards; the sign of 0 is 0.0, and -0.0 after.",
    ),
    node_rule(
        "sign_of_multiple",
        keys=(sign,),
        apply=_sign_of_multiple,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="The size of a factor does not show in a sign.",
        example=lambda x: sign(x * -3),
        below=(multiply,),
    ),
    rule(
        "sign_of_positive",
        match=sign,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        when=lambda x: holds(x, "positive") and holds(x, "not_nan"),
        why="What is above 0 has the sign 1.",
    ),
    rule(
        "sign_times_absolute",
        match=lambda x: sign(x) * absolute(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Direction times size; -0.0 has the direction 0.0.",
    ),
    rule(
        "integer_sign_times_absolute",
        match=lambda x: sign(x) * absolute(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Direction times size, modulo the width as well.",
    ),
    rule(
        "times_own_sign",
        match=lambda x: x * sign(x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="The sign that turns x to the other side of 0 or leaves it; -0.0 times 0.0 is -0.0.",
    ),
    rule(
        "integer_times_own_sign",
        match=lambda x: x * sign(x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="The sign that turns x to the other side of 0 or leaves it, modulo the width as well.",
    ),
    rule(
        "over_own_absolute_of_finite",
        match=lambda x: x / absolute(x),
        replace=sign,
        phase=CANONICALIZE,
        kind=EXACT,
        when=is_finite_and_nonzero,
        why="1 or -1 by the sign of x.",
    ),
    rule(
        "over_own_absolute",
        match=lambda x: x / absolute(x),
        replace=sign,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is 0 or infinite.",
    ),
    rule(
        "absolute_over_own",
        match=lambda x: absolute(x) / x,
        replace=sign,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is 0 or infinite.",
    ),
    node_rule(
        "absolute_of_multiple",
        keys=(absolute,),
        apply=_absolute_of_multiple,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Constants move outwards, where they meet others.",
        example=lambda x: absolute(x * -3),
        below=(multiply, divide),
    ),
    rule(
        "hypot_of_negative",
        match=lambda x, y: hypot(-x, y),
        replace=hypot,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length has no sign.",
    ),
    rule(
        "hypot_with_negative",
        match=lambda x, y: hypot(x, -y),
        replace=hypot,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length has no sign.",
    ),
    rule(
        "hypot_with_zero",
        match=lambda x: hypot(x, 0),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The length of what lies along one axis.",
    ),
    rule(
        "hypot_of_zero",
        match=lambda x: hypot(0, x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The length of what lies along one axis.",
    ),
)
