"""Rules of reductions: axes that need no loop, what repeats, factors that leave, extremes of increasing functions."""

from __future__ import annotations

from tg.rules.reduction import axes, factors, increasing, repeated

RULES = (*axes.RULES, *repeated.RULES, *factors.RULES)
PASSES = increasing.PASSES

__all__ = ["PASSES", "RULES"]
