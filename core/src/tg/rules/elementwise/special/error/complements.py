"""Rules of the error function: it is odd, and what is left of it is its complement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.special.error import erf, erfc, erfinv
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule
from tg.rules.elementwise.trigonometric import odd

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: Final[tuple[tuple[str, Callable[..., Any], Callable[..., Any], str], ...]] = (
    ("one_minus_erf", lambda x: 1 - erf(x), erfc, "1 - erf(x) is 0 for x > 6; erfc(x) is not."),
    ("erf_minus_one", lambda x: erf(x) - 1, lambda x: -erfc(x), "erf(x) - 1 is 0 for x > 6; erfc(x) is not."),
    ("erf_plus_one", lambda x: erf(x) + 1, lambda x: erfc(-x), "1 + erf(x) is 0 for x < -6; erfc(-x) is not."),
    ("one_minus_erfc", lambda x: 1 - erfc(x), erf, "The difference has lost the digits of a small x."),
    ("erfc_minus_one", lambda x: erfc(x) - 1, lambda x: -erf(x), "The difference has lost the digits of a small x."),
)

RULES = (
    *odd(erf, erfinv),
    *(
        rule(name, match=match, replace=replace, phase=STABILIZE, kind=REASSOCIATES, why=why)
        for name, match, replace, why in FORMS
    ),
)
