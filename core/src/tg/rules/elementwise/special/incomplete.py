"""Rules of the incomplete gamma function: each tail is what the other leaves of 1.

The beta function has none: betainc(b, a, 1 - x), the other tail of betainc(a, b, x), has lost the digits of a small x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.special.incomplete import gammainc, gammaincc
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: Final[tuple[tuple[str, Callable[..., Any], Callable[..., Any], str], ...]] = (
    (
        "one_minus_gammainc",
        lambda a, x: 1 - gammainc(a, x),
        gammaincc,
        "The difference has lost the digits of the upper tail.",
    ),
    (
        "gammainc_minus_one",
        lambda a, x: gammainc(a, x) - 1,
        lambda a, x: -gammaincc(a, x),
        "The difference has lost the digits of the upper tail.",
    ),
    (
        "one_minus_gammaincc",
        lambda a, x: 1 - gammaincc(a, x),
        gammainc,
        "The difference has lost the digits of the lower tail.",
    ),
    (
        "gammaincc_minus_one",
        lambda a, x: gammaincc(a, x) - 1,
        lambda a, x: -gammainc(a, x),
        "The difference has lost the digits of the lower tail.",
    ),
)

RULES = tuple(
    rule(name, match=match, replace=replace, phase=STABILIZE, kind=REASSOCIATES, why=why)
    for name, match, replace, why in FORMS
)
