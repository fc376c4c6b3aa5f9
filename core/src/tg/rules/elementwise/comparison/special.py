"""Rules of isnan, isinf and isfinite, and of comparing a value with itself, which asks for NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.ops.elementwise.arithmetic import absolute, add, cbrt, divide, multiply, negative, sign, square, subtract
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_not,
)
from tg.ops.elementwise.complex import conjugate
from tg.ops.elementwise.exponential import exp, exp2, expm1, sigmoid, softplus
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.ops.elementwise.trigonometric import arcsinh, arctan, cosh, sinh, tanh
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import ANY, FLOATING, INEXACT, INTEGER, rule, rule_of
from tg.rules.elementwise.arithmetic.analysis import is_finite, is_finite_and_nonzero
from tg.rules.elementwise.cast import holds as has_values
from tg.types.dtypes import is_complex, is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

BOOL: Final = frozenset({"bool"})
TOTAL: Final = INTEGER | BOOL  # dtypes without NaN: of two values one is less, or they are equal
TESTS: Final = (isnan, isinf, isfinite)
KEEPS_SIZE: Final = frozenset((negative, absolute, floor, ceil, trunc, rint))  # NaN of NaN, infinite of infinite only
KEEPS_NAN: Final = KEEPS_SIZE | {
    exp, exp2, expm1, sigmoid, softplus, tanh, sinh, cosh, arctan, arcsinh, sign, square, cbrt,
}  # fmt: skip
SHIFTS_AND_SCALES: Final = frozenset((add, subtract, multiply, divide))


@rule_of(*TESTS, kind=EXACT, example=lambda x: isnan(Cast("float32")(less(x, 1))))
def _finiteness_by_facts(op: Any, x: Variable) -> bool | None:
    """It is known of the value."""
    fn = op.fn
    if fn is isnan:
        return False if holds(x, "not_nan") else None
    if is_finite(x):
        return bool(fn is isfinite)
    return None


@rule_of(*TESTS, kind=EXACT, below=(*KEEPS_NAN, conjugate, Cast, *SHIFTS_AND_SCALES), example=lambda x: isnan(exp(x)))
def _finiteness_of_operand(op: Any, y: Variable) -> Variable | None:
    """The test of what has it with a value.

    The operand is NaN, or infinite, where the result is; the function need not be computed.
    """
    fn = op.fn
    below: Any = y.apply
    if isinstance(below.op, Cast):
        (x,) = below.inputs
        widens = is_float(x.type.dtype) and has_values(y.type.dtype, x.type.dtype)
        return fn(x) if widens else None
    inner = below.op.fn
    if is_complex(y.type.dtype):
        return fn(below.inputs[0]) if inner in (negative, conjugate) else None
    if inner in (KEEPS_NAN if fn is isnan else KEEPS_SIZE) and is_float(below.inputs[0].type.dtype):
        return fn(below.inputs[0])  # type: ignore[no-any-return]
    if fn is isnan and inner in SHIFTS_AND_SCALES and is_finite_and_nonzero(below.inputs[1]):
        return fn(below.inputs[0])
    return None


def _itself(fn: Any) -> Any:
    return lambda x: fn(x, x)


RULES = (
    rule(
        "equal_itself",
        match=lambda x: equal(x, x),
        replace=lambda x: True,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=TOTAL,
        why="There is no NaN among integers; lengths are compared so.",
    ),
    *(
        rule(
            f"{fn.name}_itself",
            match=_itself(fn),
            replace=lambda x: False,
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=ANY,
            why="Nothing is beyond itself, NaN included.",
        )
        for fn in (less, greater)
    ),
    *(
        rule(
            f"{fn.name}_itself_without_nan",
            match=_itself(fn),
            replace=lambda x: logical_not(isnan(x)),
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=FLOATING if fn is not equal else INEXACT,
            why="It asks whether x is NaN.",
        )
        for fn in (equal, less_equal, greater_equal)
    ),
    _finiteness_by_facts,
    _finiteness_of_operand,
)
