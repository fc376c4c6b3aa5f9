"""Rules of trigonometric and hyperbolic functions: odd and even ones, and those that undo one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.trigonometric import (
    arccos,
    arcsin,
    arcsinh,
    cos,
    sin,
    sinh,
    tanh,
)
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.rewrite.rule import Rule

UNDONE: Final = (  # f(g(x)) is x; which g has a domain
    (sin, arcsin, "NaN where |x| is above 1."),
    (cos, arccos, "NaN where |x| is above 1."),
)


def _of_negative(fn: Any) -> Any:
    return lambda x: fn(-x)


def _negated(fn: Any) -> Any:
    return lambda x: -fn(x)


def _of_absolute(fn: Any) -> Any:
    return lambda x: fn(absolute(x))


def _of_other(fn: Any, other: Any) -> Any:
    return lambda x: fn(other(x))


def odd(*functions: ElementwiseFunction) -> tuple[Rule, ...]:
    """The rules of functions whose value of -x is minus that of x."""
    return tuple(
        rule(
            f"{fn.name}_of_negative",
            match=_of_negative(fn),
            replace=_negated(fn),
            phase=CANONICALIZE,
            kind=EXACT,
            why="Signs move outwards, where they meet sums and other signs.",
        )
        for fn in functions
    )


def even(*functions: ElementwiseFunction) -> tuple[Rule, ...]:
    """The rules of functions that have one value for x and -x."""
    return tuple(
        rule(
            f"{fn.name}_of_{name}",
            match=match,
            replace=fn,
            phase=CANONICALIZE,
            kind=EXACT,
            why="The function has one value for x and -x.",
        )
        for fn in functions
        for name, match in (("negative", _of_negative(fn)), ("absolute", _of_absolute(fn)))
    )


RULES = (
    *odd(tanh),
    *even(cos),
    rule(
        "sinh_of_arcsinh",
        match=lambda x: sinh(arcsinh(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One undoes the other, which loses the digits of a large x.",
    ),
    *(
        rule(
            f"{fn.name}_of_{other.name}",
            match=_of_other(fn, other),
            replace=lambda x: x,
            phase=CANONICALIZE,
            kind=NAN_UNSAFE,
            why=why,
        )
        for fn, other, why in UNDONE
    ),
)
