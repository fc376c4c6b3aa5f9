"""Rules of signs: negations, absolute values and signs of one another; and the zero that no derivative passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.facts import holds
from tg.ops.elementwise.arithmetic import absolute, divide, hypot, multiply, negative, sign
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import FLOATING, equations, rule, rule_of
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
    is_not_negative,
    is_scalar_constant,
)

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def _is_negative(x: Variable) -> bool:
    """Whether no element is above 0, nor 0.0 itself."""
    return holds(x, "negative")


@rule_of(absolute, kind=EXACT, below=(multiply, divide), example=lambda x: absolute(x * -3))
def _absolute_of_multiple(op: Any, y: Variable) -> Variable | None:
    """|x * c| as |x| * |c|, and |x / c|, |c / x| likewise. Constants move outwards, where they meet others."""
    if y.type.dtype not in FLOATING or not any(map(is_scalar_constant, y.inputs)):
        return None
    inner: Any = y.op
    x, c = y.inputs
    return inner(absolute(x), absolute(c))  # type: ignore[no-any-return]


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
        "sign_times_absolute",
        match=lambda x: sign(x) * absolute(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Direction times size; -0.0 has the direction 0.0.",
    ),
    rule(
        "times_own_sign",
        match=lambda x: x * sign(x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="The sign that turns x to the other side of 0 or leaves it; -0.0 times 0.0 is -0.0.",
    ),
    _absolute_of_multiple,
    *equations(
        CANONICALIZE,
        EXACT,
        (
            ("hypot_of_negative", lambda x, y: hypot(-x, y), hypot, "A length has no sign."),
            ("hypot_with_negative", lambda x, y: hypot(x, -y), hypot, "A length has no sign."),
            ("hypot_with_zero", lambda x: hypot(x, 0), absolute, "The length of what lies along one axis."),
            ("hypot_of_zero", lambda x: hypot(0, x), absolute, "The length of what lies along one axis."),
        ),
    ),
)
