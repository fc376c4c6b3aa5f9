"""Rules of the normal distribution: the other tail, and exponentials beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri, ndtri_exp
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: Final[tuple[tuple[str, Callable[..., Any], Callable[..., Any], str], ...]] = (
    ("one_minus_ndtr", lambda x: 1 - ndtr(x), lambda x: ndtr(-x), "1 - ndtr(x) is 0 for x > 8; ndtr(-x) is not."),
    ("ndtr_minus_one", lambda x: ndtr(x) - 1, lambda x: -ndtr(-x), "ndtr(x) - 1 is 0 for x > 8; ndtr(-x) is not."),
    ("exp_of_log_ndtr", lambda x: exp(log_ndtr(x)), ndtr, "One function in place of two."),
    (
        "ndtri_of_exp",
        lambda x: ndtri(exp(x)),
        ndtri_exp,
        "exp(x) vanishes for x < -745, and has lost the digits of a small x.",
    ),
)

RULES = tuple(
    rule(name, match=match, replace=replace, phase=STABILIZE, kind=REASSOCIATES, why=why)
    for name, match, replace, why in FORMS
)
