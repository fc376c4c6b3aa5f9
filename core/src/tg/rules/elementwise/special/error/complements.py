"""Rules of functions and what they leave of 1; the error function is odd.

The beta function has none: betainc(b, a, 1 - x), the other tail of betainc(a, b, x), has lost the digits of a small x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.elementwise.special.error import erf, erfc
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule
from tg.rules.elementwise.trigonometric import odd

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.rewrite.rule import Rule


def complement(fn: ElementwiseFunction, rest: Callable[..., Any], why: str) -> tuple[Rule, ...]:
    """The rules of 1 - fn and of fn - 1, which are `rest` and its negative."""
    forms: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        f"one_minus_{fn.name}": (lambda x: 1 - fn(x), rest),
        f"{fn.name}_minus_one": (lambda x: fn(x) - 1, lambda x: -rest(x)),
    }
    if fn.arity == 2:
        forms = {
            f"one_minus_{fn.name}": (lambda a, x: 1 - fn(a, x), rest),
            f"{fn.name}_minus_one": (lambda a, x: fn(a, x) - 1, lambda a, x: -rest(a, x)),
        }
    return tuple(
        rule(name, match=match, replace=replace, phase=STABILIZE, kind=REASSOCIATES, why=why)
        for name, (match, replace) in forms.items()
    )


RULES = (
    *odd(erf),
    *complement(erf, erfc, "1 - erf(x) is 0 for x > 6; erfc(x) is not."),
    *complement(erfc, erf, "The difference has lost the digits of a small x."),
    rule(
        "erf_plus_one",
        match=lambda x: erf(x) + 1,
        replace=lambda x: erfc(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 + erf(x) is 0 for x < -6; erfc(-x) is not.",
    ),
)
