"""Rules of logic: neutral and deciding operands, negations that meet, and absorption. There is no NaN among bool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.bitwise import bitwise_and, bitwise_invert, bitwise_or, bitwise_xor
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import ANY, FLOATING, INEXACT, INTEGER, equations, rule, rule_of
from tg.rules.elementwise.arithmetic import is_scalar_constant

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

BOOL: Final = frozenset({"bool"})
ORDERED: Final = FLOATING | INTEGER | BOOL

EQUATIONS: Final[tuple[tuple[str, Any, Any, str], ...]] = (
    ("double_not", lambda x: logical_not(logical_not(x)), lambda x: x, "Two negations cancel."),
    ("and_true", lambda x: logical_and(x, True), lambda x: x, "True is neutral."),
    ("and_false", lambda x: logical_and(x, False), lambda x: False, "False decides."),
    ("and_itself", lambda x: logical_and(x, x), lambda x: x, "x and x is x."),
    ("or_false", lambda x: logical_or(x, False), lambda x: x, "False is neutral."),
    ("or_true", lambda x: logical_or(x, True), lambda x: True, "True decides."),
    ("or_itself", lambda x: logical_or(x, x), lambda x: x, "x or x is x."),
    ("xor_false", lambda x: logical_xor(x, False), lambda x: x, "False is neutral."),
    ("xor_itself", lambda x: logical_xor(x, x), lambda x: False, "x never differs from x."),
    ("and_complement", lambda x: logical_and(x, logical_not(x)), lambda x: False, "One of them is False."),
    ("or_complement", lambda x: logical_or(x, logical_not(x)), lambda x: True, "One of them is True."),
    (
        "and_of_or",
        lambda x, y: logical_and(x, logical_or(x, y)),
        lambda x, y: x,
        "Where x holds the other does.",
    ),
    (
        "or_of_and",
        lambda x, y: logical_or(x, logical_and(x, y)),
        lambda x, y: x,
        "Where x does not hold, neither does the other.",
    ),
    (
        "and_of_and",
        lambda x, y: logical_and(x, logical_and(x, y)),
        logical_and,
        "x is asked once.",
    ),
    (
        "or_of_or",
        lambda x, y: logical_or(x, logical_or(x, y)),
        logical_or,
        "x is asked once.",
    ),
    (
        "and_of_or_of_not",
        lambda x, y: logical_and(x, logical_or(logical_not(x), y)),
        logical_and,
        "Where x holds the other is y.",
    ),
    (
        "or_of_and_of_not",
        lambda x, y: logical_or(x, logical_and(logical_not(x), y)),
        logical_or,
        "Where x does not hold the other is y.",
    ),
    (
        "and_of_not",
        lambda x, y: logical_and(logical_not(x), logical_not(y)),
        lambda x, y: logical_not(logical_or(x, y)),
        "One negation in place of two.",
    ),
    (
        "or_of_not",
        lambda x, y: logical_or(logical_not(x), logical_not(y)),
        lambda x, y: logical_not(logical_and(x, y)),
        "One negation in place of two.",
    ),
    ("and_from_multiply", multiply, logical_and, "A product of truths is their conjunction."),
    ("and_from_bits", bitwise_and, logical_and, "One form for what other rules look for."),
    ("or_from_bits", bitwise_or, logical_or, "One form for what other rules look for."),
    ("xor_from_bits", bitwise_xor, logical_xor, "One form for what other rules look for."),
    (
        "not_xor_from_equal",
        equal,
        lambda x, y: logical_not(logical_xor(x, y)),
        "One form for what other rules look for.",
    ),
    ("not_from_bits", bitwise_invert, logical_not, "One form for what other rules look for."),
)

NEGATED: Final = ((less, greater_equal), (less_equal, greater), (greater, less_equal), (greater_equal, less))
LEAST, LARGEST = np.minimum, np.maximum
BOUNDS: Final[dict[tuple[Any, Any], Any]] = {  # of two bounds of one value, which is left
    (logical_and, less): LEAST,
    (logical_and, less_equal): LEAST,
    (logical_and, greater): LARGEST,
    (logical_and, greater_equal): LARGEST,
    (logical_or, less): LARGEST,
    (logical_or, less_equal): LARGEST,
    (logical_or, greater): LEAST,
    (logical_or, greater_equal): LEAST,
}


@rule_of(
    logical_and,
    logical_or,
    kind=EXACT,
    below=(less, less_equal, greater, greater_equal),
    example=lambda x: logical_and(less(x, 2), less(x, 3)),
)
def _one_bound(op: Any, a: Variable, b: Variable) -> Variable | None:
    """x < 2 and x < 3 as x < 2, and the like. Of two bounds one follows from the other."""
    if a.op is not b.op or a.inputs[0] is not b.inputs[0]:
        return None
    joined: Any = op
    compared: Any = a.op
    (x, c), d = a.inputs, b.inputs[1]
    if not is_scalar_constant(c) or not is_scalar_constant(d):
        return None
    p, q = c.data.reshape(()), d.data.reshape(())  # type: ignore[attr-defined]
    if np.isnan(p) or np.isnan(q):
        return None
    return compared(x, c if BOUNDS[joined.fn, compared.fn](p, q) == p else d)  # type: ignore[no-any-return]


def _negation(fn: Any) -> Any:
    return lambda x, y: logical_not(fn(x, y))


def _disjunction(fn: Any) -> Any:
    return lambda x, y: logical_or(fn(x, y), equal(x, y))


RULES = (
    *equations(CANONICALIZE, EXACT, EQUATIONS, dtypes=BOOL),
    rule(
        "not_equal_from_not",
        match=lambda x, y: logical_not(equal(x, y)),
        replace=not_equal,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=ANY - BOOL,
        why="One op; also for NaN, which is not equal to anything.",
    ),
    *(
        rule(
            f"{other.name}_from_not",
            match=_negation(fn),
            replace=other,
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=ORDERED,
            when=lambda x, y: holds(x, "not_nan") and holds(y, "not_nan"),
            why="One op; where there is no NaN one of the two holds.",
        )
        for fn, other in NEGATED
    ),
    *(
        rule(
            f"{joined.name}_from_{strict.name}",
            match=_disjunction(strict),
            replace=joined,
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=ORDERED - BOOL,
            why="One comparison in place of two; NaN fulfils none.",
        )
        for strict, joined in ((less, less_equal), (greater, greater_equal))
    ),
    rule(
        "not_finite_from_or",
        match=lambda x: logical_or(isnan(x), isinf(x)),
        replace=lambda x: logical_not(isfinite(x)),
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INEXACT,
        why="One test in place of two.",
    ),
    _one_bound,
)
