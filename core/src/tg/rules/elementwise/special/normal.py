"""Rules of the normal distribution: the other tail, and a quantile of a small probability."""

from __future__ import annotations

from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.special.normal import ndtr, ndtri, ndtri_exp
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule
from tg.rules.elementwise.special.error.complements import complement

RULES = (
    *complement(ndtr, lambda x: ndtr(-x), "1 - ndtr(x) is 0 for x > 8; ndtr(-x) is not."),
    rule(
        "ndtri_of_exp",
        match=lambda x: ndtri(exp(x)),
        replace=ndtri_exp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) vanishes for x < -745, and has lost the digits of a small x.",
    ),
)
