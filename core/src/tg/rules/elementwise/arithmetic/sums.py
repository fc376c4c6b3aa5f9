"""Rules of sums: neutral elements, terms that cancel, signs that meet, constants that combine.

What needs to know whether a term is used elsewhere is in `sum_pass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import FLOATING, INTEGER, cases, equations, node_rule, rule, rule_of, rule_of_node
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
    is_finite,
    is_scalar_constant,
    number_of,
)
from tg.rules.elementwise.arithmetic.scalars import Exact, beside, constant, exact, keeps_digits, size
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable


@rule_of(add, kind=EXACT, below=(Constant,), example=lambda x: x + -0.0)
def _add_minus_zero(op: Any, x: Variable, zero: Variable) -> Variable | None:
    """-0.0 is the neutral element of floating addition."""
    return x if _is_zero(zero, negative=True) else None


@rule_of(subtract, kind=EXACT, below=(Constant,), example=lambda x: x - 0.0)
def _subtract_zero(op: Any, x: Variable, zero: Variable) -> Variable | None:
    """x - 0 is x, of floats -0.0 included."""
    return x if _is_zero(zero, negative=False) else None


def _is_zero(v: Variable, *, negative: bool) -> bool:
    """Whether a constant is 0, and of floats the zero of that sign."""
    if not isinstance(v, Constant) or is_complex(v.type.dtype) or v.data.any():
        return False
    return bool((np.signbit(v.data) == negative).all())


@rule_of_node(add, subtract, kind=EXACT, below=(Constant,), example=lambda x: x + -2)
def _positive_constant_term(node: Apply, outputs: Any) -> Variable | None:
    """x + -c as x - c, and x - -c as x + c. x + -2 and x - 2 are one value."""
    x, c = node.inputs
    if not is_scalar_constant(c) or c.type.dtype not in SIGNED:
        return None
    if not number_of(c) < 0 or not number_of(negated := Constant(np.asarray(-c.data))) > 0:  # type: ignore[attr-defined]
        return None
    return subtract(x, negated) if is_made_by(outputs[0], add) else add(x, negated)


def _as_shifted(v: Variable) -> tuple[int, Variable, Exact] | None:
    """Sign, x and c of a value that is x + c, x - c (c negative then) or c - x."""
    if not (is_made_by(v, add) or is_made_by(v, subtract)):
        return None
    x, c = v.inputs
    if (number := exact(c)) is not None:
        return 1, x, (number if is_made_by(v, add) else -number)
    return None if (number := exact(x)) is None else (-1, c, number)


def _combined_terms(dtypes: frozenset[str]) -> Any:
    """(x + c) + d, d - (c - x) and the like as one sum, where the constant is a normal number.

    Where x + c is 0 the sum is d, to the last digit: (1 - p) + 1e-12 has no 0. The rounding of c + d, which x no longer
    cancels then, is to be none, or small beside d.
    """

    def apply(node: Apply, outputs: Any) -> Variable | None:
        (y,) = outputs
        outer = _as_shifted(y) if y.type.dtype in dtypes else None
        if outer is None:
            return None
        inner = _as_shifted(outer[1])
        if inner is None:
            return None
        whole = outer[2] + outer[0] * inner[2]
        total = constant(whole, y.type.dtype)
        if total is None or not keeps_digits(whole, size(outer[2]), y.type.dtype):
            return None
        x, total = inner[1], beside(total, inner[1], y)
        if outer[0] != inner[0]:
            return subtract(total, x)
        return add(x, total)

    return apply


@rule_of(negative, kind=SIGNED_ZERO, below=(add,), example=lambda x: -(x + 3))
def _negative_of_shifted(op: Any, y: Variable) -> Variable | None:
    """-(x + c) as -c - x. The sign costs nothing inside the constant; a sum that is 0 changes its sign."""
    if y.type.dtype not in SIGNED:
        return None
    x, c = y.inputs
    return subtract(Constant(np.asarray(-c.data)), x) if is_scalar_constant(c) else None  # type: ignore[attr-defined]


def _is_finite_first(x: Variable, y: Variable) -> bool:
    return is_finite(x)


CANCELLING: Final[dict[frozenset[str] | Callable[..., bool], str]] = {
    INTEGER: EXACT,
    _is_finite_first: REASSOCIATES,
    FLOATING: NAN_UNSAFE,
}


RULES = (
    _add_minus_zero,
    _subtract_zero,
    *cases(
        "add_zero",
        match=lambda x: x + 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, FLOATING: SIGNED_ZERO},
        why="0 is neutral; -0.0 + 0.0 is 0.0.",
    ),
    *cases(
        "zero_minus",
        match=lambda x: 0 - x,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, FLOATING: SIGNED_ZERO},
        why="A change of sign has one form; 0.0 - 0.0 is 0.0, and -0.0 after.",
    ),
    _positive_constant_term,
    rule(
        "sum_with_itself",
        match=lambda x: x + x,
        replace=lambda x: x * 2,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="A multiple has one form, in which constants meet.",
    ),
    *cases(
        "subtract_itself",
        match=lambda x: x - x,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, is_finite: EXACT, FLOATING: NAN_UNSAFE},
        why="The difference of a finite number and itself is 0; NaN where x is NaN or infinite.",
    ),
    *equations(
        CANONICALIZE,
        EXACT,
        (
            ("subtract_negative", lambda x, y: x - (-y), lambda x, y: x + y, "x - (-y) is x + y, bit for bit."),
            ("add_negative", lambda x, y: x + (-y), lambda x, y: x - y, "x + (-y) is x - y, bit for bit."),
        ),
        dtypes=REAL,
    ),
    *cases(
        "negative_of_difference",
        match=lambda x, y: -(x - y),
        replace=lambda x, y: y - x,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, FLOATING: SIGNED_ZERO},
        why="One difference, modulo the width as well; -(x - x) is -0.0, x - x is 0.0.",
    ),
    _negative_of_shifted,
    node_rule(
        "combine_terms",
        keys=(add, subtract),
        apply=_combined_terms(FLOATING),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x + 1) + 2 is one sum.",
        example=lambda x: x + 3 + 0.25,
        below=(Constant,),
    ),
    node_rule(
        "combine_integer_terms",
        keys=(add, subtract),
        apply=_combined_terms(INTEGER),
        phase=CANONICALIZE,
        kind=EXACT,
        why="(x + 1) + 2 is one sum, modulo the width as well.",
        example=lambda x: cast_variable(x, "int64") + 3 + 2,
        below=(Constant,),
    ),
    *cases(
        "sum_minus_term",
        match=lambda x, y: (x + y) - x,
        replace=lambda x, y: y,
        phase=CANONICALIZE,
        kind=CANCELLING,
        why="x and -x cancel, modulo the width as well; NaN where x is NaN or infinite.",
    ),
    *cases(
        "difference_plus_term",
        match=lambda x, y: (y - x) + x,
        replace=lambda x, y: y,
        phase=CANONICALIZE,
        kind=CANCELLING,
        why="x and -x cancel, modulo the width as well; NaN where x is NaN or infinite.",
    ),
    *cases(
        "difference_minus_term",
        match=lambda x, y: (x - y) - x,
        replace=lambda x, y: -y,
        phase=CANONICALIZE,
        kind=CANCELLING,
        why="x and -x cancel, modulo the width as well; NaN where x is NaN or infinite.",
    ),
)
